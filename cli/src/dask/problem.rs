//! Why there is no dataframe of ours in a spill file.

use std::fmt;

use super::header::VERSION;
use super::msgpack::Malformed;
use crate::text;

/// Codecs of single frames that a line still names.
const MOST_NAMED: usize = 8;

/// What is wrong, or what it is instead.
#[derive(Debug)]
pub enum Problem {
    /// An Arrow header lies at this byte, where distributed's should.
    Packed { position: u64 },
    /// The numbers in front of the frames, or the frames.
    Frames(arrow_frames::Error),
    /// There is no header at this byte.
    NoHeader { position: u64 },
    /// The header at this byte is larger than any of ours.
    HeaderLimit { position: u64, bytes: usize, limit: usize },
    /// The header is no sound msgpack, or not what it should be.
    Header(Malformed),
    /// Bytes between the header's map and its end.
    AfterHeader { position: u64, bytes: usize },
    /// The codecs at this byte are not as many as there are wire frames.
    Codecs { position: u64, named: u32, wire_frames: usize },
    /// It is someone else's.
    Foreign { serializer: Option<String>, type_name: Option<String> },
    /// It is ours, of another version.
    Version { found: u64 },
    /// It is ours, and the header at this byte has no lengths.
    NoLengths { position: u64 },
    /// The lengths do not add up to the wire frames.
    Total { named: u64, found: u64 },
    /// Wire frames that distributed compressed, by number, with their codecs.
    Compressed { frames: Vec<(usize, String)>, wire_frames: usize },
}

impl Problem {
    /// Where it lies in the file, if it is in one place.
    pub fn position(&self) -> Option<u64> {
        match self {
            Problem::Packed { position }
            | Problem::NoHeader { position }
            | Problem::HeaderLimit { position, .. }
            | Problem::AfterHeader { position, .. }
            | Problem::Codecs { position, .. }
            | Problem::NoLengths { position } => Some(*position),
            Problem::Header(malformed) => Some(malformed.position()),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Packed { .. } => write!(
                f,
                "its first frame is an Arrow IPC header, where dask.distributed puts one of its own: \
                 these are packed frames"
            ),
            Problem::Frames(error) => error.fmt(f),
            Problem::NoHeader { position } => {
                write!(f, "dask.distributed's header at byte {position} is empty")
            }
            Problem::HeaderLimit { position, bytes, limit } => {
                write!(f, "dask.distributed's header at byte {position} has {bytes} bytes, more than {limit}")
            }
            Problem::Header(malformed) => write!(f, "dask.distributed's header: {malformed}"),
            Problem::AfterHeader { position, bytes } => {
                write!(f, "dask.distributed's header: {bytes} bytes follow its map, at byte {position}")
            }
            Problem::Codecs { position, named, wire_frames } => write!(
                f,
                "dask.distributed's header: the compression at byte {position} is that of {named} wire frames, \
                 and there are {wire_frames}"
            ),
            Problem::Foreign { serializer, type_name } => write!(
                f,
                "dask.distributed spilled it, and not as arrow-frames: serializer {}, type {}",
                named(serializer),
                named(type_name),
            ),
            Problem::Version { found } => {
                write!(
                    f,
                    "arrow-frames of version {found} spilled it, and this program reads version {VERSION}"
                )
            }
            Problem::NoLengths { position } => write!(
                f,
                "dask.distributed's header at byte {position} has `arrow-frames` and no `lengths` of frames"
            ),
            Problem::Total { named, found } => {
                write!(f, "`lengths` name {named} bytes of frames, and the wire frames have {found}")
            }
            Problem::Compressed { frames, wire_frames } => compressed(f, frames, *wire_frames),
        }
    }
}

impl std::error::Error for Problem {}

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Problem {
        Problem::Header(malformed)
    }
}

/// A name that the header may not have, for a sentence.
pub fn named(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("unknown")
}

fn compressed(f: &mut fmt::Formatter<'_>, frames: &[(usize, String)], wire_frames: usize) -> fmt::Result {
    let count = frames.len();
    write!(f, "dask.distributed compressed {count} of its {wire_frames} wire frames, which only it reads: ")?;
    for (index, (frame, codec)) in frames.iter().take(MOST_NAMED).enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(f, "{comma}{frame} ({})", text::shortened(codec, 20))?;
    }
    match count.saturating_sub(MOST_NAMED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
