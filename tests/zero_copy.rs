//! Zero copy is pointer identity: a frame is a buffer of an array, and a buffer of a decoded
//! array is a frame. What has to be copied is counted by reason, and refused on demand.

mod common;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray,
    ListViewArray, RecordBatch, StringArray, StringViewArray, UnionArray,
};
use arrow::datatypes::{DataType, Int8Type, IntervalUnit, Schema};
use arrow_buffer::{Buffer, OffsetBuffer};
#[cfg(any(feature = "lz4", feature = "zstd"))]
use arrow_frames::Compression;
use arrow_frames::{CopyReason, DataFrame, Decoder, Encoder, ErrorKind, Frames, Target, from_buffers};

use common::*;

/// Where a buffer lies.
type Place = (*const u8, usize);

/// The samples that need no copy: all types, nulls and nests.
fn for_each_unsliced(mut check: impl FnMut(&str, &DataFrame)) {
    let mut count = 0;
    for case in cases() {
        for nulls in Nulls::ALL {
            let (field, array) = make(&case.field, 100, nulls);
            for (nest, put_in) in NESTS {
                let (field, array) = put_in(&field, &array);
                if is_dictionary_of_dictionary(array.data_type()) {
                    continue;
                }
                check(&format!("{}, nulls: {nulls:?}, {nest}", case.name), &one_column(&field, &array));
                count += 1;
            }
        }
    }
    let dictionaries =
        cases().iter().filter(|case| matches!(case.field.data_type(), DataType::Dictionary(..))).count();
    assert_eq!(count, 3 * (5 * cases().len() - dictionaries), "samples have vanished");
    println!("{count} samples");
}

/// Promise 1, the sender: under a cap of 0, every frame is a whole buffer of the array.
#[test]
fn every_frame_is_a_buffer_of_the_array() {
    let mut encoder = Encoder::new(Target::Arrow).with_max_copied_bytes(0);
    let mut frames_seen = 0;
    for_each_unsliced(|name, df| {
        let frames = encoder.encode(df).unwrap_or_else(|error| panic!("{name}: {error}"));
        let buffers = places(df);
        for (number, frame) in frames.buffers().iter().enumerate() {
            assert!(buffers.contains(&place(frame)), "{name}: frame {number} is no buffer of the array");
        }
        assert_eq!(encoder.copies().total(), 0, "{name}");
        frames_seen += frames.buffers().len();
    });
    assert!(frames_seen > 5_000, "{frames_seen} frames are too few to prove anything");
}

/// Promise 1, the receiver: under a cap of 0, every buffer is a whole frame.
#[test]
fn every_buffer_is_a_frame() {
    let mut encoder = Encoder::new(Target::Arrow);
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    let mut buffers_seen = 0;
    for_each_unsliced(|name, df| {
        // Of memory of its own, so that no buffer of the sender's can be meant.
        let sent = encoder.encode(df).unwrap();
        let buffers: Vec<Buffer> = sent.buffers().iter().map(Buffer::from_slice_ref).collect();
        let frames: Vec<Place> = buffers.iter().map(place).collect();
        let decoded = decoder.decode(Frames::new(sent.header().clone(), buffers));
        let decoded = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
        for buffer in places(&decoded) {
            assert!(frames.contains(&buffer), "{name}: a buffer of {} bytes is no frame", buffer.1);
            buffers_seen += 1;
        }
        assert_eq!(decoder.copies().total(), 0, "{name}");
        assert_same(df, &decoded, &|| name.to_owned());
    });
    assert!(buffers_seen > 5_000, "{buffers_seen} buffers are too few to prove anything");
}

/// From sender to receiver within a process nothing moves at all, batches and dictionaries
/// included.
#[test]
fn frames_handed_over_in_a_process_are_the_same_memory() {
    for_each_unsliced(|name, df| {
        let decoded = from_buffers(Encoder::new(Target::Arrow).encode(df).unwrap()).unwrap();
        let sent = places(df);
        assert!(places(&decoded).iter().all(|place| sent.contains(place)), "{name}");
    });
}

/// Nothing of a stream or a file in one aligned buffer is copied either: each buffer lies in it.
#[test]
fn a_stream_or_a_file_in_one_buffer_is_read_where_it_lies() {
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    for_each_unsliced(|name, df| {
        let frames = Encoder::new(Target::Arrow).encode(df).unwrap();
        let stream: Vec<u8> = frames.segments().unwrap().flatten().copied().collect();
        let file = file_bytes(&frames);
        for (form, bytes) in [("stream", stream.clone()), ("stream in one pass", stream), ("file", file)] {
            // From a slice: 64 bytes aligned, as a map is.
            let bytes = Buffer::from_slice_ref(&bytes);
            let inside = bytes.as_slice().as_ptr_range();
            let decoded = match form {
                "stream" => decoder.decode(Frames::from_stream(bytes.clone()).unwrap()),
                "stream in one pass" => decoder.decode_stream(bytes.clone()),
                _ => decoder.decode(Frames::from_file(bytes.clone()).unwrap()),
            };
            let decoded = decoded.unwrap_or_else(|error| panic!("{name}, {form}: {error}"));
            assert_same(df, &decoded, &|| format!("{name}, {form}"));
            for (start, _) in places(&decoded) {
                assert!(inside.contains(&start), "{name}, {form}");
            }
        }
    });
}

/// Frames at every address: those whose type needs more alignment are copied, counted as
/// misaligned byte by byte, and refused under a cap of 0; all others stay where they are.
#[test]
fn misaligned_frames_are_copied_exactly_where_the_type_needs_it() {
    let mut copied = 0;
    let mut stayed = 0;
    for case in cases() {
        let (field, array) = make(&case.field, 50, Nulls::Some);
        let df = one_column(&field, &array);
        let sent = Encoder::new(Target::Arrow).encode(&df).unwrap();
        let alignments = alignments(&df);
        for shift in 0..=15 {
            let name = || format!("{}, shifted by {shift}", case.name);
            let frames: Vec<Buffer> = sent.buffers().iter().map(|frame| shifted(frame, shift)).collect();
            let is_misaligned = |(frame, place): (&Buffer, Place)| {
                let misaligned = !(frame.as_ptr() as usize).is_multiple_of(alignments[&place]);
                if misaligned { frame.len() as u64 } else { 0 }
            };
            let expected: u64 = frames.iter().zip(sent.buffers().iter().map(place)).map(is_misaligned).sum();

            let incoming = Frames::new(sent.header().clone(), frames.clone());
            let mut decoder = Decoder::new();
            let decoded =
                decoder.decode(incoming.clone()).unwrap_or_else(|error| panic!("{}: {error}", name()));
            assert_same(&df, &decoded, &name);
            assert_eq!(decoder.copies().of_reason(CopyReason::Misaligned), expected, "{}", name());
            assert_eq!(decoder.copies().total(), expected, "{}", name());
            assert_eq!(decoder.copies().of_column(0), expected, "{}", name());
            let kept = places(&decoded)
                .iter()
                .filter(|buffer| frames.iter().map(place).any(|f| f == **buffer))
                .count();
            let moved =
                frames.iter().zip(sent.buffers().iter().map(place)).filter(|f| is_misaligned((f.0, f.1)) > 0);
            assert_eq!(kept + moved.count(), distinct(&decoded), "{}", name());

            let strict = Decoder::new().with_max_copied_bytes(0).decode(incoming);
            match strict {
                Ok(_) => assert_eq!(expected, 0, "{}", name()),
                Err(error) => match error.kind() {
                    ErrorKind::CopyLimit {
                        column,
                        reason: CopyReason::Misaligned,
                        requested,
                        allowed: 0,
                    } => {
                        assert!(
                            column == field.name() && (1..=expected).contains(requested),
                            "{}: {error}",
                            name()
                        );
                    }
                    _ => panic!("{}: {error}", name()),
                },
            }
            if expected > 0 { copied += 1 } else { stayed += 1 }
        }
    }
    assert!(copied > 800 && stayed > 300, "{copied} copied and {stayed} not prove too little");
}

/// Each reason of the sender's, by an array that needs just that copy: counted in full, by
/// column, allowed up to that number of bytes and refused below it.
macro_rules! sender_copies {
    ($($test:ident: $reasons:expr, $array:expr;)*) => {$(
        #[test]
        fn $test() {
            let array: ArrayRef = Arc::new($array);
            check_sender(&array, Encoder::new(Target::Arrow), &$reasons);
        }
    )*};
}

sender_copies! {
    // 90 bits of validity and 90 of values, in 12 bytes each.
    bitmaps_at_a_bit_offset: [(CopyReason::BitOffset, 2 * 12)],
        BooleanArray::from_iter((0..100).map(|n| (n % 3 > 0).then_some(n % 2 > 0))).slice(3, 90);
    // 8 more rows, and no copy: bits at a whole byte.
    bitmaps_at_a_byte_offset: [],
        BooleanArray::from_iter((0..100).map(|n| (n % 3 > 0).then_some(n % 2 > 0))).slice(8, 90);
    // 11 offsets are cheaper to write than the texts in front of them are to send.
    offsets_of_a_slice: [(CopyReason::Rebased, 11 * 4)], texts(100).slice(50, 10);
    // Fewer bytes lie in front than the offsets have: they travel along.
    offsets_of_a_slice_near_the_front: [], texts(100).slice(1, 90);
    offsets_of_a_list_slice: [(CopyReason::Rebased, 11 * 4)], numbers_in_lists(100).slice(50, 10);
    views_of_a_slice: [(CopyReason::Rebased, 10 * 16)], StringViewArray::from_iter_values((0..100).map(long)).slice(50, 10);
    // One long text in ten is referenced: they are gathered, and all views re-written.
    gathered_views: [(CopyReason::Rebased, 10 * 16), (CopyReason::Compacted, 10 * long(0).len() as u64)], scattered_views();
    // One row in ten of an Int64 child.
    gathered_list_views: [(CopyReason::Rebased, 10 * 4), (CopyReason::Compacted, 10 * 8)], scattered_list_views();
    gathered_dense_union: [(CopyReason::Rebased, 10 * 4), (CopyReason::Compacted, 10 * 8)], scattered_dense_union();
    runs_of_a_slice: [(CopyReason::Rebased, 3 * 4)], runs_of_ten(10).slice(15, 20);
    runs_up_to_a_runs_end: [], runs_of_ten(10).slice(0, 20);
}

/// Unused values of a dictionary: sent by default, left out on demand.
#[test]
fn trimmed_dictionaries() {
    let array: DictionaryArray<Int8Type> =
        (0..100).map(|n| ["a long text", "another", "unused"][n % 3]).collect();
    let two: ArrayRef = Arc::new(array.slice(0, 2));
    check_sender(&two, Encoder::new(Target::Arrow), &[]);
    // 2 keys, and 2 values with 3 offsets.
    let trimmed = 2 + 3 * 4 + "a long text".len() as u64 + "another".len() as u64;
    // Too little is saved by that.
    check_sender(&two, Encoder::new(Target::Arrow).with_trimmed_dictionaries(true), &[]);
    let long = "unused".repeat(20);
    let array: DictionaryArray<Int8Type> =
        (0..100).map(|n| ["a long text", "another", &long][n % 3]).collect();
    let two: ArrayRef = Arc::new(array.slice(0, 2));
    let trim = Encoder::new(Target::Arrow).with_trimmed_dictionaries(true);
    check_sender(&two, trim, &[(CopyReason::Dictionary, trimmed)]);
}

/// A compressed buffer is a copy of as many bytes as it has.
#[cfg(any(feature = "lz4", feature = "zstd"))]
#[test]
fn compressed_buffers() {
    #[cfg(feature = "lz4")]
    let compression = Compression::Lz4;
    #[cfg(not(feature = "lz4"))]
    let compression = Compression::Zstd(1);
    let array: ArrayRef = Arc::new(Int64Array::from(vec![7; 1_000]));
    let df = DataFrame::from(RecordBatch::try_from_iter([("a", array.clone())]).unwrap());
    let mut encoder = Encoder::new(Target::Arrow).with_compression(compression);
    let frames = encoder.encode(&df).unwrap();
    assert_eq!(frames.buffers().len(), 1);
    let compressed = frames.buffers()[0].len() as u64;
    assert!(compressed < 1_000);
    check_sender(
        &array,
        Encoder::new(Target::Arrow).with_compression(compression),
        &[(CopyReason::Compressed, compressed)],
    );

    let mut decoder = Decoder::new();
    decoder.decode(frames.clone()).unwrap();
    assert_eq!(decoder.copies().of_reason(CopyReason::Decompressed), 8_000);
    assert_eq!(decoder.copies().total(), 8_000);
    assert!(Decoder::new().with_max_copied_bytes(8_000).decode(frames.clone()).is_ok());
    let error = Decoder::new().with_max_copied_bytes(7_999).decode(frames).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::CopyLimit { reason: CopyReason::Decompressed, requested: 8_000, allowed: 7_999, .. }
    ));
}

/// A delta is joined with what it continues: a copy of both, on the receiver's side.
#[test]
fn dictionaries_joined_with_their_delta() {
    let schema = Schema::new(vec![field("d", dictionary(DataType::Int8, DataType::Int64))]);
    let schema = Arc::new(schema);
    let batch = |count: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        let array = DictionaryArray::<Int8Type>::new(vec![0, 1].into(), values);
        RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap()
    };
    let mut encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(true).with_max_copied_bytes(0);
    let mut decoder = Decoder::new();
    let mut strict = Decoder::new().with_max_copied_bytes(0);
    let start = encoder.start(&schema).unwrap();
    decoder.decode(start.clone()).unwrap();
    strict.decode(start).unwrap();
    let first = encoder.encode_batch(&batch(10)).unwrap();
    decoder.decode(first.clone()).unwrap();
    assert_eq!(decoder.copies().total(), 0);
    strict.decode(first).unwrap();
    let second = encoder.encode_batch(&batch(15)).unwrap();
    decoder.decode(second.clone()).unwrap();
    assert_eq!(decoder.copies().of_reason(CopyReason::Dictionary), 15 * 8);
    assert_eq!(decoder.copies().total(), 15 * 8);
    let error = strict.decode(second).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::CopyLimit { column, reason: CopyReason::Dictionary, .. } if column == "d"),
        "{error}"
    );
}

/// The report is of the last call, by column.
#[test]
fn the_report_names_the_column() {
    let columns = [texts(100).slice(50, 10), texts(100).slice(0, 10), texts(100).slice(80, 10)];
    let batch = RecordBatch::try_from_iter(
        ["a", "b", "c"].into_iter().zip(columns.map(|array| Arc::new(array) as ArrayRef)),
    );
    let df = DataFrame::from(batch.unwrap());
    let mut encoder = Encoder::new(Target::Arrow);
    encoder.encode(&df).unwrap();
    let copies: Vec<_> = encoder.copies().iter().map(|c| (c.column, c.reason, c.bytes)).collect();
    assert_eq!(copies, [(0, CopyReason::Rebased, 44), (2, CopyReason::Rebased, 44)]);
    assert_eq!((encoder.copies().of_column(0), encoder.copies().of_column(1)), (44, 0));
    let error = Encoder::new(Target::Arrow).with_max_copied_bytes(50).encode(&df).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::CopyLimit { column, requested: 88, allowed: 50, .. } if column == "c"
        ),
        "{error}"
    );
    encoder.encode(&df.project(&[1]).unwrap()).unwrap();
    assert_eq!(encoder.copies().total(), 0, "the report is of the last call only");
}

/// A detached dataframe shares no byte with the one it was copied from.
#[test]
fn a_detached_dataframe_shares_no_memory() {
    for_each_unsliced(|name, df| {
        let copy = df.detach().unwrap();
        assert_same(df, &copy, &|| name.to_owned());
        let old: Vec<_> =
            places(df).into_iter().map(|(start, length)| start..start.wrapping_add(length)).collect();
        for (start, length) in places(&copy) {
            let end = start.wrapping_add(length);
            assert!(old.iter().all(|old| end <= old.start || old.end <= start), "{name}");
        }
    });
}

/// Detaching one row frees it from the large region it came in.
#[test]
fn a_detached_slice_keeps_no_region_alive() {
    let array: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..10_000).map(long)));
    let df = one_column(&field("a", array.data_type().clone()).into(), &array.slice(5_000, 1));
    let kept: usize = data_of(&df.detach().unwrap()).iter().map(ArrayData::get_array_memory_size).sum();
    assert!(kept < 2_000, "{kept} bytes are kept alive for one row");
    assert!(data_of(&df)[0].get_array_memory_size() > 100_000);
}

/// Checks that encoding copies just these bytes for just these reasons, that a cap of that
/// many allows it, and that a smaller one refuses it.
fn check_sender(array: &ArrayRef, mut encoder: Encoder, expected: &[(CopyReason, u64)]) {
    let df = one_column(&field("column", array.data_type().clone()).into(), array);
    let frames = encoder.encode(&df).unwrap();
    let copies: HashMap<_, _> = encoder.copies().iter().map(|copied| (copied.reason, copied.bytes)).collect();
    assert_eq!(copies, expected.iter().copied().collect());
    let total = expected.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(encoder.copies().total(), total);
    assert_same(&df, &from_buffers(frames).unwrap(), &|| format!("{expected:?}"));

    let mut encoder = encoder.with_max_copied_bytes(total);
    encoder.encode(&df).unwrap();
    if let Some(less) = total.checked_sub(1) {
        let error = encoder.with_max_copied_bytes(less).encode(&df).unwrap_err();
        match error.kind() {
            ErrorKind::CopyLimit { column, requested, allowed, .. } => {
                assert_eq!((column.as_str(), *requested, *allowed), ("column", total, less));
            }
            _ => panic!("{error}"),
        }
    }
}

fn long(n: i32) -> String {
    format!("{n:4} is longer than an inline view")
}

fn texts(rows: i32) -> StringArray {
    (0..rows).map(|n| Some(format!("{n:3}"))).collect()
}

fn numbers_in_lists(rows: usize) -> ListArray {
    let values = Int32Array::from_iter_values(0..3 * rows as i32);
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(3, rows));
    ListArray::new(item(DataType::Int32), offsets, Arc::new(values), None)
}

fn scattered_views() -> StringViewArray {
    let all = StringViewArray::from_iter_values((0..100).map(long));
    let views: Vec<u128> = all.views().iter().step_by(10).copied().collect();
    StringViewArray::new(views.into(), all.data_buffers().clone(), None)
}

fn scattered_list_views() -> ListViewArray {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let offsets: Vec<i32> = (0..10).map(|n| n * 10).collect();
    ListViewArray::new(item(DataType::Int64), offsets.into(), vec![1; 10].into(), values, None)
}

fn scattered_dense_union() -> UnionArray {
    let fields = [(3, Arc::new(field("n", DataType::Int64)))].into_iter().collect();
    let offsets: Vec<i32> = (0..10).map(|n| n * 10).collect();
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    UnionArray::try_new(fields, vec![3; 10].into(), Some(offsets.into()), vec![values]).unwrap()
}

fn runs_of_ten(runs: i32) -> arrow::array::Int32RunArray {
    let ends = Int32Array::from_iter_values((1..=runs).map(|run| run * 10));
    arrow::array::Int32RunArray::try_new(&ends, &Int64Array::from_iter_values(0..runs.into())).unwrap()
}

/// A copy of a frame at an address that is `shift` past a multiple of 64.
fn shifted(frame: &Buffer, shift: usize) -> Buffer {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(frame);
    Buffer::from_slice_ref(&bytes).slice(shift)
}

/// The alignment that Arrow wants of each buffer of a dataframe.
fn alignments(df: &DataFrame) -> HashMap<Place, usize> {
    fn walk(data: &ArrayData, out: &mut HashMap<Place, usize>) {
        use DataType::*;
        let of_values = match data.data_type() {
            Decimal128(..) | Decimal256(..) | Utf8View | BinaryView => 16,
            Interval(IntervalUnit::DayTime) => 4,
            Interval(IntervalUnit::MonthDayNano) => 8,
            Utf8 | Binary | List(_) | Map(..) | ListView(_) => 4,
            LargeUtf8 | LargeBinary | LargeList(_) | LargeListView(_) => 8,
            Dictionary(key, _) => key.primitive_width().unwrap(),
            Boolean | FixedSizeBinary(_) | Union(..) => 1,
            other => other.primitive_width().unwrap_or(1),
        };
        for (number, buffer) in data.buffers().iter().enumerate() {
            let alignment = match (data.data_type(), number) {
                // Bytes behind offsets or views; the offsets of a dense union.
                (Utf8 | LargeUtf8 | Binary | LargeBinary | Utf8View | BinaryView, 1..) => 1,
                (Union(..), 1) => 4,
                _ => of_values,
            };
            out.insert(place(buffer), alignment);
        }
        if let Some(nulls) = data.nulls() {
            out.insert(place(nulls.buffer()), 1);
        }
        data.child_data().iter().for_each(|child| walk(child, out));
    }
    let mut out = HashMap::new();
    data_of(df).iter().for_each(|data| walk(data, &mut out));
    out
}

fn is_dictionary_of_dictionary(data_type: &DataType) -> bool {
    let DataType::Dictionary(_, values) = data_type else { return false };
    matches!(**values, DataType::Dictionary(..))
}

fn place(buffer: &Buffer) -> Place {
    (buffer.as_ptr(), buffer.len())
}

/// The data of every column.
fn data_of(df: &DataFrame) -> Vec<ArrayData> {
    let columns = df.batches().iter().flat_map(|batch| batch.columns());
    columns.map(|column| column.as_native().unwrap().to_data()).collect()
}

/// Where the non-empty buffers of a dataframe lie, those inside its arrays included.
fn places(df: &DataFrame) -> Vec<Place> {
    fn walk(data: &ArrayData, out: &mut Vec<Place>) {
        out.extend(data.buffers().iter().map(place));
        out.extend(data.nulls().map(|nulls| place(nulls.buffer())));
        data.child_data().iter().for_each(|child| walk(child, out));
    }
    let mut out = Vec::new();
    data_of(df).iter().for_each(|data| walk(data, &mut out));
    out.retain(|(_, length)| *length > 0);
    out
}

/// How many buffers a dataframe has, each counted once.
fn distinct(df: &DataFrame) -> usize {
    places(df).into_iter().collect::<std::collections::HashSet<_>>().len()
}
