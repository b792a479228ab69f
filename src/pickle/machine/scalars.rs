//! The opcodes of scalars, and lists of nothing but text.

use super::super::fault::{PickleBudget, PickleFault};
use super::super::graph::{Kind, Node, PLACE, Run};
use super::super::opcode::*;
use super::super::scan::{self, Shape};
use super::{Machine, no_memory};
use crate::error::Result;

impl Machine<'_> {
    #[inline]
    pub(super) fn short_text(&mut self) -> Result<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((text, length)) = rest
            .get(1)
            .map(|length| usize::from(*length))
            .and_then(|length| Some((rest.get(2..)?.get(..length)?, length)))
        else {
            // It says what is missing.
            return self.text(1);
        };
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            return self.refuse(PickleFault::Utf8);
        }
        self.next = self.at.saturating_add(2).saturating_add(length);
        self.push_scalar(Kind::Text)
    }

    /// Adds all that lies between this mark and an `APPENDS` to the list below, if it is only
    /// text and `None`: values that need no place on the stack. Says whether it did; if not,
    /// nothing has changed.
    pub(super) fn text_run(&mut self) -> Result<bool> {
        let list = self.stack.last().filter(|_| self.stack.len() > self.base);
        let list = list.map(|list| self.graph.node(*list)).filter(|node| node.kind() == Kind::List);
        let Some(list) = list.map(Node::payload) else { return Ok(false) };
        if self.graph.containers.get(list).is_none_or(|list| list.is_used) {
            return Ok(false);
        }
        let limit = self.frame_end.unwrap_or(usize::MAX).min(PLACE as usize).min(self.bytes.len());
        let start = self.at.saturating_add(1);
        let Some((run, end)) = scan_run(self.bytes.get(..limit).unwrap_or_default(), start) else {
            return Ok(false);
        };
        let count = u64::from(run.count);
        self.operations = self.operations.saturating_add(count).saturating_add(1);
        if self.operations > self.limits.max_operations {
            return self.over(PickleBudget::Operations, self.limits.max_operations);
        }
        self.count_values(count)?;
        self.next = end;
        if !self.graph.reserve() {
            return Err(no_memory::<Run>(1).into());
        }
        self.graph.adopt_run(list, run);
        Ok(true)
    }

    pub(super) fn text(&mut self, width: usize) -> Result<()> {
        let argument = scan::argument(self.bytes, self.at, Shape::Counted(width))?;
        let text = self.bytes.get(argument.clone()).unwrap_or_default();
        if !text.is_ascii() && simdutf8::basic::from_utf8(text).is_err() {
            return self.refuse(PickleFault::Utf8);
        }
        self.next = argument.end;
        self.push_scalar(Kind::Text)
    }

    pub(super) fn scalar(&mut self, kind: Kind, shape: Shape) -> Result<()> {
        self.next = scan::argument(self.bytes, self.at, shape)?.end;
        self.push_scalar(kind)
    }

    pub(super) fn long(&mut self, width: usize) -> Result<()> {
        let argument = scan::argument(self.bytes, self.at, Shape::Counted(width))?;
        let allowed = self.limits.max_integer_bytes;
        if argument.len() > allowed {
            return self.over(PickleBudget::IntegerBytes, allowed as u64);
        }
        self.next = argument.end;
        self.push_scalar(Kind::Int)
    }
}

/// The text and `None` from a place on, up to an `APPENDS`, and what is behind that. Nothing if
/// anything else comes first, or text that is not UTF-8.
fn scan_run(bytes: &[u8], start: usize) -> Option<(Run, usize)> {
    let mut rest = bytes.get(start..)?;
    let (mut count, mut total) = (0u32, 0u64);
    loop {
        let (text, behind) = match rest {
            [SHORT_BINUNICODE, length, behind @ ..] => behind.split_at_checked(usize::from(*length))?,
            [NONE, behind @ ..] => (behind.get(..0)?, behind),
            [BINUNICODE, a, b, c, d, behind @ ..] => {
                let length = u32::from_le_bytes([*a, *b, *c, *d]);
                behind.split_at_checked(usize::try_from(length).ok()?)?
            }
            [APPENDS, behind @ ..] if count > 0 => {
                let run = Run { place: u32::try_from(start).ok()?, count, text: total };
                return Some((run, bytes.len().checked_sub(behind.len())?));
            }
            _ => return None,
        };
        if !text.is_ascii() && simdutf8::basic::from_utf8(text).is_err() {
            return None;
        }
        count = count.checked_add(1)?;
        total = total.checked_add(text.len() as u64)?;
        rest = behind;
    }
}
