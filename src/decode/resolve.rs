//! Turns opaque columns back into Arrow arrays.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::copies::{CopyBudget, CopyReason};
use crate::dataframe::{Column, DataFrame, OpaqueColumn};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::pandas;
use crate::pickle::Pickle;
use crate::wire::opaque::{self, Mark};

/// What becomes of an opaque column that has no Arrow type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    StaysOpaque,
    IsAnError,
}

/// The dataframe with Arrow arrays for its opaque columns. What their pickles were made of
/// is put back: field, and what the pandas metadata said of it.
pub(crate) fn resolve(df: DataFrame, copies: &mut CopyBudget, unknown: Unknown) -> Result<DataFrame> {
    let schema = df.schema();
    let is_arrow = |field: &FieldRef| !opaque::is_marked(field);
    if !schema.metadata().contains_key(pandas::KEY) && schema.fields().iter().all(is_arrow) {
        return Ok(df);
    }
    let mut batches = df.batches().to_vec();
    let limits = Limits::default();
    let mut fields = Vec::with_capacity(schema.fields().len());
    let mut entries = Vec::with_capacity(schema.fields().len());
    let mut all_native = true;
    for (index, field) in schema.fields().iter().enumerate() {
        if is_arrow(field) {
            fields.push(field.clone());
            entries.push((field.name().as_str(), None));
            continue;
        }
        let mark = Mark::of(field, &limits);
        let pieces = df.column(index).into_iter().flatten();
        match arrays(pieces, index, field.name(), mark.field.as_ref(), copies) {
            Ok(arrays) => {
                let found = arrays.first().map(|array| array.data_type().clone());
                for (batch, array) in batches.iter_mut().zip(arrays) {
                    batch.replace_column(index, Column::Native(array));
                }
                let natural = || Field::new(field.name(), found.unwrap_or(DataType::Null), true);
                fields.push(FieldRef::new(mark.field.unwrap_or_else(natural)));
                entries.push((field.name().as_str(), mark.pandas));
            }
            Err(error) if is_limit(&error) => return Err(error),
            Err(error) if unknown == Unknown::IsAnError => {
                let (column, type_name) = (field.name().clone(), mark.type_name);
                return Err(ErrorKind::Opaque { column, type_name, reason: Box::new(error) }.into());
            }
            Err(_) => {
                fields.push(field.clone());
                entries.push((field.name().as_str(), None));
                all_native = false;
            }
        }
    }
    let schema = original_schema(schema, fields, &entries, all_native);
    let metadata = df.message_metadata().clone();
    Ok(DataFrame::new_unchecked(schema, batches).with_message_metadata(metadata))
}

/// The arrays of a column, a piece per batch, all of one type.
fn arrays<'c>(
    pieces: impl Iterator<Item = &'c Column>,
    index: usize,
    name: &str,
    original: Option<&Field>,
    copies: &mut CopyBudget,
) -> Result<Vec<ArrayRef>> {
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (batch, piece) in pieces.enumerate() {
        let array = match piece {
            Column::Native(array) => array.clone(),
            Column::Opaque(opaque) => array_of(opaque, original)?,
        };
        if array.len() != piece.len() {
            let (expected, found) = (piece.len(), array.len());
            return Err(ErrorKind::RowCount { batch, column: index, expected, found }.into());
        }
        if let Some(first) = arrays.first()
            && first.data_type() != array.data_type()
        {
            let (expected, found) = (Some(first.data_type().clone()), Some(array.data_type().clone()));
            return Err(ErrorKind::SchemaMismatch { batch, column: name.to_owned(), expected, found }.into());
        }
        if let Column::Opaque(opaque) = piece {
            let bytes = bytes_outside(&array.to_data(), opaque.buffers());
            copies.claim(index, name, CopyReason::Unpickled, bytes)?;
        }
        arrays.push(array);
    }
    Ok(arrays)
}

fn array_of(opaque: &OpaqueColumn, original: Option<&Field>) -> Result<ArrayRef> {
    let pickle = Pickle::parse(opaque.buffers())?;
    let Some(field) = original else { return pickle.to_array() };
    let array = pickle.to_array_of(field.data_type())?;
    // A column that has no nulls has none: where the pickle has pandas' NaT, there was an
    // instant of that number.
    if field.is_nullable() || array.null_count() == 0 || !matches!(field.data_type(), DataType::Timestamp(..)) {
        return Ok(array);
    }
    let data = array.to_data().into_builder().nulls(None).null_count(0).build();
    let data = data.map_err(|source| ErrorKind::Arrow { column: field.name().clone(), source })?;
    Ok(make_array(data))
}

/// Bytes of an array that lie in none of these frames: they were copied.
fn bytes_outside(data: &ArrayData, frames: &[Buffer]) -> usize {
    let is_inside = |buffer: &Buffer| {
        let start = buffer.as_ptr() as usize;
        let end = start.saturating_add(buffer.len());
        frames.iter().any(|frame| {
            let first = frame.as_ptr() as usize;
            first <= start && end <= first.saturating_add(frame.len())
        })
    };
    let validity = data.nulls().map(|nulls| nulls.buffer());
    let own = data.buffers().iter().chain(validity).filter(|buffer| !is_inside(buffer)).map(Buffer::len);
    let children = data.child_data().iter().map(|child| bytes_outside(child, frames));
    own.chain(children).fold(0, usize::saturating_add)
}

fn original_schema(
    schema: &SchemaRef,
    fields: Vec<FieldRef>,
    entries: &[(&str, Option<String>)],
    all_native: bool,
) -> SchemaRef {
    let mut metadata = schema.metadata().clone();
    if let Some(text) = metadata.get(pandas::KEY) {
        match pandas::restore(text, entries) {
            Some(text) => {
                metadata.insert(pandas::KEY.to_owned(), text);
            }
            // While something is opaque, what was made for its reader stays true.
            None if all_native => {
                metadata.remove(pandas::KEY);
            }
            None => {}
        }
    }
    Arc::new(Schema::new_with_metadata(Fields::from(fields), metadata))
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::CopyLimit { .. })
}
