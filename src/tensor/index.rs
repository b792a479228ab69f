//! The index of a sparse tensor: its numbers, each of which is checked.

use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType};

use super::dense::Tensor;
use super::element::Element;
use super::sparse::SparseIndex;
use crate::error::{Error, ErrorKind, Part, Result};
use crate::wire::tensor::Axis;

/// What a look at all indices has shown.
pub(super) struct Checked {
    /// Whether the coordinates ascend in row-major order, each once.
    pub(super) is_canonical: bool,
}

/// Checks an index against the shape of its tensor and the number of its values.
pub(super) fn check(shape: &[usize], index: &SparseIndex, values: usize) -> Result<Checked> {
    match index {
        SparseIndex::Coo { indices } => {
            return check_coordinates(shape, indices, values);
        }
        SparseIndex::Csr { indptr, indices } => {
            check_compressed(shape, Axis::Row, indptr, indices, values)?;
        }
        SparseIndex::Csc { indptr, indices } => {
            check_compressed(shape, Axis::Column, indptr, indices, values)?;
        }
        SparseIndex::Csf { indptr, indices, axis_order } => {
            check_tree(shape, indptr, indices, axis_order, values)?;
        }
    }
    Ok(Checked { is_canonical: false })
}

/// A buffer as so many integers.
pub(super) fn vector(data_type: DataType, count: usize, buffer: Buffer, part: Part) -> Result<Tensor> {
    Tensor::row_major(Element::new(data_type)?, vec![count], buffer, part)
}

/// A buffer as a matrix of integers, which has at least as many of them.
pub(super) fn matrix(
    data_type: DataType,
    shape: [usize; 2],
    strides: Option<Vec<isize>>,
    buffer: Buffer,
) -> Result<Tensor> {
    // Strides that lead to a number twice could make any number of indices of a few bytes.
    let dense =
        Tensor::row_major(Element::new(data_type.clone())?, shape.to_vec(), buffer.clone(), Part::Indices)?;
    match strides {
        None => Ok(dense),
        strides => Tensor::try_new(data_type, shape.to_vec(), strides, buffer),
    }
}

/// The size of the axis along which a matrix is compressed.
pub(super) fn compressed_size(shape: &[usize], axis: Axis) -> Result<usize> {
    Ok(match (matrix_shape(shape)?, axis) {
        ([rows, _], Axis::Row) => rows,
        ([_, columns], Axis::Column) => columns,
    })
}

/// The axes of a message's tree as numbers of dimensions.
pub(super) fn axis_order(numbers: &[i32]) -> Result<Vec<usize>> {
    let axes = numbers.iter().map(|number| usize::try_from(*number).ok()).collect::<Option<_>>();
    axes.ok_or_else(|| bad_axes(numbers.iter().map(|number| i64::from(*number)).collect()))
}

/// The other way round.
pub(super) fn axis_numbers(axes: &[usize]) -> Result<Vec<i32>> {
    let numbers = axes.iter().map(|axis| i32::try_from(*axis).ok()).collect::<Option<_>>();
    numbers.ok_or_else(|| bad_axes(shown(axes)))
}

/// How many nodes each level of a tree has, of which a message says only how long the buffers are.
///
/// Some writers (Arrow C++) count padding up to a multiple of 8 as a part of a buffer. The last
/// level has a node per value, and the pointers of every other level end with the number of nodes
/// of the next.
pub(super) fn level_counts(
    pointer_type: &DataType,
    pointers: &[Buffer],
    index_type: &DataType,
    indices: &[Buffer],
    values: usize,
) -> Result<Vec<usize>> {
    const PADDING: usize = 8;
    let (pointer, index) = (Element::new(pointer_type.clone())?, Element::new(index_type.clone())?);
    let mut counts = vec![values; indices.len()];
    let mut next = values;
    for ((pointers, indices), count) in
        pointers.iter().zip(indices).zip(&mut counts).rev().take(pointers.len())
    {
        let fits = |buffer: &Buffer, element: &Element| {
            buffer.len().checked_div(element.width()).unwrap_or_default()
        };
        let most = fits(indices, &index).min(fits(pointers, &pointer).saturating_sub(1));
        let least = most.saturating_sub(PADDING);
        let end_at = |count: &usize| {
            let start = count.saturating_mul(pointer.width());
            let end = pointers.get(start..).and_then(|bytes| number(pointer_type, bytes));
            end == i128::try_from(next).ok()
        };
        // What does not end there is told when the pointers are checked.
        *count = (least..=most).rev().find(end_at).unwrap_or(most);
        next = *count;
    }
    Ok(counts)
}

fn check_coordinates(shape: &[usize], indices: &Tensor, values: usize) -> Result<Checked> {
    check_integers(indices)?;
    let [count, dimensions] = matrix_shape(indices.shape())?;
    expect(Part::Indices, values, count)?;
    expect(Part::Shape, dimensions, shape.len())?;
    let mut is_canonical = true;
    let mut before: Vec<i128> = Vec::new();
    let mut current = Vec::with_capacity(dimensions);
    for row in 0..count {
        current.clear();
        for (axis, limit) in shape.iter().enumerate() {
            let index = at(indices, &[row, axis]);
            if !is_inside(index, *limit) {
                let place = row.saturating_mul(dimensions).saturating_add(axis);
                return Err(ErrorKind::TensorIndex { place, index, limit: *limit }.into());
            }
            current.push(index);
        }
        is_canonical &= row == 0 || before < current;
        std::mem::swap(&mut before, &mut current);
    }
    Ok(Checked { is_canonical })
}

fn check_compressed(
    shape: &[usize],
    axis: Axis,
    indptr: &Tensor,
    indices: &Tensor,
    values: usize,
) -> Result<()> {
    let [rows, columns] = matrix_shape(shape)?;
    let (size, limit) = match axis {
        Axis::Row => (rows, columns),
        Axis::Column => (columns, rows),
    };
    expect(Part::Indices, values, length(indices)?)?;
    expect(Part::Pointers, size.saturating_add(1), length(indptr)?)?;
    check_pointers(indptr, values)?;
    check_indices(indices, limit)
}

fn check_tree(
    shape: &[usize],
    indptr: &[Tensor],
    indices: &[Tensor],
    axis_order: &[usize],
    values: usize,
) -> Result<()> {
    let mut sorted = axis_order.to_vec();
    sorted.sort_unstable();
    if axis_order.is_empty() || !sorted.iter().copied().eq(0..shape.len()) {
        return Err(bad_axes(shown(axis_order)));
    }
    expect(Part::Indices, shape.len(), indices.len())?;
    expect(Part::Pointers, shape.len().saturating_sub(1), indptr.len())?;
    // The message has one type for all pointers, and one for all indices.
    for tensors in [indptr, indices] {
        if let [first, rest @ ..] = tensors
            && let Some(other) = rest.iter().find(|tensor| tensor.data_type() != first.data_type())
        {
            let (expected, found) = (first.data_type().clone(), other.data_type().clone());
            return Err(ErrorKind::TensorLevels { expected, found }.into());
        }
    }
    let counts = indices.iter().map(length).collect::<Result<Vec<_>>>()?;
    for (pointers, count) in indptr.iter().zip(counts.windows(2)) {
        let [nodes, children] = count else { continue };
        expect(Part::Pointers, nodes.saturating_add(1), length(pointers)?)?;
        check_pointers(pointers, *children)?;
    }
    expect(Part::Indices, values, counts.last().copied().unwrap_or_default())?;
    for (tensor, axis) in indices.iter().zip(axis_order) {
        check_indices(tensor, shape.get(*axis).copied().unwrap_or_default())?;
    }
    Ok(())
}

/// Checks that pointers ascend from 0 to this number.
fn check_pointers(pointers: &Tensor, limit: usize) -> Result<()> {
    let count = length(pointers)?;
    let mut before = 0;
    for place in 0..count {
        let pointer = at(pointers, &[place]);
        let is_sound = match place.checked_add(1) {
            _ if pointer < before => false,
            _ if place == 0 && pointer != 0 => false,
            Some(next) if next == count => i128::try_from(limit).ok() == Some(pointer),
            _ => true,
        };
        if !is_sound {
            return Err(ErrorKind::TensorPointers { place, pointer, before, limit }.into());
        }
        before = pointer;
    }
    Ok(())
}

fn check_indices(indices: &Tensor, limit: usize) -> Result<()> {
    for place in 0..length(indices)? {
        let index = at(indices, &[place]);
        if !is_inside(index, limit) {
            return Err(ErrorKind::TensorIndex { place, index, limit }.into());
        }
    }
    Ok(())
}

fn is_inside(index: i128, limit: usize) -> bool {
    usize::try_from(index).is_ok_and(|index| index < limit)
}

fn check_integers(tensor: &Tensor) -> Result<()> {
    if tensor.data_type().is_integer() {
        return Ok(());
    }
    let source = ArrowError::SchemaError(format!("{} is no type of indices", tensor.data_type()));
    Err(ErrorKind::TensorType { source }.into())
}

/// The length of integers in one dimension.
fn length(tensor: &Tensor) -> Result<usize> {
    check_integers(tensor)?;
    match tensor.shape() {
        [length] => Ok(*length),
        shape => Err(ErrorKind::TensorCount { part: Part::Shape, expected: 1, found: shape.len() }.into()),
    }
}

fn matrix_shape(shape: &[usize]) -> Result<[usize; 2]> {
    let found = shape.len();
    Ok(shape.try_into().map_err(|_| ErrorKind::TensorCount { part: Part::Shape, expected: 2, found })?)
}

fn expect(part: Part, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(ErrorKind::TensorCount { part, expected, found }.into()) }
}

/// The integer at a place of a tensor, which lies inside its buffer.
fn at(tensor: &Tensor, place: &[usize]) -> i128 {
    let mut offset = tensor.offset();
    for (index, stride) in place.iter().zip(tensor.strides()) {
        offset = offset.wrapping_add(index.wrapping_mul(stride.cast_unsigned()));
    }
    tensor.data().get(offset..).and_then(|bytes| number(tensor.data_type(), bytes)).unwrap_or(-1)
}

/// The integer that starts there.
fn number(data_type: &DataType, bytes: &[u8]) -> Option<i128> {
    macro_rules! read {
        ($native:ty) => {
            <$native>::from_le_bytes(*bytes.first_chunk()?).into()
        };
    }
    Some(match data_type {
        DataType::Int8 => read!(i8),
        DataType::Int16 => read!(i16),
        DataType::Int32 => read!(i32),
        DataType::Int64 => read!(i64),
        DataType::UInt8 => read!(u8),
        DataType::UInt16 => read!(u16),
        DataType::UInt32 => read!(u32),
        DataType::UInt64 => read!(u64),
        _ => return None,
    })
}

fn bad_axes(order: Vec<i64>) -> Error {
    ErrorKind::TensorAxes { order }.into()
}

fn shown(axes: &[usize]) -> Vec<i64> {
    axes.iter().map(|axis| i64::try_from(*axis).unwrap_or(i64::MAX)).collect()
}
