//! The metadata of a RecordBatch or a DictionaryBatch: rows, nodes, buffers, codec.

use arrow_ipc::{BodyCompressionMethod, CompressionType};
use flatbuffers::Vector;

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

    /// Where the declared buffers lie, empty ones included. They have no more bytes than the
    /// body: buffers do not overlap.
    pub(crate) fn declared(&self) -> Result<Vec<Span>> {
        let mut left = self.body_length;
        let mut spans = Vec::with_capacity(self.buffers.len());
        for (index, entry) in self.buffers.iter().enumerate() {
            let span = self.span(entry).ok_or_else(|| self.outside(index, ""))?;
            left = left.checked_sub(span.length).ok_or_else(|| self.outside(index, ""))?;
            spans.push(span);
        }
        Ok(spans)
    }

    /// The frames of the body in order: every non-empty declared buffer, then the opaque
    /// columns' payload, if it is as our note says.
    pub(crate) fn frames(&self) -> Result<Vec<Span>> {
        let mut frames = self.declared()?;
        frames.retain(|span| span.length > 0);
        if let Some(note) = self.payload(&frames) {
            frames.extend(note.spans().filter(|span| span.length > 0));
        }
        Ok(frames)
    }

    /// The note that says where the opaque columns' payload lies behind these declared buffers,
    /// if there is one and it is of this body.
    pub(crate) fn payload(&self, declared: &[Span]) -> Option<&MessageNote> {
        self.note.as_ref().filter(|note| note.fits(self.body_length, declared))
    }
}
