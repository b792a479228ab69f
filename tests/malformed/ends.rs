//! Where a stream ends: the marker of 4 bytes ends only streams of Arrow before 0.15.

use arrow::array::{Array, AsArray};
use arrow::datatypes::*;
use arrow_frames::{
    DataFrame, Decoder, Error, ErrorKind, Frames, Layout, StreamReceiver, StreamSource, Target, Tensor,
    from_buffers, to_buffers,
};

use crate::common::assert_same;
use crate::raw::{self, rows};
use crate::touch::{Form, decode, decode_frames};

/// The message of today, or as it was before 0.15: without the continuation marker.
fn prefixed(message: &[u8], is_long: bool) -> Vec<u8> {
    if is_long { message.to_vec() } else { message[4..].to_vec() }
}

/// A stream of a schema and two batches, each with one of the two prefixes, and an end.
fn stream(prefixes: [bool; 3], end: &[u8]) -> Vec<u8> {
    let batch = rows(1).array(1).bytes(&[7]).batch();
    let messages = [raw::column(DataType::Int8), batch.clone(), batch];
    let mut bytes = Vec::new();
    for (message, is_long) in messages.iter().zip(prefixes) {
        bytes.extend(prefixed(message, is_long));
    }
    bytes.extend_from_slice(end);
    bytes
}

const SHORT: [u8; 4] = [0; 4];

#[track_caller]
fn assert_no_end<T>(result: Result<T, Error>, at: usize) {
    match result.map_err(Error::into_kind) {
        Err(ErrorKind::EndMarker { position }) => assert_eq!(position, at as u64),
        Err(kind) => panic!("{kind}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn short_end_markers_behind_long_prefixes() {
    for case in 0..8 {
        let prefixes = [case & 1 > 0, case & 2 > 0, case & 4 > 0];
        // The end marker of today ends any stream, that of old streams only old ones.
        let long = stream(prefixes, &raw::END);
        assert_eq!(decode(&long, Form::Stream).unwrap().num_rows(), 2);
        let short = stream(prefixes, &SHORT);
        if case == 0 {
            assert_eq!(decode(&short, Form::Stream).unwrap().num_rows(), 2);
            continue;
        }
        let at = short.len() - 4;
        assert_no_end(Frames::from_stream(short.clone()), at);
        assert_no_end(Decoder::new().decode_stream(short.clone()), at);
        assert_no_end(StreamSource::new(short.as_slice()).read_all(), at);
        assert_no_end(Layout::of_stream(&short).error.map_or(Ok(()), Err), at);
        assert!(decode(&short, Form::Stream).is_err());
        // What follows it does not make it better.
        assert_no_end(Frames::from_stream([short.as_slice(), &[1; 64]].concat()), at);
    }
}

#[test]
fn short_end_markers_of_headers() {
    let whole = stream([true; 3], &raw::END);
    let frames = Frames::from_stream(whole).unwrap();
    let header = frames.header();
    let messages = header.len() - raw::END.len();
    let cut = [&header[..messages], &SHORT].concat();
    let with = |header: Vec<u8>| Frames::new(header, frames.buffers().to_vec());
    assert_no_end(from_buffers(with(cut.clone())), messages);
    assert_no_end(with(cut.clone()).segments(), messages);
    assert_no_end(with(cut.clone()).file_form(), messages);
    assert_no_end(Layout::of_frames(&with(cut.clone())).error.map_or(Ok(()), Err), messages);
    let packed: Vec<u8> = with(cut.clone()).packed().segments().flatten().copied().collect();
    assert_no_end(Frames::from_packed(packed), messages);
    assert!(decode_frames(&with(cut)).is_err());
}

#[test]
fn short_end_markers_that_come_in_a_call_of_their_own() {
    for is_long in [true, false] {
        let schema = prefixed(&raw::column(DataType::Int8), is_long);
        let mut decoder = Decoder::new();
        decoder.decode(Frames::new(schema.clone(), vec![])).unwrap();
        let end = decoder.decode(Frames::new(SHORT.to_vec(), vec![]));
        if is_long {
            assert_no_end(end, 0);
        } else {
            end.unwrap();
            assert!(decoder.is_finished());
        }
        // A stream that starts anew has its own prefixes.
        let mut decoder = Decoder::new();
        decoder.decode(Frames::new(raw::column(DataType::Int8), vec![])).unwrap();
        let again = [prefixed(&raw::column(DataType::Int8), is_long), SHORT.to_vec()].concat();
        assert_eq!(decoder.decode(Frames::new(again, vec![])).is_ok(), !is_long);
        // So has one that a receiver goes on to.
        let mut receiver = StreamReceiver::new();
        let streams = [stream([true; 3], &raw::END), stream([is_long; 3], &SHORT)].concat();
        let mut bytes = streams.as_slice();
        let mut take = |receiver: &mut StreamReceiver| -> Result<(), Error> {
            while !receiver.is_finished() {
                if receiver.next()?.is_none() && !receiver.is_finished() {
                    let space = receiver.space()?;
                    let count = space.len().min(bytes.len());
                    space[..count].copy_from_slice(&bytes[..count]);
                    bytes = &bytes[count..];
                    receiver.filled(count);
                }
            }
            Ok(())
        };
        take(&mut receiver).unwrap();
        receiver.restart();
        let second = take(&mut receiver);
        if is_long {
            assert_no_end(second, streams.len() - 4 - (streams.len() - stream([true; 3], &SHORT).len()));
        } else {
            second.unwrap();
            assert!(receiver.is_marked());
        }
    }
}

#[test]
fn a_stream_that_is_nothing_but_an_end_has_no_schema() {
    for end in [&SHORT[..], &raw::END] {
        let error = decode(end, Form::Stream).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::SchemaMissing { .. }), "{error}");
    }
}

/// A length that is wrong by a bit is refused, or all is read all the same: 4 bytes more take the
/// next continuation marker for padding, and what follows that for a prefix of 4 bytes.
#[test]
fn a_flipped_bit_in_a_length_ends_no_stream() {
    let batch = arrow::array::RecordBatch::try_from_iter([
        ("numbers", std::sync::Arc::new(arrow::array::Int64Array::from_iter_values(0..100)) as _),
        ("zeros", std::sync::Arc::new(arrow::array::Int64Array::from(vec![0; 100])) as _),
    ]);
    let expected = DataFrame::from(batch.unwrap());
    let frames = to_buffers(&expected, Target::Arrow).unwrap();
    let good: Vec<u8> = frames.segments().unwrap().flatten().copied().collect();
    let found = crate::sites::of_stream(&good, 0);
    let mut count = 0;
    for message in &found.messages {
        let length = message.sites.iter().find(|site| site.what == "metadata length").unwrap();
        for bit in 0..32 {
            let mut bytes = good.clone();
            bytes[length.position + bit / 8] ^= 1 << (bit % 8);
            match decode(&bytes, Form::Stream) {
                Err(_) => count += 1,
                Ok(df) => assert_same(&expected, &df, &|| format!("bit {bit} at {}", length.position)),
            }
        }
    }
    assert!(count >= 62, "{count}");
}

#[test]
fn layouts_say_where_the_end_is() {
    let good = stream([true; 3], &raw::END);
    let length = good.len() as u64;
    assert_eq!(Layout::of_stream(&good).end, Some(length));
    // What follows is not of the stream.
    assert_eq!(Layout::of_stream(&[good.as_slice(), b"more"].concat()).end, Some(length));
    assert_eq!(Layout::of_stream(&stream([true; 3], &[])).end, None);
    let frames = Frames::from_stream(good).unwrap();
    assert_eq!(Layout::of_frames(&frames).end, Some(frames.header().len() as u64));
    let frames = Tensor::from(vec![1.5, 2.5]).to_frames().unwrap();
    let tensor: Vec<u8> = frames.segments().unwrap().flatten().copied().collect();
    let layout = Layout::of_stream(&[tensor.as_slice(), b"more"].concat());
    assert_eq!(layout.end, Some(tensor.len() as u64));
}

#[test]
fn old_streams_with_values_are_read() {
    let bytes = stream([false; 3], &SHORT);
    let batch = decode(&bytes, Form::Stream).unwrap().into_record_batch().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int8Type>().values(), &[7, 7]);
    assert_eq!(batch.column(0).null_count(), 0);
}
