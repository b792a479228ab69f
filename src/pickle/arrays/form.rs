//! What a value is, once the wrappers around it are taken off: the parts of an array.

use super::super::allow::Name;
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use super::natural;
use super::numpy::{Numbers, Numpy};
use super::zone::Zone;
use super::{dtype, pandas};
use crate::error::Result;
use arrow_schema::TimeUnit;

/// The parts of an array.
#[derive(Debug, Clone)]
pub(in crate::pickle) enum Form<'p> {
    Numpy(Numpy),
    /// A list of Python objects.
    List(Id),
    /// A list of strings and missing values.
    Strings(Id),
    /// Codes, categories and whether they are ordered.
    Categorical(Numbers, Id, bool),
    /// Instants since 1970 in UTC, and the zone that they are shown in.
    Zoned(Numbers, TimeUnit, Zone),
    /// Values and a mask that is true where there is none.
    Masked(Numbers, Numbers),
    /// A call that makes an Arrow array, or several that follow each other.
    Arrow(Id),
    /// Ordinals and a frequency.
    Period(Numbers, String),
    /// Lower and upper bounds, and which of them belong to the intervals.
    Interval(Id, Id, &'p str),
    /// Values of which those that are the most frequent one are left out: Arrow has no such array.
    Sparse,
    /// What has no Arrow array.
    Other(&'static str),
}

impl<'p> Form<'p> {
    /// What a value is.
    pub(in crate::pickle) fn of(view: View<'p>, id: Id) -> Result<Self> {
        let mut id = id;
        // Wrappers in wrappers are no deeper than the graph.
        loop {
            match Self::outer(view, id)? {
                Outer::Form(form) => return Ok(form),
                Outer::Wraps(inner) => id = inner,
            }
        }
    }

    fn outer(view: View<'p>, id: Id) -> Result<Outer<'p>> {
        let form = match view.value(id) {
            Value::List => Form::List(id),
            Value::Call(_) | Value::New(_) => {
                let Some(call) = Arguments::of(view, id) else {
                    return Ok(Outer::Form(Form::Other("object")));
                };
                return Self::call(call);
            }
            Value::Global(name) => Form::Other(name.text()),
            _ => Form::Other(view.kind_text(id)),
        };
        Ok(Outer::Form(form))
    }

    fn call(call: Arguments<'p>) -> Result<Outer<'p>> {
        if let Some(numpy) = Numpy::of(call.view, call.call)? {
            return Ok(Outer::Form(Form::Numpy(numpy)));
        }
        let is_made = matches!(call.view.value(call.call), Value::New(_));
        let form = match call.name {
            Name::Series | Name::ArrowStringArray | Name::ArrowExtensionArray if is_made => {
                return natural::object(call);
            }
            Name::IntegerArray | Name::FloatingArray | Name::BooleanArray if is_made => {
                return natural::object(call);
            }
            Name::NdArrayBacked | Name::IntervalMixin | Name::NewIndex => return natural::object(call),
            Name::Series => return pandas::series(call).map(Outer::Wraps),
            Name::Index => return pandas::index(call).map(Outer::Wraps),
            Name::FromCodes => pandas::from_codes(call)?,
            Name::PdArray => pandas::array(call)?,
            Name::TzConvert => pandas::tz_convert(call)?,
            Name::IntegerArray | Name::FloatingArray | Name::BooleanArray => pandas::masked(call)?,
            Name::PeriodArray => pandas::period(call)?,
            Name::IntervalFromArrays => pandas::interval(call)?,
            Name::ArrowStringArray | Name::ArrowExtensionArray | Name::ToPandas => {
                call.exactly(1)?;
                return Ok(Outer::Wraps(pandas::arrow(call, 0)?));
            }
            Name::FromArrow => {
                call.exactly(2)?;
                pandas::string_dtype(call.call(0, Name::StringDtype)?)?;
                return Ok(Outer::Wraps(pandas::arrow(call, 1)?));
            }
            Name::FromBuffers | Name::DictionaryFromArrays | Name::RestoreArray | Name::ChunkedArray => {
                Form::Arrow(call.call)
            }
            name => Form::Other(name.text()),
        };
        Ok(Outer::Form(form))
    }
}

/// What a call is: a form, or what has the form of one of its parts.
pub(in crate::pickle) enum Outer<'p> {
    Form(Form<'p>),
    Wraps(Id),
}

/// The unit of this name; an error of the call if there is none.
pub(in crate::pickle) fn unit(call: Arguments<'_>, index: usize) -> Result<TimeUnit> {
    match dtype::time_unit(call.text(index)?) {
        Some(unit) => Ok(unit),
        None => call.wrong(index),
    }
}
