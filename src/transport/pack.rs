//! Packed frames: one blob in dask.distributed's `pack_frames` layout.
//!
//! ```text
//! u64 nframes | u64 length[nframes] | frame … | frame            little-endian
//! ```

use arrow_buffer::Buffer;

use super::stream::{Piece, Segments, messages, zeros_up_to};
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::ALIGNMENT;

/// Bytes of a number in the prelude.
const NUMBER: usize = 8;

/// Frames as one blob: what has to be written before and between them, and their slices.
///
/// The layout is `distributed.protocol.utils.pack_frames`: the number of frames, their
/// lengths, and the frames, with nothing between them.
#[derive(Debug)]
pub struct Packed<'a> {
    prelude: Vec<u8>,
    frames: Vec<&'a [u8]>,
    is_padded: bool,
}

/// Packs frames of any kind as `distributed.protocol.utils.pack_frames` does.
///
/// ```
/// use arrow_frames::{pack, unpack};
///
/// let packed: Vec<u8> = pack(&[&b"ab"[..], b"", b"c"]).segments().flatten().copied().collect();
/// assert_eq!(packed.len(), 8 + 3 * 8 + 3);
/// let frames = unpack(packed)?;
/// assert_eq!(frames.len(), 3);
/// assert_eq!(frames[2].as_slice(), b"c");
/// # Ok::<(), arrow_frames::Error>(())
/// ```
pub fn pack<F: AsRef<[u8]>>(frames: &[F]) -> Packed<'_> {
    Packed::new(frames.iter().map(AsRef::as_ref).collect(), false)
}

/// Takes packed frames apart: every frame is a slice of the blob. What follows the last one is
/// ignored, as by `unpack_frames(b)`.
///
/// # Errors
///
/// [`ErrorKind::Truncated`] if the blob ends before its last frame does.
pub fn unpack(packed: impl Into<Buffer>) -> Result<Vec<Buffer>> {
    unpack_with_remainder(packed).map(|(frames, _)| frames)
}

/// Takes packed frames apart, and returns what follows the last one, as
/// `unpack_frames(b, remainder=True)` does: more packed frames, if blobs were written one after
/// another, or nothing.
///
/// ```
/// use arrow_frames::{pack, unpack_with_remainder};
///
/// let mut packed: Vec<u8> = pack(&[b"ab"]).segments().flatten().copied().collect();
/// packed.extend(pack(&[b"c"]).segments().flatten());
/// let (first, rest) = unpack_with_remainder(packed)?;
/// let (second, rest) = unpack_with_remainder(rest)?;
/// assert_eq!(first[0].as_slice(), b"ab");
/// assert_eq!(second[0].as_slice(), b"c");
/// assert!(rest.is_empty());
/// # Ok::<(), arrow_frames::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Truncated`] if the blob ends before its last frame does.
pub fn unpack_with_remainder(packed: impl Into<Buffer>) -> Result<(Vec<Buffer>, Buffer)> {
    let (frames, _, rest) = unpack_some(packed.into(), false)?;
    Ok((frames, rest))
}

/// Takes packed frames apart of which the last ones may be missing, as
/// `unpack_frames(b, partial=True)` does: the frames that are there, and the lengths of those
/// that are not. Frames of no bytes at the blob's end count among the latter.
///
/// # Errors
///
/// [`ErrorKind::Truncated`] if the blob ends inside a frame or before the lengths do.
pub fn unpack_partial(packed: impl Into<Buffer>) -> Result<(Vec<Buffer>, Vec<u64>)> {
    let (frames, missing, _) = unpack_some(packed.into(), true)?;
    Ok((frames, missing))
}

impl Frames {
    /// The header and the frames as one blob, in dask.distributed's layout.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
    /// # use arrow_frames::{DataFrame, Frames, Target, from_buffers, to_buffers};
    /// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    /// # let batch = RecordBatch::try_from_iter([("a", a)])?;
    /// let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
    /// let blob: Vec<u8> = frames.packed().segments().flatten().copied().collect();
    ///
    /// let df = from_buffers(Frames::from_packed(blob)?)?;
    /// assert_eq!(df.into_record_batch()?, batch);
    /// # Ok(()) }
    /// ```
    pub fn packed(&self) -> Packed<'_> {
        Packed::new(self.parts().collect(), false)
    }

    /// The same with zeros behind the header and every frame, so that every frame but the
    /// header starts at a multiple of 64 of the blob: unpacked where the blob itself lies at
    /// one, nothing has to be copied. The lengths of the layout include the zeros.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`] if the header has no end marker: the zeros would look like one.
    /// What is wrong with the header.
    pub fn packed_aligned(&self) -> Result<Packed<'_>> {
        let (_, end) = messages(self.header(), &Limits::default())?;
        if end.is_none() {
            let position = self.header().len() as u64;
            return Err(ErrorKind::Truncated { part: Part::End, position, needed: 8, available: 0 }.into());
        }
        Ok(Packed::new(self.parts().collect(), true))
    }

    /// Takes a blob apart that [`packed`](Self::packed) or
    /// [`packed_aligned`](Self::packed_aligned) made, or dask.distributed of such frames: the
    /// header and every frame are slices of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Truncated`], [`ErrorKind::FrameCount`], [`ErrorKind::FrameLength`];
    /// whatever is wrong with the header.
    pub fn from_packed(packed: impl Into<Buffer>) -> Result<Frames> {
        Self::from_packed_with_limits(packed, &Limits::default())
    }

    /// [`from_packed`](Self::from_packed) within these limits.
    ///
    /// # Errors
    ///
    /// Also [`ErrorKind::Limit`].
    pub fn from_packed_with_limits(packed: impl Into<Buffer>, limits: &Limits) -> Result<Frames> {
        let mut buffers = unpack(packed)?.into_iter();
        let Some(header) = buffers.next() else {
            return Err(ErrorKind::SchemaMissing { position: 0 }.into());
        };
        let (messages, end) = messages(&header, limits)?;
        let header = match end {
            // Behind it are zeros at most.
            Some(end) => header.slice_with_length(0, end.end),
            None => header,
        };
        let spans: Vec<_> = messages.iter().flat_map(|message| &message.spans).collect();
        let mut frames: Vec<Buffer> = buffers.collect();
        if frames.len() != spans.len() {
            let (expected, found) = (spans.len(), frames.len());
            return Err(ErrorKind::FrameCount { expected, found }.into());
        }
        for (index, (frame, span)) in frames.iter_mut().zip(spans).enumerate() {
            let found = frame.len();
            let length = usize::try_from(span.length).ok();
            let is_padded = |length: &usize| *length == found || length.next_multiple_of(ALIGNMENT) == found;
            let Some(length) = length.filter(|length| *length <= found).filter(is_padded) else {
                let expected = span.length;
                return Err(ErrorKind::FrameLength { frame: index, expected, found: found as u64 }.into());
            };
            *frame = frame.slice_with_length(0, length);
        }
        Ok(Frames::new(header, frames))
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.header()).chain(self.buffers()).map(Buffer::as_slice)
    }
}

impl<'a> Packed<'a> {
    fn new(frames: Vec<&'a [u8]>, is_padded: bool) -> Self {
        let numbers = frames.len().saturating_add(1);
        let mut prelude = Vec::with_capacity(numbers.saturating_mul(NUMBER));
        prelude.extend_from_slice(&(frames.len() as u64).to_le_bytes());
        // The first frame makes up for the prelude.
        let mut before = numbers.saturating_mul(NUMBER);
        for frame in &frames {
            let mut length = frame.len();
            if is_padded {
                let end = before.saturating_add(length);
                length = length.saturating_add(padding(end));
                before = 0;
            }
            prelude.extend_from_slice(&(length as u64).to_le_bytes());
        }
        Packed { prelude, frames, is_padded }
    }

    /// The slices of the blob, in order, for vectored writes.
    pub fn segments(&self) -> Segments<'_> {
        let mut pieces = vec![Piece::Bytes(&self.prelude)];
        let mut position = self.prelude.len();
        for frame in &self.frames {
            pieces.push(Piece::Bytes(frame));
            position = position.saturating_add(frame.len());
            if self.is_padded {
                pieces.push(zeros_up_to(padding(position)));
                position = position.saturating_add(padding(position));
            }
        }
        Segments::new(pieces)
    }
}

/// Zeros up to the next multiple of 64.
fn padding(position: usize) -> usize {
    position.next_multiple_of(ALIGNMENT).saturating_sub(position)
}

/// The frames that are there; if some may be missing, their lengths; and what follows.
fn unpack_some(packed: Buffer, partial: bool) -> Result<(Vec<Buffer>, Vec<u64>, Buffer)> {
    let available = packed.len();
    let short = |part, position: usize, needed: u64| ErrorKind::Truncated {
        part,
        position: position as u64,
        needed,
        available: available.saturating_sub(position) as u64,
    };
    let number = |bytes: &[u8; NUMBER]| u64::from_le_bytes(*bytes);
    let first = packed.split_first_chunk::<NUMBER>();
    let (count, rest) = first.ok_or_else(|| short(Part::Prelude, 0, NUMBER as u64))?;
    let count = number(count);
    let lengths = usize::try_from(count).ok().and_then(|count| rest.as_chunks::<NUMBER>().0.get(..count));
    let lengths = lengths
        .ok_or_else(|| short(Part::Prelude, 0, count.saturating_add(1).saturating_mul(NUMBER as u64)))?;
    let mut frames = Vec::with_capacity(lengths.len());
    let mut position = lengths.len().saturating_add(1).saturating_mul(NUMBER);
    for (index, length) in lengths.iter().enumerate() {
        if partial && position == available {
            let missing = lengths.get(index..).unwrap_or_default();
            return Ok((frames, missing.iter().map(number).collect(), Buffer::default()));
        }
        let needed = number(length);
        let fits = |length: &usize| *length <= available.saturating_sub(position);
        let length = usize::try_from(needed).ok().filter(fits);
        let length = length.ok_or_else(|| short(Part::Frame, position, needed))?;
        frames.push(packed.slice_with_length(position, length));
        position = position.saturating_add(length);
    }
    Ok((frames, Vec::new(), packed.slice(position)))
}
