//! What an element is: a type whose values are of a fixed number of bytes.

use arrow_buffer::ArrowNativeType;
use arrow_data::{BufferSpec, layout};
use arrow_schema::{
    ArrowError, DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType,
};
use half::f16;
use zerocopy::{FromBytes, Immutable};

use crate::error::{ErrorKind, Result};

/// A type of elements that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    data_type: DataType,
    width: usize,
    alignment: usize,
}

impl Element {
    pub(super) fn new(data_type: DataType) -> Result<Self> {
        use DataType::*;
        let found = match &data_type {
            // Of nothing there could be any number.
            FixedSizeBinary(..=0) => None,
            FixedSizeBinary(_) => only_buffer(&data_type),
            Null | Boolean => None,
            // More digits than there is room for, which no reader takes.
            Decimal32(digits, _) if !(1..=DECIMAL32_MAX_PRECISION).contains(digits) => None,
            Decimal64(digits, _) if !(1..=DECIMAL64_MAX_PRECISION).contains(digits) => None,
            Decimal128(digits, _) if !(1..=DECIMAL128_MAX_PRECISION).contains(digits) => None,
            Decimal256(digits, _) if !(1..=DECIMAL256_MAX_PRECISION).contains(digits) => None,
            data_type if data_type.is_primitive() => only_buffer(data_type),
            _ => None,
        };
        let Some((width, alignment)) = found else {
            let source = ArrowError::SchemaError(format!("{data_type} is no type of elements"));
            return Err(ErrorKind::TensorType { source }.into());
        };
        Ok(Element { data_type, width, alignment })
    }

    /// The type of these numbers.
    pub(super) fn of<T: TensorElement>() -> Self {
        Element { data_type: T::DATA_TYPE, width: size_of::<T>(), alignment: align_of::<T>() }
    }

    /// The type.
    pub(super) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Bytes of an element, at least 1.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// What the address of an element is a multiple of, so that Rust can read it.
    pub(super) fn alignment(&self) -> usize {
        self.alignment
    }
}

/// The width and the alignment of the values of a type that has one buffer.
fn only_buffer(data_type: &DataType) -> Option<(usize, usize)> {
    match layout(data_type).buffers.as_slice() {
        [BufferSpec::FixedWidth { byte_width, alignment }] => Some((*byte_width, *alignment)),
        _ => None,
    }
}

/// A number in Rust that is an element of tensors.
///
/// Sealed: the types are those that Arrow C++ has tensors of.
pub trait TensorElement: ArrowNativeType + sealed::Sealed {
    /// Its Arrow type.
    const DATA_TYPE: DataType;
}

mod sealed {
    /// What has no invalid bytes.
    pub trait Sealed: super::FromBytes + super::Immutable {}
}

macro_rules! elements {
    ($($native:ty => $data_type:ident),* $(,)?) => {$(
        impl sealed::Sealed for $native {}
        impl TensorElement for $native {
            const DATA_TYPE: DataType = DataType::$data_type;
        }
    )*};
}

elements! {
    i8 => Int8,
    i16 => Int16,
    i32 => Int32,
    i64 => Int64,
    u8 => UInt8,
    u16 => UInt16,
    u32 => UInt32,
    u64 => UInt64,
    f16 => Float16,
    f32 => Float32,
    f64 => Float64,
}
