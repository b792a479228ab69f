//! Streams over blocking readers and writers.

use std::io::{ErrorKind as IoErrorKind, IoSlice, Read, Write};

use arrow_buffer::Buffer;

use super::stream::slice_body;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::CONTINUATION;
use crate::wire::envelope::{self, Next};
use crate::wire::message::Message;

/// Slices per call: the least that every system accepts (`IOV_MAX` of Linux is 1,024).
const SLICES: usize = 1024;

/// Bytes that are asked of a reader, and memory taken for them, before any have come. What
/// is larger doubles from here on, which moves pages and copies no bytes with most allocators.
const FIRST_READ: usize = 16 << 20;

/// Writes segments with as few vectored writes as the writer takes; returns the bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers, write_segments};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
/// let mut socket = Vec::new();
/// let written = write_segments(&mut socket, frames.segments()?)?;
/// assert_eq!(written, socket.len() as u64);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`ErrorKind::Io`]. Part of the stream may have been written.
pub fn write_segments<'a>(writer: &mut impl Write, segments: impl Iterator<Item = &'a [u8]>) -> Result<u64> {
    let mut segments = segments.fuse();
    let mut total = 0u64;
    loop {
        let mut slices: Vec<IoSlice<'_>> = segments.by_ref().take(SLICES).map(IoSlice::new).collect();
        if slices.is_empty() {
            return Ok(total);
        }
        let mut left = slices.as_mut_slice();
        // Takes empty slices off the front: writing nothing but those looks like an end.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match writer.write_vectored(left) {
                Ok(0) => return Err(ErrorKind::Io(IoErrorKind::WriteZero.into()).into()),
                Ok(written) => {
                    total = total.saturating_add(written as u64);
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads a stream's messages from a reader, one at a time.
///
/// Each call to [`next`](StreamSource::next) returns the frames of one message; a
/// [`Decoder`](crate::Decoder) takes them as they come. [`read_all`](StreamSource::read_all)
/// gathers all of them.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers, write_segments};
/// use arrow_frames::{StreamSource, from_buffers};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
/// # let mut sent = Vec::new();
/// # write_segments(&mut sent, frames.segments()?)?;
/// # let socket = sent.as_slice();
///
/// let df = from_buffers(StreamSource::new(socket).read_all()?)?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct StreamSource<R> {
    reader: R,
    limits: Limits,
    position: u64,
    finished: bool,
    failed: bool,
}

impl<R: Read> StreamSource<R> {
    /// A source over any reader; each body is read straight into memory of its own, so no
    /// buffering is needed around it.
    pub fn new(reader: R) -> Self {
        StreamSource { reader, limits: Limits::default(), position: 0, finished: false, failed: false }
    }

    /// What the stream may claim.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The frames of the next message; `None` after the end marker, or where the reader ends
    /// between two messages. [`is_finished`](Self::is_finished) tells which.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`] if the reader ends inside a message, with the position in
    /// the stream; [`ErrorKind::Io`]; whatever is wrong with the message.
    /// After an error the place in the stream is lost: every further call is an error too.
    #[allow(clippy::should_implement_trait)] // An iterator would hide the errors' positions.
    pub fn next(&mut self) -> Result<Option<Frames>> {
        if self.finished {
            return Ok(None);
        }
        if self.failed {
            return Err(ErrorKind::Io(IoErrorKind::NotConnected.into()).into());
        }
        let message = self.next_message();
        self.failed = message.is_err();
        message
    }

    /// The frames of all messages that are left, with the end marker if there is one.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn read_all(&mut self) -> Result<Frames> {
        let mut header = Vec::new();
        let mut buffers = Vec::new();
        while let Some(frames) = self.next()? {
            let (message, frames) = frames.into_parts();
            header.extend_from_slice(&message);
            buffers.extend(frames);
        }
        Ok(Frames::new(header, buffers))
    }

    /// Whether the end marker has come.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn next_message(&mut self) -> Result<Option<Frames>> {
        let start = self.position;
        let mut header = Vec::new();
        let prefix = self.read_into(&mut header, 4)?;
        if prefix == 0 {
            return Ok(None);
        }
        let mut needed = 8usize;
        if header.get(..4) == Some(&CONTINUATION) {
            self.read_into(&mut header, 4)?;
        } else {
            needed = 4;
        }
        let length = match header.get(needed.saturating_sub(4)..needed).and_then(|b| b.first_chunk::<4>()) {
            Some(length) => i32::from_le_bytes(*length),
            None => return Err(truncated(Part::Prefix, start, 8, header.len())),
        };
        if length == 0 {
            self.finished = true;
            return Ok(Some(Frames::new(header, Vec::new())));
        }
        // A wrong length is told by `envelope::next`, which knows the limits.
        let allowed = usize::try_from(self.limits.max_metadata_bytes).unwrap_or(usize::MAX);
        let length = usize::try_from(length).ok().filter(|length| *length <= allowed);
        self.read_into(&mut header, length.unwrap_or_default())?;
        let envelope = match envelope::next(&header, 0, &self.limits) {
            Ok(Next::Message(envelope)) => envelope,
            Ok(_) => return Ok(None),
            Err(error) => return Err(at(error, start)),
        };
        let message = {
            let flatbuffer = header.get(envelope.metadata).unwrap_or_default();
            Message::parse(flatbuffer, start, &self.limits)?
        };
        let body_start = self.position;
        let mut body = Vec::new();
        let length = usize::try_from(message.body_length).unwrap_or(usize::MAX);
        if self.read_into(&mut body, length)? < length {
            return Err(truncated(Part::Body, body_start, message.body_length, body.len()));
        }
        let mut frames = Vec::new();
        slice_body(&message, &Buffer::from_vec(body), 0, &mut frames)?;
        Ok(Some(Frames::new(header, frames)))
    }

    /// Appends up to `count` bytes; fewer only at the reader's end. Memory is taken as bytes
    /// arrive for it, whatever the count claims.
    fn read_into(&mut self, out: &mut Vec<u8>, count: usize) -> Result<usize> {
        let mut total = 0usize;
        while total < count {
            let step = count.saturating_sub(total).min(total.max(FIRST_READ));
            out.try_reserve_exact(step).map_err(|_| ErrorKind::Memory { bytes: step as u64 })?;
            let read = self.reader.by_ref().take(step as u64).read_to_end(out)?;
            total = total.saturating_add(read);
            self.position = self.position.saturating_add(read as u64);
            if read < step {
                break;
            }
        }
        Ok(total)
    }
}

fn truncated(part: Part, position: u64, needed: u64, available: usize) -> crate::Error {
    ErrorKind::Truncated { part, position, needed, available: available as u64 }.into()
}

/// Moves an error's position from its message to the stream.
fn at(error: crate::Error, start: u64) -> crate::Error {
    match error.into_kind() {
        ErrorKind::Truncated { part, position, needed, available } => {
            let position = position.saturating_add(start);
            ErrorKind::Truncated { part, position, needed, available }.into()
        }
        ErrorKind::BadNumber { part, position, number } => {
            let position = position.saturating_add(start);
            ErrorKind::BadNumber { part, position, number }.into()
        }
        other => other.into(),
    }
}
