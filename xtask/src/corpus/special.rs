//! Seeds that reach what the golden files do not: old streams, streams laid out as others
//! do, dictionaries out of order.

use arrow::array::{Int8Array, RecordBatch, make_view};
use arrow::datatypes::{DataType, Field, Fields, UnionFields, UnionMode};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::ipc::{Block, CompressionType, MetadataVersion};
use arrow_frames::{Encoder, Frames, SparseIndex, SparseTensor, Target, Tensor, to_buffers};

use crate::golden::{made, object};
use raw::{Raw, rows};

#[allow(dead_code)] // The tests use more of it.
#[path = "../../../tests/malformed/raw.rs"]
mod raw;

/// Streams by name.
pub fn streams() -> Vec<(&'static str, Vec<u8>)> {
    let mut streams = vec![
        ("before_0_15", before_0_15()),
        ("v4_union", v4_union()),
        ("v4_run_ends", v4_run_ends()),
        ("descending", descending()),
        ("unaligned", unaligned()),
        ("late_dictionary", late_dictionary()),
        ("nested_delta", nested_delta()),
        ("delta_of_views", delta_of_views()),
        ("many_nulls", many_nulls()),
        ("stored", stored()),
        ("note", note()),
        ("cut", cut()),
    ];
    for golden in made::all() {
        let name = match golden.name {
            "primitives" => "others_primitives",
            "text" => "others_text",
            "nested" => "others_nested",
            _ => continue,
        };
        let batches = golden.df.into_record_batches().expect("native columns");
        streams.push((name, written_by_others(&batches)));
    }
    for (name, frames) in pickled() {
        let segments = frames.segments().expect("frames of our own");
        streams.push((name, segments.flatten().copied().collect()));
    }
    streams
}

/// Streams of tensors by name.
pub fn tensors() -> arrow_frames::Result<Vec<(&'static str, Vec<u8>)>> {
    let numbers = |data_type, shape: &[usize], strides: Option<&[isize]>| {
        let data = arrow::buffer::Buffer::from_vec((0..192u8).collect::<Vec<_>>());
        Tensor::try_new(data_type, shape.to_vec(), strides.map(<[isize]>::to_vec), data)
    };
    let coordinates = |strides: [isize; 2]| {
        let indices = arrow::buffer::Buffer::from_vec(vec![0u8, 1, 1, 0, 2, 1]);
        let indices = Tensor::try_new(DataType::UInt8, vec![3, 2], Some(strides.to_vec()), indices)?;
        let index = SparseIndex::Coo { indices };
        SparseTensor::try_new(vec![3, 3], index, Tensor::from(vec![1i16, 2, 3]))
    };
    let compressed =
        SparseIndex::Csc { indptr: Tensor::from(vec![0i64; 3]), indices: Tensor::from(vec![0i8; 0]) };
    let tree = SparseIndex::Csf {
        indptr: vec![
            Tensor::from(vec![0i16, 1, 3]),
            Tensor::from(vec![0i16, 1, 2, 4]),
            Tensor::from(vec![0i16, 1, 2, 3, 5]),
        ],
        indices: vec![
            Tensor::from(vec![0u16, 1]),
            Tensor::from(vec![2u16, 0, 1]),
            Tensor::from(vec![0u16, 1, 0, 1]),
            Tensor::from(vec![1u16, 2, 0, 0, 2]),
        ],
        axis_order: vec![3, 0, 2, 1],
    };
    let leaves =
        SparseIndex::Csf { indptr: vec![], indices: vec![Tensor::from(vec![1u32, 4])], axis_order: vec![0] };
    let made = [
        ("int8", numbers(DataType::Int8, &[3, 5], None)?.to_frames()?),
        ("float16", numbers(DataType::Float16, &[2, 3, 2], Some(&[2, 4, 12]))?.to_frames()?),
        ("decimal256", numbers(DataType::Decimal256(76, 2), &[2, 2], None)?.to_frames()?),
        ("decimal128", numbers(DataType::Decimal128(38, 2), &[2, 2], Some(&[16, 32]))?.to_frames()?),
        ("binary", numbers(DataType::FixedSizeBinary(3), &[4, 2], None)?.to_frames()?),
        ("five_axes", numbers(DataType::UInt16, &[1, 2, 1, 3, 2], None)?.to_frames()?),
        ("coordinates_by_axis", coordinates([1, 3])?.to_frames()?),
        ("coordinates_in_disorder", coordinates([2, 1])?.to_frames()?),
        (
            "no_columns",
            SparseTensor::try_new(vec![4, 2], compressed, Tensor::from(vec![0.5f64; 0]))?.to_frames()?,
        ),
        ("tree", SparseTensor::try_new(vec![3, 3, 2, 2], tree, Tensor::from(vec![1u8; 5]))?.to_frames()?),
        ("leaves", SparseTensor::try_new(vec![5], leaves, Tensor::from(vec![0.5f32; 2]))?.to_frames()?),
    ];
    made.into_iter()
        .map(|(name, frames)| Ok((name, frames.segments()?.flatten().copied().collect())))
        .collect()
}

/// Streams whose metadata has notes, by name; those of [`streams`] that have some are not among them.
pub fn notes() -> arrow_frames::Result<Vec<(String, Vec<u8>)>> {
    let bytes = |frames: &Frames| frames.segments().map(|segments| segments.flatten().copied().collect());
    let df = made::all_forms();
    let names: Vec<String> = df.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut streams = vec![("object".to_owned(), object::stream()?), ("python".to_owned(), python_note()?)];
    for (column, name) in names.into_iter().enumerate() {
        let column = df.project(&[column])?;
        let plain = to_buffers(&column, Target::Pandas)?;
        let mut encoder = Encoder::new(Target::Pandas).with_writable(true);
        streams.push((format!("form_{name}"), bytes(&plain)?));
        streams.push((format!("writable_{name}"), bytes(&encoder.encode(&column)?)?));
    }
    let messages = |note: &str, dictionary: &str| {
        let (mut values, mut batch) = (words(&["x", "yz"]), rows(2).array(2).numbers(&[1i8, 0]));
        values.metadata = vec![("arrow_frames", dictionary.to_owned())];
        batch.metadata = vec![("arrow_frames", note.to_owned()), ("other", "1".to_owned())];
        stream(keyed(DataType::Utf8), &[values.dictionary(0, false), batch.batch()])
    };
    let of_nothing = r#"{"version":1,"body_length":0}"#;
    let marks = r#"{"version":1,"body_length":72,"writable":[[0,4],[1,1]]}"#;
    streams.push(("dictionary".to_owned(), messages(of_nothing, marks)));
    streams.push(("other_version".to_owned(), messages(r#"{"version":2,"body_length":8}"#, "{}")));
    streams.push(("two_objects".to_owned(), two_objects()));
    Ok(streams)
}

/// Two opaque columns around a native one, one of them of no bytes.
fn two_objects() -> Vec<u8> {
    let mark = r#"{"type_name":"object","vendor_name":"python","pandas":{"name":"o"}}"#;
    let opaque = |name| Field::new(name, DataType::Null, true).with_metadata([("arrow_frames", mark)]);
    let mut batch = rows(2).node(2, 2).array(2).bytes(&[1, 2]).node(2, 2);
    batch.body.resize(256, 3);
    let note = r#"{"version":1,"body_length":256,"opaque":[{"column":2,"frames":[[64,5],[128,0]]},{"column":0,"frames":[[128,64],[192,1]]}]}"#;
    batch.metadata = vec![("arrow_frames", note.to_owned())];
    raw::stream(&[raw::schema(vec![opaque("o"), named(("c", DataType::Int8)), opaque("p")]), batch.batch()])
}

/// What the Python package says of a dataframe, which Rust carries.
fn python_note() -> arrow_frames::Result<Vec<u8>> {
    let note = r#"{"version":1,"kind":"pandas.DataFrame","arrays":["numpy"],"labels":{"text":"str","names":["n"],"name":null},"index":{"range":[0,2,1],"name":null}}"#;
    let pandas = r#"{"index_columns":[{"kind":"range","name":null,"start":0,"stop":2,"step":1}],"columns":[{"name":"n","field_name":"n","pandas_type":"int64","numpy_type":"int64","metadata":null}]}"#;
    let df =
        made::all_forms().project(&[0])?.with_schema_metadata([("arrow_frames", note), ("pandas", pandas)]);
    Ok(to_buffers(&df, Target::Pandas)?.segments()?.flatten().copied().collect())
}

/// Files by name.
pub fn files() -> Vec<(&'static str, Vec<u8>)> {
    let batches = |name| {
        let golden = made::all().into_iter().find(|golden| golden.name == name).expect("a golden file");
        golden.df.into_record_batches().expect("native columns")
    };
    let file = |batches: Vec<RecordBatch>| {
        let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5).expect("an alignment");
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).expect("a schema");
        batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
        writer.into_inner().expect("a file")
    };
    let mut files = vec![
        ("others_text", file(batches("text"))),
        ("others_nested", file(batches("nested"))),
        ("batch_before_dictionary", batch_before_dictionary()),
    ];
    for (name, frames) in pickled() {
        let form = frames.file_form().expect("it has no dictionary");
        let segments = form.segments().expect("frames of our own");
        files.push((name, segments.flatten().copied().collect()));
    }
    files
}

/// Columns of the golden file for pandas, which is large, one by one.
fn pickled() -> Vec<(&'static str, Frames)> {
    let df = made::all_forms();
    let frames = |(name, column): (_, usize)| {
        let column = df.project(&[column]).expect("its columns");
        (name, to_buffers(&column, Target::Pandas).expect("a form"))
    };
    [("pickled_category", 1), ("pickled_text", 3), ("pickled_zoned", 6)].map(frames).to_vec()
}

fn stream(data_type: DataType, messages: &[Vec<u8>]) -> Vec<u8> {
    raw::stream(&[&[raw::column(data_type)], messages].concat())
}

fn keyed(value: DataType) -> DataType {
    DataType::Dictionary(DataType::Int8.into(), value.into())
}

fn words(words: &[&str]) -> Raw {
    let count = words.len() as i64;
    let mut offsets = vec![0i32];
    offsets.extend(words.iter().scan(0, |end, word| {
        *end += word.len() as i32;
        Some(*end)
    }));
    rows(count).array(count).numbers(&offsets).bytes(words.concat().as_bytes())
}

fn keys(keys: &[i8]) -> Vec<u8> {
    let count = keys.len() as i64;
    rows(count).array(count).numbers(keys).batch()
}

/// No continuation marker, and an end of 4 bytes.
fn before_0_15() -> Vec<u8> {
    let messages = [raw::column(DataType::Int8), rows(2).array(2).bytes(&[7, 8]).batch()];
    let mut old: Vec<u8> = messages.iter().flat_map(|message| &message[4..]).copied().collect();
    old.extend_from_slice(&[0; 4]);
    old
}

/// In V4 unions have a validity bitmap.
fn v4_union() -> Vec<u8> {
    let fields = UnionFields::try_new([0, 3], [("a", DataType::Int8), ("b", DataType::Utf8)].map(named));
    let mut batch = rows(3).node(3, 0).bytes(&[0b111]).numbers(&[0i8, 3, 3]).numbers(&[0i32, 0, 1]);
    batch = batch.array(1).numbers(&[5i8]).array(2).numbers(&[0i32, 1, 2]).bytes(b"xy");
    batch.version = MetadataVersion::V4;
    stream(DataType::Union(fields.expect("two ids"), UnionMode::Dense), &[batch.batch()])
}

fn v4_run_ends() -> Vec<u8> {
    let ends = Field::new("run_ends", DataType::Int32, false);
    let values = Field::new("values", DataType::Int8, true);
    let mut batch = rows(4).node(4, 0).bytes(&[0b1111]).array(2).numbers(&[1i32, 4]).array(2).bytes(&[7, 8]);
    batch.version = MetadataVersion::V4;
    stream(DataType::RunEndEncoded(ends.into(), values.into()), &[batch.batch()])
}

/// The buffers of a body in another order, with a gap between them.
fn descending() -> Vec<u8> {
    let mut batch = rows(2).array(2).buffer(72, 12).buffer(0, 3);
    batch.body = b"abc".to_vec();
    batch.body.resize(72, 0);
    [0i32, 1, 3].iter().for_each(|offset| batch.body.extend_from_slice(&offset.to_le_bytes()));
    batch.body.resize(88, 0);
    stream(DataType::Utf8, &[batch.batch()])
}

/// Sixteen-byte values at an address that suits bytes only.
fn unaligned() -> Vec<u8> {
    let mut batch = rows(2);
    batch.alignment = (8, 1);
    let batch = batch.node(2, 1).bytes(&[0b10]).numbers(&[1i128, -2]);
    stream(DataType::Decimal128(38, 2), &[batch.batch()])
}

/// Behind a batch that has no need of it, replaced, and grown.
fn late_dictionary() -> Vec<u8> {
    let nulls = rows(2).node(2, 2).bytes(&[0]).numbers(&[3i8, -7]).batch();
    let messages = [
        nulls,
        words(&["x"]).dictionary(0, true),
        keys(&[0]),
        words(&["y", "z"]).dictionary(0, true),
        keys(&[2, 0]),
        words(&["other"]).dictionary(0, false),
        keys(&[0]),
    ];
    stream(keyed(DataType::Utf8), &messages)
}

/// A dictionary inside the values of another; both grow.
fn nested_delta() -> Vec<u8> {
    let value = DataType::Struct(Fields::from(vec![Field::new("d", keyed(DataType::Utf8), true)]));
    let data_type = DataType::Dictionary(DataType::Int16.into(), value.into());
    let outer = |inner: &[i8]| {
        let count = inner.len() as i64;
        rows(count).array(count).array(count).numbers(inner)
    };
    // Ids are given out depth first, from the inside.
    let (inner_id, outer_id) = (0, 1);
    let messages = [
        words(&["a", "b"]).dictionary(inner_id, false),
        outer(&[1, 0]).dictionary(outer_id, false),
        words(&["c"]).dictionary(inner_id, true),
        outer(&[2]).dictionary(outer_id, true),
        rows(3).array(3).numbers(&[0i16, 1, 2]).batch(),
    ];
    stream(data_type, &messages)
}

fn delta_of_views() -> Vec<u8> {
    let views = |texts: &[&str]| {
        let count = texts.len() as i64;
        let views: Vec<u8> =
            texts.iter().flat_map(|text| make_view(text.as_bytes(), 0, 0).to_le_bytes()).collect();
        rows(count).array(count).bytes(&views).bytes(texts.concat().as_bytes()).variadic(1)
    };
    let messages = [
        views(&["a text of some length"]).dictionary(0, false),
        keys(&[0]),
        views(&["short"]).dictionary(0, true),
        keys(&[1, 0]),
    ];
    stream(keyed(DataType::Utf8View), &messages)
}

/// Rows that take no bytes: a list view that shows all of them twice.
fn many_nulls() -> Vec<u8> {
    let batch = rows(2).array(2).numbers(&[0i32, 0]).numbers(&[1000i32, 1000]).node(1000, 0);
    stream(DataType::ListView(Field::new_list_field(DataType::Null, true).into()), &[batch.batch()])
}

/// A buffer of a compressed body that is stored as it is, behind a length of −1.
fn stored() -> Vec<u8> {
    let buffer = [&(-1i64).to_le_bytes()[..], &[1, 2, 3]].concat();
    let mut batch = rows(3).array(3).bytes(&buffer);
    batch.codec = Some(CompressionType::LZ4_FRAME);
    stream(DataType::Int8, &[batch.batch()])
}

/// An opaque column of two frames behind a native one.
fn note() -> Vec<u8> {
    let mark = r#"{"type_name":"object","vendor_name":"python"}"#;
    let opaque = Field::new("o", DataType::Null, true).with_metadata([("arrow_frames", mark)]);
    let mut batch = rows(2).array(2).bytes(&[1, 2]).node(2, 2);
    batch.body.resize(192, 3);
    let note = r#"{"version":1,"body_length":192,"opaque":[{"column":1,"frames":[[64,5],[128,64]]}]}"#;
    batch.metadata = vec![("arrow_frames", note.to_owned())];
    raw::stream(&[raw::schema(vec![named(("c", DataType::Int8)), opaque]), batch.batch()])
}

/// A stream that ends between two messages.
fn cut() -> Vec<u8> {
    [raw::column(DataType::Boolean), rows(3).array(3).bytes(&[0b101]).batch()].concat()
}

/// What arrow-rs writes: V4 is not its own, 8-byte padding and validity of all valid are.
fn written_by_others(batches: &[RecordBatch]) -> Vec<u8> {
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5).expect("an alignment");
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).expect("a schema");
    batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
    writer.into_inner().expect("a stream")
}

/// The blocks of a file find its messages in any order.
fn batch_before_dictionary() -> Vec<u8> {
    let fields = || vec![Field::new("c", keyed(DataType::Utf8), true)];
    let schema = raw::schema(fields());
    let values = words(&["x", "yz"]);
    let numbers = Int8Array::from(vec![1, 0, 1]);
    let (batch, dictionary) = (keys(numbers.values()), values.dictionary(0, false));
    let block = |offset: usize, message: &[u8], body: usize| {
        Block::new(offset as i64, (message.len() - body) as i32, body as i64)
    };
    let first = block(8 + schema.len(), &batch, numbers.len().next_multiple_of(8));
    let second = block(8 + schema.len() + batch.len(), &dictionary, values.body.len());
    let footer = raw::footer(Some(MetadataVersion::V5), Some(fields()), &[second], &[first]);
    raw::file(&schema, &[batch, dictionary].concat(), &footer)
}

fn named((name, data_type): (&str, DataType)) -> Field {
    Field::new(name, data_type, true)
}
