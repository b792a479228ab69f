//! Dataframes on disk: written in one pass, read back whole, or mapped.
//!
//! A spill file is an ordinary Arrow IPC stream. It appears under its name when it is
//! complete, or not at all, and is its owner's alone.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

#[cfg(unix)]
use super::atomic::folder;
use super::io::{StreamSource, write_frames};
use crate::dataframe::DataFrame;
use crate::decode::Decoder;
use crate::encode::{Target, to_buffers};
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;

pub use super::atomic::{Access, AtomicFile};
pub use super::map::{map_frames, map_trusted};

/// Writes a dataframe to a file, straight from its columns; returns the bytes.
///
/// The bytes go to an [`AtomicFile`] in the same folder, which takes the name when it is
/// complete: whatever fails, or whoever kills the process, the name holds the whole dataframe
/// or what it held before. They may still be in the system's memory when this returns, and a
/// loss of power then can lose them; [`write_durable`] waits for the disk. A process that is
/// killed leaves nothing behind where the system can hold a file without a name; elsewhere it
/// leaves a file whose name starts with `.arrow-frames-`.
///
/// On Unix a new file is [private](Access::Private): mode 0600, whatever the process's mask allows.
/// One that replaces a file of the same owner keeps its mode, so that a caller can share a
/// spilled dataframe once and for all.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// use arrow_frames::{DataFrame, spill};
/// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("a", a)])?;
/// # let df = DataFrame::from(batch.clone());
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("part-0.arrows");
///
/// spill::write(&path, &df)?;
/// drop(df);
/// let df = spill::read(&path)?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`ErrorKind::Io`]: the disk is full, the folder is gone; what is wrong with the dataframe, as
/// for [`to_buffers`].
pub fn write(path: impl AsRef<Path>, df: &DataFrame) -> Result<u64> {
    write_encoded(path, &to_buffers(df, Target::Arrow)?)
}

/// [`write()`], which returns when the file and its name are on the disk.
///
/// # Errors
///
/// As [`write()`].
pub fn write_durable(path: impl AsRef<Path>, df: &DataFrame) -> Result<u64> {
    write_encoded_durable(path, &to_buffers(df, Target::Arrow)?)
}

/// [`write()`] of frames that were [encoded](crate::Encoder) with options: compressed, for
/// pandas.
///
/// # Errors
///
/// As [`write()`], and as [`Frames::segments`].
pub fn write_encoded(path: impl AsRef<Path>, frames: &Frames) -> Result<u64> {
    save(path.as_ref(), frames, |_| Ok(()))
}

/// [`write_encoded`], which returns when the file and its name are on the disk.
///
/// # Errors
///
/// As [`write_encoded`].
pub fn write_encoded_durable(path: impl AsRef<Path>, frames: &Frames) -> Result<u64> {
    let path = path.as_ref();
    let written = save(path, frames, File::sync_all)?;
    // The name is the folder's.
    #[cfg(unix)]
    File::open(folder(path))?.sync_all()?;
    Ok(written)
}

/// Reads a spilled dataframe into memory, and validates all of it.
///
/// # Errors
///
/// [`ErrorKind::Io`]; [`ErrorKind::Truncated`] if the file was cut,
/// even between two messages; [`ErrorKind::BadNumber`] if something
/// follows its end; whatever was changed in it.
pub fn read(path: impl AsRef<Path>) -> Result<DataFrame> {
    read_with_limits(path, &Limits::default())
}

/// [`read`] within these limits, which may have to be larger than the default ones for what
/// becomes more than 8 GiB, or for columns of more than 2³¹ rows that take no bytes.
///
/// # Errors
///
/// As [`read`]; [`ErrorKind::Limit`].
pub fn read_with_limits(path: impl AsRef<Path>, limits: &Limits) -> Result<DataFrame> {
    let frames = read_frames(path, limits)?;
    Decoder::new().with_limits(limits.clone()).decode(frames)
}

/// Reads the frames of a spilled stream into memory, whatever it holds: a
/// [`Tensor`](crate::Tensor) too.
///
/// # Errors
///
/// [`ErrorKind::Io`]; [`ErrorKind::Truncated`] if the file was cut,
/// even between two messages; [`ErrorKind::BadNumber`] if something
/// follows its end; [`ErrorKind::Limit`]; what is wrong with its metadata.
pub fn read_frames(path: impl AsRef<Path>, limits: &Limits) -> Result<Frames> {
    let mut source = StreamSource::new(File::open(path)?).with_limits(limits.clone());
    let frames = source.read_all()?;
    let position = source.position();
    let end = source.is_finished().then_some(position);
    let (mut file, _) = source.into_parts();
    let trailing = io::copy(&mut file, &mut io::sink())?;
    check_whole(end, position.saturating_add(trailing))?;
    Ok(frames)
}

/// Checks that a file of that length holds a stream that came to its end there, and nothing else.
pub(super) fn check_whole(end: Option<u64>, length: u64) -> Result<()> {
    let Some(end) = end else {
        let (needed, available) = (8, 0);
        return Err(ErrorKind::Truncated { part: Part::End, position: length, needed, available }.into());
    };
    let trailing = length.saturating_sub(end);
    if trailing > 0 {
        let number = i64::try_from(trailing).unwrap_or(i64::MAX);
        return Err(ErrorKind::BadNumber { part: Part::End, position: end, number }.into());
    }
    Ok(())
}

/// Writes a file that takes its name at the end.
fn save(path: &Path, frames: &Frames, before_it_is_named: impl Fn(&File) -> io::Result<()>) -> Result<u64> {
    let mut atomic = AtomicFile::create(path, Access::Private)?;
    let file = atomic.as_file_mut();
    let written = write_frames(&mut *file, frames)?;
    file.flush()?;
    before_it_is_named(file)?;
    atomic.commit()?;
    Ok(written)
}
