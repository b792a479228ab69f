//! Spill files of dask.distributed's workers, which may hold a dataframe of ours.
//!
//! ```text
//! u64 nframes | u64 length[nframes] | msgpack header | wire frame … | wire frame
//! ```
//!
//! A *wire frame* is one of distributed's: it splits ours, and may have merged them. Since they
//! lie one behind the other, ours are cut from all of them by the lengths in the header, wherever
//! distributed has cut.
#![deny(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod header;
mod msgpack;
mod problem;

use arrow_buffer::Buffer;
use arrow_frames::{Frames, unpack_with_remainder};
use bytes::Bytes;

pub use header::{Header, Ours, is_header};
pub use problem::{Problem, named};

/// The first bytes of a header that [`is_header`] looks at: the longest marker of a map, and
/// that of a key.
pub const HEADER_START: u64 = 6;

/// Bytes of a number in front of the frames.
const NUMBER: u64 = 8;

/// A spill file, of whatever.
#[derive(Debug)]
pub struct Spill {
    pub header: Header,
    pub wire_frames: Vec<WireFrame>,
    /// Bytes behind the last wire frame, which distributed ignores.
    pub remainder: usize,
    /// The wire frames as they lie, one behind the other.
    data: Buffer,
}

/// A frame of distributed's.
#[derive(Debug)]
pub struct WireFrame {
    /// Where it starts in the file.
    pub position: u64,
    pub length: u64,
    /// What it is compressed with.
    pub codec: Option<String>,
}

impl Spill {
    /// Takes a spill file apart; the frames stay where they are.
    pub fn parse(file: &Bytes) -> Result<Spill, Problem> {
        let file = Buffer::from(file.clone());
        let (frames, remainder) = unpack_with_remainder(file.clone()).map_err(Problem::Frames)?;
        let numbers = (frames.len() as u64).saturating_add(1).saturating_mul(NUMBER);
        let mut frames = frames.into_iter();
        let header = frames.next().ok_or(Problem::NoHeader { position: numbers })?;
        let (fields, codecs) = Header::parse(&header, numbers, frames.len())?;
        let start = numbers.saturating_add(header.len() as u64);
        let mut position = start;
        let mut wire_frames = Vec::with_capacity(frames.len());
        for (frame, codec) in frames.zip(codecs) {
            let length = frame.len() as u64;
            wire_frames.push(WireFrame { position, length, codec });
            position = position.saturating_add(length);
        }
        let data = slice(&file, start, position.saturating_sub(start)).unwrap_or_default();
        Ok(Spill { header: fields, wire_frames, remainder: remainder.len(), data })
    }

    /// What makes it ours.
    pub fn ours(&self) -> Result<&Ours, Problem> {
        let Header { serializer, type_name, ours, .. } = &self.header;
        let foreign = || Problem::Foreign { serializer: serializer.clone(), type_name: type_name.clone() };
        ours.as_ref().ok_or_else(foreign)
    }

    /// The header and frames of the dataframe, cut from the wire frames.
    pub fn frames(&self) -> Result<Frames, Problem> {
        let ours = self.ours()?;
        let codec = |(index, frame): (usize, &WireFrame)| Some((index, frame.codec.clone()?));
        let compressed: Vec<_> = self.wire_frames.iter().enumerate().filter_map(codec).collect();
        if !compressed.is_empty() {
            let wire_frames = self.wire_frames.len();
            return Err(Problem::Compressed { frames: compressed, wire_frames });
        }
        let found = self.data.len() as u64;
        let named = ours.lengths.iter().fold(0u64, |named, length| named.saturating_add(*length));
        if named != found {
            return Err(Problem::Total { named, found });
        }
        let mut position = 0u64;
        let mut frames = ours.lengths.iter().filter_map(|length| {
            let frame = slice(&self.data, position, *length);
            position = position.saturating_add(*length);
            frame
        });
        Ok(Frames::new(frames.next().unwrap_or_default(), frames.collect()))
    }

    /// The Arrow header, if it lies in front of all that is compressed.
    pub fn arrow_header(&self) -> Option<Buffer> {
        let plain = self.wire_frames.iter().take_while(|frame| frame.codec.is_none());
        let plain = plain.fold(0u64, |plain, frame| plain.saturating_add(frame.length));
        let length = self.header.ours.as_ref()?.lengths.first().filter(|length| **length <= plain)?;
        slice(&self.data, 0, *length)
    }
}

/// Where the header of a spill file of so many bytes would start, by its first number.
pub fn header_position(start: &[u8], length: u64) -> Option<u64> {
    let count = u64::from_le_bytes(*start.first_chunk()?);
    let position = count.checked_add(1)?.checked_mul(NUMBER)?;
    (count > 0 && position < length).then_some(position)
}

fn slice(data: &Buffer, position: u64, length: u64) -> Option<Buffer> {
    let (position, length) = (usize::try_from(position).ok()?, usize::try_from(length).ok()?);
    let fits = position.checked_add(length).is_some_and(|end| end <= data.len());
    fits.then(|| data.slice_with_length(position, length))
}
