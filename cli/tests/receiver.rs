//! The second process of `exchange` alone, with a test in the place of the first one.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_frames::DataFrame;
use common::*;
use serde_json::Value;

/// A second process that has read its file.
struct Receiver {
    child: Child,
    socket: UnixStream,
    replies: BufReader<UnixStream>,
}

impl Receiver {
    fn start(file: &Path) -> Receiver {
        let (socket, its) = UnixStream::pair().unwrap();
        let mut command = program(["exchange-receiver", "--uds", "--file"]);
        let child = command.arg(file).stdin(OwnedFd::from(its)).stderr(Stdio::piped()).spawn().unwrap();
        let replies = BufReader::new(socket.try_clone().unwrap());
        let mut receiver = Receiver { child, socket, replies };
        assert_eq!(receiver.reply()["ready"], true);
        receiver
    }

    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a run and returns its verdict.
    fn send(&mut self, run: u8, stream: &[u8]) -> Value {
        self.socket.write_all(&[&[run], stream].concat()).unwrap();
        let first = self.reply();
        if first.get("error").is_some() {
            return first;
        }
        assert!(first["receive_ns"].as_u64().is_some(), "{first}");
        self.reply()
    }

    /// Closes the socket; returns the exit code and stderr.
    fn end(mut self) -> (Option<i32>, String) {
        self.socket.shutdown(Shutdown::Both).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

fn numbers(values: Vec<i64>) -> DataFrame {
    let array: ArrayRef = Arc::new(Int64Array::from(values));
    RecordBatch::try_from_iter([("number", array)]).unwrap().into()
}

#[test]
fn it_says_which_value_differs() {
    let folder = Folder::new();
    let mine = folder.stream("a.arrows", &numbers((0..5_000).collect()));
    let mut receiver = Receiver::start(&mine);
    let equal = stream(&numbers((0..5_000).collect()));
    let other = stream(&numbers((0..5_000).map(|n| if n == 4_321 { -1 } else { n }).collect()));
    // arrow-ipc reads our stream as well, so each run can have either.
    for run in *b"FP" {
        assert_eq!(receiver.send(run, &equal)["equal"], true);
        let verdict = receiver.send(run, &other);
        assert_eq!(verdict["equal"], false);
        assert_eq!(verdict["difference"], "column \"number\", row 4,321: 4321 became -1");
    }
    assert_eq!(receiver.end(), (Some(0), String::new()));
}

#[test]
fn it_sees_what_equality_of_fields_does_not() {
    let folder = Folder::new();
    let mine = folder.stream("a.arrows", &fancy());
    let mut receiver = Receiver::start(&mine);
    assert_eq!(receiver.send(b'F', &stream(&fancy()))["equal"], true);
    let level = arrow_schema::Schema::clone(fancy().schema());
    let fields = level.fields().iter().map(|field| field.as_ref().clone().with_dict_is_ordered(false));
    let schema =
        arrow_schema::Schema::new_with_metadata(fields.collect::<Vec<_>>(), level.metadata().clone());
    let unordered = DataFrame::try_new(Arc::new(schema), fancy().batches().to_vec()).unwrap();
    let verdict = receiver.send(b'F', &stream(&unordered));
    assert_eq!(verdict["difference"], "column \"level\": the ordered flag of its dictionary differs");
}

#[test]
fn a_stream_that_is_not_one_is_an_answer() {
    let folder = Folder::new();
    let mine = folder.stream("a.arrows", &plain());
    let (bad_text, _) = bad_text();
    let mut cases = vec![b"FF garbage, garbage, garbage".to_vec(), bad_text];
    let mut cut = stream(&plain());
    cut.truncate(cut.len() - 8);
    // An end marker where a body should go on.
    cut.extend_from_slice(&[0xff; 64]);
    cases.push(cut);
    for (index, case) in cases.into_iter().enumerate() {
        for run in *b"FP" {
            let mut receiver = Receiver::start(&mine);
            // A length that lies is waited for until the end.
            receiver.socket.write_all(&[&[run], case.as_slice()].concat()).unwrap();
            receiver.socket.shutdown(Shutdown::Write).unwrap();
            let verdict = receiver.reply();
            assert!(verdict["error"].as_str().is_some(), "case {index}: {verdict}");
            assert_eq!(receiver.end(), (Some(0), String::new()));
        }
    }
}

#[test]
fn it_ends_with_the_first_process() {
    let folder = Folder::new();
    let mine = folder.stream("a.arrows", &plain());
    assert_eq!(Receiver::start(&mine).end(), (Some(0), String::new()));

    let mut receiver = Receiver::start(&mine);
    let bytes = stream(&plain());
    receiver.socket.write_all(&[b"F", &bytes[..100]].concat()).unwrap();
    let (code, _) = receiver.end();
    assert!(code.is_some(), "it hangs or was killed");
}

#[test]
fn what_it_cannot_do_is_one_line() {
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    let arguments = ["exchange-receiver", "--uds", "--file", file.to_str().unwrap()];
    let line = run(arguments).fails();
    assert!(line.contains("the socket of the first process: Socket operation on non-socket"), "{line}");
    // Without the secret, it does not even connect.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let arguments = ["exchange-receiver", "--tcp", &address, "--file", file.to_str().unwrap()];
    assert!(run(arguments).fails().contains("the socket of the first process: "));
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    let mut receiver = Receiver::start(&file);
    receiver.socket.write_all(b"?").unwrap();
    let (code, stderr) = receiver.end();
    assert_eq!((code, stderr.as_str()), (Some(1), "arrow-frames: exchange-receiver: there is no run 63\n"));
}
