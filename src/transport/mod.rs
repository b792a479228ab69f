//! Frames ↔ bytes. What moves bytes knows of messages, their lengths, the places of their
//! buffers and the widths of writable ones, not of columns or types. The outermost shells
//! (sinks, [`spill`], whole streams) take batches and dataframes, and hand them to the encoder
//! and the decoder.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

#[cfg(feature = "spill")]
mod atomic;
mod block;
mod body;
mod file;
mod io;
#[cfg(feature = "spill")]
mod map;
mod memory;
mod pack;
mod receive;
mod send;
#[cfg(feature = "spill")]
pub mod spill;
mod stream;
#[cfg(feature = "tokio")]
mod tokio;

pub use file::FileForm;
pub(crate) use file::{check_dictionary, read_footer};
pub use io::{StreamSink, StreamSource, write_frames, write_segments, write_stream};
pub use memory::ReceiveMemory;
pub use pack::{Packed, pack, unpack, unpack_partial, unpack_with_remainder};
pub use receive::StreamReceiver;
pub use stream::Segments;
#[cfg(feature = "tokio")]
pub use tokio::{AsyncStreamSink, AsyncStreamSource, write_frames_async, write_stream_async};
