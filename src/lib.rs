//! Exchange dataframes between services as an Arrow IPC header and zero-copy frames.
//!
//! ```text
//! DataFrame ── to_buffers ──▶ header + [frame, …] ── any transport ──▶ from_buffers ──▶ DataFrame
//! ```
//!
//! - [`to_buffers`] splits a [`DataFrame`] into [`Frames`]; [`Encoder`] has the options.
//! - [`from_buffers`] rebuilds it; [`Decoder`] has the options, and takes streams in pieces.
//! - [`Frames::segments`] and [`Frames::from_stream`] are the Arrow IPC stream,
//!   [`Frames::file_form`] and [`Frames::from_file`] the Arrow IPC file,
//!   [`Frames::packed`] and [`Frames::from_packed`] dask.distributed's blob.
//! - [`write_frames`], [`StreamSink`] and [`StreamSource`] take streams through writers and
//!   readers; [`StreamReceiver`] is the reading side without any I/O.
//! - [`Tensor`] and [`SparseTensor`] are split and rebuilt likewise; [`TensorCodec`] has the options,
//!   and [`Content`] tells what a header holds.
//! - [`CopyReport`] says what had to be copied, [`Layout`] what lies where.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use arrow::array::{ArrayRef, Float64Array, RecordBatch};
//! use arrow_frames::{DataFrame, Frames, Target, from_buffers, to_buffers};
//!
//! let price: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
//! let df = DataFrame::from(RecordBatch::try_from_iter([("price", price)])?);
//!
//! let (header, buffers) = to_buffers(&df, Target::Arrow)?.into_parts();
//! let again = from_buffers(Frames::new(header, buffers))?;
//! assert_eq!(again.into_record_batch()?, df.into_record_batch()?);
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `lz4` and `zstd` (both on by default) read and write compressed bodies. Without one, such a
//!   body is [`ErrorKind::CodecDisabled`]; nothing else changes.
//! - `tokio` adds `AsyncStreamSource`, `AsyncStreamSink`, `write_frames_async` and `write_stream_async`.
//! - `spill` adds the module `spill`: dataframes on disk.
//! - `ndarray` adds conversions between [`Tensor`] and the arrays of that crate.

#[cfg(not(target_endian = "little"))]
compile_error!(
    "arrow-frames hands out the bytes of arrays as they are, which the wire format wants little-endian"
);

mod compression;
mod content;
mod copies;
mod dataframe;
mod decode;
mod detach;
mod encode;
mod error;
mod frames;
mod join;
mod layout;
mod limits;
mod nulls;
mod pandas;
pub mod pickle;
mod tensor;
mod transport;
mod wire;
mod words;

pub use compression::Compression;
pub use content::Content;
pub use copies::{Copied, CopyReason, CopyReport};
pub use dataframe::{Batch, Column, DataFrame, OpaqueColumn};
pub use decode::{Decoder, from_buffers};
pub use encode::{Carriage, Encoder, Target, to_buffers};
pub use error::{Error, ErrorKind, Fault, Part, Result};
pub use frames::Frames;
pub use layout::{BufferLayout, Layout, MessageKind, MessageLayout};
pub use limits::Limits;
pub use tensor::{SparseIndex, SparseTensor, Tensor, TensorCodec, TensorElement};
#[cfg(feature = "spill")]
pub use transport::spill;
#[cfg(feature = "tokio")]
pub use transport::{AsyncStreamSink, AsyncStreamSource, write_frames_async, write_stream_async};
pub use transport::{
    FileForm, Packed, ReceiveMemory, Segments, StreamReceiver, StreamSink, StreamSource, pack, unpack,
    unpack_partial, unpack_with_remainder, write_frames, write_segments, write_stream,
};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
