//! Categoricals: the keys of a dictionary are the codes, its values the categories.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{AnyDictionaryArray, Array, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::DataType;

use super::numbers::{dtype_code, numpy_name};
use super::text::TextForm;
use super::zone::Zone;
use super::{Inexact, Pickler, moments, objects, values_of};
use crate::copies::CopyReason;
use crate::error::Result;

/// Whether values of that type can be categories.
pub(super) fn check_values(data_type: &DataType) -> Result<(), Inexact> {
    use DataType::*;
    match data_type {
        Utf8 | LargeUtf8 | Utf8View | Timestamp(_, None) | Duration(_) => Ok(()),
        Timestamp(_, Some(zone)) => Zone::parse(zone).map(|_| ()),
        // pandas has no index of float16: pandas 2 and later refuse it, others widen it.
        Null | Union(..) | Float16 => Err(Inexact::NoForm { data_type: data_type.clone() }),
        number if numpy_name(number).is_some() => Ok(()),
        other => objects::check(other),
    }
}

/// Whether these values can be categories: none is missing, and each is there once.
pub(crate) fn check_categories(categories: &dyn Array) -> Result<(), Inexact> {
    if let Some(category) = first_missing(categories) {
        return Err(Inexact::NullCategory { category });
    }
    match first_repeated(categories) {
        Some(category) => Err(Inexact::DuplicateCategory { category }),
        None => Ok(()),
    }
}

impl Pickler<'_> {
    /// `pandas.Categorical.from_codes(codes, categories, ordered)`.
    pub(super) fn categorical(&mut self, array: &dyn Array, ordered: bool) -> Result<()> {
        let dictionary = array.as_any_dictionary();
        let categories = dictionary.values();
        check_categories(categories).map_err(|reason| self.inexact(reason))?;
        self.call("pandas", "Categorical.from_codes", 3, |p| {
            p.codes(dictionary)?;
            p.categories(categories)?;
            p.writer.boolean(ordered);
            Ok(())
        })
    }

    /// The keys, shared if none is null. A null is −1, for which an unsigned key is widened.
    pub(super) fn codes(&mut self, dictionary: &dyn AnyDictionaryArray) -> Result<()> {
        let keys = dictionary.keys();
        let Some(_) = keys.nulls().filter(|nulls| nulls.null_count() > 0) else {
            self.frombuffer(values_of(keys), dtype_code(keys.data_type()).unwrap_or_default(), keys.len());
            return Ok(());
        };
        use DataType::*;
        match keys.data_type() {
            Int8 => self.filled::<Int8Type, i8>(keys, "i1"),
            UInt8 => self.filled::<UInt8Type, i16>(keys, "<i2"),
            Int16 => self.filled::<Int16Type, i16>(keys, "<i2"),
            UInt16 => self.filled::<UInt16Type, i32>(keys, "<i4"),
            Int32 => self.filled::<Int32Type, i32>(keys, "<i4"),
            UInt32 => self.filled::<UInt32Type, i64>(keys, "<i8"),
            Int64 => self.filled::<Int64Type, i64>(keys, "<i8"),
            _ => self.filled::<UInt64Type, i64>(keys, "<i8"),
        }
    }

    fn filled<K: ArrowPrimitiveType, C: ArrowNativeType>(
        &mut self,
        keys: &dyn Array,
        dtype: &str,
    ) -> Result<()> {
        self.claim(CopyReason::Pickled, keys.len() * size_of::<C>())?;
        let keys: &PrimitiveArray<K> = keys.as_primitive();
        // The cast from `usize::MAX` to a signed type is −1.
        let codes = keys.iter().map(|key| C::usize_as(key.map_or(usize::MAX, |key| key.as_usize())));
        let codes = Buffer::from_vec(codes.collect::<Vec<C>>());
        self.frombuffer(codes, dtype, keys.len());
        Ok(())
    }

    fn categories(&mut self, categories: &dyn Array) -> Result<()> {
        use DataType::*;
        match categories.data_type() {
            Utf8 | LargeUtf8 | Utf8View if self.forms.text == TextForm::Object => {
                self.object_index(|p| p.text_list(categories))
            }
            Utf8 | LargeUtf8 | Utf8View => self.text(categories),
            Timestamp(_, None) => self.naive(categories, 'M'),
            Duration(_) => self.naive(categories, 'm'),
            Timestamp(_, Some(_)) => self.zoned(categories),
            number if numpy_name(number).is_some() => self.numbers(categories),
            _ => self.object_index(|p| p.scalar_list(categories)),
        }
    }

    /// An index of `object`, whatever its values look like.
    fn object_index(&mut self, list: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.call("pandas", "Index", 2, |p| {
            list(p)?;
            p.writer.text("O");
            Ok(())
        })
    }
}

/// The first category that pandas takes for a missing value.
fn first_missing(categories: &dyn Array) -> Option<usize> {
    if let Some(nulls) = categories.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        return nulls.iter().position(|valid| !valid);
    }
    match categories.data_type() {
        DataType::Float32 => {
            categories.as_primitive::<Float32Type>().values().iter().position(|v| v.is_nan())
        }
        DataType::Float64 => {
            categories.as_primitive::<Float64Type>().values().iter().position(|v| v.is_nan())
        }
        DataType::Timestamp(..) | DataType::Duration(_) => moments::first_nat(categories),
        _ => None,
    }
}

/// The first category that equals one before it.
fn first_repeated(categories: &dyn Array) -> Option<usize> {
    let categories = Categories::new(categories);
    let mut seen = HashSet::new();
    categories.iter().position(|category| !seen.insert(category))
}

/// The categories as bytes that are equal where pandas takes the categories for equal.
pub(crate) struct Categories<'c> {
    array: &'c dyn Array,
    /// The values of a type of fixed width.
    fixed: Buffer,
    width: usize,
}

impl<'c> Categories<'c> {
    pub(crate) fn new(array: &'c dyn Array) -> Self {
        use DataType::*;
        // Zero has two signs and is one category.
        let fixed = match array.data_type() {
            Boolean => array.as_boolean().values().iter().map(u8::from).collect(),
            Float32 => array.as_primitive::<Float32Type>().values().iter().map(|v| v + 0.0).collect(),
            Float64 => array.as_primitive::<Float64Type>().values().iter().map(|v| v + 0.0).collect(),
            _ => values_of(array),
        };
        let width = fixed.len().checked_div(array.len()).unwrap_or_default();
        Categories { array, fixed, width }
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        use DataType::*;
        fn bytes(value: Option<&(impl AsRef<[u8]> + ?Sized)>) -> &[u8] {
            value.map(AsRef::as_ref).unwrap_or_default()
        }
        match self.array.data_type() {
            Utf8 => Box::new(self.array.as_string::<i32>().iter().map(bytes)),
            LargeUtf8 => Box::new(self.array.as_string::<i64>().iter().map(bytes)),
            Utf8View => Box::new(self.array.as_string_view().iter().map(bytes)),
            Binary => Box::new(self.array.as_binary::<i32>().iter().map(bytes)),
            LargeBinary => Box::new(self.array.as_binary::<i64>().iter().map(bytes)),
            BinaryView => Box::new(self.array.as_binary_view().iter().map(bytes)),
            FixedSizeBinary(_) => Box::new(self.array.as_fixed_size_binary().iter().map(bytes)),
            _ => Box::new(self.fixed.chunks_exact(self.width.max(1))),
        }
    }
}
