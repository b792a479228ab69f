//! Messages put together by hand, so that each number in them may lie.

use arrow::datatypes::{ArrowNativeType, DataType, Field, Schema, ToByteSlice};
use arrow::ipc::convert::IpcSchemaEncoder;
use arrow::ipc::writer::DictionaryTracker;
use arrow::ipc::{self, CompressionType, MessageHeader, MetadataVersion};

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

pub const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The parts of a RecordBatch or DictionaryBatch message.
#[derive(Clone)]
pub struct Raw {
    pub rows: i64,
    pub nodes: Vec<(i64, i64)>,
    pub buffers: Vec<(i64, i64)>,
    pub variadic: Vec<i64>,
    pub codec: Option<CompressionType>,
    pub body: Vec<u8>,
    /// What the message says of the body's length, if not the truth.
    pub body_length: Option<i64>,
    pub version: MetadataVersion,
    pub metadata: Vec<(&'static str, String)>,
    /// Where buffers begin, and by how much more each is shifted.
    pub alignment: (usize, usize),
}

/// A batch of so many rows, and nothing in it yet.
pub fn rows(rows: i64) -> Raw {
    Raw {
        rows,
        nodes: vec![],
        buffers: vec![],
        variadic: vec![],
        codec: None,
        body: vec![],
        body_length: None,
        version: MetadataVersion::V5,
        metadata: vec![],
        alignment: (64, 0),
    }
}

impl Raw {
    /// Adds a node: the length and null count of an array.
    pub fn node(mut self, length: i64, nulls: i64) -> Self {
        self.nodes.push((length, nulls));
        self
    }

    /// Adds a buffer of these bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        let (step, shift) = self.alignment;
        let start = self.body.len().next_multiple_of(step) + shift;
        self.body.resize(start, 0);
        self.body.extend_from_slice(bytes);
        self.buffers.push((start as i64, bytes.len() as i64));
        let end = self.body.len().next_multiple_of(8);
        self.body.resize(end, 0);
        self
    }

    /// Adds a buffer of these numbers.
    pub fn numbers<T: ArrowNativeType>(self, numbers: &[T]) -> Self {
        self.bytes(numbers.to_byte_slice())
    }

    /// Adds a buffer of no bytes.
    pub fn absent(self) -> Self {
        let end = self.body.len() as i64;
        self.buffer(end, 0)
    }

    /// Adds a buffer that lies where the caller says.
    pub fn buffer(mut self, offset: i64, length: i64) -> Self {
        self.buffers.push((offset, length));
        self
    }

    /// Adds a count of variadic buffers.
    pub fn variadic(mut self, count: i64) -> Self {
        self.variadic.push(count);
        self
    }

    /// Adds a node without nulls and its absent bitmap.
    pub fn array(self, length: i64) -> Self {
        self.node(length, 0).absent()
    }

    /// The RecordBatch message and its body.
    pub fn batch(&self) -> Vec<u8> {
        self.message(None)
    }

    /// The DictionaryBatch message and its body.
    pub fn dictionary(&self, id: i64, is_delta: bool) -> Vec<u8> {
        self.message(Some((id, is_delta)))
    }

    fn message(&self, dictionary: Option<(i64, bool)>) -> Vec<u8> {
        let mut fbb = FlatBufferBuilder::new();
        let nodes: Vec<_> =
            self.nodes.iter().map(|(length, nulls)| ipc::FieldNode::new(*length, *nulls)).collect();
        let buffers: Vec<_> =
            self.buffers.iter().map(|(offset, length)| ipc::Buffer::new(*offset, *length)).collect();
        let nodes = fbb.create_vector(&nodes);
        let buffers = fbb.create_vector(&buffers);
        let variadic = (!self.variadic.is_empty()).then(|| fbb.create_vector(&self.variadic));
        let compression = self.codec.map(|codec| {
            let mut compression = ipc::BodyCompressionBuilder::new(&mut fbb);
            compression.add_codec(codec);
            compression.finish()
        });
        let mut batch = ipc::RecordBatchBuilder::new(&mut fbb);
        batch.add_length(self.rows);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        if let Some(compression) = compression {
            batch.add_compression(compression);
        }
        if let Some(variadic) = variadic {
            batch.add_variadicBufferCounts(variadic);
        }
        let batch = batch.finish();
        let (kind, header) = match dictionary {
            None => (MessageHeader::RecordBatch, batch.as_union_value()),
            Some((id, is_delta)) => {
                let mut dictionary = ipc::DictionaryBatchBuilder::new(&mut fbb);
                dictionary.add_id(id);
                dictionary.add_data(batch);
                dictionary.add_isDelta(is_delta);
                (MessageHeader::DictionaryBatch, dictionary.finish().as_union_value())
            }
        };
        let length = self.body_length.unwrap_or(self.body.len() as i64);
        let mut bytes = message(fbb, self.version, kind, header, length, &self.metadata);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A Schema message of these fields, its dictionaries numbered from 0.
pub fn schema(fields: Vec<Field>) -> Vec<u8> {
    let schema = Schema::new(fields);
    schema_with(MetadataVersion::V5, |fbb| {
        let mut tracker = DictionaryTracker::new(false);
        IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker).schema_to_fb_offset(fbb, &schema)
    })
}

/// A Schema message of one nullable column `c`.
pub fn column(data_type: DataType) -> Vec<u8> {
    schema(vec![Field::new("c", data_type, true)])
}

/// A Schema message whose table the caller writes.
pub fn schema_with<'b>(
    version: MetadataVersion,
    write: impl FnOnce(&mut FlatBufferBuilder<'b>) -> WIPOffset<ipc::Schema<'b>>,
) -> Vec<u8> {
    let mut fbb = FlatBufferBuilder::new();
    let schema = write(&mut fbb).as_union_value();
    message(fbb, version, MessageHeader::Schema, schema, 0, &[])
}

/// A Schema message whose fields the caller writes.
pub fn fields_with<'b>(
    write: impl FnOnce(&mut FlatBufferBuilder<'b>) -> Vec<WIPOffset<ipc::Field<'b>>>,
) -> Vec<u8> {
    schema_with(MetadataVersion::V5, |fbb| {
        let fields = write(fbb);
        let fields = fbb.create_vector(&fields);
        let mut schema = ipc::SchemaBuilder::new(fbb);
        schema.add_fields(fields);
        schema.finish()
    })
}

/// The table of a field named `c`.
pub fn field<'b>(
    fbb: &mut FlatBufferBuilder<'b>,
    kind: ipc::Type,
    table: WIPOffset<UnionWIPOffset>,
    nullable: bool,
    children: &[WIPOffset<ipc::Field<'b>>],
) -> WIPOffset<ipc::Field<'b>> {
    let name = fbb.create_string("c");
    let children = fbb.create_vector(children);
    let mut field = ipc::FieldBuilder::new(fbb);
    field.add_name(name);
    field.add_nullable(nullable);
    field.add_type_type(kind);
    field.add_type_(table);
    field.add_children(children);
    field.finish()
}

/// An encapsulated message.
pub fn message(
    mut fbb: FlatBufferBuilder<'_>,
    version: MetadataVersion,
    kind: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    body_length: i64,
    metadata: &[(&'static str, String)],
) -> Vec<u8> {
    let pairs: Vec<_> = metadata
        .iter()
        .map(|(key, value)| {
            let (key, value) = (Some(fbb.create_string(key)), Some(fbb.create_string(value)));
            ipc::KeyValue::create(&mut fbb, &ipc::KeyValueArgs { key, value })
        })
        .collect();
    let pairs = (!pairs.is_empty()).then(|| fbb.create_vector(&pairs));
    let mut message = ipc::MessageBuilder::new(&mut fbb);
    message.add_version(version);
    message.add_header_type(kind);
    message.add_header(header);
    message.add_bodyLength(body_length);
    if let Some(pairs) = pairs {
        message.add_custom_metadata(pairs);
    }
    let root = message.finish();
    fbb.finish(root, None);
    let flatbuffer = fbb.finished_data();
    let length = (flatbuffer.len() + 8).next_multiple_of(64) - 8;
    let mut bytes = vec![0xff; 4];
    bytes.extend_from_slice(&(length as i32).to_le_bytes());
    bytes.extend_from_slice(flatbuffer);
    bytes.resize(length + 8, 0);
    bytes
}

/// A stream of these messages, with its end marker.
pub fn stream(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = messages.concat();
    stream.extend_from_slice(&END);
    stream
}

/// A file around a stream of a schema and batches, its footer with these blocks.
pub fn file(schema_message: &[u8], rest: &[u8], footer: &[u8]) -> Vec<u8> {
    let mut file = b"ARROW1\0\0".to_vec();
    file.extend_from_slice(schema_message);
    file.extend_from_slice(rest);
    file.extend_from_slice(&END);
    file.extend_from_slice(footer);
    file.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    file.extend_from_slice(b"ARROW1");
    file
}

/// A footer's flatbuffer, whose schema is of these fields unless there are none.
pub fn footer(
    version: Option<MetadataVersion>,
    fields: Option<Vec<Field>>,
    dictionaries: &[ipc::Block],
    batches: &[ipc::Block],
) -> Vec<u8> {
    let mut fbb = FlatBufferBuilder::new();
    let schema = fields.map(|fields| {
        let mut tracker = DictionaryTracker::new(false);
        let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker);
        encoder.schema_to_fb_offset(&mut fbb, &Schema::new(fields))
    });
    let dictionaries = fbb.create_vector(dictionaries);
    let batches = fbb.create_vector(batches);
    let mut footer = ipc::FooterBuilder::new(&mut fbb);
    if let Some(version) = version {
        footer.add_version(version);
    }
    if let Some(schema) = schema {
        footer.add_schema(schema);
    }
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let root = footer.finish();
    fbb.finish(root, None);
    fbb.finished_data().to_vec()
}
