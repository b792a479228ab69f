//! What the golden file of an object that is no dataframe holds. The task that writes it and the
//! tests that read it both take it from here.

use arrow::buffer::Buffer;
use arrow_frames::{DataFrame, Frames, Result, Target, to_buffers};

/// A pickle of a list of two buffers, and these.
pub fn buffers() -> Vec<Buffer> {
    let pickle = b"\x80\x05](\x97\x97e.".as_slice();
    vec![Buffer::from(pickle), Buffer::from(vec![7u8; 200]), Buffer::from(vec![9u8; 3])]
}

/// As they travel.
pub fn frames() -> Result<Frames> {
    to_buffers(&DataFrame::of_object(buffers()), Target::Arrow)
}

/// The file's bytes.
pub fn stream() -> Result<Vec<u8>> {
    Ok(frames()?.segments()?.flatten().copied().collect())
}
