//! Lists of Python objects as Arrow arrays: of the type that all of them have.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, NullArray, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use super::super::fault::PickleFault;
use super::super::graph::Id;
use super::Reading;
use super::scalars::Scalar;
use super::zone::Zone;
use crate::copies::CopyReason;
use crate::error::Result;

/// What the rows of a list are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Decimal,
    Date,
    DateTime(Option<Zone>),
    Time,
    Duration,
    Uuid,
}

impl<'p> Reading<'p, '_> {
    /// The objects of a list, of the type asked for where it holds them exactly.
    pub(super) fn objects(&mut self, list: Id, target: Option<&DataType>) -> Result<ArrayRef> {
        let Some((kind, text)) = self.kind(list)? else {
            return Ok(Arc::new(NullArray::new(self.view.graph.children(list).len())));
        };
        match kind {
            Kind::Text => self.strings(list, target),
            Kind::Bytes => self.binaries(list, target),
            Kind::Bool => self.bools(list, text),
            Kind::Float => self.floats(list, text, target),
            Kind::Int => self.ints(list, text, target),
            Kind::Decimal => self.decimals(list, text, target),
            Kind::Uuid => self.uuids(list, text),
            Kind::Date => self.dates(list, text, target),
            Kind::DateTime(zone) => self.datetimes(list, text, zone, target),
            Kind::Time => self.clock_times(list, text, target),
            Kind::Duration => {
                let unit = match target {
                    Some(DataType::Duration(unit)) => *unit,
                    _ => TimeUnit::Microsecond,
                };
                let duration = |scalar| match scalar {
                    Scalar::Duration(micros) => Some(in_unit(micros, unit)),
                    _ => None,
                };
                let values = self.scalars_of(list, text, &DataType::Duration(unit), duration)?;
                self.in_type(values, DataType::Duration(unit))
            }
        }
    }

    /// What the rows are, by the first that says so; nothing if all are missing.
    fn kind(&self, list: Id) -> Result<Option<(Kind, &'static str)>> {
        let mut has_nan = false;
        for (row, id) in self.view.graph.children(list).enumerate() {
            let kind = match Scalar::of(self.view, id)? {
                Scalar::Missing => continue,
                // It may be a missing string.
                Scalar::Float(number) if number.is_nan() => {
                    has_nan = true;
                    continue;
                }
                Scalar::Bool(_) => Kind::Bool,
                Scalar::Int(_) | Scalar::BigInt(_) => Kind::Int,
                Scalar::Float(_) => Kind::Float,
                Scalar::Text => Kind::Text,
                Scalar::Bytes(_) => Kind::Bytes,
                Scalar::Decimal(_) => Kind::Decimal,
                Scalar::Date(_) => Kind::Date,
                Scalar::DateTime(_, zone) => Kind::DateTime(zone),
                Scalar::Time(_) => Kind::Time,
                Scalar::Duration(_) => Kind::Duration,
                Scalar::Uuid(_) => Kind::Uuid,
                Scalar::Other => {
                    let held = format!("an object array whose row {row} is {}", self.view.kind_text(id));
                    return self.refuse(self.view.position(list), PickleFault::NoArrowType { held });
                }
            };
            return Ok(Some((kind, self.view.kind_text(id))));
        }
        Ok(has_nan.then_some((Kind::Float, "float")))
    }

    /// The value of every row; an error where one is of another kind, or does not fit.
    pub(super) fn scalars_of<T>(
        &mut self,
        list: Id,
        kind: &'static str,
        data_type: &DataType,
        value: impl Fn(Scalar<'p>) -> Option<Option<T>>,
    ) -> Result<Vec<Option<T>>> {
        let view = self.view;
        let children = view.graph.children(list);
        self.claim(CopyReason::Pickled, children.len().saturating_mul(size_of::<T>()))?;
        let mut values = self.room(children.len())?;
        for (row, id) in children.enumerate() {
            let scalar = Scalar::of(view, id)?;
            let is_missing = match &scalar {
                Scalar::Missing => true,
                Scalar::Float(number) => number.is_nan(),
                _ => false,
            };
            match value(scalar) {
                Some(Some(value)) => values.push(Some(value)),
                None if is_missing => values.push(None),
                None => return self.mixed(list, row, kind, id),
                Some(None) => return self.unfit(list, row, id, data_type),
            }
        }
        Ok(values)
    }

    #[cold]
    pub(super) fn unfit<T>(&self, list: Id, row: usize, id: Id, data_type: &DataType) -> Result<T> {
        let (found, data_type) = (self.view.kind_text(id), data_type.clone());
        self.refuse(self.view.position(list), PickleFault::Value { row, found, data_type })
    }

    fn bools(&mut self, list: Id, kind: &'static str) -> Result<ArrayRef> {
        let values = self.scalars_of(list, kind, &DataType::Boolean, |scalar| match scalar {
            Scalar::Bool(bool) => Some(Some(bool)),
            _ => None,
        })?;
        Ok(Arc::new(BooleanArray::from(values)))
    }

    fn floats(&mut self, list: Id, kind: &'static str, target: Option<&DataType>) -> Result<ArrayRef> {
        let values = self.scalars_of(list, kind, &DataType::Float64, |scalar| match scalar {
            Scalar::Float(number) => Some(Some(number)),
            _ => None,
        })?;
        match target {
            Some(DataType::Float32) => {
                let narrow = |(row, value): (usize, &Option<f64>)| match value {
                    None => Ok(None),
                    Some(wide) => match narrowed(*wide) {
                        Some(value) => Ok(Some(value)),
                        None => self.unfit(list, row, list, &DataType::Float32),
                    },
                };
                let values = values.iter().enumerate().map(narrow).collect::<Result<Vec<_>>>()?;
                Ok(Arc::new(PrimitiveArray::<Float32Type>::from(values)))
            }
            _ => Ok(Arc::new(PrimitiveArray::<Float64Type>::from(values))),
        }
    }

    /// Integers of the width asked for; else of 64 bits, unsigned if only that holds them.
    fn ints(&mut self, list: Id, kind: &'static str, target: Option<&DataType>) -> Result<ArrayRef> {
        macro_rules! ints {
            ($t:ty) => {{
                let values = self.scalars_of(list, kind, &<$t>::DATA_TYPE, |scalar| match scalar {
                    Scalar::Int(number) => Some(number.try_into().ok()),
                    Scalar::BigInt(bytes) => Some(unsigned(bytes).and_then(|number| number.try_into().ok())),
                    _ => None,
                })?;
                Ok(Arc::new(PrimitiveArray::<$t>::from(values)))
            }};
        }
        match target {
            Some(DataType::Int8) => ints!(Int8Type),
            Some(DataType::Int16) => ints!(Int16Type),
            Some(DataType::Int32) => ints!(Int32Type),
            Some(DataType::UInt8) => ints!(UInt8Type),
            Some(DataType::UInt16) => ints!(UInt16Type),
            Some(DataType::UInt32) => ints!(UInt32Type),
            Some(DataType::UInt64) => ints!(UInt64Type),
            Some(_) => ints!(Int64Type),
            None => {
                let mut children = self.view.graph.children(list);
                let is_big = |id| matches!(self.view.value(id), super::super::view::Value::BigInt(_));
                if children.any(is_big) { ints!(UInt64Type) } else { ints!(Int64Type) }
            }
        }
    }

    fn uuids(&mut self, list: Id, kind: &'static str) -> Result<ArrayRef> {
        let values = self.scalars_of(list, kind, &DataType::FixedSizeBinary(16), |scalar| match scalar {
            Scalar::Uuid(uuid) => Some(Some(uuid)),
            _ => None,
        })?;
        let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), 16);
        for value in &values {
            match value {
                Some(uuid) => builder.append_value(uuid).unwrap_or(()),
                None => builder.append_null(),
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    fn dates(&mut self, list: Id, kind: &'static str, target: Option<&DataType>) -> Result<ArrayRef> {
        const DAY_MILLIS: i64 = 86_400_000;
        let days = |scalar| match scalar {
            Scalar::Date(days) => Some(Some(days)),
            _ => None,
        };
        let values = self.scalars_of(list, kind, &DataType::Date32, days)?;
        if target == Some(&DataType::Date64) {
            let millis = |days: Option<i32>| days.map(|days| i64::from(days).saturating_mul(DAY_MILLIS));
            return Ok(Arc::new(PrimitiveArray::<Date64Type>::from_iter(values.into_iter().map(millis))));
        }
        Ok(Arc::new(PrimitiveArray::<Date32Type>::from(values)))
    }

    fn datetimes(
        &mut self,
        list: Id,
        kind: &'static str,
        zone: Option<Zone>,
        target: Option<&DataType>,
    ) -> Result<ArrayRef> {
        let unit = match target {
            Some(DataType::Timestamp(unit, _)) => *unit,
            _ => TimeUnit::Microsecond,
        };
        let data_type = DataType::Timestamp(unit, zone.as_ref().map(|zone| zone.text().into()));
        let instant = |scalar| match scalar {
            Scalar::DateTime(micros, found) if found == zone => Some(in_unit(micros, unit)),
            _ => None,
        };
        let values = self.scalars_of(list, kind, &data_type, instant)?;
        self.in_type(values, data_type)
    }

    fn clock_times(&mut self, list: Id, kind: &'static str, target: Option<&DataType>) -> Result<ArrayRef> {
        let data_type = match target {
            Some(
                target @ (DataType::Time32(TimeUnit::Second | TimeUnit::Millisecond)
                | DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond)),
            ) => target.clone(),
            _ => DataType::Time64(TimeUnit::Microsecond),
        };
        let unit = match &data_type {
            DataType::Time32(unit) | DataType::Time64(unit) => *unit,
            _ => TimeUnit::Microsecond,
        };
        let time = |scalar| match scalar {
            Scalar::Time(micros) => Some(in_unit(micros, unit)),
            _ => None,
        };
        let values = self.scalars_of(list, kind, &data_type, time)?;
        self.in_type(values, data_type)
    }

    /// Numbers of 64 bits as a type whose values they are; those of 32 bits fit.
    fn in_type(&mut self, values: Vec<Option<i64>>, data_type: DataType) -> Result<ArrayRef> {
        use TimeUnit::*;
        macro_rules! array {
            ($t:ty) => {
                Ok(Arc::new(PrimitiveArray::<$t>::from(values).with_data_type(data_type)))
            };
        }
        macro_rules! narrow {
            ($t:ty) => {{
                let narrow = |value: Option<i64>| value.map(|value| i32::try_from(value).unwrap_or_default());
                Ok(Arc::new(PrimitiveArray::<$t>::from_iter(values.into_iter().map(narrow))))
            }};
        }
        match &data_type {
            DataType::Timestamp(Second, _) => array!(TimestampSecondType),
            DataType::Timestamp(Millisecond, _) => array!(TimestampMillisecondType),
            DataType::Timestamp(Microsecond, _) => array!(TimestampMicrosecondType),
            DataType::Timestamp(Nanosecond, _) => array!(TimestampNanosecondType),
            DataType::Duration(Second) => array!(DurationSecondType),
            DataType::Duration(Millisecond) => array!(DurationMillisecondType),
            DataType::Duration(Microsecond) => array!(DurationMicrosecondType),
            DataType::Duration(Nanosecond) => array!(DurationNanosecondType),
            DataType::Time32(Second) => narrow!(Time32SecondType),
            DataType::Time32(_) => narrow!(Time32MillisecondType),
            DataType::Time64(Nanosecond) => array!(Time64NanosecondType),
            _ => array!(Time64MicrosecondType),
        }
    }
}

/// Microseconds in another unit, if that is exact.
fn in_unit(micros: i64, unit: TimeUnit) -> Option<i64> {
    let divided = |by: i64| micros.checked_rem(by).filter(|rest| *rest == 0).and(micros.checked_div(by));
    match unit {
        TimeUnit::Second => divided(1_000_000),
        TimeUnit::Millisecond => divided(1000),
        TimeUnit::Microsecond => Some(micros),
        TimeUnit::Nanosecond => micros.checked_mul(1000),
    }
}

/// A float of 32 bits that is exactly this one.
fn narrowed(wide: f64) -> Option<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "what is lost is asked for next")]
    let narrow = wide as f32;
    (f64::from(narrow).to_bits() == wide.to_bits() || wide.is_nan()).then_some(narrow)
}

/// A number of two's complement that is not negative and has at most 64 bits.
fn unsigned(bytes: &[u8]) -> Option<u64> {
    let (used, rest) = bytes.split_at_checked(8)?;
    rest.iter().all(|byte| *byte == 0).then(|| super::super::scan::number(used))
}
