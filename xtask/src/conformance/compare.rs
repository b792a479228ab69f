//! Well-formed files: decode, compare with the truth, write again, read that elsewhere.

use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::reader::StreamReader;
use arrow_frames::{Column, DataFrame, Decoder, ErrorKind, Frames, Part, StreamSource, Target, to_buffers};
use arrow_integration_test::{ArrowJson, field_from_json};
use flate2::read::GzDecoder;

use super::corpus::{Case, Form};
use super::expected::Expected;
use super::report::Row;

/// Decodes a case and writes what it held to `rewritten`.
pub fn run(root: &Path, case: &Case, rewritten: &Path) -> Result<Row, Box<dyn Error>> {
    let path = root.join(&case.path);
    let bytes = fs::read(&path)?;
    let decoded = panic::catch_unwind(AssertUnwindSafe(|| decode(bytes, case.form)));
    let df = match decoded {
        Ok(Ok(df)) => df,
        Ok(Err(error)) => return Ok(Row::new(case, Err(kind(&error)), error.to_string())),
        Err(_) => return Ok(Row::new(case, Err("panic".into()), String::new())),
    };
    let summary = format!("{} batches, {} rows", df.batches().len(), df.num_rows());
    let mut row = Row::new(case, Ok(summary), String::new());
    if let Err(fault) = check(&df) {
        row.faults.push(fault);
        return Ok(row);
    }
    if case.expected == Expected::Truth {
        match truth(&path) {
            Ok((schema, batches)) => {
                let compared = is_same(&schema, &batches, df.schema(), df.clone());
                row.faults.extend(compared.err().map(|why| format!("not the truth: {why}")));
            }
            Err(error) => row.faults.push(format!("the truth: {error}")),
        }
    }
    if let Err(why) = write_again(&df, rewritten) {
        row.faults.push(format!("written again: {why}"));
    }
    Ok(row)
}

/// Decodes the bytes of a file in one form.
pub fn decode(bytes: Vec<u8>, form: Form) -> arrow_frames::Result<DataFrame> {
    let length = bytes.len() as u64;
    let frames = match form {
        Form::Stream => Frames::from_stream(Buffer::from_vec(bytes))?,
        Form::Reader => StreamSource::new(bytes.as_slice()).read_all()?,
        Form::File => Frames::from_file(Buffer::from_vec(bytes))?,
    };
    // Some writers leave the end marker out; no message may be cut.
    let _ = ErrorKind::Truncated { part: Part::End, position: length, needed: 8, available: 0 };
    Decoder::new().decode(frames)
}

/// The name of an error's kind.
pub fn kind(error: &arrow_frames::Error) -> String {
    let debug = format!("{:?}", error.kind());
    debug.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// Has arrow-rs validate every array in full.
pub fn check(df: &DataFrame) -> Result<(), String> {
    for batch in df.batches() {
        for column in batch.columns() {
            match column {
                Column::Native(array) => {
                    array.to_data().validate_full().map_err(|e| format!("invalid: {e}"))?
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The schema and batches in the JSON beside a file.
fn truth(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), Box<dyn Error>> {
    let mut text = String::new();
    GzDecoder::new(File::open(path.with_extension("json.gz"))?).read_to_string(&mut text)?;
    let json: ArrowJson = serde_json::from_str(&text)?;
    let fields = json
        .schema
        .fields
        .iter()
        .map(|field| field_from_json(&serde_json::to_value(field)?).map_err(Box::<dyn Error>::from));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let pairs = json.schema.metadata.iter().flatten();
    let metadata = pairs.filter_map(|pair| Some((pair.get("key")?.clone(), pair.get("value")?.clone())));
    let metadata: std::collections::HashMap<_, _> = metadata.collect();
    Ok((Arc::new(Schema::new_with_metadata(fields, metadata)), json.get_record_batches()?))
}

/// Compares schema, metadata and values.
fn is_same(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    found: &SchemaRef,
    df: DataFrame,
) -> Result<(), String> {
    if schema != found {
        return Err(format!("schema {found:?}, not {schema:?}"));
    }
    let found = df.into_record_batches().map_err(|e| e.to_string())?;
    if batches.len() != found.len() {
        return Err(format!("{} batches, not {}", found.len(), batches.len()));
    }
    for (index, (a, b)) in batches.iter().zip(&found).enumerate() {
        if a.num_rows() != b.num_rows() {
            return Err(format!("batch {index}: {} rows, not {}", b.num_rows(), a.num_rows()));
        }
        for (column, (a, b)) in a.columns().iter().zip(b.columns()).enumerate() {
            if a != b {
                return Err(format!(
                    "batch {index}, column {column} ({}) differs",
                    schema.field(column).name()
                ));
            }
        }
    }
    Ok(())
}

/// Writes a dataframe as a stream, and has arrow-rs read it.
fn write_again(df: &DataFrame, path: &Path) -> Result<(), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let frames = to_buffers(df, Target::Arrow).map_err(|e| text(&e))?;
    let mut bytes = Vec::new();
    for segment in frames.segments().map_err(|e| text(&e))? {
        bytes.extend_from_slice(segment);
    }
    fs::write(path, &bytes).map_err(|e| text(&e))?;
    let ours = Decoder::new()
        .decode(Frames::from_stream(bytes.clone()).map_err(|e| text(&e))?)
        .map_err(|e| text(&e))?;
    let schema = ours.schema().clone();
    let again = ours.into_record_batches().map_err(|e| text(&e))?;
    is_same(&schema, &again, df.schema(), df.clone()).map_err(|e| format!("read by us: {e}"))?;
    let reader = StreamReader::try_new(bytes.as_slice(), None).map_err(|e| format!("arrow-rs: {e}"))?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|e| format!("arrow-rs: {e}"))?;
    is_same(&schema, &batches, df.schema(), df.clone()).map_err(|e| format!("read by arrow-rs: {e}"))
}
