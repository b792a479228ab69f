//! Streams as they are written: short writes, interruptions, more slices than a call takes, faults
//! at every operation.

mod common;

use std::io::{self, IoSlice, Write};
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow_frames::{
    DataFrame, Decoder, Encoder, ErrorKind, Layout, MessageKind, StreamSink, StreamSource, Target,
    from_buffers, to_buffers, write_frames, write_segments, write_stream,
};
use common::*;

/// Takes some bytes at a time, and fails at some operations.
#[derive(Default)]
struct Odd {
    written: Vec<u8>,
    /// Bytes per call; 0 is any number.
    most: usize,
    /// Every how many calls there is an interruption.
    interrupted_every: usize,
    /// The call that fails, once.
    fails_at: Option<usize>,
    calls: usize,
}

impl Write for Odd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // As the system does it.
        assert!(slices.len() <= 1024, "{} slices", slices.len());
        self.calls += 1;
        if self.fails_at == Some(self.calls) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.interrupted_every > 0 && self.calls.is_multiple_of(self.interrupted_every) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = if self.most == 0 { usize::MAX } else { self.most };
        let before = self.written.len();
        for slice in slices {
            let left = most - (self.written.len() - before);
            self.written.extend_from_slice(&slice[..slice.len().min(left)]);
        }
        Ok(self.written.len() - before)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.calls += 1;
        if self.fails_at == Some(self.calls) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.interrupted_every > 0 && self.calls.is_multiple_of(self.interrupted_every) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

/// Wide enough for several calls.
fn wide() -> DataFrame {
    let column = |n: i64| (format!("c{n}"), Arc::new(Int64Array::from_iter_values(n..n + 3)) as ArrayRef);
    RecordBatch::try_from_iter((0..2_000).map(column)).unwrap().into()
}

fn batches() -> Vec<RecordBatch> {
    let batch = |n: i64| {
        let text: StringArray = (0..n).map(|n| Some(format!("text {n}"))).collect();
        let columns: [(&str, ArrayRef); 2] =
            [("n", Arc::new(Int64Array::from_iter_values(0..n))), ("text", Arc::new(text))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    vec![batch(100), batch(0), batch(5_000), batch(1)]
}

#[test]
fn a_writer_may_take_any_number_of_bytes() {
    let df = wide();
    let frames = to_buffers(&df, Target::Arrow).unwrap();
    let expected = frames.segments().unwrap().collect::<Vec<_>>().concat();
    assert!(frames.segments().unwrap().count() > 2 * 1024);
    for most in [0, 1, 3, 64, 1_000] {
        for interrupted_every in [0, 2, 5] {
            let mut odd = Odd { most, interrupted_every, ..Odd::default() };
            assert_eq!(write_frames(&mut odd, &frames).unwrap(), expected.len() as u64);
            assert!(odd.written == expected, "{most} bytes, interrupted every {interrupted_every}");
        }
    }
    let mut odd = Odd::default();
    assert_eq!(write_stream(&mut odd, &df, Target::Arrow).unwrap(), expected.len() as u64);
    assert!(odd.written == expected);
    assert!(odd.calls <= 6, "{} calls", odd.calls);
}

#[test]
fn a_writer_that_takes_nothing_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = write_segments(&mut Full, [&b"abc"[..]].into_iter()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::WriteZero));
    assert_eq!(write_segments(&mut Full, [&b""[..]].into_iter()).unwrap(), 0, "nothing was to be written");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let error = write_stream(&mut full, &wide(), Target::Arrow).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::StorageFull),
        "{error}"
    );
}

#[test]
fn a_sink_sends_the_schema_once_and_holds_what_is_small() {
    let batches = batches();
    let mut sink =
        StreamSink::new(Odd::default(), Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
    sink.write(&batches[0]).unwrap();
    sink.write(&batches[1]).unwrap();
    assert_eq!(sink.writer().calls, 0, "less than 64 KiB so far");
    sink.write(&batches[2]).unwrap();
    assert_eq!(sink.writer().calls, 1, "all at once");
    sink.write(&batches[3]).unwrap();
    sink.flush().unwrap();
    assert_eq!(sink.writer().calls, 3, "a write and a flush");
    sink.finish().unwrap();
    let odd = sink.into_writer();
    assert_eq!(odd.calls, 5);

    let layout = Layout::of_stream(&odd.written);
    assert!(layout.is_finished && layout.error.is_none());
    assert_eq!(layout.messages.iter().filter(|m| m.kind == MessageKind::Schema).count(), 1);
    let df = from_buffers(StreamSource::new(odd.written.as_slice()).read_all().unwrap()).unwrap();
    assert_eq!(df.into_record_batches().unwrap(), batches);
}

#[test]
fn a_sink_writes_deltas_where_a_dictionary_only_grows() {
    let values = ["a", "b", "c", "d"];
    let batch = |count: usize| {
        let values = StringArray::from(values[..count].to_vec());
        let keys = Int8Array::from_iter_values(0..count as i8);
        let column: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(values)));
        RecordBatch::try_from_iter([("d", column)]).unwrap()
    };
    let batches = [batch(2), batch(2), batch(4)];
    for deltas in [true, false] {
        let encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(deltas);
        let mut sink = StreamSink::new(Vec::new(), encoder, &batches[0].schema()).unwrap();
        batches.iter().for_each(|batch| sink.write(batch).unwrap());
        sink.finish().unwrap();
        let written = sink.into_writer();
        let layout = Layout::of_stream(&written);
        let dictionaries =
            layout.messages.iter().filter(|m| matches!(m.kind, MessageKind::Dictionary { .. }));
        let are_deltas: Vec<bool> = dictionaries
            .map(|message| matches!(message.kind, MessageKind::Dictionary { is_delta: true, .. }))
            .collect();
        assert_eq!(are_deltas, [false, deltas], "the second batch needs none");
        let df = Decoder::new().decode_stream(written).unwrap();
        assert_eq!(df.into_record_batches().unwrap(), batches);
    }
}

#[test]
fn a_sink_that_is_dropped_leaves_a_stream_that_is_cut() {
    let batches = batches();
    let mut written = Vec::new();
    let mut sink = StreamSink::new(&mut written, Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
    sink.write(&batches[2]).unwrap();
    drop(sink);
    let mut source = StreamSource::new(written.as_slice());
    source.read_all().unwrap();
    assert!(!source.is_finished());
}

#[test]
fn a_fault_at_any_operation_loses_nothing() {
    let batches = batches();
    let whole = |most| {
        let odd = Odd { most, ..Odd::default() };
        let mut sink = StreamSink::new(odd, Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
        batches.iter().for_each(|batch| sink.write(batch).unwrap());
        sink.finish().unwrap();
        sink.into_writer()
    };
    for most in [0, 1_000, 4_096] {
        let expected = whole(most);
        for fails_at in 1..=expected.calls {
            let odd = Odd { most, fails_at: Some(fails_at), ..Odd::default() };
            let mut sink = StreamSink::new(odd, Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
            let mut failures = 0;
            let mut check = |result: arrow_frames::Result<()>| {
                if let Err(error) = result {
                    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == io::ErrorKind::TimedOut));
                    failures += 1;
                }
            };
            for batch in &batches {
                check(sink.write(batch));
            }
            check(sink.flush());
            // The end is written once, however often it takes.
            check(sink.finish());
            check(sink.finish());
            check(sink.finish());
            let odd = sink.into_writer();
            assert!(odd.written == expected.written, "{most} bytes, failed at {fails_at}");
            assert_eq!(failures, 1, "{most} bytes, failed at {fails_at} of {}", expected.calls);
        }
    }
}

#[test]
fn a_batch_that_is_refused_leaves_the_stream_as_it_was() {
    let batches = batches();
    let other = RecordBatch::try_from_iter([("x", Arc::new(Int8Array::from(vec![1])) as ArrayRef)]).unwrap();
    let mut sink = StreamSink::new(Vec::new(), Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
    sink.write(&batches[0]).unwrap();
    let error = sink.write(&other).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SchemaMismatch { .. }), "{error}");
    sink.write(&batches[3]).unwrap();
    sink.finish().unwrap();
    let df = Decoder::new().decode_stream(sink.into_writer()).unwrap();
    assert_same(
        &DataFrame::try_from_batches(batches[0].schema(), vec![batches[0].clone(), batches[3].clone()])
            .unwrap(),
        &df,
        &|| "after a refusal".to_owned(),
    );
}

#[test]
fn a_writer_that_lies_about_its_count_is_an_error() {
    struct Liar;
    impl Write for Liar {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len() + 1)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = write_segments(&mut Liar, [&b"abc"[..]].into_iter()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == io::ErrorKind::InvalidData), "{error}");
}

#[test]
fn every_type_comes_back_from_a_sink() {
    for target in [Target::Arrow, Target::Pandas] {
        for case in cases() {
            let (field, first) = make(&case.field, 100, Nulls::Some);
            let (_, second) = make(&case.field, 9_000, Nulls::None);
            let (first, second) = (one_column(&field, &first), one_column(&field, &second));
            let batches: Vec<RecordBatch> =
                [&first, &second, &first].map(|df| df.clone().into_record_batch().unwrap()).into();
            let encoder = Encoder::new(target);
            let mut sink = match StreamSink::new(Vec::new(), encoder, &batches[0].schema()) {
                Ok(sink) => sink,
                Err(error) => {
                    // Types that Arrow IPC, or a form for pandas, cannot say.
                    let is_known = matches!(
                        error.kind(),
                        ErrorKind::DictionaryOfDictionary { .. } | ErrorKind::Inexact { .. }
                    );
                    assert!(is_known, "{}: {error}", case.name);
                    continue;
                }
            };
            let written = batches.iter().try_for_each(|batch| sink.write(batch));
            match written {
                Err(error) if target == Target::Pandas => {
                    assert!(matches!(error.kind(), ErrorKind::Inexact { .. }), "{}: {error}", case.name);
                    continue;
                }
                written => written.unwrap(),
            }
            sink.finish().unwrap();
            let stream = sink.into_writer();
            let mut source = StreamSource::new(stream.as_slice()).with_read_ahead(5_000);
            let df = from_buffers(source.read_all().unwrap()).unwrap();
            let df = Decoder::new().resolve(df).unwrap();
            let sent = DataFrame::try_from_batches(batches[0].schema(), batches).unwrap();
            if target == Target::Arrow {
                assert_same(&sent, &df, &|| case.name.clone());
            } else {
                // The metadata for pandas came on top.
                assert_eq!(sent.num_rows(), df.num_rows(), "{}", case.name);
                let (sent, df) = (sent.into_record_batches().unwrap(), df.into_record_batches().unwrap());
                for (sent, df) in sent.iter().zip(&df) {
                    assert_same_array(sent.column(0), df.column(0), &|| case.name.clone());
                }
            }
        }
    }
}
