//! Streams as they arrive: however reads are split, wherever the sender padded, the same frames
//! come out, land where they stay, and nothing is lost.

mod common;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow::ipc::MetadataVersion;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_buffer::i256;
use arrow_frames::{
    Batch, CopyReason, DataFrame, Decoder, Encoder, ErrorKind, Frames, Layout, Limits, Part, ReceiveMemory,
    StreamReceiver, StreamSource, Target, from_buffers, to_buffers,
};
use common::*;
use proptest::prelude::*;

/// Buffers of this many bytes are received where they stay.
const LARGE: usize = 64 << 10;

/// Reads in the given sizes, over and over.
struct Sized<'a> {
    left: &'a [u8],
    sizes: VecDeque<usize>,
}

impl<'a> Sized<'a> {
    fn new(left: &'a [u8], sizes: &[usize]) -> Self {
        Sized { left, sizes: sizes.iter().copied().collect() }
    }
}

impl Read for Sized<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.pop_front().unwrap_or(usize::MAX);
        self.sizes.push_back(size);
        let count = size.min(out.len()).min(self.left.len());
        out[..count].copy_from_slice(&self.left[..count]);
        self.left = &self.left[count..];
        Ok(count)
    }
}

fn stream(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().collect::<Vec<_>>().concat()
}

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let columns = columns.into_iter().enumerate().map(|(n, column)| (format!("c{n}"), column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Columns of every kind of buffer, of so many rows.
fn mixed(rows: usize) -> RecordBatch {
    let numbers = || (0..rows as i64).map(|n| (n % 7 > 0).then_some(n));
    let text = || (0..rows).map(|n| (n % 5 > 0).then(|| format!("value number {n}")));
    batch(vec![
        Arc::new(Float64Array::from_iter(numbers().map(|n| n.map(|n| n as f64)))),
        Arc::new(Int8Array::from_iter_values((0..rows).map(|n| n as i8))),
        Arc::new(StringArray::from_iter(text())),
        Arc::new(StringViewArray::from_iter(text())),
        Arc::new(Decimal128Array::from_iter(numbers().map(|n| n.map(i128::from)))),
        Arc::new(BooleanArray::from_iter(numbers().map(|n| n.map(|n| n % 2 == 0)))),
        Arc::new(
            (0..rows)
                .map(|n| (n % 4 > 0).then_some(["lo", "mid", "hi"][n % 3]))
                .collect::<DictionaryArray<Int16Type>>(),
        ),
    ])
}

/// The same as another writer lays it out, whose buffers lie at multiples of 8.
fn theirs(batches: &[RecordBatch]) -> Vec<u8> {
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), batches[0].schema_ref(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let ours = |rows| stream(&to_buffers(&DataFrame::from(mixed(rows)), Target::Arrow).unwrap());
    let writable =
        Encoder::new(Target::Arrow).with_writable(true).encode(&DataFrame::from(mixed(9_000))).unwrap();
    let pandas = to_buffers(&DataFrame::from(mixed(300)), Target::Pandas).unwrap();
    vec![
        ("small", ours(20)),
        ("large", ours(9_000)),
        ("writable", stream(&writable)),
        ("pandas", stream(&pandas)),
        ("theirs, small", theirs(&[mixed(20), mixed(0), mixed(3)])),
        ("theirs, large", theirs(&[mixed(9_001), mixed(5), mixed(20_003)])),
        (
            "no columns",
            stream(
                &to_buffers(&DataFrame::from(RecordBatch::new_empty(Schema::empty().into())), Target::Arrow)
                    .unwrap(),
            ),
        ),
    ]
}

fn assert_equal(expected: &Frames, found: &Frames, context: &str) {
    assert!(expected.header() == found.header(), "{context}: another header");
    assert!(expected.buffers() == found.buffers(), "{context}: other frames");
}

#[test]
fn the_size_of_reads_changes_nothing() {
    let mut rng = Rng(3);
    for (name, bytes) in samples() {
        let expected = Frames::from_stream(bytes.clone()).unwrap();
        let random: Vec<usize> = (0..50).map(|_| 1 + rng.below(20_000)).collect();
        for sizes in [&[1][..], &[3], &[7], &[64], &[4096, 1], &random] {
            for (read_ahead, writable) in [(0, false), (100, true), (1 << 16, false), (1 << 20, true)] {
                // One byte at a time is slow, and the options do not matter then.
                if sizes == [1] && bytes.len() > 1 << 20 && read_ahead > 0 {
                    continue;
                }
                let mut source = StreamSource::new(Sized::new(&bytes, sizes))
                    .with_read_ahead(read_ahead)
                    .with_writable(writable);
                let found = source.read_all().unwrap();
                assert!(source.is_finished());
                assert_eq!(source.position(), bytes.len() as u64);
                assert_equal(&expected, &found, &format!("{name}, {sizes:?}, {read_ahead}, {writable}"));
            }
        }
    }
}

#[test]
fn a_read_may_end_at_any_byte() {
    for (name, bytes) in samples().into_iter().filter(|(_, bytes)| bytes.len() < LARGE) {
        let expected = Frames::from_stream(bytes.clone()).unwrap();
        for place in 1..bytes.len() {
            for read_ahead in [0, 1 << 16] {
                let reader = Sized::new(&bytes, &[place, usize::MAX]);
                let found = StreamSource::new(reader).with_read_ahead(read_ahead).read_all().unwrap();
                assert_equal(&expected, &found, &format!("{name}, split at {place}, ahead {read_ahead}"));
            }
        }
    }
}

#[test]
fn a_stream_cut_at_any_byte_is_an_error_or_reported() {
    for (name, bytes) in samples().into_iter().filter(|(_, bytes)| bytes.len() < LARGE) {
        for length in 0..bytes.len() {
            let by_slice = Frames::from_stream(bytes[..length].to_vec());
            for read_ahead in [0, 1 << 16] {
                let mut source = StreamSource::new(&bytes[..length]).with_read_ahead(read_ahead);
                match (&by_slice, source.read_all()) {
                    (Ok(expected), Ok(found)) => {
                        assert!(!source.is_finished());
                        assert_equal(expected, &found, name);
                    }
                    // Where it is cut, and what is missing there.
                    (Err(expected), Err(found)) => assert_eq!(expected.to_string(), found.to_string()),
                    (expected, found) => panic!("{name}, cut at {length}: {expected:?}, {found:?}"),
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_reads_of_any_batches_bring_the_same(
        rows in prop::collection::vec(0usize..3_000, 1..4),
        sizes in prop::collection::vec(1usize..100_000, 1..20),
        read_ahead in prop::sample::select(vec![0usize, 1, 1_000, 65_536, 300_000]),
        is_ours: bool,
        writable: bool,
    ) {
        let batches: Vec<RecordBatch> = rows.into_iter().map(mixed).collect();
        let df = DataFrame::try_from_batches(batches[0].schema(), batches.clone()).unwrap();
        let bytes = if is_ours {
            stream(&Encoder::new(Target::Arrow).with_writable(writable).encode(&df).unwrap())
        } else {
            theirs(&batches)
        };
        let mut source = StreamSource::new(Sized::new(&bytes, &sizes))
            .with_read_ahead(read_ahead)
            .with_writable(writable)
            .with_memory(ReceiveMemory::recycled(1 << 20));
        let found = source.read_all().unwrap();
        let expected = Frames::from_stream(bytes).unwrap();
        prop_assert_eq!(expected.buffers(), found.buffers());
        prop_assert_eq!(from_buffers(found).unwrap().into_record_batches().unwrap(), batches);
    }
}

#[test]
fn every_buffer_of_a_large_body_lies_at_a_multiple_of_64() {
    // 8-aligned in the stream: 16 bytes are not enough for a decimal there, nor for a view.
    let batches = [mixed(20_001), mixed(9_003)];
    let bytes = theirs(&batches);
    let mut source = StreamSource::new(bytes.as_slice());
    let frames = source.read_all().unwrap();
    for (index, frame) in frames.buffers().iter().enumerate() {
        assert_eq!(frame.as_ptr() as usize % 64, 0, "frame {index} of {} bytes", frame.len());
    }
    // Only what is small was moved.
    let small: usize = frames.buffers().iter().map(|b| b.len()).filter(|length| *length < LARGE).sum();
    assert!(source.staged_bytes() <= small as u64, "{} of {small}", source.staged_bytes());
    assert!(frames.buffers().iter().filter(|frame| frame.len() >= LARGE).count() > 5);

    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    assert_eq!(decoder.decode(frames).unwrap().into_record_batches().unwrap(), batches);

    // As it lies in the stream, much of it would be copied.
    let mut decoder = Decoder::new();
    decoder.decode_stream(bytes).unwrap();
    assert!(decoder.copies().of_reason(CopyReason::Misaligned) > 1 << 18);
}

#[test]
fn a_body_of_ours_is_received_as_it_is_into_one_region() {
    let frames = to_buffers(&DataFrame::from(mixed(50_000)), Target::Arrow).unwrap();
    let bytes = stream(&frames);
    let mut source = StreamSource::new(bytes.as_slice());
    let mut messages = Vec::new();
    while let Some(frames) = source.next().unwrap() {
        messages.push(frames);
    }
    assert_eq!(source.staged_bytes(), 0);
    let body = messages.iter().find(|message| message.buffers().len() > 8).unwrap().buffers();
    // They follow each other as in the stream.
    let starts = body.iter().map(|frame| frame.as_ptr() as usize);
    let ends = body.iter().map(|frame| (frame.as_ptr() as usize + frame.len()).next_multiple_of(64));
    assert!(starts.skip(1).eq(ends.take(body.len() - 1)));
}

#[test]
fn small_messages_share_a_block_and_lie_well() {
    let mut encoder = Encoder::new(Target::Arrow);
    let batch =
        batch(vec![Arc::new(Int64Array::from_iter_values(0..100)), Arc::new(Int8Array::from(vec![1; 100]))]);
    let mut bytes = stream(&encoder.start(&batch.schema()).unwrap());
    for _ in 0..50 {
        bytes.extend(stream(&encoder.encode_batch(&batch).unwrap()));
    }
    bytes.extend(stream(&encoder.finish().unwrap()));
    for read_ahead in [0, 1 << 16] {
        let mut source = StreamSource::new(bytes.as_slice()).with_read_ahead(read_ahead);
        let frames = source.read_all().unwrap();
        assert!(frames.buffers().iter().all(|frame| (frame.as_ptr() as usize).is_multiple_of(64)));
        // A block's last message may be cut: its part moves to the next block.
        assert!(source.staged_bytes() <= 4 * 2048, "{}", source.staged_bytes());
        let mut decoder = Decoder::new().with_max_copied_bytes(0);
        assert_eq!(decoder.decode(frames).unwrap().num_rows(), 5_000);
    }
}

#[test]
fn recycled_memory_is_used_again_when_its_last_array_is_dropped() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000_000));
    let bytes = stream(&to_buffers(&DataFrame::from(batch(vec![column.clone()])), Target::Arrow).unwrap());
    let memory = ReceiveMemory::recycled(64 << 20);
    let receive = || {
        let mut source = StreamSource::new(bytes.as_slice()).with_memory(memory.clone());
        from_buffers(source.read_all().unwrap()).unwrap().into_record_batch().unwrap().column(0).clone()
    };
    let address = |array: &ArrayRef| array.to_data().buffers()[0].as_ptr();

    let first = receive();
    let place = address(&first);
    let slice = first.slice(500_000, 2);
    drop(first);
    assert_eq!(memory.idle_bytes(), 0, "a slice is alive");
    let second = receive();
    assert_ne!(address(&second), place, "the slice's memory is not touched");
    assert_eq!(slice.as_primitive::<Int64Type>().values()[..], [500_000, 500_001]);
    drop(slice);
    assert!(memory.idle_bytes() >= 8_000_000);
    let third = receive();
    assert_eq!(address(&third), place);
    assert_eq!(&third, &column);
    assert_eq!(memory.idle_bytes(), 0);
    drop((second, third));
    assert!(memory.idle_bytes() >= 16_000_000);

    // No more is kept than was asked for.
    let memory = ReceiveMemory::recycled(1 << 20);
    let mut source = StreamSource::new(bytes.as_slice()).with_memory(memory.clone());
    drop(source.read_all().unwrap());
    assert_eq!(memory.idle_bytes(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_length_that_is_only_claimed_commits_no_memory() {
    if passes_alone("a_length_that_is_only_claimed_commits_no_memory") {
        return;
    }
    let bytes = stream(&to_buffers(&DataFrame::from(mixed(20_000)), Target::Arrow).unwrap());
    // The last body has two megabytes and claims more; some bytes of it come.
    let layout = Layout::of_stream(&bytes);
    let last = layout.messages.last().unwrap();
    let end = (last.position + last.metadata_bytes) as usize;
    let claims = |length: i64| {
        let mut bytes = bytes[..end + 1_000].to_vec();
        let body = (last.body_bytes as i64).to_le_bytes();
        let place = bytes[..end].windows(8).rposition(|bytes| bytes == body).unwrap();
        bytes[place..place + 8].copy_from_slice(&length.to_le_bytes());
        bytes
    };
    let claimed = claims((1 << 40) - 64);
    let (before, _) = resident();
    let mut source = StreamSource::new(claimed.as_slice());
    let error = loop {
        match source.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a stream without bodies ended well"),
            Err(error) => break error,
        }
    };
    // A system may also refuse the claim at once.
    let is_expected =
        matches!(error.kind(), ErrorKind::Truncated { part: Part::Body, .. } | ErrorKind::Memory { .. });
    assert!(is_expected, "{error}");
    let (_, most) = resident();
    assert!(most - before < 4 << 20, "{before} → {most}");

    let error = StreamSource::new(claims(1 << 41).as_slice()).read_all().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: "max_body_bytes", .. }), "{error}");
}

#[test]
fn what_follows_the_stream_is_left_alone() {
    let bytes = samples().swap_remove(0).1;
    let twice = [&bytes[..], &bytes[..], b"and more"].concat();

    let mut source = StreamSource::new(twice.as_slice());
    source.read_all().unwrap();
    let (rest, leftover) = source.into_parts();
    assert!(leftover.is_empty());
    assert_eq!(rest, &twice[bytes.len()..]);

    // What was read ahead belongs to the next stream.
    let expected = Frames::from_stream(bytes.clone()).unwrap();
    let mut source = StreamSource::new(twice.as_slice()).with_read_ahead(1 << 16);
    assert_equal(&expected, &source.read_all().unwrap(), "the first one");
    assert!(source.next().unwrap().is_none());
    source.restart();
    assert_equal(&expected, &source.read_all().unwrap(), "the second one");
    let (rest, leftover) = source.into_parts();
    assert_eq!([&leftover[..], rest].concat(), b"and more");
}

#[test]
fn a_readers_error_loses_nothing() {
    /// Fails once at some byte.
    struct Fails<'a>(&'a [u8], usize);
    impl Read for Fails<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.1 == 0 {
                self.1 = usize::MAX;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = out.len().min(self.1).min(self.0.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            self.1 -= count;
            Ok(count)
        }
    }
    let bytes = samples().swap_remove(0).1;
    let expected = Frames::from_stream(bytes.clone()).unwrap();
    for place in 0..bytes.len() {
        let mut source = StreamSource::new(Fails(&bytes, place));
        let (mut header, mut buffers, mut failures) = (Vec::new(), Vec::new(), 0);
        loop {
            match source.next() {
                Ok(None) => break,
                Ok(Some(frames)) => {
                    let (message, frames) = frames.into_parts();
                    header.extend_from_slice(&message);
                    buffers.extend(frames);
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
                    failures += 1;
                }
            }
        }
        assert_eq!(failures, 1);
        assert_equal(&expected, &Frames::new(header, buffers), &format!("failed at {place}"));
    }
}

#[test]
fn a_receiver_that_failed_goes_on_failing() {
    let mut receiver = StreamReceiver::new();
    let bytes = [0xff, 0xff, 0xff, 0xff, 0xf0, 0xff, 0xff, 0xff];
    let mut left = &bytes[..];
    let error = loop {
        match receiver.next() {
            Err(error) => break error,
            Ok(frames) => assert!(frames.is_none()),
        }
        let space = receiver.space().unwrap();
        let count = space.len().min(left.len());
        space[..count].copy_from_slice(&left[..count]);
        left = &left[count..];
        receiver.filled(count);
    };
    assert!(matches!(error.kind(), ErrorKind::BadNumber { part: Part::Prefix, position: 0, number: -16 }));
    assert!(receiver.next().is_err() && receiver.space().is_err() && receiver.end().is_err());
    assert!(!receiver.is_finished());
}

#[test]
fn limits_hold_before_anything_is_read() {
    let bytes = samples().swap_remove(1).1;
    for limits in [
        Limits { max_body_bytes: 1_000, ..Limits::default() },
        Limits { max_metadata_bytes: 64, ..Limits::default() },
    ] {
        let mut source = StreamSource::new(bytes.as_slice()).with_limits(limits);
        let error = source.read_all().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
        // The metadata that says so, and nothing of what was too much.
        assert!(source.position() < 4_096, "{}", source.position());
        assert_eq!(source.staged_bytes(), 0);
    }
}

#[test]
fn more_than_there_was_room_for_is_not_believed() {
    // Memory that is used again holds the bytes of another stream: no array may show them.
    let memory = ReceiveMemory::recycled(64 << 20);
    let secret: ArrayRef = Arc::new(Int64Array::from(vec![0x5ec2e7; 100_000]));
    let first = stream(&to_buffers(&DataFrame::from(batch(vec![secret])), Target::Arrow).unwrap());
    let mut source = StreamSource::new(first.as_slice()).with_memory(memory.clone());
    drop(source.read_all().unwrap());
    assert!(memory.idle_bytes() > 0);

    /// Says that it read one byte more than it did, once it is asked for many.
    struct Liar<'a>(&'a [u8]);
    impl Read for Liar<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = out.len().min(self.0.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(if count > LARGE { count + 1 } else { count })
        }
    }
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1; 100_000]));
    let second = stream(&to_buffers(&DataFrame::from(batch(vec![column])), Target::Arrow).unwrap());
    let mut source = StreamSource::new(Liar(&second)).with_memory(memory);
    let error = source.read_all().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::PlaceLost), "{error}");
    assert!(source.next().is_err());

    let mut receiver = StreamReceiver::new();
    receiver.filled(1);
    assert!(receiver.next().is_err(), "nothing was handed out");
}

#[test]
fn a_receiver_may_be_asked_in_any_order() {
    let bytes = samples().swap_remove(0).1;
    let mut receiver = StreamReceiver::new().with_read_ahead(1 << 16);
    let space = receiver.space().unwrap();
    let (length, count) = (space.len(), bytes.len());
    assert_eq!(receiver.space().unwrap().len(), length);
    receiver.space().unwrap()[..count].copy_from_slice(&bytes);
    receiver.filled(count);
    // Whole messages are there, which nobody has asked for: that is no stream that is cut.
    receiver.end().unwrap();
    let mut parts = Vec::new();
    while let Some(frames) = receiver.next().unwrap() {
        parts.push(frames);
    }
    assert!(receiver.is_marked());
    assert_equal(&Frames::from_stream(bytes).unwrap(), &parts.into_iter().collect(), "all at once");
}

#[test]
fn old_end_markers_end_old_streams_only() {
    // Four zeros, as before Arrow 0.15, after messages with the prefixes of today: no end.
    let bytes = samples().swap_remove(0).1;
    let old = [&bytes[..bytes.len() - 8], &[0; 4]].concat();
    let mut source = StreamSource::new(old.as_slice());
    let error = source.read_all().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::EndMarker { position } if *position == old.len() as u64 - 4));
    assert!(!source.is_finished());
    let error = Frames::from_stream(old).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::EndMarker { .. }), "{error}");
}

#[test]
fn a_frame_that_is_marked_often_is_moved_once() {
    let column: ArrayRef = Arc::new(Int8Array::from(vec![1; 60_000]));
    let batch = batch(vec![column]);
    let marks = vec!["[0,1]"; 100_000].join(",");
    let note = format!(r#"{{"version":1,"body_length":60032,"writable":[{marks}]}}"#);
    let hostile = Batch::from(batch.clone()).with_metadata([("arrow_frames", note.as_str())]);
    let df = DataFrame::try_new(batch.schema(), vec![hostile]).unwrap();
    let bytes = stream(&to_buffers(&df, Target::Arrow).unwrap());
    let mut source = StreamSource::new(bytes.as_slice()).with_writable(true);
    let frames = source.read_all().unwrap();
    // The frame once; and the metadata, which moved while it grew.
    assert!(source.staged_bytes() < 60_000 + 2 * note.len() as u64, "{}", source.staged_bytes());
    assert_eq!(from_buffers(frames).unwrap().into_record_batch().unwrap(), batch);
}

/// A column of every type that arrow can change in place, and bytes enough for a region, or few.
fn writable_columns(rows: usize) -> Vec<ArrayRef> {
    let numbers = || (0..rows as i64).map(|n| (n % 3 > 0).then_some(n % 100));
    macro_rules! column {
        ($array:ty, $n:ident => $value:expr) => {
            Arc::new(<$array>::from_iter(numbers().map(|n| n.map(|$n| $value)))) as ArrayRef
        };
    }
    vec![
        column!(Int8Array, n => n as i8),
        column!(UInt16Array, n => n as u16),
        column!(Int32Array, n => n as i32),
        column!(UInt64Array, n => n as u64),
        column!(Float16Array, n => half_of(n)),
        column!(Float32Array, n => n as f32),
        Arc::new(Float64Array::from_iter_values((0..rows).map(|n| n as f64))),
        column!(TimestampMicrosecondArray, n => n),
        column!(Decimal128Array, n => n.into()),
        column!(Decimal256Array, n => i256::from(n)),
        column!(IntervalYearMonthArray, n => n as i32),
        column!(IntervalDayTimeArray, n => IntervalDayTime::new(n as i32, 1)),
        column!(IntervalMonthDayNanoArray, n => IntervalMonthDayNano::new(1, n as i32, n)),
    ]
}

fn half_of(n: i64) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_f64(n as f64)
}

/// Changes a primitive column's values in place, if arrow can; else says no.
fn change_in_place(array: ArrayRef) -> Option<ArrayRef> {
    macro_rules! change {
        ($t:ty, $array:ident) => {{
            let owned = $array.as_primitive::<$t>().clone();
            drop($array);
            let address = owned.values().inner().as_ptr();
            let bitmap = owned.nulls().map(|nulls| nulls.buffer().as_ptr());
            let mut builder = owned.into_builder().ok()?;
            builder.values_slice_mut().reverse();
            let changed = builder.finish();
            // An `Ok` alone can be a copy.
            let is_in_place = changed.values().inner().as_ptr() == address
                && changed.nulls().map(|nulls| nulls.buffer().as_ptr()) == bitmap;
            is_in_place.then(|| Arc::new(changed) as ArrayRef)
        }};
    }
    let data_type = array.data_type().clone();
    downcast_primitive! {
        data_type => (change, array),
        _ => None
    }
}

fn columns_of(df: DataFrame) -> Vec<ArrayRef> {
    let (_, columns, _) = df.into_record_batch().unwrap().into_parts();
    columns
}

#[test]
fn marked_frames_are_received_where_arrow_can_change_them() {
    for rows in [5, 1_000, 100_000] {
        let sent = batch(writable_columns(rows));
        let mut encoder = Encoder::new(Target::Arrow).with_writable(true).with_max_copied_bytes(0);
        let bytes = stream(&encoder.encode(&DataFrame::from(sent.clone())).unwrap());
        for read_ahead in [0, 1 << 16] {
            let mut source =
                StreamSource::new(bytes.as_slice()).with_writable(true).with_read_ahead(read_ahead);
            let frames = source.read_all().unwrap();
            let mut decoder = Decoder::new().with_writable(true).with_max_copied_bytes(0);
            let columns = columns_of(decoder.decode(frames).unwrap());
            for (column, sent) in columns.into_iter().zip(sent.columns()) {
                assert_eq!(&column, sent);
                let context = format!("{} of {rows} rows", column.data_type());
                let nulls = sent.nulls();
                let changed = change_in_place(column).expect(&context);
                assert_eq!(changed.nulls(), nulls);
                assert!(rows < 2 || &changed != sent, "{context}");
            }
        }
    }
}

#[test]
fn frames_that_were_not_marked_or_not_asked_for_share_their_region() {
    let sent = batch(writable_columns(100_000));
    for (is_marked, is_asked) in [(true, false), (false, true), (false, false)] {
        let mut encoder = Encoder::new(Target::Arrow).with_writable(is_marked);
        let bytes = stream(&encoder.encode(&DataFrame::from(sent.clone())).unwrap());
        let frames = StreamSource::new(bytes.as_slice()).with_writable(is_asked).read_all().unwrap();
        let mut decoder = Decoder::new().with_max_copied_bytes(0);
        let columns = columns_of(decoder.decode(frames).unwrap());
        assert_eq!(columns, sent.columns());
        for column in columns {
            assert_eq!(change_in_place(column), None);
        }
    }
}

#[test]
fn asking_for_writable_copies_exactly_what_needs_it() {
    let sent = batch(writable_columns(1_000));
    let frames = to_buffers(&DataFrame::from(sent.clone()), Target::Arrow).unwrap();
    let total: u64 = frames.buffers().iter().map(|frame| frame.len() as u64).sum();
    let (header, buffers) = frames.into_parts();

    // Frames of one region: every byte.
    let shared = Frames::from_stream(stream(&Frames::new(header.clone(), buffers.clone()))).unwrap();
    let mut decoder = Decoder::new().with_writable(true);
    let columns = columns_of(decoder.decode(shared).unwrap());
    assert_eq!(decoder.copies().of_reason(CopyReason::Writable), total);
    assert_eq!(columns, sent.columns());
    assert!(columns.into_iter().all(|column| change_in_place(column).is_some()));

    // One that came as a `Vec` of its element type, and one that came as bytes.
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..500));
    let df = DataFrame::from(batch(vec![column.clone(), column.clone()]));
    let (header, buffers) = to_buffers(&df, Target::Arrow).unwrap().into_parts();
    let right = arrow_buffer::Buffer::from_vec((0..500i64).collect());
    let bytes = arrow_buffer::Buffer::from_vec(buffers[0].to_vec());
    let mut decoder = Decoder::new().with_writable(true);
    let columns = columns_of(decoder.decode(Frames::new(header.clone(), vec![right, bytes])).unwrap());
    assert_eq!(decoder.copies().total(), 4_000);
    assert_eq!(decoder.copies().of_column(1), 4_000);
    assert!(columns.into_iter().all(|column| change_in_place(column).is_some()));

    // Misaligned: copied once, to where it can be changed.
    let misaligned = arrow_buffer::Buffer::from_vec([&[0][..], &buffers[0]].concat()).slice(1);
    let frames = Frames::new(header, vec![misaligned.clone(), misaligned]);
    let mut decoder = Decoder::new().with_writable(true);
    let columns = columns_of(decoder.decode(frames).unwrap());
    assert_eq!(columns, [column.clone(), column]);
    assert_eq!(decoder.copies().of_reason(CopyReason::Writable), 8_000);
    assert_eq!(decoder.copies().total(), 8_000);
    assert!(columns.into_iter().all(|column| change_in_place(column).is_some()));
}

#[test]
fn every_type_can_be_asked_for_as_writable() {
    for case in cases() {
        if matches!(case.field.data_type(), DataType::Dictionary(_, v) if matches!(**v, DataType::Dictionary(..)))
        {
            continue;
        }
        for (rows, nulls) in [(0, Nulls::Some), (1, Nulls::None), (70, Nulls::Some), (9_000, Nulls::Some)] {
            let (field, array) = make(&case.field, rows, nulls);
            let df = one_column(&field, &array);
            let frames = Encoder::new(Target::Arrow).with_writable(true).encode(&df).unwrap();
            let bytes = stream(&frames);
            let frames = StreamSource::new(bytes.as_slice()).with_writable(true).read_all().unwrap();
            let mut decoder = Decoder::new().with_writable(true);
            let decoded = decoder.decode(frames).unwrap();
            assert_same(&df, &decoded, &|| case.name.clone());
            assert_eq!(decoder.copies().of_reason(CopyReason::Writable), 0, "{}", case.name);
        }
    }
}

#[test]
fn marks_that_make_no_sense_are_ignored() {
    let sent = batch(writable_columns(1_000));
    let frames =
        Encoder::new(Target::Arrow).with_writable(true).encode(&DataFrame::from(sent.clone())).unwrap();
    let (header, buffers) = frames.into_parts();
    let note = br#""writable":[["#;
    let place = header.windows(note.len()).position(|bytes| bytes == note).unwrap() + note.len() - 1;
    let end = place + header[place..].windows(2).position(|bytes| bytes == b"]]").unwrap() + 1;
    for marks in [
        "[999,8]",
        "[0,3]",
        "[0,0]",
        "[0,255]",
        "[-1,8]",
        "[1.5,8]",
        "[0]",
        "7",
        "\"x\"",
        "[0,8],[0,2]",
        "[0,64]",
    ] {
        let mut header = header.to_vec();
        header[place..end].fill(b' ');
        header[place..place + marks.len()].copy_from_slice(marks.as_bytes());
        let bytes = stream(&Frames::new(header, buffers.clone()));
        let frames = StreamSource::new(bytes.as_slice()).with_writable(true).read_all().unwrap();
        let df = Decoder::new().with_writable(true).decode(frames).unwrap();
        assert_eq!(columns_of(df), sent.columns(), "{marks}");
    }
}
