//! Turns opaque columns back into Arrow arrays.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, FieldRef, Fields, Schema, SchemaRef};

use crate::copies::CopyBudget;
use crate::dataframe::{Column, DataFrame};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::nulls;
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
    if unknown == Unknown::IsAnError && df.object().is_some() {
        return Err(ErrorKind::WholeObject { columns: 0 }.into());
    }
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
        match column(&df, index, &mark, copies) {
            Ok(Some((original, arrays))) => {
                for (batch, array) in batches.iter_mut().zip(arrays) {
                    batch.replace_column(index, Column::Native(array));
                }
                fields.push(FieldRef::new(original));
                entries.push((field.name().as_str(), mark.pandas));
                continue;
            }
            Err(error) if is_limit(&error) => return Err(error),
            Err(error) if unknown == Unknown::IsAnError => {
                let (column, type_name) = (field.name().clone(), mark.type_name);
                return Err(ErrorKind::Opaque { column, type_name, reason: Box::new(error) }.into());
            }
            Ok(None) | Err(_) => {}
        }
        fields.push(field.clone());
        entries.push((field.name().as_str(), None));
        all_native = false;
    }
    let schema = original_schema(schema, fields, &entries, all_native);
    let metadata = df.message_metadata().clone();
    Ok(DataFrame::new_unchecked(schema, batches).with_message_metadata(metadata))
}

/// A column as Arrow: its field, and an array per batch. `None` if nothing says what it is.
fn column(
    df: &DataFrame,
    index: usize,
    mark: &Mark,
    copies: &mut CopyBudget,
) -> Result<Option<(Field, Vec<ArrayRef>)>> {
    let name = df.schema().field(index).name();
    let mut original = mark.field.clone();
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(df.batches().len());
    for (batch, piece) in df.column(index).into_iter().flatten().enumerate() {
        let array = match piece {
            // Somebody put an array there: the mark is not of what it holds.
            Column::Native(_) => return Ok(None),
            Column::Opaque(opaque) => {
                let pickle = Pickle::parse(opaque.buffers())?;
                let data_type = original.as_ref().map(Field::data_type);
                let array = pickle.read(data_type, copies, index, name)?;
                if original.is_none() {
                    // Somebody else pickled it. The first batch decides.
                    original = Some(pickle.to_field(name, array.data_type())?);
                }
                array
            }
        };
        if array.len() != piece.len() {
            let (expected, found) = (piece.len(), array.len());
            return Err(ErrorKind::RowCount { batch, column: index, expected, found }.into());
        }
        // The field is the mark's word, and the pickle may be of anything.
        original.as_ref().map_or(Ok(()), |field| nulls::check_column(field, &array))?;
        arrays.push(array);
    }
    Ok(original.map(|field| (field, arrays)))
}

fn original_schema(
    schema: &SchemaRef,
    fields: Vec<FieldRef>,
    entries: &[(&str, Option<String>)],
    all_native: bool,
) -> SchemaRef {
    let mut metadata = schema.metadata().clone();
    if let Some(text) = metadata.get(pandas::KEY) {
        // While something is opaque, what was made for its reader stays true.
        match pandas::restore(text, entries, all_native) {
            Some(text) => {
                metadata.insert(pandas::KEY.to_owned(), text);
            }
            None if all_native => {
                metadata.remove(pandas::KEY);
            }
            None => {}
        }
    }
    Arc::new(Schema::new_with_metadata(Fields::from(fields), metadata))
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::CopyLimit { .. } | ErrorKind::Limit { .. })
}
