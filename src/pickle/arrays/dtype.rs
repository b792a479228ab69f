//! numpy's dtypes, by the names and states that are known. Source: numpy, "Data type objects"
//! and `numpy/_core/src/multiarray/descriptor.c` (`arraydescr_setstate`).

use arrow_schema::TimeUnit;

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use crate::error::Result;

/// A dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pickle) struct Dtype {
    pub(in crate::pickle) sort: Sort,
    /// Bytes of a value.
    pub(in crate::pickle) width: usize,
    /// Whether the bytes of a value are the other way round than ours.
    pub(in crate::pickle) is_swapped: bool,
}

/// A sort of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pickle) enum Sort {
    Bool,
    Int,
    UInt,
    Float,
    Complex,
    /// A datetime, or a duration, and the unit if Arrow has it.
    Datetime(Option<TimeUnit>),
    Timedelta(Option<TimeUnit>),
    Object,
    /// Text, or bytes, of a fixed width.
    Fixed,
}

impl Dtype {
    /// The dtype of this name: `<i8`, `M8[us]`, `?`. There are no others.
    pub(in crate::pickle) fn of_text(text: &str) -> Option<Self> {
        let (is_swapped, name) = match text.as_bytes().first()? {
            b'>' => (true, text.get(1..)?),
            b'<' | b'|' | b'=' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (sort, width) = match name {
            "?" | "b1" | "bool" => (Sort::Bool, 1),
            "i1" | "int8" => (Sort::Int, 1),
            "i2" | "int16" => (Sort::Int, 2),
            "i4" | "int32" => (Sort::Int, 4),
            "i8" | "int64" => (Sort::Int, 8),
            "u1" | "uint8" => (Sort::UInt, 1),
            "u2" | "uint16" => (Sort::UInt, 2),
            "u4" | "uint32" => (Sort::UInt, 4),
            "u8" | "uint64" => (Sort::UInt, 8),
            "f2" | "float16" => (Sort::Float, 2),
            "f4" | "float32" => (Sort::Float, 4),
            "f8" | "float64" => (Sort::Float, 8),
            "c8" | "complex64" => (Sort::Complex, 8),
            "c16" | "complex128" => (Sort::Complex, 16),
            "O" | "O8" | "object" => (Sort::Object, 8),
            _ => match name.split_at_checked(2)? {
                ("M8", "") => (Sort::Datetime(None), 8),
                ("m8", "") => (Sort::Timedelta(None), 8),
                ("M8", unit) => (Sort::Datetime(unit_of(bracketed(unit)?)?), 8),
                ("m8", unit) => (Sort::Timedelta(unit_of(bracketed(unit)?)?), 8),
                _ => (Sort::Fixed, fixed(name)?),
            },
        };
        // One byte has no order.
        Some(Dtype { sort, width, is_swapped: is_swapped && width > 1 && sort != Sort::Object })
    }

    /// The dtype that a value stands for: text, or a call of `numpy.dtype`.
    pub(in crate::pickle) fn of(view: View<'_>, id: Id) -> Result<Self> {
        if let Value::Text(text) = view.value(id) {
            return Self::of_text(text).map_or_else(|| unknown(view, id, text), Ok);
        }
        // Anything else that numpy makes a dtype of, as it does of dicts and lists of fields,
        // could have objects in it.
        let (Value::Call(Name::DtypeOf), Some(call)) = (view.value(id), Arguments::of(view, id)) else {
            return unknown(view, id, &view.shown(id));
        };
        let text = call.text(0)?;
        let Some(dtype) = Self::of_text(text) else { return unknown(view, id, text) };
        if call.count == 1 {
            call.exactly(1)?;
            return Ok(dtype);
        }
        let state = call.with_state(3)?;
        call.bool(1)?;
        call.bool(2)?;
        match dtype.with_state(view, state) {
            Some(dtype) => Ok(dtype),
            None => unknown(view, id, &format!("{text} with a state of its own")),
        }
    }

    /// The dtype with the state that numpy gives it: version, byte order, no fields, width
    /// and alignment, flags, and the unit of a time.
    fn with_state(self, view: View<'_>, state: Id) -> Option<Self> {
        let parts: Vec<Id> = view.tuple(state)?.collect();
        let (fixed, times) = parts.split_at_checked(8)?;
        let [version, order, subarray, names, fields, width, alignment, flags] = *fixed else { return None };
        let is_none = |id| view.value(id) == Value::None;
        if !(is_none(subarray) && is_none(names) && is_none(fields)) {
            return None;
        }
        let order = match view.value(order) {
            Value::Text("<" | "|" | "=") => false,
            Value::Text(">") => true,
            _ => return None,
        };
        let numbers = (view.int(version)?, view.int(width)?, view.int(alignment)?, view.int(flags)?);
        let width = i64::try_from(self.width).ok()?;
        let sort = match (self.sort, numbers, times) {
            (Sort::Fixed, (3, size, 1 | 4, 0 | 8), []) if size == width => self.sort,
            (Sort::Object, (3, -1, -1, 63), []) => self.sort,
            (Sort::Datetime(_), (4, -1, -1, 0), [time]) => Sort::Datetime(unit_in(view, *time)?),
            (Sort::Timedelta(_), (4, -1, -1, 0), [time]) => Sort::Timedelta(unit_in(view, *time)?),
            (Sort::Fixed | Sort::Object | Sort::Datetime(_) | Sort::Timedelta(_), ..) => return None,
            (_, (3, -1, -1, 0), []) => self.sort,
            _ => return None,
        };
        Some(Dtype { sort, is_swapped: order && self.width > 1, ..self })
    }
}

/// The unit in the state of a time: `(metadata, (b'us', 1, 1, 1))`.
fn unit_in(view: View<'_>, state: Id) -> Option<Option<TimeUnit>> {
    let mut parts = view.tuple(state)?;
    let (metadata, unit, more) = (parts.next()?, parts.next()?, parts.next());
    let is_empty_dict = view.value(metadata) == Value::Dict && view.graph.children(metadata).len() == 0;
    if more.is_some() || !(view.value(metadata) == Value::None || is_empty_dict) {
        return None;
    }
    let mut parts = view.tuple(unit)?;
    let Value::Bytes(unit) = view.value(parts.next()?) else { return None };
    if parts.len() != 3 || parts.any(|number| view.int(number) != Some(1)) {
        return None;
    }
    unit_of(std::str::from_utf8(&unit).ok()?)
}

/// A unit of numpy's, if there is such a one; and Arrow's name for it, if it has one.
fn unit_of(unit: &str) -> Option<Option<TimeUnit>> {
    match unit {
        "generic" | "Y" | "M" | "W" | "D" | "h" | "m" | "ps" | "fs" | "as" => Some(None),
        _ => time_unit(unit).map(Some),
    }
}

/// The unit of this name, which numpy, pandas and pyarrow share.
pub(in crate::pickle) fn time_unit(unit: &str) -> Option<TimeUnit> {
    Some(match unit {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn bracketed(unit: &str) -> Option<&str> {
    unit.strip_prefix('[')?.strip_suffix(']')
}

/// The width of text (`U3`, four bytes each) or bytes (`S3`). None of no width: there would be
/// any number of them in any buffer.
fn fixed(name: &str) -> Option<usize> {
    let (kind, count) = name.split_at_checked(1)?;
    let count: u32 = count.parse().ok().filter(|count| *count > 0)?;
    match kind {
        "U" => usize::try_from(count).ok()?.checked_mul(4),
        "S" => usize::try_from(count).ok(),
        _ => None,
    }
}

fn unknown<T>(view: View<'_>, id: Id, dtype: &str) -> Result<T> {
    let dtype = dtype.chars().take(SHOWN).collect();
    refuse(view.position(id), PickleFault::Dtype { dtype })
}

/// A refused dtype is shown up to this many characters: longer than any known one.
const SHOWN: usize = 40;
