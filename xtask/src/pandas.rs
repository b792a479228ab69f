//! `cargo xtask pandas`: what real pandas make of dataframes that are written for them.

mod case;
mod frames;
mod kind;
mod kinds;
mod labels;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Outcome, process};
use case::Case;

/// What keeps the task from running.
type Error = Box<dyn std::error::Error>;

/// x
#[derive(clap::Args)]
pub struct Args {
    /// Keep here
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let folder = args.keep.unwrap();
    std::fs::create_dir_all(&folder)?;
    let mut cases: Vec<Case> = Vec::new();
    for kinds in kinds::all()? {
        cases.extend(kind::cases(&kinds)?);
    }
    cases.extend(frames::all()?);
    cases.extend(labels::all()?);
    let mut all = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let mut json = case.write(&folder, number)?;
        json["name"] = format!("{}: {}: {}", case.section, case.row, case.detail).into();
        all.push(json);
    }
    std::fs::write(folder.join("cases.json"), serde_json::to_string(&all)?)?;
    process::progress(&format!("{} cases", cases.len()));
    Ok(ExitCode::SUCCESS)
}
