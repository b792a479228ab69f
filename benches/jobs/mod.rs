//! The jobs that are measured, each beside arrow-ipc doing the same on the same data.
//!
//! Both sides are handed shared memory anew each time, validate, and drop what they made.
//! `StreamEncoder` returns shared buffers as `Encoder` does. What is decoded lies in one region
//! of memory on both sides: for `Decoder` as frames, for `StreamDecoder` as a stream, from which
//! it slices.

use std::hint::black_box;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_frames::{DataFrame, Decoder, Encoder, Frames, Target, from_buffers, to_buffers};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamEncoder;

/// Columns × rows of float64 without nulls.
pub const SHAPES: [(usize, usize); 3] = [(10, 1_000_000), (100, 10_000), (10_000, 100)];

/// A job by name, and who can do it.
pub const JOBS: [(&str, &[&str]); 4] = [
    ("encode_batch", &["arrow_frames", "StreamEncoder"]),
    ("encode_one_shot", &["arrow_frames", "StreamEncoder"]),
    ("decode_batch", &["arrow_frames", "StreamDecoder"]),
    ("decode_self_contained", &["arrow_frames", "arrow_frames_stream", "StreamDecoder"]),
];

/// The name of a shape.
pub fn shape_name((columns, rows): (usize, usize)) -> String {
    format!("{columns}x{rows}_f64")
}

/// Sets a job up: each call of what is returned does it once.
pub fn job(name: &str, shape: (usize, usize), side: &str) -> Box<dyn FnMut()> {
    let batch = floats(shape);
    let schema = batch.schema();
    match (name, side) {
        ("encode_batch", "arrow_frames") => {
            let mut encoder = Encoder::new(Target::Arrow);
            encoder.start(&schema).expect("a schema of floats");
            Box::new(move || drop(black_box(encoder.encode_batch(black_box(&batch)).expect("encodes"))))
        }
        ("encode_batch", "StreamEncoder") => {
            let mut encoder = StreamEncoder::try_new(&schema).expect("a schema of floats");
            encoder.encode(&batch).expect("encodes");
            Box::new(move || drop(black_box(encoder.encode(black_box(&batch)).expect("encodes"))))
        }
        ("encode_one_shot", "arrow_frames") => Box::new(move || {
            let df = DataFrame::from(black_box(&batch).clone());
            drop(black_box(to_buffers(&df, Target::Arrow).expect("encodes")));
        }),
        ("encode_one_shot", "StreamEncoder") => Box::new(move || {
            let batch = black_box(&batch);
            let mut encoder = StreamEncoder::try_new(&batch.schema()).expect("a schema of floats");
            let mut buffers = encoder.encode(batch).expect("encodes");
            buffers.extend(encoder.finish().expect("ends"));
            drop(black_box(buffers));
        }),
        ("decode_batch", "arrow_frames") => {
            let mut encoder = Encoder::new(Target::Arrow);
            let mut decoder = Decoder::new();
            decoder.decode(encoder.start(&schema).expect("a schema of floats")).expect("decodes");
            let frames = received(encoder.encode_batch(&batch).expect("encodes"));
            Box::new(move || {
                let df = decoder.decode(black_box(&frames).clone());
                drop(black_box(df.and_then(DataFrame::into_record_batch).expect("decodes")));
            })
        }
        ("decode_batch", "StreamDecoder") => {
            let mut encoder = StreamEncoder::try_new(&schema).expect("a schema of floats");
            let mut first = joined(&encoder.encode(&batch).expect("encodes"));
            let second = joined(&encoder.encode(&batch).expect("encodes"));
            let mut decoder = StreamDecoder::new();
            decoder.decode(&mut first).expect("decodes").expect("a batch");
            Box::new(move || {
                let mut buffer = black_box(&second).clone();
                drop(black_box(decoder.decode(&mut buffer).expect("decodes").expect("a batch")));
            })
        }
        ("decode_self_contained", "arrow_frames") => {
            let frames = received(to_buffers(&DataFrame::from(batch), Target::Arrow).expect("encodes"));
            Box::new(move || {
                let df = from_buffers(black_box(&frames).clone());
                drop(black_box(df.and_then(DataFrame::into_record_batch).expect("decodes")));
            })
        }
        ("decode_self_contained", "arrow_frames_stream") => {
            let frames = to_buffers(&DataFrame::from(batch), Target::Arrow).expect("encodes");
            let stream = stream(&frames);
            Box::new(move || {
                let df = Frames::from_stream(black_box(&stream).clone()).and_then(from_buffers);
                drop(black_box(df.and_then(DataFrame::into_record_batch).expect("decodes")));
            })
        }
        ("decode_self_contained", "StreamDecoder") => {
            let mut encoder = StreamEncoder::try_new(&schema).expect("a schema of floats");
            let stream = joined(&encoder.encode(&batch).expect("encodes"));
            Box::new(move || {
                let mut decoder = StreamDecoder::new();
                let mut buffer = black_box(&stream).clone();
                drop(black_box(decoder.decode(&mut buffer).expect("decodes").expect("a batch")));
            })
        }
        _ => panic!("{side} has no job {name}"),
    }
}

fn floats((columns, rows): (usize, usize)) -> RecordBatch {
    RecordBatch::try_from_iter((0..columns).map(|column| {
        let values = (0..rows).map(|row| (row * 31 + column) as f64).collect::<Vec<_>>();
        (format!("column_{column}"), Arc::new(Float64Array::from(values)) as ArrayRef)
    }))
    .expect("columns of one length")
}

/// Frames as they arrive: in one region of memory, as the peer's stream is.
fn received(frames: Frames) -> Frames {
    Frames::from_stream(stream(&frames)).expect("is a stream")
}

fn stream(frames: &Frames) -> Buffer {
    Buffer::from_vec(frames.segments().expect("is a stream").collect::<Vec<_>>().concat())
}

/// All bytes of a list of buffers, in one.
fn joined(buffers: &[Buffer]) -> Buffer {
    Buffer::from_vec(buffers.iter().map(|buffer| buffer.as_slice()).collect::<Vec<_>>().concat())
}
