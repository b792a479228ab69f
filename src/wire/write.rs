//! Writes messages: flatbuffer, prefix, padding.

use arrow_ipc as ipc;
use arrow_ipc::convert::metadata_to_fb;
use arrow_schema::Metadata;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

use super::schema::WireSchema;
use super::{ALIGNMENT, CONTINUATION, END_OF_STREAM};
use crate::compression::Codec;
use crate::error::{ErrorKind, Part, Result};

/// What a RecordBatch table says.
pub(crate) struct BatchParts<'p> {
    /// Its rows.
    pub rows: usize,
    /// A node per array, depth first.
    pub nodes: &'p [ipc::FieldNode],
    /// Where the buffers lie in the body.
    pub buffers: &'p [ipc::Buffer],
    /// How many data buffers each view array has.
    pub variadic: &'p [i64],
    /// How every buffer is compressed.
    pub codec: Option<Codec>,
    /// The length of the body.
    pub body_length: u64,
}

/// A DictionaryBatch's own words.
pub(crate) struct DictionaryParts {
    /// Its id.
    pub id: i64,
    /// Whether it continues the values before it.
    pub is_delta: bool,
}

/// Appends a Schema message to a header.
pub(crate) fn schema(
    fbb: &mut FlatBufferBuilder<'static>,
    header: &mut Vec<u8>,
    schema: &WireSchema,
    metadata: &Metadata,
) -> Result<()> {
    fbb.reset();
    let table = schema.write(fbb).as_union_value();
    message(fbb, header, ipc::MessageHeader::Schema, table, 0, metadata)
}

/// Appends a RecordBatch message, or a DictionaryBatch message around it, to a header.
pub(crate) fn batch(
    fbb: &mut FlatBufferBuilder<'static>,
    header: &mut Vec<u8>,
    parts: &BatchParts<'_>,
    dictionary: Option<&DictionaryParts>,
    metadata: &Metadata,
) -> Result<()> {
    fbb.reset();
    let buffers = fbb.create_vector(parts.buffers);
    let nodes = fbb.create_vector(parts.nodes);
    let variadic = (!parts.variadic.is_empty()).then(|| fbb.create_vector(parts.variadic));
    let compression = parts.codec.map(|codec| {
        let codec = match codec {
            Codec::Lz4 => ipc::CompressionType::LZ4_FRAME,
            Codec::Zstd => ipc::CompressionType::ZSTD,
        };
        let method = ipc::BodyCompressionMethod::BUFFER;
        ipc::BodyCompression::create(fbb, &ipc::BodyCompressionArgs { codec, method })
    });
    let mut table = ipc::RecordBatchBuilder::new(fbb);
    table.add_length(number(parts.rows as u64, Part::Rows)?);
    table.add_nodes(nodes);
    table.add_buffers(buffers);
    if let Some(compression) = compression {
        table.add_compression(compression);
    }
    if let Some(variadic) = variadic {
        table.add_variadicBufferCounts(variadic);
    }
    let table = table.finish();
    let (kind, table) = match dictionary {
        None => (ipc::MessageHeader::RecordBatch, table.as_union_value()),
        Some(parts) => {
            let mut dictionary = ipc::DictionaryBatchBuilder::new(fbb);
            dictionary.add_id(parts.id);
            dictionary.add_data(table);
            dictionary.add_isDelta(parts.is_delta);
            (ipc::MessageHeader::DictionaryBatch, dictionary.finish().as_union_value())
        }
    };
    let body_length = number(parts.body_length, Part::Body)?;
    message(fbb, header, kind, table, body_length, metadata)
}

/// Appends the end-of-stream marker.
pub(crate) fn end(header: &mut Vec<u8>) {
    header.extend_from_slice(&END_OF_STREAM);
}

pub(super) fn message(
    fbb: &mut FlatBufferBuilder<'static>,
    out: &mut Vec<u8>,
    kind: ipc::MessageHeader,
    table: WIPOffset<UnionWIPOffset>,
    body_length: i64,
    metadata: &Metadata,
) -> Result<()> {
    let metadata = (!metadata.is_empty()).then(|| metadata_to_fb(fbb, metadata));
    let mut message = ipc::MessageBuilder::new(fbb);
    message.add_version(ipc::MetadataVersion::V5);
    message.add_header_type(kind);
    message.add_header(table);
    message.add_bodyLength(body_length);
    if let Some(metadata) = metadata {
        message.add_custom_metadata(metadata);
    }
    let root = message.finish();
    fbb.finish(root, None);
    encapsulate(fbb.finished_data(), 0, out)
}

/// Appends the prefix, a flatbuffer, and zeros up to `extra` bytes past a multiple of 64.
pub(crate) fn encapsulate(flatbuffer: &[u8], extra: usize, out: &mut Vec<u8>) -> Result<()> {
    const PREFIX: usize = 8;
    let total = flatbuffer
        .len()
        .saturating_add(PREFIX)
        .saturating_sub(extra)
        .next_multiple_of(ALIGNMENT)
        .saturating_add(extra);
    let length = total.saturating_sub(PREFIX);
    let length = i32::try_from(length).map_err(|_| ErrorKind::Limit {
        limit: "max_metadata_bytes",
        requested: length as u64,
        allowed: i32::MAX as u64,
    })?;
    let end = out.len().saturating_add(total);
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(flatbuffer);
    out.resize(end, 0);
    Ok(())
}

pub(super) fn number(value: u64, part: Part) -> Result<i64> {
    i64::try_from(value).map_err(|_| ErrorKind::BadNumber { part, position: 0, number: i64::MAX }.into())
}
