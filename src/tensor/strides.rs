//! Where the elements of a tensor lie, by its shape and strides.

use crate::error::{ErrorKind, Result};

/// The bytes between the elements of a row-major tensor: the last axis is the closest. An axis of
/// no elements counts as one of one element.
pub(super) fn row_major(shape: &[usize], width: usize) -> Result<Vec<isize>> {
    let too_large = || ErrorKind::TensorSize { shape: shape.to_vec(), width };
    let mut stride = isize::try_from(width).map_err(|_| too_large())?;
    let mut strides = vec![0; shape.len()];
    for (slot, size) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        let size = isize::try_from(*size).map_err(|_| too_large())?;
        stride = stride.checked_mul(size.max(1)).ok_or_else(too_large)?;
    }
    Ok(strides)
}

/// Those of a column-major tensor: the first axis is the closest.
pub(super) fn column_major(shape: &[usize], width: usize) -> Result<Vec<isize>> {
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let mut strides = row_major(&reversed, width)?;
    strides.reverse();
    Ok(strides)
}

/// Bytes of all elements, one behind the other.
pub(super) fn num_bytes(shape: &[usize], width: usize) -> Result<usize> {
    let too_large = || ErrorKind::TensorSize { shape: shape.to_vec(), width };
    if shape.contains(&0) {
        return Ok(0);
    }
    let bytes = shape.iter().try_fold(width, |bytes, size| bytes.checked_mul(*size));
    Ok(bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(too_large)?)
}

/// The bytes that the elements lie in: from the first one of the lowest to behind the last one of
/// the highest, if that is inside a buffer of this length. Of no elements, nothing.
pub(super) fn extent(
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    width: usize,
    length: usize,
) -> Option<std::ops::Range<usize>> {
    if shape.contains(&0) {
        return Some(0..0);
    }
    // Sums of at most 2^63 products below 2^126 saturate only beyond what any buffer has.
    let (mut low, mut high) = (i128::try_from(offset).ok()?, i128::try_from(offset).ok()?);
    for (size, stride) in shape.iter().zip(strides) {
        let last =
            i128::try_from(*size).ok()?.saturating_sub(1).saturating_mul(i128::try_from(*stride).ok()?);
        low = low.saturating_add(last.min(0));
        high = high.saturating_add(last.max(0));
    }
    let end = usize::try_from(high).ok()?.checked_add(width)?;
    let start = usize::try_from(low).ok()?;
    (end <= length).then_some(start..end)
}

/// Whether the elements lie in row-major order, one behind the other.
pub(super) fn is_row_major(shape: &[usize], strides: &[isize], width: usize) -> bool {
    shape.contains(&0) || follows(shape.iter().zip(strides).rev(), width)
}

/// Whether the elements lie in column-major order, one behind the other.
pub(super) fn is_column_major(shape: &[usize], strides: &[isize], width: usize) -> bool {
    shape.contains(&0) || follows(shape.iter().zip(strides), width)
}

/// Whether the elements lie one behind the other, in whatever order of the axes.
pub(super) fn is_contiguous(shape: &[usize], strides: &[isize], width: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut axes: Vec<_> = shape.iter().zip(strides).collect();
    axes.sort_by_key(|(_, stride)| **stride);
    follows(axes.into_iter(), width)
}

/// Whether each of these axes, the closest first, goes on where the one before ends. An axis of
/// one element goes nowhere.
fn follows<'a>(axes: impl Iterator<Item = (&'a usize, &'a isize)>, width: usize) -> bool {
    let mut next = Some(width);
    for (size, stride) in axes.filter(|(size, _)| **size != 1) {
        if usize::try_from(*stride).ok() != next {
            return false;
        }
        next = next.and_then(|next| next.checked_mul(*size));
    }
    true
}

/// The bytes of elements that lie inside these bytes, in row-major order and one behind the other.
pub(super) fn gather(
    bytes: &[u8],
    shape: &[usize],
    strides: &[isize],
    offset: usize,
    width: usize,
) -> Result<Vec<u8>> {
    let total = num_bytes(shape, width)?;
    let mut out = Vec::new();
    out.try_reserve_exact(total).map_err(|_| ErrorKind::Memory { bytes: total as u64 })?;
    if total == 0 {
        return Ok(out);
    }
    // The last axes, as long as they are one behind the other, are runs of bytes.
    let mut axes: Vec<(usize, isize)> =
        shape.iter().copied().zip(strides.iter().copied()).filter(|(size, _)| *size != 1).collect();
    let mut run = width;
    while let Some((size, stride)) = axes.pop() {
        if usize::try_from(stride).ok() != Some(run) {
            axes.push((size, stride));
            break;
        }
        run = run.saturating_mul(size);
    }
    let (count, step) = axes.pop().unwrap_or((1, 0));
    match run {
        1 => copy_runs::<1>(bytes, &axes, offset, count, step, &mut out),
        2 => copy_runs::<2>(bytes, &axes, offset, count, step, &mut out),
        4 => copy_runs::<4>(bytes, &axes, offset, count, step, &mut out),
        8 => copy_runs::<8>(bytes, &axes, offset, count, step, &mut out),
        16 => copy_runs::<16>(bytes, &axes, offset, count, step, &mut out),
        run => walk(&axes, offset, |start| {
            each(start, count, step, |at| {
                out.extend_from_slice(bytes.get(at..at.saturating_add(run)).unwrap_or_default());
            });
        }),
    }
    Ok(out)
}

/// Copies runs of a few bytes, the number of which the compiler knows.
fn copy_runs<const N: usize>(
    bytes: &[u8],
    axes: &[(usize, isize)],
    offset: usize,
    count: usize,
    step: isize,
    out: &mut Vec<u8>,
) {
    walk(axes, offset, |start| {
        each(start, count, step, |at| {
            let run = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<N>());
            out.extend_from_slice(run.map_or(&[], |run| run.as_slice()));
        });
    });
}

fn each(start: usize, count: usize, step: isize, mut copy: impl FnMut(usize)) {
    let mut at = start;
    for _ in 0..count {
        copy(at);
        at = at.wrapping_add_signed(step);
    }
}

/// Goes to the first element of every row along the last axis, in row-major order of the others.
fn walk(axes: &[(usize, isize)], offset: usize, mut row: impl FnMut(usize)) {
    let mut places = vec![0usize; axes.len()];
    let mut at = offset;
    loop {
        row(at);
        let mut is_done = true;
        for (place, (size, stride)) in places.iter_mut().zip(axes).rev() {
            *place = place.saturating_add(1);
            at = at.wrapping_add_signed(*stride);
            if *place < *size {
                is_done = false;
                break;
            }
            // Back to the first one: so many steps were made.
            *place = 0;
            at = at.wrapping_sub(size.wrapping_mul(stride.cast_unsigned()));
        }
        if is_done {
            return;
        }
    }
}
