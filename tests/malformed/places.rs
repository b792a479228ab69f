//! Where buffers lie in a body: none overlaps another, whatever reads the message; any order is
//! as good as another; and what this crate wrote lies where it put it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::*;
use arrow::datatypes::*;

use arrow_frames::{
    DataFrame, Decoder, Encoder, Error, ErrorKind, Frames, Layout, StreamReceiver, StreamSource, Target,
    from_buffers, to_buffers,
};

use crate::common::{Nulls, assert_same, cases, file_bytes, make};
use crate::raw::{self, rows};
use crate::sites::{self, Site};
use crate::touch::{Form, decode};

/// The bytes of a stream.
fn bytes_of(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().flatten().copied().collect()
}

/// The declared buffers of each message: where the metadata has their offsets and their lengths.
fn declared(messages: &[sites::Sites]) -> Vec<Vec<(Site, Site)>> {
    let pairs = |message: &sites::Sites| {
        let of = |what: &'static str| message.sites.iter().filter(move |site| site.what == what).copied();
        of("offset of a buffer").zip(of("length of a buffer")).collect()
    };
    messages.iter().map(pairs).collect()
}

/// What every way to read a stream says of it, each by its name.
fn read_in_every_way(bytes: &[u8]) -> Vec<(String, Result<(), Error>)> {
    let mut results = Vec::new();
    let mut add = |name: &str, result: Result<(), Error>| results.push((name.to_owned(), result));
    add("taken apart", Frames::from_stream(bytes.to_vec()).map(drop));
    add("in one pass", Decoder::new().decode_stream(bytes.to_vec()).map(drop));
    let nothing = Decoder::new().with_projection([]).decode_stream(bytes.to_vec());
    add("no column of it", nothing.map(drop));
    add("from a reader", StreamSource::new(bytes).read_all().map(drop));
    // Byte by byte is slow.
    let steps: &[usize] = if bytes.len() < 16 << 10 { &[1, 7, 1 << 20] } else { &[1 << 20] };
    for &step in steps {
        let mut receiver = StreamReceiver::new();
        add(&format!("received by {step}"), receive(&mut receiver, bytes, step));
    }
    add("its layout", Layout::of_stream(bytes).error.map_or(Ok(()), Err));
    results
}

/// Gives a receiver so many bytes at once.
fn receive(receiver: &mut StreamReceiver, mut bytes: &[u8], step: usize) -> Result<(), Error> {
    while !receiver.is_finished() {
        if receiver.next()?.is_none() && !receiver.is_finished() {
            let space = receiver.space()?;
            let count = space.len().min(step).min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if count == 0 { receiver.end()? } else { receiver.filled(count) }
        }
    }
    Ok(())
}

#[track_caller]
fn assert_overlap(what: &str, result: Result<(), Error>) -> (usize, usize) {
    match result.map_err(Error::into_kind) {
        Err(ErrorKind::BufferOverlap {
            buffer, other, offset, length, other_offset, other_length, ..
        }) => {
            assert!(offset < other_offset + other_length && other_offset < offset + length, "{what}");
            assert!(other < buffer, "{what}");
            (other, buffer)
        }
        Err(kind) => panic!("{what}: {kind}"),
        Ok(()) => panic!("{what}: accepted"),
    }
}

/// The places of a buffer that would make it overlap another one: all of it, half of it, and by
/// a byte on either side.
fn overlaps((offset, length): (i64, i64), other_length: i64) -> [i64; 4] {
    [offset, offset + length / 2, offset + length - 1, offset - other_length + 1]
}

/// Refuses every overlap of two buffers of these frames, in each way to read them.
fn refuse_overlaps(name: &str, frames: &Frames) -> usize {
    let (stream, header) = (bytes_of(frames), frames.header().to_vec());
    let file = file_bytes(frames);
    let in_stream = sites::of_stream(&stream, 0).messages;
    let bodies: Vec<i64> = in_stream.iter().map(|m| (m.message.end - m.metadata.end) as i64).collect();
    let forms = [
        declared(&in_stream),
        declared(&sites::of_header(&header).messages),
        declared(&sites::of_stream(&file, 8).messages),
    ];
    let mut count = 0;
    for (message, buffers) in forms[0].iter().enumerate() {
        let place = |index: usize| (buffers[index].0.get(&stream), buffers[index].1.get(&stream));
        let used: Vec<usize> = (0..buffers.len()).filter(|&index| place(index).1 > 0).collect();
        for &moved in &used {
            for &other in used.iter().filter(|&&other| other != moved) {
                let length = place(moved).1;
                for offset in overlaps(place(other), length) {
                    if offset < 0 || offset + length > bodies[message] {
                        continue;
                    }
                    let what =
                        format!("{name}: buffer {moved} of message {message} over {other}, at {offset}");
                    let with = |bytes: &[u8], form: usize| {
                        let mut bytes = bytes.to_vec();
                        forms[form][message][moved].0.set(&mut bytes, offset);
                        bytes
                    };
                    for (way, result) in read_in_every_way(&with(&stream, 0)) {
                        // What lies there now may be wrong before it is seen to lie over another.
                        if way == "in one pass" {
                            result.unwrap_err();
                        } else {
                            assert_overlap(&format!("{what}, {way}"), result);
                        }
                    }
                    let apart = Frames::new(with(&header, 1), frames.buffers().to_vec());
                    let pair = assert_overlap(&what, Decoder::new().decode(apart.clone()).map(drop));
                    assert!(pair.0 == moved || pair.1 == moved || pair.1 > moved.min(other), "{what}");
                    assert_overlap(&what, apart.segments().map(drop));
                    assert_overlap(&what, apart.file_form().map(drop));
                    assert_overlap(&what, Layout::of_frames(&apart).error.map_or(Ok(()), Err));
                    let packed: Vec<u8> = apart.packed().segments().flatten().copied().collect();
                    assert_overlap(&what, Frames::from_packed(packed).map(drop));
                    let file = with(&file, 2);
                    assert_overlap(&what, Frames::from_file(file.clone()).map(drop));
                    assert_overlap(&what, Layout::of_file(&file).error.map_or(Ok(()), Err));
                    count += 1;
                }
            }
        }
    }
    count
}

#[test]
fn buffers_of_every_type_that_overlap() {
    let mut count = 0;
    for case in cases() {
        let (field, array) = make(&case.field, 40, Nulls::Some);
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, true).into(), field]);
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..40).map(|n| (n % 3 > 0).then_some(n))));
        let batch = RecordBatch::try_new(schema.into(), vec![numbers, array]).unwrap();
        count += refuse_overlaps(&case.name, &to_buffers(&batch.into(), Target::Arrow).unwrap());
    }
    assert!(count > 5_000, "{count}");
}

#[cfg(feature = "zstd")]
#[test]
fn compressed_buffers_that_overlap() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..40).map(|n| (n % 3 > 0).then_some(n))));
    let words: ArrayRef = Arc::new(StringArray::from_iter((0..40).map(|n| Some(n.to_string()))));
    let batch = RecordBatch::try_from_iter([("a", numbers), ("b", words)]).unwrap();
    let mut encoder = Encoder::new(Target::Arrow).with_compression(arrow_frames::Compression::Zstd(1));
    assert!(refuse_overlaps("zstd", &encoder.encode(&batch.into()).unwrap()) > 20);
}

#[test]
fn buffers_of_large_bodies_that_overlap() {
    // A body of more than 64 KiB is planned before it arrives.
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let words: ArrayRef = Arc::new(LargeStringArray::from_iter_values((0..20_000).map(|n| n.to_string())));
    let batch = RecordBatch::try_from_iter([("a", numbers), ("b", words)]).unwrap();
    let frames = to_buffers(&batch.into(), Target::Arrow).unwrap();
    let stream = bytes_of(&frames);
    let buffers = declared(&sites::of_stream(&stream, 0).messages).remove(1);
    // The numbers are the offsets of the words.
    let mut bytes = stream.clone();
    buffers[1].0.set(&mut bytes, buffers[3].0.get(&stream));
    for (way, result) in read_in_every_way(&bytes) {
        assert_overlap(&way, result);
    }
    // The name of the column is known where the schema is.
    let error = Decoder::new().decode_stream(bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "buffer 3 (column \"b\") at 160000 of length 160008 overlaps buffer 1 at 160000 of length 160000"
    );
}

#[test]
fn the_first_and_the_last_of_many_buffers_overlap() {
    // Descending buffers are sorted once, not once for each.
    let columns = 20_000i64;
    let fields: Vec<Field> = (0..columns).map(|n| Field::new(n.to_string(), DataType::Int8, true)).collect();
    let schema = raw::schema(fields);
    for overlap in [false, true] {
        let mut batch = rows(1);
        batch.body = vec![7; columns as usize * 8];
        for column in 0..columns {
            batch = batch.array(1).buffer((columns - 1 - column) * 8, 1);
        }
        if overlap {
            batch = {
                let mut batch = batch;
                batch.buffers.last_mut().unwrap().0 = (columns - 1) * 8;
                batch
            };
        }
        let bytes = raw::stream(&[schema.clone(), batch.batch()]);
        let started = Instant::now();
        let results = read_in_every_way(&bytes);
        for (way, result) in results {
            match overlap {
                true => assert_eq!(assert_overlap(&way, result), (1, 2 * columns as usize - 1)),
                false => result.unwrap(),
            }
        }
        assert!(started.elapsed() < Duration::from_secs(20));
        if overlap {
            let error = Decoder::new().decode_stream(bytes).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::BufferOverlap { column, .. } if column == "19999"));
        }
    }
}

/// The stream with the buffers of each body in another order, each at the next multiple of 8.
fn permuted(stream: &[u8], order: impl Fn(usize) -> Vec<usize>) -> Vec<u8> {
    let found = sites::of_stream(stream, 0);
    let mut out = Vec::new();
    for (message, buffers) in found.messages.iter().zip(declared(&found.messages)) {
        let mut metadata = stream[message.message.start..message.metadata.end].to_vec();
        let shift = message.message.start;
        let used: Vec<_> = buffers.iter().filter(|(_, length)| length.get(stream) > 0).collect();
        let mut body = Vec::new();
        for index in order(used.len()) {
            let (offset, length) = used[index];
            let from = message.metadata.end + offset.get(stream) as usize;
            let there = Site { position: offset.position - shift, ..*offset };
            there.set(&mut metadata, body.len() as i64);
            body.extend_from_slice(&stream[from..from + length.get(stream) as usize]);
            body.resize(body.len().next_multiple_of(8), 0);
        }
        body.resize(message.message.end - message.metadata.end, 0);
        out.extend_from_slice(&metadata);
        out.extend_from_slice(&body);
    }
    out.extend_from_slice(&raw::END);
    out
}

#[test]
fn buffers_in_any_order_are_read() {
    let reversed = |count: usize| (0..count).rev().collect::<Vec<_>>();
    let interleaved = |count: usize| (0..count).step_by(2).chain((1..count).step_by(2)).collect::<Vec<_>>();
    for case in cases() {
        let (field, array) = make(&case.field, 40, Nulls::Some);
        let schema = Schema::new(vec![field.clone(), field]);
        let batch = RecordBatch::try_new(schema.into(), vec![array.clone(), array]).unwrap();
        let expected = DataFrame::from(batch);
        let stream = bytes_of(&to_buffers(&expected, Target::Arrow).unwrap());
        for bytes in [permuted(&stream, reversed), permuted(&stream, interleaved)] {
            assert_same(&expected, &decode(&bytes, Form::Stream).unwrap(), &|| case.name.clone());
            for (way, result) in read_in_every_way(&bytes) {
                result.unwrap_or_else(|error| panic!("{}, {way}: {error}", case.name));
            }
            let apart = Frames::from_stream(bytes).unwrap();
            assert_same(&expected, &from_buffers(apart).unwrap(), &|| case.name.clone());
        }
    }
}

#[test]
fn empty_buffers_overlap_nothing() {
    for offset in [0, 1, 7, 8, 1 << 40, -1] {
        let batch = rows(2).node(2, 0).buffer(offset, 0).bytes(&[1, 2]);
        let schema =
            raw::schema(vec![Field::new("a", DataType::Int8, true), Field::new("b", DataType::Int8, true)]);
        let batch = batch.node(2, 0).buffer(offset, 0).bytes(&[3, 4]);
        let bytes = raw::stream(&[schema, batch.batch()]);
        assert_eq!(decode(&bytes, Form::Stream).unwrap().num_rows(), 2);
    }
}

// ---- what this crate wrote

/// A message with a note: its frames may be changed by who receives them.
fn noted() -> Frames {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("bc")]));
    let batch = RecordBatch::try_from_iter([("a", numbers), ("b", words)]).unwrap();
    Encoder::new(Target::Arrow).with_writable(true).encode(&batch.into()).unwrap()
}

#[test]
fn a_noted_buffer_that_moved() {
    let frames = noted();
    let (stream, header, file) = (bytes_of(&frames), frames.header().to_vec(), file_bytes(&frames));
    decode(&stream, Form::Stream).unwrap();
    let forms = [
        declared(&sites::of_stream(&stream, 0).messages).remove(1),
        declared(&sites::of_header(&header).messages).remove(1),
        declared(&sites::of_stream(&file, 8).messages).remove(1),
    ];
    let body = {
        let found = sites::of_stream(&stream, 0);
        found.messages[1].message.end - found.messages[1].metadata.end
    };
    let mut count = 0;
    for (index, (offset, length)) in forms[0].iter().enumerate() {
        let (expected, length) = (offset.get(&stream), length.get(&stream));
        for by in [-64, -8, -1, 1, 8, 16, 64] {
            let moved = expected + by;
            if length == 0 || moved < 0 || moved + length > body as i64 {
                continue;
            }
            let with = |bytes: &[u8], form: usize| {
                let mut bytes = bytes.to_vec();
                forms[form][index].0.set(&mut bytes, moved);
                bytes
            };
            let assert_moved = |what: &str, result: Result<(), Error>| match result.map_err(Error::into_kind)
            {
                Err(ErrorKind::BufferMoved { buffer, offset, expected: place, .. }) => {
                    assert_eq!((buffer, offset as i64, place as i64), (index, moved, expected), "{what}");
                }
                other => panic!("{what}, buffer {index} by {by}: {other:?}"),
            };
            for (way, result) in read_in_every_way(&with(&stream, 0)) {
                assert_moved(&way, result);
            }
            let apart = Frames::new(with(&header, 1), frames.buffers().to_vec());
            assert_moved("apart", Decoder::new().decode(apart).map(drop));
            assert_moved("file", Frames::from_file(with(&file, 2)).map(drop));
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
    let mut bytes = stream.clone();
    forms[0][1].0.set(&mut bytes, 8);
    let error = Decoder::new().decode_stream(bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "buffer 1 (column \"a\") lies at 8; the note of its message says that arrow-frames wrote it, at 0"
    );
}

#[test]
fn a_note_of_another_body_says_nothing_of_buffers() {
    // A program that copies the metadata and writes buffers at multiples of 8.
    let note = r#"{"version":1,"body_length":128,"writable":[[0,4],[1,4]]}"#;
    let mut batch = rows(2);
    batch.alignment = (8, 0);
    let mut batch = batch.array(2).numbers(&[1i32, 2]).array(2).numbers(&[3i32, 4]);
    batch.metadata = vec![("arrow_frames", note.to_owned())];
    let schema =
        raw::schema(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)]);
    let df = decode(&raw::stream(&[schema, batch.batch()]), Form::Stream).unwrap();
    let batch = df.into_record_batch().unwrap();
    assert_eq!(batch.column(1).as_primitive::<Int32Type>().values(), &[3, 4]);
}

// ---- payload

const MARK: &str = r#"{"type_name":"object","vendor_name":"python"}"#;

/// A batch of a native column `a` and a column `c` that is opaque if it has its mark, and a note
/// of these payload frames. The body has this length.
fn with_payload(mark: Option<&str>, body_length: u64, frames: &str, body: usize) -> Vec<u8> {
    let field = Field::new("c", DataType::Null, true);
    let field = match mark {
        Some(mark) => field.with_metadata([("arrow_frames", mark)]),
        None => field,
    };
    let note =
        format!(r#"{{"version":1,"body_length":{body_length},"opaque":[{{"column":1,"frames":{frames}}}]}}"#);
    let mut batch = rows(2).array(2).numbers(&[1i64, 2]).node(2, 2);
    batch.body.resize(body, 1);
    batch.metadata = vec![("arrow_frames", note)];
    raw::stream(&[raw::schema(vec![Field::new("a", DataType::Int64, true), field]), batch.batch()])
}

#[test]
fn payload_over_declared_buffers() {
    decode(&with_payload(Some(MARK), 192, "[[64,5],[128,5]]", 192), Form::Stream).unwrap();
    // Over the numbers, by a byte of them, over each other, with a gap, in descending order.
    for frames in [
        "[[0,5],[64,100]]",
        "[[15,5],[64,100]]",
        "[[0,128]]",
        "[[64,65],[128,5]]",
        "[[64,128],[64,128]]",
        "[[128,5]]",
        "[[128,5],[64,5]]",
        "[[64,0],[128,5]]",
    ] {
        let error = decode(&with_payload(Some(MARK), 192, frames, 192), Form::Stream).unwrap_err();
        let is_refused = matches!(error.kind(), ErrorKind::PayloadLost { column } if column == "c");
        assert!(is_refused, "{frames}: {error}");
    }
}

#[test]
fn a_declared_buffer_over_payload() {
    let good = with_payload(Some(MARK), 192, "[[64,5],[128,5]]", 192);
    let buffers = declared(&sites::of_stream(&good, 0).messages).remove(1);
    for offset in [64, 120, 128, 60] {
        let mut bytes = good.clone();
        buffers[1].0.set(&mut bytes, offset);
        for (way, result) in read_in_every_way(&bytes) {
            let kind = result.unwrap_err().into_kind();
            assert!(matches!(kind, ErrorKind::BufferMoved { buffer: 1, expected: 0, .. }), "{way}: {kind}");
        }
    }
}

#[test]
fn a_mark_that_was_lost_and_a_note_that_was_kept() {
    // With the payload as it was, and with a body that somebody else wrote.
    let fits = with_payload(None, 192, "[[64,5],[128,5]]", 192);
    let rewritten = with_payload(None, 192, "[[64,5],[128,5]]", 16);
    for bytes in [fits, rewritten] {
        let error = decode(&bytes, Form::Stream).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::PayloadLost { column } if column == "c"), "{error}");
        // Who does not ask for the column misses nothing.
        let df = Decoder::new().with_projection([0]).decode_stream(bytes).unwrap();
        assert_eq!(df.into_record_batch().unwrap().column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
    }
    // Nor does who gets a table without the column.
    let mut batch = rows(2).array(2).numbers(&[1i64, 2]);
    let note = r#"{"version":1,"body_length":192,"opaque":[{"column":1,"frames":[[64,5],[128,5]]}]}"#;
    batch.metadata = vec![("arrow_frames", note.to_owned())];
    let bytes = raw::stream(&[raw::schema(vec![Field::new("a", DataType::Int64, true)]), batch.batch()]);
    decode(&bytes, Form::Stream).unwrap();
}

#[test]
fn an_object_that_was_lost() {
    let note = r#"{"version":1,"body_length":64,"opaque":[{"column":-1,"frames":[[0,5]]}]}"#;
    for body in [64, 0, 8] {
        let mut batch = rows(0);
        batch.body = vec![1; body];
        batch.metadata = vec![("arrow_frames", note.to_owned())];
        let df = Decoder::new().decode_stream(raw::stream(&[raw::schema(vec![]), batch.batch()]));
        match df {
            Ok(df) => assert!(body == 64 && df.object().is_some(), "{body}"),
            Err(error) => {
                assert!(
                    body != 64
                        && matches!(error.kind(), ErrorKind::PayloadLost { column } if column.is_empty())
                );
                assert!(error.to_string().starts_with("the payload of the object was lost"));
            }
        }
    }
}

#[cfg(feature = "lz4")]
#[test]
fn a_noted_buffer_that_moved_in_a_compressed_body() {
    // Stored as they are: a length of −1, then the data.
    let stored = |bytes: &[u8]| [&(-1i64).to_le_bytes(), bytes].concat();
    let note = r#"{"version":1,"body_length":128,"codec":"lz4","opaque":[{"column":1,"frames":[[64,13]]}]}"#;
    let stream = |offset: i64| {
        let field = Field::new("c", DataType::Null, true).with_metadata([("arrow_frames", MARK)]);
        let mut batch = rows(2).node(2, 0).buffer(0, 0).buffer(offset, 10).node(2, 2);
        batch.codec = Some(arrow::ipc::CompressionType::LZ4_FRAME);
        batch.body = vec![0; 128];
        let start = offset as usize;
        batch.body[start..start + 10].copy_from_slice(&stored(&[1, 2]));
        batch.body[64..77].copy_from_slice(&stored(&[1; 5]));
        batch.metadata = vec![("arrow_frames", note.to_owned())];
        raw::stream(&[raw::schema(vec![Field::new("a", DataType::Int8, true), field]), batch.batch()])
    };
    decode(&stream(0), Form::Stream).unwrap();
    let error = decode(&stream(8), Form::Stream).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::BufferMoved { buffer: 1, offset: 8, expected: 0, .. }),
        "{error}"
    );
}
