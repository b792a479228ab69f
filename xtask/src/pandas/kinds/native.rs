//! What travels as Arrow buffers and becomes the ArrowDtype of its type, or objects before
//! pandas 2.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow_frames::Carriage;

use super::super::case::each;
use super::super::kind::{FROM_2, Kind};
use super::{Error, WORDS, counted, objects};

const SECTION: &str = "Other Arrow types";

pub fn all() -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    for (row, arrow, sample, unknown_to) in samples()? {
        let dtype = format!("{arrow}[pyarrow]");
        // Python's times have no nanoseconds.
        let before_2 = if arrow == "time64[ns]" { &dtype } else { "object" };
        let mut kind = Kind::new(SECTION, row, sample, each([before_2, &dtype, &dtype]));
        for (version, error) in unknown_to.iter().enumerate() {
            kind = kind.refused(version, *error);
        }
        kinds.push(kind);
    }
    // Text that the caller wants as Arrow buffers.
    for (row, dtype, sample) in [
        ("utf8", "string[pyarrow]", Arc::new(StringArray::from_iter_values(WORDS)) as ArrayRef),
        ("large utf8", "large_string[pyarrow]", Arc::new(LargeStringArray::from_iter_values(WORDS))),
    ] {
        let kind = Kind::new(SECTION, format!("{row}, kept native"), sample, each(["object", dtype, dtype]));
        kinds.push(kind.carried(Carriage::Native).shared(FROM_2, "data"));
    }
    let nulls: ArrayRef = Arc::new(NullArray::new(9));
    let shapes =
        vec![("all null", nulls.clone()), ("empty", nulls.slice(0, 0)), ("one row", nulls.slice(1, 1))];
    let kind = Kind::new(SECTION, "null", nulls, each(["object", "null[pyarrow]", "null[pyarrow]"]));
    kinds.push(kind.only(shapes));
    Ok(kinds)
}

/// The errors of a pyarrow that does not know a type: of version 11, or of 11 and 17.
type UnknownTo = &'static [&'static str];

const BINARY_VIEW: UnknownTo = &["ArrowInvalid: Unrecognized type:23"];
const LIST_VIEW: UnknownTo = &["ArrowInvalid: Unrecognized type:25"];
const RUN_END_ENCODED: UnknownTo = &["ArrowInvalid: Unrecognized type:22"];
const SMALL_DECIMAL: UnknownTo = &[NO_SMALL_DECIMAL, NO_SMALL_DECIMAL];
const NO_SMALL_DECIMAL: &str = "ArrowInvalid: Library only supports 128-bit or 256-bit decimal values";

fn samples() -> Result<Vec<(&'static str, &'static str, ArrayRef, UnknownTo)>, Error> {
    let days = [0, 1, -1, 18_262, -719_162, 2_932_896, 7, 8, 9];
    let milliseconds: Vec<i64> = days.iter().map(|day| day * 86_400_000).collect();
    let seconds = [0, 1, 86_399, 3_600, 60, 61, 7, 8, 9];
    let parts = |factor: i64| -> Vec<i64> {
        seconds.iter().enumerate().map(|(n, v)| v * factor + n as i64).collect()
    };
    let digits = [0, 1, -1, 150, -225, 999_999_999, -999_999_999, 10, 100];
    let bytes = || WORDS.iter().map(|word| word.as_bytes());
    let decimal256 = Decimal256Array::from_iter_values(digits.map(|number| i256::from_i128(number.into())));
    let months = (0..9).map(|n| IntervalMonthDayNanoType::make_value(n, -n, 1_000_000_007 * i64::from(n)));
    Ok(vec![
        ("date32", "date32[day]", counted(&days, &DataType::Date32)?, &[]),
        ("date64", "date64[ms]", counted(&milliseconds, &DataType::Date64)?, &[]),
        ("time32[s]", "time32[s]", counted(&seconds, &DataType::Time32(TimeUnit::Second))?, &[]),
        ("time32[ms]", "time32[ms]", counted(&parts(1_000), &DataType::Time32(TimeUnit::Millisecond))?, &[]),
        (
            "time64[us]",
            "time64[us]",
            counted(&parts(1_000_000), &DataType::Time64(TimeUnit::Microsecond))?,
            &[],
        ),
        (
            "time64[ns]",
            "time64[ns]",
            counted(&parts(1_000_000_000), &DataType::Time64(TimeUnit::Nanosecond))?,
            &[],
        ),
        (
            "decimal32(9, 2)",
            "decimal32(9, 2)",
            Arc::new(Decimal32Array::from(digits.map(|n| n as i32).to_vec()).with_precision_and_scale(9, 2)?),
            SMALL_DECIMAL,
        ),
        (
            "decimal64(12, 4)",
            "decimal64(12, 4)",
            Arc::new(Decimal64Array::from(digits.to_vec()).with_precision_and_scale(12, 4)?),
            SMALL_DECIMAL,
        ),
        (
            "decimal128(38, 10)",
            "decimal128(38, 10)",
            Arc::new(
                Decimal128Array::from(digits.map(i128::from).to_vec()).with_precision_and_scale(38, 10)?,
            ),
            &[],
        ),
        (
            "decimal256(76, 20)",
            "decimal256(76, 20)",
            Arc::new(decimal256.with_precision_and_scale(76, 20)?),
            &[],
        ),
        ("binary", "binary", Arc::new(BinaryArray::from_iter_values(bytes())), &[]),
        ("large binary", "large_binary", Arc::new(LargeBinaryArray::from_iter_values(bytes())), &[]),
        ("binary view", "binary_view", Arc::new(BinaryViewArray::from_iter_values(bytes())), BINARY_VIEW),
        (
            "fixed-size binary",
            "fixed_size_binary[8]",
            Arc::new(FixedSizeBinaryArray::try_from_iter(digits.iter().map(|n: &i64| n.to_be_bytes()))?),
            &[],
        ),
        (
            "month-day-nano interval",
            "month_day_nano_interval",
            Arc::new(IntervalMonthDayNanoArray::from_iter_values(months)),
            &[],
        ),
        (
            "list of int64",
            "list<item: int64>",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists())),
            &[],
        ),
        (
            "large list of int64",
            "large_list<item: int64>",
            Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(lists())),
            &[],
        ),
        ("fixed-size list of int64", "fixed_size_list<item: int64>[2]", fixed_lists()?, &[]),
        ("list view of int64", "list_view<item: int64>", list_views()?, LIST_VIEW),
        ("struct", "struct<a: int64, text: string>", structs()?, &[]),
        ("list of structs", "list<item: struct<a: int64, text: string>>", lists_of_structs()?, &[]),
        ("map", "map<string, int64>", maps()?, &[]),
        (
            "dense union",
            "dense_union<int: int64=0, text: string=1, float: double=2, bool: bool=3, bytes: binary=4>",
            objects::union(true)?,
            &[],
        ),
        (
            "sparse union",
            "sparse_union<int: int64=0, text: string=1, float: double=2, bool: bool=3, bytes: binary=4>",
            objects::union(false)?,
            &[],
        ),
        ("run-end encoded", "run_end_encoded<run_ends: int32, values: double>", runs()?, RUN_END_ENCODED),
    ])
}

/// Lists of up to three integers, some of them missing.
fn lists() -> impl Iterator<Item = Option<Vec<Option<i64>>>> {
    (0..9).map(|n| Some((0..n % 4).map(|k| (k != 1).then_some((1 << 60) + n * 10 + k)).collect()))
}

fn fixed_lists() -> Result<ArrayRef, Error> {
    let values = Int64Array::from_iter((0..18).map(|n| (n % 5 != 3).then_some(n)));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    Ok(Arc::new(FixedSizeListArray::try_new(item, 2, Arc::new(values), None)?))
}

fn list_views() -> Result<ArrayRef, Error> {
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let values = Int64Array::from_iter((0..12).map(|n| (n % 5 != 3).then_some(n)));
    let offsets = ScalarBuffer::from(vec![9, 0, 3, 3, 5, 6, 0, 1, 2]);
    let sizes = ScalarBuffer::from(vec![3, 2, 0, 4, 1, 1, 12, 2, 2]);
    Ok(Arc::new(ListViewArray::try_new(item, offsets, sizes, Arc::new(values), None)?))
}

fn structs() -> Result<ArrayRef, Error> {
    let numbers = Int64Array::from_iter((0..10).map(|n| (n % 4 != 2).then_some(n)));
    let text =
        StringArray::from_iter(WORDS.iter().enumerate().map(|(n, word)| (n % 3 != 2).then_some(*word)));
    let fields = vec![Field::new("a", DataType::Int64, true), Field::new("text", DataType::Utf8, true)];
    Ok(Arc::new(StructArray::try_new(fields.into(), vec![Arc::new(numbers), Arc::new(text)], None)?))
}

fn lists_of_structs() -> Result<ArrayRef, Error> {
    let structs = structs()?;
    let item = Arc::new(Field::new_list_field(structs.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 1, 3, 0, 1, 1, 1]);
    Ok(Arc::new(ListArray::try_new(item, offsets, structs, None)?))
}

fn maps() -> Result<ArrayRef, Error> {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(WORDS));
    let values: ArrayRef = Arc::new(Int64Array::from_iter((0..10).map(|n| (n % 4 != 2).then_some(n))));
    let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int64, true)];
    let entries = StructArray::try_new(fields.into(), vec![keys, values], None)?;
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 1, 3, 0, 1, 1, 1]);
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, None, false)?))
}

fn runs() -> Result<ArrayRef, Error> {
    let ends = Int32Array::from(vec![2, 3, 7, 10]);
    let values = Float64Array::from(vec![Some(1.5), None, Some(-0.0), Some(f64::NAN)]);
    Ok(Arc::new(RunArray::<Int32Type>::try_new(&ends, &values)?))
}
