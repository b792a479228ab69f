//! Arrays as other types that hold them exactly: those that a column had before it was
//! pickled, where pandas does not have them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, FixedSizeBinaryArray, GenericBinaryArray,
    GenericByteArray, OffsetSizeTrait, PrimitiveArray, StringViewArray, StructArray, downcast_integer,
};
use arrow_buffer::{ArrowNativeType, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields, TimeUnit};

use super::super::fault::PickleFault;
use super::Reading;
use super::zone::{Zone, fixed_offset};
use crate::copies::CopyReason;
use crate::error::Result;

impl Reading<'_, '_> {
    /// The same values, of this type.
    pub(super) fn converted(&mut self, array: ArrayRef, asked: &DataType, position: u64) -> Result<ArrayRef> {
        use DataType::*;
        let held = array.data_type().clone();
        if held == *asked {
            return Ok(array);
        }
        match (&held, asked) {
            (Utf8, LargeUtf8) => self.offsets_as::<Utf8Type, LargeUtf8Type>(&array, asked, position),
            (LargeUtf8, Utf8) => self.offsets_as::<LargeUtf8Type, Utf8Type>(&array, asked, position),
            (Binary, LargeBinary) => self.offsets_as::<BinaryType, LargeBinaryType>(&array, asked, position),
            (LargeBinary, Binary) => self.offsets_as::<LargeBinaryType, BinaryType>(&array, asked, position),
            (Utf8 | LargeUtf8, Utf8View) | (Binary | LargeBinary, BinaryView) => self.views_of(&array),
            (Binary, FixedSizeBinary(width)) => {
                self.fixed_of(array.as_binary::<i32>(), *width, asked, position)
            }
            (LargeBinary, FixedSizeBinary(width)) => {
                self.fixed_of(array.as_binary::<i64>(), *width, asked, position)
            }
            (Float64, Float16) => self.halves_of(&array, asked, position),
            (Timestamp(unit, zone), Timestamp(other, wanted)) if unit == other => {
                let is_same = match (zone.as_deref(), wanted.as_deref()) {
                    (Some(zone), Some(wanted)) => zone_of(zone).is_named(wanted),
                    _ => false,
                };
                if is_same { retyped(&array, asked) } else { self.not_exactly(held, asked, position) }
            }
            (Dictionary(_, values), Dictionary(wanted_key, wanted_values)) => {
                let dictionary = array.as_any_dictionary();
                let values = match values == wanted_values {
                    true => dictionary.values().clone(),
                    false => self.converted(dictionary.values().clone(), wanted_values, position)?,
                };
                let keys = self.keys_as(dictionary.keys(), wanted_key, &held, asked, position)?;
                self.with_keys(&keys, values, position)
            }
            (Null, _) => self.nulls_of(asked, array.len(), position),
            (Struct(fields), Struct(wanted)) if same_but_for_nullability(fields, wanted) => {
                let (_, columns, nulls) = array.as_struct().clone().into_parts();
                match StructArray::try_new_with_length(wanted.clone(), columns, nulls, array.len()) {
                    Ok(array) => Ok(Arc::new(array)),
                    // A field that must not have nulls has some.
                    Err(_) => self.not_exactly(held, asked, position),
                }
            }
            _ => self.not_exactly(held, asked, position),
        }
    }

    /// As many nulls, of a type that columns of Python objects are made of. Others never had a
    /// form, and their nulls can take any number of bytes, or none at all.
    fn nulls_of(&mut self, asked: &DataType, rows: usize, position: u64) -> Result<ArrayRef> {
        let Some(width) = null_width(asked) else { return self.not_exactly(DataType::Null, asked, position) };
        // With a bit for each, and one offset more than rows.
        let bytes = rows.saturating_add(1).saturating_mul(width).saturating_add(rows.div_ceil(8));
        self.claim(CopyReason::Pickled, bytes)?;
        // Arrow ends the process where there is no memory.
        drop(self.room::<u8>(bytes)?);
        Ok(arrow_array::new_null_array(asked, rows))
    }

    /// Strings or binaries whose offsets have another width; the bytes are shared.
    fn offsets_as<F, T>(&mut self, array: &ArrayRef, asked: &DataType, position: u64) -> Result<ArrayRef>
    where
        F: ByteArrayType,
        T: ByteArrayType,
    {
        let (offsets, values, nulls) = array.as_bytes::<F>().clone().into_parts();
        let bytes = offsets.len().saturating_mul(size_of::<T::Offset>());
        self.claim(CopyReason::Pickled, bytes)?;
        let mut rebuilt: Vec<T::Offset> = self.room(offsets.len())?;
        for offset in offsets.iter() {
            match T::Offset::from_usize(offset.as_usize()) {
                Some(offset) => rebuilt.push(offset),
                None => return self.not_exactly(array.data_type().clone(), asked, position),
            }
        }
        // Their order is that of the offsets they were made of.
        let offsets = OffsetBuffer::new(ScalarBuffer::from(rebuilt));
        match GenericByteArray::<T>::try_new(offsets, values, nulls) {
            Ok(array) => Ok(Arc::new(array)),
            Err(error) => self.arrow_error(position, asked, &error),
        }
    }

    /// Binaries of one length; a null is as many zeros.
    fn fixed_of<O: OffsetSizeTrait>(
        &mut self,
        array: &GenericBinaryArray<O>,
        width: i32,
        asked: &DataType,
        position: u64,
    ) -> Result<ArrayRef> {
        let length = usize::try_from(width).unwrap_or_default();
        let bytes = array.len().saturating_mul(length);
        self.claim(CopyReason::Pickled, bytes)?;
        let mut values: Vec<u8> = self.room(bytes)?;
        for value in array.iter() {
            match value {
                Some(value) if value.len() == length => values.extend_from_slice(value),
                Some(_) => return self.not_exactly(array.data_type().clone(), asked, position),
                None => values.extend(std::iter::repeat_n(0, length)),
            }
        }
        let (values, nulls) = (Buffer::from_vec(values), array.nulls().cloned());
        match FixedSizeBinaryArray::try_new_with_len(width, values, nulls, array.len()) {
            Ok(fixed) => Ok(Arc::new(fixed)),
            Err(error) => self.arrow_error(position, asked, &error),
        }
    }

    /// Floats of 16 bits, which Python's floats hold exactly.
    fn halves_of(&mut self, array: &ArrayRef, asked: &DataType, position: u64) -> Result<ArrayRef> {
        type Half = <Float16Type as ArrowPrimitiveType>::Native;
        self.claim(CopyReason::Pickled, array.len().saturating_mul(size_of::<Half>()))?;
        let wide = array.as_primitive::<Float64Type>();
        let halves: Vec<Half> = wide.values().iter().map(|value| Half::from_f64(*value)).collect();
        let is_exact = |(half, wide): (&Half, &f64)| half.to_f64().to_bits() == wide.to_bits();
        if !halves.iter().zip(wide.values()).all(is_exact) {
            return self.not_exactly(DataType::Float64, asked, position);
        }
        Ok(Arc::new(PrimitiveArray::<Float16Type>::new(halves.into(), wide.nulls().cloned())))
    }

    /// Views of strings or binaries, whose bytes are shared.
    fn views_of(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        self.claim(CopyReason::Pickled, array.len().saturating_mul(size_of::<u128>()))?;
        Ok(match array.data_type() {
            DataType::Utf8 => Arc::new(StringViewArray::from(array.as_string::<i32>())),
            DataType::LargeUtf8 => Arc::new(StringViewArray::from(array.as_string::<i64>())),
            DataType::Binary => Arc::new(BinaryViewArray::from(array.as_binary::<i32>())),
            _ => Arc::new(BinaryViewArray::from(array.as_binary::<i64>())),
        })
    }

    /// Keys of another width or sign.
    fn keys_as(
        &mut self,
        keys: &dyn Array,
        wanted: &DataType,
        held: &DataType,
        asked: &DataType,
        position: u64,
    ) -> Result<ArrayRef> {
        if keys.data_type() == wanted {
            return Ok(keys.slice(0, keys.len()));
        }
        let key = |row: usize| -> Option<usize> {
            macro_rules! key {
                ($t:ty) => {
                    keys.as_primitive::<$t>().values().get(row)?.to_usize()
                };
            }
            downcast_integer! { keys.data_type() => (key), _ => None }
        };
        macro_rules! cast {
            ($t:ty) => {{
                self.claim(
                    CopyReason::Pickled,
                    keys.len().saturating_mul(size_of::<<$t as ArrowPrimitiveType>::Native>()),
                )?;
                let cast = |row: usize| match keys.is_null(row) {
                    true => Some(Default::default()),
                    false => <$t as ArrowPrimitiveType>::Native::from_usize(key(row)?),
                };
                match (0..keys.len()).map(cast).collect::<Option<Vec<_>>>() {
                    Some(values) => {
                        Ok(Arc::new(PrimitiveArray::<$t>::new(values.into(), keys.nulls().cloned())))
                    }
                    None => self.not_exactly(held.clone(), asked, position),
                }
            }};
        }
        downcast_integer! { wanted => (cast), _ => self.not_exactly(held.clone(), asked, position) }
    }

    /// A dictionary array of keys that have values.
    fn with_keys(&mut self, keys: &ArrayRef, values: ArrayRef, position: u64) -> Result<ArrayRef> {
        let data_type = values.data_type().clone();
        macro_rules! dictionary {
            ($t:ty) => {
                match arrow_array::DictionaryArray::<$t>::try_new(keys.as_primitive::<$t>().clone(), values) {
                    Ok(array) => Ok(Arc::new(array) as ArrayRef),
                    Err(error) => self.arrow_error(position, &data_type, &error),
                }
            };
        }
        downcast_integer! { keys.data_type() => (dictionary), _ => self.no_type(position, "keys of another type") }
    }

    #[cold]
    pub(super) fn not_exactly<T>(&self, held: DataType, asked: &DataType, position: u64) -> Result<T> {
        self.refuse(position, PickleFault::Type { held, asked: asked.clone() })
    }
}

/// The bytes that a null of this type takes, beside its bit; nothing for types that have no form.
fn null_width(data_type: &DataType) -> Option<usize> {
    use DataType::*;
    match data_type {
        Null | Boolean => Some(0),
        Utf8 | Binary => Some(size_of::<i32>()),
        LargeUtf8 | LargeBinary => Some(size_of::<i64>()),
        Utf8View | BinaryView => Some(size_of::<u128>()),
        FixedSizeBinary(width) => usize::try_from(*width).ok(),
        Dictionary(key, values) if key.is_dictionary_key_type() => match values.as_ref() {
            Null | Dictionary(..) => None,
            values => null_width(values).and(key.primitive_width()),
        },
        Interval(_) | Time32(TimeUnit::Microsecond | TimeUnit::Nanosecond) => None,
        Time64(TimeUnit::Second | TimeUnit::Millisecond) => None,
        other => other.primitive_width(),
    }
}

/// Whether fields have the same names and types, and at most other flags and metadata.
fn same_but_for_nullability(fields: &Fields, wanted: &Fields) -> bool {
    let is_same = |(field, wanted): (&FieldRef, &FieldRef)| {
        field.name() == wanted.name() && field.data_type() == wanted.data_type()
    };
    fields.len() == wanted.len() && fields.iter().zip(wanted).all(is_same)
}

/// The zone of an Arrow name.
fn zone_of(name: &str) -> Zone {
    fixed_offset(name).map_or_else(|| Zone::Name(name.to_owned()), Zone::Fixed)
}

/// Timestamps of the same unit under another name of their zone.
fn retyped(array: &ArrayRef, asked: &DataType) -> Result<ArrayRef> {
    macro_rules! array {
        ($t:ty) => {
            Arc::new(array.as_primitive::<$t>().clone().with_data_type(asked.clone()))
        };
    }
    Ok(match asked {
        DataType::Timestamp(TimeUnit::Second, _) => array!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => array!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => array!(TimestampMicrosecondType),
        _ => array!(TimestampNanosecondType),
    })
}
