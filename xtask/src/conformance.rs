//! `cargo xtask conformance`: the codec over a folder of files that other writers made.
//!
//! Every file is decoded in each form it may have, and must be what `expected` says: equal
//! to the JSON beside it, readable, or refused for a reason. What was read is written again,
//! and arrow-rs and pyarrow must read that as the same data. Files in `crashers` are decoded
//! in a process of their own, which must end in an error, soon and in little memory; and so are
//! the attacks among the pickles. Blobs of packed frames are taken apart and packed again.

mod compare;
mod corpus;
mod dask;
mod expected;
pub mod peers;
pub mod pickles;
pub mod probe;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Outcome, process};
use corpus::Group;

/// Where the files are looked for if no folder is named.
const DEFAULT: &str = "../shared/corpora";

const OUTPUT: &str = "docs/CONFORMANCE.md";

/// Run the codec over a folder of Arrow IPC files and pickles of other writers
///
/// DIR has the folder `arrow`, with `golden`, `generated`, `extra`, `crashers` and
/// `forward-compat` in it, the folder `pickle`, with `vectors`, `natural` and `attacks`, and the
/// folder `dask`. Prints a table and writes it to docs/CONFORMANCE.md; fails if any file is not
/// what is expected of it.
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
    let pickle = dir.join("pickle");
    if !pickle.is_dir() {
        return Err(format!("{} is no folder: name one that has `pickle` in it", pickle.display()).into());
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

    process::progress("reading pickles");
    let pickles = pickles::run(&pickle)?;
    process::progress("taking packed frames apart");
    let blobs = dask::run(&dir.join("dask"))?;

    report::print(&rows);
    pickles::print(&pickles);
    dask::print(&blobs);
    if !args.dry_run {
        let document = report::markdown(&rows, pyarrow.as_deref())
            + &pickles::markdown(&pickles)
            + &dask::markdown(&blobs);
        std::fs::write(root.join(OUTPUT), document)?;
        process::progress(&format!("wrote {OUTPUT}"));
    }
    let missed = rows.iter().filter(|row| !row.is_right()).count()
        + pickles.iter().filter(|row| !row.is_right()).count()
        + blobs.iter().filter(|row| !row.is_right()).count();
    let all = rows.len() + pickles.len() + blobs.len();
    if missed > 0 {
        process::progress(&format!("{missed} of {all} cases are not as expected"));
        return Ok(ExitCode::FAILURE);
    }
    process::progress(&format!("all {all} cases are as expected"));
    Ok(ExitCode::SUCCESS)
}
