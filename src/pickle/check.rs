//! Whether Python may be given a pickle: every call in it is looked at, whatever refers to
//! it, because Python would make every one.
//!
//! What each function does with its arguments is known for the forms that this crate writes.
//! Any other name is refused, also where nothing calls it.

use std::collections::{HashMap, HashSet};

use arrow_schema::TimeUnit;

use super::allow::Name;
use super::arrays::arguments::Arguments;
use super::arrays::dtype::Sort;
use super::arrays::form::Form;
use super::arrays::numpy::Numpy;
use super::arrays::scalars::Scalar;
use super::arrays::{Reading, arrow_types, dtype, pandas, zone};
use super::fault::{PickleFault, refuse};
use super::graph::{Id, Kind};
use super::view::View;
use crate::copies::CopyBudget;
use crate::error::Result;

/// Checks every name and call, and that the value is a call.
pub(super) fn check(view: View<'_>, root: Id) -> Result<()> {
    if !matches!(view.graph.kind(root), Kind::Call | Kind::New) {
        let held = view.kind_text(root).to_owned();
        return refuse(view.position(root), PickleFault::NoColumn { held });
    }
    no_memory_is_shared(view)?;
    let mut copies = CopyBudget::of_reader(view.num_bytes());
    // One for all calls: an array that several are given is made once.
    let mut reading = Reading { view, copies: &mut copies, column: 0, name: "", known: HashMap::new() };
    for id in view.graph.ids() {
        match view.graph.kind(id) {
            Kind::Global if !view.global(id).is_some_and(|(_, allowed)| allowed.is_written) => {
                return unchecked(view, id);
            }
            Kind::Call => match Arguments::of(view, id) {
                Some(call) => one(&mut reading, call)?,
                None => return unchecked(view, id),
            },
            // The writer makes no objects without calling their class.
            Kind::New => return unchecked(view, id),
            _ => {}
        }
    }
    Ok(())
}

/// Refuses memory that several arrays would be on: a write to one would change what was checked of
/// the other, as codes that are also numbers. So whatever has memory, or may have it inside, is referred
/// to once: our writer makes everything where it is used. (Out-of-band buffers are used once anyway.)
fn no_memory_is_shared(view: View<'_>) -> Result<()> {
    let has_memory = |id: Id| match view.graph.kind(id) {
        Kind::ByteArray | Kind::Tuple | Kind::List | Kind::Dict | Kind::Set | Kind::FrozenSet => true,
        Kind::Call => matches!(
            view.callee(id),
            Some(Name::FromBuffer | Name::Empty | Name::FromBuffers | Name::PyBuffer)
        ),
        _ => false,
    };
    let mut seen = HashSet::new();
    for container in view.graph.ids() {
        for child in view.graph.children(container).filter(|child| has_memory(*child)) {
            if !seen.insert(child) {
                return refuse(view.position(child), PickleFault::ArrayShared);
            }
        }
    }
    Ok(())
}

/// Refuses objects of an array that are no scalars, nor made of scalars: arrays and whatever else is large.
fn objects(call: Arguments<'_>) -> Result<()> {
    let view = call.view;
    let Some(state) = view.state(call.call) else { return Ok(()) };
    // The list of the objects comes last; what comes before it was checked.
    let Some(list) = view.graph.children(state).last() else { return Ok(()) };
    let mut waiting = vec![list];
    while let Some(container) = waiting.pop() {
        for child in view.graph.children(container) {
            match view.graph.kind(child) {
                Kind::Tuple | Kind::List | Kind::Dict | Kind::Set | Kind::FrozenSet => waiting.push(child),
                Kind::Call | Kind::New | Kind::Global if !Scalar::is_one(view, child)? => {
                    return unchecked(view, child);
                }
                Kind::ByteArray | Kind::Buffer | Kind::ReadOnlyBuffer => return unchecked(view, child),
                _ => {}
            }
        }
    }
    Ok(())
}

/// About how many bytes Python takes for what a pickle holds beside its buffers: its containers, and an
/// object and a reference for each value in them.
pub(super) fn python_bytes(view: View<'_>) -> u64 {
    const VALUE: u64 = 64;
    let mut bytes = view.bytes.len() as u64;
    for id in view.graph.ids() {
        let own = match view.graph.kind(id) {
            Kind::Set | Kind::FrozenSet => 216,
            kind if kind.is_container() => 64,
            _ => continue,
        };
        let values = (view.graph.children(id).len() as u64).saturating_mul(VALUE);
        bytes = bytes.saturating_add(own).saturating_add(values);
    }
    bytes
}

/// Checks one call. Arguments that are calls are checked by themselves.
fn one<'p>(reading: &mut Reading<'p, '_>, call: Arguments<'p>) -> Result<()> {
    let view = call.view;
    match call.name {
        Name::FromBuffer => match Numpy::of(view, call.call)? {
            // Text of numpy may have numbers that are no characters, which Python takes on trust.
            Some(Numpy::Numbers(numbers)) if numbers.dtype.sort == Sort::Fixed => unchecked(view, call.call),
            _ => Ok(()),
        },
        Name::Empty => match Numpy::of(view, call.call)? {
            // numpy would write to bytes that are the state.
            Some(Numpy::Numbers(_)) => unchecked(view, call.call),
            _ => objects(call),
        },
        Name::DtypeOf => dtype::Dtype::of(view, call.call).map(drop),
        Name::FromBuffers => reading.array(call.call, None).map(drop),
        Name::FromCodes => reading.check_codes(call),
        Name::PdArray | Name::TzConvert => form(reading, call),
        Name::PeriodArray | Name::IntervalFromArrays => form(reading, call),
        Name::IntegerArray | Name::FloatingArray | Name::BooleanArray => form(reading, call),
        Name::ArrowStringArray | Name::ToPandas | Name::FromArrow => form(reading, call),
        Name::Index => form(reading, call),
        Name::RangeIndex => range_index(call),
        Name::MultiIndex => multi_index(reading, call),
        Name::DatetimeTzDtype => pandas::zoned_dtype(call).map(drop),
        Name::StringDtype => pandas::string_dtype(call),
        Name::SparseDtype => pandas::sparse_dtype(call),
        Name::PeriodDtype => {
            // An offset would be one of pandas' own.
            call.text(0)?;
            pandas::frequency(call).map(drop)
        }
        Name::PyBuffer => call.exactly(1)?.buffer(0).map(drop),
        Name::PaString | Name::PaLargeString => arrow_types::data_type(call).map(drop),
        Name::TimeZone => zone::Zone::of(view, call.call).map(drop),
        Name::Date | Name::Time | Name::DateTime | Name::TimeDelta => scalar(call),
        Name::Decimal | Name::Uuid => scalar(call),
        _ => unchecked(view, call.call),
    }
}

/// A call whose arguments are checked when its form is made.
fn form<'p>(reading: &mut Reading<'p, '_>, call: Arguments<'p>) -> Result<()> {
    let view = call.view;
    match Form::of(view, call.call)? {
        // pandas takes other lists for columns of another kind, or of several dimensions.
        Form::Strings(list) => {
            each(view, list, "str", |id| Ok(matches!(view.graph.kind(id), Kind::Text | Kind::None)))
        }
        Form::List(list) => each(view, list, "a scalar", |id| Scalar::is_one(view, id)),
        Form::Zoned(_, TimeUnit::Nanosecond, _) => Ok(()),
        Form::Zoned(values, unit, _) => reading.check_years(&values, unit),
        // A RangeIndex, whose values would be made: any number of them.
        Form::Other(held) => refuse(call.position(), PickleFault::NoColumn { held: held.to_owned() }),
        _ => Ok(()),
    }
}

/// Checks every value of a list.
fn each(
    view: View<'_>,
    list: Id,
    expected: &'static str,
    is_expected: impl Fn(Id) -> Result<bool>,
) -> Result<()> {
    for (row, id) in view.graph.children(list).enumerate() {
        if !is_expected(id)? {
            let found = view.kind_text(id);
            return refuse(view.position(list), PickleFault::Mixed { row, expected, found });
        }
    }
    Ok(())
}

fn scalar(call: Arguments<'_>) -> Result<()> {
    match Scalar::of(call.view, call.call)? {
        Scalar::Other => unchecked(call.view, call.call),
        _ => Ok(()),
    }
}

/// `pandas.RangeIndex(start, stop, step, None, copy, name)`, of no more rows than Python counts.
fn range_index(call: Arguments<'_>) -> Result<()> {
    call.exactly(6)?;
    let (start, stop, step) = (call.int(0)?, call.int(1)?, call.int(2)?);
    let Some(rows) = start.abs_diff(stop).checked_div(step.unsigned_abs()) else { return call.wrong(2) };
    if isize::try_from(rows).is_err() {
        return call.wrong(1);
    }
    call.none(3)?;
    call.bool(4)?;
    pandas::label(call, 5)
}

/// `pandas.MultiIndex([levels], [codes], None, [names])`.
fn multi_index<'p>(reading: &mut Reading<'p, '_>, call: Arguments<'p>) -> Result<()> {
    call.exactly(4)?;
    call.none(2)?;
    let (levels, codes, names) = (call.list(0)?, call.list(1)?, call.list(3)?);
    if levels.len() != codes.len() || levels.len() != names.len() {
        let fault = PickleFault::Length { expected: levels.len(), found: codes.len() };
        return refuse(call.position(), fault);
    }
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
