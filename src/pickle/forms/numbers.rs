//! Numbers and booleans: numpy arrays, and pandas' nullable arrays.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;

use super::{Pickler, values_of};
use crate::copies::CopyReason;
use crate::error::Result;

/// The dtype of a numpy array of that type, as numpy names it.
pub(super) fn numpy_name(data_type: &DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match data_type {
        Boolean => "bool",
        Int8 => "int8",
        Int16 => "int16",
        Int32 => "int32",
        Int64 => "int64",
        UInt8 => "uint8",
        UInt16 => "uint16",
        UInt32 => "uint32",
        UInt64 => "uint64",
        Float16 => "float16",
        Float32 => "float32",
        Float64 => "float64",
        _ => return None,
    })
}

/// pandas' nullable dtype of that type; there is none for `float16`.
pub(super) fn nullable_name(data_type: &DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match data_type {
        Boolean => "boolean",
        Int8 => "Int8",
        Int16 => "Int16",
        Int32 => "Int32",
        Int64 => "Int64",
        UInt8 => "UInt8",
        UInt16 => "UInt16",
        UInt32 => "UInt32",
        UInt64 => "UInt64",
        Float32 => "Float32",
        Float64 => "Float64",
        _ => return None,
    })
}

/// numpy's code of that type, byte order included.
pub(super) fn dtype_code(data_type: &DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match data_type {
        Boolean => "?",
        Int8 => "i1",
        Int16 => "<i2",
        Int32 => "<i4",
        Int64 => "<i8",
        UInt8 => "u1",
        UInt16 => "<u2",
        UInt32 => "<u4",
        UInt64 => "<u8",
        Float16 => "<f2",
        Float32 => "<f4",
        Float64 => "<f8",
        _ => return None,
    })
}

impl Pickler<'_> {
    /// `numpy.frombuffer(buffer, dtype, rows)`.
    pub(super) fn frombuffer(&mut self, buffer: Buffer, dtype: &str, rows: usize) {
        self.writer.call("numpy", "frombuffer", 3, |w| {
            w.buffer(buffer);
            w.text(dtype);
            w.int(rows as i128);
        });
    }

    /// A numpy array of numbers, shared, or of booleans, a byte each. Nulls are not looked at.
    pub(super) fn numbers(&mut self, array: &dyn Array) -> Result<()> {
        let values = match array.as_boolean_opt() {
            Some(booleans) => self.unpacked(booleans.values(), false)?,
            None => values_of(array),
        };
        self.frombuffer(values, dtype_code(array.data_type()).unwrap_or_default(), array.len());
        Ok(())
    }

    /// A nullable array: the numbers, shared, and a mask of a byte each.
    pub(super) fn nullable(&mut self, array: &dyn Array) -> Result<()> {
        let class = match array.data_type() {
            DataType::Boolean => "BooleanArray",
            DataType::Float32 | DataType::Float64 => "FloatingArray",
            _ => "IntegerArray",
        };
        let mask = match array.nulls() {
            Some(nulls) => self.unpacked(nulls.inner(), true)?,
            None => self.unpacked(&BooleanBuffer::new_unset(array.len()), false)?,
        };
        self.call("pandas.arrays", class, 2, |p| {
            p.numbers(array)?;
            p.frombuffer(mask, "?", array.len());
            Ok(())
        })
    }

    /// A byte for each bit, or for its opposite.
    fn unpacked(&mut self, bits: &BooleanBuffer, invert: bool) -> Result<Buffer> {
        self.claim(CopyReason::Pickled, bits.len())?;
        Ok(Buffer::from_vec(bits.iter().map(|bit| u8::from(bit != invert)).collect::<Vec<_>>()))
    }
}
