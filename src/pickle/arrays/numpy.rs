//! numpy's arrays: what they are made of, with shapes and buffers checked.

use arrow_buffer::Buffer;

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use super::dtype::{Dtype, Sort};
use super::scalars::Scalar;
use crate::error::Result;

/// Dimensions of an array, at most: the limit of numpy 1.
const MAX_DIMENSIONS: usize = 32;

/// An array of one dimension.
#[derive(Debug, Clone)]
pub(in crate::pickle) struct Numbers {
    pub(in crate::pickle) dtype: Dtype,
    pub(in crate::pickle) length: usize,
    /// At least as long as the values need.
    pub(in crate::pickle) data: Buffer,
    /// Where the call is.
    pub(in crate::pickle) position: u64,
}

/// What a numpy array is.
#[derive(Debug, Clone)]
pub(in crate::pickle) enum Numpy {
    Numbers(Numbers),
    /// One of several dimensions, or of none.
    Dimensions(Vec<usize>),
    /// The list of the Python objects in it.
    Objects(Id),
    /// Some of the objects of another array.
    Taken(Id, Numbers),
    /// Text, and what it is split at.
    Split(Id),
}

impl Numpy {
    /// The array that a call makes; nothing if it makes something else.
    pub(in crate::pickle) fn of(view: View<'_>, id: Id) -> Result<Option<Self>> {
        let Some(call) = Arguments::of(view, id) else { return Ok(None) };
        Ok(Some(match call.name {
            Name::FromBuffer => Numpy::Numbers(from_buffer(call)?),
            Name::NpFromBuffer => reshaped(call)?,
            Name::NdArray => nd_array(call)?,
            Name::Empty => {
                empty(call)?;
                with_state(call, call.with_state(2)?)?
            }
            Name::Reconstruct => {
                reconstruct(call)?;
                with_state(call, call.with_state(3)?)?
            }
            Name::NpArray => of_list(call)?,
            Name::Take => take(call)?,
            _ => return Ok(None),
        }))
    }

    /// The numbers that a call makes; an error if it makes something else.
    pub(in crate::pickle) fn numbers(call: Arguments<'_>, index: usize) -> Result<Numbers> {
        match Self::of(call.view, call.get(index)?)? {
            Some(Numpy::Numbers(numbers)) => Ok(numbers),
            _ => call.wrong(index),
        }
    }
}

impl Numbers {
    /// Refuses other numbers than integers.
    pub(in crate::pickle) fn integers(self) -> Result<Self> {
        match self.dtype {
            Dtype { sort: Sort::Int | Sort::UInt, is_swapped: false, .. } => Ok(self),
            _ => refuse(self.position, PickleFault::Dtype { dtype: "no integers".to_owned() }),
        }
    }
}

/// `numpy.frombuffer(buffer, dtype, count)`.
fn from_buffer(call: Arguments<'_>) -> Result<Numbers> {
    call.exactly(3)?;
    let (data, length) = (call.buffer(0)?, call.count(2)?);
    let dtype = plain(call, Dtype::of(call.view, call.get(1)?)?)?;
    check_length(call, dtype, length, data.len())?;
    Ok(Numbers { dtype, length, data, position: call.position() })
}

/// `numpy._core.numeric._frombuffer(buffer, dtype, shape, order)`.
fn reshaped(call: Arguments<'_>) -> Result<Numpy> {
    call.exactly(4)?;
    let data = call.buffer(0)?;
    let dtype = plain(call, Dtype::of(call.view, call.get(1)?)?)?;
    let shape = shape(call, call.get(2)?)?;
    if !matches!(call.text(3)?, "C" | "F") {
        return call.wrong(3);
    }
    over_bytes(call, dtype, &shape, data)
}

/// `numpy.ndarray(shape, dtype, buffer)`, or the empty one of objects, which a state fills.
fn nd_array(call: Arguments<'_>) -> Result<Numpy> {
    let dtype = Dtype::of(call.view, call.get(1)?)?;
    let shape = shape(call, call.get(0)?)?;
    if call.count == 2 {
        if !(shape.as_slice() == [0] && dtype.sort == Sort::Object) {
            return call.refuse(2, "missing");
        }
        return with_state(call, call.with_state(2)?);
    }
    call.exactly(3)?;
    let dtype = plain(call, dtype)?;
    over_bytes(call, dtype, &shape, call.buffer(2)?)
}

/// `numpy.empty(0, 'O')`.
fn empty(call: Arguments<'_>) -> Result<()> {
    if call.int(0)? != 0 {
        return call.wrong(0);
    }
    match Dtype::of(call.view, call.get(1)?)?.sort {
        Sort::Object => Ok(()),
        _ => call.wrong(1),
    }
}

/// `numpy._core.multiarray._reconstruct(numpy.ndarray, (0,), b'b')`.
fn reconstruct(call: Arguments<'_>) -> Result<()> {
    if call.value(0)? != Value::Global(Name::NdArray) {
        return call.wrong(0);
    }
    if shape(call, call.get(1)?)?.as_slice() != [0] {
        return call.wrong(1);
    }
    match call.value(2)? {
        Value::Bytes(code) if code.as_slice() == b"b" => Ok(()),
        _ => call.wrong(2),
    }
}

/// The state of an array: `(1, shape, dtype, is_fortran, bytes or list)`. Source: numpy,
/// `numpy/_core/src/multiarray/methods.c` (`array_setstate`).
fn with_state(call: Arguments<'_>, state: Id) -> Result<Numpy> {
    let view = call.view;
    let parts: Vec<Id> = view.tuple(state).into_iter().flatten().collect();
    let [version, dimensions, dtype, order, data] = *parts.as_slice() else {
        return call.wrong(call.count);
    };
    if view.int(version) != Some(1) || !matches!(view.value(order), Value::Bool(_)) {
        return call.wrong(call.count);
    }
    let (shape, dtype) = (shape(call, dimensions)?, Dtype::of(view, dtype)?);
    match (view.value(data), dtype.sort) {
        (Value::List, Sort::Object) => {
            let found = view.graph.children(data).len();
            let expected = product(call, &shape, 1)?;
            if found != expected {
                return refuse(call.position(), PickleFault::Length { expected, found });
            }
            if shape.len() == 1 { Ok(Numpy::Objects(data)) } else { Ok(Numpy::Dimensions(shape)) }
        }
        (Value::Bytes(data), _) => over_bytes(call, plain(call, dtype)?, &shape, data),
        _ => call.wrong(call.count),
    }
}

/// `numpy.array(list, 'O')`, of a list or of text that is split.
fn of_list(call: Arguments<'_>) -> Result<Numpy> {
    call.exactly(2)?;
    if Dtype::of(call.view, call.get(1)?)?.sort != Sort::Object {
        return call.wrong(1);
    }
    let list = call.get(0)?;
    match call.view.value(list) {
        // Of lists, arrays or buffers, the array would have several dimensions, and a copy of
        // each.
        Value::List => {
            for id in call.view.graph.children(list) {
                if !Scalar::is_one(call.view, id)? {
                    return call.wrong(0);
                }
            }
            Ok(Numpy::Objects(list))
        }
        Value::Call(Name::StrSplit) => {
            split(call.call(0, Name::StrSplit)?)?;
            Ok(Numpy::Split(list))
        }
        _ => call.wrong(0),
    }
}

/// `str.split(text, separator)`.
pub(in crate::pickle) fn split(call: Arguments<'_>) -> Result<(&str, &str)> {
    call.exactly(2)?;
    let (text, separator) = (call.text(0)?, call.text(1)?);
    if separator.is_empty() { call.wrong(1) } else { Ok((text, separator)) }
}

/// `numpy.take(objects, indices)`.
fn take(call: Arguments<'_>) -> Result<Numpy> {
    call.exactly(2)?;
    let indices = Numpy::numbers(call, 1)?.integers()?;
    match Numpy::of(call.view, call.get(0)?)? {
        Some(Numpy::Objects(list)) => Ok(Numpy::Taken(list, indices)),
        _ => call.wrong(0),
    }
}

fn over_bytes(call: Arguments<'_>, dtype: Dtype, shape: &[usize], data: Buffer) -> Result<Numpy> {
    let length = product(call, shape, dtype.width)?;
    check_length(call, dtype, length, data.len())?;
    match shape {
        [_] => Ok(Numpy::Numbers(Numbers { dtype, length, data, position: call.position() })),
        _ => Ok(Numpy::Dimensions(shape.to_vec())),
    }
}

/// Refuses objects where there are bytes: they would be taken for pointers.
fn plain(call: Arguments<'_>, dtype: Dtype) -> Result<Dtype> {
    match dtype.sort {
        Sort::Object => refuse(call.position(), PickleFault::Dtype { dtype: "O over bytes".to_owned() }),
        _ => Ok(dtype),
    }
}

fn shape(call: Arguments<'_>, id: Id) -> Result<Vec<usize>> {
    let view = call.view;
    if view.value(id) != Value::Tuple {
        let found = view.shown(id);
        return refuse(call.position(), PickleFault::Argument { call: call.name.text(), argument: 0, found });
    }
    let dimensions = view.graph.children(id);
    if dimensions.len() > MAX_DIMENSIONS {
        let number = i64::try_from(dimensions.len()).unwrap_or(i64::MAX);
        return refuse(call.position(), PickleFault::Shape { number });
    }
    let dimension = |id| match view.int(id).map(|number| (number, usize::try_from(number))) {
        Some((_, Ok(number))) => Ok(number),
        Some((number, Err(_))) => refuse(call.position(), PickleFault::Shape { number }),
        None => call.wrong(0),
    };
    dimensions.map(dimension).collect()
}

/// The number of values; refused if they, or all but the empty dimensions, cannot be counted
/// in bytes.
fn product(call: Arguments<'_>, shape: &[usize], width: usize) -> Result<usize> {
    let mut bytes = width.max(1);
    for number in shape {
        match bytes.checked_mul((*number).max(1)).filter(|bytes| isize::try_from(*bytes).is_ok()) {
            Some(product) => bytes = product,
            None => {
                let number = i64::try_from(*number).unwrap_or(i64::MAX);
                return refuse(call.position(), PickleFault::Shape { number });
            }
        }
    }
    Ok(shape.iter().fold(1, |product: usize, number| product.saturating_mul(*number)))
}

fn check_length(call: Arguments<'_>, dtype: Dtype, length: usize, found: usize) -> Result<()> {
    let needed = (length as u64).saturating_mul(dtype.width as u64);
    if needed > found as u64 {
        let fault = PickleFault::BufferLength { needed, found: found as u64 };
        return refuse(call.position(), fault);
    }
    Ok(())
}
