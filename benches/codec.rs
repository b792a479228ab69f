//! Encode and decode beside arrow-ipc, on the same data, in the same run.
//!
//! Both sides do the same work: `StreamEncoder` returns shared buffers as `Encoder` does,
//! and `StreamDecoder` gets its stream as one buffer in memory, from which it slices.
//! Both validate. `cargo xtask ratios` runs this and prints the ratios.

use std::hint::black_box;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_frames::{DataFrame, Decoder, Encoder, Frames, Target, from_buffers, to_buffers};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamEncoder;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// Columns × rows of float64 without nulls.
const SHAPES: [(usize, usize); 3] = [(10, 1_000_000), (100, 10_000), (10_000, 100)];

fn floats(columns: usize, rows: usize) -> RecordBatch {
    RecordBatch::try_from_iter((0..columns).map(|column| {
        let values = (0..rows).map(|row| (row * 31 + column) as f64).collect::<Vec<_>>();
        (format!("column_{column}"), Arc::new(Float64Array::from(values)) as ArrayRef)
    }))
    .expect("columns of one length")
}

/// All bytes of a list of buffers, in one.
fn joined(buffers: &[Buffer]) -> Buffer {
    Buffer::from_vec(buffers.iter().map(|buffer| buffer.as_slice()).collect::<Vec<_>>().concat())
}

fn encode(c: &mut Criterion) {
    for (columns, rows) in SHAPES {
        let batch = floats(columns, rows);
        let schema = batch.schema();
        let mut group = c.benchmark_group(format!("encode_batch/{columns}x{rows}_f64"));
        group.bench_function("arrow_frames", |b| {
            let mut encoder = Encoder::new(Target::Arrow);
            encoder.start(&schema).expect("a schema of floats");
            b.iter(|| black_box(encoder.encode_batch(black_box(&batch)).expect("encodes")));
        });
        group.bench_function("StreamEncoder", |b| {
            let mut encoder = StreamEncoder::try_new(&schema).expect("a schema of floats");
            encoder.encode(&batch).expect("encodes");
            b.iter(|| black_box(encoder.encode(black_box(&batch)).expect("encodes")));
        });
        group.finish();

        let mut group = c.benchmark_group(format!("encode_one_shot/{columns}x{rows}_f64"));
        group.bench_function("arrow_frames", |b| {
            b.iter(|| {
                let df = DataFrame::from(black_box(&batch).clone());
                black_box(to_buffers(&df, Target::Arrow).expect("encodes"))
            });
        });
        group.bench_function("StreamEncoder", |b| {
            b.iter(|| {
                let batch = black_box(&batch);
                let mut encoder = StreamEncoder::try_new(&batch.schema()).expect("a schema of floats");
                let mut buffers = encoder.encode(batch).expect("encodes");
                buffers.extend(encoder.finish().expect("ends"));
                black_box(buffers)
            });
        });
        group.finish();
    }
}

fn decode(c: &mut Criterion) {
    for (columns, rows) in SHAPES {
        let batch = floats(columns, rows);
        let schema = batch.schema();
        let mut encoder = Encoder::new(Target::Arrow);
        let start = encoder.start(&schema).expect("a schema of floats");
        let frames = encoder.encode_batch(&batch).expect("encodes");
        let mut peer = StreamEncoder::try_new(&schema).expect("a schema of floats");
        let first = joined(&peer.encode(&batch).expect("encodes"));
        let second = joined(&peer.encode(&batch).expect("encodes"));

        let mut group = c.benchmark_group(format!("decode_batch/{columns}x{rows}_f64"));
        group.bench_function("arrow_frames", |b| {
            let mut decoder = Decoder::new();
            decoder.decode(start.clone()).expect("a schema");
            b.iter_batched(
                || frames.clone(),
                |frames| {
                    black_box(decoder.decode(frames).and_then(DataFrame::into_record_batch).expect("decodes"))
                },
                BatchSize::SmallInput,
            );
        });
        group.bench_function("StreamDecoder", |b| {
            let mut decoder = StreamDecoder::new();
            decoder.decode(&mut first.clone()).expect("decodes").expect("a batch");
            b.iter_batched(
                || second.clone(),
                |mut buffer| black_box(decoder.decode(&mut buffer).expect("decodes").expect("a batch")),
                BatchSize::SmallInput,
            );
        });
        group.finish();

        let whole = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow).expect("encodes");
        let stream = Buffer::from_vec(whole.segments().expect("is a stream").collect::<Vec<_>>().concat());
        let mut group = c.benchmark_group(format!("decode_self_contained/{columns}x{rows}_f64"));
        group.bench_function("arrow_frames", |b| {
            b.iter_batched(
                || whole.clone(),
                |frames| {
                    black_box(from_buffers(frames).and_then(DataFrame::into_record_batch).expect("decodes"))
                },
                BatchSize::SmallInput,
            );
        });
        group.bench_function("arrow_frames_stream", |b| {
            b.iter_batched(
                || stream.clone(),
                |stream| {
                    let frames = Frames::from_stream(stream);
                    black_box(
                        frames
                            .and_then(from_buffers)
                            .and_then(DataFrame::into_record_batch)
                            .expect("decodes"),
                    )
                },
                BatchSize::SmallInput,
            );
        });
        group.bench_function("StreamDecoder", |b| {
            b.iter_batched(
                || first.clone(),
                |mut buffer| {
                    let mut decoder = StreamDecoder::new();
                    black_box(decoder.decode(&mut buffer).expect("decodes").expect("a batch"))
                },
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, encode, decode);
criterion_main!(benches);
