//! An example as a process: started, watched, and told to stop.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// For what should take no time: the machine may be slow and busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A service that runs until it is stopped, or dropped.
pub struct Service {
    process: Child,
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
    logging: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts an example on a free port; further arguments follow the address.
    pub fn start(example: &str, arguments: &[&Path]) -> Service {
        let mut command = Command::new(binary(example));
        command.arg("127.0.0.1:0").args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let logging = spawn({
            let (log, errors) = (log.clone(), process.stderr.take().unwrap());
            move || {
                for line in BufReader::new(errors).lines() {
                    *log.lock().unwrap() += &(line.unwrap() + "\n");
                }
            }
        });
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let Ok(address) = first.trim_end().parse() else {
            panic!("{example} printed {first:?} and said {:?}", log.lock().unwrap())
        };
        Service { process, address, log, logging: Some(logging) }
    }

    /// A connection that fails where it would wait for ever.
    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Bytes of memory that it holds.
    pub fn resident(&self) -> usize {
        self.memory("VmRSS:")
    }

    /// The most bytes of memory that it has held.
    pub fn peak(&self) -> usize {
        self.memory("VmHWM:")
    }

    /// How many files and connections it has open.
    pub fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    fn memory(&self, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    /// Waits until it has logged a line that contains this.
    pub fn has_logged(&self, text: &str) {
        wait_until(|| self.log.lock().unwrap().contains(text), text);
    }

    /// Tells it to stop.
    pub fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended, in good order; returns what it logged.
    pub fn ends(mut self) -> String {
        let mut status: Option<ExitStatus> = None;
        let mut has_ended = || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        };
        wait_until(&mut has_ended, "the end of the process");
        self.logging.take().unwrap().join().unwrap();
        let log = self.log.lock().unwrap().clone();
        assert_eq!(status.unwrap().code(), Some(0), "{log}");
        log
    }

    /// Tells it to stop, and waits until it has.
    pub fn stop(self) -> String {
        self.terminate();
        self.ends()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for something that happens in another process.
pub fn wait_until(mut happened: impl FnMut() -> bool, what: &str) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what:?}");
        sleep(Duration::from_millis(5));
    }
}

/// A request over HTTP on a connection of its own.
pub fn request(service: &Service, head: &str, body: &[u8]) -> Response {
    use std::io::Write;
    let mut socket = service.connect();
    let length = body.len();
    write!(socket, "{head} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
        .unwrap();
    socket.write_all(body).unwrap();
    response(socket)
}

/// Reads a response to the end of the connection.
pub fn response(mut socket: TcpStream) -> Response {
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a response has a head");
    let body = bytes.split_off(end + 4);
    Response { head: String::from_utf8(bytes).unwrap().to_lowercase(), body }
}

/// A response over HTTP.
pub struct Response {
    head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn status(&self) -> &str {
        &self.head["http/1.1 ".len()..][..3]
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

/// The example as cargo built it: in the folder beside that of the tests.
pub fn binary(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.ancestors().nth(2).unwrap().join("examples").join(example);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example).with_extension("rs");
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    // Cargo builds the examples for all tests, not for one that is named.
    let hint = "run `cargo build -p arrow-frames --examples --all-features` first";
    assert!(time(&binary) >= time(&source), "{} is not of its source: {hint}", binary.display());
    binary
}
