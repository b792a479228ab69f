//! What travels: one header and a list of frames.

use arrow_buffer::Buffer;

/// A header and its frames, as [`to_buffers`](crate::to_buffers) makes them and
/// [`from_buffers`](crate::from_buffers) takes them.
///
/// The header is Arrow IPC metadata (messages without their bodies); each frame is one
/// buffer of a column, shared with the array it came from. They may travel together
/// ([`segments`](Frames::segments)) or apart, by any transport that keeps their order and
/// lengths.
///
/// [`Buffer`] converts from and to `bytes::Bytes` and `Vec` without a copy:
///
/// ```
/// use arrow_buffer::Buffer;
/// use arrow_frames::Frames;
///
/// let frames = Frames::new(vec![0u8; 8], vec![Buffer::from_vec(vec![1.5f64, 2.5])]);
/// assert_eq!(frames.num_bytes(), 8 + 16);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Frames {
    header: Buffer,
    buffers: Vec<Buffer>,
}

impl Frames {
    /// Frames that came from somewhere. Nothing is checked here; decoding checks all.
    pub fn new(header: impl Into<Buffer>, buffers: Vec<Buffer>) -> Self {
        Frames { header: header.into(), buffers }
    }

    /// The header: encapsulated Arrow IPC messages without their bodies.
    pub fn header(&self) -> &Buffer {
        &self.header
    }

    /// The frames, in the order in which the header names them.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The header and the frames.
    pub fn into_parts(self) -> (Buffer, Vec<Buffer>) {
        (self.header, self.buffers)
    }

    /// Bytes of the header and all frames, without padding.
    pub fn num_bytes(&self) -> usize {
        self.buffers.iter().map(Buffer::len).fold(self.header.len(), usize::saturating_add)
    }
}

/// Frames one after another, as the messages of one stream came: one header, and all buffers.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// use arrow_frames::{Encoder, Frames, Target, from_buffers};
///
/// let mut encoder = Encoder::new(Target::Arrow);
/// let parts = [encoder.start(&batch.schema())?, encoder.encode_batch(&batch)?, encoder.finish()?];
/// let frames: Frames = parts.into_iter().collect();
/// assert_eq!(from_buffers(frames)?.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
impl FromIterator<Frames> for Frames {
    fn from_iter<I: IntoIterator<Item = Frames>>(parts: I) -> Self {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return Frames::default() };
        let Some(second) = parts.next() else { return first };
        let (header, mut buffers) = first.into_parts();
        let mut header = header.to_vec();
        for part in std::iter::once(second).chain(parts) {
            let (message, frames) = part.into_parts();
            header.extend_from_slice(&message);
            buffers.extend(frames);
        }
        Frames::new(header, buffers)
    }
}
