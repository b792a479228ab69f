//! By how much the peak of memory rises where 1 GB is sent or received: one job per process, with
//! another process at the other end of the socket.

use std::hint::black_box;
use std::io::{Read, copy, sink};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;

use arrow_array::RecordBatch;
use arrow_frames::{DataFrame, StreamSource, Target, from_buffers, write_stream};
use arrow_ipc::reader::StreamReader;

use crate::floats;
use crate::spill::{ROWS, measured};

/// Sends or receives, and prints the time and the rise.
pub fn run(side: &str) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let program = std::env::current_exe().expect("a path");
    let mut other = Command::new(program).args(["memory-peer", side, &address]).spawn().expect("a process");
    // What is sent is there before anything is measured.
    let batch = (side == "send").then(|| floats(10, ROWS));
    let (mut socket, _) = listener.accept().expect("a connection");
    measured(side, || match (&batch, side) {
        (Some(batch), _) => {
            write_stream(&mut socket, &DataFrame::from(batch.clone()), Target::Arrow).expect("writes");
        }
        (None, "receive") => {
            let df = from_buffers(StreamSource::new(&mut socket).read_all().expect("reads"));
            assert_eq!(black_box(df.expect("decodes")).num_rows(), ROWS);
        }
        (None, _) => {
            let reader = StreamReader::try_new_buffered(&mut socket, None).expect("reads");
            let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().expect("decodes");
            assert_eq!(black_box(batches)[0].num_rows(), ROWS);
        }
    });
    drop(socket);
    assert!(other.wait().expect("a process").success());
}

/// The other end: takes what is sent, or sends what is received.
pub fn peer(side: &str, address: &str) {
    if side == "send" {
        let mut socket = TcpStream::connect(address).expect("connects");
        copy(&mut socket.by_ref(), &mut sink()).expect("reads");
    } else {
        let df = DataFrame::from(floats(10, ROWS));
        let mut socket = TcpStream::connect(address).expect("connects");
        write_stream(&mut socket, &df, Target::Arrow).expect("writes");
    }
}
