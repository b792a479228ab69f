//! `cargo xtask test`: every test of the workspace, with a Python to talk to, those of the Python
//! package, and what pandas reads.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::{Outcome, pandas, process, python, python_package};

/// Run all tests, those against pyarrow and pandas included
///
/// Makes .venv with what tests/python/requirements.txt lists, if it is not there
/// yet, and runs `cargo test --workspace --all-features`; then, unless it was told to run
/// some tests, `cargo xtask python` and `cargo xtask pandas --check`.
#[derive(clap::Args)]
pub struct Args {
    /// Further arguments for `cargo test`; with any, Python and pandas are left out
    #[arg(last = true)]
    cargo: Vec<OsString>,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let python = python::interpreter()?;
    process::progress("cargo test --workspace --all-features");
    let mut test = process::cargo();
    test.args(["test", "--workspace", "--all-features"]);
    // It has no tests, and its dependencies' features would have arrow compiled once more.
    test.args(["--exclude", "transport-bench"]);
    let is_all = args.cargo.is_empty();
    test.args(&args.cargo);
    test.env("ARROW_FRAMES_PYTHON", python);
    let status = process::status(&mut test)?;
    if status.success() {
        if !is_all {
            return Ok(ExitCode::SUCCESS);
        }
        python_package::run(python_package::Args::default())?;
        return pandas::run(pandas::Args { check: true });
    }
    // No code means that a signal ended it; no code of cargo's is beyond a byte.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
