//! Exchange dataframes between services as an Arrow IPC header and zero-copy frames.
#![doc = ""]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
mod layout;
mod limits;
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
