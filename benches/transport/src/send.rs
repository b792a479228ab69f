//! Sending a dataframe: from arrays to the last byte that the other end has read.

use std::io::{BufWriter, Read, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_frames::{DataFrame, Encoder, Target, to_buffers, write_frames};
use arrow_ipc::writer::StreamWriter;

use crate::socket::{OtherEnd, Socket, Transport};
use crate::{Side, flight, since};

/// All sides, the floor first.
pub fn sides(transport: Transport, batch: &RecordBatch) -> Vec<Side> {
    let df = DataFrame::from(batch.clone());
    let frames = to_buffers(&df, Target::Arrow).expect("encodes");
    let bytes = frames.segments().expect("a stream").collect::<Vec<_>>().concat();
    let theirs = {
        let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref()).expect("a schema");
        writer.write(batch).expect("writes");
        writer.into_inner().expect("ends").len()
    };
    let side = |name, length: usize, mut send: Box<dyn FnMut(&mut Socket)>| {
        let (mut socket, there) = transport.pair();
        let mut memory = vec![0; length];
        let other = OtherEnd::new(there, move |socket| socket.read_exact(&mut memory).expect("reads"));
        Side::new(name, move || {
            other.start();
            let start = Instant::now();
            send(&mut socket);
            other.wait();
            since(start)
        })
    };
    let length = bytes.len();
    let (schema, theirs_batch) = (batch.schema(), batch.clone());
    let mut encoder = Encoder::new(Target::Arrow);
    let mut sides = vec![
        side(
            "floor: write_all of prepared bytes",
            length,
            Box::new(move |socket| socket.write_all(&bytes).expect("writes")),
        ),
        side(
            "arrow-frames",
            length,
            Box::new(move |socket| {
                let frames = encoder.encode(&df).expect("encodes");
                write_frames(socket, &frames).expect("writes");
            }),
        ),
        side(
            "arrow-ipc StreamWriter",
            theirs,
            Box::new(move |socket| {
                let mut writer = StreamWriter::try_new(BufWriter::new(socket), &schema).expect("a schema");
                writer.write(&theirs_batch).expect("writes");
                writer.finish().expect("ends");
                writer.flush().expect("writes");
            }),
        ),
    ];
    if let Transport::Tcp = transport {
        sides.push(flight::put(batch));
    }
    sides
}
