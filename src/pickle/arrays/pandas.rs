//! The calls of pandas that this crate writes: the parts that each is made of, with the
//! number and the kinds of arguments checked.

use arrow_schema::TimeUnit;

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::Id;
use super::super::view::Value;
use super::arguments::Arguments;
use super::dtype::{Dtype, Sort};
use super::form::{Form, unit};
use super::numpy::{Numbers, Numpy};
use super::zone::Zone;
use crate::error::Result;

/// `pandas.Series(values, None, None | 'O', name, copy)`.
pub(in crate::pickle) fn series(call: Arguments<'_>) -> Result<Id> {
    call.exactly(5)?;
    call.none(1)?;
    if !matches!(call.value(2)?, Value::None | Value::Text("O")) {
        return call.wrong(2);
    }
    label(call, 3)?;
    call.bool(4)?;
    values(call, 0)
}

/// `pandas.Index(values, None, copy, name)`, or `pandas.Index(list, 'O')`.
pub(in crate::pickle) fn index(call: Arguments<'_>) -> Result<Id> {
    if call.count == 2 {
        call.exactly(2)?;
        if call.value(1)? != Value::Text("O") {
            return call.wrong(1);
        }
        call.list(0)?;
        return call.get(0);
    }
    call.exactly(4)?;
    call.none(1)?;
    call.bool(2)?;
    label(call, 3)?;
    values(call, 0)
}

/// `pandas.Categorical.from_codes(codes, categories, ordered)`.
pub(in crate::pickle) fn from_codes(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(3)?;
    let codes = Numpy::numbers(call, 0)?.integers()?;
    Ok(Form::Categorical(codes, values(call, 1)?, call.bool(2)?))
}

/// `pandas.array(values, dtype, copy)`, of strings, of datetimes with a zone, or sparse.
pub(in crate::pickle) fn array(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(3)?;
    call.bool(2)?;
    let Some(dtype) = Arguments::of(call.view, call.get(1)?) else { return call.wrong(1) };
    match dtype.name {
        Name::StringDtype => {
            string_dtype(dtype)?;
            call.list(0)?;
            Ok(Form::Strings(call.get(0)?))
        }
        Name::DatetimeTzDtype => {
            let (unit, zone) = zoned_dtype(dtype)?;
            zoned(Numpy::numbers(call, 0)?, unit, zone)
        }
        Name::SparseDtype => {
            sparse_dtype(dtype)?;
            Numpy::numbers(call, 0)?;
            Ok(Form::Sparse)
        }
        _ => call.wrong(1),
    }
}

/// `DatetimeArray.tz_convert(datetimes, zone)`.
pub(in crate::pickle) fn tz_convert(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(2)?;
    let zone = Zone::of(call.view, call.get(1)?)?;
    match array(call.call(0, Name::PdArray)?)? {
        Form::Zoned(values, unit, _) => Ok(Form::Zoned(values, unit, zone)),
        _ => call.wrong(0),
    }
}

/// `pandas.DatetimeTZDtype(unit, zone)`.
pub(in crate::pickle) fn zoned_dtype(call: Arguments<'_>) -> Result<(TimeUnit, Zone)> {
    call.exactly(2)?;
    Ok((unit(call, 0)?, Zone::of(call.view, call.get(1)?)?))
}

/// `pandas.StringDtype(storage[, missing value])`.
pub(in crate::pickle) fn string_dtype(call: Arguments<'_>) -> Result<()> {
    call.exactly(call.count.clamp(1, 2))?;
    if !matches!(call.value(0)?, Value::Text("python" | "pyarrow")) {
        return call.wrong(0);
    }
    match call.count {
        1 => Ok(()),
        _ => match call.value(1)? {
            Value::Global(Name::Na) => Ok(()),
            Value::Float(number) if number.is_nan() => Ok(()),
            _ => call.wrong(1),
        },
    }
}

/// `pandas.SparseDtype(dtype, fill value)`.
pub(in crate::pickle) fn sparse_dtype(call: Arguments<'_>) -> Result<()> {
    call.exactly(2)?;
    match Dtype::of(call.view, call.get(0)?)?.sort {
        Sort::Bool | Sort::Int | Sort::UInt | Sort::Float => {}
        _ => return call.wrong(0),
    }
    match call.value(1)? {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(()),
        _ => call.wrong(1),
    }
}

/// `pandas.arrays.IntegerArray(values, mask)` and the like.
pub(in crate::pickle) fn masked(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(2)?;
    let (values, mask) = (Numpy::numbers(call, 0)?, Numpy::numbers(call, 1)?);
    with_mask(call, values, mask)
}

/// Values of the class's sort and a mask of the same length.
pub(in crate::pickle) fn with_mask<'p>(
    call: Arguments<'p>,
    values: Numbers,
    mask: Numbers,
) -> Result<Form<'p>> {
    let fits = match call.name {
        Name::IntegerArray => matches!(values.dtype.sort, Sort::Int | Sort::UInt),
        Name::FloatingArray => matches!(values.dtype.sort, Sort::Float),
        _ => values.dtype.sort == Sort::Bool,
    };
    if !fits || values.dtype.is_swapped {
        return call.refuse(0, "an array of another dtype");
    }
    if mask.dtype.sort != Sort::Bool {
        return call.refuse(1, "an array of another dtype");
    }
    if values.length != mask.length {
        let fault = PickleFault::Length { expected: values.length, found: mask.length };
        return refuse(call.position(), fault);
    }
    Ok(Form::Masked(values, mask))
}

/// `pandas.arrays.PeriodArray(ordinals, dtype)`.
pub(in crate::pickle) fn period(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(2)?;
    let ordinals = Numpy::numbers(call, 0)?;
    let frequency = frequency(call.call(1, Name::PeriodDtype)?)?;
    with_frequency(call, ordinals, frequency)
}

pub(in crate::pickle) fn with_frequency<'p>(
    call: Arguments<'p>,
    ordinals: Numbers,
    frequency: String,
) -> Result<Form<'p>> {
    match ordinals.dtype {
        Dtype { sort: Sort::Int, width: 8, is_swapped: false } => Ok(Form::Period(ordinals, frequency)),
        _ => call.refuse(0, "an array of another dtype"),
    }
}

/// `pandas.PeriodDtype(frequency)`, whose frequency is letters, digits and `-`; pandas' own
/// says `period[…]`, or has an offset.
pub(in crate::pickle) fn frequency(call: Arguments<'_>) -> Result<String> {
    call.exactly(1)?;
    if let Some(offset) = Arguments::of(call.view, call.get(0)?) {
        return super::natural::frequency(offset);
    }
    let text = call.text(0)?;
    let inner = text.strip_prefix("period[").and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let is_of_frequency = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if inner.is_empty() || inner.len() > 16 || !inner.bytes().all(is_of_frequency) {
        return call.wrong(0);
    }
    Ok(inner.to_owned())
}

/// `pandas.arrays.IntervalArray.from_arrays(left, right, closed, copy)`.
pub(in crate::pickle) fn interval(call: Arguments<'_>) -> Result<Form<'_>> {
    call.exactly(4)?;
    call.bool(3)?;
    let closed = closed(call, 2)?;
    let (left, right) = (Numpy::numbers(call, 0)?, Numpy::numbers(call, 1)?);
    if left.dtype != right.dtype {
        return call.refuse(1, "an array of another dtype");
    }
    if left.length != right.length {
        let fault = PickleFault::Length { expected: left.length, found: right.length };
        return refuse(call.position(), fault);
    }
    Ok(Form::Interval(call.get(0)?, call.get(1)?, closed))
}

fn closed(call: Arguments<'_>, index: usize) -> Result<&str> {
    match call.text(index)? {
        text @ ("left" | "right" | "both" | "neither") => Ok(text),
        _ => call.wrong(index),
    }
}

/// An argument that must be an Arrow array.
pub(in crate::pickle) fn arrow(call: Arguments<'_>, index: usize) -> Result<Id> {
    let id = call.get(index)?;
    match call.view.value(id) {
        Value::Call(Name::FromBuffers | Name::DictionaryFromArrays) => Ok(id),
        _ => call.wrong(index),
    }
}

/// An argument that must be a list or an array.
pub(in crate::pickle) fn values(call: Arguments<'_>, index: usize) -> Result<Id> {
    let id = call.get(index)?;
    match call.view.value(id) {
        Value::List | Value::Call(_) | Value::New(_) => Ok(id),
        _ => call.wrong(index),
    }
}

/// An argument that must be a column's name: none, or one that can be a key.
pub(in crate::pickle) fn label(call: Arguments<'_>, index: usize) -> Result<()> {
    match call.value(index)? {
        Value::List | Value::Dict | Value::Set | Value::Bytes(_) | Value::Global(_) => call.wrong(index),
        _ => Ok(()),
    }
}

/// Integers, or datetimes of the unit without a zone, as instants in a zone.
pub(in crate::pickle) fn zoned<'p>(values: Numbers, unit: TimeUnit, zone: Zone) -> Result<Form<'p>> {
    match values.dtype {
        Dtype { sort: Sort::Int, width: 8, is_swapped: false } => Ok(Form::Zoned(values, unit, zone)),
        Dtype { sort: Sort::Datetime(found), is_swapped: false, .. } if found == Some(unit) => {
            Ok(Form::Zoned(values, unit, zone))
        }
        _ => refuse(values.position, PickleFault::Dtype { dtype: "no instants of the unit".to_owned() }),
    }
}
