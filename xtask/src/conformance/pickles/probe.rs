//! Harmful pickles, each read in a process of its own.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use arrow_frames::pickle::Pickle;
use serde_json::json;

use super::super::probe::{self, Apart};
use super::cases::Case;
use super::{Outcome, Row, buffers};
use crate::Outcome as Exit;

/// Read one pickle and say on stdout what came of it (used by `conformance`)
#[derive(clap::Args)]
pub struct Args {
    path: PathBuf,
}

/// Runs the hidden task.
pub fn run(args: Args) -> Exit {
    probe::limit_memory()?;
    let before = probe::peak_kib();
    let buffers = buffers(&args.path)?;
    let started = Instant::now();
    // Before Python is given a pickle, it is parsed and checked.
    let result = Pickle::parse(&buffers).and_then(|pickle| pickle.check().map(|()| pickle.describe()));
    let millis = started.elapsed().as_millis() as u64;
    let kib = probe::peak_kib().zip(before).map(|(peak, before)| peak - before);
    let line = match result {
        Ok(read) => json!({"read": read, "millis": millis, "kib": kib}),
        Err(error) => json!({"kind": "Pickle", "text": error.to_string(), "millis": millis, "kib": kib}),
    };
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

/// Reads a pickle in a child process.
pub fn run_apart(dir: &Path, case: &Case) -> Result<Row, Box<dyn Error>> {
    let Apart { outcome, text, faults, millis, kib } =
        probe::apart(&["probe-pickle"], &dir.join(&case.path))?;
    let mut row = Row {
        path: case.path.clone(),
        group: case.group,
        outcome: Outcome::Refused(text),
        faults,
        millis,
        kib,
    };
    match outcome {
        Err(kind) if kind == "Pickle" => {}
        Err(end) => row.faults.push(format!("{end}: not refused")),
        Ok(read) => {
            row.faults.push(format!("read: {read}"));
            row.outcome = Outcome::Opaque(read);
        }
    }
    Ok(row)
}
