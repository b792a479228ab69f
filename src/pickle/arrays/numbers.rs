//! numpy's values as Arrow's: shared where the layout is the same.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::super::fault::PickleFault;
use super::Reading;
use super::dtype::{Dtype, Sort};
use super::numpy::Numbers;
use crate::copies::CopyReason;
use crate::decode::aligned_copy;
use crate::error::{ErrorKind, Result};

/// pandas' and numpy's missing datetime.
const NOT_A_TIME: i64 = i64::MIN;

/// The seconds of the years 1 to 9999, since 1970.
const YEARS: Range<i64> = -62_135_596_800..253_402_300_800;

impl Reading<'_, '_> {
    /// The values of an array of one dimension.
    pub(super) fn numbers(&mut self, numbers: &Numbers) -> Result<ArrayRef> {
        let Dtype { sort, width, is_swapped } = numbers.dtype;
        if is_swapped {
            return self.no_type(numbers.position, "a big-endian numpy array");
        }
        match (sort, width) {
            (Sort::Bool, _) => {
                let bits = self.booleans(numbers)?;
                Ok(Arc::new(BooleanArray::new(bits, None)))
            }
            (Sort::Int, 1) => self.primitive::<Int8Type>(numbers, None),
            (Sort::Int, 2) => self.primitive::<Int16Type>(numbers, None),
            (Sort::Int, 4) => self.primitive::<Int32Type>(numbers, None),
            (Sort::Int, _) => self.primitive::<Int64Type>(numbers, None),
            (Sort::UInt, 1) => self.primitive::<UInt8Type>(numbers, None),
            (Sort::UInt, 2) => self.primitive::<UInt16Type>(numbers, None),
            (Sort::UInt, 4) => self.primitive::<UInt32Type>(numbers, None),
            (Sort::UInt, _) => self.primitive::<UInt64Type>(numbers, None),
            (Sort::Float, 2) => self.primitive::<Float16Type>(numbers, None),
            (Sort::Float, 4) => self.primitive::<Float32Type>(numbers, None),
            (Sort::Float, _) => self.primitive::<Float64Type>(numbers, None),
            (Sort::Datetime(Some(unit)), _) => self.times(numbers, DataType::Timestamp(unit, None)),
            (Sort::Timedelta(Some(unit)), _) => self.times(numbers, DataType::Duration(unit)),
            (Sort::Datetime(None) | Sort::Timedelta(None), _) => {
                self.no_type(numbers.position, "a numpy array of times in another unit than s, ms, us and ns")
            }
            (Sort::Complex, _) => self.no_type(numbers.position, "a numpy array of complex numbers"),
            (Sort::Object | Sort::Fixed, _) => {
                self.no_type(numbers.position, "a numpy array of text or bytes of a fixed width")
            }
        }
    }

    /// Values with a mask that is true where there is none.
    pub(super) fn masked(&mut self, values: &Numbers, mask: &Numbers) -> Result<ArrayRef> {
        let missing = self.booleans(mask)?;
        let nulls = NullBuffer::new(!&missing);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        if values.dtype.sort == Sort::Bool {
            let bits = self.booleans(values)?;
            return Ok(Arc::new(BooleanArray::new(bits, nulls)));
        }
        let array = self.numbers(values)?;
        let data = array.to_data().into_builder().nulls(nulls).build();
        match data {
            Ok(data) => Ok(arrow_array::make_array(data)),
            Err(error) => self.arrow_error(values.position, array.data_type(), &error),
        }
    }

    /// Times, whose missing value is a number.
    pub(super) fn times(&mut self, numbers: &Numbers, data_type: DataType) -> Result<ArrayRef> {
        let values: ScalarBuffer<i64> =
            self.scalars(numbers.data.clone(), numbers.length, numbers.position)?;
        let nulls = self.nulls_where(&values, |value| *value == NOT_A_TIME)?;
        macro_rules! array {
            ($t:ty) => {
                Ok(Arc::new(PrimitiveArray::<$t>::new(values, nulls).with_data_type(data_type)))
            };
        }
        match &data_type {
            DataType::Timestamp(TimeUnit::Second, _) => array!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => array!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => array!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => array!(TimestampNanosecondType),
            DataType::Duration(TimeUnit::Second) => array!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => array!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => array!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => array!(DurationNanosecondType),
            _ => array!(Int64Type),
        }
    }

    /// Refuses instants of a zone in no year from 1 to 9999, which Python's datetimes have.
    pub(in crate::pickle) fn check_years(&mut self, numbers: &Numbers, unit: TimeUnit) -> Result<()> {
        let per_second = match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            // All of them are.
            TimeUnit::Nanosecond => return Ok(()),
        };
        let values: ScalarBuffer<i64> =
            self.scalars(numbers.data.clone(), numbers.length, numbers.position)?;
        let years: Range<i64> = YEARS.start.saturating_mul(per_second)..YEARS.end.saturating_mul(per_second);
        let is_beyond = |value: &i64| *value != NOT_A_TIME && !years.contains(value);
        match values.iter().enumerate().find(|(_, value)| is_beyond(value)) {
            Some((row, value)) => self.refuse(numbers.position, PickleFault::Year { row, value: *value }),
            None => Ok(()),
        }
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        numbers: &Numbers,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let values = self.scalars::<T::Native>(numbers.data.clone(), numbers.length, numbers.position)?;
        Ok(Arc::new(PrimitiveArray::<T>::new(values, nulls)))
    }

    /// The bitmap of the rows whose value is not missing; none if all are there.
    pub(super) fn nulls_where<T>(
        &mut self,
        values: &[T],
        is_missing: impl Fn(&T) -> bool,
    ) -> Result<Option<NullBuffer>> {
        if !values.iter().fold(false, |any, value| any | is_missing(value)) {
            return Ok(None);
        }
        self.claim(CopyReason::Pickled, values.len().div_ceil(8))?;
        let bits = BooleanBuffer::from_iter(values.iter().map(|value| !is_missing(value)));
        Ok(Some(NullBuffer::new(bits)))
    }

    /// Bytes as bits: 0 is false.
    pub(super) fn booleans(&mut self, numbers: &Numbers) -> Result<BooleanBuffer> {
        self.claim(CopyReason::Pickled, numbers.length.div_ceil(8))?;
        let bytes = numbers.data.get(..numbers.length).unwrap_or_default();
        Ok(BooleanBuffer::collect_bool(bytes.len(), |row| bytes.get(row).is_some_and(|byte| *byte != 0)))
    }

    /// A buffer's first elements: as it lies, or copied if its address does not suit the type.
    pub(super) fn scalars<T: ArrowNativeType>(
        &mut self,
        buffer: Buffer,
        count: usize,
        position: u64,
    ) -> Result<ScalarBuffer<T>> {
        let needed = count.checked_mul(size_of::<T>());
        let Some(needed) = needed.filter(|needed| *needed <= buffer.len()) else {
            let needed = (count as u64).saturating_mul(size_of::<T>() as u64);
            return self.refuse(position, PickleFault::BufferLength { needed, found: buffer.len() as u64 });
        };
        if needed == 0 {
            return Ok(ScalarBuffer::default());
        }
        let buffer = if (buffer.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
            buffer.slice_with_length(0, needed)
        } else {
            self.claim(CopyReason::Misaligned, needed)?;
            aligned_copy(buffer.get(..needed).unwrap_or_default())?
        };
        Ok(buffer.into())
    }

    /// Memory for so many elements.
    pub(super) fn room<T>(&self, count: usize) -> Result<Vec<T>> {
        let mut values = Vec::new();
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        values.try_reserve_exact(count).map_err(|_| ErrorKind::Memory { bytes })?;
        Ok(values)
    }
}
