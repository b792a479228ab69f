//! `cargo xtask pandas`: what real pandas make of dataframes that are written for them.
//!
//! Streams of every kind of column in every shape are written once. Each version of pandas
//! reads all of them in an environment of its own, through `examples/consume.py`, and must
//! find what is said beside them: dtypes, values, missing values, categories, memory. The
//! same dataframe as pandas' own pickle, relayed by pyarrow, and read by others, is compared.

mod case;
mod frames;
mod kind;
mod kinds;
mod labels;
mod peers;
mod report;
mod talk;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::{Outcome, process};
use case::Case;
pub use case::VERSIONS;
pub use talk::interpreter;

/// What keeps the task from running.
type Error = Box<dyn std::error::Error>;

const OUTPUT: &str = "docs/PANDAS.md";

/// Read dataframes with pandas 1.5.3, 2.2.3 and 3.1.1, and say what they get
///
/// Makes an environment for each version, if it is not there yet, with what
/// tests/python/requirements-pandas-*.txt list, and writes docs/PANDAS.md. Fails if anything
/// is not what it must be.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if docs/PANDAS.md is not what would be written
    #[arg(long)]
    pub check: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let pandas = talk::environments()?;
    let scratch = tempfile::tempdir()?;
    let cases = cases()?;
    write(scratch.path(), &cases)?;
    process::progress(&format!("reading {} streams with {} versions of pandas", cases.len(), pandas.len()));
    let seen = talk::check(&pandas, scratch.path(), cases.len())?;
    let peers = peers::compare(&pandas, scratch.path())?;

    let text = report::markdown(&cases, &seen, &peers);
    let mut problems = report::problems(&cases, &seen);
    problems.extend(peers.problems());
    let output = process::root().join(OUTPUT);
    if !args.check {
        fs::write(&output, &text)?;
        process::progress(&format!("wrote {OUTPUT}"));
    } else if fs::read_to_string(&output).ok().as_deref() != Some(&text) {
        problems.push(format!("{OUTPUT} is not what would be written"));
    }
    for problem in &problems {
        process::progress(problem);
    }
    if problems.is_empty() {
        process::progress(&format!("all {} streams are as they must be", cases.len()));
        return Ok(ExitCode::SUCCESS);
    }
    process::progress(&format!("{} problems", problems.len()));
    Ok(ExitCode::FAILURE)
}

/// The interpreter of the last version.
pub fn last() -> Result<PathBuf, Error> {
    talk::interpreter(VERSIONS[VERSIONS.len() - 1])
}

fn cases() -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for kinds in kinds::all()? {
        cases.extend(kind::cases(&kinds)?);
    }
    cases.extend(kinds::mixed()?);
    cases.extend(frames::all()?);
    cases.extend(labels::all()?);
    Ok(cases)
}

fn write(folder: &Path, cases: &[Case]) -> Result<(), Error> {
    let told = cases.iter().enumerate().map(|(number, case)| case.write(folder, number));
    let told = told.collect::<Result<Vec<_>, _>>()?;
    Ok(fs::write(folder.join("cases.json"), serde_json::to_string(&told)?)?)
}
