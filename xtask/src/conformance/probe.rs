//! Malformed files, each decoded in a process of its own.

use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::compare;
use super::corpus::{Case, Form};
use super::report::Row;
use crate::Outcome;

/// A file must be refused in this time.
const TIME: Duration = Duration::from_secs(1);

/// Memory that may be taken beside the file's own bytes.
const MEMORY_KIB: u64 = 64 * 1024;

/// When a process that does not end is ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Address space for the process, so that one that goes wrong takes no other with it.
#[cfg(target_os = "linux")]
const ADDRESS_SPACE: u64 = 4 << 30;

/// Decode one file and say on stdout what came of it (used by `conformance`)
#[derive(clap::Args)]
pub struct Args {
    form: Form,
    path: PathBuf,
}

/// Runs the hidden task.
pub fn run(args: Args) -> Outcome {
    limit_memory()?;
    let before = peak_kib();
    let bytes = fs::read(args.path)?;
    let started = Instant::now();
    let result = compare::decode(bytes, args.form);
    let result = result.map(|df| (compare::summary(&df), compare::check(&df).err()));
    let millis = started.elapsed().as_millis() as u64;
    let kib = peak_kib().zip(before).map(|(peak, before)| peak - before);
    let line = match result {
        Ok((read, fault)) => json!({"read": read, "fault": fault, "millis": millis, "kib": kib}),
        Err(error) => {
            let kind = compare::kind(&error);
            json!({"kind": kind, "text": error.to_string(), "millis": millis, "kib": kib})
        }
    };
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}

/// Decodes a case in a child process.
pub fn run_apart(root: &Path, case: &Case) -> Result<Row, Box<dyn Error>> {
    let Apart { outcome, text, faults, millis, kib } =
        apart(&["probe", case.form.name()], &root.join(&case.path))?;
    let mut row = Row::new(case, outcome, text);
    (row.faults, row.millis, row.kib) = (faults, millis, kib);
    Ok(row)
}

/// What came of a file in a process of its own.
pub struct Apart {
    /// What was read, or the kind of the error: of ours, or how the process ended.
    pub outcome: Result<String, String>,
    /// The error's text.
    pub text: String,
    /// What is wrong with what was read, and with the time and memory that it took.
    pub faults: Vec<String>,
    /// How long it took.
    pub millis: Option<u64>,
    /// How much memory it took.
    pub kib: Option<u64>,
}

/// Runs a hidden task on a file in a child process.
pub fn apart(task: &[&str], path: &Path) -> Result<Apart, Box<dyn Error>> {
    let size_kib = fs::metadata(path)?.len().div_ceil(1024);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(task).arg(path);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (status, stdout, stderr) = wait(child)?;
    let ended = |how: String, text: String| Apart {
        outcome: Err(how),
        text,
        faults: Vec::new(),
        millis: None,
        kib: None,
    };
    let Some(status) = status else {
        return Ok(ended("hang".into(), format!("no end after {} s", PATIENCE.as_secs())));
    };
    if !status.success() {
        let text: Vec<&str> = stderr.lines().take(2).collect();
        return Ok(ended(status.to_string(), text.join(" ")));
    }
    let json: Value = serde_json::from_str(&stdout)?;
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| json.get(key).and_then(Value::as_u64);
    let (millis, kib) = (number("millis"), number("kib"));
    let mut faults: Vec<String> = text("fault").into_iter().collect();
    if let Some(millis) = millis.filter(|millis| u128::from(*millis) > TIME.as_millis()) {
        faults.push(format!("took {millis} ms"));
    }
    if let Some(kib) = kib.filter(|kib| *kib > MEMORY_KIB + size_kib) {
        faults.push(format!("took {kib} KiB"));
    }
    let outcome = text("read").ok_or_else(|| text("kind").unwrap_or_default());
    Ok(Apart { outcome, text: text("text").unwrap_or_default(), faults, millis, kib })
}

/// Waits for a child that prints little, and ends it if it does not end itself.
fn wait(mut child: Child) -> Result<(Option<ExitStatus>, String, String), Box<dyn Error>> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break None;
        }
        sleep(Duration::from_millis(2));
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut stdout)?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut stderr)?;
    }
    Ok((status, stdout, stderr))
}

#[cfg(target_os = "linux")]
pub fn limit_memory() -> Result<(), Box<dyn Error>> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(ADDRESS_SPACE), maximum: Some(ADDRESS_SPACE) };
    Ok(setrlimit(Resource::As, limit)?)
}

#[cfg(not(target_os = "linux"))]
pub fn limit_memory() -> Result<(), Box<dyn Error>> {
    Ok(())
}

/// The most memory that this process has had, where the system tells.
pub fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
