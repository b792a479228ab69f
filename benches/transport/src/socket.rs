//! Connected sockets, and a thread at their other end.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What sockets are of.
#[derive(Debug, Clone, Copy)]
pub enum Transport {
    /// Unix domain sockets.
    Unix,
    /// TCP over the loopback interface.
    Tcp,
}

/// A socket of either kind, which forwards what it is chosen for.
pub enum Socket {
    /// A Unix domain socket.
    Unix(UnixStream),
    /// A TCP socket.
    Tcp(TcpStream),
}

impl Transport {
    /// As the pages call it.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Unix => "Unix socket",
            Transport::Tcp => "TCP loopback",
        }
    }

    /// Two connected sockets, as the system makes them.
    pub fn pair(self) -> (Socket, Socket) {
        match self {
            Transport::Unix => {
                let (a, b) = UnixStream::pair().expect("a pair of sockets");
                (Socket::Unix(a), Socket::Unix(b))
            }
            Transport::Tcp => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
                let a = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
                let (b, _) = listener.accept().expect("a connection");
                for socket in [&a, &b] {
                    socket.set_nodelay(true).expect("an option");
                }
                (Socket::Tcp(a), Socket::Tcp(b))
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.read(out),
            Socket::Tcp(socket) => socket.read(out),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.write(bytes),
            Socket::Tcp(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.write_vectored(slices),
            Socket::Tcp(socket) => socket.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A thread that does something with its socket whenever it is told to, and says when it is done.
pub struct OtherEnd {
    start: Sender<()>,
    done: Receiver<()>,
}

impl OtherEnd {
    /// Starts it.
    pub fn new(mut socket: Socket, mut job: impl FnMut(&mut Socket) + Send + 'static) -> OtherEnd {
        let (start, started) = channel();
        let (end, done) = channel();
        thread::spawn(move || {
            while started.recv().is_ok() {
                job(&mut socket);
                if end.send(()).is_err() {
                    break;
                }
            }
        });
        OtherEnd { start, done }
    }

    /// Tells it to do its job.
    pub fn start(&self) {
        self.start.send(()).expect("a thread");
    }

    /// Waits until it is done.
    pub fn wait(&self) {
        self.done.recv().expect("a thread");
    }
}
