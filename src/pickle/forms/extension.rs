//! Periods and intervals: pandas' own extension types in Arrow.
//!
//! Source: pandas' `pandas/core/arrays/arrow/extension_types.py`, which names them
//! `pandas.period` (over int64) and `pandas.interval` (over a struct of both ends).

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field};
use serde_json::Value;

use super::numbers::{dtype_code, numpy_name};
use super::{Inexact, Pickler, unit_name};
use crate::copies::CopyReason;
use crate::error::Result;

/// The frequencies that every pandas since 1.5 understands.
const FREQUENCIES: [&str; 9] = ["D", "M", "Q-DEC", "W-SUN", "Y", "h", "min", "s", "ms"];

/// The frequency of a `pandas.period`.
pub(super) fn frequency(field: &Field) -> Result<String, Inexact> {
    let frequency = told(field, "freq")?;
    match FREQUENCIES.contains(&frequency.as_str()) {
        true => Ok(frequency),
        false => Err(Inexact::Frequency { frequency }),
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
    let is_known = match left.data_type() {
        DataType::Timestamp(_, None) | DataType::Duration(_) => true,
        DataType::Boolean | DataType::Float16 => false,
        number => numpy_name(number).is_some(),
    };
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
        let ends = array.as_struct();
        self.call("pandas.arrays", "IntervalArray.from_arrays", 4, |p| {
            for end in ends.columns() {
                p.interval_end(ends, end)?;
            }
            p.writer.text(closed);
            p.writer.boolean(false);
            Ok(())
        })
    }

    /// One end of intervals. A missing interval has missing ends, which only floats and
    /// datetimes can say.
    fn interval_end(&mut self, around: &dyn Array, end: &dyn Array) -> Result<()> {
        let nulls = arrow_buffer::NullBuffer::union(around.nulls(), end.nulls());
        let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
            return match end.data_type() {
                DataType::Timestamp(unit, _) => self.naive_end(end, 'M', unit_name(*unit)),
                DataType::Duration(unit) => self.naive_end(end, 'm', unit_name(*unit)),
                _ => self.numbers(end),
            };
        };
        let filled = match end.data_type() {
            DataType::Float32 => {
                let values = end.as_primitive::<Float32Type>().values();
                let filled = values.iter().zip(&nulls).map(|(v, valid)| if valid { *v } else { f32::NAN });
                Buffer::from_vec(filled.collect::<Vec<_>>())
            }
            DataType::Float64 => {
                let values = end.as_primitive::<Float64Type>().values();
                let filled = values.iter().zip(&nulls).map(|(v, valid)| if valid { *v } else { f64::NAN });
                Buffer::from_vec(filled.collect::<Vec<_>>())
            }
            other => return Err(self.inexact(Inexact::NoForm { data_type: other.clone() })),
        };
        self.claim(CopyReason::Pickled, filled.len())?;
        self.frombuffer(filled, dtype_code(end.data_type()).unwrap_or_default(), end.len());
        Ok(())
    }

    fn naive_end(&mut self, end: &dyn Array, code: char, unit: &str) -> Result<()> {
        let values = super::values_of(end);
        self.frombuffer(values, &format!("<{code}8[{unit}]"), end.len());
        Ok(())
    }
}
