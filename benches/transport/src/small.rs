//! Many small messages: encoded, sent, received and decoded, on two threads.

use std::io::{BufReader, BufWriter, Read, Write};
use std::thread;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_frames::{Decoder, Encoder, StreamSink, StreamSource, Target};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::socket::{Socket, Transport};
use crate::{Side, since};

/// How many messages there are.
const MESSAGES: usize = 100_000;

/// What every side gathers before it calls the system; more does not help (the last side).
const BUFFER: usize = 64 << 10;
const LARGE_BUFFER: usize = 1 << 20;

/// All sides, the floor first; nanoseconds are those of one message.
pub fn sides(transport: Transport, batch: &RecordBatch) -> Vec<Side> {
    let side = |name, send: fn(Socket, &RecordBatch), receive: fn(Socket) -> usize| {
        let batch = batch.clone();
        Side::new(name, move || {
            let (here, there) = transport.pair();
            let start = Instant::now();
            let received = thread::scope(|scope| {
                scope.spawn(|| send(there, &batch));
                receive(here)
            });
            assert_eq!(received, MESSAGES * batch.num_rows());
            since(start) / MESSAGES as f64
        })
    };
    vec![
        side("floor: as many bytes in blocks of 64 KiB", send_bytes, receive_bytes),
        side("arrow-frames StreamSink, StreamSource", send_ours, receive_ours),
        side("arrow-ipc StreamWriter, StreamReader", send_theirs::<BUFFER>, receive_theirs::<BUFFER>),
        side("the same, buffers of 1 MiB", send_theirs::<LARGE_BUFFER>, receive_theirs::<LARGE_BUFFER>),
    ]
}

fn send_ours(socket: Socket, batch: &RecordBatch) {
    let mut sink = StreamSink::new(socket, Encoder::new(Target::Arrow), &batch.schema()).expect("a schema");
    for _ in 0..MESSAGES {
        sink.write(batch).expect("writes");
    }
    sink.finish().expect("ends");
}

fn receive_ours(socket: Socket) -> usize {
    let mut source = StreamSource::new(socket).with_read_ahead(BUFFER);
    let mut decoder = Decoder::new();
    let mut rows = 0;
    while let Some(frames) = source.next().expect("reads") {
        rows += decoder.decode(frames).expect("decodes").num_rows();
    }
    rows
}

fn send_theirs<const SIZE: usize>(socket: Socket, batch: &RecordBatch) {
    let buffered = BufWriter::with_capacity(SIZE, socket);
    let mut writer = StreamWriter::try_new(buffered, batch.schema_ref()).expect("a schema");
    for _ in 0..MESSAGES {
        writer.write(batch).expect("writes");
    }
    writer.finish().expect("ends");
    writer.flush().expect("writes");
}

fn receive_theirs<const SIZE: usize>(socket: Socket) -> usize {
    let buffered = BufReader::with_capacity(SIZE, socket);
    let reader = StreamReader::try_new(buffered, None).expect("reads");
    reader.map(|batch| batch.expect("decodes").num_rows()).sum()
}

/// Bytes of a message's buffers: what cannot be spared.
fn message_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.to_data().buffers()[0].len()).sum()
}

fn send_bytes(mut socket: Socket, batch: &RecordBatch) {
    let block = vec![0; BUFFER];
    let mut left = MESSAGES * message_bytes(batch);
    while left > 0 {
        let count = left.min(BUFFER);
        socket.write_all(&block[..count]).expect("writes");
        left -= count;
    }
}

/// The rows that so many bytes would be.
fn receive_bytes(mut socket: Socket) -> usize {
    const ROW: usize = 10 * size_of::<f64>();
    let mut block = vec![0; BUFFER];
    let mut bytes = 0;
    loop {
        match socket.read(&mut block).expect("reads") {
            0 => return bytes / ROW,
            count => bytes += count,
        }
    }
}
