//! The jobs that are measured, each beside arrow-ipc doing the same with the same data.
//!
//! Both sides are handed shared memory anew each time, validate, and drop what they made.
//! What is known in advance (a schema, a dictionary) is known to both.

mod data;
mod decode;
mod encode;
mod transport;

use arrow::array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::StreamWriter;

pub use data::DATA;

/// A job that was set up: each call does it once, and returns the batches that it decoded, so
/// that both sides can be compared, or none if it encodes.
pub type Run = Box<dyn FnMut() -> Vec<RecordBatch>>;

/// What is done with a data set by this library and by its peer.
pub struct Job {
    /// What it is called.
    pub name: &'static str,
    /// Sets it up with this library.
    pub ours: fn(&[RecordBatch]) -> Run,
    /// The type of arrow-ipc beside it.
    pub peer: &'static str,
    /// Sets it up with that.
    pub theirs: fn(&[RecordBatch]) -> Run,
}

/// All jobs.
pub const JOBS: [Job; 7] = [
    Job {
        name: "encode batches",
        ours: encode::batches,
        peer: "StreamEncoder",
        theirs: encode::batches_by_peer,
    },
    Job {
        name: "encode with schema",
        ours: encode::whole,
        peer: "StreamEncoder",
        theirs: encode::whole_by_peer,
    },
    Job {
        name: "decode batches",
        ours: decode::batches,
        peer: "StreamDecoder",
        theirs: decode::batches_by_peer,
    },
    Job {
        name: "decode frames",
        ours: decode::frames,
        peer: "StreamDecoder",
        theirs: decode::stream_by_peer,
    },
    Job {
        name: "decode stream",
        ours: decode::stream,
        peer: "StreamDecoder",
        theirs: decode::stream_by_peer,
    },
    Job {
        name: "write stream",
        ours: transport::write,
        peer: "StreamWriter",
        theirs: transport::write_by_peer,
    },
    Job { name: "read stream", ours: transport::read, peer: "StreamReader", theirs: transport::read_by_peer },
];

/// The stream of some batches as the peer writes it: what both sides read.
fn written_by_peer(data: &[RecordBatch]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, data[0].schema_ref()).expect("a schema");
    data.iter().for_each(|batch| writer.write(batch).expect("writes"));
    writer.finish().expect("ends");
    drop(writer);
    stream
}

/// All bytes of a list of buffers, in one.
fn joined(buffers: &[Buffer]) -> Buffer {
    Buffer::from_vec(buffers.iter().map(|buffer| buffer.as_slice()).collect::<Vec<_>>().concat())
}
