//! Questions to a reader's script, which answers them as `tests/readers/answer.py` says.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Ample for the largest file; a reader that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a reader found in a stream or a file.
pub struct Found {
    /// The names of the columns.
    pub names: Vec<String>,
    /// Their types, in the reader's own words.
    pub types: Vec<String>,
    /// The number of rows.
    pub rows: u64,
    /// The ways in which the reader can write this again.
    pub ways: Vec<String>,
    /// The values as JSON.
    pub values: String,
}

/// A conversation with a script. A reader may bring its process down: it is started anew then.
pub struct Talk {
    start: Box<dyn Fn() -> Command + Send>,
    log: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
}

impl Talk {
    /// A conversation with what this command starts; its stderr goes to a file.
    pub fn new(start: impl Fn() -> Command + Send + 'static, log: PathBuf) -> Self {
        Talk { start: Box::new(start), log, running: None }
    }

    /// The reader's version.
    pub fn version(&mut self) -> Result<String, Box<dyn Error>> {
        let answer = self.ask("version", 1).map_err(|words| {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            format!("{:?} {words}\n{log}", (self.start)())
        })?;
        Ok(serde_json::from_str(&answer[0])?)
    }

    /// Has a stream or a file read; an error is the reader's words.
    pub fn read(&mut self, path: &Path) -> Result<Found, String> {
        let answer = self.ask(&format!("read\t{}", path.display()), 2)?;
        let [facts, values] = answer.as_slice() else { return Err("answers too little".into()) };
        let facts: Value = serde_json::from_str(facts).map_err(|error| error.to_string())?;
        if let Some(words) = facts["error"].as_str() {
            return Err(words.to_owned());
        }
        let texts = |key: &str| -> Vec<String> {
            let texts = facts[key].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Ok(Found {
            names: texts("names"),
            types: texts("types"),
            rows: facts["rows"].as_u64().ok_or("answers without rows")?,
            ways: texts("ways"),
            values: values.clone(),
        })
    }

    /// Has written in one of its ways what was read last; an error is the reader's words.
    pub fn write(&mut self, way: &str, path: &Path) -> Result<(), String> {
        let answer = self.ask(&format!("write\t{way}\t{}", path.display()), 1)?;
        let words: Option<String> = serde_json::from_str(&answer[0]).map_err(|error| error.to_string())?;
        words.map_or(Ok(()), Err)
    }

    /// Whether the process is there, and with it what it read last.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Asks a question whose answer has so many lines.
    fn ask(&mut self, question: &str, lines: usize) -> Result<Vec<String>, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start((self.start)(), &self.log).map_err(|error| format!("does not start: {error}"))?,
        };
        // If this fails, no answer comes either.
        let _ = writeln!(running.questions, "{question}").and_then(|()| running.questions.flush());
        let mut answer = Vec::with_capacity(lines);
        for _ in 0..lines {
            match running.answers.recv_timeout(PATIENCE) {
                Ok(line) => answer.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    let _ = running.child.kill();
                    let _ = running.child.wait();
                    return Err(format!("does not answer within {} s", PATIENCE.as_secs()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = running.child.wait().map_err(|error| error.to_string())?;
                    return Err(format!("the process ends with {}", shown(status)));
                }
            }
        }
        self.running = Some(running);
        Ok(answer)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let Running { mut child, questions, .. } = running;
            drop(questions);
            let _ = child.wait();
        }
    }
}

fn start(mut command: Command, log: &Path) -> std::io::Result<Running> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
    let (questions, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(questions), Some(stdout)) = (questions, stdout) else { unreachable!("both are piped") };
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running { child, questions, answers })
}

/// The same everywhere: how a status prints depends on whether memory was dumped.
fn shown(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_ends_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        // Says how often it was started before, reads a question more, and ends itself.
        let script =
            "read question; echo \"\\\"$(wc -l < \"$0\")\\\"\"; echo >> \"$0\"; read question; kill -9 $$";
        let starts = folder.path().join("starts");
        std::fs::write(&starts, "").unwrap();
        let start = move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&starts);
            command
        };
        let mut talk = Talk::new(start, folder.path().join("log"));
        assert_eq!(talk.version().unwrap().trim(), "0");
        assert_eq!(talk.write("file", Path::new("x")).unwrap_err(), "the process ends with signal 9");
        assert!(!talk.is_running());
        assert_eq!(talk.version().unwrap().trim(), "1");
    }
}
