//! Well-formed files: decode, compare with the truth, write again, read that.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef};
use arrow_frames::{
    Column, Content, DataFrame, Decoder, Frames, SparseTensor, StreamSource, Target, Tensor, to_buffers,
};
use arrow_integration_test::{ArrowJson, field_from_json};
use flate2::read::GzDecoder;

use super::corpus::{Case, Form};
use super::expected::Expected;
use super::peers;
use super::report::Row;

/// A schema and the batches of it.
type Table = (SchemaRef, Vec<RecordBatch>);

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
    let mut row = Row::new(case, Ok(summary(&df)), String::new());
    row.faults.extend(check(&df).err());
    if matches!(case.expected, Expected::Truth | Expected::TruthButNames(_)) {
        let compared = truth(&path).and_then(|truth| match case.expected {
            Expected::Truth => Ok(is_same(&truth, &table(&df)?)?),
            _ => Ok(is_same_but_names(&truth, &table(&df)?)?),
        });
        row.faults.extend(compared.err().map(|why| format!("not the truth: {why}")));
    }
    match write_again(&df) {
        Ok(bytes) => {
            fs::write(rewritten, &bytes)?;
            // A stream in two forms is the same file to others.
            if case.form != Form::Reader {
                let is_same = |schema: &SchemaRef, batches: &[RecordBatch]| {
                    is_same(&table(&df)?, &(schema.clone(), batches.to_vec()))
                };
                row.arrow = peers::ask_arrow(&path, case.form == Form::File, &bytes, is_same)?;
                row.rewritten = Some(rewritten.to_owned());
            }
        }
        Err(why) => row.faults.push(format!("written again: {why}")),
    }
    Ok(row)
}

/// Decodes the bytes of a file in one form. Some writers leave the end marker out.
pub fn decode(bytes: Vec<u8>, form: Form) -> arrow_frames::Result<DataFrame> {
    let frames = match form {
        Form::Stream => Frames::from_stream(Buffer::from_vec(bytes))?,
        Form::Reader => StreamSource::new(bytes.as_slice()).read_all()?,
        Form::File => Frames::from_file(Buffer::from_vec(bytes))?,
        Form::Inside => Frames::from_stream(bytes.get(8..).unwrap_or_default().to_vec())?,
    };
    // What is wrong with a tensor is told by who reads tensors; a sound one is no dataframe.
    match Content::of(frames.header()) {
        Ok(Content::Tensor) => drop(Tensor::from_frames(frames.clone())?),
        Ok(Content::SparseTensor) => drop(SparseTensor::from_frames(frames.clone())?),
        _ => {}
    }
    Decoder::new().decode(frames)
}

/// The name of an error's kind.
pub fn kind(error: &arrow_frames::Error) -> String {
    let debug = format!("{:?}", error.kind());
    debug.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// How much a dataframe holds.
pub fn summary(df: &DataFrame) -> String {
    format!("{} batches, {} rows", df.batches().len(), df.num_rows())
}

/// Has arrow-rs validate every array in full.
pub fn check(df: &DataFrame) -> Result<(), String> {
    for array in df.batches().iter().flat_map(|batch| batch.columns()).filter_map(Column::as_native) {
        array.to_data().validate_full().map_err(|error| format!("invalid: {error}"))?;
    }
    Ok(())
}

/// The schema and batches in the JSON beside a file.
fn truth(path: &Path) -> Result<Table, Box<dyn Error>> {
    let mut text = String::new();
    GzDecoder::new(File::open(path.with_extension("json.gz"))?).read_to_string(&mut text)?;
    let json: ArrowJson = serde_json::from_str(&text)?;
    let mut fields = Vec::new();
    for field in &json.schema.fields {
        fields.push(field_from_json(&serde_json::to_value(field)?)?);
    }
    let pairs = json.schema.metadata.iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair.get("key")?.clone(), pair.get("value")?.clone())));
    let metadata: HashMap<_, _> = pairs.collect();
    Ok((Arc::new(Schema::new_with_metadata(fields, metadata)), json.get_record_batches()?))
}

fn table(df: &DataFrame) -> Result<Table, String> {
    let batches = df.clone().into_record_batches().map_err(|error| error.to_string())?;
    Ok((df.schema().clone(), batches))
}

/// Compares schema, metadata and values.
fn is_same((schema, batches): &Table, (other_schema, others): &Table) -> Result<(), String> {
    if schema != other_schema {
        return Err(format!("schema {other_schema:?}, not {schema:?}"));
    }
    if batches.len() != others.len() {
        return Err(format!("{} batches, not {}", others.len(), batches.len()));
    }
    for (number, (batch, other)) in batches.iter().zip(others).enumerate() {
        if batch.num_rows() != other.num_rows() {
            return Err(format!("batch {number}: {} rows, not {}", other.num_rows(), batch.num_rows()));
        }
        for (field, (column, other)) in
            schema.fields().iter().zip(batch.columns().iter().zip(other.columns()))
        {
            if column.to_data() != other.to_data() {
                return Err(format!("batch {number}: column {} differs", field.name()));
            }
        }
    }
    Ok(())
}

/// Compares values, cast to the types of the truth.
fn is_same_but_names((schema, batches): &Table, (_, others): &Table) -> Result<(), String> {
    let mut renamed = Vec::new();
    for other in others {
        let columns = schema.fields().iter().zip(other.columns());
        let columns = columns.map(|(field, column)| cast(column, field.data_type()));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        renamed.push(RecordBatch::try_new(schema.clone(), columns).map_err(|error| error.to_string())?);
    }
    is_same(&(schema.clone(), batches.clone()), &(schema.clone(), renamed))
}

/// The bytes of a stream of a dataframe, which we read as the same.
fn write_again(df: &DataFrame) -> Result<Vec<u8>, Box<dyn Error>> {
    let frames = to_buffers(df, Target::Arrow)?;
    let bytes: Vec<u8> = frames.segments()?.flatten().copied().collect();
    let ours = decode(bytes.clone(), Form::Stream)?;
    is_same(&table(df)?, &table(&ours)?)?;
    Ok(bytes)
}
