//! Datetimes, with and without a zone, and durations: 64-bit integers, shared.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::zone::{Zone, ZonedForm};
use super::{Inexact, Pickler, unit_name, values_of};
use crate::copies::CopyReason;
use crate::error::Result;

/// What stands for a missing value: pandas' NaT. As an instant it cannot be told from it.
const NOT_A_TIME: i64 = i64::MIN;

/// In a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

impl Pickler<'_> {
    /// Datetimes without a zone (`M`) or durations (`m`): a numpy array.
    pub(super) fn naive(&mut self, array: &dyn Array, code: char) -> Result<()> {
        let (DataType::Timestamp(unit, _) | DataType::Duration(unit)) = array.data_type() else {
            return Ok(());
        };
        let moments = self.moments(array)?;
        self.frombuffer(moments, &format!("<{code}8[{}]", unit_name(*unit)), array.len());
        Ok(())
    }

    /// Datetimes with a zone: the integers are UTC, as in Arrow.
    pub(super) fn zoned(&mut self, array: &dyn Array) -> Result<()> {
        let DataType::Timestamp(unit, Some(name)) = array.data_type() else { return Ok(()) };
        let zone = Zone::parse(name).map_err(|reason| self.inexact(reason))?;
        let moments = self.moments(array)?;
        let name = unit_name(*unit);
        if *unit != TimeUnit::Nanosecond && self.forms.zoned == ZonedForm::AnyPandas {
            self.check_nanoseconds(array, *unit)?;
            return self.call("pandas.arrays", "DatetimeArray.tz_convert", 2, |p| {
                p.call("pandas", "array", 3, |p| {
                    p.frombuffer(moments, &format!("<M8[{name}]"), array.len());
                    p.zoned_dtype(name, &Zone::Name("UTC"));
                    p.writer.boolean(false);
                    Ok(())
                })?;
                p.zone(&zone);
                Ok(())
            });
        }
        if *unit != TimeUnit::Nanosecond {
            // pandas got this name in 2.1, the first version that knows other units here:
            // before, they became other instants.
            self.writer.global("pandas.arrays", "NumpyExtensionArray");
            self.writer.pop();
        }
        self.call("pandas", "array", 3, |p| {
            p.frombuffer(moments, "<i8", array.len());
            p.zoned_dtype(name, &zone);
            p.writer.boolean(false);
            Ok(())
        })
    }

    fn zoned_dtype(&mut self, unit: &str, zone: &Zone<'_>) {
        self.writer.start_call("pandas", "DatetimeTZDtype", 2);
        self.writer.text(unit);
        self.zone(zone);
        self.writer.end_call(2);
    }

    fn zone(&mut self, zone: &Zone<'_>) {
        match zone {
            Zone::Name(name) => self.writer.text(name),
            Zone::Offset { seconds } => self.writer.call("datetime", "timezone", 1, |w| {
                w.call("datetime", "timedelta", 2, |w| {
                    w.int(0);
                    w.int(i128::from(*seconds));
                });
            }),
        }
    }

    /// The integers, shared if none is missing.
    pub(super) fn moments(&mut self, array: &dyn Array) -> Result<Buffer> {
        self.moments_without(array, array.nulls())
    }

    /// The same where others say what is missing.
    pub(super) fn moments_without(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
    ) -> Result<Buffer> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        self.check_reach(array, nulls)?;
        let Some(nulls) = nulls else { return Ok(values_of(array)) };
        self.claim(CopyReason::Pickled, array.len() * size_of::<i64>())?;
        let values = integers(array);
        let filled = values.iter().zip(nulls).map(|(&value, valid)| if valid { value } else { NOT_A_TIME });
        Ok(Buffer::from_vec(filled.collect::<Vec<i64>>()))
    }

    /// Refuses what pandas takes for a missing value, and instants with a zone outside the years
    /// of Python's datetimes, which it takes and cannot show. That reads the column once.
    fn check_reach(&self, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
        let reach = match array.data_type() {
            DataType::Timestamp(unit, Some(_)) if *unit != TimeUnit::Nanosecond => {
                let per_second = NANOSECONDS / nanoseconds_in(*unit);
                FIRST_SECOND * per_second..=LAST_SECOND * per_second + (per_second - 1)
            }
            _ => NOT_A_TIME + 1..=i64::MAX,
        };
        let values = integers(array);
        // A minimum and a maximum take less time than finding the row, of which there is none.
        let (least, most) = values
            .iter()
            .fold((i64::MAX, NOT_A_TIME), |(least, most), value| (least.min(*value), most.max(*value)));
        if values.is_empty() || reach.contains(&least) && reach.contains(&most) {
            return Ok(());
        }
        let is_valid = |row| nulls.is_none_or(|nulls| nulls.is_valid(row));
        match values.iter().enumerate().find(|(row, value)| is_valid(*row) && !reach.contains(value)) {
            Some((row, &value)) => Err(self.inexact(Inexact::OutOfRange { row, value })),
            None => Ok(()),
        }
    }

    /// Refuses an instant that pandas before 2.0, which counts nanoseconds, cannot express.
    fn check_nanoseconds(&self, array: &dyn Array, unit: TimeUnit) -> Result<()> {
        let per_unit = nanoseconds_in(unit);
        let beyond = |value: &i64| value.checked_mul(per_unit).is_none_or(|ns| ns == NOT_A_TIME);
        let values = integers(array);
        match values.iter().enumerate().find(|(row, value)| array.is_valid(*row) && beyond(value)) {
            Some((row, &value)) => Err(self.inexact(Inexact::OutOfRange { row, value })),
            None => Ok(()),
        }
    }
}

fn nanoseconds_in(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => NANOSECONDS,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The index of the first value that pandas reads as NaT.
pub(super) fn first_nat(array: &dyn Array) -> Option<usize> {
    integers(array).iter().position(|&value| value == NOT_A_TIME)
}

/// The values of timestamps, durations or 64-bit integers, whatever they count.
pub(super) fn integers(array: &dyn Array) -> ScalarBuffer<i64> {
    fn of<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> ScalarBuffer<i64> {
        array.as_primitive::<T>().values().clone()
    }
    use TimeUnit::*;
    match array.data_type() {
        DataType::Timestamp(Second, _) => of::<TimestampSecondType>(array),
        DataType::Timestamp(Millisecond, _) => of::<TimestampMillisecondType>(array),
        DataType::Timestamp(Microsecond, _) => of::<TimestampMicrosecondType>(array),
        DataType::Timestamp(Nanosecond, _) => of::<TimestampNanosecondType>(array),
        DataType::Duration(Second) => of::<DurationSecondType>(array),
        DataType::Duration(Millisecond) => of::<DurationMillisecondType>(array),
        DataType::Duration(Microsecond) => of::<DurationMicrosecondType>(array),
        DataType::Duration(Nanosecond) => of::<DurationNanosecondType>(array),
        _ => of::<Int64Type>(array),
    }
}
