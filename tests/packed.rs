//! One blob in dask.distributed's layout: what is packed comes apart again, and what is not
//! whole is an error.

mod common;

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_frames::{
    DataFrame, Decoder, Encoder, ErrorKind, Frames, Packed, Part, Target, from_buffers, pack, to_buffers,
    unpack, unpack_partial, unpack_with_remainder,
};
use common::*;
use proptest::prelude::*;

fn bytes(packed: &Packed<'_>) -> Vec<u8> {
    packed.segments().collect::<Vec<_>>().concat()
}

fn slices(frames: &[Buffer]) -> Vec<&[u8]> {
    frames.iter().map(Buffer::as_slice).collect()
}

fn dataframe() -> DataFrame {
    let columns: [(&str, ArrayRef); 2] = [
        ("price", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.5)]))),
        ("city", Arc::new(StringArray::from(vec!["Oslo", "", "Rome"]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap().into()
}

#[test]
fn the_layout_is_distributeds() {
    // struct.pack("<4Q", 3, 2, 0, 1) + b"abc"
    let expected =
        [&3u64.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8], &1u64.to_le_bytes(), b"abc"].concat();
    let frames = [&b"ab"[..], b"", b"c"];
    let packed = pack(&frames);
    assert_eq!(packed.segments().num_bytes(), expected.len() as u64);
    assert_eq!(bytes(&packed), expected);
    assert_eq!(bytes(&pack::<&[u8]>(&[])), [0; 8]);
    assert!(unpack(vec![0; 8]).unwrap().is_empty());
}

#[test]
fn unpacking_only_slices() {
    let packed = Buffer::from(bytes(&pack(&[&b"ab"[..], b"", b"cdef"])));
    let frames = unpack(packed.clone()).unwrap();
    assert_eq!(frames[0].as_ptr(), packed[32..].as_ptr());
    assert_eq!(frames[2].as_ptr(), packed[34..].as_ptr());
}

#[test]
fn what_is_cut_is_an_error_that_says_where() {
    let frames = [&b"ab"[..], b"", b"cdef"];
    let packed = bytes(&pack(&frames));
    for length in 0..packed.len() {
        let error = unpack(packed[..length].to_vec()).unwrap_err();
        let ErrorKind::Truncated { part, position, needed, available } = *error.kind() else {
            panic!("{error}");
        };
        assert_eq!(position + available, length as u64, "{error}");
        assert!(needed > available);
        assert_eq!(part, if length < 32 { Part::Prelude } else { Part::Frame });
    }
    // Nothing is believed of a count or a length.
    for number in [3, 1 << 32, 1 << 61, u64::MAX] {
        let error = unpack([&number.to_le_bytes()[..], &[0; 16]].concat()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { part: Part::Prelude, .. }), "{error}");
        let error = unpack([&1u64.to_le_bytes()[..], &number.to_le_bytes(), b"ab"].concat()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Truncated { part: Part::Frame, position: 16, .. }),
            "{error}"
        );
    }
}

#[test]
fn the_remainder_and_missing_frames_are_as_distributeds() {
    let frames = [&b"ab"[..], b"", b"cdef", b""];
    let packed = bytes(&pack(&frames));
    let twice = [&packed[..], &packed].concat();
    let (first, rest) = unpack_with_remainder(twice.clone()).unwrap();
    assert_eq!(slices(&first), frames);
    assert_eq!(rest.as_slice(), packed);
    assert_eq!(slices(&unpack(twice).unwrap()), frames, "what follows is ignored");
    let (last, rest) = unpack_with_remainder(rest).unwrap();
    assert_eq!(slices(&last), frames);
    assert!(rest.is_empty());

    // As `unpack_frames(partial=True)`: a frame of no bytes at the end is missing too.
    let expected: [(usize, usize, &[u64]); 3] = [(40, 0, &[2, 0, 4, 0]), (42, 1, &[0, 4, 0]), (46, 3, &[0])];
    for (length, count, missing) in expected {
        let (there, lengths) = unpack_partial(packed[..length].to_vec()).unwrap();
        assert_eq!(slices(&there), &frames[..count]);
        assert_eq!(lengths, missing);
    }
    // Theirs asserts that a frame is whole or not there.
    for length in [39, 41, 43, 45] {
        assert!(unpack_partial(packed[..length].to_vec()).is_err());
    }
}

proptest! {
    #[test]
    fn whatever_is_packed_comes_apart(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..10)) {
        let packed = bytes(&pack(&frames));
        let unpacked = unpack(packed).unwrap();
        prop_assert_eq!(unpacked.len(), frames.len());
        prop_assert!(unpacked.iter().zip(&frames).all(|(a, b)| a.as_slice() == b));
    }

    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpack_partial(bytes.clone());
        let _ = Frames::from_packed(bytes);
    }
}

#[test]
fn aligned_blobs_need_no_copy() {
    let df = dataframe();
    let frames = to_buffers(&df, Target::Arrow).unwrap();
    let packed = frames.packed_aligned().unwrap();
    let blob = bytes(&packed);
    assert_eq!(packed.segments().num_bytes(), blob.len() as u64);
    let mut aligned = arrow_buffer::MutableBuffer::new(blob.len());
    aligned.extend_from_slice(&blob);
    let blob: Buffer = aligned.into();
    // The header is read at any address.
    for frame in &unpack(blob.clone()).unwrap()[1..] {
        assert_eq!(frame.as_ptr() as usize % 64, 0);
        assert_eq!(frame.len() % 8, 0);
    }
    let again = Frames::from_packed(blob).unwrap();
    assert_eq!(again.header(), frames.header());
    assert_eq!(again.buffers(), frames.buffers());
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    assert_same(&df, &decoder.decode(again).unwrap(), &|| "aligned".to_owned());
}

#[test]
fn a_part_of_a_stream_is_packed_as_it_is_and_not_padded() {
    let batch = dataframe().into_record_batch().unwrap();
    let mut encoder = Encoder::new(Target::Arrow);
    let parts = [
        encoder.start(&batch.schema()).unwrap(),
        encoder.encode_batch(&batch).unwrap(),
        encoder.finish().unwrap(),
    ];
    let mut decoder = Decoder::new();
    let mut rows = 0;
    for part in &parts {
        assert_eq!(
            part.packed_aligned().is_ok(),
            part.header().ends_with(&[0; 4]) && part.header().len() == 8
        );
        rows += decoder.decode(Frames::from_packed(bytes(&part.packed())).unwrap()).unwrap().num_rows();
    }
    assert_eq!(rows, 3);
    assert!(decoder.is_finished());
}

#[test]
fn frames_that_are_not_those_of_the_header_are_refused() {
    let frames = to_buffers(&dataframe(), Target::Arrow).unwrap();
    let parts: Vec<&[u8]> =
        std::iter::once(frames.header()).chain(frames.buffers()).map(|buffer| buffer.as_slice()).collect();
    let refused = |parts: &[&[u8]]| Frames::from_packed(bytes(&pack(parts))).unwrap_err().into_kind();
    assert!(matches!(refused(&[]), ErrorKind::SchemaMissing { .. }));
    assert!(matches!(refused(&parts[..3]), ErrorKind::FrameCount { expected: 4, found: 2 }));
    let mut longer = parts.clone();
    let frame = [parts[2], b"x"].concat();
    longer[2] = &frame;
    assert!(matches!(refused(&longer), ErrorKind::FrameLength { frame: 1, .. }));
    let mut shorter = parts.clone();
    shorter[2] = &parts[2][1..];
    assert!(matches!(refused(&shorter), ErrorKind::FrameLength { frame: 1, .. }));
}

#[test]
fn a_changed_byte_is_an_error_or_a_dataframe() {
    let frames = to_buffers(&dataframe(), Target::Arrow).unwrap();
    for packed in [frames.packed(), frames.packed_aligned().unwrap()] {
        let whole = bytes(&packed);
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut blob = whole.clone();
                blob[place] ^= 1 << bit;
                if let Ok(frames) = Frames::from_packed(blob)
                    && let Ok(df) = from_buffers(frames)
                {
                    assert_valid(&df, &|| format!("bit {bit} of byte {place}"));
                }
            }
        }
    }
}

#[test]
fn every_type_comes_back_from_a_blob() {
    for case in cases() {
        for rows in [0, 1, 100] {
            let (field, array) = make(&case.field, rows, Nulls::Some);
            let df = one_column(&field, &array);
            let frames = to_buffers(&df, Target::Arrow).unwrap();
            for packed in [frames.packed(), frames.packed_aligned().unwrap()] {
                let again = from_buffers(Frames::from_packed(bytes(&packed)).unwrap()).unwrap();
                assert_same(&df, &again, &|| case.name.clone());
            }
        }
    }
}
