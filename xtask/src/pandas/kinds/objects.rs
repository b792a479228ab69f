//! What becomes arrays of Python objects when the caller asks for pickles.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Field, TimeUnit, UnionFields, i256};
use arrow_frames::{Carriage, pickle};

use super::super::case::{Case, Column, Sent, Truth, always};
use super::super::kind::Kind;
use super::{Error, WORDS, counted};

const SECTION: &str = "Python objects, pickled";

pub fn all() -> Result<Vec<Kind>, Error> {
    let days = [0, 1, -1, 18_262, -719_162, 2_932_896, 7, 8, 9];
    let milliseconds: Vec<i64> = days.iter().map(|day| day * 86_400_000).collect();
    let seconds = [0, 1, 86_399, 3_600, 60, 61, 7, 8, 9];
    let scaled = |factor: i64| -> Vec<i64> { seconds.iter().map(|second| second * factor).collect() };
    // Up to Python's microseconds: beyond, a column of times is refused.
    let parts = |factor: i64, step: i64| -> Vec<i64> {
        scaled(factor).iter().enumerate().map(|(n, v)| v + n as i64 * step).collect()
    };
    let digits = [0, 1, -1, 150, -225, 999_999_999, -999_999_999, 10, 100];
    let bytes = || WORDS.iter().map(|word| word.as_bytes());
    let decimal256 = Decimal256Array::from_iter_values(digits.map(|number| i256::from_i128(number.into())));
    let samples: Vec<(&str, ArrayRef)> = vec![
        ("date32", counted(&days, &DataType::Date32)?),
        ("date64", counted(&milliseconds, &DataType::Date64)?),
        ("time32[s]", counted(&seconds, &DataType::Time32(TimeUnit::Second))?),
        ("time32[ms]", counted(&parts(1_000, 1), &DataType::Time32(TimeUnit::Millisecond))?),
        ("time64[us]", counted(&parts(1_000_000, 1), &DataType::Time64(TimeUnit::Microsecond))?),
        ("time64[ns]", counted(&parts(1_000_000_000, 1_000), &DataType::Time64(TimeUnit::Nanosecond))?),
        (
            "decimal32(9, 2)",
            Arc::new(Decimal32Array::from(digits.map(|n| n as i32).to_vec()).with_precision_and_scale(9, 2)?),
        ),
        (
            "decimal64(12, 4)",
            Arc::new(Decimal64Array::from(digits.to_vec()).with_precision_and_scale(12, 4)?),
        ),
        (
            "decimal128(38, 10)",
            Arc::new(
                Decimal128Array::from(digits.map(i128::from).to_vec()).with_precision_and_scale(38, 10)?,
            ),
        ),
        (
            "decimal128(5, -2)",
            Arc::new(
                Decimal128Array::from_iter_values([0, 1, -1, 150, -225, 99_999, -99_999, 10, 100])
                    .with_precision_and_scale(5, -2)?,
            ),
        ),
        ("decimal256(76, 20)", Arc::new(decimal256.with_precision_and_scale(76, 20)?)),
        ("binary", Arc::new(BinaryArray::from_iter_values(bytes()))),
        ("large binary", Arc::new(LargeBinaryArray::from_iter_values(bytes()))),
        ("binary view", Arc::new(BinaryViewArray::from_iter_values(bytes()))),
        (
            "fixed-size binary",
            Arc::new(FixedSizeBinaryArray::try_from_iter(digits.iter().map(|n: &i64| n.to_be_bytes()))?),
        ),
    ];
    let mut kinds: Vec<Kind> = samples
        .into_iter()
        .map(|(row, sample)| Kind::new(SECTION, row, sample, always("object")).carried(Carriage::Opaque))
        .collect();
    let nulls: ArrayRef = Arc::new(NullArray::new(9));
    let shapes =
        vec![("all null", nulls.clone()), ("empty", nulls.slice(0, 0)), ("one row", nulls.slice(1, 1))];
    kinds.push(Kind::new(SECTION, "null", nulls, always("object")).carried(Carriage::Opaque).only(shapes));
    Ok(kinds)
}

/// Values of mixed types, which `pickle::objects` takes; a column of them is refused, since which
/// of the union's types a value had would be lost.
pub fn mixed() -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for (row, is_dense) in [("dense union of scalars", true), ("sparse union of scalars", false)] {
        let all = union(is_dense)?;
        let shapes = [("all", 0, all.len()), ("empty", 0, 0), ("one row", 1, 1), ("sliced", 3, 5)];
        for (detail, offset, rows) in shapes {
            let array = all.slice(offset, rows);
            let truth = Truth::of(Column::new("x", always("object"), &array));
            let sent = Sent::Pickle(pickle::objects(&array)?);
            cases.push(Case::new(("Arrays of mixed objects", row, detail), sent, truth)?);
        }
    }
    Ok(cases)
}

/// An integer, text, a float, a boolean and bytes, of which text and floats can be missing.
pub fn union(is_dense: bool) -> Result<ArrayRef, Error> {
    let type_ids: Vec<i8> = vec![0, 1, 2, 3, 4, 1, 2, 0, 1, 4];
    let rows = type_ids.len();
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|n| n - 5 + (1 << 60)))),
        Arc::new(StringArray::from_iter(
            WORDS.iter().enumerate().map(|(n, word)| (n % 5 != 0).then_some(*word)),
        )),
        Arc::new(Float64Array::from_iter([
            Some(-0.0),
            None,
            Some(f64::NAN),
            Some(1.5),
            Some(2.5),
            None,
            None,
            None,
            None,
            None,
        ])),
        Arc::new(BooleanArray::from(vec![true; rows])),
        Arc::new(BinaryArray::from_iter_values(WORDS.iter().map(|word| word.as_bytes()))),
    ];
    let names = ["int", "text", "float", "bool", "bytes"];
    let fields =
        names.iter().zip(&children).map(|(name, child)| Field::new(*name, child.data_type().clone(), true));
    let fields = UnionFields::try_new(0..5, fields)?;
    let offsets = is_dense.then(|| ScalarBuffer::from((0..rows as i32).rev().collect::<Vec<_>>()));
    Ok(Arc::new(UnionArray::try_new(fields, type_ids.into(), offsets, children)?))
}
