//! Periods and intervals: pandas' own extension types in Arrow.
//!
//! Source: pandas' `pandas/core/arrays/arrow/extension_types.py`, which names them
//! `pandas.period` (over int64) and `pandas.interval` (over a struct of both ends).

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field};
use serde_json::Value;

use super::moments::integers;
use super::numbers::dtype_code;
use super::{Inexact, Pickler, unit_name, values_of};
use crate::copies::CopyReason;
use crate::error::Result;

/// The frequencies that every pandas since 1.5 understands, as it is written there and later.
const FREQUENCIES: [&str; 10] = ["D", "B", "M", "Y", "h", "min", "s", "ms", "us", "ns"];

/// The frequency of a `pandas.period`, by the name that every pandas understands: what one
/// calls `A-DEC`, and another `Y-DEC`, is `Y` to all.
pub(super) fn frequency(field: &Field) -> Result<String, Inexact> {
    let told = told(field, "freq")?;
    let refused = || Inexact::Frequency { frequency: told.clone() };
    let digits = told.bytes().take_while(u8::is_ascii_digit).count();
    let (count, name) = told.split_at(digits);
    let (base, anchor) = name.split_once('-').map_or((name, None), |(base, anchor)| (base, Some(anchor)));
    let base = match base {
        "A" => "Y",
        "H" => "h",
        "T" => "min",
        "S" => "s",
        "L" => "ms",
        "U" => "us",
        "N" => "ns",
        base => base,
    };
    let is_anchor = |anchor: &str| anchor.len() == 3 && anchor.bytes().all(|byte| byte.is_ascii_uppercase());
    match (base, anchor) {
        ("Y", Some("DEC")) => Ok(format!("{count}Y")),
        ("Q" | "W", Some(anchor)) if is_anchor(anchor) => Ok(format!("{count}{base}-{anchor}")),
        (base, None) if FREQUENCIES.contains(&base) => Ok(format!("{count}{base}")),
        _ => Err(refused()),
    }
}

/// Which ends belong to a `pandas.interval`; checks that its ends have a form.
pub(super) fn closed(field: &Field) -> Result<String, Inexact> {
    let DataType::Struct(ends) = field.data_type() else {
        return Err(Inexact::NoForm { data_type: field.data_type().clone() });
    };
    let [left, right] = &ends[..] else {
        return Err(Inexact::NoForm { data_type: field.data_type().clone() });
    };
    use DataType::*;
    let is_known = matches!(left.data_type(), Int64 | UInt64 | Float64 | Timestamp(_, None) | Duration(_))
        && (left.name().as_str(), right.name().as_str()) == ("left", "right");
    if !is_known || left.data_type() != right.data_type() {
        return Err(Inexact::NoForm { data_type: field.data_type().clone() });
    }
    told(field, "closed")
}

/// An entry of the extension's metadata.
fn told(field: &Field, key: &str) -> Result<String, Inexact> {
    let metadata = field.metadata().get("ARROW:extension:metadata").cloned().unwrap_or_default();
    let json: Option<Value> = serde_json::from_str(&metadata).ok();
    let entry = json.as_ref().and_then(|json| json.get(key)?.as_str());
    entry.map(str::to_owned).ok_or(Inexact::Extension { metadata })
}

impl Pickler<'_> {
    /// `pandas.arrays.PeriodArray(ordinals, PeriodDtype(frequency))`.
    pub(super) fn period(&mut self, array: &dyn Array, frequency: &str) -> Result<()> {
        let ordinals = self.moments(array)?;
        self.call("pandas.arrays", "PeriodArray", 2, |p| {
            p.frombuffer(ordinals, "<i8", array.len());
            p.writer.call("pandas", "PeriodDtype", 1, |w| w.text(frequency));
            Ok(())
        })
    }

    /// `pandas.arrays.IntervalArray.from_arrays(left, right, closed, False)`.
    pub(super) fn interval(&mut self, array: &dyn Array, closed: &str) -> Result<()> {
        let intervals = array.as_struct();
        let missing = |end: &ArrayRef| NullBuffer::union(intervals.nulls(), end.nulls());
        let missing: Vec<_> = intervals.columns().iter().map(missing).collect();
        if let ([left, right], [no_left, no_right]) = (intervals.columns(), &missing[..]) {
            for row in 0..array.len() {
                match (is_null(no_left, row), is_null(no_right, row)) {
                    (false, false) if !is_ascending(left, right, row) => {
                        return Err(self.inexact(Inexact::IntervalEnds { row }));
                    }
                    (true, true) if matches!(left.data_type(), DataType::Int64 | DataType::UInt64) => {
                        return Err(self.inexact(Inexact::MissingInterval { row }));
                    }
                    (true, false) | (false, true) => {
                        return Err(self.inexact(Inexact::HalfInterval { row }));
                    }
                    _ => {}
                }
            }
        }
        self.call("pandas.arrays", "IntervalArray.from_arrays", 4, |p| {
            for (end, missing) in intervals.columns().iter().zip(&missing) {
                p.interval_end(end, missing.as_ref())?;
            }
            p.writer.text(closed);
            p.writer.boolean(false);
            Ok(())
        })
    }

    /// One end of intervals. A missing interval has missing ends, which only floats, datetimes
    /// and durations can say.
    fn interval_end(&mut self, end: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let values = match (end.data_type(), nulls) {
            (DataType::Timestamp(..) | DataType::Duration(_), _) => self.moments_without(end, nulls)?,
            (_, None) => values_of(end),
            (DataType::Float64, Some(nulls)) => {
                let values = end.as_primitive::<Float64Type>().values();
                let filled = values.iter().zip(nulls).map(|(v, valid)| if valid { *v } else { f64::NAN });
                self.claim(CopyReason::Pickled, end.len() * size_of::<f64>())?;
                Buffer::from_vec(filled.collect::<Vec<_>>())
            }
            // Integers: none is missing.
            (_, Some(_)) => values_of(end),
        };
        let dtype = match end.data_type() {
            DataType::Timestamp(unit, _) => format!("<M8[{}]", unit_name(*unit)),
            DataType::Duration(unit) => format!("<m8[{}]", unit_name(*unit)),
            number => dtype_code(number).unwrap_or_default().to_owned(),
        };
        self.frombuffer(values, &dtype, end.len());
        Ok(())
    }
}

/// Whether the interval of a row is one: NaN is no end.
fn is_ascending(left: &dyn Array, right: &dyn Array, row: usize) -> bool {
    fn of<T: ArrowPrimitiveType>(left: &dyn Array, right: &dyn Array, row: usize) -> bool {
        left.as_primitive::<T>().value(row) <= right.as_primitive::<T>().value(row)
    }
    match left.data_type() {
        DataType::Float64 => of::<Float64Type>(left, right, row),
        DataType::UInt64 => of::<UInt64Type>(left, right, row),
        _ => integers(left).get(row) <= integers(right).get(row),
    }
}

fn is_null(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DurationSecondArray, Int64Array, StructArray, TimestampMicrosecondArray};
    use arrow_schema::Field;

    use super::super::Forms;
    use super::*;
    use crate::error::ErrorKind;

    fn pickle(left: ArrayRef, right: ArrayRef) -> Result<Vec<Buffer>> {
        let ends = [("left", left), ("right", right)];
        let fields = ends.iter().map(|(name, end)| Field::new(*name, end.data_type().clone(), true));
        let fields = fields.collect::<Vec<_>>().into();
        let intervals = StructArray::new(fields, ends.iter().map(|(_, end)| end.clone()).collect(), None);
        let metadata = [("ARROW:extension:name", "pandas.interval"), ("ARROW:extension:metadata", CLOSED)];
        let field = Field::new("x", intervals.data_type().clone(), true).with_metadata(metadata);
        Pickler::new(Forms::default(), "x", &mut |_, _| Ok(())).pickle(&intervals, &field)
    }

    const CLOSED: &str = r#"{"subtype": "datetime64[us]", "closed": "left"}"#;

    #[test]
    fn missing_intervals_of_moments_are_not_a_time() {
        let moments = || Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(3)]));
        let durations = || Arc::new(DurationSecondArray::from(vec![Some(1), None, Some(3)]));
        for buffers in [pickle(moments(), moments()), pickle(durations(), durations())] {
            let buffers = buffers.unwrap();
            assert_eq!(buffers.len(), 3);
            for end in &buffers[1..] {
                assert_eq!(end.typed_data::<i64>(), [1, i64::MIN, 3]);
            }
        }
        let integers = || Arc::new(Int64Array::from(vec![Some(1), None]));
        let refused = pickle(integers(), integers()).unwrap_err();
        let reason = Inexact::MissingInterval { row: 1 };
        assert!(matches!(refused.kind(), ErrorKind::Inexact { reason: found, .. } if *found == reason));
    }

    #[test]
    fn ends_that_are_nan_or_the_wrong_way_round_are_refused() {
        let of = |ends: [f64; 2]| -> ArrayRef { Arc::new(arrow_array::Float64Array::from(ends.to_vec())) };
        assert!(pickle(of([0.0, 1.0]), of([0.0, 2.0])).is_ok());
        for right in [f64::NAN, 0.5] {
            let refused = pickle(of([0.0, 1.0]), of([0.0, right])).unwrap_err();
            let reason = Inexact::IntervalEnds { row: 1 };
            assert!(matches!(refused.kind(), ErrorKind::Inexact { reason: found, .. } if *found == reason));
        }
    }

    #[test]
    fn frequencies_get_the_name_that_every_pandas_knows() {
        let of = |freq: &str| {
            let metadata = format!(r#"{{"freq": "{freq}"}}"#);
            let metadata = [("ARROW:extension:metadata", metadata)];
            frequency(&Field::new("p", DataType::Int64, true).with_metadata(metadata))
        };
        for (told, name) in [
            ("D", "D"),
            ("A-DEC", "Y"),
            ("Y-DEC", "Y"),
            ("Q-MAR", "Q-MAR"),
            ("W-MON", "W-MON"),
            ("2D", "2D"),
            ("H", "h"),
            ("T", "min"),
            ("min", "min"),
            ("N", "ns"),
        ] {
            assert_eq!(of(told).as_deref(), Ok(name));
        }
        for told in ["", "Y-MAR", "Q", "W-monday", "D-DEC", "__import__", "5", "C"] {
            assert_eq!(of(told), Err(Inexact::Frequency { frequency: told.to_owned() }));
        }
    }

    #[test]
    fn half_an_interval_is_refused() {
        let whole = || Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3]));
        let holed = || Arc::new(TimestampMicrosecondArray::from(vec![Some(1), Some(2), None]));
        for refused in [pickle(whole(), holed()), pickle(holed(), whole())] {
            let refused = refused.unwrap_err();
            let reason = Inexact::HalfInterval { row: 2 };
            assert!(matches!(refused.kind(), ErrorKind::Inexact { reason: found, .. } if *found == reason));
        }
    }
}
