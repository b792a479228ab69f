//! The sockets that an exchange can run over, and how only the second process gets at them.
//!
//! Both ends work on the sockets' own types: what wraps them would have to forward the
//! vectored writes and the reads into uninitialised memory that they are chosen for.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{ChildStdin, Command, Stdio};

/// A connected socket, whose two directions are used at once.
pub trait Socket: Read + Write + Sized {
    /// A second handle.
    fn second(&self) -> io::Result<Self>;
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

/// The way to a second process.
pub trait Link {
    type Socket: Socket;
    /// Says in the command that starts it how it gets here; its stdin is part of that.
    fn prepare(&mut self, command: &mut Command) -> io::Result<()>;
    /// Tells it, once it runs, what nobody else may know.
    fn confide(&mut self, stdin: Option<ChildStdin>);
    /// The connection, or `WouldBlock` if there is none yet.
    fn accept(&mut self) -> io::Result<Self::Socket>;
}

impl Socket for TcpStream {
    fn second(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        TcpStream::set_nonblocking(self, nonblocking)
    }
}

/// What the second process says first over TCP, where anybody on this machine can connect.
///
/// It comes through a pipe: others can read command lines and environments, but no pipes.
type Secret = [u8; 32];

/// A free port of 127.0.0.1, and those who have connected to it and have not said the secret yet.
pub struct TcpLink {
    listener: TcpListener,
    secret: Secret,
    strangers: VecDeque<Stranger>,
}

struct Stranger {
    socket: TcpStream,
    said: Secret,
    length: usize,
}

/// Strangers at a time: the longest there goes when there are more. The second process speaks as
/// soon as it has connected.
const MOST_STRANGERS: usize = 64;

impl TcpLink {
    pub fn new() -> io::Result<TcpLink> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let mut secret = Secret::default();
        getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(TcpLink { listener, secret, strangers: VecDeque::new() })
    }
}

impl Link for TcpLink {
    type Socket = TcpStream;

    fn prepare(&mut self, command: &mut Command) -> io::Result<()> {
        command.arg("--tcp").arg(self.listener.local_addr()?.to_string()).stdin(Stdio::piped());
        Ok(())
    }

    fn confide(&mut self, stdin: Option<ChildStdin>) {
        // If it has ended already, that is noticed while its connection is waited for.
        let _ = stdin.map(|mut stdin| stdin.write_all(&self.secret));
    }

    fn accept(&mut self) -> io::Result<TcpStream> {
        for _ in 0..MOST_STRANGERS {
            match self.listener.accept() {
                // One that cannot be prepared has gone away again.
                Ok((socket, _)) => self.strangers.extend(Stranger::new(socket).ok()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
        for _ in 0..self.strangers.len() {
            let Some(mut stranger) = self.strangers.pop_front() else { break };
            match stranger.listen() {
                Ok(said) if is_same(&said, &self.secret) => return Ok(stranger.socket),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.strangers.push_back(stranger),
                _ => {}
            }
        }
        while self.strangers.len() > MOST_STRANGERS {
            self.strangers.pop_front();
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Stranger {
    fn new(socket: TcpStream) -> io::Result<Stranger> {
        socket.set_nonblocking(true)?;
        Ok(Stranger { socket: tune_tcp(socket)?, said: Secret::default(), length: 0 })
    }

    /// What it says, when it has said as much as a secret has.
    fn listen(&mut self) -> io::Result<Secret> {
        while let Some(rest) = self.said.get_mut(self.length..).filter(|rest| !rest.is_empty()) {
            match self.socket.read(rest)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                more => self.length += more,
            }
        }
        Ok(self.said)
    }
}

/// Compares in a time that does not tell how much is the same.
fn is_same(left: &Secret, right: &Secret) -> bool {
    left.iter().zip(right).fold(0, |difference, (left, right)| difference | (left ^ right)) == 0
}

/// Connects to a [`TcpLink`] from the second process, with the secret that is on stdin.
pub fn connect_tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let mut secret = Secret::default();
    io::stdin().lock().read_exact(&mut secret)?;
    let mut socket = tune_tcp(TcpStream::connect(address)?)?;
    socket.write_all(&secret)?;
    Ok(socket)
}

/// Sends what is written at once: the small lines must not wait for more.
fn tune_tcp(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    Ok(socket)
}

#[cfg(unix)]
pub use unix::{UdsLink, inherited_uds};

#[cfg(unix)]
mod unix {
    use std::io::{self, ErrorKind};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{ChildStdin, Command};

    use super::{Link, Socket};

    /// A pair of Unix domain sockets. The second process has the second one as its stdin. Neither
    /// has a name: nobody else can connect, and nothing is left behind.
    pub struct UdsLink {
        ours: Option<UnixStream>,
        theirs: Option<UnixStream>,
    }

    impl UdsLink {
        pub fn new() -> io::Result<UdsLink> {
            let (ours, theirs) = UnixStream::pair()?;
            Ok(UdsLink { ours: Some(ours), theirs: Some(theirs) })
        }
    }

    /// The first process's socket, in the second one.
    pub fn inherited_uds() -> io::Result<UnixStream> {
        Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
    }

    impl Socket for UnixStream {
        fn second(&self) -> io::Result<Self> {
            self.try_clone()
        }

        fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
            UnixStream::set_nonblocking(self, nonblocking)
        }
    }

    impl Link for UdsLink {
        type Socket = UnixStream;

        fn prepare(&mut self, command: &mut Command) -> io::Result<()> {
            let theirs = self.theirs.take().ok_or(ErrorKind::NotConnected)?;
            command.arg("--uds").stdin(OwnedFd::from(theirs));
            Ok(())
        }

        fn confide(&mut self, _: Option<ChildStdin>) {}

        fn accept(&mut self) -> io::Result<UnixStream> {
            self.ours.take().ok_or(ErrorKind::NotConnected.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for<L: Link>(link: &mut L) -> L::Socket {
        loop {
            match link.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                accepted => return accepted.unwrap(),
            }
        }
    }

    #[test]
    fn only_who_knows_the_secret_is_let_in() {
        let mut link = TcpLink::new().unwrap();
        let address = link.listener.local_addr().unwrap();
        let secret = link.secret;
        let mut almost = secret;
        almost[31] ^= 1;
        let all: [&[u8]; 6] = [b"", b"F", &secret[..31], &almost, &[0; 32], &[0; 1000]];
        let mut strangers: Vec<_> = all
            .iter()
            .map(|said| {
                let mut stranger = TcpStream::connect(address).unwrap();
                stranger.write_all(said).unwrap();
                stranger
            })
            .collect();
        // Some have gone again.
        for said in all {
            let mut stranger = TcpStream::connect(address).unwrap();
            let _ = stranger.write_all(said);
        }
        for _ in 0..100 {
            assert_eq!(link.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        let mut second = TcpStream::connect(address).unwrap();
        second.write_all(&secret[..10]).unwrap();
        assert_eq!(link.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        second.write_all(&secret[10..]).unwrap();
        second.write_all(b"and more").unwrap();
        let mut socket = wait_for(&mut link);
        assert_eq!(socket.peer_addr().unwrap(), second.local_addr().unwrap());
        // Not a byte of what follows is lost, and none of the strangers is heard.
        TcpStream::set_nonblocking(&socket, false).unwrap();
        let mut more = [0; 8];
        socket.read_exact(&mut more).unwrap();
        assert_eq!(&more, b"and more");
        drop(link);
        for stranger in &mut strangers {
            let _ = stranger.set_read_timeout(Some(std::time::Duration::from_secs(60)));
            let told = stranger.read(&mut [0]);
            assert!(matches!(&told, Ok(0)) || told.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset));
        }
    }

    #[test]
    fn a_crowd_of_strangers_keeps_nobody_out() {
        let mut link = TcpLink::new().unwrap();
        let address = link.listener.local_addr().unwrap();
        let mut crowd = Vec::new();
        for _ in 0..5 * MOST_STRANGERS {
            crowd.push(TcpStream::connect(address).unwrap());
            let _ = link.accept();
        }
        assert!(link.strangers.len() <= MOST_STRANGERS);
        TcpStream::connect(address).unwrap().write_all(&link.secret).unwrap();
        wait_for(&mut link);
    }

    #[test]
    fn secrets_are_in_no_command_line_and_all_different() {
        let (mut one, other) = (TcpLink::new().unwrap(), TcpLink::new().unwrap());
        assert_ne!(one.secret, other.secret);
        let mut command = Command::new("second");
        one.prepare(&mut command).unwrap();
        let address = one.listener.local_addr().unwrap().to_string();
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["--tcp", &address]);
        assert_eq!(command.get_envs().count(), 0);
    }
}
