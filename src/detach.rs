//! Copies a dataframe free of the memory it came in.

use crate::dataframe::DataFrame;
use crate::decode::{Decoder, aligned_copy};
use crate::encode::{Encoder, Target};
use crate::error::Result;
use crate::frames::Frames;
use crate::limits::Limits;

impl DataFrame {
    /// A copy that shares no memory with this dataframe.
    ///
    /// A column that references a frame keeps the whole region alive that the frame was
    /// received in. Keep a detached copy instead, of a [`project`](DataFrame::project)ed or
    /// sliced dataframe, if the region is much larger. Slices are copied as what they show.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory) if there is none; as
    /// [`to_buffers`](crate::to_buffers).
    pub fn detach(&self) -> Result<DataFrame> {
        let (header, buffers) = Encoder::new(Target::Arrow).encode(self)?.into_parts();
        let buffers = buffers.iter().map(|buffer| aligned_copy(buffer)).collect::<Result<_>>()?;
        Decoder::new().with_limits(Limits::NONE).decode(Frames::new(header, buffers))
    }
}
