//! A readable listing of a pickle's opcodes.

use std::fmt;

use super::fault::{PickleFault, refuse};
use super::opcode::*;
use super::scan::{self, Shape};
use crate::error::Result;

/// Text and bytes are shown up to this many bytes: enough for every name and type.
const SHOWN: usize = 60;

/// Lists the opcodes of a pickle, in order.
///
/// It ends behind `STOP`, or with the error where an opcode is unknown or cut. Whether the
/// opcodes make sense together is what [`Pickle::parse`](super::Pickle::parse) asks.
///
/// ```
/// use arrow_frames::pickle::disassemble;
///
/// let lines: Vec<String> = disassemble(b"\x80\x05\x8c\x02hi\x85.").map(|i| i.unwrap().to_string()).collect();
/// assert_eq!(lines, ["0 PROTO 5", "2 SHORT_BINUNICODE \"hi\"", "6 TUPLE1", "7 STOP"]);
/// ```
pub fn disassemble(pickle: &[u8]) -> Disassembly<'_> {
    Disassembly { pickle, position: 0, has_ended: false }
}

/// The iterator of [`disassemble`].
#[derive(Debug, Clone)]
pub struct Disassembly<'p> {
    pickle: &'p [u8],
    position: usize,
    has_ended: bool,
}

/// One opcode of a pickle. Its `Display` is a line: position, name, argument (shortened).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instruction<'p> {
    /// Where the opcode is.
    pub position: u64,
    /// The opcode.
    pub opcode: u8,
    /// Its name, as CPython's `pickletools` has it.
    pub name: &'static str,
    /// The bytes of its argument: a number, or what a count was followed by.
    pub argument: &'p [u8],
}

impl<'p> Iterator for Disassembly<'p> {
    type Item = Result<Instruction<'p>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.instruction();
        self.has_ended = !matches!(&next, Ok(instruction) if instruction.opcode != STOP);
        Some(next)
    }
}

impl<'p> Disassembly<'p> {
    fn instruction(&mut self) -> Result<Instruction<'p>> {
        let position = self.position as u64;
        let Some(&opcode) = self.pickle.get(self.position) else {
            return refuse(position, PickleFault::Truncated { needed: 1, available: 0 });
        };
        let (Some(name), Some(shape)) = (name(opcode), scan::shape(opcode)) else {
            return refuse(position, PickleFault::Opcode { opcode });
        };
        let argument = scan::argument(self.pickle, self.position, shape)?;
        self.position = argument.end;
        let argument = self.pickle.get(argument).unwrap_or_default();
        Ok(Instruction { position, opcode, name, argument })
    }
}

impl fmt::Display for Instruction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.position, self.name)?;
        match (self.opcode, scan::shape(self.opcode)) {
            (_, None | Some(Shape::Nothing)) => Ok(()),
            (BININT, _) => write!(f, " {}", scan::signed(self.argument)),
            (BINFLOAT, _) => {
                let bits = <[u8; 8]>::try_from(self.argument).unwrap_or_default();
                write!(f, " {:?}", f64::from_be_bytes(bits))
            }
            (_, Some(Shape::Number(_))) => write!(f, " {}", scan::number(self.argument)),
            (LONG1 | LONG4, _) if self.argument.len() <= 8 => write!(f, " {}", scan::signed(self.argument)),
            (SHORT_BINUNICODE | BINUNICODE | BINUNICODE8, _) => {
                let shown = self.argument.get(..SHOWN).unwrap_or(self.argument);
                write!(f, " {:?}", String::from_utf8_lossy(shown))?;
                self.count_of_hidden(f)
            }
            _ => {
                let shown = self.argument.get(..SHOWN).unwrap_or(self.argument);
                write!(f, " b\"{}\"", shown.escape_ascii())?;
                self.count_of_hidden(f)
            }
        }
    }
}

impl Instruction<'_> {
    fn count_of_hidden(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            hidden => write!(f, " and {hidden} bytes more"),
        }
    }
}
