//! Malformed files, each decoded in a process of its own.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::compare;
use super::corpus::{Case, Form};
use super::report::Row;
use crate::Outcome;

/// The decoded file must be refused in this time.
const TIME: Duration = Duration::from_secs(1);

/// Memory beside the file's own bytes.
const MEMORY_KIB: u64 = 64 * 1024;

/// Decode one file and say on stdout what came of it (used by `conformance`)
#[derive(clap::Args)]
pub struct Args {
    form: Form,
    path: PathBuf,
}

/// Runs the hidden task.
pub fn run(args: Args) -> Outcome {
    let before = peak_kib();
    let bytes = fs::read(args.path)?;
    let started = Instant::now();
    let result = compare::decode(bytes, args.form);
    let result = result.map(|df| {
        let fault = compare::check(&df).err();
        (format!("{} batches, {} rows", df.batches().len(), df.num_rows()), fault)
    });
    let millis = started.elapsed().as_millis() as u64;
    let peak = peak_kib().zip(before).map(|(peak, before)| peak - before);
    let line = match result {
        Ok((read, fault)) => json!({"read": read, "fault": fault, "millis": millis, "kib": peak}),
        Err(error) => {
            json!({"kind": compare::kind(&error), "text": error.to_string(), "millis": millis, "kib": peak})
        }
    };
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

/// Decodes a case in a child process.
pub fn run_apart(root: &Path, case: &Case) -> Result<Row, Box<dyn Error>> {
    let path = root.join(&case.path);
    let size_kib = fs::metadata(&path)?.len().div_ceil(1024);
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["probe", case.form.name()]).arg(&path).stdin(Stdio::null());
    let output = child.output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).lines().take(2).collect::<Vec<_>>().join(" ");
        return Ok(Row::new(case, Err(format!("{}", output.status)), text));
    }
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| json.get(key).and_then(Value::as_u64);
    let outcome = text("read").ok_or_else(|| text("kind").unwrap_or_default());
    let mut row = Row::new(case, outcome, text("text").unwrap_or_default());
    row.faults.extend(text("fault"));
    let millis = number("millis").unwrap_or(u64::MAX);
    if u128::from(millis) > TIME.as_millis() {
        row.faults.push(format!("took {millis} ms"));
    }
    if let Some(kib) = number("kib").filter(|kib| *kib > MEMORY_KIB + size_kib) {
        row.faults.push(format!("took {kib} KiB"));
    }
    Ok(row)
}

/// The most memory that this process has had, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
