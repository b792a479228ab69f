//! The forms of columns: which calls of which public constructors rebuild each.
//!
//! pandas' own pickles load on the version that wrote them. These are assembled from
//! constructors that every pandas has had since 1.5, take positional arguments only, and
//! leave the big buffers out-of-band, so one pickle loads everywhere and shares memory.
//! `docs/FORMAT.md` lists them.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "the numbers are lengths of arrays of this process, not of anything that came in"
)]

mod categorical;
mod extension;
mod index;
mod inexact;
mod moments;
mod numbers;
mod objects;
mod text;
mod zone;

use arrow_array::Array;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, TimeUnit};

use super::writer::Writer;
use crate::copies::CopyReason;
use crate::error::{Error, ErrorKind, Result};

pub(crate) use categorical::{Categories, check_categories};
pub use index::{index, multi_index, range_index};
pub use inexact::Inexact;
pub use objects::objects;
pub use text::TextForm;
pub use zone::ZonedForm;

/// Which of several forms columns take, where pandas has more than one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forms {
    /// What text becomes.
    pub text: TextForm,
    /// Which versions of pandas load zoned timestamps.
    pub zoned: ZonedForm,
}

/// Writes the pickle of one column and counts what it copies.
pub(crate) struct Pickler<'p> {
    pub(crate) forms: Forms,
    /// The name of the column, for errors.
    pub(crate) column: &'p str,
    /// Counts a copy before it is made, or refuses it.
    pub(crate) claim: &'p mut dyn FnMut(CopyReason, usize) -> Result<()>,
    writer: Writer,
}

impl<'p> Pickler<'p> {
    pub(crate) fn new(
        forms: Forms,
        column: &'p str,
        claim: &'p mut dyn FnMut(CopyReason, usize) -> Result<()>,
    ) -> Self {
        Pickler { forms, column, claim, writer: Writer::new() }
    }

    /// Pickles a column of that field.
    pub(crate) fn pickle(mut self, array: &dyn Array, field: &Field) -> Result<Vec<Buffer>> {
        self.column(array, field)?;
        Ok(self.writer.finish())
    }

    /// Writes the expression of a column of that field.
    fn column(&mut self, array: &dyn Array, field: &Field) -> Result<()> {
        match Kind::of(field).map_err(|reason| self.inexact(reason))? {
            Kind::Categorical => self.categorical(array, field.dict_is_ordered().unwrap_or(false)),
            Kind::Text => self.text(array),
            Kind::Zoned => self.zoned(array),
            Kind::Naive(code) => self.naive(array, code),
            Kind::Numpy => self.numbers(array),
            Kind::Nullable(_) => self.nullable(array),
            Kind::Period(freq) => self.period(array, &freq),
            Kind::Interval(closed) => self.interval(array, &closed),
            Kind::Objects => self.objects(array),
        }
    }

    /// A call whose arguments are expressions of columns.
    fn call(
        &mut self,
        module: &str,
        name: &str,
        count: usize,
        arguments: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.writer.start_call(module, name, count);
        arguments(self)?;
        self.writer.end_call(count);
        Ok(())
    }

    /// A list of expressions of columns.
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T) -> Result<()>) -> Result<()> {
        self.writer.start_list();
        for value in items {
            item(self, value)?;
        }
        self.writer.end_list();
        Ok(())
    }

    fn inexact(&self, reason: Inexact) -> Error {
        ErrorKind::Inexact { column: self.column.to_owned(), reason }.into()
    }

    fn claim(&mut self, reason: CopyReason, bytes: usize) -> Result<()> {
        (self.claim)(reason, bytes)
    }
}

/// The dtype that a column of that field has once it is unpickled (`category`,
/// `datetime64[us, Europe/Paris]`, `object`, …).
///
/// # Errors
///
/// Why no form carries a column of that type.
pub(crate) fn dtype_name(field: &Field, forms: Forms) -> Result<String, Inexact> {
    Ok(match Kind::of(field)? {
        Kind::Categorical => "category".to_owned(),
        Kind::Text => forms.text.dtype_name().to_owned(),
        Kind::Zoned => match field.data_type() {
            DataType::Timestamp(unit, Some(zone)) => format!("datetime64[{}, {zone}]", unit_name(*unit)),
            _ => String::new(),
        },
        Kind::Naive(_) => moments_name(field.data_type()),
        Kind::Numpy => numbers::numpy_name(field.data_type()).unwrap_or_default().to_owned(),
        Kind::Nullable(dtype) => dtype.to_owned(),
        Kind::Period(freq) => format!("period[{freq}]"),
        Kind::Interval(closed) => match field.data_type() {
            DataType::Struct(fields) => {
                let end = fields.first().map_or(&DataType::Null, |end| end.data_type());
                let subtype = numbers::numpy_name(end).map_or_else(|| moments_name(end), str::to_owned);
                format!("interval[{subtype}, {closed}]")
            }
            _ => String::new(),
        },
        Kind::Objects => "object".to_owned(),
    })
}

/// A kind of form.
enum Kind {
    Categorical,
    Text,
    Zoned,
    /// numpy's letter: `M` for datetimes, `m` for durations.
    Naive(char),
    Numpy,
    /// The dtype.
    Nullable(&'static str),
    /// The frequency.
    Period(String),
    /// Which ends belong to it.
    Interval(String),
    Objects,
}

impl Kind {
    fn of(field: &Field) -> Result<Kind, Inexact> {
        use DataType::*;
        let extension = |name| field.metadata().get("ARROW:extension:name").is_some_and(|n| n == name);
        if extension("pandas.period") && field.data_type() == &Int64 {
            return extension::frequency(field).map(Kind::Period);
        }
        if extension("pandas.interval") {
            return extension::closed(field).map(Kind::Interval);
        }
        match field.data_type() {
            Dictionary(_, values) => {
                categorical::check_values(values)?;
                Ok(Kind::Categorical)
            }
            Utf8 | LargeUtf8 | Utf8View => Ok(Kind::Text),
            Timestamp(_, Some(zone)) => zone::Zone::parse(zone).map(|_| Kind::Zoned),
            Timestamp(_, None) => Ok(Kind::Naive('M')),
            Duration(_) => Ok(Kind::Naive('m')),
            data_type => match numbers::nullable_name(data_type) {
                Some(dtype) if field.is_nullable() => Ok(Kind::Nullable(dtype)),
                _ if numbers::numpy_name(data_type).is_some() && !field.is_nullable() => Ok(Kind::Numpy),
                // Which of a union's fields an object belonged to would be lost.
                _ if matches!(data_type, Union(..)) => Err(Inexact::NoForm { data_type: data_type.clone() }),
                _ => objects::check(data_type).map(|()| Kind::Objects),
            },
        }
    }
}

/// The dtype of datetimes without a zone and of durations.
fn moments_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(unit, _) => format!("datetime64[{}]", unit_name(*unit)),
        DataType::Duration(unit) => format!("timedelta64[{}]", unit_name(*unit)),
        _ => String::new(),
    }
}

/// numpy's and pandas' name of a unit of time.
fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// The values of a fixed-width array: its own memory, cut to its rows.
fn values_of(array: &dyn Array) -> Buffer {
    let data = array.to_data();
    let width = data.data_type().primitive_width().unwrap_or_default();
    match data.buffers().first() {
        Some(values) => values.slice_with_length(data.offset() * width, data.len() * width),
        None => Buffer::default(),
    }
}
