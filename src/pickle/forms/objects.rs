//! Python objects: arrays of `object` that hold scalars, `None` where a value is missing.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{date32_to_datetime, date64_to_datetime};
use arrow_array::types::*;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, TimeUnit};
use chrono::{Datelike, NaiveDateTime, NaiveTime};

use super::{Forms, Inexact, Pickler, numbers};
use crate::copies::CopyReason;
use crate::error::Result;
use crate::pickle::Writer;

/// Whether values of that type have a Python scalar that is exactly them.
pub(super) fn check(data_type: &DataType) -> Result<(), Inexact> {
    use DataType::*;
    match data_type {
        Null | Utf8 | LargeUtf8 | Utf8View | Date32 | Date64 | Time32(_) | Time64(_) => Ok(()),
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Ok(()),
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Ok(()),
        Union(fields, _) => fields.iter().try_for_each(|(_, field)| check(field.data_type())),
        number if numbers::numpy_name(number).is_some() => Ok(()),
        other => Err(Inexact::NoForm { data_type: other.clone() }),
    }
}

/// A pickled numpy array of `object` that holds the values of an array as Python scalars; those
/// of a union are mixed.
///
/// # Errors
///
/// [`ErrorKind::Inexact`](crate::ErrorKind::Inexact) for a type or a value without a Python
/// scalar that is exactly it.
///
/// ```
/// use arrow::array::Date32Array;
/// use arrow_frames::pickle::{Pickle, objects};
///
/// let days = Date32Array::from(vec![Some(0), None]);
/// let pickle = Pickle::parse(&objects(&days)?)?;
/// assert_eq!(pickle.to_array()?.as_ref(), &days);
/// # Ok::<(), arrow_frames::Error>(())
/// ```
pub fn objects(array: &dyn Array) -> Result<Vec<Buffer>> {
    let mut uncounted = |_, _| Ok(());
    let mut pickler = Pickler::new(Forms::default(), "", &mut uncounted);
    check(array.data_type()).map_err(|reason| pickler.inexact(reason))?;
    pickler.objects(array)?;
    Ok(pickler.writer.finish())
}

impl Pickler<'_> {
    /// An array of `object` that holds these values.
    pub(super) fn objects(&mut self, array: &dyn Array) -> Result<()> {
        self.object_array(array.len(), |p| p.scalar_list(array))
    }

    /// An array of `object` of that length.
    pub(super) fn object_array(
        &mut self,
        rows: usize,
        list: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.writer.start_objects(rows);
        list(self)?;
        self.writer.end_objects();
        Ok(())
    }

    /// A list of Python scalars.
    pub(super) fn scalar_list(&mut self, array: &dyn Array) -> Result<()> {
        if matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            return self.text_list(array);
        }
        let start = self.writer.len();
        let mut outcome = Ok(());
        let nulls = array.logical_nulls();
        self.writer.list(0..array.len(), |w, row| {
            // After an error the pickle is thrown away.
            if outcome.is_err() || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                w.none();
            } else {
                outcome = scalar(w, array, row);
            }
        });
        outcome.map_err(|reason| self.inexact(reason))?;
        self.claim(CopyReason::Pickled, self.writer.len() - start)
    }
}

/// Writes the Python scalar of a value that is not null.
fn scalar(w: &mut Writer, array: &dyn Array, row: usize) -> Result<(), Inexact> {
    use DataType::*;
    match array.data_type() {
        Null => w.none(),
        Boolean => w.boolean(array.as_boolean().value(row)),
        Int8 => int::<Int8Type>(w, array, row),
        Int16 => int::<Int16Type>(w, array, row),
        Int32 => int::<Int32Type>(w, array, row),
        Int64 => int::<Int64Type>(w, array, row),
        UInt8 => int::<UInt8Type>(w, array, row),
        UInt16 => int::<UInt16Type>(w, array, row),
        UInt32 => int::<UInt32Type>(w, array, row),
        UInt64 => w.int(array.as_primitive::<UInt64Type>().value(row).into()),
        Float16 => {
            let value = array.as_primitive::<Float16Type>().value(row);
            let (wide, bits) = (value.to_f64(), value.to_bits());
            let narrow = <Float16Type as ArrowPrimitiveType>::Native::from_f64(wide).to_bits();
            return float(w, wide, narrow == bits, row, bits.into());
        }
        Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            let (wide, bits) = (f64::from(value), value.to_bits());
            #[expect(clippy::cast_possible_truncation, reason = "whether it does is what is asked")]
            let narrow = (wide as f32).to_bits();
            return float(w, wide, narrow == bits, row, bits.into());
        }
        Float64 => w.float(array.as_primitive::<Float64Type>().value(row)),
        Utf8 => w.text(array.as_string::<i32>().value(row)),
        LargeUtf8 => w.text(array.as_string::<i64>().value(row)),
        Utf8View => w.text(array.as_string_view().value(row)),
        Binary => w.bytes(array.as_binary::<i32>().value(row)),
        LargeBinary => w.bytes(array.as_binary::<i64>().value(row)),
        BinaryView => w.bytes(array.as_binary_view().value(row)),
        FixedSizeBinary(_) => w.bytes(array.as_fixed_size_binary().value(row)),
        Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            return date(w, date32_to_datetime(days), row, days.into());
        }
        Date64 => {
            let milliseconds = array.as_primitive::<Date64Type>().value(row);
            return date(w, date64_to_datetime(milliseconds), row, milliseconds);
        }
        Time32(TimeUnit::Second) => {
            let value = i64::from(array.as_primitive::<Time32SecondType>().value(row));
            return time(w, value, 1, row);
        }
        Time32(_) => {
            let value = i64::from(array.as_primitive::<Time32MillisecondType>().value(row));
            return time(w, value, 1_000, row);
        }
        Time64(TimeUnit::Microsecond) => {
            return time(w, array.as_primitive::<Time64MicrosecondType>().value(row), 1_000_000, row);
        }
        Time64(_) => {
            return time(w, array.as_primitive::<Time64NanosecondType>().value(row), 1_000_000_000, row);
        }
        Decimal32(..) => decimal(w, &array.as_primitive::<Decimal32Type>().value_as_string(row)),
        Decimal64(..) => decimal(w, &array.as_primitive::<Decimal64Type>().value_as_string(row)),
        Decimal128(..) => decimal(w, &array.as_primitive::<Decimal128Type>().value_as_string(row)),
        Decimal256(..) => decimal(w, &array.as_primitive::<Decimal256Type>().value_as_string(row)),
        Union(..) => {
            let union = array.as_union();
            let child = union.child(union.type_id(row));
            let place = union.value_offset(row);
            if child.is_null(place) {
                w.none();
            } else {
                return scalar(w, child, place);
            }
        }
        other => return Err(Inexact::NoForm { data_type: other.clone() }),
    }
    Ok(())
}

fn int<T: ArrowPrimitiveType>(w: &mut Writer, array: &dyn Array, row: usize)
where
    T::Native: Into<i64>,
{
    let value: i64 = array.as_primitive::<T>().value(row).into();
    w.int(value.into());
}

/// A `float`, which is a `f64`: a signalling NaN does not survive becoming one.
fn float(w: &mut Writer, value: f64, is_exact: bool, row: usize, bits: i64) -> Result<(), Inexact> {
    if !is_exact {
        return Err(Inexact::OutOfRange { row, value: bits });
    }
    w.float(value);
    Ok(())
}

fn decimal(w: &mut Writer, digits: &str) {
    w.call("decimal", "Decimal", 1, |w| w.text(digits));
}

/// `datetime.date(year, month, day)`, of the years 1 to 9999.
fn date(w: &mut Writer, moment: Option<NaiveDateTime>, row: usize, value: i64) -> Result<(), Inexact> {
    let is_known =
        |moment: &NaiveDateTime| moment.time() == NaiveTime::MIN && (1..=9999).contains(&moment.year());
    let moment = moment.filter(is_known).ok_or(Inexact::OutOfRange { row, value })?;
    w.call("datetime", "date", 3, |w| {
        w.int(moment.year().into());
        w.int(moment.month().into());
        w.int(moment.day().into());
    });
    Ok(())
}

/// `datetime.time(hour, minute, second, microsecond)`.
fn time(w: &mut Writer, value: i64, per_second: i64, row: usize) -> Result<(), Inexact> {
    const MICROSECONDS: i64 = 1_000_000;
    let beyond = Inexact::OutOfRange { row, value };
    let (seconds, rest) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let scaled = rest.checked_mul(MICROSECONDS).filter(|scaled| scaled % per_second == 0);
    let (Some(scaled), 0..86_400) = (scaled, seconds) else { return Err(beyond) };
    w.call("datetime", "time", 4, |w| {
        for part in [seconds / 3600, seconds / 60 % 60, seconds % 60, scaled / per_second] {
            w.int(part.into());
        }
    });
    Ok(())
}
