//! The writing side of a stream without any I/O: frames that wait to be written.

use super::stream::{Segments, plan};
use crate::error::Result;
use crate::frames::Frames;

/// Bytes of small messages that are worth a call of the system.
const ENOUGH: usize = 64 << 10;

/// Frames that wait, and how far they are written: a write that fails or is given up goes on
/// where it was.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pending: Vec<Frames>,
    bytes: usize,
    written: u64,
}

impl Outgoing {
    /// Adds frames.
    pub(super) fn push(&mut self, frames: Frames) {
        self.bytes = self.bytes.saturating_add(frames.num_bytes());
        self.pending.push(frames);
    }

    /// Whether there is enough to write.
    pub(super) fn is_due(&self) -> bool {
        self.bytes >= ENOUGH
    }

    /// What is left to write, and the count of what is written.
    pub(super) fn left(&mut self) -> Result<(impl Iterator<Item = &[u8]>, &mut u64)> {
        let mut pieces = Vec::new();
        for frames in &self.pending {
            plan(frames, &mut pieces)?;
        }
        let mut skip = self.written;
        let segments = Segments::new(pieces).filter_map(move |segment| {
            // Whole segments, and then a part of one.
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(segment.len());
            skip = skip.saturating_sub(skipped as u64);
            segment.get(skipped..).filter(|rest| !rest.is_empty())
        });
        Ok((segments, &mut self.written))
    }

    /// All is written.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        (self.bytes, self.written) = (0, 0);
    }
}
