//! Where the numbers of Arrow's metadata lie in the bytes of a stream, a header or a file.
//!
//! The tests and the fuzz targets share this. It looks for as many messages as are sound, and
//! says whether these were all.
#![allow(dead_code)] // Each of them uses its own part.

use std::ops::Range;

use arrow_ipc::{self as ipc, root_as_footer, root_as_message};
use flatbuffers::{Follow, Table, VOffsetT, Vector};

/// Numbers of one message that are looked for: tables may be shared, so that a few bytes hold
/// any number of fields.
const MOST: usize = 1 << 14;

/// Begins every message since Arrow 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A number: where it lies, and how wide it is.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    pub position: usize,
    pub width: usize,
    /// What it is.
    pub what: &'static str,
}

impl Site {
    /// The number that lies there.
    pub fn get(&self, bytes: &[u8]) -> i64 {
        let mut number = [0; 8];
        number[..self.width].copy_from_slice(&bytes[self.position..self.position + self.width]);
        let unused = 64 - 8 * self.width as u32;
        i64::from_le_bytes(number) << unused >> unused
    }

    /// Puts another number there, cut to its width.
    pub fn set(&self, bytes: &mut [u8], number: i64) {
        let number = number.to_le_bytes();
        bytes[self.position..self.position + self.width].copy_from_slice(&number[..self.width]);
    }
}

/// The numbers of one message.
#[derive(Debug, Default)]
pub struct Sites {
    pub sites: Vec<Site>,
    /// Where its flatbuffer lies.
    pub metadata: Range<usize>,
    /// Where its prefix starts and its body ends.
    pub message: Range<usize>,
    /// Where its buffers lie, as far as they are inside the body, and what follows them; empty
    /// ones are not there.
    pub buffers: Vec<Range<usize>>,
    /// Where the values of custom metadata lie.
    pub texts: Vec<Range<usize>>,
}

/// The messages of a stream or a header.
#[derive(Debug, Default)]
pub struct Found {
    pub messages: Vec<Sites>,
    /// The first byte behind the end marker, if that was met.
    pub end: Option<usize>,
}

/// The messages of a stream, from `position` on.
pub fn of_stream(bytes: &[u8], position: usize) -> Found {
    messages(bytes, position, true)
}

/// The messages of a header: no bodies lie between them.
pub fn of_header(bytes: &[u8]) -> Found {
    messages(bytes, 0, false)
}

/// The numbers of a file's footer, if there is a sound one.
pub fn of_footer(file: &[u8]) -> Option<Sites> {
    let length = Site { position: file.len().checked_sub(10)?, width: 4, what: "footer length" };
    let start = length.position.checked_sub(usize::try_from(length.get(file)).ok()?)?;
    let metadata = start..length.position;
    let mut finder = Finder::new(file, &metadata, length);
    let footer = root_as_footer(finder.bytes).ok()?;
    finder.scalar(&footer._tab, ipc::Footer::VT_VERSION, 2, "footer version");
    for blocks in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten() {
        finder.length(&blocks, "number of blocks");
        for block in blocks.iter() {
            let position = finder.place(&block.0);
            finder.at(position, 8, "block offset");
            finder.at(position + 8, 4, "block metadata length");
            finder.at(position + 16, 8, "block body length");
        }
    }
    if let Some(schema) = footer.schema() {
        finder.schema(&schema);
    }
    finder.texts(footer.custom_metadata());
    let message = metadata.start..file.len();
    Some(Sites { sites: finder.sites, metadata, message, buffers: vec![], texts: finder.texts })
}

fn messages(bytes: &[u8], mut position: usize, has_bodies: bool) -> Found {
    let mut found = Found::default();
    loop {
        let is_old = bytes.get(position..).is_none_or(|rest| !rest.starts_with(&CONTINUATION));
        let prefix =
            Site { position: position + if is_old { 0 } else { 4 }, width: 4, what: "metadata length" };
        let start = prefix.position + prefix.width;
        if start > bytes.len() {
            return found;
        }
        let length = prefix.get(bytes);
        if length == 0 {
            found.end = Some(start);
            return found;
        }
        let Some(metadata) = usize::try_from(length).ok().map(|length| start..start + length) else {
            return found;
        };
        let Some(mut message) = message(bytes, metadata, prefix, has_bodies) else { return found };
        message.message.start = position;
        position = message.message.end;
        found.messages.push(message);
    }
}

fn message(bytes: &[u8], metadata: Range<usize>, prefix: Site, has_body: bool) -> Option<Sites> {
    if metadata.end > bytes.len() {
        return None;
    }
    let mut finder = Finder::new(bytes, &metadata, prefix);
    let message = root_as_message(finder.bytes).ok()?;
    finder.message(&message);
    let body_length = if has_body { usize::try_from(message.bodyLength()).ok()? } else { 0 };
    let body = metadata.end..metadata.end.checked_add(body_length)?.min(bytes.len());
    let inside = |(offset, length): &(i64, i64)| {
        let start = body.start.checked_add(usize::try_from(*offset).ok()?)?;
        let end = start.checked_add(usize::try_from(*length).ok()?)?.min(body.end);
        (start < end).then_some(start..end)
    };
    let mut buffers: Vec<Range<usize>> = finder.buffers.iter().filter_map(inside).collect();
    // Behind the declared buffers and their padding lies the payload of opaque columns.
    let end = buffers.iter().map(|buffer| buffer.end - body.start).max().unwrap_or(0);
    let payload = body.start + end.next_multiple_of(64)..body.end;
    if !payload.is_empty() {
        buffers.push(payload);
    }
    let message = prefix.position..body.end;
    Some(Sites { sites: finder.sites, metadata, message, buffers, texts: finder.texts })
}

struct Finder<'a> {
    base: usize,
    bytes: &'a [u8],
    sites: Vec<Site>,
    buffers: Vec<(i64, i64)>,
    texts: Vec<Range<usize>>,
}

impl<'a> Finder<'a> {
    fn new(bytes: &'a [u8], metadata: &Range<usize>, length: Site) -> Self {
        let (base, bytes) = (metadata.start, &bytes[metadata.clone()]);
        Finder { base, bytes, sites: vec![length], buffers: vec![], texts: vec![] }
    }

    fn at(&mut self, position: usize, width: usize, what: &'static str) {
        self.sites.push(Site { position: self.base + position, width, what });
    }

    /// Where some bytes of the flatbuffer lie in it.
    fn place(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr() as usize - self.bytes.as_ptr() as usize
    }

    /// A number in a table, unless it has its default and is left out.
    fn scalar(&mut self, table: &Table<'a>, field: VOffsetT, width: usize, what: &'static str) {
        match table.vtable().get(field) {
            0 => {}
            offset => self.at(table.loc() + usize::from(offset), width, what),
        }
    }

    fn length<T: Follow<'a>>(&mut self, vector: &Vector<'a, T>, what: &'static str) {
        let position = self.place(vector.bytes());
        self.at(position - 4, 4, what);
    }

    fn message(&mut self, message: &ipc::Message<'a>) {
        self.scalar(&message._tab, ipc::Message::VT_VERSION, 2, "version");
        self.scalar(&message._tab, ipc::Message::VT_HEADER_TYPE, 1, "header type");
        self.scalar(&message._tab, ipc::Message::VT_BODYLENGTH, 8, "body length");
        if let Some(schema) = message.header_as_schema() {
            self.schema(&schema);
        }
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            self.scalar(&dictionary._tab, ipc::DictionaryBatch::VT_ID, 8, "dictionary id");
            self.scalar(&dictionary._tab, ipc::DictionaryBatch::VT_ISDELTA, 1, "is delta");
            dictionary.data().iter().for_each(|data| self.batch(data));
        }
        if let Some(batch) = message.header_as_record_batch() {
            self.batch(&batch);
        }
        if let Some(tensor) = message.header_as_tensor() {
            self.scalar(&tensor._tab, ipc::Tensor::VT_TYPE_TYPE, 1, "type");
            self.element(tensor.type_as_int(), tensor.type_as_fixed_size_binary());
            self.dims(&tensor.shape());
            self.numbers(tensor.strides(), "stride");
            self.buffer(tensor.data());
        }
        if let Some(tensor) = message.header_as_sparse_tensor() {
            self.sparse(&tensor);
        }
        self.texts(message.custom_metadata());
    }

    fn sparse(&mut self, tensor: &ipc::SparseTensor<'a>) {
        self.scalar(&tensor._tab, ipc::SparseTensor::VT_TYPE_TYPE, 1, "type");
        self.element(tensor.type_as_int(), tensor.type_as_fixed_size_binary());
        self.dims(&tensor.shape());
        self.scalar(&tensor._tab, ipc::SparseTensor::VT_NON_ZERO_LENGTH, 8, "number of elements");
        self.scalar(&tensor._tab, ipc::SparseTensor::VT_SPARSEINDEX_TYPE, 1, "kind of index");
        if let Some(coo) = tensor.sparseIndex_as_sparse_tensor_index_coo() {
            self.int(&coo.indicesType());
            self.numbers(coo.indicesStrides(), "stride of indices");
            self.buffer(coo.indicesBuffer());
        }
        if let Some(csx) = tensor.sparseIndex_as_sparse_matrix_index_csx() {
            self.scalar(&csx._tab, ipc::SparseMatrixIndexCSX::VT_COMPRESSEDAXIS, 2, "compressed axis");
            self.int(&csx.indptrType());
            self.int(&csx.indicesType());
            self.buffer(csx.indptrBuffer());
            self.buffer(csx.indicesBuffer());
        }
        if let Some(csf) = tensor.sparseIndex_as_sparse_tensor_index_csf() {
            self.int(&csf.indptrType());
            self.int(&csf.indicesType());
            for buffers in [csf.indptrBuffers(), csf.indicesBuffers()] {
                self.length(&buffers, "number of levels");
                buffers.iter().for_each(|buffer| self.buffer(buffer));
            }
            let axes = csf.axisOrder();
            self.length(&axes, "number of axes");
            for index in 0..axes.len() {
                self.at(self.place(axes.bytes()) + 4 * index, 4, "axis");
            }
        }
        self.buffer(tensor.data());
    }

    fn element(&mut self, int: Option<ipc::Int<'a>>, binary: Option<ipc::FixedSizeBinary<'a>>) {
        int.iter().for_each(|int| self.int(int));
        if let Some(binary) = binary {
            self.scalar(&binary._tab, ipc::FixedSizeBinary::VT_BYTEWIDTH, 4, "byte width");
        }
    }

    fn dims(&mut self, dims: &Vector<'a, flatbuffers::ForwardsUOffset<ipc::TensorDim<'a>>>) {
        self.length(dims, "number of dimensions");
        for dim in dims.iter().take(MOST) {
            self.scalar(&dim._tab, ipc::TensorDim::VT_SIZE, 8, "size of a dimension");
        }
    }

    fn numbers(&mut self, numbers: Option<Vector<'a, i64>>, what: &'static str) {
        if let Some(numbers) = numbers {
            self.length(&numbers, "number of numbers");
            for index in 0..numbers.len() {
                self.at(self.place(numbers.bytes()) + 8 * index, 8, what);
            }
        }
    }

    fn buffer(&mut self, buffer: &'a ipc::Buffer) {
        let position = self.place(&buffer.0);
        self.at(position, 8, "offset of a buffer");
        self.at(position + 8, 8, "length of a buffer");
        self.buffers.push((buffer.offset(), buffer.length()));
    }

    fn texts(&mut self, pairs: Option<Vector<'a, flatbuffers::ForwardsUOffset<ipc::KeyValue<'a>>>>) {
        for value in pairs.iter().flatten().filter_map(|pair| pair.value()) {
            let start = self.base + self.place(value.as_bytes());
            self.texts.push(start..start + value.len());
        }
    }

    fn batch(&mut self, batch: &ipc::RecordBatch<'a>) {
        self.scalar(&batch._tab, ipc::RecordBatch::VT_LENGTH, 8, "rows");
        if let Some(nodes) = batch.nodes() {
            self.length(&nodes, "number of nodes");
            for node in nodes.iter() {
                let position = self.place(&node.0);
                self.at(position, 8, "length of a node");
                self.at(position + 8, 8, "null count");
            }
        }
        if let Some(buffers) = batch.buffers() {
            self.length(&buffers, "number of buffers");
            buffers.iter().for_each(|buffer| self.buffer(buffer));
        }
        if let Some(counts) = batch.variadicBufferCounts() {
            self.length(&counts, "number of variadic counts");
            for index in 0..counts.len() {
                self.at(self.place(counts.bytes()) + 8 * index, 8, "variadic count");
            }
        }
        if let Some(compression) = batch.compression() {
            self.scalar(&compression._tab, ipc::BodyCompression::VT_CODEC, 1, "codec");
            self.scalar(&compression._tab, ipc::BodyCompression::VT_METHOD, 1, "compression method");
        }
    }

    fn schema(&mut self, schema: &ipc::Schema<'a>) {
        self.scalar(&schema._tab, ipc::Schema::VT_ENDIANNESS, 2, "endianness");
        if let Some(fields) = schema.fields() {
            self.length(&fields, "number of fields");
            fields.iter().for_each(|field| self.field(&field));
        }
        self.texts(schema.custom_metadata());
    }

    fn field(&mut self, field: &ipc::Field<'a>) {
        if self.sites.len() > MOST {
            return;
        }
        self.texts(field.custom_metadata());
        self.scalar(&field._tab, ipc::Field::VT_NULLABLE, 1, "nullable");
        self.scalar(&field._tab, ipc::Field::VT_TYPE_TYPE, 1, "type");
        self.type_of(field);
        if let Some(dictionary) = field.dictionary() {
            self.scalar(&dictionary._tab, ipc::DictionaryEncoding::VT_ID, 8, "dictionary id");
            self.scalar(&dictionary._tab, ipc::DictionaryEncoding::VT_ISORDERED, 1, "ordered");
            self.scalar(&dictionary._tab, ipc::DictionaryEncoding::VT_DICTIONARYKIND, 2, "dictionary kind");
            if let Some(int) = dictionary.indexType() {
                self.int(&int);
            }
        }
        if let Some(children) = field.children() {
            self.length(&children, "number of children");
            children.iter().for_each(|child| self.field(&child));
        }
    }

    fn int(&mut self, int: &ipc::Int<'a>) {
        self.scalar(&int._tab, ipc::Int::VT_BITWIDTH, 4, "bit width");
        self.scalar(&int._tab, ipc::Int::VT_IS_SIGNED, 1, "signed");
    }

    fn type_of(&mut self, field: &ipc::Field<'a>) {
        if let Some(int) = field.type_as_int() {
            self.int(&int);
        }
        if let Some(float) = field.type_as_floating_point() {
            self.scalar(&float._tab, ipc::FloatingPoint::VT_PRECISION, 2, "precision of a float");
        }
        if let Some(decimal) = field.type_as_decimal() {
            self.scalar(&decimal._tab, ipc::Decimal::VT_PRECISION, 4, "precision");
            self.scalar(&decimal._tab, ipc::Decimal::VT_SCALE, 4, "scale");
            self.scalar(&decimal._tab, ipc::Decimal::VT_BITWIDTH, 4, "bit width of a decimal");
        }
        if let Some(date) = field.type_as_date() {
            self.scalar(&date._tab, ipc::Date::VT_UNIT, 2, "unit of a date");
        }
        if let Some(time) = field.type_as_time() {
            self.scalar(&time._tab, ipc::Time::VT_UNIT, 2, "unit of a time");
            self.scalar(&time._tab, ipc::Time::VT_BITWIDTH, 4, "bit width of a time");
        }
        if let Some(timestamp) = field.type_as_timestamp() {
            self.scalar(&timestamp._tab, ipc::Timestamp::VT_UNIT, 2, "unit of a timestamp");
        }
        if let Some(duration) = field.type_as_duration() {
            self.scalar(&duration._tab, ipc::Duration::VT_UNIT, 2, "unit of a duration");
        }
        if let Some(interval) = field.type_as_interval() {
            self.scalar(&interval._tab, ipc::Interval::VT_UNIT, 2, "unit of an interval");
        }
        if let Some(binary) = field.type_as_fixed_size_binary() {
            self.scalar(&binary._tab, ipc::FixedSizeBinary::VT_BYTEWIDTH, 4, "byte width");
        }
        if let Some(list) = field.type_as_fixed_size_list() {
            self.scalar(&list._tab, ipc::FixedSizeList::VT_LISTSIZE, 4, "list size");
        }
        if let Some(map) = field.type_as_map() {
            self.scalar(&map._tab, ipc::Map::VT_KEYSSORTED, 1, "keys sorted");
        }
        if let Some(union) = field.type_as_union() {
            self.scalar(&union._tab, ipc::Union::VT_MODE, 2, "union mode");
            if let Some(ids) = union.typeIds() {
                self.length(&ids, "number of type ids");
                for index in 0..ids.len() {
                    self.at(self.place(ids.bytes()) + 4 * index, 4, "type id");
                }
            }
        }
    }
}
