//! `cargo xtask python-benches`: what the Python package costs beside its peers.
//!
//! The measuring itself is the scripts in `python/benches`, which also write the tables.

use std::process::ExitCode;

use crate::process::{must, progress, root};
use crate::{Outcome, python, python_package};

/// Measure the Python package beside pickle, pyarrow and dask.distributed
///
/// Builds the wheel in release mode and installs it into an environment of
/// python/benches/requirements.txt. On Linux: it asks the kernel for peaks of memory.
#[derive(clap::Args)]
pub struct Args {
    /// What to measure; everything if nothing is named
    #[arg(value_enum)]
    scripts: Vec<Script>,

    /// Write the tables and the plot in docs
    #[arg(long)]
    write: bool,
}

/// A script, and the document that it writes.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Script {
    /// Dataframes: docs/PYTHON.md
    Compare,
    /// Arrays and objects by size: docs/OBJECTS.md, docs/memory.svg and a part of docs/DASK.md
    Memory,
    /// The memory of a worker that spills: docs/DASK.md
    Spill,
}

impl Script {
    const fn files(self) -> [&'static str; 2] {
        match self {
            Self::Compare => ["python/benches/compare.py", "docs/PYTHON.md"],
            Self::Memory => ["python/benches/memory.py", "docs"],
            Self::Spill => ["python/benches/spill.py", "docs/DASK.md"],
        }
    }
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let tools = python::interpreter()?;
    let scratch = tempfile::tempdir()?;
    let wheel = python_package::wheel(&tools, "release", scratch.path())?;
    let interpreter = python::environment(".venv-bench", "python/benches/requirements.txt", None)?;
    python_package::install(&tools, &interpreter, &wheel)?;
    let all = [Script::Compare, Script::Memory, Script::Spill];
    let scripts = if args.scripts.is_empty() { &all[..] } else { &args.scripts };
    for [script, document] in scripts.iter().map(|script| script.files()) {
        progress(&format!("running {script}"));
        let mut measure = python_package::python(&interpreter);
        // What the scripts share lies beside them.
        measure.env("PYTHONPATH", root().join("python/benches")).arg(script);
        if args.write {
            measure.args(["--write", document]);
        }
        must(&mut measure)?;
    }
    Ok(ExitCode::SUCCESS)
}
