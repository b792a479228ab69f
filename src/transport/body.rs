//! Where the buffers of one large body land, planned before a byte of it is read.
//!
//! A body of ours, and any whose buffers lie at multiples of 64, is read into one region as
//! it is. Of any other, each large buffer is read to a multiple of 64 of its own, and runs of
//! small buffers are read together and moved apart. Frames that are to be writable get
//! allocations of their own.

use std::collections::VecDeque;

use arrow_buffer::Buffer;

use super::memory::{ReceiveMemory, Region};
use super::stream::to_usize;
use crate::error::{ErrorKind, Result};
use crate::wire::ALIGNMENT;
use crate::wire::batch::Span;
use crate::words::Words;

/// Buffers below this many bytes may be moved once more: that costs less than a call of the
/// system for each.
pub(super) const SMALL: usize = 64 << 10;

/// A body that is being received.
#[derive(Debug)]
pub(super) struct LargeBody {
    region: Region,
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that have arrived.
    arrived: usize,
    /// Bytes of the body that have not.
    missing: u64,
    /// Bytes that were moved once more.
    staged: u64,
    /// The writable frames that are complete.
    done: Vec<(usize, Buffer)>,
    /// Where each frame will lie.
    frames: Vec<Place>,
    /// What nobody asked for is read to here.
    scratch: Vec<u8>,
}

/// Where a frame will lie.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Shared, or copied to elements of some width when all is there.
    Region {
        start: usize,
        length: usize,
        width: Option<u8>,
    },
    Own,
}

/// Bytes that follow each other in the body, and where they are read to.
#[derive(Debug)]
struct Piece {
    length: usize,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// To this place in the region.
    Region(usize),
    /// To this place in the region, from where frames are moved down to their own.
    Staged(usize, Vec<Move>),
    /// To memory of its own: the frame's number, its memory, and its length.
    Own(usize, Words, usize),
    /// Nowhere: padding beyond what is usual.
    Discard,
}

#[derive(Debug)]
struct Move {
    from: usize,
    to: usize,
    length: usize,
}

impl LargeBody {
    /// Plans for a body of that many bytes with these frames, the numbered of which are to lie
    /// in allocations of elements of that many bytes.
    pub(super) fn new(
        body_length: u64,
        spans: &[Span],
        writable: &[(usize, u8)],
        memory: &ReceiveMemory,
    ) -> Result<LargeBody> {
        let plan = Plan::new(body_length, spans, writable)?;
        Ok(LargeBody {
            region: memory.region(plan.region)?,
            pieces: plan.pieces.into(),
            arrived: 0,
            missing: body_length,
            staged: 0,
            done: Vec::new(),
            frames: plan.frames,
            scratch: Vec::new(),
        })
    }

    /// Bytes that have not arrived.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// Memory for the bytes that come next; empty if all have come.
    pub(super) fn space(&mut self) -> &mut [u8] {
        let arrived = self.arrived;
        let Some(piece) = self.pieces.front_mut() else { return &mut [] };
        let length = piece.length;
        match &mut piece.target {
            Target::Region(start) | Target::Staged(start, _) => {
                let range = start.saturating_add(arrived)..start.saturating_add(length);
                self.region.as_mut().get_mut(range).unwrap_or_default()
            }
            Target::Own(_, words, _) => words.space(arrived),
            Target::Discard => {
                self.scratch.resize(SMALL, 0);
                let left = length.saturating_sub(arrived).min(SMALL);
                self.scratch.get_mut(..left).unwrap_or_default()
            }
        }
    }

    /// So many bytes have arrived, no more than there was memory for.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.arrived = self.arrived.saturating_add(bytes);
        self.missing = self.missing.saturating_sub(bytes as u64);
        while self.pieces.front().is_some_and(|piece| piece.length <= self.arrived) {
            self.arrived = 0;
            match self.pieces.pop_front().map(|piece| piece.target) {
                Some(Target::Staged(_, moves)) => self.apply(&moves),
                Some(Target::Own(frame, words, length)) => self.done.push((frame, words.freeze(length))),
                _ => {}
            }
        }
    }

    /// Takes bytes that arrived before there was memory for them; returns how many.
    pub(super) fn copy_from(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while !rest.is_empty() && self.missing > 0 {
            let space = self.space();
            let count = space.len().min(rest.len());
            if let (Some(space), Some(bytes)) = (space.get_mut(..count), rest.get(..count)) {
                space.copy_from_slice(bytes);
            }
            rest = rest.get(count..).unwrap_or_default();
            self.filled(count);
        }
        let taken = bytes.len().saturating_sub(rest.len());
        self.staged = self.staged.saturating_add(taken as u64);
        taken
    }

    /// The frames in order, and how many bytes were moved once more.
    pub(super) fn finish(self) -> Result<(Vec<Buffer>, u64)> {
        let mut staged = self.staged;
        let region = self.region.freeze();
        let mut done = self.done;
        done.sort_by_key(|(frame, _)| *frame);
        let mut done = done.into_iter();
        let frame = |place: &Place| match *place {
            Place::Region { start, length, width: None } => Ok(region.slice_with_length(start, length)),
            Place::Region { start, length, width: Some(width) } => {
                staged = staged.saturating_add(length as u64);
                let bytes = region.get(start..start.saturating_add(length));
                Words::copied(width, bytes.unwrap_or_default())
            }
            Place::Own => Ok(done.next().map(|(_, buffer)| buffer).unwrap_or_default()),
        };
        let frames = self.frames.iter().map(frame).collect::<Result<_>>()?;
        Ok((frames, staged))
    }

    fn apply(&mut self, moves: &[Move]) {
        let region = self.region.as_mut();
        for Move { from, to, length } in moves {
            // Every place was planned inside the region, and lies at or before where it comes
            // from, so that nothing is overwritten before it is moved.
            let source = *from..from.saturating_add(*length);
            if source.end <= region.len() && to <= from {
                region.copy_within(source, *to);
                self.staged = self.staged.saturating_add(*length as u64);
            }
        }
    }
}

/// The pieces of a body, and the bytes of its region.
struct Plan {
    pieces: Vec<Piece>,
    frames: Vec<Place>,
    region: usize,
}

/// A frame and the padding behind it, as they lie in the body.
struct Unit {
    frame: usize,
    offset: u64,
    length: usize,
    /// With up to 63 bytes of padding.
    padded: usize,
    width: Option<u8>,
}

impl Plan {
    fn new(body_length: u64, spans: &[Span], writable: &[(usize, u8)]) -> Result<Plan> {
        let too_large = || ErrorKind::Memory { bytes: body_length };
        let whole = usize::try_from(body_length).map_err(|_| too_large())?;
        let widths = widths(spans.len(), writable);
        let is_aligned = spans.iter().all(|span| span.offset.is_multiple_of(ALIGNMENT as u64));
        let units = if is_aligned && widths.iter().all(Option::is_none) {
            None
        } else {
            units(body_length, spans, &widths)
        };
        let Some(units) = units else {
            // As it lies; what lies at a bad address is copied by the decoder, and counted.
            // A span lies inside the body, whose length is known to fit.
            let place = |span: &Span| Place::Region {
                start: to_usize(span.offset),
                length: to_usize(span.length),
                width: None,
            };
            let pieces = vec![Piece { length: whole, target: Target::Region(0) }];
            return Ok(Plan { pieces, frames: spans.iter().map(place).collect(), region: whole });
        };
        let mut frames = vec![Place::Own; spans.len()];
        let mut planner = Planner { pieces: Vec::new(), region: 0, staging: None };
        let mut position = 0u64;
        for unit in units {
            planner.discard(unit.offset.saturating_sub(position))?;
            let place = planner.add(&unit)?;
            if let Some(slot) = frames.get_mut(unit.frame) {
                *slot = place;
            }
            position = unit.offset.saturating_add(unit.padded as u64);
        }
        planner.discard(body_length.saturating_sub(position))?;
        planner.end_run();
        Ok(Plan { pieces: planner.pieces, frames, region: planner.region })
    }
}

/// The element width of each frame that is to be writable, once, however often it is named.
pub(super) fn widths(frames: usize, writable: &[(usize, u8)]) -> Vec<Option<u8>> {
    let mut widths = vec![None; frames];
    for (frame, width) in writable {
        if let Some(slot) = widths.get_mut(*frame).filter(|_| Words::has_width(*width)) {
            *slot = Some(*width);
        }
    }
    widths
}

/// The frames in the order of the body, if none overlaps another.
fn units(body_length: u64, spans: &[Span], widths: &[Option<u8>]) -> Option<Vec<Unit>> {
    let mut order: Vec<(usize, &Span)> = spans.iter().enumerate().collect();
    order.sort_by_key(|(_, span)| span.offset);
    let ends = order.iter().skip(1).map(|(_, span)| span.offset).chain([body_length]);
    let unit = |((frame, span), end): (&(usize, &Span), u64)| {
        let room = usize::try_from(end.checked_sub(span.offset)?).ok()?;
        let length = usize::try_from(span.length).ok()?;
        let padding = room.checked_sub(length)?.min(ALIGNMENT.saturating_sub(1));
        let padded = length.checked_add(padding)?;
        let width = widths.get(*frame).copied().flatten();
        Some(Unit { frame: *frame, offset: span.offset, length, padded, width })
    };
    order.iter().zip(ends).map(unit).collect()
}

/// Pieces in the making.
struct Planner {
    pieces: Vec<Piece>,
    /// Bytes of the region so far.
    region: usize,
    /// Small frames that will be read together and moved apart.
    staging: Option<Staging>,
}

struct Staging {
    /// Bytes of the body.
    length: usize,
    /// Of each, where it lies in the body from the first one on, its place and its length.
    frames: Vec<Move>,
}

impl Planner {
    /// The next frame's place.
    fn add(&mut self, unit: &Unit) -> Result<Place> {
        let place = |start| Place::Region { start, length: unit.length, width: unit.width };
        let is_small = unit.length < SMALL;
        if let Some(width) = unit.width.filter(|_| !is_small) {
            self.end_run();
            let words = Words::new(width, unit.padded)?;
            self.pieces
                .push(Piece { length: unit.padded, target: Target::Own(unit.frame, words, unit.length) });
            return Ok(Place::Own);
        }
        if !is_small {
            self.end_run();
        }
        // Behind what lies before it in the body, if that happens to be a good place.
        if self.staging.is_none()
            && let Some(Piece { length, target: Target::Region(start) }) = self.pieces.last_mut()
        {
            let start = start.saturating_add(*length);
            if start.is_multiple_of(ALIGNMENT) || (is_small && unit.width.is_some()) {
                *length = grown(*length, unit.padded)?;
                self.region = grown(start, unit.padded)?;
                return Ok(place(start));
            }
        }
        let start = aligned(self.region)?;
        self.region = grown(start, unit.padded)?;
        // What leaves the next one at a good place needs not be moved.
        let stays = unit.padded.is_multiple_of(ALIGNMENT) || unit.width.is_some();
        if !is_small || (stays && self.staging.is_none()) {
            self.pieces.push(Piece { length: unit.padded, target: Target::Region(start) });
        } else {
            self.region = aligned(self.region)?;
            let staging = self.staging.get_or_insert(Staging { length: 0, frames: Vec::new() });
            staging.frames.push(Move { from: staging.length, to: start, length: unit.length });
            staging.length = grown(staging.length, unit.padded)?;
        }
        Ok(place(start))
    }

    /// Bytes that belong to no frame.
    fn discard(&mut self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.end_run();
        let length = usize::try_from(bytes).map_err(|_| ErrorKind::Memory { bytes })?;
        self.pieces.push(Piece { length, target: Target::Discard });
        Ok(())
    }

    /// The small frames so far are one piece: read to the end of their places, each is moved
    /// down to its own, the first one first.
    fn end_run(&mut self) {
        let Some(Staging { length, mut frames }) = self.staging.take() else { return };
        // The region ends with their places, which are no less than the bytes of the body.
        let read_to = self.region.saturating_sub(length);
        for frame in &mut frames {
            frame.from = frame.from.saturating_add(read_to);
        }
        self.pieces.push(Piece { length, target: Target::Staged(read_to, frames) });
    }
}

/// The next multiple of 64.
fn aligned(bytes: usize) -> Result<usize> {
    let too_large = ErrorKind::Memory { bytes: bytes as u64 };
    bytes.checked_next_multiple_of(ALIGNMENT).ok_or(too_large.into())
}

fn grown(bytes: usize, by: usize) -> Result<usize> {
    let too_large = ErrorKind::Memory { bytes: bytes as u64 };
    bytes.checked_add(by).ok_or(too_large.into())
}
