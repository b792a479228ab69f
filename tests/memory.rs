//! Memory: what is allocated is metadata, plus what the copy report says. A counting
//! allocator is the witness.
#![allow(unsafe_code)] // A global allocator cannot be written without.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, ListViewArray, RecordBatch, StringArray, StringViewArray, StructArray, UnionArray,
};
use arrow::datatypes::{DataType, Int32Type, Schema, UnionFields};
use arrow_buffer::{Buffer, OffsetBuffer};
#[cfg(any(feature = "lz4", feature = "zstd"))]
use arrow_frames::Compression;
use arrow_frames::{CopyReason, DataFrame, Decoder, Encoder, Frames, StreamSource, Target, write_segments};

use common::*;

/// What the metadata of a dataframe of ten columns may take.
const METADATA: usize = 16 << 10;

const ROWS: usize = 1_000_000;

/// Promise 6: encode and decode allocate for metadata only, as much for 1,000 rows as for a
/// million.
macro_rules! metadata_only {
    ($($test:ident: $column:expr;)*) => {$(
        #[test]
        fn $test() {
            let make: fn(usize) -> ArrayRef = $column;
            let [small, large] = [1_000, ROWS].map(|rows| metadata_of(&ten_of(&make(rows))));
            assert_eq!(small, large, "memory depends on the rows");
        }
    )*};
}

metadata_only! {
    numbers: |rows| Arc::new(Float64Array::from_iter_values((0..rows).map(|n| n as f64)));
    numbers_with_nulls: |rows| Arc::new((0..rows).map(|n| (n % 3 > 0).then_some(n as f64)).collect::<Float64Array>());
    booleans: |rows| Arc::new((0..rows).map(|n| Some(n % 3 > 0)).collect::<BooleanArray>());
    texts: |rows| Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("é{n}"))));
    short_views: |rows| Arc::new(StringViewArray::from_iter_values((0..rows).map(|n| n.to_string())));
    lists: |rows| Arc::new(lists_of_two(rows));
    structs: |rows| {
        let number: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows as i32));
        Arc::new(StructArray::from(vec![(Arc::new(required("n", DataType::Int32)), number)]))
    };
    dictionaries: |rows| Arc::new(DictionaryArray::<Int32Type>::new(
        Int32Array::from_iter_values((0..rows as i32).map(|n| n % 100)),
        Arc::new(StringArray::from_iter_values((0..100).map(|n| n.to_string()))),
    ));
    slices_of_numbers: |rows| Arc::new(Float64Array::from_iter_values((0..2 * rows).map(|n| n as f64)).slice(rows / 3, rows));
}

/// Bytes that encoding and decoding allocate, both of them metadata.
fn metadata_of(df: &DataFrame) -> (usize, usize) {
    let mut encoder = Encoder::new(Target::Arrow).with_max_copied_bytes(0);
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    let (frames, encoded) = allocated(|| encoder.encode(df).unwrap());
    let (decoded, decoding) = allocated(|| decoder.decode(frames).unwrap());
    assert_eq!(decoded.num_rows(), df.num_rows());
    println!("encode allocates {encoded}, decode {decoding} bytes");
    assert!(encoded < METADATA, "encoding allocates {encoded} bytes");
    assert!(decoding < METADATA, "decoding allocates {decoding} bytes");
    (encoded, decoding)
}

/// Copies of the sender: as many bytes are allocated as the report says.
macro_rules! sender_copies {
    ($($test:ident: $reason:ident, $array:expr;)*) => {$(
        #[test]
        fn $test() {
            let array: ArrayRef = Arc::new($array);
            let df = one_column(&field("column", array.data_type().clone()).into(), &array);
            let mut encoder = Encoder::new(Target::Arrow);
            let (_frames, bytes) = allocated(|| encoder.encode(&df).unwrap());
            assert!(encoder.copies().of_reason(CopyReason::$reason) > 0);
            assert_reported(bytes, encoder.copies().total());
        }
    )*};
}

sender_copies! {
    bitmaps_at_a_bit_offset: BitOffset,
        (0..ROWS).map(|n| (n % 3 > 0).then_some(n % 2 > 0)).collect::<BooleanArray>().slice(3, ROWS - 10);
    rebased_offsets_of_texts: Rebased,
        StringArray::from_iter_values((0..ROWS).map(|n| format!("text {n}"))).slice(ROWS / 2, ROWS / 4);
    rebased_offsets_of_lists: Rebased, lists_of_two(ROWS).slice(ROWS / 2, ROWS / 4);
    rebased_views: Rebased, views_of_one_buffer(ROWS).slice(ROWS / 2, ROWS / 4);
    gathered_views: Compacted, {
        let all = views_of_one_buffer(ROWS);
        let views: Vec<u128> = all.views().iter().step_by(10).copied().collect();
        StringViewArray::new(views.into(), all.data_buffers().clone(), None)
    };
    gathered_list_views: Compacted, {
        let child: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
        let offsets: Vec<i32> = (0..ROWS as i32 / 10).map(|n| n * 10).collect();
        let sizes = vec![1; offsets.len()];
        ListViewArray::new(item(DataType::Int64), offsets.into(), sizes.into(), child, None)
    };
}

/// What sorting the rows of a list-view notes of each: where it starts and ends, and of the
/// merged ones also their place, in vectors that grow.
const NOTE: usize = 64;

/// The rows of an array and of all arrays inside it.
fn rows_of(data: &ArrayData) -> usize {
    data.len() + data.child_data().iter().map(rows_of).sum::<usize>()
}

/// No type is copied without a report: slices on the sender's side, odd addresses on the
/// receiver's. What is gathered may take twice as much while it grows, and where list-views
/// point to their rows out of order, a note of each row beside it: no copy, and soon dropped.
#[test]
fn every_copy_of_every_type_is_reported() {
    const ROWS: usize = 20_000;
    let mut unreported = Vec::new();
    for case in cases() {
        let (field, array) = make(&case.field, ROWS, Nulls::Some);
        for (from, rows) in [(0, ROWS), (3, ROWS - 5), (ROWS / 2, ROWS / 3)] {
            let df = one_column(&field, &array.slice(from, rows));
            let mut encoder = Encoder::new(Target::Arrow);
            let (frames, bytes) = allocated(|| encoder.encode(&df).unwrap());
            let reported = encoder.copies().total() as usize;
            let name = format!("{}, {rows} rows from {from}", case.name);
            // An array of views has a buffer per some kilobytes; each is an entry in the metadata.
            let metadata = METADATA + 256 * buffers_of(&array.to_data());
            let gathered = encoder.copies().of_reason(CopyReason::Compacted) as usize;
            let has_notes = gathered > 0 && case.name.contains("list_view");
            let notes = if has_notes { NOTE * rows_of(&array.slice(from, rows).to_data()) } else { 0 };
            let mut check = |side: &str, bytes, reported, expected: std::ops::RangeInclusive<usize>| {
                if !expected.contains(&bytes) {
                    unreported.push(format!("{name}: {side}: {bytes} bytes allocated, {reported} reported"));
                }
            };
            check("sender", bytes, reported, reported..=reported + gathered + notes + metadata);

            let (header, buffers) = frames.into_parts();
            let odd = buffers.iter().map(|frame| [&[0], frame.as_slice()].concat());
            let odd = odd.map(|frame| Buffer::from_slice_ref(frame).slice(1)).collect();
            let mut decoder = Decoder::new();
            let (_df, bytes) = allocated(|| decoder.decode(Frames::new(header, odd)).unwrap());
            let reported = decoder.copies().total() as usize;
            check("receiver", bytes, reported, reported..=reported + metadata);
        }
    }
    assert!(unreported.is_empty(), "{}", unreported.join("\n"));
}

/// Trimming needs a note per value and per key beside the copy; the report is of the copy.
#[test]
fn trimmed_dictionaries() {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let keys = Int32Array::from_iter_values((0..100_000).map(|n| n * 7));
    let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let df = one_column(&field("column", array.data_type().clone()).into(), &array);
    let mut encoder = Encoder::new(Target::Arrow).with_trimmed_dictionaries(true);
    let (frames, bytes) = allocated(|| encoder.encode(&df).unwrap());
    assert_eq!(encoder.copies().total(), 100_000 * (4 + 8));
    assert_eq!(frames.buffers().iter().map(Buffer::len).sum::<usize>(), 100_000 * (4 + 8));
    let notes = (ROWS + 100_000) * size_of::<usize>();
    assert_reported(bytes - notes, encoder.copies().total());
}

/// Frames at odd addresses are copied once each.
#[test]
fn misaligned_frames() {
    let df =
        ten_of(&(Arc::new(Float64Array::from_iter_values((0..ROWS / 10).map(|n| n as f64))) as ArrayRef));
    let (header, buffers) = Encoder::new(Target::Arrow).encode(&df).unwrap().into_parts();
    let shifted: Vec<Buffer> = buffers
        .iter()
        .map(|frame| Buffer::from_slice_ref([&[0], frame.as_slice()].concat()).slice(1))
        .collect();
    let mut decoder = Decoder::new();
    let (_df, bytes) = allocated(|| decoder.decode(Frames::new(header, shifted)).unwrap());
    assert_eq!(decoder.copies().of_reason(CopyReason::Misaligned), 10 * 8 * ROWS as u64 / 10);
    assert_reported(bytes, decoder.copies().total());
}

/// A delta is joined with the values before it.
#[test]
fn joined_dictionaries() {
    let batch = |count: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(vec![0].into(), values));
        RecordBatch::try_from_iter([("d", array)]).unwrap()
    };
    let (first, second) = (batch(ROWS as i64 / 2), batch(ROWS as i64));
    let mut encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(true).with_max_copied_bytes(0);
    let mut decoder = Decoder::new();
    decoder.decode(encoder.start(&first.schema()).unwrap()).unwrap();
    decoder.decode(encoder.encode_batch(&first).unwrap()).unwrap();
    let frames = encoder.encode_batch(&second).unwrap();
    let (_df, bytes) = allocated(|| decoder.decode(frames).unwrap());
    assert_eq!(decoder.copies().total(), 8 * ROWS as u64);
    assert_reported(bytes, decoder.copies().total());
}

/// Decompressing takes what comes out, beside the codec's own working memory.
#[cfg(any(feature = "lz4", feature = "zstd"))]
#[test]
fn decompressed_buffers() {
    // LZ4 holds two blocks of up to 4 MiB, whatever the length; ZSTD's memory is not Rust's.
    const WORKING: usize = 9 << 20;
    const TOTAL: usize = 32 << 20;
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values((0..TOTAL as i64 / 8).map(|n| n / 3)));
    let df = one_column(&required("column", DataType::Int64).into(), &array);
    let mut compressions = Vec::new();
    #[cfg(feature = "lz4")]
    compressions.push(Compression::Lz4);
    #[cfg(feature = "zstd")]
    compressions.push(Compression::Zstd(1));
    for compression in compressions {
        let mut encoder = Encoder::new(Target::Arrow).with_compression(compression);
        let frames = encoder.encode(&df).unwrap();
        let mut decoder = Decoder::new();
        let (_df, bytes) = allocated(|| decoder.decode(frames).unwrap());
        assert_eq!(decoder.copies().of_reason(CopyReason::Decompressed), TOTAL as u64);
        assert_eq!(decoder.copies().total(), TOTAL as u64);
        let expected = TOTAL..TOTAL + WORKING;
        assert!(expected.contains(&bytes), "{compression:?} allocates {bytes} bytes for {TOTAL}");
    }
}

/// Gathering what has no fixed width takes at most twice what is reported: its buffers grow.
#[test]
fn gathered_values_without_a_fixed_width() {
    let rows = ROWS / 10;
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("text {n}"))));
    let views: ArrayRef = Arc::new(views_of_one_buffer(rows));
    let flag: ArrayRef =
        Arc::new((0..rows).map(|n| (n % 3 > 0).then_some(n % 2 > 0)).collect::<BooleanArray>());
    let fields = [field("flag", DataType::Boolean), field("text", DataType::Utf8)].to_vec();
    let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![flag, texts.clone()], None));
    let lists: ArrayRef = Arc::new(lists_of_two(rows));
    for child in [texts, views, structs, lists] {
        let offsets: Vec<i32> = (0..rows as i32 / 10).map(|n| n * 10).collect();
        let sizes = vec![1; offsets.len()];
        let list = ListViewArray::new(
            item(child.data_type().clone()),
            offsets.clone().into(),
            sizes.into(),
            child.clone(),
            None,
        );
        let fields: UnionFields =
            [(0, Arc::new(field("c", child.data_type().clone())))].into_iter().collect();
        let ids = vec![0i8; offsets.len()];
        let union = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), vec![child]).unwrap();
        for array in [Arc::new(list) as ArrayRef, Arc::new(union)] {
            let df = one_column(&field("column", array.data_type().clone()).into(), &array);
            let mut encoder = Encoder::new(Target::Arrow);
            let (_frames, bytes) = allocated(|| encoder.encode(&df).unwrap());
            let reported = encoder.copies().total() as usize;
            println!("{}: {bytes} bytes allocated, {reported} reported", array.data_type());
            assert!(encoder.copies().of_reason(CopyReason::Compacted) > 0, "{}", array.data_type());
            let expected = reported..2 * reported + METADATA;
            assert!(
                expected.contains(&bytes),
                "{bytes} bytes allocated, {reported} reported: {}",
                array.data_type()
            );
        }
    }
}

/// Segments, a stream in one buffer, a file in one buffer: only the header is new.
#[test]
fn forms_allocate_for_metadata_only() {
    let df =
        ten_of(&(Arc::new(Float64Array::from_iter_values((0..ROWS / 10).map(|n| n as f64))) as ArrayRef));
    let frames = Encoder::new(Target::Arrow).encode(&df).unwrap();
    let (total, bytes) = allocated(|| frames.segments().unwrap().map(<[u8]>::len).sum::<usize>());
    assert!(total > 8 * ROWS && bytes < METADATA, "segments allocate {bytes} bytes");
    let ((), bytes) = allocated(|| drop(frames.file_form().unwrap().segments().unwrap()));
    assert!(bytes < METADATA, "a file form allocates {bytes} bytes");

    let mut stream = Vec::with_capacity(total);
    let (written, bytes) = allocated(|| write_segments(&mut stream, frames.segments().unwrap()).unwrap());
    assert!(written == total as u64 && bytes < 2 * METADATA, "writing allocates {bytes} bytes");
    let file = file_bytes(&frames);
    let (_, bytes) = allocated(|| Frames::from_file(file).unwrap());
    assert!(bytes < METADATA, "taking a file apart allocates {bytes} bytes");

    // From a reader, the body is read into a region of the system's; metadata goes to a block.
    const BLOCK: usize = 65 << 10;
    let (_, bytes) = allocated(|| StreamSource::new(stream.as_slice()).read_all().unwrap());
    assert!(bytes < BLOCK + METADATA, "reading {} bytes allocates {bytes}", stream.len());
    let (_, bytes) = allocated(|| Frames::from_stream(stream).unwrap());
    assert!(bytes < METADATA, "taking a stream apart allocates {bytes} bytes");
}

/// A detached copy takes what the rows take, whatever they were sliced from.
#[test]
fn a_detached_copy_takes_what_it_shows() {
    let df = ten_of(
        &(Arc::new(Float64Array::from_iter_values((0..ROWS / 10).map(|n| n as f64)).slice(100, 10_000))
            as ArrayRef),
    );
    let (copy, bytes) = allocated(|| df.detach().unwrap());
    assert_eq!(copy.num_rows(), 10_000);
    assert!((800_000..800_000 + 3 * METADATA).contains(&bytes), "{bytes} bytes for 800,000");
}

/// A long stream leaves nothing behind, in the encoder or in the decoder.
#[test]
fn a_long_stream_takes_no_more_memory_than_a_short_one() {
    let values: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|n| n.to_string())));
    let batch = |seed: i32| {
        let keys = Int32Array::from_iter_values((0..500).map(|n| (n * seed) % 100));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).map(|n| n + seed)));
        // Every tenth batch has another dictionary.
        let values = if seed % 10 == 0 { values.slice(0, 100) } else { values.clone() };
        let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
        RecordBatch::try_from_iter([("d", array), ("n", numbers)]).unwrap()
    };
    let (mut encoder, mut decoder) = (Encoder::new(Target::Arrow), Decoder::new());
    decoder.decode(encoder.start(&batch(1).schema()).unwrap()).unwrap();
    let mut send = |seed| {
        let df = decoder.decode(encoder.encode_batch(&batch(seed)).unwrap()).unwrap();
        assert_eq!(df.num_rows(), 500);
    };
    (0..20).for_each(&mut send);
    let before = live();
    (20..1_020).for_each(&mut send);
    let after = live();
    let left = after.wrapping_sub(before) as isize;
    assert!(left <= 1_024, "{left} bytes are left behind by 1,000 batches");
}

/// An encoder that is used again allocates no more than the first time.
#[test]
fn using_an_encoder_again_saves_memory() {
    let df = ten_of(&(Arc::new(Float64Array::from_iter_values((0..1_000).map(|n| n as f64))) as ArrayRef));
    let mut encoder = Encoder::new(Target::Arrow);
    let (_, first) = allocated(|| encoder.encode(&df).unwrap());
    let (_, second) = allocated(|| encoder.encode(&df).unwrap());
    assert!(second < first, "{first} bytes at first, then {second}");
}

/// The witness itself: it counts what is allocated, and nothing else.
#[test]
fn the_witness_counts() {
    assert_eq!(allocated(|| ()).1, 0);
    assert_eq!(allocated(|| drop(Vec::<u8>::with_capacity(1_000))).1, 1_000);
    let (grown, bytes) = allocated(|| {
        let mut grown = Vec::<u8>::with_capacity(100);
        grown.reserve_exact(1_000);
        grown
    });
    assert_eq!((grown.capacity(), bytes), (1_000, 1_000));
    let before = live();
    let held = vec![0u8; 5_000];
    assert_eq!(live().wrapping_sub(before), 5_000);
    drop(held);
    assert_eq!(live(), before);
}

/// What was allocated is what was reported, and metadata.
#[track_caller]
fn assert_reported(bytes: usize, reported: u64) {
    let reported = reported as usize;
    println!("{bytes} bytes allocated, {reported} reported");
    assert!(bytes >= reported, "{reported} bytes reported, {bytes} allocated");
    assert!(bytes <= reported + reported / 64 + METADATA, "{bytes} bytes allocated, {reported} reported");
}

/// Ten columns that share an array: their metadata is that of ten.
fn ten_of(array: &ArrayRef) -> DataFrame {
    let fields: Vec<_> = (0..10).map(|n| field(&format!("column {n}"), array.data_type().clone())).collect();
    let columns = vec![array.clone(); 10];
    RecordBatch::try_new(Schema::new(fields).into(), columns).unwrap().into()
}

/// How many buffers an array has, those of the arrays inside it included.
fn buffers_of(data: &ArrayData) -> usize {
    data.buffers().len() + data.child_data().iter().map(buffers_of).sum::<usize>()
}

fn views_of_one_buffer(rows: usize) -> StringViewArray {
    let texts = StringArray::from_iter_values((0..rows).map(|n| format!("a text that is not inline {n}")));
    StringViewArray::from(&texts)
}

fn lists_of_two(rows: usize) -> ListArray {
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..2 * rows as i32));
    ListArray::new(
        item(DataType::Int32),
        OffsetBuffer::from_lengths(std::iter::repeat_n(2, rows)),
        values,
        None,
    )
}

/// Runs something; what it returns, and how many bytes this thread allocated for it.
fn allocated<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let result = run();
    (result, ALLOCATED.get() - before)
}

/// Bytes that this thread has allocated and not freed; only differences mean something.
fn live() -> usize {
    ALLOCATED.get().wrapping_sub(FREED.get())
}

thread_local! {
    // Per thread, so that tests that run beside each other do not see each other's.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static FREED: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts by thread. Growing counts by what it grows.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting neither
// allocates nor panics (the counters are constants, without a destructor, and wrap).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get().wrapping_add(layout.size()));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get().wrapping_add(layout.size()));
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get().wrapping_add(new_size.saturating_sub(layout.size())));
        FREED.set(FREED.get().wrapping_add(layout.size().saturating_sub(new_size)));
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        FREED.set(FREED.get().wrapping_add(layout.size()));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
