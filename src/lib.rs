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
//!   [`write_segments`] and [`StreamSource`] their way through writers and readers.
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
//! `lz4` and `zstd` (both on by default) read and write compressed bodies. Without one, such a
//! body is [`ErrorKind::CodecDisabled`]; nothing else changes.

#[cfg(not(target_endian = "little"))]
compile_error!(
    "arrow-frames hands out the bytes of arrays as they are, which the wire format wants little-endian"
);

mod compression;
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
pub mod pickle;
mod transport;
mod wire;

pub use compression::Compression;
pub use copies::{Copied, CopyReason, CopyReport};
pub use dataframe::{Batch, Column, DataFrame, OpaqueColumn};
pub use decode::{Decoder, from_buffers};
pub use encode::{Encoder, Target, to_buffers};
pub use error::{Error, ErrorKind, Fault, Part, Result};
pub use frames::Frames;
pub use layout::{BufferLayout, Layout, MessageKind, MessageLayout};
pub use limits::Limits;
pub use transport::{FileForm, Segments, StreamSource, write_segments};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
