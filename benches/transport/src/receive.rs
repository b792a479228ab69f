//! Receiving a dataframe: from the first byte to arrays that were validated, and their end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_frames::{DataFrame, Decoder, Frames, ReceiveMemory, StreamSource, Target, to_buffers};
use arrow_ipc::reader::StreamReader;

use crate::socket::{OtherEnd, Socket, Transport};
use crate::{Side, flight, since};

/// All sides, the floor first.
pub fn sides(transport: Transport, batch: &RecordBatch) -> Vec<Side> {
    let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow).expect("encodes");
    // Every sender writes the same prepared bytes.
    let bytes: Arc<[u8]> = prepared(&frames).into();
    let expected = batch.num_rows();
    let receive = |memory: ReceiveMemory| {
        let (socket, other) = connected(transport, &bytes);
        let mut socket = Some(socket);
        move || {
            let source = socket.take().expect("a socket");
            other.start();
            let start = Instant::now();
            let mut source = StreamSource::new(source).with_memory(memory.clone());
            let mut decoder = Decoder::new().with_max_copied_bytes(0);
            let df = decoder.decode(source.read_all().expect("reads")).expect("decodes");
            assert_eq!(df.num_rows(), expected);
            drop(df);
            let time = since(start);
            other.wait();
            socket = Some(source.into_parts().0);
            time
        }
    };
    let mut sides = vec![
        Side::new("floor: read_exact into warm memory", {
            let (mut socket, other) = connected(transport, &bytes);
            let mut memory = vec![0; bytes.len()];
            move || {
                other.start();
                let start = Instant::now();
                socket.read_exact(&mut memory).expect("reads");
                let time = since(start);
                other.wait();
                time
            }
        }),
        Side::new("arrow-frames, fresh memory", receive(ReceiveMemory::fresh())),
        Side::new("arrow-frames, recycled memory", receive(ReceiveMemory::recycled(2 << 30))),
        Side::new("arrow-ipc StreamReader", {
            let (socket, other) = connected(transport, &bytes);
            let mut socket = Some(socket);
            move || {
                let source = socket.take().expect("a socket");
                other.start();
                let start = Instant::now();
                let mut reader = StreamReader::try_new_buffered(source, None).expect("reads");
                let rows: usize = reader.by_ref().map(|batch| batch.expect("decodes").num_rows()).sum();
                assert_eq!(rows, expected);
                let time = since(start);
                other.wait();
                socket = Some(std::mem::replace(reader.get_mut().get_mut(), spare()));
                time
            }
        }),
    ];
    if let Transport::Tcp = transport {
        sides.extend([flight::get(batch)]);
    }
    sides
}

/// In place of a socket that is taken back.
fn spare() -> Socket {
    Transport::Unix.pair().0
}

fn prepared(frames: &Frames) -> Vec<u8> {
    frames.segments().expect("a stream").collect::<Vec<_>>().concat()
}

/// A socket whose other end writes these bytes.
fn connected(transport: Transport, bytes: &Arc<[u8]>) -> (Socket, OtherEnd) {
    let (here, there) = transport.pair();
    let bytes = bytes.clone();
    (here, OtherEnd::new(there, move |socket| socket.write_all(&bytes).expect("writes")))
}
