//! Dataframes in mapped files: the only unsafe code of the transports.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use arrow_buffer::Buffer;
use bytes::Bytes;
use memmap2::Mmap;

use super::spill::check_whole;
use super::stream::take_apart;
use crate::dataframe::DataFrame;
use crate::decode::Decoder;
use crate::error::Result;
use crate::frames::Frames;
use crate::limits::Limits;

/// Maps a spilled dataframe: its arrays reference the file, whose pages come into memory when
/// they are used, and leave it when others need the room.
///
/// Metadata, sizes and bounds of all buffers are checked, and none of their bytes is read: the
/// cost is that of the columns' number. [`read`](super::spill::read) validates, and copies.
///
/// What a map cannot promise: that a page can be read. An error of the disk, or a file
/// that has become shorter, ends the process (`SIGBUS`) where the array is used.
///
/// # Safety
///
/// The file must have been written from valid arrays by [`write`](super::spill::write) or
/// another writer that is trusted, and nobody may change or shorten it while the dataframe or any
/// array of it is in use. Deleting or replacing it by name is no change: the map keeps the old file.
/// Anything else is undefined behaviour when the arrays are used.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// use arrow_frames::{DataFrame, spill};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("part-0.arrows");
/// spill::write(&path, &DataFrame::from(batch.clone()))?;
///
/// // SAFETY: this process has just written it, and nothing else knows of it.
/// let df = unsafe { spill::map_trusted(&path)? };
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io);
/// [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) if the file was cut, even between two
/// messages; [`ErrorKind::BadNumber`](crate::ErrorKind::BadNumber) if something follows its end;
/// whatever is wrong with its metadata.
pub unsafe fn map_trusted(path: impl AsRef<Path>) -> Result<DataFrame> {
    // SAFETY: the caller promises that nobody changes the file while the map is in use.
    let stream = unsafe { map(path.as_ref())? };
    let length = stream.len() as u64;
    // SAFETY: the caller promises that the file was written from valid arrays.
    let decoder = unsafe { Decoder::new().with_trusted_data() };
    // Numbers of valid arrays are what they are.
    let mut decoder = decoder.with_limits(Limits::DEPTH);
    let df = decoder.decode_stream(stream)?;
    check_whole(decoder.end(), length)?;
    Ok(df)
}

/// Maps a spilled stream of any content: its frames are slices of the file. Metadata and the
/// places of all frames are checked; what is in the frames is checked by who decodes them, as
/// [`Tensor::from_frames`](crate::Tensor::from_frames) does.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use arrow_frames::{Tensor, spill};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tensor.arrows");
///
/// spill::write_encoded(&path, &Tensor::from(vec![1.5, 2.5]).to_frames()?)?;
///
/// // SAFETY: this process has just written it, and nothing else knows of it.
/// let frames = unsafe { spill::map_frames(&path)? };
/// assert_eq!(Tensor::from_frames(frames)?.values::<f64>(), Some(&[1.5, 2.5][..]));
/// # Ok(()) }
/// ```
///
/// # Safety
///
/// Nobody may change or shorten the file while any frame of it is in use. Deleting or replacing it
/// by name is no change: the map keeps the old file.
///
/// # Errors
///
/// As [`map_trusted`].
pub unsafe fn map_frames(path: impl AsRef<Path>) -> Result<Frames> {
    // SAFETY: the caller promises that nobody changes the file while the map is in use.
    let stream = unsafe { map(path.as_ref())? };
    let (frames, end) = take_apart(&stream, &Limits::DEPTH)?;
    check_whole(end.map(|end| end as u64), stream.len() as u64)?;
    Ok(frames)
}

/// Maps a file that is not empty.
///
/// # Safety
///
/// Nobody may change or shorten the file while the map is in use.
unsafe fn map(path: &Path) -> Result<Buffer> {
    let file = File::open(path)?;
    // An empty file cannot be mapped, and is cut like any other.
    if file.metadata()?.len() == 0 {
        check_whole(None, 0)?;
    }
    // SAFETY: the caller promises that nobody changes the file while the map is in use.
    let map = unsafe { Mmap::map(&file)? };
    Ok(Buffer::from(Bytes::from_owner(map)))
}
