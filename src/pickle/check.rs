//! Whether Python may be given a pickle: every call in it is looked at, whatever refers to
//! it, because Python would make every one.
//!
//! What each function does with its arguments is known for the forms that this crate writes,
//! and for numpy's own arrays and the values that object columns have. A call of anything
//! else is refused.

use super::allow::Name;
use super::arrays::arguments::Arguments;
use super::arrays::form::Form;
use super::arrays::numpy::{Numpy, split};
use super::arrays::scalars::Scalar;
use super::arrays::{Reading, arrow_types, dtype, pandas, zone};
use super::budget;
use super::fault::{PickleFault, refuse};
use super::graph::{Id, Kind};
use super::view::{Value, View};
use crate::error::Result;

/// Checks every call, and that the value is one.
pub(super) fn check(view: View<'_>, root: Id) -> Result<()> {
    if !matches!(view.graph.kind(root), Kind::Call | Kind::New) {
        let held = view.kind_text(root).to_owned();
        return refuse(view.position(root), PickleFault::NoColumn { held });
    }
    for id in view.graph.ids() {
        match view.graph.kind(id) {
            Kind::Call => {
                if let Some(call) = Arguments::of(view, id) {
                    one(call)?;
                }
            }
            Kind::New => match Arguments::of(view, id) {
                Some(call) if call.name == Name::Uuid => uuid(call)?,
                _ => return unchecked(view, id),
            },
            _ => {}
        }
    }
    Ok(())
}

/// Checks one call. Arguments that are calls are checked by themselves.
fn one(call: Arguments<'_>) -> Result<()> {
    let view = call.view;
    match call.name {
        Name::FromBuffer | Name::NdArray | Name::Empty | Name::NpArray => numpy(call),
        Name::NpFromBuffer | Name::Reconstruct => numpy(call),
        Name::NpScalar => np_scalar(call),
        Name::DtypeOf => dtype::Dtype::of(view, call.call).map(drop),
        Name::Take | Name::FromBuffers | Name::DictionaryFromArrays | Name::FromCodes => {
            let mut copies = budget();
            let mut reading = Reading { view, copies: &mut copies, column: 0, name: "" };
            match call.name {
                // What is taken may be of any kind, which has no Arrow type.
                Name::Take => reading.check_taken(call),
                Name::FromCodes => reading.check_codes(call),
                _ => reading.array(call.call, None).map(drop),
            }
        }
        Name::StrSplit => split(call).map(drop),
        Name::PdArray | Name::TzConvert | Name::PeriodArray | Name::IntervalFromArrays => form(call),
        Name::IntegerArray | Name::FloatingArray | Name::BooleanArray => form(call),
        Name::ArrowStringArray | Name::ArrowExtensionArray | Name::ToPandas | Name::FromArrow => form(call),
        Name::Series => pandas::series(call).map(drop),
        Name::Index => pandas::index(call).map(drop),
        Name::DataFrame => data_frame(call),
        Name::RangeIndex => range_index(call),
        Name::MultiIndex => multi_index(call),
        Name::DatetimeTzDtype => pandas::zoned_dtype(call).map(drop),
        Name::StringDtype => pandas::string_dtype(call),
        Name::PeriodDtype => {
            // An offset would be one of pandas' own.
            call.text(0)?;
            pandas::frequency(call).map(drop)
        }
        Name::SparseDtype => pandas::sparse_dtype(call),
        Name::CategoricalDtype => {
            call.exactly(2)?;
            call.bool(1)?;
            pandas::values(call, 0).map(drop)
        }
        Name::PyBuffer => call.exactly(1)?.buffer(0).map(drop),
        Name::TimeZone
        | Name::ZoneInfo
        | Name::ZoneInfoUnpickle
        | Name::PytzZone
        | Name::PytzUtc
        | Name::PytzFixed => zone::Zone::of(view, call.call).map(drop),
        Name::Date | Name::DateTime | Name::Time | Name::TimeDelta | Name::Uuid => scalar(call),
        Name::Decimal => call.exactly(1)?.text(0).map(drop),
        Name::Timestamp => match call.exactly(1)?.text(0)? {
            text if text.len() <= LONGEST_TIMESTAMP => Ok(()),
            _ => call.wrong(0),
        },
        Name::NatUnpickle => call.exactly(1)?.none(0),
        Name::TimestampUnpickle => {
            call.exactly(4)?;
            call.int(0)?;
            call.none(1)?;
            if call.value(2)? != Value::None {
                zone::Zone::of(view, call.get(2)?)?;
            }
            resolution(call, 3)
        }
        Name::TimedeltaUnpickle => {
            call.exactly(2)?.int(0)?;
            resolution(call, 1)
        }
        Name::Complex => match (call.exactly(2)?.value(0)?, call.value(1)?) {
            (Value::Float(_), Value::Float(_)) => Ok(()),
            _ => call.wrong(0),
        },
        // Of a number, it would be that long.
        Name::ByteArray => match call.exactly(1)?.get(0) {
            Ok(id) if view.graph.kind(id) == Kind::Bytes => Ok(()),
            _ => call.wrong(0),
        },
        Name::FrozenSet => frozen_set(call),
        name if arrow_types::is_type(name) => arrow_types::data_type(call).map(drop),
        _ => unchecked(view, call.call),
    }
}

/// Longer than any datetime with nanoseconds and a zone.
const LONGEST_TIMESTAMP: usize = 64;

/// A call whose arguments are checked when its form is made.
fn form(call: Arguments<'_>) -> Result<()> {
    Form::of(call.view, call.call).map(drop)
}

fn numpy(call: Arguments<'_>) -> Result<()> {
    Numpy::of(call.view, call.call).map(drop)
}

fn scalar(call: Arguments<'_>) -> Result<()> {
    match Scalar::of(call.view, call.call)? {
        // A time, or a datetime, with a zone of its own.
        Scalar::Other if matches!(call.name, Name::Time | Name::DateTime) => {
            zone::Zone::of(call.view, call.get(call.count.saturating_sub(1))?).map(drop)
        }
        _ => Ok(()),
    }
}

/// The number of a unit in numpy: s, ms, us or ns.
fn resolution(call: Arguments<'_>, index: usize) -> Result<()> {
    if (7..=10).contains(&call.int(index)?) { Ok(()) } else { call.wrong(index) }
}

/// `scalar(dtype, bytes)`, of as many bytes as the dtype has.
fn np_scalar(call: Arguments<'_>) -> Result<()> {
    call.exactly(2)?;
    let dtype = dtype::Dtype::of(call.view, call.get(0)?)?;
    let found = call.buffer(1)?.len();
    match dtype.sort {
        dtype::Sort::Object => call.wrong(0),
        _ if found == dtype.width => Ok(()),
        _ => refuse(call.position(), PickleFault::Length { expected: dtype.width, found }),
    }
}

/// A UUID of the state `{'int': number}`.
fn uuid(call: Arguments<'_>) -> Result<()> {
    let state = call.with_state(0)?;
    Scalar::of(call.view, call.call)?;
    if call.view.graph.children(state).len() == 2 { Ok(()) } else { call.wrong(0) }
}

/// `frozenset(list)`, of values that can be hashed, and whose hashes do not collide.
fn frozen_set(call: Arguments<'_>) -> Result<()> {
    let list = call.exactly(1)?.get(0)?;
    if call.view.value(list) != Value::List {
        return call.wrong(0);
    }
    super::walk::members(call.view, list)
}

/// `pandas.DataFrame({name: values}, None, None, None, copy)`.
fn data_frame(call: Arguments<'_>) -> Result<()> {
    call.exactly(5)?;
    for index in 1..4 {
        call.none(index)?;
    }
    call.bool(4)?;
    let columns = call.get(0)?;
    if call.view.value(columns) != Value::Dict {
        return call.wrong(0);
    }
    let values = call.view.graph.children(columns).skip(1).step_by(2);
    let is_array = |id| matches!(call.view.value(id), Value::List | Value::Call(_));
    if values.into_iter().all(is_array) { Ok(()) } else { call.wrong(0) }
}

/// `pandas.RangeIndex(start, stop, step, None, copy, name)`.
fn range_index(call: Arguments<'_>) -> Result<()> {
    call.exactly(6)?;
    call.int(0)?;
    call.int(1)?;
    if call.int(2)? == 0 {
        return call.wrong(2);
    }
    call.none(3)?;
    call.bool(4)?;
    pandas::label(call, 5)
}

/// `pandas.MultiIndex([levels], [codes], None, [names])`.
fn multi_index(call: Arguments<'_>) -> Result<()> {
    call.exactly(4)?;
    call.none(2)?;
    let (levels, codes, names) = (call.list(0)?, call.list(1)?, call.list(3)?);
    if levels.len() != codes.len() || levels.len() != names.len() {
        let fault = PickleFault::Length { expected: levels.len(), found: codes.len() };
        return refuse(call.position(), fault);
    }
    let mut copies = budget();
    let mut reading = Reading { view: call.view, copies: &mut copies, column: 0, name: "" };
    for (level, codes) in levels.zip(codes) {
        let codes = match Numpy::of(call.view, codes)? {
            Some(Numpy::Numbers(codes)) => codes.integers()?,
            _ => return call.wrong(1),
        };
        let values = reading.categories(level, None)?;
        reading.keyed(&codes, values, None)?;
    }
    Ok(())
}

#[cold]
fn unchecked<T>(view: View<'_>, id: Id) -> Result<T> {
    refuse(view.position(id), PickleFault::Unchecked { call: view.kind_text(id) })
}
