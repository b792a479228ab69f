//! The Arrow IPC stream: messages and bodies in turn, as slices, never as one buffer.

use arrow_buffer::Buffer;
use bytes::Bytes;

use crate::content::Content;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::batch::Span;
use crate::wire::envelope::{self, Next, Prefixes};
use crate::wire::message::Message;
use crate::wire::tensor;

/// Zeros between frames: up to 63 in what this crate laid out, up to a page in what is
/// accepted of others.
static ZEROS: [u8; 4096] = [0; 4096];

impl Frames {
    /// The slices of one valid Arrow IPC stream, in order, for vectored writes: each
    /// message of the header, its frames, and the zeros between them.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
    /// # use arrow_frames::{DataFrame, Target, to_buffers};
    /// use std::io::IoSlice;
    /// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    /// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
    ///
    /// let segments = frames.segments()?;
    /// assert_eq!(segments.num_bytes() % 8, 0);
    /// let slices: Vec<IoSlice> = segments.map(IoSlice::new).collect();
    /// # assert!(slices.len() >= 4);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the header; [`ErrorKind::FrameCount`] and
    /// [`ErrorKind::FrameLength`] if the frames are not those that it names;
    /// [`ErrorKind::BufferOutside`] if another writer laid out the body in a way that
    /// frames in order cannot fill (descending buffers), [`ErrorKind::BadNumber`] if it left
    /// gaps of more than a page: decode and encode it.
    pub fn segments(&self) -> Result<Segments<'_>> {
        let mut pieces = Vec::with_capacity(self.buffers().len().saturating_mul(2).saturating_add(8));
        plan(self, &mut pieces)?;
        Ok(Segments::new(pieces))
    }

    /// The same slices as shared, owned bytes, for transports that take those one by one: the
    /// body of an HTTP response, a channel.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
    /// # use arrow_frames::{DataFrame, Target, to_buffers};
    /// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    /// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
    /// let address = frames.buffers()[0].as_ptr();
    /// let chunks: Vec<bytes::Bytes> = frames.into_chunks()?;
    /// assert!(chunks.iter().any(|chunk| chunk.as_ptr() == address));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`segments`](Self::segments).
    pub fn into_chunks(self) -> Result<Vec<Bytes>> {
        let mut pieces = Vec::new();
        plan(&self, &mut pieces)?;
        let header = Bytes::from(self.header().clone());
        let chunk = |piece: Piece<'_>| match piece {
            Piece::Bytes(bytes) => header.slice_ref(bytes),
            Piece::Frame(frame) => Bytes::from(frame.clone()),
            Piece::Zeros(zeros) => Bytes::from_static(ZEROS.get(..to_usize(zeros)).unwrap_or_default()),
        };
        Ok(pieces.into_iter().map(chunk).filter(|chunk| !chunk.is_empty()).collect())
    }

    /// Takes a stream apart that lies in one buffer (a received body, a file): every
    /// frame is a slice of it. Only the metadata is copied, into the header. To decode it at
    /// once, [`Decoder::decode_stream`](crate::Decoder::decode_stream) reads the metadata once.
    ///
    /// A stream may end with its end marker or between two messages; what follows an end
    /// marker, or a tensor, is ignored. [`Decoder::is_finished`](crate::Decoder::is_finished) tells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`] if it is cut elsewhere; whatever is wrong with its messages.
    pub fn from_stream(stream: impl Into<Buffer>) -> Result<Frames> {
        Self::from_stream_with_limits(stream, &Limits::default())
    }

    /// [`from_stream`](Self::from_stream) within these limits.
    ///
    /// # Errors
    ///
    /// Also [`ErrorKind::Limit`].
    pub fn from_stream_with_limits(stream: impl Into<Buffer>, limits: &Limits) -> Result<Frames> {
        Ok(take_apart(&stream.into(), limits)?.0)
    }
}

/// The frames of a stream, and where it came to its end, if it did.
pub(super) fn take_apart(stream: &Buffer, limits: &Limits) -> Result<(Frames, Option<usize>)> {
    let mut header = Vec::new();
    let mut frames = Vec::new();
    let mut position = 0;
    let mut prefixes = Prefixes::default();
    let end = loop {
        match envelope::next(stream, position, &mut prefixes, limits)? {
            Next::Nothing => break None,
            Next::End { end } => {
                header.extend_from_slice(stream.get(position..end).unwrap_or_default());
                break Some(end);
            }
            Next::Message(envelope) => {
                let (start, body) = (envelope.start, envelope.metadata.end);
                header.extend_from_slice(stream.get(start..body).unwrap_or_default());
                let flatbuffer = tensor::readable(stream.get(envelope.metadata).unwrap_or_default());
                let message = Message::parse(&flatbuffer, start as u64, limits)?;
                position = slice_body(&message, stream, body, &mut frames)?;
                if is_whole(&message)? {
                    break Some(position);
                }
            }
        }
    };
    Ok((Frames::new(header, frames), end))
}

/// Whether a message is a whole stream: a tensor is one without a schema or an end marker, and has
/// no place in any other.
pub(super) fn is_whole(message: &Message<'_>) -> Result<bool> {
    match message.content() {
        Content::DataFrame => Ok(false),
        Content::Tensor | Content::SparseTensor if message.position == 0 => Ok(true),
        Content::Tensor | Content::SparseTensor => Err(message.misplaced()),
    }
}

/// Slices a message's frames from the body that starts at `body`; returns the body's end.
pub(super) fn slice_body(
    message: &Message<'_>,
    source: &Buffer,
    body: usize,
    frames: &mut Vec<Buffer>,
) -> Result<usize> {
    // As where a body is still to come: what is wrong with its frames is told first.
    let spans = message.frames()?;
    let available = source.len().saturating_sub(body);
    let length = usize::try_from(message.body_length).unwrap_or(usize::MAX);
    if length > available {
        return Err(ErrorKind::Truncated {
            part: Part::Body,
            position: body as u64,
            needed: message.body_length,
            available: available as u64,
        }
        .into());
    }
    frames.extend(slices(&spans, source, body));
    Ok(body.saturating_add(length))
}

/// The frames in a body that starts there, in a source that holds all of it: a span lies inside
/// the body.
pub(super) fn slices<'s>(
    spans: &'s [Span],
    source: &'s Buffer,
    body: usize,
) -> impl Iterator<Item = Buffer> + 's {
    let slice = move |span: &Span| {
        let (offset, length) = (to_usize(span.offset), to_usize(span.length));
        source.slice_with_length(body.saturating_add(offset), length)
    };
    spans.iter().map(slice)
}

/// The slices of a stream; see [`Frames::segments`].
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    pieces: std::vec::IntoIter<Piece<'a>>,
    zeros: u64,
}

/// A part of a stream.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    /// Bytes of the header.
    Bytes(&'a [u8]),
    /// A frame.
    Frame(&'a Buffer),
    /// So many zeros.
    Zeros(u64),
}

/// Zeros, fewer than there are at hand.
pub(super) fn zeros_up_to(count: usize) -> Piece<'static> {
    Piece::Zeros(count.min(ZEROS.len()) as u64)
}

impl<'a> Segments<'a> {
    pub(super) fn new(pieces: Vec<Piece<'a>>) -> Self {
        Segments { pieces: pieces.into_iter(), zeros: 0 }
    }

    /// Bytes of all segments that are left.
    pub fn num_bytes(&self) -> u64 {
        let length = |piece: &Piece<'_>| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Frame(frame) => frame.len() as u64,
            Piece::Zeros(zeros) => *zeros,
        };
        self.pieces.as_slice().iter().map(length).fold(self.zeros, u64::saturating_add)
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            if self.zeros > 0 {
                let length = to_usize(self.zeros).min(ZEROS.len());
                self.zeros = self.zeros.saturating_sub(length as u64);
                return ZEROS.get(..length);
            }
            match self.pieces.next()? {
                Piece::Bytes([]) => {}
                Piece::Bytes(bytes) => return Some(bytes),
                Piece::Frame(frame) => return Some(frame),
                Piece::Zeros(zeros) => self.zeros = zeros,
            }
        }
    }
}

/// A message in a header: its envelope, and where its frames lie in its body.
pub(super) struct Planned {
    /// Where its prefix starts, and where its metadata ends.
    pub envelope: std::ops::Range<usize>,
    /// Its metadata's flatbuffer.
    pub metadata: std::ops::Range<usize>,
    /// The length of its body.
    pub body_length: u64,
    /// Its frames.
    pub spans: Vec<Span>,
}

/// Reads the messages of a header; the second value is where an end marker lies (behind a tensor,
/// which is one by itself, of no bytes).
pub(super) fn messages(
    header: &[u8],
    limits: &Limits,
) -> Result<(Vec<Planned>, Option<std::ops::Range<usize>>)> {
    let mut planned = Vec::new();
    let mut position = 0;
    let mut prefixes = Prefixes::default();
    loop {
        match envelope::next(header, position, &mut prefixes, limits)? {
            Next::Nothing => return Ok((planned, None)),
            Next::End { end } => return Ok((planned, Some(position..end))),
            Next::Message(envelope) => {
                let flatbuffer = tensor::readable(header.get(envelope.metadata.clone()).unwrap_or_default());
                let message = Message::parse(&flatbuffer, envelope.start as u64, limits)?;
                let spans = message.frames()?;
                let is_whole = is_whole(&message)?;
                position = envelope.metadata.end;
                planned.push(Planned {
                    envelope: envelope.start..position,
                    metadata: envelope.metadata,
                    body_length: message.body_length,
                    spans,
                });
                if is_whole {
                    return Ok((planned, Some(position..position)));
                }
            }
        }
    }
}

/// Appends the parts of the stream that frames are.
pub(super) fn plan<'a>(frames: &'a Frames, pieces: &mut Vec<Piece<'a>>) -> Result<()> {
    let header = frames.header();
    let (messages, end) = messages(header, &Limits::DEPTH)?;
    let mut body = Bodies::new(frames, &messages);
    for message in &messages {
        pieces.push(Piece::Bytes(header.get(message.envelope.clone()).unwrap_or_default()));
        body.push(message, pieces)?;
    }
    body.finish()?;
    pieces.push(Piece::Bytes(end.and_then(|end| header.get(end)).unwrap_or_default()));
    Ok(())
}

/// Lays the frames of one message after another into their bodies.
pub(super) struct Bodies<'a> {
    frames: std::iter::Enumerate<std::slice::Iter<'a, Buffer>>,
    expected: usize,
    found: usize,
}

impl<'a> Bodies<'a> {
    pub(super) fn new(frames: &'a Frames, messages: &[Planned]) -> Self {
        let expected = messages.iter().map(|m| m.spans.len()).fold(0, usize::saturating_add);
        let frames = frames.buffers();
        Bodies { frames: frames.iter().enumerate(), expected, found: frames.len() }
    }

    /// The body of the next message.
    pub(super) fn push(&mut self, message: &Planned, pieces: &mut Vec<Piece<'a>>) -> Result<()> {
        let mut position = 0u64;
        for (index, span) in message.spans.iter().enumerate() {
            let Some((frame, bytes)) = self.frames.next() else { return Err(self.wrong_count()) };
            if bytes.len() as u64 != span.length {
                let (expected, found) = (span.length, bytes.len() as u64);
                return Err(ErrorKind::FrameLength { frame, expected, found }.into());
            }
            let Some(gap) = span.offset.checked_sub(position) else {
                return Err(ErrorKind::BufferOutside {
                    column: String::new(),
                    buffer: index,
                    offset: i64::try_from(span.offset).unwrap_or(i64::MAX),
                    length: i64::try_from(span.length).unwrap_or(i64::MAX),
                    body: message.body_length,
                }
                .into());
            };
            pieces.push(zeros(gap, message)?);
            pieces.push(Piece::Frame(bytes));
            position = span.offset.saturating_add(span.length);
        }
        pieces.push(zeros(message.body_length.saturating_sub(position), message)?);
        Ok(())
    }

    /// Checks that every frame was used.
    pub(super) fn finish(&self) -> Result<()> {
        if self.frames.len() == 0 { Ok(()) } else { Err(self.wrong_count()) }
    }

    fn wrong_count(&self) -> crate::Error {
        ErrorKind::FrameCount { expected: self.expected, found: self.found }.into()
    }
}

/// Zeros between two frames, if they are padding. A header that was received may name a
/// body of any length around frames of none, which nobody should have to send.
fn zeros(count: u64, message: &Planned) -> Result<Piece<'static>> {
    if count > ZEROS.len() as u64 {
        let position = message.envelope.start as u64;
        let number = i64::try_from(count).unwrap_or(i64::MAX);
        return Err(ErrorKind::BadNumber { part: Part::Body, position, number }.into());
    }
    Ok(Piece::Zeros(count))
}

/// On a 32-bit machine a length of more than 4 GiB is of nothing that lies in memory.
pub(super) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
