//! An object that is no dataframe: its pickle and the pickle's buffers, and nothing else.

#[path = "golden/object.rs"]
mod golden;

use arrow_buffer::Buffer;
use arrow_frames::{DataFrame, Decoder, ErrorKind, Fault, Frames, Target, from_buffers, to_buffers};
use arrow_schema::{DataType, Field, Metadata, Schema};

fn object() -> Vec<Buffer> {
    golden::buffers()
}

fn frames() -> Frames {
    golden::frames().unwrap()
}

fn stream() -> Vec<u8> {
    golden::stream().unwrap()
}

#[test]
fn the_golden_file_is_what_is_written_today() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden/object.arrows");
    assert!(std::fs::read(path).unwrap() == stream(), "`cargo xtask golden`");
}

#[test]
fn its_buffers_are_the_frames_and_come_back_as_they_are() {
    let sent = object();
    let frames = to_buffers(&DataFrame::of_object(sent.clone()), Target::Arrow).unwrap();
    let addresses = |buffers: &[Buffer]| buffers.iter().map(|b| (b.as_ptr(), b.len())).collect::<Vec<_>>();
    assert_eq!(addresses(frames.buffers()), addresses(&sent));
    let df = from_buffers(frames).unwrap();
    assert_eq!(addresses(df.object().unwrap()), addresses(&sent));
    assert_eq!((df.num_columns(), df.num_rows(), df.batches().len()), (0, 0, 1));
}

#[test]
fn the_note_calls_its_column_minus_one() {
    let header = frames().header().to_vec();
    let expected =
        br#"{"version":1,"body_length":384,"opaque":[{"column":-1,"frames":[[0,8],[64,200],[320,3]]}]}"#;
    assert!(header.windows(expected.len()).any(|bytes| bytes == expected));
}

#[test]
fn it_is_a_stream_as_any_other() {
    let mut decoder = Decoder::new();
    let df = decoder.decode_stream(stream()).unwrap();
    assert!(decoder.is_finished());
    assert_eq!(df.object().unwrap()[1].as_slice(), [7; 200]);
}

#[test]
fn empty_buffers_are_no_frames_and_come_back_empty() {
    let object = vec![Buffer::from(b"\x80\x05\x97."), Buffer::default()];
    let frames = to_buffers(&DataFrame::of_object(object), Target::Pandas).unwrap();
    assert_eq!(frames.buffers().len(), 1);
    let df = from_buffers(frames).unwrap();
    assert_eq!(df.object().unwrap().iter().map(Buffer::len).collect::<Vec<_>>(), [4, 0]);
}

#[test]
fn metadata_of_the_schema_is_kept() {
    let metadata = Metadata::new().with("kind", "an object");
    let df = DataFrame::of_object(object()).with_schema_metadata(metadata.clone());
    let df = from_buffers(to_buffers(&df, Target::Arrow).unwrap()).unwrap();
    assert_eq!(df.schema().metadata(), &metadata);
}

#[cfg(feature = "lz4")]
#[test]
fn it_can_be_compressed() {
    use arrow_frames::{Compression, Encoder};
    let mut encoder = Encoder::new(Target::Arrow).with_compression(Compression::Lz4);
    let frames = encoder.encode(&DataFrame::of_object(object())).unwrap();
    assert!(frames.buffers()[1].len() < 100);
    let df = from_buffers(frames).unwrap();
    let lengths: Vec<usize> = df.object().unwrap().iter().map(Buffer::len).collect();
    assert_eq!(lengths, [8, 200, 3]);
    assert_eq!(df.object().unwrap()[1].as_slice(), [7; 200]);
}

#[test]
fn it_is_no_record_batch() {
    let df = from_buffers(frames()).unwrap();
    for error in [df.clone().into_record_batch().unwrap_err(), df.into_record_batches().unwrap_err()] {
        assert!(matches!(error.kind(), ErrorKind::WholeObject { columns: 0 }), "{error}");
        assert_eq!(error.fault(), Fault::Caller);
    }
}

#[test]
fn beside_columns_it_is_refused() {
    let schema = Schema::new(vec![Field::new("n", DataType::Null, true)]);
    let (with_column, _) =
        to_buffers(&DataFrame::try_new(schema.into(), vec![]).unwrap(), Target::Arrow).unwrap().into_parts();
    let (header, buffers) = frames().into_parts();
    // Another schema before the same batch: each is a whole number of 64 bytes, the end marker 8.
    let own_schema = 8 + i32::from_le_bytes(header[4..8].try_into().unwrap()) as usize;
    let mut forged = with_column[..with_column.len() - 8].to_vec();
    forged.extend_from_slice(&header[own_schema..]);
    // Its batch has no node for the column, so that this is said first, or it is that there is an object.
    let error = from_buffers(Frames::new(forged, buffers)).unwrap_err();
    assert_eq!(error.fault(), Fault::Input);
}

#[test]
fn without_its_note_there_is_no_object_and_nothing_else() {
    let (header, _) = frames().into_parts();
    let mut forged = header.to_vec();
    let at = forged.windows(9).position(|bytes| bytes == b"\"version\"").unwrap();
    forged[at + 10] = b'2';
    // A version that is not known: its frames are nobody's.
    let error = from_buffers(Frames::new(forged, frames().into_parts().1)).unwrap_err();
    assert_eq!(error.fault(), Fault::Input, "{error}");
}

#[test]
fn every_cut_and_every_flipped_bit_is_an_error_or_an_object_of_as_many_bytes() {
    let stream = stream();
    for length in 0..stream.len() - 8 {
        if let Ok(df) = Decoder::new().decode_stream(Buffer::from(&stream[..length])) {
            // Between two messages.
            assert!(df.object().is_none(), "cut at {length}");
        }
    }
    for position in 0..stream.len() {
        for bit in 0..8 {
            let mut flipped = stream.clone();
            flipped[position] ^= 1 << bit;
            if let Ok(df) = Decoder::new().decode_stream(flipped) {
                let bytes: usize = df.object().unwrap_or_default().iter().map(Buffer::len).sum();
                assert!(bytes <= stream.len());
            }
        }
    }
}
