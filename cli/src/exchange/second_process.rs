//! Starting, watching and ending the second process.

use std::io::{self, BufReader, ErrorKind, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::protocol;
use super::socket::{Link, Socket};
use crate::failure::{Failure, Outcome};
use crate::text;

/// How long a new process may take to connect, before it opens the file: an age even on a
/// machine that swaps.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a process that should connect, or end, is looked at.
const POLL: Duration = Duration::from_millis(2);

/// How long it may take to end once its socket is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The second process and the socket to it. It does not outlive this value.
pub struct SecondProcess<S> {
    /// To write to; replies come by [`reply`](Self::reply).
    pub socket: S,
    replies: BufReader<S>,
    child: Owned,
}

/// A child that is ended and waited for on every way out.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // It may have ended by itself; then neither call does anything.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<S: Socket> SecondProcess<S> {
    /// Starts a command and waits until it connects. Nobody can connect any more when this
    /// returns.
    pub fn start(mut command: Command, mut link: impl Link<Socket = S>, timeout: Duration) -> Outcome<Self> {
        link.prepare(&mut command).map_err(failure)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| failure(format_args!("cannot be started: {error}")))?;
        // It holds the second process's socket open, whose end would not be noticed.
        drop(command);
        let mut child = Owned(child);
        link.confide(child.0.stdin.take());
        let deadline = Instant::now() + timeout;
        let socket = loop {
            match link.accept() {
                Ok(socket) => break socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(failure(error)),
            }
            if let Some(end) = child.end()? {
                return Err(failure(end));
            }
            if Instant::now() >= deadline {
                let waited = text::duration(timeout);
                return Err(failure(format_args!("did not connect within {waited}")));
            }
            thread::sleep(POLL);
        };
        // Some systems hand the listener's mode on.
        let ready = socket.set_nonblocking(false).and_then(|()| socket.second());
        let replies = BufReader::new(ready.map_err(failure)?);
        Ok(SecondProcess { socket, replies, child })
    }

    /// The next line from it, or why there is none.
    pub fn reply(&mut self) -> Outcome<Value> {
        match protocol::read_line(&mut self.replies) {
            Ok(Some(reply)) => match reply.get("error").and_then(Value::as_str) {
                Some(why) => Err(failure(why)),
                None => Ok(reply),
            },
            Ok(None) => Err(self.lost()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(self.lost()),
            Err(error) => Err(failure(error)),
        }
    }

    /// Reads the next line as something.
    pub fn parse<T>(&mut self, parse: impl FnOnce(&Value) -> Option<T>) -> Outcome<T> {
        let reply = self.reply()?;
        parse(&reply).ok_or_else(|| failure(format_args!("gave an answer that makes no sense: {reply}")))
    }

    /// Why a write to it failed: what it said last, how it ended, or else the error.
    pub fn write_failed(&mut self, error: impl std::fmt::Display) -> Failure {
        match self.reply() {
            Err(said) => said,
            Ok(_) => failure(error),
        }
    }

    /// Closes the socket, upon which the process ends by itself.
    pub fn finish(self) -> Outcome {
        let SecondProcess { socket, replies, mut child } = self;
        drop((socket, replies));
        match child.wait(EXIT_TIMEOUT)? {
            Some(end) => Err(failure(end)),
            None => Ok(()),
        }
    }

    /// How it ended, if its socket is closed although it should not be.
    fn lost(&mut self) -> Failure {
        match self.child.wait(EXIT_TIMEOUT) {
            Ok(Some(end)) => failure(end),
            Ok(None) => failure("ended too early"),
            Err(failure) => failure,
        }
    }
}

impl Owned {
    /// How it ended, if it has.
    fn end(&mut self) -> Outcome<Option<String>> {
        let Some(status) = self.0.try_wait().map_err(failure)? else { return Ok(None) };
        let said = self.0.stderr.take().map(said).unwrap_or_default();
        Ok(Some(if said.is_empty() { format!("ended with {status}") } else { said }))
    }

    /// Waits for its end; `None` if that was a success.
    fn wait(&mut self, timeout: Duration) -> Outcome<Option<String>> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.0.try_wait().map_err(failure)? {
                Some(status) if status.success() => return Ok(None),
                Some(_) => return self.end(),
                None if Instant::now() >= deadline => {
                    return Err(failure("closed its socket and did not end"));
                }
                None => thread::sleep(POLL),
            }
        }
    }
}

fn failure(why: impl std::fmt::Display) -> Failure {
    Failure::new("the second process", why)
}

/// What an ended process wrote to stderr, without the program's name in front.
fn said(mut stderr: impl Read) -> String {
    /// More than any message has.
    const MOST: u64 = 4096;
    let mut bytes = Vec::new();
    let read: io::Result<usize> = stderr.by_ref().take(MOST).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let line = text::one_line(&text);
    if read.is_err() { String::new() } else { line.trim_start_matches("arrow-frames: ").to_owned() }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::exchange::socket::{TcpLink, UdsLink};

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// The failure of a second process that does not connect.
    fn start(script: &str, timeout: Duration) -> String {
        let started = SecondProcess::start(sh(script), TcpLink::new().unwrap(), timeout);
        started.err().unwrap().line()
    }

    /// The failure of one that is connected and says nothing.
    fn reply(script: &str) -> String {
        let mut started = SecondProcess::start(sh(script), UdsLink::new().unwrap(), CONNECT_TIMEOUT).unwrap();
        started.reply().unwrap_err().line()
    }

    #[test]
    fn one_that_ends_is_reported_with_its_words() {
        for failure in [|script: &str| start(script, CONNECT_TIMEOUT), reply] {
            let line = failure("echo 'arrow-frames: x.csv: No such file' >&2; exit 1");
            assert_eq!(line, "the second process: x.csv: No such file");
        }
    }

    #[test]
    fn one_that_is_killed_is_reported_with_its_status() {
        for failure in [|script: &str| start(script, CONNECT_TIMEOUT), reply] {
            let line = failure("kill -9 $$");
            assert!(line.starts_with("the second process: ended with signal: 9"), "{line}");
        }
    }

    #[test]
    fn one_that_never_connects_is_ended() {
        let before = Instant::now();
        let line = start("exec sleep 100", Duration::from_millis(50));
        assert_eq!(line, "the second process: did not connect within 50.0 ms");
        assert!(before.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn one_that_does_not_exist_is_an_error() {
        let command = Command::new("/no/such/program");
        let started = SecondProcess::start(command, TcpLink::new().unwrap(), CONNECT_TIMEOUT);
        let line = started.err().unwrap().line();
        assert!(line.starts_with("the second process: cannot be started: No such file"), "{line}");
    }
}
