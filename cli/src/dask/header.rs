//! The header that dask.distributed puts in front of what it serialised.

use super::msgpack::{Kind, Malformed, Reader};
use super::problem::Problem;

/// The version of [`Ours`] that is read.
pub const VERSION: u64 = 1;

/// Bytes that a header may have. One has about 12 for each frame if none was merged, so this is
/// a dataframe of 700,000 frames; more would only be read to be refused.
const MOST_BYTES: usize = 8 << 20;

/// What a header says, as far as it matters here.
#[derive(Debug)]
pub struct Header {
    /// Who serialised it, by the name of a family: `dask`, `pickle`, …
    pub serializer: Option<String>,
    /// The name of what was serialised.
    pub type_name: Option<String>,
    /// What makes it a dataframe of ours, if it is one.
    pub ours: Option<Ours>,
}

/// For each wire frame, the codec that it is compressed with.
type Codecs = Vec<Option<String>>;

/// What the integration adds.
#[derive(Debug)]
pub struct Ours {
    pub version: u64,
    /// Bytes of the Arrow header and of each frame, in order.
    pub lengths: Vec<u64>,
}

impl Header {
    /// Reads the header, which lies at this byte of the file, and how its wire frames are
    /// compressed, of which there are so many.
    pub fn parse(header: &[u8], position: u64, wire_frames: usize) -> Result<(Header, Codecs), Problem> {
        if header.is_empty() {
            return Err(Problem::NoHeader { position });
        }
        if header.starts_with(&[0xff; 4]) {
            return Err(Problem::Packed { position });
        }
        if header.len() > MOST_BYTES {
            return Err(Problem::HeaderLimit { position, bytes: header.len(), limit: MOST_BYTES });
        }
        let mut entries = Entries::default();
        let mut reader = Reader::new(header, position);
        entries.read(&mut reader, wire_frames, Level::Top)?;
        if reader.remaining() > 0 {
            return Err(Problem::AfterHeader { position: reader.position(), bytes: reader.remaining() });
        }
        let codecs = entries.codecs.unwrap_or_else(|| vec![None; wire_frames]);
        let ours = match entries.version {
            Some(version) => Some(Ours { version, lengths: lengths(version, entries.lengths, position)? }),
            None => None,
        };
        let Entries { serializer, type_name, collection, .. } = entries;
        let type_name = type_name.or(collection);
        Ok((Header { serializer, type_name, ours }, codecs))
    }
}

/// Whether these first bytes are those of a header: a map whose first key is text.
pub fn is_header(start: &[u8]) -> bool {
    let mut reader = Reader::new(start, 0);
    reader.map().is_ok_and(|entries| entries > 0) && reader.kind().is_ok_and(|kind| kind == Kind::Text)
}

/// The entries of a header so far. Of a key that comes twice the last one counts, as in Python.
#[derive(Default)]
struct Entries<'a> {
    serializer: Option<String>,
    type_name: Option<String>,
    /// A collection's type stands where others have a pickle of theirs.
    collection: Option<String>,
    codecs: Option<Codecs>,
    version: Option<u64>,
    /// Where the value starts: other classes may have a key of this name, for anything.
    lengths: Option<Reader<'a>>,
}

/// Where a map stands in the header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    /// What the functions registered for a class have returned.
    Sub,
}

impl<'a> Entries<'a> {
    fn read(&mut self, reader: &mut Reader<'a>, wire_frames: usize, level: Level) -> Result<(), Problem> {
        for _ in 0..reader.map()? {
            let key = match reader.kind()? {
                Kind::Text => reader.text()?,
                _ => {
                    reader.skip()?;
                    b""
                }
            };
            match (key, level) {
                (b"arrow-frames", _) => self.version = Some(reader.number()?),
                (b"lengths", _) => {
                    self.lengths = Some(reader.clone());
                    reader.skip()?;
                }
                (b"sub-header", Level::Top) if reader.kind()? == Kind::Map => {
                    self.read(reader, wire_frames, Level::Sub)?;
                }
                (b"serializer", Level::Top) => self.serializer = name(reader)?,
                (b"type", Level::Top) => self.type_name = name(reader)?,
                (b"type-serialized", Level::Top) => self.collection = name(reader)?,
                (b"compression", Level::Top) => self.codecs = Some(codecs(reader, wire_frames)?),
                _ => reader.skip()?,
            }
        }
        Ok(())
    }
}

/// A name, if the value is one.
fn name(reader: &mut Reader<'_>) -> Result<Option<String>, Malformed> {
    if reader.kind()? != Kind::Text {
        reader.skip()?;
        return Ok(None);
    }
    let name = reader.text()?;
    Ok(Some(String::from_utf8_lossy(name).into_owned()))
}

/// The codec of each wire frame: nil and false stand for none.
fn codecs(reader: &mut Reader<'_>, wire_frames: usize) -> Result<Codecs, Problem> {
    let position = reader.position();
    let named = reader.array()?;
    // Checked first, so that a header cannot ask for more than its file has frames.
    if usize::try_from(named).ok() != Some(wire_frames) {
        return Err(Problem::Codecs { position, named, wire_frames });
    }
    let mut codecs = Vec::with_capacity(wire_frames);
    for _ in 0..named {
        let position = reader.position();
        match reader.kind()? {
            Kind::Text | Kind::Nil | Kind::Boolean => codecs.push(name(reader)?),
            found => return Err(Malformed::Kind { position, expected: Kind::Text, found }.into()),
        }
    }
    Ok(codecs)
}

/// The lengths of our frames, the header being the first.
fn lengths(version: u64, found: Option<Reader<'_>>, position: u64) -> Result<Vec<u64>, Problem> {
    if version != VERSION {
        return Err(Problem::Version { found: version });
    }
    let mut reader = found.ok_or(Problem::NoLengths { position })?;
    let position = reader.position();
    // They grow as they are read: the count is only a claim.
    let mut lengths = Vec::new();
    for _ in 0..reader.array()? {
        lengths.push(reader.number()?);
    }
    if lengths.is_empty() { Err(Problem::NoLengths { position }) } else { Ok(lengths) }
}
