//! Encoding: `StreamEncoder` returns shared buffers as `Encoder` does.

use std::hint::black_box;

use arrow::array::RecordBatch;
use arrow_frames::{DataFrame, Encoder, Target, to_buffers};
use arrow_ipc::writer::StreamEncoder;

use super::Run;

/// Each batch by itself, in the middle of a stream.
pub fn batches(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    let mut encoder = Encoder::new(Target::Arrow);
    encoder.start(data[0].schema_ref()).expect("a schema");
    encoder.encode_batch(&data[0]).expect("encodes, with its dictionaries");
    Box::new(move || {
        for batch in black_box(&data) {
            drop(black_box(encoder.encode_batch(batch).expect("encodes")));
        }
        Vec::new()
    })
}

pub fn batches_by_peer(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    let mut encoder = StreamEncoder::try_new(data[0].schema_ref()).expect("a schema");
    encoder.encode(&data[0]).expect("encodes, with schema and dictionaries");
    Box::new(move || {
        for batch in black_box(&data) {
            drop(black_box(encoder.encode(batch).expect("encodes")));
        }
        Vec::new()
    })
}

/// All from the schema to the end marker, at once.
pub fn whole(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    Box::new(move || {
        let data = black_box(&data);
        let df = DataFrame::try_from_batches(data[0].schema(), data.clone()).expect("one schema");
        drop(black_box(to_buffers(&df, Target::Arrow).expect("encodes")));
        Vec::new()
    })
}

pub fn whole_by_peer(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    Box::new(move || {
        let data = black_box(&data);
        let mut encoder = StreamEncoder::try_new(data[0].schema_ref()).expect("a schema");
        let mut buffers = Vec::new();
        for batch in data {
            buffers.extend(encoder.encode(batch).expect("encodes"));
        }
        buffers.extend(encoder.finish().expect("ends"));
        drop(black_box(buffers));
        Vec::new()
    })
}
