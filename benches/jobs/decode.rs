//! Decoding what lies in one region of memory on both sides: for `Decoder` as frames that
//! share it, for `StreamDecoder` as a stream, which it slices.

use std::hint::black_box;

use arrow::array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_frames::{DataFrame, Decoder, Encoder, Frames, Target, from_buffers, to_buffers};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamEncoder;

use super::{Run, joined, written_by_peer};

/// Each batch by itself, with schema and dictionaries known.
pub fn batches(data: &[RecordBatch]) -> Run {
    let mut encoder = Encoder::new(Target::Arrow);
    let mut decoder = Decoder::new();
    decoder.decode(encoder.start(data[0].schema_ref()).expect("a schema")).expect("decodes");
    decoder.decode(encoder.encode_batch(&data[0]).expect("encodes")).expect("decodes dictionaries");
    let encoded = data.iter().map(|batch| encoder.encode_batch(batch).expect("encodes"));
    let messages: Vec<Frames> = encoded.map(received).collect();
    Box::new(move || {
        let mut batches = Vec::with_capacity(messages.len());
        for frames in black_box(&messages) {
            let df = decoder.decode(frames.clone()).expect("decodes");
            batches.extend(df.into_record_batches().expect("native columns"));
        }
        batches
    })
}

pub fn batches_by_peer(data: &[RecordBatch]) -> Run {
    let mut encoder = StreamEncoder::try_new(data[0].schema_ref()).expect("a schema");
    let mut decoder = StreamDecoder::new();
    let mut first = joined(&encoder.encode(&data[0]).expect("encodes"));
    decoder.decode(&mut first).expect("decodes").expect("schema, dictionaries and a batch");
    let messages: Vec<Buffer> =
        data.iter().map(|batch| joined(&encoder.encode(batch).expect("encodes"))).collect();
    Box::new(move || {
        let mut batches = Vec::with_capacity(messages.len());
        for message in black_box(&messages) {
            let mut message = message.clone();
            batches.push(decoder.decode(&mut message).expect("decodes").expect("a batch"));
        }
        batches
    })
}

/// All frames of a dataframe.
pub fn frames(data: &[RecordBatch]) -> Run {
    let df = DataFrame::try_from_batches(data[0].schema(), data.to_vec()).expect("one schema");
    let frames = received(to_buffers(&df, Target::Arrow).expect("encodes"));
    Box::new(move || {
        let df = from_buffers(black_box(&frames).clone()).expect("decodes");
        df.into_record_batches().expect("native columns")
    })
}

/// A stream that has come in one buffer.
pub fn stream(data: &[RecordBatch]) -> Run {
    let stream = Buffer::from_vec(written_by_peer(data));
    Box::new(move || {
        let mut decoder = Decoder::new();
        let df = decoder.decode_stream(black_box(&stream).clone()).expect("decodes");
        assert!(decoder.is_finished(), "came to the end");
        df.into_record_batches().expect("native columns")
    })
}

pub fn stream_by_peer(data: &[RecordBatch]) -> Run {
    let stream = Buffer::from_vec(written_by_peer(data));
    Box::new(move || {
        let mut stream = black_box(&stream).clone();
        let mut decoder = StreamDecoder::new();
        let mut batches = Vec::new();
        while let Some(batch) = decoder.decode(&mut stream).expect("decodes") {
            batches.push(batch);
        }
        decoder.finish().expect("came to the end");
        batches
    })
}

/// Frames as they arrive: in one region of memory, as the peer's stream is.
fn received(frames: Frames) -> Frames {
    let stream = frames.segments().expect("is a stream").collect::<Vec<_>>().concat();
    Frames::from_stream(Buffer::from_vec(stream)).expect("is a stream")
}
