//! Streams through writers and readers. Both write into memory that has been written to
//! before, since taking new memory is not their work; both read into new memory of their own.

use std::hint::black_box;

use arrow::array::RecordBatch;
use arrow_frames::{DataFrame, Decoder, StreamSource, Target, to_buffers, write_segments};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use super::{Run, written_by_peer};

/// Encodes and writes.
pub fn write(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    let mut stream = written_by_peer(&data);
    Box::new(move || {
        let data = black_box(&data);
        stream.clear();
        let df = DataFrame::try_from_batches(data[0].schema(), data.clone()).expect("one schema");
        let frames = to_buffers(&df, Target::Arrow).expect("encodes");
        write_segments(&mut stream, frames.segments().expect("is a stream")).expect("writes");
        black_box(&stream);
        Vec::new()
    })
}

pub fn write_by_peer(data: &[RecordBatch]) -> Run {
    let data = data.to_vec();
    let mut stream = written_by_peer(&data);
    Box::new(move || {
        let data = black_box(&data);
        stream.clear();
        let mut writer = StreamWriter::try_new(&mut stream, data[0].schema_ref()).expect("a schema");
        data.iter().for_each(|batch| writer.write(batch).expect("writes"));
        writer.finish().expect("ends");
        drop(writer);
        black_box(&stream);
        Vec::new()
    })
}

/// Reads and decodes, batch by batch.
pub fn read(data: &[RecordBatch]) -> Run {
    let stream = written_by_peer(data);
    Box::new(move || {
        let mut source = StreamSource::new(black_box(stream.as_slice()));
        let mut decoder = Decoder::new();
        let mut batches = Vec::new();
        while let Some(frames) = source.next().expect("reads") {
            let df = decoder.decode(frames).expect("decodes");
            batches.extend(df.into_record_batches().expect("native columns"));
        }
        assert!(source.is_finished(), "came to the end");
        batches
    })
}

pub fn read_by_peer(data: &[RecordBatch]) -> Run {
    let stream = written_by_peer(data);
    Box::new(move || {
        let reader = StreamReader::try_new(black_box(stream.as_slice()), None).expect("reads");
        reader.collect::<Result<_, _>>().expect("decodes")
    })
}
