//! Comparisons that overlook nothing: what `Field ==` leaves out, and bits of floats.

use std::fmt::Debug;

use arrow_array::{Array, ArrayRef};
use arrow_frames::{Column, DataFrame};
use arrow_schema::{DataType, Field, Metadata, Schema};

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
                (Column::Opaque(left), Column::Opaque(right)) => {
                    equal("opaque type", &left.type_name(), &right.type_name())?;
                    equal("opaque rows", &left.num_rows(), &right.num_rows())?;
                    equal("opaque buffers", &left.buffers(), &right.buffers())?;
                }
                _ => return Err("a column is opaque on one side only".into()),
            }
        }
    }
    Ok(())
}

fn same_schema(left: &Schema, right: &Schema) -> Result<(), String> {
    equal("schema metadata", left.metadata(), right.metadata())?;
    equal("schema", &signature(left), &signature(right))
}

fn same_array(left: &ArrayRef, right: &ArrayRef) -> Result<(), String> {
    let (mut left_fields, mut right_fields) = (Vec::new(), Vec::new());
    describe_inside(left.data_type(), &mut left_fields);
    describe_inside(right.data_type(), &mut right_fields);
    equal("type", &left_fields, &right_fields)?;
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

/// All that a field says.
#[derive(Debug, PartialEq)]
pub struct Described<'a> {
    pub name: &'a str,
    pub data_type: &'a DataType,
    pub nullable: bool,
    pub metadata: &'a Metadata,
    /// Which `Field ==` leaves out.
    pub ordered: Option<bool>,
}

/// The fields of a schema at any depth.
pub fn signature(schema: &Schema) -> Vec<Described<'_>> {
    let mut fields = Vec::new();
    schema.fields().iter().for_each(|field| describe(field, &mut fields));
    fields
}

fn describe<'a>(field: &'a Field, out: &mut Vec<Described<'a>>) {
    out.push(Described {
        name: field.name(),
        data_type: field.data_type(),
        nullable: field.is_nullable(),
        metadata: field.metadata(),
        ordered: field.dict_is_ordered(),
    });
    describe_inside(field.data_type(), out);
}

fn describe_inside<'a>(data_type: &'a DataType, out: &mut Vec<Described<'a>>) {
    use DataType::*;
    match data_type {
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => describe(child, out),
        FixedSizeList(child, _) | Map(child, _) => describe(child, out),
        Struct(fields) => fields.iter().for_each(|field| describe(field, out)),
        Union(fields, _) => fields.iter().for_each(|(_, field)| describe(field, out)),
        RunEndEncoded(ends, values) => [ends, values].into_iter().for_each(|field| describe(field, out)),
        Dictionary(_, values) => describe_inside(values, out),
        _ => {}
    }
}
