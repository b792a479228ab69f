//! Takes opcodes and their arguments off the bytes of a pickle.

use std::ops::Range;

use super::fault::{PickleFault, refuse};
use super::opcode::*;
use crate::error::Result;

/// How an opcode's argument lies in the pickle. Source: `pickletools.opcodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// There is none.
    Nothing,
    /// A number of this many bytes.
    Number(usize),
    /// Bytes, whose count comes first as a number of this many bytes.
    Counted(usize),
}

/// The shape of an opcode's argument; none if the opcode is not one of ours.
pub(super) fn shape(opcode: u8) -> Option<Shape> {
    name(opcode)?;
    Some(match opcode {
        PROTO | BININT1 | BINGET => Shape::Number(1),
        BININT2 => Shape::Number(2),
        BININT | LONG_BINGET => Shape::Number(4),
        FRAME | BINFLOAT => Shape::Number(8),
        LONG1 | SHORT_BINUNICODE | SHORT_BINBYTES => Shape::Counted(1),
        LONG4 | BINUNICODE | BINBYTES => Shape::Counted(4),
        BINUNICODE8 | BINBYTES8 | BYTEARRAY8 => Shape::Counted(8),
        _ => Shape::Nothing,
    })
}

/// Where an argument lies: a number's bytes, or the bytes that were counted.
#[inline]
pub(super) fn argument(bytes: &[u8], at: usize, shape: Shape) -> Result<Range<usize>> {
    let start = at.saturating_add(1);
    match shape {
        Shape::Nothing => Ok(start..start),
        Shape::Number(width) => span(bytes, at, start, width as u64),
        Shape::Counted(width) => {
            let count = span(bytes, at, start, width as u64)?;
            let length = number(bytes.get(count.clone()).unwrap_or_default());
            span(bytes, at, count.end, length)
        }
    }
}

/// A little-endian number of at most 8 bytes.
#[inline]
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// A little-endian number of at most 8 bytes in two's complement. No bytes are 0.
#[inline]
pub(super) fn signed(bytes: &[u8]) -> i64 {
    let unused = 64u32.saturating_sub(8u32.saturating_mul(u32::try_from(bytes.len()).unwrap_or(8)));
    match unused {
        64 => 0,
        _ => (number(bytes) << unused).cast_signed() >> unused,
    }
}

#[inline]
fn span(bytes: &[u8], at: usize, start: usize, length: u64) -> Result<Range<usize>> {
    let available = bytes.len().saturating_sub(start);
    match usize::try_from(length) {
        Ok(length) if length <= available => Ok(start..start.saturating_add(length)),
        _ => refuse(at as u64, PickleFault::Truncated { needed: length, available: available as u64 }),
    }
}
