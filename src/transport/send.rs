//! The writing side of a stream without any I/O: what is encoded waits to be written, and is
//! written step by step.

use std::io::{ErrorKind as IoErrorKind, IoSlice};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::stream::{Segments, plan, to_usize};
use crate::encode::Encoder;
use crate::error::{ErrorKind, Result};
use crate::frames::Frames;

/// Slices per call: the least that every system accepts (`IOV_MAX` of Linux is 1,024).
pub(super) const SLICES: usize = 1024;

/// Bytes of small messages that are worth a call of the system.
const ENOUGH: usize = 64 << 10;

/// A stream in the making: frames that wait, and how far they are written. A write that fails or
/// is given up goes on where it was.
#[derive(Debug)]
pub(super) struct Outgoing {
    encoder: Encoder,
    is_ended: bool,
    pending: Vec<Frames>,
    bytes: usize,
    written: u64,
}

impl Outgoing {
    /// A stream of batches with this schema.
    pub(super) fn new(mut encoder: Encoder, schema: &SchemaRef) -> Result<Self> {
        let start = encoder.start(schema)?;
        let bytes = start.num_bytes();
        Ok(Outgoing { encoder, is_ended: false, pending: vec![start], bytes, written: 0 })
    }

    /// Adds a batch; says whether there is enough to write.
    pub(super) fn batch(&mut self, batch: &RecordBatch) -> Result<bool> {
        let frames = self.encoder.encode_batch(batch)?;
        self.push(frames);
        Ok(self.bytes >= ENOUGH)
    }

    /// Adds the end of the stream, once.
    pub(super) fn end(&mut self) -> Result<()> {
        if !self.is_ended {
            let frames = self.encoder.finish()?;
            self.push(frames);
            self.is_ended = true;
        }
        Ok(())
    }

    /// The encoder, for its report.
    pub(super) fn encoder(&self) -> &Encoder {
        &self.encoder
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
            let skipped = to_usize(skip).min(segment.len());
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

    fn push(&mut self, frames: Frames) {
        self.bytes = self.bytes.saturating_add(frames.num_bytes());
        self.pending.push(frames);
    }
}

/// Passes over what a writer says that it has written of these slices, and counts it; refuses a
/// count that is none, or more than there was.
pub(super) fn advance(left: &mut &mut [IoSlice<'_>], count: usize, written: &mut u64) -> Result<()> {
    let there = left.iter().map(|slice| slice.len()).fold(0, usize::saturating_add);
    if count == 0 {
        return Err(ErrorKind::Io(IoErrorKind::WriteZero.into()).into());
    }
    if count > there {
        return Err(ErrorKind::Io(IoErrorKind::InvalidData.into()).into());
    }
    *written = written.saturating_add(count as u64);
    IoSlice::advance_slices(left, count);
    Ok(())
}
