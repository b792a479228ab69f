//! Categoricals as dictionary arrays: codes are keys, −1 is null.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, ScalarBuffer, ToByteSlice};
use arrow_schema::DataType;

use super::super::allow::Name;
use super::super::fault::{PickleBudget, PickleFault};
use super::super::graph::Id;
use super::super::hash::{self, Hashed};
use super::super::view::Value;
use super::arguments::Arguments;
use super::dtype::{Dtype, Sort};
use super::form::Form;
use super::numpy::Numbers;
use super::{Reading, pandas};
use crate::copies::CopyReason;
use crate::decode::trusted::{self, Trust};
use crate::error::Result;

impl Reading<'_, '_> {
    /// A dictionary array whose keys are as wide as the codes, or of the type asked for.
    pub(super) fn categorical(
        &mut self,
        codes: &Numbers,
        categories: Id,
        target: Option<&DataType>,
    ) -> Result<ArrayRef> {
        let (key, value) = match target {
            Some(DataType::Dictionary(key, value)) => (Some(key.as_ref()), Some(value.as_ref())),
            _ => (None, None),
        };
        let values = self.categories(categories, value)?;
        self.keyed(codes, values, key)
    }

    /// Checks `Categorical.from_codes(codes, categories, ordered)`.
    pub(in crate::pickle) fn check_codes(&mut self, call: Arguments<'_>) -> Result<()> {
        match pandas::from_codes(call)? {
            Form::Categorical(codes, categories, _) => {
                let values = self.categories(categories, None)?;
                self.check_hashes(categories, &values)?;
                self.keyed(&codes, values, None).map(drop)
            }
            _ => call.wrong(0),
        }
    }

    /// Refuses categories that pandas would take too long to put into its hash table.
    fn check_hashes(&self, categories: Id, values: &ArrayRef) -> Result<()> {
        let call = Arguments::of(self.view, categories);
        let is_objects = call.is_some_and(|call| call.name == Name::Index && call.count == 2);
        let hashed = if is_objects { Hashed::Objects } else { Hashed::Numbers };
        let (steps, allowed) = (hash::hash_steps(values, hashed), hash::most_hash_steps(values.len()));
        if steps <= allowed {
            return Ok(());
        }
        let fault = PickleFault::Budget { budget: PickleBudget::HashSteps, allowed };
        self.refuse(self.view.position(categories), fault)
    }

    /// The categories, of which none is null or like another.
    pub(in crate::pickle) fn categories(
        &mut self,
        categories: Id,
        target: Option<&DataType>,
    ) -> Result<ArrayRef> {
        let view = self.view;
        let is_empty = view.value(categories) == Value::List && view.graph.children(categories).len() == 0;
        // pandas gives no categories the dtype of text.
        let values = match target {
            None if is_empty => self.array(categories, Some(&DataType::Utf8))?,
            target => self.array(categories, target)?,
        };
        let position = view.position(categories);
        match repeated(&values) {
            None => Ok(values),
            Some((index, same_as)) => self.refuse(position, PickleFault::Category { index, same_as }),
        }
    }

    /// Codes, of which each has a value or is −1, as keys of the type asked for.
    pub(in crate::pickle) fn keyed(
        &mut self,
        codes: &Numbers,
        values: ArrayRef,
        key: Option<&DataType>,
    ) -> Result<ArrayRef> {
        macro_rules! keys {
            ($from:ty) => {
                match key {
                    None => self.keys::<$from, $from>(codes, values),
                    Some(DataType::Int8) => self.keys::<$from, Int8Type>(codes, values),
                    Some(DataType::Int16) => self.keys::<$from, Int16Type>(codes, values),
                    Some(DataType::Int32) => self.keys::<$from, Int32Type>(codes, values),
                    Some(DataType::Int64) => self.keys::<$from, Int64Type>(codes, values),
                    Some(DataType::UInt8) => self.keys::<$from, UInt8Type>(codes, values),
                    Some(DataType::UInt16) => self.keys::<$from, UInt16Type>(codes, values),
                    Some(DataType::UInt32) => self.keys::<$from, UInt32Type>(codes, values),
                    Some(_) => self.keys::<$from, UInt64Type>(codes, values),
                }
            };
        }
        match codes.dtype {
            Dtype { sort: Sort::UInt, width: 1, .. } => keys!(UInt8Type),
            Dtype { sort: Sort::UInt, width: 2, .. } => keys!(UInt16Type),
            Dtype { sort: Sort::UInt, width: 4, .. } => keys!(UInt32Type),
            Dtype { sort: Sort::UInt, .. } => keys!(UInt64Type),
            Dtype { width: 1, .. } => keys!(Int8Type),
            Dtype { width: 2, .. } => keys!(Int16Type),
            Dtype { width: 4, .. } => keys!(Int32Type),
            _ => keys!(Int64Type),
        }
    }

    fn keys<F, T>(&mut self, codes: &Numbers, values: ArrayRef) -> Result<ArrayRef>
    where
        F: ArrowDictionaryKeyType,
        T: ArrowDictionaryKeyType,
        i128: From<F::Native>,
    {
        let found: ScalarBuffer<F::Native> =
            self.scalars(codes.data.clone(), codes.length, codes.position)?;
        let limit = values.len() as u64;
        // −1 becomes 0, and all that is less than it the largest number.
        let is_code =
            |code: &F::Native| code.to_i64().unwrap_or(i64::MAX).wrapping_add(1).cast_unsigned() <= limit;
        if !found.iter().fold(true, |all, code| all & is_code(code)) {
            let row = found.iter().position(|code| !is_code(code)).unwrap_or_default();
            let code = found.get(row).and_then(|code| code.to_i64()).unwrap_or(i64::MAX);
            let fault = PickleFault::Code { row, code, categories: values.len() };
            return self.refuse(codes.position, fault);
        }
        let nulls = self.nulls_where(&found, |code| i128::from(*code) == -1)?;
        let keys: ScalarBuffer<T::Native> = if size_of::<F::Native>() == size_of::<T::Native>() {
            // The same bits: keys that are not null are not negative, and were compared.
            found.into_inner().into()
        } else {
            self.claim(CopyReason::Pickled, found.len().saturating_mul(size_of::<T::Native>()))?;
            let cast = |code: &F::Native| T::Native::from_usize(code.to_usize().unwrap_or_default());
            match found.iter().map(cast).collect::<Option<Vec<_>>>() {
                Some(keys) => keys.into(),
                None => {
                    let dictionary = |key: DataType| {
                        DataType::Dictionary(Box::new(key), Box::new(values.data_type().clone()))
                    };
                    let (held, asked) = (dictionary(F::DATA_TYPE), dictionary(T::DATA_TYPE));
                    return self.refuse(codes.position, PickleFault::Type { held, asked });
                }
            }
        };
        // Of keys that were codes of the same width and now have another sign.
        let keys = PrimitiveArray::<T>::new(keys, nulls);
        Ok(Arc::new(trusted::dictionary(keys, values, Trust::validate(), self.name)?))
    }
}

/// The first value that is null (or NaN, which pandas takes for null), or like an earlier one.
fn repeated(values: &ArrayRef) -> Option<(usize, Option<usize>)> {
    if let Some(index) = (0..values.len()).find(|row| values.is_null(*row)) {
        return Some((index, None));
    }
    if values.data_type() == &DataType::Null && !values.is_empty() {
        return Some((0, None));
    }
    match values.data_type() {
        DataType::Utf8 => first_like(values.as_string::<i32>().iter().map(|value| value.map(str::as_bytes))),
        DataType::LargeUtf8 => {
            first_like(values.as_string::<i64>().iter().map(|value| value.map(str::as_bytes)))
        }
        DataType::Utf8View => {
            first_like(values.as_string_view().iter().map(|value| value.map(str::as_bytes)))
        }
        _ => {
            let rows = rows(values).unwrap_or_default();
            first_like(rows.iter().map(|row| row.as_deref()))
        }
    }
}

/// The first row that is null, or like an earlier one.
fn first_like<'v>(rows: impl Iterator<Item = Option<&'v [u8]>>) -> Option<(usize, Option<usize>)> {
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    for (index, row) in rows.enumerate() {
        match row.map(|row| seen.insert(row, index)) {
            None => return Some((index, None)),
            Some(Some(earlier)) => return Some((index, Some(earlier))),
            Some(None) => {}
        }
    }
    None
}

/// Bytes for each value that are the same where Python says that the values are; nothing for
/// types that no categories have.
fn rows(values: &ArrayRef) -> Option<Vec<Option<Vec<u8>>>> {
    fn floats<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        wide: impl Fn(T::Native) -> f64,
    ) -> Vec<Option<Vec<u8>>> {
        let row = |value: Option<T::Native>| {
            let value = value.map(&wide).filter(|value| !value.is_nan())?;
            let value = if value == 0.0 { 0.0 } else { value };
            Some(value.to_bits().to_le_bytes().to_vec())
        };
        values.as_primitive::<T>().iter().map(row).collect()
    }
    match values.data_type() {
        DataType::Float16 => return Some(floats::<Float16Type>(values, f64::from)),
        DataType::Float32 => return Some(floats::<Float32Type>(values, f64::from)),
        DataType::Float64 => return Some(floats::<Float64Type>(values, |value| value)),
        _ => {}
    }
    macro_rules! primitive {
        ($t:ty) => {{
            let bytes = |value: <$t as ArrowPrimitiveType>::Native| value.to_byte_slice().to_vec();
            Some(values.as_primitive::<$t>().iter().map(|value| value.map(bytes)).collect())
        }};
    }
    arrow_array::downcast_primitive! {
        values.data_type() => (primitive),
        DataType::Boolean => {
            Some(values.as_boolean().iter().map(|value| value.map(|value| vec![u8::from(value)])).collect())
        }
        DataType::Binary => Some(values.as_binary::<i32>().iter().map(|v| v.map(<[u8]>::to_vec)).collect()),
        DataType::LargeBinary => Some(values.as_binary::<i64>().iter().map(|v| v.map(<[u8]>::to_vec)).collect()),
        DataType::FixedSizeBinary(_) => {
            Some(values.as_fixed_size_binary().iter().map(|v| v.map(<[u8]>::to_vec)).collect())
        }
        DataType::Struct(_) => {
            let columns = values.as_struct().columns().iter().map(rows).collect::<Option<Vec<_>>>()?;
            let row = |index: usize| {
                let parts = columns.iter().map(|column| column.get(index)?.as_deref());
                parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
            };
            Some((0..values.len()).map(row).collect())
        }
        _ => None
    }
}
