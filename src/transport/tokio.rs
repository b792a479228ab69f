//! Streams over tokio's readers and writers.

use std::future::poll_fn;
use std::io::{ErrorKind as IoErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Poll, ready};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::memory::ReceiveMemory;
use super::receive::StreamReceiver;
use super::send::{Outgoing, SLICES, advance};
use crate::dataframe::DataFrame;
use crate::encode::{Encoder, Target, to_buffers};
use crate::error::Result;
use crate::frames::Frames;
use crate::limits::Limits;

/// Writes frames as an Arrow IPC stream, or the part of one that they are, with vectored
/// writes straight from the columns; returns the bytes. The writer is not flushed.
///
/// # Cancel safety
///
/// Not cancel safe: part of the stream may have been written, and how much is lost.
/// [`AsyncStreamSink`] is.
///
/// # Errors
///
/// As [`write_frames`](crate::write_frames).
pub async fn write_frames_async(writer: &mut (impl AsyncWrite + Unpin), frames: &Frames) -> Result<u64> {
    let mut written = 0;
    write_counted(writer, frames.segments()?, &mut written).await?;
    Ok(written)
}

/// Writes a whole dataframe as an Arrow IPC stream; returns the bytes.
///
/// This is [`to_buffers`] and [`write_frames_async`].
///
/// # Cancel safety
///
/// Not cancel safe.
///
/// # Errors
///
/// As those.
pub async fn write_stream_async(
    writer: &mut (impl AsyncWrite + Unpin),
    df: &DataFrame,
    target: Target,
) -> Result<u64> {
    write_frames_async(writer, &to_buffers(df, target)?).await
}

/// Reads a stream's messages from an asynchronous reader, one at a time: what
/// [`StreamSource`](crate::StreamSource) is for blocking ones.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers};
/// use arrow_frames::{AsyncStreamSource, from_buffers, write_frames_async};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
/// let (mut client, server) = tokio::io::duplex(100);
/// let sending = tokio::spawn(async move { write_frames_async(&mut client, &frames).await });
///
/// let df = from_buffers(AsyncStreamSource::new(server).read_all().await?)?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # sending.await??;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AsyncStreamSource<R> {
    reader: R,
    receiver: StreamReceiver,
}

impl<R: AsyncRead + Unpin> AsyncStreamSource<R> {
    /// A source over any reader, from which it takes no byte beyond the stream's end.
    pub fn new(reader: R) -> Self {
        AsyncStreamSource { reader, receiver: StreamReceiver::new() }
    }

    /// What the stream may claim.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.receiver = self.receiver.with_limits(limits);
        self
    }

    /// Where large bodies land.
    pub fn with_memory(mut self, memory: ReceiveMemory) -> Self {
        self.receiver = self.receiver.with_memory(memory);
        self
    }

    /// See [`StreamSource::with_writable`](crate::StreamSource::with_writable).
    pub fn with_writable(mut self, writable: bool) -> Self {
        self.receiver = self.receiver.with_writable(writable);
        self
    }

    /// See [`StreamSource::with_read_ahead`](crate::StreamSource::with_read_ahead).
    pub fn with_read_ahead(mut self, bytes: usize) -> Self {
        self.receiver = self.receiver.with_read_ahead(bytes);
        self
    }

    /// The frames of the next message; `None` after the end marker, or where the reader ends
    /// between two messages. [`is_finished`](Self::is_finished) tells which.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what has arrived is kept, and the next call goes on with it.
    ///
    /// # Errors
    ///
    /// As [`StreamSource::next`](crate::StreamSource::next).
    pub async fn next(&mut self) -> Result<Option<Frames>> {
        loop {
            if let Some(frames) = self.receiver.next()? {
                return Ok(Some(frames));
            }
            if self.receiver.is_finished() {
                return Ok(None);
            }
            let count = {
                let space = self.receiver.space()?;
                let reader = &mut self.reader;
                let read = poll_fn(|context| {
                    let mut buffer = ReadBuf::new(space);
                    ready!(Pin::new(&mut *reader).poll_read(context, &mut buffer))?;
                    Poll::Ready(std::io::Result::Ok(buffer.filled().len()))
                });
                // Nothing is awaited between the arrival of bytes and their being counted.
                match read.await {
                    Err(error) if error.kind() == IoErrorKind::Interrupted => continue,
                    result => result?,
                }
            };
            if count == 0 {
                self.receiver.end()?;
            } else {
                self.receiver.filled(count);
            }
        }
    }

    /// The frames of all messages that are left, with the end marker if there is one.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the messages before are lost.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub async fn read_all(&mut self) -> Result<Frames> {
        let mut all = Vec::new();
        while let Some(frames) = self.next().await? {
            all.push(frames);
        }
        Ok(all.into_iter().collect())
    }

    /// Whether the end marker has come.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_marked()
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Bytes that were read to one place and moved to another, see
    /// [`StreamReceiver::staged_bytes`].
    pub fn staged_bytes(&self) -> u64 {
        self.receiver.staged_bytes()
    }

    /// After the end of a stream, goes on with the one that follows on the same reader.
    pub fn restart(&mut self) {
        self.receiver.restart();
    }

    /// The reader, and what was read ahead of the stream's end.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        let leftover = self.receiver.leftover().to_vec();
        (self.reader, leftover)
    }
}

/// Writes a stream batch by batch to an asynchronous writer: what
/// [`StreamSink`](crate::StreamSink) is for blocking ones.
///
/// # Cancel safety
///
/// A batch is queued when its [`write`](Self::write) is first polled. A call that is cancelled
/// later has not lost it: the next call of any method goes on where the writing stopped, and
/// the batch must not be written again.
#[derive(Debug)]
pub struct AsyncStreamSink<W> {
    writer: W,
    outgoing: Outgoing,
}

impl<W: AsyncWrite + Unpin> AsyncStreamSink<W> {
    /// A sink of batches with this schema, which is held until the first batch or
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    ///
    /// As [`Encoder::start`].
    pub fn new(writer: W, encoder: Encoder, schema: &SchemaRef) -> Result<Self> {
        Ok(AsyncStreamSink { writer, outgoing: Outgoing::new(encoder, schema)? })
    }

    /// Writes a batch; small ones are held until there are 64 KiB of them.
    ///
    /// # Errors
    ///
    /// As [`StreamSink::write`](crate::StreamSink::write).
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.outgoing.batch(batch)? { self.write_pending().await } else { Ok(()) }
    }

    /// Writes what is held, and flushes the writer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub async fn flush(&mut self) -> Result<()> {
        self.write_pending().await?;
        let writer = &mut self.writer;
        loop {
            match poll_fn(|context| Pin::new(&mut *writer).poll_flush(context)).await {
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                result => return result.map_err(Into::into),
            }
        }
    }

    /// Writes what is held and the end marker, and flushes the writer. After that, nothing
    /// more can be written.
    ///
    /// # Errors
    ///
    /// As [`Encoder::finish`]; [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub async fn finish(&mut self) -> Result<()> {
        self.outgoing.end()?;
        self.flush().await
    }

    /// The encoder, for its report.
    pub fn encoder(&self) -> &Encoder {
        self.outgoing.encoder()
    }

    /// The writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// The writer, without what is held.
    pub fn into_writer(self) -> W {
        self.writer
    }

    async fn write_pending(&mut self) -> Result<()> {
        let (segments, written) = self.outgoing.left()?;
        write_counted(&mut self.writer, segments, written).await?;
        self.outgoing.clear();
        Ok(())
    }
}

/// Writes segments; the count is right whenever this is dropped.
async fn write_counted<'a>(
    writer: &mut (impl AsyncWrite + Unpin),
    segments: impl Iterator<Item = &'a [u8]>,
    written: &mut u64,
) -> Result<()> {
    let mut segments = segments.fuse();
    loop {
        let mut slices: Vec<IoSlice<'_>> = segments.by_ref().take(SLICES).map(IoSlice::new).collect();
        if slices.is_empty() {
            return Ok(());
        }
        let mut left = slices.as_mut_slice();
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let write = poll_fn(|context| Pin::new(&mut *writer).poll_write_vectored(context, left));
            match write.await {
                Ok(count) => advance(&mut left, count, written)?,
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
