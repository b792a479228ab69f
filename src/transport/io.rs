//! Streams over blocking readers and writers.

use std::io::{ErrorKind as IoErrorKind, IoSlice, Read, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::memory::ReceiveMemory;
use super::receive::StreamReceiver;
use super::send::{Outgoing, SLICES, advance};
use crate::dataframe::DataFrame;
use crate::encode::{Encoder, Target, to_buffers};
use crate::error::Result;
use crate::frames::Frames;
use crate::limits::Limits;

/// Writes segments with as few vectored writes as the writer takes; returns the bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers, write_segments};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
/// let mut file = Vec::new();
/// let written = write_segments(&mut file, frames.file_form()?.segments()?)?;
/// assert_eq!(written, file.len() as u64);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io). Part of the stream may have been written.
pub fn write_segments<'a>(writer: &mut impl Write, segments: impl Iterator<Item = &'a [u8]>) -> Result<u64> {
    let mut written = 0;
    write_counted(writer, segments, &mut written)?;
    Ok(written)
}

/// Writes segments; the count is right after an error too.
fn write_counted<'a>(
    writer: &mut impl Write,
    segments: impl Iterator<Item = &'a [u8]>,
    written: &mut u64,
) -> Result<()> {
    let mut segments = segments.fuse();
    let mut slices: Vec<IoSlice<'_>> = Vec::new();
    loop {
        slices.clear();
        slices.extend(segments.by_ref().take(SLICES).map(IoSlice::new));
        if slices.is_empty() {
            return Ok(());
        }
        let mut left = slices.as_mut_slice();
        // Takes empty slices off the front: writing nothing but those looks like an end.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match writer.write_vectored(left) {
                Ok(count) => advance(&mut left, count, written)?,
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Writes frames as an Arrow IPC stream, or the part of one that they are, with vectored
/// writes straight from the columns; returns the bytes. The writer needs no buffering, and is
/// not flushed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers};
/// use arrow_frames::{StreamSource, from_buffers, write_frames};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
///
/// let mut socket = Vec::new();
/// write_frames(&mut socket, &frames)?;
///
/// let df = from_buffers(StreamSource::new(socket.as_slice()).read_all()?)?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// As [`Frames::segments`], before anything is written; [`ErrorKind::Io`](crate::ErrorKind::Io), when part of the
/// stream may have been.
pub fn write_frames(writer: &mut impl Write, frames: &Frames) -> Result<u64> {
    write_segments(writer, frames.segments()?)
}

/// Writes a whole dataframe as an Arrow IPC stream; returns the bytes.
///
/// This is [`to_buffers`] and [`write_frames`]. [`StreamSink`] writes batches as they come.
///
/// # Errors
///
/// As those.
pub fn write_stream(writer: &mut impl Write, df: &DataFrame, target: Target) -> Result<u64> {
    write_frames(writer, &to_buffers(df, target)?)
}

/// Reads a stream's messages from a reader, one at a time.
///
/// Each call to [`next`](StreamSource::next) returns the frames of one message; a
/// [`Decoder`](crate::Decoder) takes them as they come. [`read_all`](StreamSource::read_all)
/// gathers all of them. The bytes land where they stay: [`StreamReceiver`] says how, and the
/// reader needs no buffering.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers, write_frames};
/// use arrow_frames::{StreamSource, from_buffers};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
/// # let mut sent = Vec::new();
/// # write_frames(&mut sent, &frames)?;
/// # let socket = sent.as_slice();
///
/// let df = from_buffers(StreamSource::new(socket).read_all()?)?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct StreamSource<R> {
    reader: R,
    receiver: StreamReceiver,
}

impl<R: Read> StreamSource<R> {
    /// A source over any reader, from which it takes no byte beyond the stream's end.
    pub fn new(reader: R) -> Self {
        StreamSource { reader, receiver: StreamReceiver::new() }
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

    /// Receives the frames that the sender
    /// [marked](crate::Encoder::with_writable) as writable into allocations of their own,
    /// which arrow can change in place. The others share the region of their body.
    pub fn with_writable(mut self, writable: bool) -> Self {
        self.receiver = self.receiver.with_writable(writable);
        self
    }

    /// Reads up to so many bytes ahead, so that one call of the system brings many small
    /// messages: 65,536 is a good number for those. 0, the default, takes no byte that follows
    /// the stream.
    pub fn with_read_ahead(mut self, bytes: usize) -> Self {
        self.receiver = self.receiver.with_read_ahead(bytes);
        self
    }

    /// The frames of the next message; `None` after the end marker, or where the reader ends
    /// between two messages. [`is_finished`](Self::is_finished) tells which.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if the reader ends inside a message, with the position in
    /// the stream; whatever is wrong with the message: after those the place in the stream is
    /// lost, and every further call is an error too. [`ErrorKind::Io`](crate::ErrorKind::Io) loses nothing: where the
    /// reader's error passes (a timeout), a further call goes on.
    #[allow(clippy::should_implement_trait)] // An iterator would hide the errors' positions.
    pub fn next(&mut self) -> Result<Option<Frames>> {
        loop {
            if let Some(frames) = self.receiver.next()? {
                return Ok(Some(frames));
            }
            if self.receiver.is_finished() {
                return Ok(None);
            }
            match self.reader.read(self.receiver.space()?) {
                Ok(0) => self.receiver.end()?,
                Ok(count) => self.receiver.filled(count),
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The frames of all messages that are left, with the end marker if there is one.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next); the messages before the error are gone.
    pub fn read_all(&mut self) -> Result<Frames> {
        let mut all = Vec::new();
        while let Some(frames) = self.next()? {
            all.push(frames);
        }
        Ok(all.into_iter().collect())
    }

    /// Whether the end marker has come, or the one message of a tensor, which has none.
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

/// Writes a stream batch by batch: the schema once, a dictionary when it is new or has
/// changed, and only its new values if the encoder writes deltas.
///
/// Small messages are held, without a copy, until there are 64 KiB of them or
/// [`flush`](StreamSink::flush) is called, and go out in one vectored write.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// use arrow_frames::{Encoder, StreamSink, StreamSource, Target, from_buffers};
/// # let batch = |n: i8| -> Result<_, Box<dyn std::error::Error>> {
/// #     let a: ArrayRef = Arc::new(Int8Array::from(vec![n]));
/// #     Ok(RecordBatch::try_from_iter([("a", a)])?)
/// # };
/// # let (first, second) = (batch(1)?, batch(2)?);
///
/// let encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(true);
/// let mut sink = StreamSink::new(Vec::new(), encoder, &first.schema())?;
/// sink.write(&first)?;
/// sink.write(&second)?;
/// sink.finish()?;
/// let socket = sink.into_writer();
///
/// let df = from_buffers(StreamSource::new(socket.as_slice()).read_all()?)?;
/// assert_eq!(df.num_rows(), 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct StreamSink<W> {
    writer: W,
    outgoing: Outgoing,
}

impl<W: Write> StreamSink<W> {
    /// A sink of batches with this schema, which is held until the first batch or
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    ///
    /// As [`Encoder::start`].
    pub fn new(writer: W, encoder: Encoder, schema: &SchemaRef) -> Result<Self> {
        Ok(StreamSink { writer, outgoing: Outgoing::new(encoder, schema)? })
    }

    /// Writes a batch.
    ///
    /// # Errors
    ///
    /// As [`Encoder::encode_batch`], after which the stream is as it was before the call.
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): part of a message may have been written; what was not is kept,
    /// and [`flush`](Self::flush) goes on with it where the writer's error passes.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.outgoing.batch(batch)? { self.write_pending() } else { Ok(()) }
    }

    /// Writes what is held, and flushes the writer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn flush(&mut self) -> Result<()> {
        self.write_pending()?;
        loop {
            match self.writer.flush() {
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                result => return result.map_err(Into::into),
            }
        }
    }

    /// Writes what is held and the end marker, and flushes the writer; no batch can follow. After
    /// an error of the writer, a further call goes on. A sink that is dropped instead writes
    /// neither: the stream was cut, and its reader will say so.
    ///
    /// # Errors
    ///
    /// As [`Encoder::finish`]; [`ErrorKind::Io`](crate::ErrorKind::Io).
    pub fn finish(&mut self) -> Result<()> {
        self.outgoing.end()?;
        self.flush()
    }

    /// The writer, without what is held.
    pub fn into_writer(self) -> W {
        self.writer
    }

    /// The encoder, for its report.
    pub fn encoder(&self) -> &Encoder {
        self.outgoing.encoder()
    }

    /// The writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    fn write_pending(&mut self) -> Result<()> {
        let (segments, written) = self.outgoing.left()?;
        write_counted(&mut self.writer, segments, written)?;
        self.outgoing.clear();
        Ok(())
    }
}
