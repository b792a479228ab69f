//! Writing a dataframe in any format.

use std::error::Error;
use std::io::{BufWriter, Write};

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_frames::{DataFrame, ErrorKind, Frames, write_segments};
use arrow_schema::ArrowError;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::args::{Codec, For, encoder};
use crate::format::Format;
use crate::guard;
use crate::utc::utc;

type Saved<T = ()> = Result<T, Box<dyn Error>>;

/// What is written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub format: Format,
    pub codec: Option<Codec>,
    /// Who Arrow IPC is for.
    pub target: For,
}

/// Writes the whole dataframe. After an error, part of it may have been written.
pub fn save(df: DataFrame, form: Form, to: impl Write + Send) -> Saved {
    let job = || match form.format {
        Format::Parquet => parquet(df, form.codec, to),
        Format::Csv => csv(df, to),
        Format::File => file(df, form, to),
        Format::Stream => stream(&df, form, to),
        Format::Packed => packed(&df, form, to),
        Format::Dask => Err("only dask.distributed spills".into()),
    };
    guard::guarded(job).map_err(|panic| format!("its writer gave up: {panic}"))?
}

fn stream(df: &DataFrame, form: Form, mut to: impl Write) -> Saved {
    write_segments(&mut to, encode(df, form)?.segments()?)?;
    Ok(to.flush()?)
}

fn packed(df: &DataFrame, form: Form, mut to: impl Write) -> Saved {
    write_segments(&mut to, encode(df, form)?.packed_aligned()?.segments())?;
    Ok(to.flush()?)
}

fn file(df: DataFrame, form: Form, mut to: impl Write) -> Saved {
    let frames = encode(&df, form)?;
    let frames = match frames.file_form() {
        Err(error) if matches!(error.kind(), ErrorKind::DictionaryChanged { .. }) => {
            encode(&with_one_dictionary(df)?, form)?
        }
        _ => frames,
    };
    write_segments(&mut to, frames.file_form()?.segments()?)?;
    Ok(to.flush()?)
}

fn encode(df: &DataFrame, form: Form) -> arrow_frames::Result<Frames> {
    encoder(form.target, form.codec).encode(df)
}

/// The same rows in the same batches, with one dictionary per column, as a file needs it.
///
/// Joining the batches joins the dictionaries; their slices share them.
fn with_one_dictionary(df: DataFrame) -> Saved<DataFrame> {
    let schema = df.schema().clone();
    let rows: Vec<usize> = df.batches().iter().map(|batch| batch.num_rows()).collect();
    let joined = df.into_record_batch()?;
    let mut start = 0;
    let slices = rows.into_iter().map(|rows| {
        let slice = joined.slice(start, rows);
        start += rows;
        slice
    });
    Ok(DataFrame::try_from_batches(schema, slices.collect())?)
}

fn parquet(df: DataFrame, codec: Option<Codec>, to: impl Write + Send) -> Saved {
    let compression = match codec {
        // What most writers do unless told otherwise.
        None => Compression::SNAPPY,
        Some(Codec::Lz4) => Compression::LZ4_RAW,
        Some(Codec::Zstd) => Compression::ZSTD(ZstdLevel::default()),
    };
    let properties = WriterProperties::builder().set_compression(compression).build();
    let (schema, batches) = record_batches(df)?;
    let mut writer = ArrowWriter::try_new(to, schema, Some(properties))?;
    for batch in &batches {
        writer.write(batch)?;
    }
    writer.into_inner()?.flush()?;
    Ok(())
}

/// CSV has no time zones: instants are written in UTC, with the `Z` that says so.
fn csv(df: DataFrame, to: impl Write) -> Saved {
    let (schema, batches) = record_batches(df)?;
    let mut to = BufWriter::new(to);
    let mut writer = arrow_csv::Writer::new(&mut to);
    if batches.is_empty() {
        // The writer takes the names from the first batch.
        writer.write(&in_utc(&RecordBatch::new_empty(schema))?)?;
    }
    for batch in &batches {
        writer.write(&in_utc(batch)?)?;
    }
    drop(writer);
    Ok(to.flush()?)
}

fn in_utc(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<_> = batch.columns().iter().map(utc).collect();
    let fields = batch.schema_ref().fields().iter().zip(&columns);
    let fields =
        fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.into(), columns, &options)
}

fn record_batches(df: DataFrame) -> arrow_frames::Result<(SchemaRef, Vec<RecordBatch>)> {
    let schema = df.schema().clone();
    Ok((schema, df.into_record_batches()?))
}
