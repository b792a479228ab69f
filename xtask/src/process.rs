//! Where the repository is, and running programs in it.

use std::env;
use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

/// The root of the repository.
pub fn root() -> PathBuf {
    // cargo sets the variable when it runs us. What was compiled in is second
    // choice: it names another clone when two of them share a target directory.
    let member = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    member.parent().map_or_else(|| member.clone(), Path::to_path_buf)
}

/// The cargo that runs us, so that its toolchain is the tests' as well.
pub fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Says on stderr what a task is about to do.
pub fn progress(line: &str) {
    eprintln!("xtask: {line}");
}

/// Runs a command to its end with our own stdin, stdout and stderr.
pub fn status(command: &mut Command) -> Result<ExitStatus, Box<dyn Error>> {
    let status = command.status();
    status.map_err(|error| cannot_start(command, &error))
}

/// Runs a command that a task cannot do without.
pub fn must(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = status(command)?;
    check(command, status)
}

/// Runs a command that a task cannot do without, and returns what it prints.
pub fn output(command: &mut Command) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cannot_start(command, &error))?;
    check(command, output.status)?;
    Ok(output.stdout)
}

/// Builds a benchmark of the library and says where it is.
pub fn benchmark(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    executable(&built(&["bench", "--package", "arrow-frames", "--bench", name, "--no-run"])?, name)
}

/// Has cargo build something, and returns the executables by the names of their targets.
pub fn built(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let messages = output(cargo().args(arguments).args(["--quiet", "--message-format", "json"]))?;
    let messages = String::from_utf8(messages)?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, message["executable"].as_str()?.into()))
    };
    Ok(messages.filter_map(program).collect())
}

/// The executable of that name among those that were built.
pub fn executable(built: &[(String, PathBuf)], name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let found = built.iter().rev().find(|(target, _)| target == name);
    let (_, program) = found.ok_or_else(|| format!("cargo names no executable of {name}"))?;
    Ok(program.clone())
}

fn check(command: &Command, status: ExitStatus) -> Result<(), Box<dyn Error>> {
    if status.success() {
        return Ok(());
    }
    Err(format!("{} ended with {status}", shown(command)).into())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Box<dyn Error> {
    match error.kind() {
        ErrorKind::NotFound => format!("{} is not installed", shown_program(command)),
        _ => format!("{} cannot be started: {error}", shown_program(command)),
    }
    .into()
}

fn shown_program(command: &Command) -> String {
    command.get_program().display().to_string()
}

fn shown(command: &Command) -> String {
    let mut line = shown_program(command);
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
