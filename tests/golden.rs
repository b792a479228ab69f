//! The wire format, pinned: the files in `testdata/golden` are what is written today, byte
//! for byte, hold what they should, and are laid out as `docs/FORMAT.md` says.

mod common;
#[path = "golden/made.rs"]
mod made;

use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::{Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_frames::{Column, DataFrame, Decoder, Frames, OpaqueColumn, StreamSource, from_buffers};
use common::assert_same;
use made::Golden;

const ALIGNMENT: usize = 64;

/// The golden files that this build can read.
fn all() -> impl Iterator<Item = Golden> {
    made::all().into_iter().filter(|golden| match golden.feature() {
        Some("lz4") => cfg!(feature = "lz4"),
        Some(_) => cfg!(feature = "zstd"),
        None => true,
    })
}

fn committed(name: &str, ending: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden").join(format!("{name}.{ending}"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn files_are_what_is_written_today() {
    for golden in all() {
        let name = golden.name;
        assert!(golden.stream().unwrap() == committed(name, "arrows"), "{name}.arrows: `cargo xtask golden`");
        if let Some(file) = golden.file().unwrap() {
            assert!(file == committed(name, "arrow"), "{name}.arrow: `cargo xtask golden`");
        }
    }
}

#[test]
fn streams_hold_their_dataframes() {
    for golden in all() {
        let bytes = committed(golden.name, "arrows");
        let frames = Frames::from_stream(bytes.clone()).unwrap();
        assert_holds(&golden, from_buffers(frames).unwrap());
        let mut source = StreamSource::new(bytes.as_slice());
        assert_holds(&golden, from_buffers(source.read_all().unwrap()).unwrap());
        assert!(source.is_finished());
    }
}

#[test]
fn files_hold_their_dataframes() {
    for golden in all().filter(|golden| golden.file().unwrap().is_some()) {
        let frames = Frames::from_file(committed(golden.name, "arrow")).unwrap();
        let df = from_buffers(frames).unwrap();
        // A file has no message for its schema. What that said is the footer's, which the
        // frames hand on as the schema message's.
        assert_holds(&golden, df);
    }
}

#[test]
fn arrow_reads_streams_and_files() {
    for golden in all() {
        let name = golden.name;
        let stream = committed(name, "arrows");
        let batches = StreamReader::try_new(stream.as_slice(), None).unwrap();
        assert_peer_reads(&golden, &batches.schema(), batches.collect(), "stream");
        if golden.file().unwrap().is_some() {
            let file = std::io::Cursor::new(committed(name, "arrow"));
            let batches = FileReader::try_new(file, None).unwrap();
            assert_peer_reads(&golden, &batches.schema(), batches.collect(), "file");
        }
    }
}

#[test]
fn streams_are_laid_out_in_64_byte_steps() {
    for golden in all() {
        let stream = committed(golden.name, "arrows");
        assert_laid_out(&stream, golden.name);
    }
}

#[test]
fn files_hold_a_stream_from_byte_8() {
    for golden in all().filter(|golden| golden.file().unwrap().is_some()) {
        let name = golden.name;
        let file = committed(name, "arrow");
        assert_eq!(&file[..8], b"ARROW1\0\0", "{name}");
        let df = from_buffers(Frames::from_stream(file[8..].to_vec()).unwrap()).unwrap();
        assert_holds(&golden, df);
        let blocks = assert_footer(&file, name);
        for (offset, metadata, body) in blocks {
            let start = offset + metadata;
            assert!(start % ALIGNMENT == 0 && body % ALIGNMENT == 0, "{name}: a body at {start} of {body}");
            let (message, end, _) = message_at(&file, offset).unwrap();
            assert_eq!((end, message.bodyLength()), (start, body as i64), "{name}");
        }
    }
}

#[test]
fn opaque_note_names_every_frame_in_order() {
    let golden = all().find(|golden| golden.name == "opaque").unwrap();
    let stream = committed("opaque", "arrows");
    let (_, batch) = schema_and_batch(&stream);
    let pairs: Vec<_> = batch.custom_metadata().unwrap().iter().collect();
    assert_eq!(pairs.len(), 1);
    assert_eq!(pairs[0].key(), Some("arrow_frames"));
    // The body: id (8 bytes), name (a bitmap, offsets, 1 byte), then what lies behind the
    // declared buffers: 6 + 0 + 11 bytes of column 1, 5 bytes of column 3.
    let declared = 4 * 64;
    let note = format!(
        concat!(
            r#"{{"version":1,"body_length":{},"opaque":[{{"column":1,"frames":[[{},6],[{},0],[{},11]]}},"#,
            r#"{{"column":3,"frames":[[{},5]]}}]}}"#
        ),
        declared + 3 * 64,
        declared,
        declared + 64,
        declared + 64,
        declared + 128,
    );
    assert_eq!(pairs[0].value(), Some(note.as_str()));
    assert_eq!(batch.bodyLength(), (declared + 3 * 64) as i64);

    let frames = golden.encoder().encode(&golden.df).unwrap();
    let payload: Vec<usize> = frames.buffers().iter().rev().take(3).map(Buffer::len).collect();
    assert_eq!(payload, [5, 11, 6]);
}

#[cfg(feature = "zstd")]
#[test]
fn opaque_note_names_the_codec() {
    let stream = committed("opaque_zstd", "arrows");
    let (_, batch) = schema_and_batch(&stream);
    let note = batch.custom_metadata().unwrap().get(0).value().unwrap();
    let start = format!(r#"{{"version":1,"body_length":{},"codec":"zstd","opaque":["#, batch.bodyLength());
    assert!(note.starts_with(&start), "{note}");
}

#[test]
fn files_for_pandas_hold_what_was_pickled() {
    for (name, source) in made::for_pandas() {
        let pickled = source.batches().len() * if name == "pandas" { 7 } else { 2 };
        if !all().any(|golden| golden.name == name) {
            continue;
        }
        for (ending, of_bytes) in
            [("arrows", Frames::from_stream as fn(Buffer) -> _), ("arrow", Frames::from_file)]
        {
            let mut decoder = Decoder::new();
            let df = decoder.decode(of_bytes(committed(name, ending).into()).unwrap()).unwrap();
            assert_eq!(opaque_columns(&df).len(), pickled, "{name}.{ending}");
            let resolved = decoder.resolve(df).unwrap();
            match name {
                "pandas_batches" => assert_unified(&source, &resolved),
                _ => assert_same(&source, &resolved, &|| format!("{name}.{ending}")),
            }
        }
    }
}

/// The same values, of categories that all batches share.
fn assert_unified(source: &DataFrame, resolved: &DataFrame) {
    let batches = resolved.clone().into_record_batches().unwrap();
    let categories = batches[0].column(0).as_any_dictionary().values();
    assert_eq!(categories.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["lo", "hi", "mid"]);
    for (batch, sent) in batches.iter().zip(source.clone().into_record_batches().unwrap()) {
        assert_eq!(batch.column(0).as_any_dictionary().values(), categories);
        for (column, sent) in batch.columns().iter().zip(sent.columns()) {
            let text = |array| arrow::compute::cast(array, &DataType::Utf8).unwrap();
            assert_eq!(&text(column), &text(sent));
        }
    }
}

#[test]
fn opaque_columns_are_null_to_others() {
    let stream = committed("opaque", "arrows");
    let (schema, batch) = schema_and_batch(&stream);
    let fields = schema.header_as_schema().unwrap().fields().unwrap();
    assert_eq!(fields.get(1).type_type(), arrow::ipc::Type::Null);
    let keys: Vec<_> = fields.get(1).custom_metadata().unwrap().iter().map(|pair| pair.key()).collect();
    assert_eq!(keys, [Some("arrow_frames")], "no extension name");
    // The nodes and buffers are those of the declared columns only.
    let batch = batch.header_as_record_batch().unwrap();
    assert_eq!((batch.nodes().unwrap().len(), batch.buffers().unwrap().len()), (4, 2 + 3));
    let read: Result<Vec<_>, ArrowError> = StreamReader::try_new(stream.as_slice(), None).unwrap().collect();
    assert_eq!(read.unwrap()[0].column(1).data_type(), &DataType::Null);
}

/// What comes back must be what the golden file was made from.
#[track_caller]
fn assert_holds(golden: &Golden, df: DataFrame) {
    let name = || golden.name.to_owned();
    if opaque_columns(&golden.df).is_empty() {
        return assert_same(&golden.df, &df, &name);
    }
    let (expected, found) = (opaque_columns(&golden.df), opaque_columns(&df));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.into_iter().zip(found) {
        assert_eq!(expected.type_name(), found.type_name());
        assert_eq!(expected.num_rows(), found.num_rows());
        assert_eq!(expected.buffers(), found.buffers());
    }
    assert_same(&native_columns(&golden.df), &native_columns(&df), &name);
}

fn opaque_columns(df: &DataFrame) -> Vec<&OpaqueColumn> {
    let columns = df.batches().iter().flat_map(|batch| batch.columns());
    columns
        .filter_map(|column| if let Column::Opaque(opaque) = column { Some(opaque) } else { None })
        .collect()
}

fn native_columns(df: &DataFrame) -> DataFrame {
    let is_native = |index: &usize| !df.schema().field(*index).metadata().contains_key("arrow_frames");
    df.project(&(0..df.num_columns()).filter(is_native).collect::<Vec<_>>()).unwrap()
}

#[track_caller]
fn assert_peer_reads(
    golden: &Golden,
    schema: &arrow::datatypes::Schema,
    batches: Result<Vec<RecordBatch>, ArrowError>,
    form: &str,
) {
    let (name, batches) = (golden.name, batches.unwrap());
    assert_eq!(schema, golden.df.schema().as_ref(), "{name} as a {form}");
    assert_eq!(batches.len(), golden.df.batches().len(), "{name} as a {form}");
    for (expected, found) in golden.df.batches().iter().zip(&batches) {
        assert_eq!(expected.num_rows(), found.num_rows(), "{name} as a {form}");
        for (expected, found) in expected.columns().iter().zip(found.columns()) {
            match expected {
                Column::Native(expected) => assert_eq!(expected, found, "{name} as a {form}"),
                _ => assert_eq!(found.logical_null_count(), found.len(), "{name} as a {form}"),
            }
        }
    }
}

/// Walks a stream: prefixes, versions, padding, and the places of all buffers.
fn assert_laid_out(stream: &[u8], name: &str) {
    let mut position = 0;
    let mut dictionaries_over = false;
    while let Some((message, end, zeros)) = message_at(stream, position) {
        assert_eq!((end - position) % ALIGNMENT, 0, "{name}: a message of {} bytes", end - position);
        assert!(zeros.iter().all(|byte| *byte == 0), "{name}: padding of the message at {position}");
        assert_eq!(message.version(), MetadataVersion::V5, "{name}");
        let body = usize::try_from(message.bodyLength()).unwrap();
        assert_eq!(body % ALIGNMENT, 0, "{name}: a body of {body} bytes");
        let batch = match message.header_type() {
            MessageHeader::Schema => {
                assert_eq!((position, body), (0, 0), "{name}");
                None
            }
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().unwrap().data(),
            _ => {
                dictionaries_over = true;
                message.header_as_record_batch()
            }
        };
        if let Some(batch) = batch {
            assert_body(&stream[end..end + body], &message, &batch, name);
        }
        position = end + body;
    }
    assert!(dictionaries_over || name == "no_batches", "{name} has batches");
    assert_eq!(&stream[position..], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "{name}: the end-of-stream marker");
}

/// Buffers, then payload, lie at consecutive multiples of 64 with zeros between.
fn assert_body(body: &[u8], message: &Message<'_>, batch: &arrow::ipc::RecordBatch<'_>, name: &str) {
    let mut spans: Vec<(usize, usize)> = batch.buffers().into_iter().flatten().map(span).collect();
    for pair in message.custom_metadata().into_iter().flatten().filter(|p| p.key() == Some("arrow_frames")) {
        let note: serde_json::Value = serde_json::from_str(pair.value().unwrap()).unwrap();
        let columns = note["opaque"].as_array().into_iter().flatten();
        for frame in columns.flat_map(|column| column["frames"].as_array().unwrap()) {
            spans.push((frame[0].as_u64().unwrap() as usize, frame[1].as_u64().unwrap() as usize));
        }
    }
    let mut end = 0usize;
    for (offset, length) in spans {
        assert_eq!(offset, end, "{name}");
        end = (offset + length).next_multiple_of(ALIGNMENT);
        assert!(body[offset + length..end].iter().all(|byte| *byte == 0), "{name}: padding of a buffer");
    }
    assert_eq!(end, body.len(), "{name}");
}

fn span(buffer: &arrow::ipc::Buffer) -> (usize, usize) {
    (buffer.offset() as usize, buffer.length() as usize)
}

/// The message at a position, where it ends, and what lies behind its flatbuffer.
fn message_at(bytes: &[u8], position: usize) -> Option<(Message<'_>, usize, &[u8])> {
    let number = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(number(position), -1, "a continuation marker at {position}");
    let length = number(position + 4) as usize;
    if length == 0 {
        return None;
    }
    let (start, end) = (position + 8, position + 8 + length);
    let message = root_as_message(&bytes[start..end]).unwrap();
    // A flatbuffer does not say how long it is; its padding is less than one step.
    let padding = bytes[start..end].iter().rev().take_while(|byte| **byte == 0).count().min(ALIGNMENT - 1);
    Some((message, end, &bytes[end - padding..end]))
}

fn schema_and_batch(stream: &[u8]) -> (Message<'_>, Message<'_>) {
    let (schema, end, _) = message_at(stream, 0).unwrap();
    (schema, message_at(stream, end).unwrap().0)
}

/// Checks a file's end and returns its blocks: offset, length of the metadata and of the body.
fn assert_footer(file: &[u8], name: &str) -> Vec<(usize, usize, usize)> {
    let tail = file.len() - 10;
    assert_eq!(&file[tail + 4..], b"ARROW1", "{name}");
    let length = i32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let footer = root_as_footer(&file[tail - length..tail]).unwrap();
    assert_eq!(footer.version(), MetadataVersion::V5, "{name}");
    let end = tail - length;
    assert_eq!(&file[end - 8..end], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "{name}: the end-of-stream marker");
    let blocks =
        footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten());
    let number = |number: i64| usize::try_from(number).unwrap();
    blocks.map(|b| (number(b.offset()), b.metaDataLength() as usize, number(b.bodyLength()))).collect()
}
