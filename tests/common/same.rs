//! Comparisons that overlook nothing: what `Field ==` leaves out, and bits of floats.

use std::fmt::Debug;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, Schema};
use arrow_frames::{Column, DataFrame};

/// Panics unless two dataframes are equal in all that a dataframe says. `context` is only
/// called for the message.
#[track_caller]
pub fn assert_same(left: &DataFrame, right: &DataFrame, context: &dyn Fn() -> String) {
    if let Err(difference) = same(left, right) {
        panic!("{}: {difference}", context());
    }
}

/// Panics unless two schemas are equal, ordered flags at every depth included.
#[track_caller]
pub fn assert_same_schema(left: &Schema, right: &Schema, context: &dyn Fn() -> String) {
    if let Err(difference) = same_schema(left, right) {
        panic!("{}: {difference}", context());
    }
}

/// Panics unless two arrays have the same type, ordered flags of the fields inside it
/// included, and the same values; floats are compared by their bits.
#[track_caller]
pub fn assert_same_array(left: &ArrayRef, right: &ArrayRef, context: &dyn Fn() -> String) {
    if let Err(difference) = same_array(left, right) {
        panic!("{}: {difference}", context());
    }
}

/// The first difference of two dataframes.
pub fn same(left: &DataFrame, right: &DataFrame) -> Result<(), String> {
    same_schema(left.schema(), right.schema())?;
    equal("schema message", left.message_metadata(), right.message_metadata())?;
    equal("number of batches", &left.batches().len(), &right.batches().len())?;
    for (left, right) in left.batches().iter().zip(right.batches()) {
        equal("rows", &left.num_rows(), &right.num_rows())?;
        equal("batch message", left.metadata(), right.metadata())?;
        equal("columns", &left.columns().len(), &right.columns().len())?;
        for (left, right) in left.columns().iter().zip(right.columns()) {
            match (left, right) {
                (Column::Native(left), Column::Native(right)) => same_array(left, right)?,
                _ => return Err("an opaque column".into()),
            }
        }
    }
    Ok(())
}

fn same_schema(left: &Schema, right: &Schema) -> Result<(), String> {
    equal("schema metadata", left.metadata(), right.metadata())?;
    equal("schema", &signature(left), &signature(right))?;
    // Whatever the signature might forget.
    equal("schema", left, right)
}

fn same_array(left: &ArrayRef, right: &ArrayRef) -> Result<(), String> {
    let describe = |array: &ArrayRef| {
        let mut lines = Vec::new();
        describe_type(array.data_type(), "", &mut lines);
        lines
    };
    equal("type", &describe(left), &describe(right))?;
    equal("type", left.data_type(), right.data_type())?;
    equal("rows", &left.len(), &right.len())?;
    equal("nulls", &left.null_count(), &right.null_count())?;
    equal("logical nulls", &left.logical_null_count(), &right.logical_null_count())?;
    match left.to_data() == right.to_data() {
        true => Ok(()),
        false => Err(format!("values\n left: {left:?}\nright: {right:?}")),
    }
}

fn equal<T: PartialEq + Debug>(what: &str, left: &T, right: &T) -> Result<(), String> {
    if left == right { Ok(()) } else { Err(format!("{what}\n left: {left:?}\nright: {right:?}")) }
}

/// Panics unless Arrow's own full check finds nothing wrong.
#[track_caller]
pub fn assert_valid(df: &DataFrame, context: &dyn Fn() -> String) {
    for array in df.batches().iter().flat_map(|batch| batch.columns()).filter_map(Column::as_native) {
        if let Err(error) = array.to_data().validate_full() {
            panic!("{}: {error}", context());
        }
    }
}

/// All that a schema says, a line per field at any depth.
pub fn signature(schema: &Schema) -> Vec<String> {
    let mut lines = Vec::new();
    schema.fields().iter().for_each(|field| describe(field, "", &mut lines));
    lines
}

fn describe(field: &Field, path: &str, lines: &mut Vec<String>) {
    let path = format!("{path}/{}", field.name());
    lines.push(format!(
        "{path}: {} nullable={} ordered={:?} metadata={:?}",
        field.data_type(),
        field.is_nullable(),
        field.dict_is_ordered(),
        field.metadata(),
    ));
    describe_type(field.data_type(), &path, lines);
}

fn describe_type(data_type: &DataType, path: &str, lines: &mut Vec<String>) {
    use DataType::*;
    match data_type {
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => {
            describe(child, path, lines);
        }
        FixedSizeList(child, _) | Map(child, _) => describe(child, path, lines),
        Struct(fields) => fields.iter().for_each(|field| describe(field, path, lines)),
        Union(fields, _) => {
            fields.iter().for_each(|(id, field)| describe(field, &format!("{path}#{id}"), lines));
        }
        RunEndEncoded(ends, values) => [ends, values].iter().for_each(|field| describe(field, path, lines)),
        Dictionary(_, values) => describe_type(values, &format!("{path}/values"), lines),
        _ => {}
    }
}
