//! A connection whose client has to keep up: nobody holds it, or what it was given, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

/// Bytes a second that a client has to send or to take, on average.
const RATE: f64 = 65_536.0;

/// A connection that fails when its client is too slow.
///
/// The service waits for a client for `patience` in all. Bytes that move earn more of it, one
/// second for each [`RATE`] of them, up to `patience` again; so does a change of direction, which
/// is the start of a request or of an answer. A client that does nothing is let go after
/// `patience`, and so is one that sends a byte now and then. A slow one that keeps to the rate has
/// all the time it needs. What the service itself takes does not count.
pub struct Paced {
    pub socket: TcpStream,
    patience: Duration,
    left: Duration,
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
    last: Direction,
    /// Its place among the connections, free again when this is dropped.
    _place: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl Paced {
    pub fn new(socket: TcpStream, patience: Duration, place: OwnedSemaphorePermit) -> Paced {
        let (timer, last) = (Box::pin(sleep(patience)), Direction::Read);
        Paced { socket, patience, left: patience, timer, is_waiting: false, last, _place: place }
    }

    /// Counts the bytes that moved, or the time without any.
    fn count(
        &mut self,
        context: &mut Context<'_>,
        direction: Direction,
        moved: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(moved) = moved else {
            if !self.is_waiting {
                self.is_waiting = true;
                self.timer.as_mut().reset(Instant::now() + self.left);
            }
            ready!(self.timer.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")));
        };
        let bytes = moved?;
        if self.is_waiting {
            self.is_waiting = false;
            self.left = self.timer.deadline().saturating_duration_since(Instant::now());
        }
        self.left += Duration::from_secs_f64(bytes as f64 / RATE);
        if bytes > 0 && self.last != direction {
            (self.last, self.left) = (direction, self.patience);
        }
        self.left = self.left.min(self.patience);
        Poll::Ready(Ok(bytes))
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, into);
        let read = read.map_ok(|()| into.filled().len() - before);
        self.count(context, Direction::Read, read).map_ok(drop)
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.count(context, Direction::Write, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.count(context, Direction::Write, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    // Neither waits for the client.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
