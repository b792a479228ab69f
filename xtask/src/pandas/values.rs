//! The values of Arrow arrays as JSON that says exactly what they are.
//!
//! A null is `null`, integers and booleans are themselves. Everything else is a string with a
//! letter in front, so that nothing is equal that Python would tell apart: `f:` the bits of a
//! double (`nan` for every NaN), `s:` text, `b:` bytes in hex, `d:` the digits of a decimal,
//! `D:` days, `t:` nanoseconds since midnight, `T:` nanoseconds since 1970, `m:` nanoseconds,
//! `i:` months, days and nanoseconds. Lists are arrays, structs are objects, maps are arrays
//! of pairs. `tests/python/pandas_check.py` writes the values of pandas the same way.

use std::fmt::Write;

use arrow::array::cast::AsArray;
use arrow::array::types::*;
use arrow::array::{Array, Int32RunArray};
use arrow::datatypes::{DataType, TimeUnit};
use serde_json::{Value, json};

/// Every value of an array.
pub fn of(array: &dyn Array) -> Vec<Value> {
    (0..array.len()).map(|row| value(array, row)).collect()
}

fn value(array: &dyn Array, row: usize) -> Value {
    use DataType::*;
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        Null => Value::Null,
        Boolean => json!(array.as_boolean().value(row)),
        Int8 => json!(array.as_primitive::<Int8Type>().value(row)),
        Int16 => json!(array.as_primitive::<Int16Type>().value(row)),
        Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        UInt8 => json!(array.as_primitive::<UInt8Type>().value(row)),
        UInt16 => json!(array.as_primitive::<UInt16Type>().value(row)),
        UInt32 => json!(array.as_primitive::<UInt32Type>().value(row)),
        UInt64 => json!(array.as_primitive::<UInt64Type>().value(row)),
        Float16 => float(array.as_primitive::<Float16Type>().value(row).to_f64()),
        Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
        Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        Utf8 => tagged("s", array.as_string::<i32>().value(row)),
        LargeUtf8 => tagged("s", array.as_string::<i64>().value(row)),
        Utf8View => tagged("s", array.as_string_view().value(row)),
        Binary => bytes(array.as_binary::<i32>().value(row)),
        LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        BinaryView => bytes(array.as_binary_view().value(row)),
        FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        Decimal32(..) => tagged("d", &array.as_primitive::<Decimal32Type>().value_as_string(row)),
        Decimal64(..) => tagged("d", &array.as_primitive::<Decimal64Type>().value_as_string(row)),
        Decimal128(..) => tagged("d", &array.as_primitive::<Decimal128Type>().value_as_string(row)),
        Decimal256(..) => tagged("d", &array.as_primitive::<Decimal256Type>().value_as_string(row)),
        Date32 => tagged("D", &array.as_primitive::<Date32Type>().value(row).to_string()),
        Date64 => {
            tagged("D", &(array.as_primitive::<Date64Type>().value(row) / MILLISECONDS_PER_DAY).to_string())
        }
        Time32(unit) | Time64(unit) => tagged("t", &nanoseconds(array, row, *unit)),
        Timestamp(unit, _) => tagged("T", &nanoseconds(array, row, *unit)),
        Duration(unit) => tagged("m", &nanoseconds(array, row, *unit)),
        Interval(_) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            tagged("i", &format!("{},{},{}", value.months, value.days, value.nanoseconds))
        }
        List(_) => of(&array.as_list::<i32>().value(row)).into(),
        LargeList(_) => of(&array.as_list::<i64>().value(row)).into(),
        ListView(_) => of(&array.as_list_view::<i32>().value(row)).into(),
        LargeListView(_) => of(&array.as_list_view::<i64>().value(row)).into(),
        FixedSizeList(..) => of(&array.as_fixed_size_list().value(row)).into(),
        Map(..) => {
            let entries = array.as_map().value(row);
            let pair = |row| Value::from(vec![value(entries.column(0), row), value(entries.column(1), row)]);
            (0..entries.len()).map(pair).collect::<Vec<_>>().into()
        }
        Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            Value::Object(columns.map(|(field, column)| (field.name().clone(), value(column, row))).collect())
        }
        Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            value(dictionary.values(), dictionary.normalized_keys()[row])
        }
        Union(..) => {
            let union = array.as_union();
            value(union.child(union.type_id(row)), union.value_offset(row))
        }
        RunEndEncoded(..) => {
            let runs = array.as_any().downcast_ref::<Int32RunArray>().expect("their ends are 32-bit");
            value(runs.values(), runs.get_physical_index(row))
        }
    }
}

/// A letter, a colon and what it stands before.
pub fn tagged(letter: &str, text: &str) -> Value {
    format!("{letter}:{text}").into()
}

fn float(value: f64) -> Value {
    if value.is_nan() { "nan".into() } else { tagged("f", &format!("{:016x}", value.to_bits())) }
}

fn bytes(value: &[u8]) -> Value {
    let mut hex = String::from("b:");
    for byte in value {
        write!(hex, "{byte:02x}").expect("a String takes everything");
    }
    hex.into()
}

const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// A moment or a span of time, in nanoseconds.
fn nanoseconds(array: &dyn Array, row: usize, unit: TimeUnit) -> String {
    let per_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let data = array.to_data();
    let value = match data.data_type().primitive_width() {
        Some(4) => i64::from(data.buffer::<i32>(0)[row]),
        _ => data.buffer::<i64>(0)[row],
    };
    (i128::from(value) * per_unit).to_string()
}
