//! Reading a file of any format as a dataframe.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_frames::{DataFrame, Limits, from_buffers};
use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;

use crate::check;
use crate::dask;
use crate::failure::{Failure, Outcome};
use crate::format::{EXTENSIONS, Format};
use crate::guard;
use crate::progress;

/// Rows per batch of formats that have none of their own: enough for frames of half a
/// megabyte, and far from 2 GiB of text, which an array of strings cannot exceed.
const BATCH_ROWS: usize = 1 << 16;

/// A file whose format is known.
pub struct Input {
    path: PathBuf,
    format: Format,
    content: Content,
}

enum Content {
    /// A regular file, read as it is needed.
    File(File, u64),
    /// What came through a pipe.
    Memory(Bytes),
}

impl Input {
    /// Opens a file, or reads stdin if the path is `-`.
    pub fn open(path: &Path, format: Option<Format>) -> Outcome<Input> {
        let failed = |error: io::Error| Failure::of_file(path, error);
        let mut content = Content::of_path(path).map_err(failed)?;
        let shown = content.format(path).map_err(failed)?;
        let Some(format) = format.or(shown) else {
            let hint = if is_pipe(path) {
                "say it with --from".to_owned()
            } else {
                format!("its name should end in {EXTENSIONS}")
            };
            return Err(Failure::of_file(path, format_args!("unknown format: {hint}")));
        };
        Ok(Input { path: path.to_owned(), format, content })
    }

    /// Reads the dataframe.
    pub fn dataframe(self) -> Outcome<DataFrame> {
        let path = self.path.clone();
        let job = || match self.format {
            Format::Parquet => match self.content {
                Content::File(file, _) => parquet(file),
                Content::Memory(bytes) => parquet(bytes),
            },
            Format::Csv => match self.content {
                Content::File(file, length) => csv(file, length),
                Content::Memory(bytes) => {
                    let length = bytes.len() as u64;
                    csv(Cursor::new(bytes), length)
                }
            },
            Format::File | Format::Stream | Format::Packed | Format::Dask => {
                ipc(self.format, self.content.bytes()?)
            }
        };
        match guard::guarded(job) {
            Ok(Ok(df)) => Ok(df),
            Ok(Err(error)) => Err(Failure::of_file(&path, error)),
            Err(panic) => Err(Failure::of_file(&path, format_args!("its reader gave up: {panic}"))),
        }
    }
}

/// Reads Arrow IPC into memory, sound or not; stdin if the path is `-`.
pub fn ipc_bytes(path: &Path, format: Option<Format>) -> Outcome<(Format, Bytes)> {
    let failed = |error: io::Error| Failure::of_file(path, error);
    let mut content = Content::of_path(path).map_err(failed)?;
    let shown = content.format(path).map_err(failed)?;
    // What has no name and no magic is most likely a stream with a damaged start.
    let format = format.or(shown).unwrap_or(Format::Stream);
    if !format.is_ipc() {
        return Err(Failure::of_file(path, "not Arrow IPC: `arrow-frames convert` makes it that"));
    }
    Ok((format, content.bytes().map_err(failed)?))
}

/// Whether a path stands for stdin or stdout.
pub fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Content {
    fn of_path(path: &Path) -> io::Result<Content> {
        if is_pipe(path) {
            return Content::of_pipe(io::stdin().lock());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok(Content::File(file, metadata.len())) } else { Content::of_pipe(file) }
    }

    fn of_pipe(pipe: impl Read) -> io::Result<Content> {
        read_all(pipe, 0).map(Content::Memory)
    }

    /// The format, by the first bytes and the name.
    fn format(&mut self, path: &Path) -> io::Result<Option<Format>> {
        /// As many bytes as any magic has.
        const MAGIC: u64 = 8;
        let start = self.peek(0, MAGIC)?;
        // The name of a spill file is that of its data, which may look as if it had an extension.
        if let Some(header) = dask::header_position(&start, self.len())
            && dask::is_header(&self.peek(header, dask::HEADER_START)?)
        {
            return Ok(Some(Format::Dask));
        }
        Ok(Format::of_input(path, &start))
    }

    /// Some bytes, as far as they are there, which stay to be read.
    fn peek(&mut self, position: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        match self {
            Content::File(file, _) => {
                file.seek(SeekFrom::Start(position))?;
                file.by_ref().take(length).read_to_end(&mut found)?;
                file.rewind()?;
            }
            Content::Memory(bytes) => {
                let mut bytes = Cursor::new(bytes);
                bytes.set_position(position);
                bytes.take(length).read_to_end(&mut found)?;
            }
        }
        Ok(found)
    }

    fn len(&self) -> u64 {
        match self {
            Content::File(_, length) => *length,
            Content::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn bytes(self) -> io::Result<Bytes> {
        match self {
            Content::Memory(bytes) => Ok(bytes),
            Content::File(file, length) => {
                let bar = progress::bytes("reading", length);
                let bytes = read_all(bar.wrap_read(file), length);
                bar.finish_and_clear();
                bytes
            }
        }
    }
}

/// Reads to the end; the hint is what a file says of itself, and may be wrong.
fn read_all(mut reader: impl Read, hint: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    // One more byte than expected lets the read see the end without growing.
    let capacity = usize::try_from(hint).unwrap_or(usize::MAX).saturating_add(1);
    bytes.try_reserve_exact(capacity).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    reader.read_to_end(&mut bytes)?;
    Ok(Bytes::from(bytes))
}

type Loaded = Result<DataFrame, Box<dyn std::error::Error>>;

fn parquet(source: impl ChunkReader + 'static) -> Loaded {
    let builder = ParquetRecordBatchReaderBuilder::try_new(source)?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    let bar = progress::rows("reading", rows);
    let df = collect(builder.with_batch_size(BATCH_ROWS).build()?, |rows| bar.inc(rows as u64));
    bar.finish_and_clear();
    df
}

/// Types are inferred from all rows, so that the last one cannot contradict the first.
fn csv(mut source: impl Read + Seek, length: u64) -> Loaded {
    let format = arrow_csv::reader::Format::default().with_header(true);
    let (schema, _) = format.infer_schema(&mut source, None)?;
    source.rewind()?;
    let bar = progress::bytes("reading", length);
    let reader = arrow_csv::ReaderBuilder::new(Arc::new(schema))
        .with_format(format)
        .with_batch_size(BATCH_ROWS)
        .build(bar.wrap_read(source))?;
    let df = collect(reader, |_| {});
    bar.finish_and_clear();
    df
}

fn collect(reader: impl RecordBatchReader, read: impl Fn(usize)) -> Loaded {
    let schema = reader.schema();
    let batches = reader.inspect(|batch| read(batch.as_ref().map_or(0, RecordBatch::num_rows)));
    let batches = batches.collect::<Result<_, ArrowError>>()?;
    Ok(DataFrame::try_from_batches(schema, batches)?)
}

fn ipc(format: Format, bytes: Bytes) -> Loaded {
    if bytes.starts_with(b"FEA1") {
        return Err("Feather V1 is older than Arrow IPC: write the data again as Feather V2".into());
    }
    let frames = check::frames(format, &bytes, &Limits::default());
    Ok(from_buffers(frames.map_err(|fault| fault.to_string())?)?)
}
