//! The reading side of a stream without any I/O: what has arrived goes in, messages come out.

use arrow_buffer::Buffer;

use super::block::{self, Block};
use super::body::{self, LargeBody, SMALL};
use super::memory::ReceiveMemory;
use super::stream;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::batch::{BatchMeta, Span};
use crate::wire::envelope::{self, LONG, Next, Prefixes, SHORT};
use crate::wire::message::Message;
use crate::wire::tensor;
use crate::wire::{ALIGNMENT, CONTINUATION};
use crate::words::Words;

/// Takes the bytes of a stream as they arrive, however they are split, and hands out its
/// messages. It reads nothing itself: [`StreamSource`](crate::StreamSource) does that with a
/// blocking reader, `AsyncStreamSource` (feature `tokio`) with an asynchronous one, and
/// anything else can do it as below.
///
/// The receiver hands out the memory that the next bytes belong in, so that they land where
/// they stay. A body of 64 KiB and more gets a region of its own ([`ReceiveMemory`]), in which
/// every buffer of 64 KiB and more lies at a multiple of 64, wherever the sender's padding put
/// it; what is smaller may be moved once more, which [`staged_bytes`](Self::staged_bytes) counts.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers};
/// use std::io::Read;
/// use arrow_frames::{Decoder, StreamReceiver};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
/// # let sent: Vec<u8> = frames.segments()?.flatten().copied().collect();
/// # let mut socket = sent.as_slice();
///
/// let mut receiver = StreamReceiver::new();
/// let mut decoder = Decoder::new();
/// let mut rows = 0;
/// while !receiver.is_finished() {
///     match receiver.next()? {
///         Some(frames) => rows += decoder.decode(frames)?.num_rows(),
///         None => match socket.read(receiver.space()?)? {
///             0 => receiver.end()?,
///             count => receiver.filled(count),
///         },
///     }
/// }
/// assert_eq!(rows, 3);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct StreamReceiver {
    limits: Limits,
    memory: ReceiveMemory,
    read_ahead: usize,
    writable: bool,
    block: Block,
    state: State,
    /// Where the next message, or the body being received, starts in the stream.
    position: u64,
    /// Bytes that arrived.
    received: u64,
    /// Bytes of the memory that was handed out last.
    handed_out: usize,
    /// The prefixes of the messages so far: what comes next has at least as many bytes.
    prefixes: Prefixes,
    /// Whether the message being received is all of the stream: a tensor.
    is_whole: bool,
    staged: u64,
}

#[derive(Debug, Default)]
enum State {
    /// The prefix or the metadata of the next message.
    #[default]
    Metadata,
    /// A body that is taken out of the block.
    Small(Pending),
    /// A body that is received into memory of its own.
    Large { header: Buffer, body: LargeBody, length: u64 },
    /// The stream's end was read, or the input ended between two messages.
    Ended { marked: bool },
    /// Something was wrong: where the next message starts is not known.
    Failed,
}

/// A message whose body is missing.
#[derive(Debug)]
struct Pending {
    header: Buffer,
    length: usize,
    spans: Vec<Span>,
    writable: Vec<(usize, u8)>,
}

impl StreamReceiver {
    /// A receiver within the default [`Limits`], which asks for no byte beyond the stream's end.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the stream may claim.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where large bodies land.
    pub fn with_memory(mut self, memory: ReceiveMemory) -> Self {
        self.memory = memory;
        self
    }

    /// Receives the frames that the sender marked as writable into allocations of their own,
    /// which arrow can change in place.
    pub fn with_writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Asks for up to so many bytes more than the next message is known to need, so that many
    /// small messages arrive at once. 0, the default, takes no byte that follows the stream;
    /// [`leftover`](Self::leftover) has those that were.
    pub fn with_read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = bytes;
        self
    }

    /// The frames of the next message, with its part of the header; the last ones are those of
    /// the end marker, which are none. `None` if more bytes must arrive first, and after
    /// the end.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the message. After an error the place in the stream is lost:
    /// every further call is an error too.
    #[allow(clippy::should_implement_trait)] // An iterator's `None` would not be its end.
    pub fn next(&mut self) -> Result<Option<Frames>> {
        let next = self.try_next();
        if next.is_err() {
            self.state = State::Failed;
        }
        next
    }

    /// Memory that the next bytes of the stream belong in, after [`next`](Self::next) has
    /// returned `None`: not empty, unless the stream has ended. Any number of them may be written
    /// to its start, and then [`filled`](Self::filled) says how many.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`]; and after [`next`](Self::next) has failed.
    pub fn space(&mut self) -> Result<&mut [u8]> {
        let needed = match &mut self.state {
            State::Failed => return Err(ErrorKind::PlaceLost.into()),
            State::Ended { .. } => {
                self.handed_out = 0;
                return Ok(&mut []);
            }
            State::Large { body, .. } => {
                let space = body.space();
                self.handed_out = space.len();
                return Ok(space);
            }
            State::Small(pending) => {
                self.block.align();
                pending.length
            }
            State::Metadata => {
                self.block.align();
                metadata_needed(self.block.pending(), self.prefixes, &self.limits)
            }
        };
        let (space, moved) = self.block.space(needed, self.read_ahead)?;
        self.handed_out = space.len();
        self.staged = self.staged.saturating_add(moved as u64);
        Ok(space)
    }

    /// So many bytes were written to the start of [`space`](Self::space). More than it has room
    /// for is a fault of who reads: nothing of them is believed, and the place in the stream is
    /// lost.
    pub fn filled(&mut self, bytes: usize) {
        if bytes > self.handed_out {
            self.state = State::Failed;
            return;
        }
        if bytes > 0 {
            // What is left of it lies elsewhere by now.
            self.handed_out = 0;
        }
        self.received = self.received.saturating_add(bytes as u64);
        match &mut self.state {
            State::Large { body, .. } => body.filled(bytes),
            State::Metadata | State::Small(_) => self.block.filled(bytes),
            State::Ended { .. } | State::Failed => {}
        }
    }

    /// The input has ended. Between two messages that is where the stream was cut, or where
    /// a sender left the end marker away: [`is_marked`](Self::is_marked) tells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`] inside a message, with the position in the stream.
    pub fn end(&mut self) -> Result<()> {
        let truncated = |part, position, needed: u64, available: u64| -> Result<()> {
            Err(ErrorKind::Truncated { part, position, needed, available }.into())
        };
        let start = self.position;
        let result = match &self.state {
            State::Failed => return Err(ErrorKind::PlaceLost.into()),
            State::Ended { .. } => return Ok(()),
            State::Metadata => match self.block.pending() {
                [] => {
                    self.state = State::Ended { marked: false };
                    return Ok(());
                }
                // It says what is missing: all that is there was not enough.
                pending => match envelope::next(pending, 0, &mut self.prefixes, &self.limits) {
                    Err(error) => Err(error.moved_by(start)),
                    // `next` has not been asked for what is there.
                    Ok(_) => return Ok(()),
                },
            },
            State::Small(pending) if self.block.pending().len() >= pending.length => return Ok(()),
            State::Large { body, .. } if body.missing() == 0 => return Ok(()),
            State::Small(pending) => {
                truncated(Part::Body, start, pending.length as u64, self.block.pending().len() as u64)
            }
            State::Large { body, length, .. } => {
                truncated(Part::Body, start, *length, length.saturating_sub(body.missing()))
            }
        };
        self.state = State::Failed;
        result
    }

    /// Whether the stream has ended, by its end marker or with the input.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }

    /// Whether the end marker has come, or the one message of a tensor, which has none.
    pub fn is_marked(&self) -> bool {
        matches!(self.state, State::Ended { marked: true })
    }

    /// Bytes that arrived so far.
    pub fn received_bytes(&self) -> u64 {
        self.received
    }

    /// Bytes of the stream that arrived in one place and were moved to another: of buffers
    /// below 64 KiB, what was read ahead, and of metadata of more than 64 KiB.
    pub fn staged_bytes(&self) -> u64 {
        self.staged
    }

    /// What was read ahead of the stream's end: the start of what follows it.
    pub fn leftover(&self) -> &[u8] {
        if self.is_finished() { self.block.pending() } else { &[] }
    }

    /// Starts over with the stream that follows, with what was read of it already.
    pub fn restart(&mut self) {
        if self.is_finished() {
            self.state = State::Metadata;
            self.position = 0;
            self.prefixes = Prefixes::default();
            self.is_whole = false;
        }
    }

    fn try_next(&mut self) -> Result<Option<Frames>> {
        loop {
            match std::mem::take(&mut self.state) {
                State::Metadata => match self.metadata()? {
                    // The message's body comes next.
                    None if !matches!(self.state, State::Metadata) => {}
                    next => return Ok(next),
                },
                State::Small(pending) => {
                    if self.block.pending().len() < pending.length {
                        self.state = State::Small(pending);
                        return Ok(None);
                    }
                    let frames = self.small(pending)?;
                    self.end_if_whole();
                    return Ok(Some(frames));
                }
                State::Large { header, body, length } => {
                    if body.missing() > 0 {
                        self.state = State::Large { header, body, length };
                        return Ok(None);
                    }
                    let (frames, staged) = body.finish()?;
                    self.staged = self.staged.saturating_add(staged);
                    self.position = self.position.saturating_add(length);
                    self.end_if_whole();
                    return Ok(Some(Frames::new(header, frames)));
                }
                ended @ State::Ended { .. } => {
                    self.state = ended;
                    return Ok(None);
                }
                State::Failed => return Err(ErrorKind::PlaceLost.into()),
            }
        }
    }

    /// Reads a message's metadata, if all of it is there. A message without a body is
    /// complete; otherwise its body is what comes next.
    fn metadata(&mut self) -> Result<Option<Frames>> {
        let start = self.position;
        let bytes = self.block.pending();
        let needed = metadata_needed(bytes, self.prefixes, &self.limits);
        if !bytes.is_empty() {
            self.check_stream(start.saturating_add(needed as u64))?;
        }
        if bytes.len() < needed {
            return Ok(None);
        }
        let next = envelope::next(bytes, 0, &mut self.prefixes, &self.limits);
        let envelope = match next.map_err(|error| error.moved_by(start))? {
            Next::Message(envelope) => envelope,
            Next::End { end } => {
                self.state = State::Ended { marked: true };
                self.position = start.saturating_add(end as u64);
                return Ok(Some(Frames::new(self.block.take(end), Vec::new())));
            }
            Next::Nothing => return Ok(None),
        };
        let end = envelope.metadata.end;
        let flatbuffer = tensor::readable(bytes.get(envelope.metadata).unwrap_or_default());
        let message = Message::parse(&flatbuffer, start, &self.limits)?;
        let body_length = message.body_length;
        self.check_stream(start.saturating_add(end as u64).saturating_add(body_length))?;
        let (spans, writable) = match BatchMeta::of(&message)? {
            Some(meta) => {
                let writable = meta.note.as_ref().filter(|_| self.writable && meta.codec.is_none());
                (meta.frames()?, writable.map(|note| note.writable().to_vec()).unwrap_or_default())
            }
            None => (message.frames()?, Vec::new()),
        };
        self.is_whole = stream::is_whole(&message)?;
        let header = Buffer::from(self.block.take(end));
        self.position = start.saturating_add(end as u64);
        if body_length == 0 {
            self.end_if_whole();
            return Ok(Some(Frames::new(header, Vec::new())));
        }
        match usize::try_from(body_length).ok().filter(|length| *length < SMALL) {
            Some(length) => self.state = State::Small(Pending { header, length, spans, writable }),
            None => {
                let mut body = LargeBody::new(body_length, &spans, &writable, &self.memory)?;
                let taken = body.copy_from(self.block.pending());
                self.block.skip(taken);
                self.state = State::Large { header, body, length: body_length };
            }
        }
        Ok(None)
    }

    /// Ends the stream behind a message that is all of it.
    fn end_if_whole(&mut self) {
        if self.is_whole {
            self.state = State::Ended { marked: true };
        }
    }

    /// Refuses a message that ends there, if that is too far into the stream.
    fn check_stream(&self, requested: u64) -> Result<()> {
        let allowed = self.limits.max_stream_bytes;
        if requested > allowed {
            return Err(ErrorKind::Limit { limit: "max_stream_bytes", requested, allowed }.into());
        }
        Ok(())
    }

    /// Takes a small body out of the block: as it lies if its buffers lie well, or else
    /// moved to where they do.
    fn small(&mut self, pending: Pending) -> Result<Frames> {
        let Pending { header, length, spans, writable } = pending;
        let body = Buffer::from(self.block.take(length));
        self.position = self.position.saturating_add(length as u64);
        let mut frames: Vec<Buffer> = stream::slices(&spans, &body, 0).collect();
        let widths = body::widths(frames.len(), &writable);
        let lies_well = |(frame, width): (&Buffer, &Option<u8>)| {
            width.is_some() || (frame.as_ptr() as usize).is_multiple_of(ALIGNMENT)
        };
        let mut memory = None;
        if !frames.iter().zip(&widths).all(lies_well) {
            let places = frames.iter().map(|frame| frame.len().next_multiple_of(ALIGNMENT));
            memory = Some(block::aligned(places.fold(0, usize::saturating_add))?);
        }
        for (frame, width) in frames.iter_mut().zip(widths) {
            if let Some(width) = width {
                self.staged = self.staged.saturating_add(frame.len() as u64);
                *frame = Words::copied(width, frame)?;
            } else if let Some(memory) = &mut memory {
                let mut place = memory.split_to(frame.len().next_multiple_of(ALIGNMENT).min(memory.len()));
                if let Some(to) = place.get_mut(..frame.len()) {
                    to.copy_from_slice(frame);
                    self.staged = self.staged.saturating_add(frame.len() as u64);
                    *frame = Buffer::from(place.freeze()).slice_with_length(0, frame.len());
                }
            }
        }
        Ok(Frames::new(header, frames))
    }
}

/// Bytes from a message's start that must be there to know more: its prefix, then its metadata.
fn metadata_needed(pending: &[u8], prefixes: Prefixes, limits: &Limits) -> usize {
    let (prefix, length) = match pending.split_first_chunk::<SHORT>() {
        None if prefixes.had_long => return LONG,
        None => return SHORT,
        Some((&CONTINUATION, rest)) => match rest.first_chunk::<SHORT>() {
            None => return LONG,
            Some(length) => (LONG, length),
        },
        Some((length, _)) => (SHORT, length),
    };
    // A wrong length is told by who reads the prefix.
    let allowed = usize::try_from(limits.max_metadata_bytes).unwrap_or(usize::MAX);
    let length = usize::try_from(i32::from_le_bytes(*length)).ok().filter(|length| *length <= allowed);
    prefix.saturating_add(length.unwrap_or_default())
}
