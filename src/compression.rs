//! The body compression of Arrow IPC: each buffer by itself, behind its length.
//!
//! A compressed buffer is an 8-byte little-endian length of the data, then an LZ4 or ZSTD
//! frame. Length −1 marks data that is stored as it is: read here, never written, since
//! old readers do not know it.
#![deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![cfg_attr(not(all(feature = "lz4", feature = "zstd")), allow(unused_variables))]
#![cfg_attr(not(any(feature = "lz4", feature = "zstd")), allow(unused_mut, unreachable_code))]

use std::io;

/// How to compress the buffers of a body.
///
/// Compressing copies; it pays on a network slower than a few gigabit per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// LZ4 frames (feature `lz4`).
    Lz4,
    /// ZSTD at this level, usually 1 to 3 (feature `zstd`).
    Zstd(i32),
}

impl Compression {
    pub(crate) fn codec(self) -> Codec {
        match self {
            Compression::Lz4 => Codec::Lz4,
            Compression::Zstd(_) => Codec::Zstd,
        }
    }
}

/// A codec that Arrow IPC names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Lz4,
    Zstd,
}

impl Codec {
    /// Its name in message metadata, which is also its cargo feature.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// Whether its feature is enabled.
    pub(crate) fn is_enabled(self) -> bool {
        match self {
            Codec::Lz4 => cfg!(feature = "lz4"),
            Codec::Zstd => cfg!(feature = "zstd"),
        }
    }
}

/// Bytes of the length before a compressed buffer.
pub(crate) const PREFIX: usize = 8;

/// The length prefix and the compressed data. The codec's feature must be enabled.
pub(crate) fn compress(compression: Compression, data: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(data.len().saturating_div(2).saturating_add(64));
    out.extend_from_slice(&(data.len() as u64).to_le_bytes());
    match compression {
        #[cfg(feature = "lz4")]
        Compression::Lz4 => {
            use io::Write;
            let mut encoder = lz4_flex::frame::FrameEncoder::new(out);
            encoder.write_all(data)?;
            encoder.finish().map_err(io::Error::other)
        }
        #[cfg(feature = "zstd")]
        Compression::Zstd(level) => {
            use io::Write;
            let mut encoder = zstd::stream::write::Encoder::new(out, level)?;
            encoder.set_pledged_src_size(Some(data.len() as u64))?;
            encoder.include_contentsize(true)?;
            encoder.write_all(data)?;
            encoder.finish()
        }
        #[cfg(not(all(feature = "lz4", feature = "zstd")))]
        other => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}

/// Why a frame was not decompressed.
#[cfg_attr(not(any(feature = "lz4", feature = "zstd")), allow(dead_code))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undone {
    /// It does not hold what it should.
    Data,
    /// There is no memory for what it should hold.
    Memory,
}

/// Exactly `length` bytes from a compressed frame.
///
/// Memory for `length` bytes is reserved at once and touched only as data comes out, so
/// a frame that lies costs address space for a moment.
pub(crate) fn decompress(codec: Codec, frame: &[u8], length: usize) -> Result<Vec<u8>, Undone> {
    let mut out = Vec::new();
    match codec {
        #[cfg(feature = "lz4")]
        Codec::Lz4 => {
            use io::Read;
            // A byte of LZ4 stands for at most 255; what claims more lies.
            if length > frame.len().saturating_mul(255) {
                return Err(Undone::Data);
            }
            out.try_reserve_exact(length).map_err(|_| Undone::Memory)?;
            let mut decoder = lz4_flex::frame::FrameDecoder::new(frame);
            decoder.by_ref().take(length as u64).read_to_end(&mut out).map_err(|_| Undone::Data)?;
            // One byte more than declared is as wrong as one less. The read also checks
            // the frame's end mark and checksum.
            if decoder.read(&mut [0]).map_err(|_| Undone::Data)? != 0 {
                return Err(Undone::Data);
            }
        }
        #[cfg(feature = "zstd")]
        Codec::Zstd => {
            if let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(frame)
                && size != length as u64
            {
                return Err(Undone::Data);
            }
            // A block has 4 bytes at least and stands for at most 128 KiB.
            if length > frame.len().div_ceil(4).saturating_mul(128 << 10) {
                return Err(Undone::Data);
            }
            out.try_reserve_exact(length).map_err(|_| Undone::Memory)?;
            let mut decoder = zstd::bulk::Decompressor::new().map_err(|_| Undone::Memory)?;
            decoder.decompress_to_buffer(frame, &mut out).map_err(|_| Undone::Data)?;
        }
        #[cfg(not(all(feature = "lz4", feature = "zstd")))]
        _ => return Err(Undone::Data),
    }
    if out.len() == length { Ok(out) } else { Err(Undone::Data) }
}
