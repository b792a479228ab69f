//! The sockets that an exchange can run over.
//!
//! Both ends work on the sockets' own types: what wraps them would have to forward the
//! vectored writes and the reads into uninitialised memory that they are chosen for.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// A connected socket, whose two directions are used at once.
pub trait Socket: Read + Write + Sized {
    /// A second handle.
    fn second(&self) -> io::Result<Self>;
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

/// A socket that a second process can connect to.
pub trait Listener {
    type Socket: Socket;
    /// The options that tell the second process where.
    fn options(&self) -> io::Result<[OsString; 2]>;
    /// The connection, if there is one by now.
    fn accept(&self) -> io::Result<Self::Socket>;
}

/// Listens on a free port of 127.0.0.1.
pub fn listen_tcp() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Sends what is written at once: the small lines must not wait for more.
pub fn tune_tcp(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    Ok(socket)
}

impl Socket for TcpStream {
    fn second(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        TcpStream::set_nonblocking(self, nonblocking)
    }
}

impl Listener for TcpListener {
    type Socket = TcpStream;

    fn options(&self) -> io::Result<[OsString; 2]> {
        Ok(["--tcp".into(), self.local_addr()?.to_string().into()])
    }

    fn accept(&self) -> io::Result<TcpStream> {
        tune_tcp(TcpListener::accept(self)?.0)
    }
}

#[cfg(unix)]
pub use unix::listen_uds;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::{Listener, Socket};

    /// A Unix domain socket in a folder of its own that only this user can enter; both are
    /// removed when it is dropped.
    pub struct UdsListener {
        listener: UnixListener,
        path: PathBuf,
        _folder: TempDir,
    }

    /// Listens on a Unix domain socket.
    pub fn listen_uds() -> io::Result<UdsListener> {
        let folder = tempfile::Builder::new().prefix("arrow-frames-").tempdir()?;
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(UdsListener { listener, path, _folder: folder })
    }

    impl Socket for UnixStream {
        fn second(&self) -> io::Result<Self> {
            self.try_clone()
        }

        fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
            UnixStream::set_nonblocking(self, nonblocking)
        }
    }

    impl Listener for UdsListener {
        type Socket = UnixStream;

        fn options(&self) -> io::Result<[OsString; 2]> {
            Ok(["--uds".into(), self.path.clone().into()])
        }

        fn accept(&self) -> io::Result<UnixStream> {
            Ok(self.listener.accept()?.0)
        }
    }
}
