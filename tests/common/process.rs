//! Tests that need a process of their own: for its memory, its limits, its end.

use std::process::{Command, Output};

/// Says that this process is the one that a test started for itself.
const ALONE: &str = "ARROW_FRAMES_TEST_ALONE";

/// Runs the calling test again in a process of its own, where this returns `false`; in the
/// process that started it, checks that it passed, and returns `true`.
pub fn passes_alone(test: &str) -> bool {
    if is_alone() {
        return false;
    }
    let output = alone(test).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    true
}

/// Whether this process was started for one test.
pub fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// The command that runs one test of this binary in a process of its own.
pub fn alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ALONE, "yes");
    command
}

/// What a process said.
pub fn text(output: &Output) -> String {
    format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Bytes of memory that this process holds, and the most that it held, as Linux counts them.
pub fn resident() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    };
    (field("VmRSS:"), field("VmHWM:"))
}
