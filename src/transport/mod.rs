//! Frames ↔ bytes. Nothing here knows of columns or types: only of messages, their lengths
//! and the places of their buffers.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod file;
mod io;
mod stream;

pub use file::FileForm;
pub(crate) use file::{check_dictionary, read_footer};
pub use io::{StreamSource, write_segments};
pub use stream::Segments;
