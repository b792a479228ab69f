//! The values of a msgpack document, one after another, each with its position.
//!
//! Nothing is built of them and nothing recurses: what is not wanted is stepped over, so that
//! neither nesting nor a count can ask for memory.

use std::fmt;

use rmp::Marker;
use rmp::decode::{self, NumValueReadError};

/// Reads values from the front of some bytes.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Where the document ends in the file, which positions are counted in.
    end: u64,
}

/// What is wrong with a document.
#[derive(Debug)]
pub enum Malformed {
    /// The value at this byte ends behind the document.
    Ended { position: u64 },
    /// The value at this byte is of another kind.
    Kind { position: u64, expected: Kind, found: Kind },
    /// The integer at this byte is negative.
    Negative { position: u64 },
    /// The byte here starts no value.
    Reserved { position: u64 },
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nil,
    Boolean,
    Integer,
    Float,
    Text,
    Binary,
    Array,
    Map,
    Extension,
}

type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    /// A reader of a document that lies at this byte of its file.
    pub fn new(document: &'a [u8], position: u64) -> Reader<'a> {
        Reader { rest: document, end: position.saturating_add(document.len() as u64) }
    }

    /// Where the next value starts in the file.
    pub fn position(&self) -> u64 {
        self.end.saturating_sub(self.rest.len() as u64)
    }

    /// Bytes of values that have not been read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// What the next value is.
    pub fn kind(&self) -> Read<Kind> {
        let position = self.position();
        let first = self.rest.first().ok_or(Malformed::Ended { position })?;
        Kind::of(Marker::from_u8(*first)).ok_or(Malformed::Reserved { position })
    }

    /// The number of entries of a map, each a key and a value, which come next.
    pub fn map(&mut self) -> Read<u32> {
        self.read(Kind::Map, decode::read_map_len)
    }

    /// The number of values in an array, which come next.
    pub fn array(&mut self) -> Read<u32> {
        self.read(Kind::Array, decode::read_array_len)
    }

    /// An integer that cannot be negative.
    pub fn number(&mut self) -> Read<u64> {
        self.read(Kind::Integer, decode::read_int::<u64, _>)
    }

    /// The bytes of a text: UTF-8 by promise only.
    pub fn text(&mut self) -> Read<&'a [u8]> {
        let position = self.position();
        let length = self.read(Kind::Text, decode::read_str_len)?;
        self.take(length, position)
    }

    /// Steps over a value and all that is in it.
    pub fn skip(&mut self) -> Read<()> {
        // Each value takes a byte at least, so the document's end ends this too.
        let mut values = 1u64;
        while values > 0 {
            values = values.saturating_sub(1).saturating_add(self.skip_one()?);
        }
        Ok(())
    }

    /// Steps over a scalar, or into an array or a map; returns the number of values in it.
    fn skip_one(&mut self) -> Read<u64> {
        let position = self.position();
        let kind = self.kind()?;
        match kind {
            Kind::Nil => self.read(kind, decode::read_nil)?,
            Kind::Boolean => drop(self.read(kind, decode::read_bool)?),
            // Of any sign.
            Kind::Integer => drop(self.read(kind, decode::read_int::<i128, _>)?),
            Kind::Float if self.rest.first() == Some(&Marker::F32.to_u8()) => {
                self.read(kind, decode::read_f32)?;
            }
            Kind::Float => drop(self.read(kind, decode::read_f64)?),
            Kind::Text => drop(self.text()?),
            Kind::Binary => {
                let length = self.read(kind, decode::read_bin_len)?;
                self.take(length, position)?;
            }
            Kind::Extension => {
                let meta = self.read(kind, decode::read_ext_meta)?;
                self.take(meta.size, position)?;
            }
            Kind::Array => return Ok(self.array()?.into()),
            Kind::Map => return Ok(u64::from(self.map()?).saturating_mul(2)),
        }
        Ok(0)
    }

    fn read<T, E: Into<NumValueReadError>>(
        &mut self,
        expected: Kind,
        read: impl FnOnce(&mut &'a [u8]) -> Result<T, E>,
    ) -> Read<T> {
        let (position, found) = (self.position(), self.kind()?);
        read(&mut self.rest).map_err(|error| match error.into() {
            NumValueReadError::TypeMismatch(_) => Malformed::Kind { position, expected, found },
            NumValueReadError::OutOfRange => Malformed::Negative { position },
            _ => Malformed::Ended { position },
        })
    }

    /// The content of the value at that position.
    fn take(&mut self, length: u32, position: u64) -> Read<&'a [u8]> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = split.ok_or(Malformed::Ended { position })?;
        self.rest = rest;
        Ok(taken)
    }
}

impl Malformed {
    /// Where the value that it means starts in the file.
    pub fn position(&self) -> u64 {
        match *self {
            Malformed::Ended { position }
            | Malformed::Kind { position, .. }
            | Malformed::Negative { position }
            | Malformed::Reserved { position } => position,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Ended { position } => write!(f, "it ends inside the value at byte {position}"),
            Malformed::Kind { position, expected, found } => {
                write!(f, "the value at byte {position} is {found} and should be {expected}")
            }
            Malformed::Negative { position } => write!(f, "the integer at byte {position} is negative"),
            Malformed::Reserved { position } => write!(f, "the byte at {position} starts no value"),
        }
    }
}

impl Kind {
    fn of(marker: Marker) -> Option<Kind> {
        use Marker::*;
        Some(match marker {
            Null => Kind::Nil,
            True | False => Kind::Boolean,
            FixPos(_) | FixNeg(_) | U8 | U16 | U32 | U64 | I8 | I16 | I32 | I64 => Kind::Integer,
            F32 | F64 => Kind::Float,
            FixStr(_) | Str8 | Str16 | Str32 => Kind::Text,
            Bin8 | Bin16 | Bin32 => Kind::Binary,
            FixArray(_) | Array16 | Array32 => Kind::Array,
            FixMap(_) | Map16 | Map32 => Kind::Map,
            FixExt1 | FixExt2 | FixExt4 | FixExt8 | FixExt16 | Ext8 | Ext16 | Ext32 => Kind::Extension,
            Reserved => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Nil => "nil",
            Kind::Boolean => "a boolean",
            Kind::Integer => "an integer",
            Kind::Float => "a float",
            Kind::Text => "text",
            Kind::Binary => "bytes",
            Kind::Array => "an array",
            Kind::Map => "a map",
            Kind::Extension => "an extension",
        })
    }
}
