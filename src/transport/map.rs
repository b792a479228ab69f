//! Dataframes in mapped files: the only unsafe code of the transports.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use arrow_buffer::Buffer;
use bytes::Bytes;
use memmap2::Mmap;

use super::spill::check_whole;
use crate::dataframe::DataFrame;
use crate::decode::Decoder;
use crate::error::Result;
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
    let file = File::open(path)?;
    // An empty file cannot be mapped, and is cut like any other.
    if file.metadata()?.len() == 0 {
        check_whole(None, 0)?;
    }
    // SAFETY: the caller promises that nobody changes the file while the map is in use.
    let map = unsafe { Mmap::map(&file)? };
    let stream = Buffer::from(Bytes::from_owner(map));
    let length = stream.len() as u64;
    // SAFETY: the caller promises that the file was written from valid arrays.
    let decoder = unsafe { Decoder::new().with_trusted_data() };
    // Numbers of valid arrays are what they are.
    let mut decoder = decoder.with_limits(Limits::DEPTH);
    let df = decoder.decode_stream(stream)?;
    check_whole(decoder.end(), length)?;
    Ok(df)
}
