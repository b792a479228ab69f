//! The metadata of a RecordBatch or a DictionaryBatch: rows, nodes, buffers, codec.

use arrow_ipc::{BodyCompressionMethod, CompressionType, FieldNode};
use flatbuffers::Vector;

use super::message::{Header, Message};
use super::opaque::{self, MessageNote};
use crate::compression::Codec;
use crate::error::{ErrorKind, Part, Result};

/// A batch's metadata, its numbers not yet checked against anything.
pub(crate) struct BatchMeta<'a> {
    /// Where its message starts.
    pub position: u64,
    /// Its rows.
    pub rows: usize,
    /// A node per array, depth first.
    pub nodes: Option<Vector<'a, FieldNode>>,
    /// Where the buffers lie in the body.
    pub buffers: Option<Vector<'a, arrow_ipc::Buffer>>,
    /// How many data buffers each view array has.
    pub variadic: Option<Vector<'a, i64>>,
    /// How every buffer is compressed.
    pub codec: Option<Codec>,
    /// The length of the body.
    pub body_length: u64,
    /// Whether unions have a validity bitmap.
    pub is_v4: bool,
    /// What this crate noted about opaque columns, if anything.
    pub note: Option<MessageNote>,
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
            nodes: batch.nodes(),
            buffers: batch.buffers(),
            variadic: batch.variadicBufferCounts(),
            codec,
            body_length: message.body_length,
            is_v4: message.is_v4,
            note: message.our_entry().and_then(opaque::parse_note),
        }))
    }

    /// Checks that a buffer lies inside the body.
    pub(crate) fn span(&self, index: usize, entry: &arrow_ipc::Buffer, column: &str) -> Result<Span> {
        let (offset, length) = (entry.offset(), entry.length());
        let checked = || {
            let span = Span { offset: u64::try_from(offset).ok()?, length: u64::try_from(length).ok()? };
            (span.offset.checked_add(span.length)? <= self.body_length).then_some(span)
        };
        // An empty buffer has no bytes to be anywhere; some writers give it any offset.
        if length == 0 {
            return Ok(Span { offset: 0, length: 0 });
        }
        checked().ok_or_else(|| {
            ErrorKind::BufferOutside {
                column: column.to_owned(),
                buffer: index,
                offset,
                length,
                body: self.body_length,
            }
            .into()
        })
    }

    /// The frames of the body in order: every non-empty declared buffer, then the opaque
    /// columns' payload, if it is as our note says.
    pub(crate) fn frames(&self) -> Result<Vec<Span>> {
        let declared = self.buffers.map(|b| b.len()).unwrap_or_default();
        let mut frames = Vec::with_capacity(declared);
        for (index, entry) in self.buffers.iter().flatten().enumerate() {
            let span = self.span(index, entry, "")?;
            if span.length > 0 {
                frames.push(span);
            }
        }
        if let Some(note) = self.note.as_ref().filter(|note| note.fits(self.body_length, &frames)) {
            frames.extend(note.spans().filter(|span| span.length > 0));
        }
        Ok(frames)
    }
}
