//! Encapsulated messages: the prefix that says how long the metadata is.

use std::ops::Range;

use super::CONTINUATION;
use crate::error::{ErrorKind, Part, Result};
use crate::limits::Limits;

/// Where an encapsulated message and its flatbuffer lie in some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// Where the prefix starts.
    pub start: usize,
    /// The flatbuffer and its padding; a body, if any, starts at its end.
    pub metadata: Range<usize>,
}

/// What comes next in some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message.
    Message(Envelope),
    /// The end-of-stream marker; what follows it is not ours.
    End {
        /// The first byte behind it.
        end: usize,
    },
    /// Nothing: the bytes end between two messages.
    Nothing,
}

/// Which prefixes the messages of a stream had so far.
///
/// 4 zeros end a stream of Arrow before 0.15. Behind a message of today they are no end: a
/// length that became too small makes the reader look for a message in the padding.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefixes {
    /// Whether one had 8 bytes.
    pub had_long: bool,
}

impl Prefixes {
    /// Those of a stream that starts with this message.
    pub(crate) fn of(first: &Envelope) -> Self {
        Prefixes { had_long: first.metadata.start.saturating_sub(first.start) == LONG }
    }
}

/// Bytes of a prefix before Arrow 0.15: a length.
pub(crate) const SHORT: usize = 4;

/// Bytes of a prefix since: the continuation marker and a length.
pub(crate) const LONG: usize = 8;

/// Reads the only message of some bytes, or the first one.
pub(crate) fn first(bytes: &[u8], limits: &Limits) -> Result<Next> {
    next(bytes, 0, &mut Prefixes::default(), limits)
}

/// Reads the prefix at `position`: 8 bytes, or 4 in streams older than Arrow 0.15.
pub(crate) fn next(bytes: &[u8], position: usize, prefixes: &mut Prefixes, limits: &Limits) -> Result<Next> {
    let rest = bytes.get(position..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(Next::Nothing);
    }
    let truncated = |part: Part, needed: u64| ErrorKind::Truncated {
        part,
        position: position as u64,
        needed,
        available: rest.len() as u64,
    };
    let (first, after) = rest.split_first_chunk::<4>().ok_or_else(|| truncated(Part::Prefix, 8))?;
    let (length, prefix) = if *first == CONTINUATION {
        let (second, _) = after.split_first_chunk::<4>().ok_or_else(|| truncated(Part::Prefix, 8))?;
        (i32::from_le_bytes(*second), LONG)
    } else {
        (i32::from_le_bytes(*first), SHORT)
    };
    let start = position.saturating_add(prefix);
    if length == 0 {
        if prefix == SHORT && prefixes.had_long {
            return Err(ErrorKind::EndMarker { position: position as u64 }.into());
        }
        return Ok(Next::End { end: start });
    }
    let Ok(length) = usize::try_from(length) else {
        let number = length.into();
        return Err(ErrorKind::BadNumber { part: Part::Prefix, position: position as u64, number }.into());
    };
    if length as u64 > limits.max_metadata_bytes {
        return Err(ErrorKind::Limit {
            limit: "max_metadata_bytes",
            requested: length as u64,
            allowed: limits.max_metadata_bytes,
        }
        .into());
    }
    // One that is wrong by 4 would have the body read from the middle of its first number.
    if prefix == LONG && !length.is_multiple_of(LONG) {
        let number = i64::try_from(length).unwrap_or(i64::MAX);
        return Err(ErrorKind::BadNumber { part: Part::Prefix, position: position as u64, number }.into());
    }
    let end = start.saturating_add(length);
    if end > bytes.len() {
        return Err(truncated(Part::Metadata, (prefix as u64).saturating_add(length as u64)).into());
    }
    prefixes.had_long |= prefix == LONG;
    Ok(Next::Message(Envelope { start: position, metadata: start..end }))
}
