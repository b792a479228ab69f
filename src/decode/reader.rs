//! Takes the nodes, buffers and frames of one message, in order and only as far as they go.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};

use super::Work;
use super::dictionaries::Dictionaries;
use super::trusted::Trust;
use crate::compression::{self, Undone};
use crate::copies::{CopyBudget, CopyReason};
use crate::error::{Error, ErrorKind, Part, Result};
use crate::limits::Limits;
use crate::wire::batch::{BatchMeta, Places, Span, numbers};
use crate::wire::envelope::{self, Next, Prefixes};
use crate::wire::message::Message;
use crate::wire::opaque::WHOLE_OBJECT;
use crate::wire::schema::WireSchema;
use crate::words::Words;

/// The bytes of bodies, in order: frames that were handed in, or slices of a stream.
pub(super) struct Incoming<'h> {
    messages: &'h Buffer,
    limits: &'h Limits,
    frames: std::vec::IntoIter<Buffer>,
    count: usize,
    /// Of a stream, where the current body starts; all of that body lies in the stream.
    body: Option<usize>,
}

impl<'h> Incoming<'h> {
    /// Of a header and its frames; without any, of a stream.
    pub(super) fn new(messages: &'h Buffer, frames: Option<Vec<Buffer>>, limits: &'h Limits) -> Self {
        let body = frames.is_none().then_some(0);
        let frames = frames.unwrap_or_default();
        Incoming { messages, limits, count: frames.len(), frames: frames.into_iter(), body }
    }

    /// What follows belongs to the message whose metadata ends here. Returns where the next
    /// message starts.
    pub(super) fn start_message(&mut self, metadata_end: usize, body_length: u64) -> Result<usize> {
        let Some(body) = &mut self.body else { return Ok(metadata_end) };
        let available = self.messages.len().saturating_sub(metadata_end);
        let Some(length) = usize::try_from(body_length).ok().filter(|length| *length <= available) else {
            let (position, available) = (metadata_end as u64, available as u64);
            return Err(
                ErrorKind::Truncated { part: Part::Body, position, needed: body_length, available }.into()
            );
        };
        *body = metadata_end;
        Ok(metadata_end.saturating_add(length))
    }

    /// The bytes of a span inside the body: a slice, or the next frame, which must have this
    /// length.
    #[inline(always)]
    fn next(&mut self, span: &Span) -> Result<Buffer> {
        if let Some(body) = self.body {
            // Whatever lies inside the body lies inside the stream, which is in memory.
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let start = body.saturating_add(number(span.offset));
            return Ok(self.messages.slice_with_length(start, number(span.length)));
        }
        match self.frames.next() {
            Some(frame) if frame.len() as u64 == span.length => Ok(frame),
            Some(frame) => Err(self.wrong_length(span.length, frame.len())),
            None => Err(self.wrong_count()),
        }
    }

    #[cold]
    fn wrong_length(&self, expected: u64, found: usize) -> Error {
        let frame = self.count.saturating_sub(self.frames.len()).saturating_sub(1);
        ErrorKind::FrameLength { frame, expected, found: found as u64 }.into()
    }

    /// Checks that every frame was used.
    pub(super) fn finish(&self) -> Result<()> {
        if self.frames.len() == 0 { Ok(()) } else { Err(self.wrong_count()) }
    }

    /// Counts what the header names, now that it is known not to fit.
    #[cold]
    fn wrong_count(&self) -> Error {
        let mut expected = 0usize;
        let mut position = 0;
        let prefixes = &mut Prefixes::default();
        while let Ok(Next::Message(envelope)) = envelope::next(self.messages, position, prefixes, self.limits)
        {
            position = envelope.metadata.end;
            let flatbuffer = self.messages.get(envelope.metadata).unwrap_or_default();
            let Ok(message) = Message::parse(flatbuffer, 0, self.limits) else { break };
            if let Ok(Some(frames)) = BatchMeta::of(&message).map(|meta| meta.map(|m| m.frames())) {
                expected = expected.saturating_add(frames.map_or(0, |frames| frames.len()));
            }
        }
        ErrorKind::FrameCount { expected, found: self.count }.into()
    }
}

/// Reads the arrays of one message. `super::arrays` has the part that knows types.
pub(super) struct Reader<'r, 'd> {
    pub(super) meta: &'r BatchMeta<'r>,
    pub(super) wire: &'r WireSchema,
    pub(super) dictionaries: &'r Dictionaries,
    pub(super) limits: &'r Limits,
    pub(super) trust: Trust,
    /// Whether every buffer must lie in an allocation of its own, of its element type.
    writable: bool,
    /// The dictionary of the schema's walk that comes next.
    pub(super) dictionary: usize,
    copies: &'r mut CopyBudget,
    incoming: &'r mut Incoming<'d>,
    column: usize,
    node: usize,
    buffer: usize,
    variadic: usize,
    /// The places of the buffers so far. They do not overlap, so that no byte of the body is
    /// looked at twice, and one that is changed in place changes nothing else.
    places: Places,
    /// Of a body whose buffers do not ascend, whether it was searched for buffers that overlap,
    /// and two that do.
    overlap: Option<Option<(usize, usize)>>,
}

/// The length and null count of an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) rows: usize,
    pub(super) nulls: usize,
}

impl<'r, 'd> Reader<'r, 'd> {
    pub(super) fn new(
        meta: &'r BatchMeta<'r>,
        wire: &'r WireSchema,
        dictionaries: &'r Dictionaries,
        work: &'r mut Work<'d>,
    ) -> Self {
        let Work { limits, trust, writable, copies, incoming } = work;
        Reader {
            meta,
            wire,
            dictionaries,
            limits,
            trust: *trust,
            writable: *writable,
            dictionary: 0,
            copies,
            incoming,
            column: 0,
            node: 0,
            buffer: 0,
            variadic: 0,
            places: meta.places(),
            overlap: None,
        }
    }

    /// What follows belongs to this top-level column.
    pub(super) fn start_column(&mut self, column: usize) {
        self.column = column;
    }

    /// What follows is the values of this dictionary, which belongs to this column.
    pub(super) fn start_dictionary(&mut self, column: usize, index: usize) {
        self.column = column;
        // The arrays of several batches share it.
        self.writable = false;
        self.dictionary = index.saturating_add(1);
    }

    /// The name of the current column.
    pub(super) fn name(&self) -> &'r str {
        self.wire.column_name(self.column)
    }

    /// A whole column, which must have the message's rows.
    pub(super) fn column(&mut self, data_type: &arrow_schema::DataType) -> Result<ArrayRef> {
        let array = self.array(data_type)?;
        if array.len() != self.meta.rows {
            return Err(self.count(Part::Rows, array.len()));
        }
        Ok(array)
    }

    /// Whether the next array has nulls, by its node.
    #[inline]
    pub(super) fn has_nulls(&self) -> bool {
        self.meta.nodes.get(self.node).is_some_and(|node| numbers(node).1 != 0)
    }

    /// The next node.
    #[inline(always)]
    pub(super) fn node(&mut self) -> Result<Node> {
        let Some(node) = self.meta.nodes.get(self.node) else {
            return Err(self.count(Part::Nodes, self.meta.nodes.len()));
        };
        self.node = self.node.saturating_add(1);
        let (rows, nulls) = numbers(node);
        match (usize::try_from(rows), usize::try_from(nulls)) {
            (Ok(rows), Ok(nulls)) if nulls <= rows => Ok(Node { rows, nulls }),
            _ => Err(self.bad_node(rows, nulls)),
        }
    }

    /// The next declared buffer; an empty one is not there.
    #[inline(always)]
    pub(super) fn buffer_if_any(&mut self) -> Result<Option<Buffer>> {
        let span = self.next_span()?;
        if span.length == 0 {
            return Ok(None);
        }
        let frame = self.incoming.next(&span)?;
        let buffer = if self.meta.codec.is_some() { self.decompress(frame)? } else { frame };
        Ok((!buffer.is_empty()).then_some(buffer))
    }

    /// The next declared buffer: a frame, or empty.
    #[inline(always)]
    pub(super) fn buffer(&mut self) -> Result<Buffer> {
        Ok(self.buffer_if_any()?.unwrap_or_default())
    }

    /// Passes over the next declared buffer.
    pub(super) fn skip_buffer(&mut self) -> Result<()> {
        let span = self.next_span()?;
        if span.length > 0 {
            self.incoming.next(&span)?;
        }
        Ok(())
    }

    /// The next buffer's first `count` elements.
    #[inline]
    pub(super) fn values<T: ArrowNativeType>(&mut self, count: usize, part: Part) -> Result<ScalarBuffer<T>> {
        let buffer = self.buffer()?;
        self.elements(buffer, count, part)
    }

    /// A buffer's first `count` elements: as it lies, or copied if its address does not
    /// suit the type.
    #[inline]
    pub(super) fn elements<T: ArrowNativeType>(
        &mut self,
        buffer: Buffer,
        count: usize,
        part: Part,
    ) -> Result<ScalarBuffer<T>> {
        let needed = count.checked_mul(size_of::<T>());
        let Some(needed) = needed.filter(|needed| *needed <= buffer.len()) else {
            let needed = (count as u64).saturating_mul(size_of::<T>() as u64);
            return Err(self.too_short(part, needed, buffer.len()));
        };
        // An empty buffer may have any address.
        if needed == 0 {
            return Ok(ScalarBuffer::default());
        }
        let buffer = if self.writable {
            self.owned::<T>(buffer, needed)?
        } else if (buffer.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
            buffer
        } else {
            self.claim(CopyReason::Misaligned, needed)?;
            aligned_copy(buffer.get(..needed).unwrap_or_default())?
        };
        // A buffer of just this length is moved; slicing it would touch its count.
        if buffer.len() == needed { Ok(buffer.into()) } else { Ok(ScalarBuffer::new(buffer, 0, count)) }
    }

    /// The next declared buffer of bytes or bits: a frame, or empty.
    pub(super) fn bytes_buffer(&mut self) -> Result<Buffer> {
        let buffer = self.buffer()?;
        self.owned_bytes(buffer)
    }

    /// A buffer of bytes or bits, in an allocation of its own if buffers must be writable.
    pub(super) fn owned_bytes(&mut self, buffer: Buffer) -> Result<Buffer> {
        let length = buffer.len();
        if self.writable && length > 0 { self.owned::<u8>(buffer, length) } else { Ok(buffer) }
    }

    /// A buffer as the allocation of a `Vec` of this type that nothing else refers to, which
    /// is what arrays can be changed in: as it is, or its first `needed` bytes copied.
    fn owned<T: ArrowNativeType>(&mut self, buffer: Buffer, needed: usize) -> Result<Buffer> {
        let buffer = match buffer.into_vec::<T>() {
            Ok(vec) => return Ok(Buffer::from_vec(vec)),
            Err(buffer) => buffer,
        };
        self.claim(CopyReason::Writable, needed)?;
        // A `Vec` of any other type with this alignment has the same allocation.
        let width = u8::try_from(align_of::<T>()).unwrap_or(1);
        Words::copied(width, buffer.get(..needed).unwrap_or_default())
    }

    /// The next count of variadic buffers.
    pub(super) fn variadic_count(&mut self) -> Result<usize> {
        let found = self.meta.variadic.map(|counts| counts.len()).unwrap_or_default();
        let counts = self.meta.variadic.filter(|_| self.variadic < found);
        let Some(number) = counts.map(|counts| counts.get(self.variadic)) else {
            return Err(self.count(Part::VariadicCounts, found));
        };
        self.variadic = self.variadic.saturating_add(1);
        let left = self.meta.buffers.len().saturating_sub(self.buffer);
        usize::try_from(number).ok().filter(|count| *count <= left).ok_or_else(|| {
            let position = self.meta.position;
            ErrorKind::BadNumber { part: Part::VariadicCounts, position, number }.into()
        })
    }

    /// The payload of the wanted opaque columns, by column, and that of a whole object.
    ///
    /// A note lists what was opaque when it was written: if the payload is not as it was, each
    /// of these has lost its own, whatever the schema says of it by now.
    pub(super) fn payload(&mut self, wanted: &[bool]) -> Result<BTreeMap<usize, Vec<Buffer>>> {
        let Some(note) = &self.meta.note else { return Ok(BTreeMap::new()) };
        let is_wanted = |column: usize| column == WHOLE_OBJECT || wanted.get(column) == Some(&true);
        if !note.fits(self.meta.body_length, self.places.end()) {
            return match note.columns().find(|(column, _)| is_wanted(*column)) {
                Some((column, _)) => {
                    Err(ErrorKind::PayloadLost { column: self.wire.column_name(column).to_owned() }.into())
                }
                None => Ok(BTreeMap::new()),
            };
        }
        let mut payload = BTreeMap::new();
        for (column, spans) in note.columns() {
            self.column = column;
            let is_wanted = is_wanted(column);
            let mut buffers = Vec::new();
            for span in spans {
                let frame = if span.length == 0 { Buffer::default() } else { self.incoming.next(span)? };
                if self.meta.codec.is_some() && is_wanted && span.length > 0 {
                    buffers.push(self.decompress(frame)?);
                } else {
                    buffers.push(frame);
                }
            }
            payload.insert(column, buffers);
        }
        Ok(payload)
    }

    /// Checks that the message has nothing beyond what its schema needs.
    pub(super) fn finish(&self) -> Result<()> {
        let variadic = self.meta.variadic.map(|counts| counts.len()).unwrap_or_default();
        let surplus = [
            (Part::Nodes, self.meta.nodes.len(), self.node),
            (Part::Buffers, self.meta.buffers.len(), self.buffer),
            (Part::VariadicCounts, variadic, self.variadic),
        ];
        match surplus.into_iter().find(|(_, found, used)| found > used) {
            None => Ok(()),
            Some((part, found, _)) => Err(ErrorKind::Count { column: String::new(), part, found }.into()),
        }
    }

    /// Checks the rows of something whose rows take no bytes.
    pub(super) fn check_free_rows(&self, rows: usize) -> Result<()> {
        let (requested, allowed) = (rows as u64, self.limits.max_rows_without_bytes);
        if requested > allowed {
            return Err(ErrorKind::Limit { limit: "max_rows_without_bytes", requested, allowed }.into());
        }
        Ok(())
    }

    #[cold]
    fn bad_node(&self, rows: i64, nulls: i64) -> Error {
        let number = if rows < 0 { rows } else { nulls };
        ErrorKind::BadNumber { part: Part::Nodes, position: self.meta.position, number }.into()
    }

    /// The error that a message has too few of something.
    #[cold]
    pub(super) fn count(&self, part: Part, found: usize) -> Error {
        ErrorKind::Count { column: self.name().to_owned(), part, found }.into()
    }

    /// The error that a buffer is too short.
    #[cold]
    pub(super) fn too_short(&self, part: Part, needed: u64, found: usize) -> Error {
        ErrorKind::BufferLength { column: self.name().to_owned(), part, needed, found: found as u64 }.into()
    }

    #[inline(always)]
    fn next_span(&mut self) -> Result<Span> {
        let index = self.buffer;
        let Some(entry) = self.meta.buffers.get(index) else {
            return Err(self.count(Part::Buffers, self.meta.buffers.len()));
        };
        self.buffer = index.saturating_add(1);
        let span = self.meta.span(entry).ok_or_else(|| self.meta.outside(index, self.name()))?;
        if span.length > 0 && !self.places.take(&span) {
            self.misplaced(index, &span)?;
        }
        Ok(span)
    }

    /// Tells a permuted layout, which is as good as any, from buffers that overlap: once for the
    /// whole message.
    #[cold]
    fn misplaced(&mut self, index: usize, span: &Span) -> Result<()> {
        if let Some(expected) = self.places.expected() {
            return Err(self.meta.moved(index, expected, self.name()));
        }
        let meta = self.meta;
        match *self.overlap.get_or_insert_with(|| meta.overlap()) {
            // The later one does not ascend either: its column is the current one then.
            Some((other, buffer)) if buffer <= index => {
                Err(self.meta.overlapping((other, buffer), self.name()))
            }
            _ => {
                self.places.take_before(span);
                Ok(())
            }
        }
    }

    fn claim(&mut self, reason: CopyReason, bytes: usize) -> Result<()> {
        self.copies.claim(self.column, self.wire.column_name(self.column), reason, bytes)
    }

    fn decompress(&mut self, frame: Buffer) -> Result<Buffer> {
        let Some(codec) = self.meta.codec else { return Ok(frame) };
        let wrong = |declared| ErrorKind::Compressed {
            column: self.name().to_owned(),
            buffer: self.buffer.saturating_sub(1),
            declared,
        };
        let Some((prefix, data)) = frame.split_first_chunk::<{ compression::PREFIX }>() else {
            return Err(wrong(0).into());
        };
        let declared = i64::from_le_bytes(*prefix);
        if declared == -1 {
            return Ok(frame.slice(compression::PREFIX));
        }
        let length = usize::try_from(declared).map_err(|_| wrong(declared))?;
        if length == 0 {
            return Ok(Buffer::default());
        }
        if !codec.is_enabled() {
            return Err(ErrorKind::CodecDisabled { feature: codec.name() }.into());
        }
        let error = wrong(declared);
        self.claim(CopyReason::Decompressed, length)?;
        match compression::decompress(codec, data, length) {
            Ok(data) => Ok(Buffer::from_vec(data)),
            Err(Undone::Memory) => Err(ErrorKind::Memory { bytes: length as u64 }.into()),
            Err(Undone::Data) => Err(error.into()),
        }
    }
}

/// The bytes at an address that suits every Arrow type; an error if there is no memory.
pub(crate) fn aligned_copy(bytes: &[u8]) -> Result<Buffer> {
    const WIDTH: usize = size_of::<i128>();
    let mut words: Vec<i128> = Vec::new();
    let no_memory = |_| ErrorKind::Memory { bytes: bytes.len() as u64 };
    words.try_reserve_exact(bytes.len().div_ceil(WIDTH)).map_err(no_memory)?;
    let (chunks, rest) = bytes.as_chunks::<WIDTH>();
    words.extend(chunks.iter().map(|chunk| i128::from_ne_bytes(*chunk)));
    if !rest.is_empty() {
        let mut last = [0; WIDTH];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        words.push(i128::from_ne_bytes(last));
    }
    Ok(Buffer::from_vec(words).slice_with_length(0, bytes.len()))
}
