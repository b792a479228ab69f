//! The values of a dataframe in a form that every language can write the same: JSON of
//! `null`, `true`, `false`, strings and arrays.
//!
//! Here arrow-rs's own accessors write it, and the scripts in `tests/readers` whatever their
//! reader has to get at a value. Numbers are strings, since JSON's are not exact.
//!
//! | value | form |
//! |---|---|
//! | integer | its decimal digits |
//! | float of any width | the bits of the same `f64`, 16 hexadecimal digits; any NaN is `nan` |
//! | decimal | digits without zeros at the end, `e` and the exponent: `-125e-2`; 0 is `0` |
//! | date, time, timestamp | nanoseconds, whatever the unit, so that a unit may change |
//! | interval, duration | `[months, days, nanoseconds]` |
//! | text | itself |
//! | bytes | hexadecimal digits |
//! | list of any kind | an array |
//! | struct | an array of its fields' values |
//! | map | an array of `[key, value]` |
//! | union | `[name of the child, value]` |
//! | dictionary, run-end encoded | the value that is meant |

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayRef, RecordBatch, types::*};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use serde_json::Value;

/// The values of each column, one batch after another.
pub fn columns(number: usize, batches: &[RecordBatch]) -> Value {
    let column = |index: usize| batches.iter().flat_map(|batch| values(batch.column(index))).collect();
    Value::Array((0..number).map(|index| Value::Array(column(index))).collect())
}

/// The values of an array.
pub fn values(array: &ArrayRef) -> Vec<Value> {
    use DataType::*;
    let ns = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    const DAY: i128 = 86_400_000_000_000;
    match array.data_type() {
        Null => vec![Value::Null; array.len()],
        Boolean => array.as_boolean().iter().map(|value| value.map_or(Value::Null, Value::Bool)).collect(),
        Int8 => numbers::<Int8Type>(array, text),
        Int16 => numbers::<Int16Type>(array, text),
        Int32 => numbers::<Int32Type>(array, text),
        Int64 => numbers::<Int64Type>(array, text),
        UInt8 => numbers::<UInt8Type>(array, text),
        UInt16 => numbers::<UInt16Type>(array, text),
        UInt32 => numbers::<UInt32Type>(array, text),
        UInt64 => numbers::<UInt64Type>(array, text),
        Float16 => numbers::<Float16Type>(array, |value| float(value.to_f64())),
        Float32 => numbers::<Float32Type>(array, |value| float(value.into())),
        Float64 => numbers::<Float64Type>(array, float),
        Decimal32(_, scale) => numbers::<Decimal32Type>(array, |value| decimal(&value.to_string(), *scale)),
        Decimal64(_, scale) => numbers::<Decimal64Type>(array, |value| decimal(&value.to_string(), *scale)),
        Decimal128(_, scale) => numbers::<Decimal128Type>(array, |value| decimal(&value.to_string(), *scale)),
        Decimal256(_, scale) => numbers::<Decimal256Type>(array, |value| decimal(&value.to_string(), *scale)),
        Date32 => numbers::<Date32Type>(array, |days| text(i128::from(days) * DAY)),
        Date64 => times::<Date64Type>(array, 1_000_000),
        Time32(TimeUnit::Second) => {
            numbers::<Time32SecondType>(array, |n| text(i128::from(n) * 1_000_000_000))
        }
        Time32(_) => numbers::<Time32MillisecondType>(array, |n| text(i128::from(n) * 1_000_000)),
        Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(array, 1_000),
        Time64(_) => times::<Time64NanosecondType>(array, 1),
        Timestamp(unit, _) => match unit {
            TimeUnit::Second => times::<TimestampSecondType>(array, ns(unit)),
            TimeUnit::Millisecond => times::<TimestampMillisecondType>(array, ns(unit)),
            TimeUnit::Microsecond => times::<TimestampMicrosecondType>(array, ns(unit)),
            TimeUnit::Nanosecond => times::<TimestampNanosecondType>(array, ns(unit)),
        },
        Duration(unit) => match unit {
            TimeUnit::Second => durations::<DurationSecondType>(array, ns(unit)),
            TimeUnit::Millisecond => durations::<DurationMillisecondType>(array, ns(unit)),
            TimeUnit::Microsecond => durations::<DurationMicrosecondType>(array, ns(unit)),
            TimeUnit::Nanosecond => durations::<DurationNanosecondType>(array, ns(unit)),
        },
        Interval(IntervalUnit::YearMonth) => {
            numbers::<IntervalYearMonthType>(array, |months| interval(months, 0, 0))
        }
        Interval(IntervalUnit::DayTime) => numbers::<IntervalDayTimeType>(array, |value| {
            interval(0, value.days, i64::from(value.milliseconds) * 1_000_000)
        }),
        Interval(IntervalUnit::MonthDayNano) => numbers::<IntervalMonthDayNanoType>(array, |value| {
            interval(value.months, value.days, value.nanoseconds)
        }),
        Utf8 => array.as_string::<i32>().iter().map(|value| or_null(value, Value::from)).collect(),
        LargeUtf8 => array.as_string::<i64>().iter().map(|value| or_null(value, Value::from)).collect(),
        Utf8View => array.as_string_view().iter().map(|value| or_null(value, Value::from)).collect(),
        Binary => array.as_binary::<i32>().iter().map(|value| or_null(value, hex)).collect(),
        LargeBinary => array.as_binary::<i64>().iter().map(|value| or_null(value, hex)).collect(),
        BinaryView => array.as_binary_view().iter().map(|value| or_null(value, hex)).collect(),
        FixedSizeBinary(_) => array.as_fixed_size_binary().iter().map(|value| or_null(value, hex)).collect(),
        List(_) => array.as_list::<i32>().iter().map(list).collect(),
        LargeList(_) => array.as_list::<i64>().iter().map(list).collect(),
        ListView(_) => array.as_list_view::<i32>().iter().map(list).collect(),
        LargeListView(_) => array.as_list_view::<i64>().iter().map(list).collect(),
        FixedSizeList(..) => array.as_fixed_size_list().iter().map(list).collect(),
        Map(..) => {
            let array = array.as_map();
            let entries = |row| list(array.is_valid(row).then(|| std::sync::Arc::new(array.value(row)) as _));
            (0..array.len()).map(entries).collect()
        }
        Struct(_) => structs(array),
        Union(fields, _) => {
            let array = array.as_union();
            let value = |row| {
                let id = array.type_id(row);
                let name =
                    fields.iter().find(|(other, _)| *other == id).map(|(_, field)| field.name().clone());
                let value = values(&array.value(row)).pop();
                Value::Array(vec![Value::from(name), value.unwrap_or_default()])
            };
            (0..array.len()).map(value).collect()
        }
        Dictionary(..) => {
            let array = array.as_any_dictionary();
            let meant = values(array.values());
            if meant.is_empty() {
                return vec![Value::Null; array.len()];
            }
            let nulls = array.keys().nulls();
            let keys = array.normalized_keys().into_iter().enumerate();
            keys.map(|(row, key)| at(&meant, key, is_valid(nulls, row))).collect()
        }
        RunEndEncoded(ends, _) => match ends.data_type() {
            Int16 => runs::<Int16Type>(array),
            Int32 => runs::<Int32Type>(array),
            _ => runs::<Int64Type>(array),
        },
    }
}

/// A decimal of these digits: `-125e-2`.
fn decimal(unscaled: &str, scale: i8) -> Value {
    let digits = unscaled.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    let exponent = (unscaled.len() - digits.len()) as i64 - i64::from(scale);
    format!("{digits}e{exponent}").into()
}

fn float(value: f64) -> Value {
    if value.is_nan() { "nan".into() } else { format!("{:016x}", value.to_bits()).into() }
}

fn text(number: impl ToString) -> Value {
    number.to_string().into()
}

fn interval(months: i32, days: i32, nanoseconds: impl ToString) -> Value {
    Value::Array(vec![text(months), text(days), text(nanoseconds)])
}

fn hex(bytes: &[u8]) -> Value {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

fn or_null<T>(value: Option<T>, form: impl Fn(T) -> Value) -> Value {
    value.map_or(Value::Null, form)
}

fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef, form: impl Fn(T::Native) -> Value) -> Vec<Value> {
    array.as_primitive::<T>().iter().map(|value| or_null(value, &form)).collect()
}

fn times<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, nanoseconds: i128) -> Vec<Value> {
    numbers::<T>(array, |number| text(i128::from(number) * nanoseconds))
}

fn durations<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, nanoseconds: i128) -> Vec<Value> {
    numbers::<T>(array, |number| interval(0, 0, i128::from(number) * nanoseconds))
}

fn list(row: Option<ArrayRef>) -> Value {
    or_null(row, |row| Value::Array(values(&row)))
}

fn structs(array: &ArrayRef) -> Vec<Value> {
    let array = array.as_struct();
    let columns: Vec<_> = array.columns().iter().map(values).collect();
    let row = |row: usize| {
        let fields = || columns.iter().map(|column| column[row].clone()).collect();
        if array.is_valid(row) { Value::Array(fields()) } else { Value::Null }
    };
    (0..array.len()).map(row).collect()
}

fn runs<T: RunEndIndexType>(array: &ArrayRef) -> Vec<Value> {
    let array = array.as_any().downcast_ref::<arrow::array::RunArray<T>>();
    let Some(array) = array else { unreachable!("the type says which run ends it has") };
    let meant = values(array.values());
    (0..array.len()).map(|row| at(&meant, array.get_physical_index(row), true)).collect()
}

/// One of these values, unless there is none: a key behind a null may be any.
fn at(values: &[Value], index: usize, is_valid: bool) -> Value {
    if is_valid { values[index].clone() } else { Value::Null }
}

fn is_valid(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_none_or(|nulls| nulls.is_valid(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decimals_have_one_form() {
        for (unscaled, scale, form) in [
            ("0", 5, "0"),
            ("-125", 2, "-125e-2"),
            ("-12500", 4, "-125e-2"),
            ("7000", -3, "7e6"),
            ("10", 0, "1e1"),
        ] {
            assert_eq!(decimal(unscaled, scale), json!(form));
        }
    }

    #[test]
    fn floats_keep_their_bits_and_zeros_their_sign() {
        assert_eq!(float(-0.0), json!("8000000000000000"));
        assert_eq!(float(1.5), json!("3ff8000000000000"));
        assert_eq!(float(-f64::NAN), json!("nan"));
    }
}
