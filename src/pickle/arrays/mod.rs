//! From the graph to Arrow arrays: what a value is ([`form`]), and its parts as Arrow has
//! them. Every part is checked before it is used, and shared where its layout is Arrow's.

pub(super) mod arguments;
mod arrow;
pub(super) mod arrow_types;
mod categorical;
mod convert;
mod decimals;
pub(super) mod dtype;
pub(super) mod form;
pub(super) mod natural;
mod numbers;
pub(super) mod numpy;
mod objects;
pub(super) mod pandas;
pub(super) mod scalars;
mod text;
pub(super) mod zone;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, StructArray, downcast_integer, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{ArrowError, DataType, Field};

use super::fault::PickleFault;
use super::graph::Id;
use super::view::View;
use crate::copies::{CopyBudget, CopyReason};
use crate::error::{ErrorKind, Result};
use crate::join::Join;
use form::Form;
use numpy::Numpy;

/// Values being read from a pickle, for a column, with every copy counted.
pub(super) struct Reading<'p, 'c> {
    pub(super) view: View<'p>,
    pub(super) copies: &'c mut CopyBudget,
    pub(super) column: usize,
    pub(super) name: &'c str,
    /// Arrays of calls that were read before: several calls can be given the same one.
    pub(super) known: HashMap<Id, ArrayRef>,
}

impl<'p> Reading<'p, '_> {
    /// The array that a value is: of the type asked for, if it is that exactly, or of the
    /// type that is natural for it.
    pub(super) fn array(&mut self, id: Id, target: Option<&DataType>) -> Result<ArrayRef> {
        let position = self.view.position(id);
        let Some(target) = target else {
            if let Some(array) = self.known.get(&id) {
                return Ok(array.clone());
            }
            let array = self.natural(&Form::of(self.view, id)?, None, position)?;
            self.known.insert(id, array.clone());
            return Ok(array);
        };
        let array = self.natural(&Form::of(self.view, id)?, Some(target), position)?;
        self.converted(array, target, position)
    }

    fn natural(&mut self, form: &Form<'p>, target: Option<&DataType>, position: u64) -> Result<ArrayRef> {
        match form {
            Form::Numpy(Numpy::Numbers(numbers)) => self.numbers(numbers),
            Form::Numpy(Numpy::Objects(list)) | Form::List(list) => self.objects(*list, target),
            Form::Numpy(Numpy::Taken(list, indices)) => self.taken(*list, indices, target),
            Form::Numpy(Numpy::Split(call)) => {
                let Some(call) = arguments::Arguments::of(self.view, *call) else {
                    return self.no_type(position, "no call");
                };
                let (text, separator) = numpy::split(call)?;
                self.parts(text, separator, target)
            }
            Form::Numpy(Numpy::Dimensions(shape)) => {
                self.no_type(position, &format!("a numpy array of {} dimensions", shape.len()))
            }
            Form::Strings(list) => self.strings(*list, target),
            Form::Categorical(codes, categories, _) => self.categorical(codes, *categories, target),
            Form::Zoned(values, unit, zone) => {
                self.times(values, DataType::Timestamp(*unit, Some(zone.text().into())))
            }
            Form::Masked(values, mask) => self.masked(values, mask),
            Form::Arrow(call) => self.arrow(*call),
            Form::Period(ordinals, _) => self.times(ordinals, DataType::Int64),
            Form::Interval(left, right, _) => self.intervals(*left, *right, position),
            Form::Sparse => self.no_type(position, "pandas sparse array"),
            Form::Other(held) => self.no_type(position, held),
        }
    }

    /// Objects of another array, by index.
    fn taken(&mut self, list: Id, indices: &numpy::Numbers, target: Option<&DataType>) -> Result<ArrayRef> {
        let (key, value) = match target {
            Some(DataType::Dictionary(key, value)) => (Some(key.as_ref()), Some(value.as_ref())),
            target => (None, target),
        };
        let values = self.objects(list, value)?;
        let values = match value {
            Some(value) => self.converted(values, value, indices.position)?,
            None => values,
        };
        let keyed = self.keyed(indices, values.clone(), key)?;
        // There is no −1 in indices: it would be the last object.
        if let Some(row) = keyed.nulls().and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
            let fault = PickleFault::Code { row, code: -1, categories: values.len() };
            return self.refuse(indices.position, fault);
        }
        if key.is_some() {
            return Ok(keyed);
        }
        let keys = keyed.as_any_dictionary().keys();
        let bytes = taken_bytes(&values, keys);
        // A few values can become any number of bytes.
        self.claim(CopyReason::Dictionary, bytes)?;
        let values = match (values.data_type(), i32::try_from(bytes)) {
            (DataType::Utf8, Err(_)) => self.converted(values, &DataType::LargeUtf8, indices.position)?,
            (DataType::Binary, Err(_)) => self.converted(values, &DataType::LargeBinary, indices.position)?,
            _ => values,
        };
        let data_type = values.data_type().clone();
        match arrow_select::take::take(&values, keys, None) {
            Ok(taken) => Ok(taken),
            Err(error) => self.arrow_error(indices.position, &data_type, &error),
        }
    }

    /// Intervals as pairs of bounds, as pyarrow stores them; one without a lower bound is null.
    fn intervals(&mut self, left: Id, right: Id, position: u64) -> Result<ArrayRef> {
        let (left, right) = (self.array(left, None)?, self.array(right, None)?);
        let data_type = left.data_type().clone();
        if right.data_type() != &data_type {
            return self.not_exactly(right.data_type().clone(), &data_type, position);
        }
        let nulls = NullBuffer::union(left.nulls(), not_nan(&left).as_ref());
        let field = |name| Field::new(name, data_type.clone(), true);
        let fields = vec![field("left"), field("right")];
        match StructArray::try_new(fields.into(), vec![left, right], nulls) {
            Ok(array) => Ok(Arc::new(array)),
            Err(error) => self.arrow_error(position, &data_type, &error),
        }
    }

    /// Arrays of one type, one behind the other.
    fn joined(&mut self, chunks: &[ArrayRef], data_type: DataType, position: u64) -> Result<ArrayRef> {
        if let Some(other) = chunks.iter().find(|chunk| chunk.data_type() != &data_type) {
            return self.not_exactly(other.data_type().clone(), &data_type, position);
        }
        match chunks {
            [] => Ok(make_array(arrow_data::ArrayData::new_empty(&data_type))),
            [chunk] => Ok(chunk.clone()),
            _ => Join {
                copies: self.copies,
                column: self.column,
                name: self.name,
                max_rows_without_bytes: u64::MAX,
            }
            .arrays(chunks),
        }
    }

    fn claim(&mut self, reason: CopyReason, bytes: usize) -> Result<()> {
        self.copies.claim(self.column, self.name, reason, bytes)
    }

    #[cold]
    fn refuse<T>(&self, position: u64, refused: PickleFault) -> Result<T> {
        Err(ErrorKind::Pickle { column: self.name.to_owned(), position, refused }.into())
    }

    #[cold]
    fn no_type<T>(&self, position: u64, held: &str) -> Result<T> {
        self.refuse(position, PickleFault::NoArrowType { held: held.to_owned() })
    }

    #[cold]
    fn arrow_error<T>(&self, position: u64, data_type: &DataType, error: &ArrowError) -> Result<T> {
        let (data_type, reason) = (data_type.clone(), error.to_string());
        self.refuse(position, PickleFault::Arrow { data_type, reason })
    }
}

/// The field of a value's array, with what the array does not say.
pub(super) fn field(view: View<'_>, id: Id, name: &str, data_type: &DataType) -> Result<Field> {
    let field = Field::new(name, data_type.clone(), true);
    let extension = |name: &str, metadata: serde_json::Value| {
        let name = (EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
        let metadata = (EXTENSION_TYPE_METADATA_KEY.to_owned(), metadata.to_string());
        field.clone().with_metadata([name, metadata])
    };
    Ok(match Form::of(view, id)? {
        Form::Categorical(_, _, is_ordered) => field.with_dict_is_ordered(is_ordered),
        Form::Period(_, frequency) => extension("pandas.period", serde_json::json!({ "freq": frequency })),
        Form::Interval(_, _, closed) => {
            let subtype = match data_type {
                DataType::Struct(bounds) => {
                    bounds.first().and_then(|bound| arrow_types::name(bound.data_type()))
                }
                _ => None,
            };
            extension("pandas.interval", serde_json::json!({ "subtype": subtype, "closed": closed }))
        }
        _ => field,
    })
}

/// The bytes of the values that keys take.
fn taken_bytes(values: &ArrayRef, keys: &dyn Array) -> usize {
    let lengths: Vec<usize> = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().offsets().lengths().collect(),
        DataType::LargeUtf8 => values.as_string::<i64>().offsets().lengths().collect(),
        DataType::Binary => values.as_binary::<i32>().offsets().lengths().collect(),
        DataType::LargeBinary => values.as_binary::<i64>().offsets().lengths().collect(),
        // The widest other value is a decimal of 256 bits.
        _ => return keys.len().saturating_mul(32),
    };
    macro_rules! sum {
        ($t:ty) => {{
            let length = |key: &<$t as ArrowPrimitiveType>::Native| lengths.get(key.as_usize()).copied();
            let keys = keys.as_primitive::<$t>().values().iter();
            keys.filter_map(length).fold(0, usize::saturating_add)
        }};
    }
    downcast_integer! { keys.data_type() => (sum), _ => usize::MAX }
}

/// The rows of floats that are numbers.
fn not_nan(array: &ArrayRef) -> Option<NullBuffer> {
    let nulls = match array.data_type() {
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().values().iter().map(|v| !v.is_nan()).collect()
        }
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().values().iter().map(|v| !v.is_nan()).collect()
        }
        _ => return None,
    };
    let nulls = NullBuffer::new(nulls);
    (nulls.null_count() > 0).then_some(nulls)
}
