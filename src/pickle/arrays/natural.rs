//! pandas' and pyarrow's own pickles: objects whose state is set, as pandas 1.5 to 3.1 write
//! it. Only what an array is made of is looked at.

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use super::dtype::{Dtype, time_unit};
use super::form::{Form, Outer};
use super::numpy::Numpy;
use super::pandas;
use super::zone::Zone;
use crate::error::Result;

/// What an object with a state is.
pub(in crate::pickle) fn object(call: Arguments<'_>) -> Result<Outer<'_>> {
    match call.name {
        Name::NewIndex => index(call),
        Name::NdArrayBacked => backed(call).map(Outer::Form),
        Name::IntervalMixin => interval(call).map(Outer::Form),
        Name::Series => {
            let manager = field(call, "_mgr")?;
            let Some(manager) = Arguments::of(call.view, manager) else { return call.wrong(0) };
            block(manager).map(Outer::Wraps)
        }
        Name::ArrowStringArray | Name::ArrowExtensionArray => {
            let state = call.with_state(0)?;
            let array = entry(call.view, state, "_pa_array").or_else(|| entry(call.view, state, "_data"));
            match array.map(|array| (array, call.view.value(array))) {
                Some((array, Value::Call(Name::RestoreArray | Name::ChunkedArray))) => {
                    Ok(Outer::Wraps(array))
                }
                _ => call.wrong(0),
            }
        }
        _ => {
            let numbers = |key| match Numpy::of(call.view, field(call, key)?)? {
                Some(Numpy::Numbers(numbers)) => Ok(numbers),
                _ => call.wrong(0),
            };
            pandas::with_mask(call, numbers("_data")?, numbers("_mask")?).map(Outer::Form)
        }
    }
}

/// The one array of a column's manager: `([axis], [values], [items], …)`.
fn block(manager: Arguments<'_>) -> Result<Id> {
    let state = manager.with_state(0)?;
    let blocks = manager.view.graph.children(state).nth(1).map(|blocks| manager.view.graph.children(blocks));
    match blocks.map(|mut blocks| (blocks.next(), blocks.next())) {
        Some((Some(values), None)) => Ok(values),
        _ => manager.wrong(0),
    }
}

/// `_new_Index(class, {'data': …, 'name': …})`.
fn index(call: Arguments<'_>) -> Result<Outer<'_>> {
    call.exactly(2)?;
    let (view, parts) = (call.view, call.get(1)?);
    let Value::Global(class) = call.value(0)? else { return call.wrong(0) };
    if let Some(data) = entry(view, parts, "data") {
        return Ok(Outer::Wraps(data));
    }
    let bounds = (entry(view, parts, "left"), entry(view, parts, "right"), entry(view, parts, "closed"));
    if let (Some(left), Some(right), Some(closed)) = bounds {
        return Ok(Outer::Form(Form::Interval(left, right, view.text(closed).unwrap_or_default())));
    }
    Ok(Outer::Form(Form::Other(class.text())))
}

/// `__pyx_unpickle_NDArrayBacked(class, checksum, None)` and the state `(dtype, array, …)`.
fn backed(call: Arguments<'_>) -> Result<Form<'_>> {
    let view = call.view;
    let state = call.with_state(3)?;
    let Value::Global(class) = call.value(0)? else { return call.wrong(0) };
    let mut parts = view.graph.children(state);
    let (Some(dtype), Some(array)) = (parts.next(), parts.next()) else { return call.wrong(3) };
    let Some(array) = Numpy::of(view, array)? else { return call.wrong(3) };
    match (class, array) {
        (Name::CategoricalClass, Numpy::Numbers(codes)) => {
            let Some(dtype) = made(view, dtype, Name::CategoricalDtype) else { return call.wrong(3) };
            let categories = field(dtype, "categories")?;
            let ordered = view.value(field(dtype, "ordered")?) == Value::Bool(true);
            Ok(Form::Categorical(codes.integers()?, categories, ordered))
        }
        (Name::DatetimeArray, Numpy::Numbers(values)) => match made(view, dtype, Name::DatetimeTzDtype) {
            None => time(call, dtype, Numpy::Numbers(values)),
            Some(dtype) => {
                let unit = view.text(field(dtype, "unit")?).and_then(time_unit);
                let zone = Zone::of(view, field(dtype, "tz")?)?;
                match unit {
                    Some(unit) => pandas::zoned(values, unit, zone),
                    None => dtype.wrong(0),
                }
            }
        },
        (Name::TimedeltaArray, array @ Numpy::Numbers(_)) => time(call, dtype, array),
        (Name::PeriodArray, Numpy::Numbers(ordinals)) => match Arguments::of(view, dtype) {
            Some(dtype) if dtype.name == Name::PeriodDtype => {
                pandas::with_frequency(call, ordinals, pandas::frequency(dtype)?)
            }
            _ => call.wrong(3),
        },
        (Name::StringArray, Numpy::Objects(list)) => Ok(Form::Strings(list)),
        _ => call.wrong(0),
    }
}

/// Datetimes without a zone, or durations, of a dtype that is said twice.
fn time<'p>(call: Arguments<'p>, dtype: Id, array: Numpy) -> Result<Form<'p>> {
    let dtype = Dtype::of(call.view, dtype)?;
    match &array {
        Numpy::Numbers(values) if values.dtype == dtype => Ok(Form::Numpy(array)),
        _ => call.refuse(3, "an array of another dtype"),
    }
}

/// `__pyx_unpickle_IntervalMixin(class, checksum, None)` and the state `({…},)`.
fn interval(call: Arguments<'_>) -> Result<Form<'_>> {
    let view = call.view;
    let state = call.with_state(3)?;
    let Some(parts) = view.graph.children(state).next() else { return call.wrong(3) };
    let bounds = (entry(view, parts, "_left"), entry(view, parts, "_right"), entry(view, parts, "_dtype"));
    let (Some(left), Some(right), Some(dtype)) = bounds else { return call.wrong(3) };
    let Some(dtype) = made(view, dtype, Name::IntervalDtype) else { return call.wrong(3) };
    match view.text(field(dtype, "closed")?) {
        Some(closed) => Ok(Form::Interval(left, right, closed)),
        None => dtype.wrong(0),
    }
}

/// The frequency that an offset stands for, as pandas 2.2 and later say it.
pub(in crate::pickle) fn frequency(offset: Arguments<'_>) -> Result<String> {
    const MONTHS: [&str; 12] =
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
    let nth = |index: usize, names: &[&'static str], first: usize| {
        let number = offset.count(index)?;
        match number.checked_sub(first).and_then(|place| names.get(place)) {
            Some(name) => Ok(*name),
            None => offset.wrong(index),
        }
    };
    let code = match (offset.name, offset.view.callee_text(offset.call)) {
        (Name::Offset, "Day") => "D".to_owned(),
        (Name::Offset, "Hour") => "h".to_owned(),
        (Name::Offset, "Minute") => "min".to_owned(),
        (Name::Offset, "Second") => "s".to_owned(),
        (Name::Offset, "Milli") => "ms".to_owned(),
        (Name::Offset, "Micro") => "us".to_owned(),
        (Name::Offset, "Nano") => "ns".to_owned(),
        (Name::Offset, "BusinessDay") => "B".to_owned(),
        (Name::Offset, "MonthEnd") => "M".to_owned(),
        (Name::Offset, "Week") => format!("W-{}", nth(2, &DAYS, 0)?),
        (Name::Offset, "QuarterEnd") => format!("Q-{}", nth(2, &MONTHS, 1)?),
        (Name::Offset, "YearEnd") => format!("Y-{}", nth(2, &MONTHS, 1)?),
        _ => return refuse(offset.position(), PickleFault::Unchecked { call: offset.name.text() }),
    };
    match offset.int(0)? {
        1 => Ok(code),
        count => Ok(format!("{count}{code}")),
    }
}

/// The value of a key in an object's state; an error of the object if there is none.
fn field(call: Arguments<'_>, key: &str) -> Result<Id> {
    let state = call.with_state(0)?;
    match entry(call.view, state, key) {
        Some(value) => Ok(value),
        None => call.wrong(0),
    }
}

/// The value of a key in a dict.
pub(in crate::pickle) fn entry(view: View<'_>, dict: Id, key: &str) -> Option<Id> {
    if view.value(dict) != Value::Dict {
        return None;
    }
    let mut children = view.graph.children(dict);
    while let (Some(found), Some(value)) = (children.next(), children.next()) {
        if view.text(found) == Some(key) {
            return Some(value);
        }
    }
    None
}

/// An object of this class that was made empty.
fn made(view: View<'_>, id: Id, class: Name) -> Option<Arguments<'_>> {
    match view.value(id) {
        Value::New(name) if name == class => Arguments::of(view, id),
        _ => None,
    }
}
