//! Arrow IPC metadata: the only place that touches flatbuffers.
//!
//! Source: the Arrow columnar format, "Serialization and Interprocess Communication", and
//! `docs/FORMAT.md` for what this crate adds.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

pub(crate) mod batch;
pub(crate) mod envelope;
pub(crate) mod file;
mod json;
pub(crate) mod message;
pub(crate) mod opaque;
pub(crate) mod schema;
pub(crate) mod tensor;
mod types;
pub(crate) mod write;

/// Messages and the buffers in a body begin at multiples of this: a cache line, and the
/// widest SIMD register. Arrow asks for 8 and recommends 64.
pub(crate) const ALIGNMENT: usize = 64;

/// Starts every encapsulated message since Arrow 0.15.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];

/// Ends a stream: a message of length 0.
pub(crate) const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The next multiple of [`ALIGNMENT`], if it can be expressed.
pub(crate) fn padded(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(ALIGNMENT as u64)
}
