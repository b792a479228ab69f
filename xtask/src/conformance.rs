//! `cargo xtask conformance`: the codec over a folder of files that other writers made.
//!
//! Every file is decoded in each form it may have, and must be what `expected` says: equal
//! to the JSON beside it, readable, or refused for a reason. What was read is written again,
//! and arrow-rs and pyarrow must read that as the same data. Files in `crashers` are decoded
//! in a process of their own, which must end in an error, soon and in little memory.

mod compare;
mod corpus;
mod expected;
pub mod peers;
pub mod probe;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Outcome, process};
use corpus::Group;

/// Where the files are looked for if no folder is named.
const DEFAULT: &str = "../shared/corpora";

const OUTPUT: &str = "docs/CONFORMANCE.md";

/// Run the codec over a folder of Arrow IPC files of other writers
///
/// DIR has the folder `arrow`, with `golden`, `generated`, `extra`, `crashers` and
/// `forward-compat` in it. Prints a table and writes it to docs/CONFORMANCE.md; fails if any
/// file is not what is expected of it.
#[derive(clap::Args)]
pub struct Args {
    /// The folder [default: ../shared/corpora beside the repository]
    dir: Option<PathBuf>,

    /// Write no docs/CONFORMANCE.md
    #[arg(long)]
    dry_run: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let root = process::root();
    let dir = args.dir.unwrap_or_else(|| root.join(DEFAULT));
    let arrow = dir.join("arrow");
    if !arrow.is_dir() {
        return Err(format!("{} is no folder: name one that has `arrow` in it", arrow.display()).into());
    }
    let cases = corpus::cases(&arrow)?;
    process::progress(&format!("decoding {} cases", cases.len()));

    let scratch = tempfile::tempdir()?;
    let mut rows = Vec::with_capacity(cases.len());
    for (number, case) in cases.iter().enumerate() {
        rows.push(match case.group {
            Group::Crasher => probe::run_apart(&arrow, case)?,
            _ => compare::run(&arrow, case, &scratch.path().join(format!("{number}.arrows")))?,
        });
    }
    let pyarrow = peers::ask_pyarrow(&root, &arrow, &mut rows)?;
    if pyarrow.is_none() {
        process::progress("pyarrow is not asked: `cargo xtask test` makes the .venv it is in");
    }

    report::print(&rows);
    if !args.dry_run {
        std::fs::write(root.join(OUTPUT), report::markdown(&rows, pyarrow.as_deref()))?;
        process::progress(&format!("wrote {OUTPUT}"));
    }
    let missed = rows.iter().filter(|row| !row.is_right()).count();
    if missed > 0 {
        process::progress(&format!("{missed} of {} cases are not as expected", rows.len()));
        return Ok(ExitCode::FAILURE);
    }
    process::progress(&format!("all {} cases are as expected", rows.len()));
    Ok(ExitCode::SUCCESS)
}
