//! Python's scalars, as object columns hold them.

use arrow_buffer::Buffer;

use super::super::allow::Name;
use super::super::graph::{Id, Kind};
use super::super::view::{Value, View};
use super::arguments::Arguments;
use super::natural::entry;
use super::zone::{Zone, duration};
use crate::error::Result;

/// One value of an object column.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::pickle) enum Scalar<'p> {
    /// `None`, `pandas.NA` or `NaT`.
    Missing,
    Bool(bool),
    Int(i64),
    /// A larger one, in two's complement, little-endian.
    BigInt(&'p [u8]),
    Float(f64),
    Text,
    Bytes(Buffer),
    /// Its digits, as text.
    Decimal(&'p str),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970, in UTC if there is a zone, and the zone.
    DateTime(i64, Option<Zone>),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds.
    Duration(i64),
    Uuid([u8; 16]),
    /// What has no Arrow value.
    Other,
}

const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;

impl<'p> Scalar<'p> {
    /// Whether numpy and pandas take a value in a list for one, and not for several, as they do
    /// lists, arrays, bytearrays and buffers.
    pub(in crate::pickle) fn is_one(view: View<'p>, id: Id) -> Result<bool> {
        Ok(match Self::of(view, id)? {
            Scalar::Bytes(_) => view.graph.kind(id) == Kind::Bytes,
            Scalar::Other => false,
            _ => true,
        })
    }

    pub(in crate::pickle) fn of(view: View<'p>, id: Id) -> Result<Self> {
        Ok(match view.value(id) {
            Value::None | Value::Global(Name::Na | Name::NaT) | Value::Call(Name::NatUnpickle) => {
                Scalar::Missing
            }
            Value::Bool(bool) => Scalar::Bool(bool),
            Value::Int(number) => Scalar::Int(number),
            Value::BigInt(bytes) => Scalar::BigInt(bytes),
            Value::Float(number) => Scalar::Float(number),
            Value::Text(_) => Scalar::Text,
            Value::Bytes(bytes) => Scalar::Bytes(bytes),
            Value::Call(_) | Value::New(_) => match Arguments::of(view, id) {
                Some(call) => Self::of_call(call)?,
                None => Scalar::Other,
            },
            _ => Scalar::Other,
        })
    }

    fn of_call(call: Arguments<'p>) -> Result<Self> {
        let view = call.view;
        Ok(match call.name {
            Name::Decimal => Scalar::Decimal(call.exactly(1)?.text(0)?),
            Name::Date => {
                call.exactly(if call.count == 1 { 1 } else { 3 })?;
                let [year, month, day] = numbers::<3>(call, 4)?;
                match days(year, month, day) {
                    Some(days) => Scalar::Date(days),
                    None => return call.refuse(0, "no date"),
                }
            }
            Name::DateTime => Self::datetime(call)?,
            Name::Time => {
                // With a zone, it would be an offset from a day that nobody knows.
                let limit = if is_packed(call) { 1 } else { 4 };
                if call.count > limit {
                    return Ok(Scalar::Other);
                }
                call.exactly(call.count)?;
                let [hour, minute, second, micro] = numbers::<4>(call, 6)?;
                match micros(hour, minute, second, micro) {
                    Some(micros) => Scalar::Time(micros),
                    None => return call.refuse(0, "no time"),
                }
            }
            Name::TimeDelta => {
                let (seconds, micros) = duration(call)?;
                match seconds.checked_mul(MICROS).and_then(|whole| whole.checked_add(micros)) {
                    Some(micros) => Scalar::Duration(micros),
                    None => return call.refuse(0, "no duration"),
                }
            }
            Name::Uuid if call.count == 1 => match uuid(call.exactly(1)?.text(0)?) {
                Some(uuid) => Scalar::Uuid(uuid),
                None => return call.wrong(0),
            },
            Name::Uuid => {
                let state = call.with_state(0)?;
                let number = entry(view, state, "int").map(|number| view.value(number));
                match number {
                    Some(Value::Int(number)) if number >= 0 => Scalar::Uuid(i128::from(number).to_be_bytes()),
                    Some(Value::BigInt(bytes)) => match unsigned(bytes) {
                        Some(uuid) => Scalar::Uuid(uuid),
                        None => return call.wrong(0),
                    },
                    _ => return call.wrong(0),
                }
            }
            _ => Scalar::Other,
        })
    }

    /// `datetime(year, month, day[, hour, minute, second, microsecond[, zone]])`, or of its 10
    /// bytes.
    fn datetime(call: Arguments<'p>) -> Result<Self> {
        let parts: usize = if is_packed(call) { 1 } else { 7 };
        call.exactly(call.count.clamp(if parts == 1 { 1 } else { 3 }, parts.saturating_add(1)))?;
        let [year, month, day, hour, minute, second, micro] = numbers::<7>(call, 10)?;
        let zone = match call.count > parts {
            true => Some(Zone::of(call.view, call.get(parts)?)?),
            false => None,
        };
        let offset = match &zone {
            None => 0,
            Some(Zone::Fixed(seconds)) => *seconds,
            // Its offset on that day is not known here.
            Some(Zone::Name(_)) => return Ok(Scalar::Other),
        };
        let days = days(year, month, day).map(|days| i64::from(days).saturating_mul(DAY));
        let seconds = days.map(|seconds| seconds.saturating_sub(offset).saturating_mul(MICROS));
        match (seconds, micros(hour, minute, second, micro)) {
            (Some(seconds), Some(micros)) => Ok(Scalar::DateTime(seconds.saturating_add(micros), zone)),
            _ => call.refuse(0, "no datetime"),
        }
    }
}

/// Whether the arguments are packed into bytes, as Python's own pickles do.
fn is_packed(call: Arguments<'_>) -> bool {
    matches!(call.value(0), Ok(Value::Bytes(_)))
}

/// The numbers of a date or time: from arguments, or from so many bytes. The year (2 bytes),
/// and the microseconds (3 bytes) are longer than a byte. Source: CPython,
/// `Lib/_pydatetime.py` (`_getstate`).
fn numbers<const N: usize>(call: Arguments<'_>, length: usize) -> Result<[i64; N]> {
    let mut numbers = [0; N];
    let Ok(Value::Bytes(packed)) = call.value(0) else {
        for (index, number) in numbers.iter_mut().enumerate().take(call.count) {
            *number = call.int(index)?;
        }
        return Ok(numbers);
    };
    if packed.len() != length {
        return call.wrong(0);
    }
    let mut bytes = packed.iter().map(|byte| i64::from(*byte));
    let mut take = |count: usize| bytes.by_ref().take(count).fold(0i64, |number, byte| (number << 8) | byte);
    // The highest bit of the month, or of the hour of a time, says which of two equal times
    // it is when clocks go back.
    let starts_with_year = length != 6;
    for (index, number) in numbers.iter_mut().enumerate() {
        let is_micro = index.saturating_add(1) == N && N > 3;
        *number = match (index, is_micro) {
            (0, _) if starts_with_year => take(2),
            (_, true) => take(3),
            _ => take(1),
        };
        if index == usize::from(starts_with_year) {
            *number &= 0x7f;
        }
    }
    Ok(numbers)
}

/// Days since 1970 of a date of the Gregorian calendar, in the years that Python has.
fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    // Years that start in March end with the leap day.
    let (year, month) = match month {
        1 | 2 => (year.checked_sub(1)?, month.checked_add(9)?),
        _ => (year, month.checked_sub(3)?),
    };
    let before = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
    let month_starts = *before.get(usize::try_from(month).ok()?)?;
    let leap_days =
        year.div_euclid(4).checked_sub(year.div_euclid(100))?.checked_add(year.div_euclid(400))?;
    let days = year.checked_mul(365)?.checked_add(leap_days)?.checked_add(month_starts)?.checked_add(day)?;
    // 1970-01-01 is day 719469 of this count, which starts at 1 in March of the year 0.
    i32::try_from(days.checked_sub(719_469)?).ok()
}

fn micros(hour: i64, minute: i64, second: i64, micro: i64) -> Option<i64> {
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..MICROS).contains(&micro);
    let seconds = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
    is_time.then(|| seconds.checked_mul(MICROS)?.checked_add(micro))?
}

/// The bytes of a UUID's text: 32 hexadecimal digits, with or without hyphens.
fn uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() > 36 {
        return None;
    }
    let digits = text.replace('-', "");
    let is_hexadecimal = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hexadecimal.then(|| u128::from_str_radix(&digits, 16).ok())?.map(u128::to_be_bytes)
}

/// A positive number of at most 128 bits, big-endian.
fn unsigned(bytes: &[u8]) -> Option<[u8; 16]> {
    let (used, rest) = bytes.split_at_checked(16).unwrap_or((bytes, &[]));
    let is_positive = bytes.last().is_some_and(|last| *last < 0x80);
    if !is_positive || rest.iter().any(|byte| *byte != 0) {
        return None;
    }
    let mut number = [0; 16];
    for (to, from) in number.iter_mut().rev().zip(used) {
        *to = *from;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(1969, 12, 31), Some(-1));
        assert_eq!(days(2000, 2, 29), Some(11_016));
        assert_eq!(days(1900, 2, 29), None);
        assert_eq!(days(1, 1, 1), Some(-719_162));
        assert_eq!(days(9999, 12, 31), Some(2_932_896));
    }
}
