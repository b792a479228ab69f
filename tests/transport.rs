//! Streams and files as bytes: what is refused, and what an error leaves behind.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int8Array, NullArray, RecordBatch, StringArray};
use arrow::datatypes::Int8Type;
use arrow_frames::{
    Batch, Column, DataFrame, Decoder, Encoder, ErrorKind, Frames, Layout, Limits, Part, StreamSource,
    Target, from_buffers, to_buffers, write_segments,
};

fn frames(column: ArrayRef) -> Frames {
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    to_buffers(&DataFrame::from(batch), Target::Arrow).unwrap()
}

fn stream(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().collect::<Vec<_>>().concat()
}

/// Replaces the one place where some bytes stand.
fn patch(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<_> = bytes.windows(from.len()).enumerate().filter(|(_, b)| *b == from).collect();
    let [(place, _)] = places.as_slice() else { panic!("{} places", places.len()) };
    let place = *place;
    bytes[place..place + to.len()].copy_from_slice(to);
}

#[test]
fn a_file_whose_dictionary_is_replaced_is_refused() {
    // A dictionary that grows is a delta in the file; taken for a whole one, it would mean
    // other values for the batch before it.
    let column = |values: [&str; 2]| -> ArrayRef {
        Arc::new(values.into_iter().collect::<DictionaryArray<Int8Type>>())
    };
    let grown: ArrayRef = {
        let values = StringArray::from(vec!["a", "b"]);
        Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![1, 1]), Arc::new(values)))
    };
    let batches = [column(["a", "a"]), grown].map(|c| RecordBatch::try_from_iter([("c", c)]).unwrap());
    let df = DataFrame::try_from_batches(batches[0].schema(), batches.to_vec()).unwrap();
    let mut encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(true);
    let frames = encoder.encode(&df).unwrap();
    let file = frames.file_form().unwrap().segments().unwrap().collect::<Vec<_>>().concat();
    assert_eq!(from_buffers(Frames::from_file(file.clone()).unwrap()).unwrap().num_rows(), 4);

    // Every byte that makes the delta a replacement, or anything else: never other values.
    let mut refused = 0;
    for place in 0..file.len() {
        if file[place] == 1 {
            let mut file = file.clone();
            file[place] = 0;
            let is_refused = |kind: &ErrorKind| matches!(kind, ErrorKind::DictionaryChanged { id: 0, .. });
            let read = Frames::from_file(file.clone());
            refused += usize::from(read.is_err_and(|error| is_refused(error.kind())));
            let layout = Layout::of_file(&file);
            refused += usize::from(layout.error.is_some_and(|error| is_refused(error.kind())));
        }
    }
    assert_eq!(refused, 2, "once when it is read, once when it is laid out");
}

#[test]
fn a_body_of_nothing_is_not_written() {
    let (header, buffers) = frames(Arc::new(Int8Array::from(vec![7]))).into_parts();
    let mut header = header.to_vec();
    patch(&mut header[64..], &64i64.to_le_bytes(), &(1i64 << 40).to_le_bytes());
    let frames = Frames::new(header, buffers);
    let error = frames.segments().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BadNumber { part: Part::Body, .. }), "{error}");
    // To decode it costs nothing.
    assert_eq!(from_buffers(frames).unwrap().num_rows(), 1);
}

#[test]
fn rows_without_bytes_are_limited_whatever_is_projected() {
    let mut decoder = Decoder::new().with_projection([]);
    let many = frames(Arc::new(NullArray::new(1 << 33)));
    let error = decoder.decode(many).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: "max_rows_without_bytes", .. }), "{error}");
}

#[test]
fn what_the_caller_made_can_be_detached_without_limits() {
    let rows = 1usize << 33;
    let batch = RecordBatch::try_from_iter([("c", Arc::new(NullArray::new(rows)) as ArrayRef)]).unwrap();
    assert_eq!(DataFrame::from(batch).detach().unwrap().num_rows(), rows);
}

#[test]
fn empty_segments_are_written() {
    let mut out = Vec::new();
    assert_eq!(write_segments(&mut out, [&b""[..], b""].into_iter()).unwrap(), 0);
    assert_eq!(write_segments(&mut out, [&b""[..], b"ab", b""].into_iter()).unwrap(), 2);
    assert_eq!(out, b"ab");
}

#[test]
fn a_prefix_that_is_cut_says_what_it_needs() {
    for length in 1..8 {
        let bytes = &stream(&frames(Arc::new(Int8Array::from(vec![1]))))[..length];
        let by_slice = Frames::from_stream(bytes.to_vec()).unwrap_err();
        let by_reader = StreamSource::new(bytes).read_all().unwrap_err();
        assert_eq!(by_slice.to_string(), by_reader.to_string());
        assert!(matches!(by_slice.kind(), ErrorKind::Truncated { part: Part::Prefix, needed: 8, .. }));
    }
}

#[test]
fn a_stream_may_come_in_pieces_of_whole_messages() {
    let column =
        |values: Vec<i8>| RecordBatch::try_from_iter([("c", Arc::new(Int8Array::from(values)) as _)]);
    let batches = [column(vec![1, 2]).unwrap(), column(vec![]).unwrap(), column(vec![3]).unwrap()];
    let mut encoder = Encoder::new(Target::Arrow);
    let mut pieces = vec![stream(&encoder.start(&batches[0].schema()).unwrap())];
    pieces.extend(batches.iter().map(|batch| stream(&encoder.encode_batch(batch).unwrap())));
    pieces.push(stream(&encoder.finish().unwrap()));
    pieces.last_mut().unwrap().extend_from_slice(b"what follows is not ours");

    let mut decoder = Decoder::new();
    let mut decoded = Vec::new();
    for piece in &pieces {
        assert!(!decoder.is_finished());
        decoded.extend(decoder.decode_stream(piece.clone()).unwrap().into_record_batches().unwrap());
    }
    assert!(decoder.is_finished());
    assert_eq!(decoded, batches);

    // Cut at any byte it is an error, or is reported as unfinished; the error says where.
    let whole = stream(&to_buffers(&DataFrame::from(batches[0].clone()), Target::Arrow).unwrap());
    for length in 0..whole.len() {
        let mut decoder = Decoder::new();
        let cut = decoder.decode_stream(whole[..length].to_vec());
        let by_frames = Frames::from_stream(whole[..length].to_vec()).and_then(|f| Decoder::new().decode(f));
        match (cut, by_frames) {
            (Ok(_), Ok(_)) => assert!(!decoder.is_finished()),
            (Err(cut), Err(by_frames)) => assert_eq!(cut.to_string(), by_frames.to_string()),
            (cut, by_frames) => panic!("at {length}: {cut:?}, {by_frames:?}"),
        }
    }
}

#[test]
fn a_stream_as_long_as_allowed_is_received() {
    let one = stream(&frames(Arc::new(Int8Array::from(vec![1, 2, 3]))));
    let length = one.len() as u64;
    let two = [one.clone(), one.clone()].concat();
    let source = |bytes, max_stream_bytes| {
        StreamSource::new(bytes).with_limits(Limits { max_stream_bytes, ..Limits::default() })
    };
    // The limit is each stream's, not the source's.
    let mut source_of_two = source(two.as_slice(), length);
    for _ in 0..2 {
        assert_eq!(from_buffers(source_of_two.read_all().unwrap()).unwrap().num_rows(), 3);
        source_of_two.restart();
    }
    for allowed in 0..length {
        let mut source = source(one.as_slice(), allowed);
        let error = source.read_all().unwrap_err();
        match error.kind() {
            ErrorKind::Limit { limit: "max_stream_bytes", requested, allowed: told } => {
                assert_eq!(*told, allowed);
                assert!(allowed < *requested && *requested <= length, "{error}");
            }
            _ => panic!("{error}"),
        }
        // No more than a prefix was read that does not fit.
        assert!(source.position() <= allowed + 8, "{} of {allowed}", source.position());
    }
    // Where the input ends there, nothing more was asked for.
    let cut = &one[..one.len() - 8];
    let mut source = source(cut, cut.len() as u64);
    assert!(source.read_all().is_ok() && !source.is_finished());
}

#[test]
fn a_column_of_another_length_is_named() {
    let column = Column::from(Arc::new(Int8Array::from(vec![1, 2])) as ArrayRef);
    let error = Batch::try_new(vec![column], 3).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::RowCount { column: 0, expected: 3, found: 2, .. }), "{error}");
}
