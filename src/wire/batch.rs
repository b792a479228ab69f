//! The metadata of a RecordBatch or a DictionaryBatch: rows, nodes, buffers, codec.

use arrow_ipc::{BodyCompressionMethod, CompressionType};
use flatbuffers::Vector;

use super::ALIGNMENT;
use super::message::{Header, Message};
use super::opaque::{self, MessageNote};
use crate::compression::Codec;
use crate::error::{Error, ErrorKind, Part, Result};

/// A batch's metadata, its numbers not yet checked against anything.
pub(crate) struct BatchMeta<'a> {
    /// Where its message starts.
    pub position: u64,
    /// Its rows.
    pub rows: usize,
    /// A node per array, depth first.
    pub nodes: &'a [Pair],
    /// Where the buffers lie in the body.
    pub buffers: &'a [Pair],
    /// How many data buffers each view array has.
    pub variadic: Option<Vector<'a, i64>>,
    /// How every buffer is compressed.
    pub codec: Option<Codec>,
    /// The length of the body.
    pub body_length: u64,
    /// Whether unions have a validity bitmap.
    pub is_v4: bool,
    /// What this crate noted about opaque columns and writable frames, if anything.
    pub note: Option<MessageNote>,
}

/// Two little-endian `i64`: the rows and nulls of a node, or the offset and length of a
/// buffer, as they lie in a flatbuffer.
pub(crate) type Pair = [u8; 16];

/// The numbers of a pair.
#[inline]
pub(crate) fn numbers(pair: &Pair) -> (i64, i64) {
    let [a, b, c, d, e, f, g, h, second @ ..] = *pair;
    (i64::from_le_bytes([a, b, c, d, e, f, g, h]), i64::from_le_bytes(second))
}

fn pairs(bytes: Option<&[u8]>) -> &[Pair] {
    bytes.map(|bytes| bytes.as_chunks().0).unwrap_or_default()
}

/// A declared buffer of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Where it starts in the body.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

impl Span {
    /// Where it ends. A span that was checked lies inside a body, so that this is a number.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Where buffers may lie that come in the order of the metadata: behind each other, as almost
/// every writer lays them out. One comparison for each shows that they do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Where the buffers so far end.
    end: u64,
    /// How far behind that the next one may start.
    gap: u64,
    /// What ends are padded to, less one.
    padding: u64,
}

impl Places {
    /// Any place behind the buffers so far.
    const OF_OTHERS: Places = Places { end: 0, gap: i64::MAX.cast_unsigned(), padding: 0 };

    /// The next multiple of 64, which is where this crate puts a buffer.
    const OF_OURS: Places = Places { end: 0, gap: 0, padding: ALIGNMENT as u64 - 1 };

    /// Takes the place of the next buffer, which is not empty, if it may lie there.
    #[inline(always)]
    pub(crate) fn take(&mut self, span: &Span) -> bool {
        // Offsets and lengths were not negative: nothing here overflows, and the distance back
        // to a buffer that lies before the end is more than any gap.
        let is_free = span.offset.wrapping_sub(self.end) <= self.gap;
        if is_free {
            let end = span.offset.wrapping_add(span.length);
            self.end = end.wrapping_add(self.padding) & !self.padding;
        }
        is_free
    }

    /// Where the next buffer has to lie, in a body of this crate.
    pub(crate) fn expected(&self) -> Option<u64> {
        (self.gap == 0).then_some(self.end)
    }

    /// Takes the place of a buffer that lies before others, and overlaps none.
    pub(crate) fn take_before(&mut self, span: &Span) {
        self.end = self.end.max(span.end());
    }

    /// Where the buffers so far end; in a body of this crate, with their padding.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// Two of these spans that overlap, the earlier one in the list first. Empty ones overlap nothing.
pub(crate) fn overlap(spans: &[Span]) -> Option<(usize, usize)> {
    let mut end = 0;
    let ascend = spans.iter().filter(|span| span.length > 0).all(|span| {
        let is_behind = span.offset >= end;
        end = span.end();
        is_behind
    });
    if ascend {
        return None;
    }
    let mut order: Vec<(usize, &Span)> = spans.iter().enumerate().collect();
    order.retain(|(_, span)| span.length > 0);
    order.sort_by_key(|(_, span)| span.offset);
    // Neighbours are enough: what overlaps anything overlaps the one that starts next.
    order.windows(2).find_map(|pair| match pair {
        [(a, first), (b, second)] if second.offset < first.end() => Some((*a.min(b), *a.max(b))),
        _ => None,
    })
}

impl<'a> BatchMeta<'a> {
    /// The metadata of a message that is a batch; `None` for a schema.
    pub(crate) fn of(message: &Message<'a>) -> Result<Option<Self>> {
        let (Header::Batch(batch) | Header::Dictionary { batch, .. }) = &message.header else {
            return Ok(None);
        };
        let position = message.position;
        let Ok(rows) = usize::try_from(batch.length()) else {
            let number = batch.length();
            return Err(ErrorKind::BadNumber { part: Part::Rows, position, number }.into());
        };
        let codec = match batch.compression() {
            None => None,
            Some(compression) => {
                let known = match compression.codec() {
                    CompressionType::LZ4_FRAME => Some(Codec::Lz4),
                    CompressionType::ZSTD => Some(Codec::Zstd),
                    _ => None,
                };
                if known.is_none() || compression.method() != BodyCompressionMethod::BUFFER {
                    let codec = compression.codec().0;
                    return Err(ErrorKind::UnknownCodec { position, codec }.into());
                }
                known
            }
        };
        Ok(Some(BatchMeta {
            position,
            rows,
            nodes: pairs(batch.nodes().map(|nodes| nodes.bytes())),
            buffers: pairs(batch.buffers().map(|buffers| buffers.bytes())),
            variadic: batch.variadicBufferCounts(),
            codec,
            body_length: message.body_length,
            is_v4: message.is_v4,
            note: message.our_entry().and_then(opaque::parse_note).map(|note| match message.header {
                Header::Batch(_) => note,
                // Columns belong to batches.
                _ => note.without_payload(),
            }),
        }))
    }

    /// Where a declared buffer lies, if it lies inside the body.
    #[inline]
    pub(crate) fn span(&self, entry: &Pair) -> Option<Span> {
        let (offset, length) = numbers(entry);
        // An empty buffer has no bytes to be anywhere; some writers give it any offset.
        if length == 0 {
            return Some(Span { offset: 0, length: 0 });
        }
        let span = Span { offset: u64::try_from(offset).ok()?, length: u64::try_from(length).ok()? };
        (span.offset.checked_add(span.length)? <= self.body_length).then_some(span)
    }

    /// The error that a declared buffer does not lie inside the body.
    #[cold]
    pub(crate) fn outside(&self, index: usize, column: &str) -> Error {
        let (offset, length) = self.buffers.get(index).map(numbers).unwrap_or_default();
        let body = self.body_length;
        ErrorKind::BufferOutside { column: column.to_owned(), buffer: index, offset, length, body }.into()
    }

    /// The places of the buffers, before the first one.
    pub(crate) fn places(&self) -> Places {
        // A note of another body says that something re-wrote the message, in a layout of its own.
        let is_ours = self.note.as_ref().is_some_and(|note| note.body_length() == self.body_length);
        if is_ours { Places::OF_OURS } else { Places::OF_OTHERS }
    }

    /// The error that a buffer does not lie where this crate would have put it.
    #[cold]
    pub(crate) fn moved(&self, index: usize, expected: u64, column: &str) -> Error {
        let offset = self.span_at(index).offset;
        ErrorKind::BufferMoved { column: column.to_owned(), buffer: index, offset, expected }.into()
    }

    /// Two declared buffers that overlap, the earlier one first.
    #[cold]
    pub(crate) fn overlap(&self) -> Option<(usize, usize)> {
        // One that lies outside is told when it is met.
        let spans = (0..self.buffers.len()).map(|index| self.span_at(index));
        overlap(&spans.collect::<Vec<_>>())
    }

    /// The error that two declared buffers overlap. The column is that of the later one.
    #[cold]
    pub(crate) fn overlapping(&self, (other, buffer): (usize, usize), column: &str) -> Error {
        overlapping((other, &self.span_at(other)), (buffer, &self.span_at(buffer)), column)
    }

    /// A declared buffer's place; that of an empty one if it does not lie inside the body.
    fn span_at(&self, index: usize) -> Span {
        let span = self.buffers.get(index).and_then(|entry| self.span(entry));
        span.unwrap_or(Span { offset: 0, length: 0 })
    }

    /// Where the declared buffers lie, empty ones included, and where the last one ends. None
    /// overlaps another. The columns of buffers are named in errors.
    pub(crate) fn declared<'n>(&self, column: impl Fn(usize) -> &'n str) -> Result<(Vec<Span>, u64)> {
        let mut places = self.places();
        let mut ascend = true;
        let mut spans = Vec::with_capacity(self.buffers.len());
        for (index, entry) in self.buffers.iter().enumerate() {
            let span = self.span(entry).ok_or_else(|| self.outside(index, column(index)))?;
            if span.length > 0 && !places.take(&span) {
                if let Some(expected) = places.expected() {
                    return Err(self.moved(index, expected, column(index)));
                }
                ascend = false;
                places.take_before(&span);
            }
            spans.push(span);
        }
        if !ascend && let Some(pair) = overlap(&spans) {
            return Err(self.overlapping(pair, column(pair.1)));
        }
        Ok((spans, places.end()))
    }

    /// The frames of the body in order: every non-empty declared buffer, then the opaque
    /// columns' payload, if it is as our note says.
    pub(crate) fn frames(&self) -> Result<Vec<Span>> {
        let (mut frames, end) = self.declared(|_| "")?;
        frames.retain(|span| span.length > 0);
        if let Some(note) = self.payload(end) {
            frames.extend(note.spans().filter(|span| span.length > 0));
        }
        Ok(frames)
    }

    /// The note that says where the opaque columns' payload lies behind declared buffers that
    /// end there, if there is one and it is of this body.
    pub(crate) fn payload(&self, end: u64) -> Option<&MessageNote> {
        self.note.as_ref().filter(|note| note.fits(self.body_length, end))
    }
}

/// The error that two buffers overlap. The column is that of the later one.
#[cold]
pub(crate) fn overlapping(
    (other, other_span): (usize, &Span),
    (buffer, span): (usize, &Span),
    column: &str,
) -> Error {
    ErrorKind::BufferOverlap {
        column: column.to_owned(),
        buffer,
        offset: span.offset,
        length: span.length,
        other,
        other_offset: other_span.offset,
        other_length: other_span.length,
    }
    .into()
}
