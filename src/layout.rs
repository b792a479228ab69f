//! What lies where in some messages: for people and programs that look inside.
#![deny(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use std::collections::HashSet;

use arrow_schema::{DataType, Metadata, SchemaRef, UnionMode};

use crate::error::{Error, ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::transport::{check_dictionary, read_footer};
use crate::wire::batch::{BatchMeta, Span};
use crate::wire::envelope::{self, Next, Prefixes};
use crate::wire::file::Footer;
use crate::wire::message::{Header, Message};
use crate::wire::opaque::WHOLE_OBJECT;
use crate::wire::schema::WireSchema;
use crate::wire::tensor;

/// The messages of frames, a stream or a file, as far as their metadata is sound.
///
/// Column data is not looked at: a layout costs the same whatever the rows, and is there
/// for input that does not decode.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers};
/// use arrow_frames::{Layout, Part};
/// # let a: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// # let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("a", a)])?), Target::Arrow)?;
///
/// let layout = Layout::of_frames(&frames);
/// assert!(layout.error.is_none() && layout.is_finished);
/// assert_eq!(layout.end, Some(frames.header().len() as u64));
/// let values = layout.messages[1].buffers[1];
/// assert_eq!((values.column, values.part, values.length), (0, Part::Values, 24));
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Layout {
    /// The schema, if there is a sound one.
    pub schema: Option<SchemaRef>,
    /// The messages in front of the first fault.
    pub messages: Vec<MessageLayout>,
    /// Whether the end-of-stream marker (of a file: its footer; of a tensor: its message) was met.
    pub is_finished: bool,
    /// Where the end marker of a header or a stream ends, if it was met (of a tensor: its
    /// message). Bytes behind it belong to something else, and nothing reads them.
    pub end: Option<u64>,
    /// The first fault.
    pub error: Option<Error>,
}

/// One message.
#[derive(Debug, Clone)]
pub struct MessageLayout {
    /// What it is.
    pub kind: MessageKind,
    /// Where its prefix starts, in bytes from the start of the header, stream or file.
    pub position: u64,
    /// Bytes of its prefix, flatbuffer and padding.
    pub metadata_bytes: u64,
    /// Bytes of its body.
    pub body_bytes: u64,
    /// Rows of a batch or values of a dictionary.
    pub rows: u64,
    /// The codec of its buffers: `lz4` or `zstd`.
    pub compression: Option<&'static str>,
    /// Its own metadata, without what this crate adds.
    pub metadata: Metadata,
    /// Its declared buffers in order, then the payload of opaque columns.
    pub buffers: Vec<BufferLayout>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A schema.
    Schema,
    /// The values of a dictionary, or more of them.
    Dictionary {
        /// Its id.
        id: i64,
        /// Whether they continue those that came before.
        is_delta: bool,
    },
    /// Rows.
    Batch,
    /// A tensor, which is a stream of its own.
    Tensor,
    /// A sparse tensor, which is a stream of its own.
    SparseTensor,
}

/// One buffer of a body. A non-empty one is one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferLayout {
    /// The top-level column it belongs to; [`BufferLayout::OF_OBJECT`] if it is of an object that
    /// is no column; of a tensor, its number.
    pub column: usize,
    /// What it holds.
    pub part: Part,
    /// Where it starts in the body.
    pub offset: u64,
    /// Its length, without padding.
    pub length: u64,
}

impl BufferLayout {
    /// What takes a column's place for the buffers of an object that is no column.
    pub const OF_OBJECT: usize = WHOLE_OBJECT;
}

impl Layout {
    /// The layout of a header.
    pub fn of_frames(frames: &Frames) -> Layout {
        Builder::default().finish(|builder| builder.messages(frames.header(), false))
    }

    /// The layout of an Arrow IPC stream.
    pub fn of_stream(stream: &[u8]) -> Layout {
        Builder::default().finish(|builder| builder.messages(stream, true))
    }

    /// The layout of an Arrow IPC file, its messages in the order of their positions.
    pub fn of_file(file: &[u8]) -> Layout {
        Builder::default().finish(|builder| builder.file(file))
    }
}

#[derive(Default)]
struct Builder {
    layout: Layout,
    wire: Option<WireSchema>,
    limits: Limits,
}

impl Builder {
    fn finish(mut self, read: impl FnOnce(&mut Self) -> Result<()>) -> Layout {
        self.layout.error = read(&mut self).err();
        self.layout.schema = self.wire.map(|wire| wire.schema);
        self.layout
    }

    fn messages(&mut self, bytes: &[u8], has_bodies: bool) -> Result<()> {
        let mut position = 0;
        let mut prefixes = Prefixes::default();
        loop {
            match envelope::next(bytes, position, &mut prefixes, &self.limits)? {
                Next::Nothing => return Ok(()),
                Next::End { end } => {
                    self.finished(end);
                    return Ok(());
                }
                Next::Message(envelope) => {
                    let body = self.message(bytes, envelope)?;
                    position = body.start;
                    if has_bodies {
                        position = position.saturating_add(body.check(bytes)?);
                    }
                    let kind = self.layout.messages.last().map(|message| message.kind);
                    if matches!(kind, Some(MessageKind::Tensor | MessageKind::SparseTensor)) {
                        self.finished(position);
                        return Ok(());
                    }
                }
            }
        }
    }

    fn file(&mut self, file: &[u8]) -> Result<()> {
        let footer: Footer = read_footer(file, &self.limits)?;
        let blocks = footer.blocks()?;
        self.wire = Some(footer.schema);
        let mut seen = HashSet::new();
        for (index, (block, _)) in blocks.into_iter().enumerate() {
            let position = usize::try_from(block.offset).unwrap_or(usize::MAX);
            let Next::Message(envelope) =
                envelope::next(file, position, &mut Prefixes::default(), &self.limits)?
            else {
                let (position, available) = (block.offset, file.len() as u64);
                return Err(ErrorKind::Truncated { part: Part::Block, position, needed: 8, available }.into());
            };
            self.message(file, envelope)?.check(file)?;
            let dictionary = match self.layout.messages.last().map(|message| message.kind) {
                Some(MessageKind::Dictionary { id, is_delta }) => Some((id, is_delta)),
                _ => None,
            };
            check_dictionary(&mut seen, dictionary, index.saturating_add(1))?;
        }
        self.finished(file.len());
        Ok(())
    }

    fn finished(&mut self, end: usize) {
        self.layout.is_finished = true;
        self.layout.end = Some(end as u64);
    }

    fn message(&mut self, bytes: &[u8], envelope: envelope::Envelope) -> Result<Body> {
        let position = envelope.start as u64;
        let flatbuffer = tensor::readable(bytes.get(envelope.metadata.clone()).unwrap_or_default());
        let message = Message::parse(&flatbuffer, position, &self.limits)?;
        let mut layout = MessageLayout {
            kind: MessageKind::Schema,
            position,
            metadata_bytes: envelope.metadata.end.saturating_sub(envelope.start) as u64,
            body_bytes: message.body_length,
            rows: 0,
            compression: None,
            metadata: message.metadata(),
            buffers: Vec::new(),
        };
        match &message.header {
            Header::Schema(_) if self.wire.is_some() => {
                return Err(ErrorKind::SchemaRepeated { position }.into());
            }
            Header::Schema(schema) => self.wire = Some(WireSchema::read(*schema, &self.limits)?),
            Header::Batch(_) => layout.kind = MessageKind::Batch,
            Header::Dictionary { id, is_delta, .. } => {
                layout.kind = MessageKind::Dictionary { id: *id, is_delta: *is_delta };
            }
            Header::Tensor(_) | Header::SparseTensor(_) if position > 0 => return Err(message.misplaced()),
            Header::Tensor(_) => layout.kind = MessageKind::Tensor,
            Header::SparseTensor(_) => layout.kind = MessageKind::SparseTensor,
        }
        if let Some(meta) = BatchMeta::of(&message)? {
            let wire = self.wire.as_ref().ok_or(ErrorKind::SchemaMissing { position })?;
            layout.rows = meta.rows as u64;
            layout.compression = meta.codec.map(|codec| codec.name());
            layout.buffers = buffers(&meta, layout.kind, wire)?;
        } else {
            layout.buffers = tensor_buffers(&message)?;
        }
        let body = Body { start: envelope.metadata.end, length: message.body_length };
        self.layout.messages.push(layout);
        Ok(body)
    }
}

/// Where a body should be.
struct Body {
    start: usize,
    length: u64,
}

impl Body {
    /// Its length, if so many bytes are there.
    fn check(&self, bytes: &[u8]) -> Result<usize> {
        let available = bytes.len().saturating_sub(self.start);
        usize::try_from(self.length).ok().filter(|length| *length <= available).ok_or_else(|| {
            let (position, available) = (self.start as u64, available as u64);
            ErrorKind::Truncated { part: Part::Body, position, needed: self.length, available }.into()
        })
    }
}

/// The buffers of a tensor, numbered where those of a dataframe have columns.
fn tensor_buffers(message: &Message<'_>) -> Result<Vec<BufferLayout>> {
    let (parts, spans) = tensor::buffers(message)?;
    let buffer = |(column, (part, span)): (usize, (Part, Span))| BufferLayout {
        column,
        part,
        offset: span.offset,
        length: span.length,
    };
    Ok(parts.into_iter().zip(spans).enumerate().map(buffer).collect())
}

/// Says of each buffer of a message what it holds.
fn buffers(meta: &BatchMeta<'_>, kind: MessageKind, wire: &WireSchema) -> Result<Vec<BufferLayout>> {
    let mut parts = Vec::new();
    let mut counts = meta.variadic.into_iter().flatten();
    if let MessageKind::Dictionary { id, .. } = kind {
        if let Some(field) = wire.dictionaries.iter().find(|field| field.id == id) {
            collect(&field.value_type, field.column, meta, &mut counts, &mut parts);
        }
    } else {
        for (column, field) in wire.schema.fields().iter().enumerate() {
            collect(field.data_type(), column, meta, &mut counts, &mut parts);
        }
    }
    let part = |index: usize| parts.get(index).copied().unwrap_or((usize::MAX, Part::Buffers));
    let (declared, end) = meta.declared(|index| wire.column_name(part(index).0))?;
    let buffer = |(index, span): (usize, &Span)| {
        let (column, part) = part(index);
        BufferLayout { column, part, offset: span.offset, length: span.length }
    };
    let mut buffers: Vec<BufferLayout> = declared.iter().enumerate().map(buffer).collect();
    // A note of another body names no frames.
    if let Some(note) = meta.payload(end) {
        for (column, spans) in note.columns() {
            buffers.extend(spans.iter().map(|span| BufferLayout {
                column,
                part: Part::Payload,
                offset: span.offset,
                length: span.length,
            }));
        }
    }
    Ok(buffers)
}

/// The parts of a type in the order of its buffers.
fn collect(
    data_type: &DataType,
    column: usize,
    meta: &BatchMeta<'_>,
    counts: &mut impl Iterator<Item = i64>,
    out: &mut Vec<(usize, Part)>,
) {
    use DataType::*;
    let own: &[Part] = match data_type {
        Null | RunEndEncoded(..) => &[],
        Struct(_) | FixedSizeList(..) => &[Part::Validity],
        Utf8 | LargeUtf8 | Binary | LargeBinary => &[Part::Validity, Part::Offsets, Part::Values],
        Utf8View | BinaryView => &[Part::Validity, Part::Views],
        List(_) | LargeList(_) | Map(..) => &[Part::Validity, Part::Offsets],
        ListView(_) | LargeListView(_) => &[Part::Validity, Part::Offsets, Part::Sizes],
        Union(_, UnionMode::Sparse) => &[Part::TypeIds],
        Union(_, UnionMode::Dense) => &[Part::TypeIds, Part::Offsets],
        _ => &[Part::Validity, Part::Values],
    };
    if meta.is_v4 && matches!(data_type, Union(..) | RunEndEncoded(..)) {
        out.push((column, Part::Validity));
    }
    out.extend(own.iter().map(|part| (column, *part)));
    match data_type {
        Utf8View | BinaryView => {
            // The count is not checked here: all parts together are no more than the buffers.
            let most = meta.buffers.len();
            let most = most.saturating_sub(out.len());
            let count = counts.next().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
            out.extend(std::iter::repeat_n((column, Part::Values), count.min(most)));
        }
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => {
            collect(child.data_type(), column, meta, counts, out);
        }
        FixedSizeList(child, _) | Map(child, _) => collect(child.data_type(), column, meta, counts, out),
        Struct(children) => {
            children.iter().for_each(|child| collect(child.data_type(), column, meta, counts, out));
        }
        Union(children, _) => {
            children.iter().for_each(|(_, child)| collect(child.data_type(), column, meta, counts, out));
        }
        RunEndEncoded(ends, values) => {
            collect(ends.data_type(), column, meta, counts, out);
            collect(values.data_type(), column, meta, counts, out);
        }
        _ => {}
    }
}
