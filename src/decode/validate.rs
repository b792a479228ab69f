//! Looks at the bytes of columns: what Arrow takes on trust, checked in one pass each.
//!
//! Each check first asks, in a loop that the compiler can vectorize, whether all is well;
//! only if not does a second pass find the row to name.

use arrow_array::types::{ArrowDictionaryKeyType, RunEndIndexType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, OffsetSizeTrait, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, OffsetBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::UnionFields;

use super::trusted::index;
use crate::error::{ErrorKind, Result};

/// The bitmap has exactly this many nulls.
pub(super) fn null_count(bits: &BooleanBuffer, declared: usize, column: &str) -> Result<()> {
    let found = bits.len().saturating_sub(bits.count_set_bits());
    if found == declared {
        return Ok(());
    }
    let declared = i64::try_from(declared).unwrap_or(i64::MAX);
    Err(ErrorKind::NullCount { column: column.to_owned(), declared, found: found as u64 }.into())
}

/// Offsets ascend from 0 or more to at most `limit`.
pub(super) fn offsets<O: OffsetSizeTrait>(offsets: &[O], limit: usize, column: &str) -> Result<()> {
    let ascends = offsets.iter().zip(offsets.iter().skip(1)).fold(true, |all, (a, b)| all & (a <= b));
    let starts = offsets.first().is_some_and(|first| *first >= O::default());
    if ascends && starts {
        return last_offset(offsets, limit, column);
    }
    let mut pairs = offsets.iter().zip(offsets.iter().skip(1));
    let row = if starts { pairs.position(|(a, b)| a > b).unwrap_or_default() } else { 0 };
    Err(bad_offsets(offsets, row, limit, column))
}

/// Offsets and sizes of a list-view: each row inside a child of that length.
pub(super) fn list_views<O: OffsetSizeTrait>(
    offsets: &[O],
    sizes: &[O],
    limit: usize,
    column: &str,
) -> Result<()> {
    let outside = offsets.iter().zip(sizes).position(|(offset, size)| {
        let end = index(*offset).checked_add(index(*size));
        end.is_none_or(|end| end > limit)
    });
    let Some(row) = outside else { return Ok(()) };
    let at = |numbers: &[O]| numbers.get(row).and_then(|n| n.to_i64()).unwrap_or(-1);
    let start = at(offsets);
    let end = start.saturating_add(at(sizes));
    Err(ErrorKind::Offsets { column: column.to_owned(), row, start, end, limit: limit as u64 }.into())
}

/// The last offset is at most `limit`.
pub(super) fn last_offset<O: OffsetSizeTrait>(offsets: &[O], limit: usize, column: &str) -> Result<()> {
    match offsets.last() {
        Some(last) if index(*last) <= limit => Ok(()),
        _ => {
            let inside = offsets.iter().take_while(|offset| index(**offset) <= limit).count();
            Err(bad_offsets(offsets, inside.saturating_sub(1), limit, column))
        }
    }
}

/// Text between every two offsets. The offsets lie inside the values.
pub(super) fn utf8<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    values: &Buffer,
    column: &str,
) -> Result<()> {
    let (first, last) = (index(offsets.first()), index(offsets.last()));
    let text = values.get(first..last).unwrap_or_default();
    // In ASCII every cut is between characters.
    if text.is_ascii() {
        return Ok(());
    }
    let is_start = |offset: &O| is_char_start(values, index(*offset), last);
    if simdutf8::basic::from_utf8(text).is_ok() && offsets.iter().all(is_start) {
        return Ok(());
    }
    let rows = offsets.iter().zip(offsets.iter().skip(1));
    let row = |(start, end): (&O, &O)| values.get(index(*start)..index(*end)).unwrap_or_default();
    let row = rows.map(row).position(|text| simdutf8::basic::from_utf8(text).is_err());
    match row {
        Some(row) => Err(ErrorKind::Utf8 { column: column.to_owned(), row }.into()),
        // Characters that were cut can only make up text together if some row is not.
        None => Ok(()),
    }
}

/// Every view is inline with zeros behind it, or lies in its buffer with its prefix.
pub(super) fn views(views: &[u128], buffers: &[Buffer], is_utf8: bool, column: &str) -> Result<()> {
    // Text in a buffer of text is text if it starts and ends between characters.
    let buffers: Vec<(&[u8], bool)> = buffers
        .iter()
        .map(|buffer| (buffer.as_slice(), is_utf8 && simdutf8::basic::from_utf8(buffer).is_ok()))
        .collect();
    let mut unsure = Vec::new();
    let mut is_sound = |row: usize, view: u128| {
        let ByteView { length, buffer_index, offset, .. } = ByteView::from(view);
        if length <= MAX_INLINE_VIEW_LEN {
            // Zeros behind the text. A shift by all of its 12 bytes leaves none of it.
            return inline(view).checked_shr(length.saturating_mul(8)) == Some(0);
        }
        let place = || {
            let &(buffer, is_text) = buffers.get(index(buffer_index))?;
            let (start, end) = (index(offset), index(offset).checked_add(index(length))?);
            Some((start, end, buffer, is_text, buffer.get(start..end)?))
        };
        let Some((start, end, buffer, is_text, text)) = place() else { return false };
        if text.first_chunk() != inline(view).to_le_bytes().first_chunk::<4>() {
            return false;
        }
        if is_text {
            let is_start = |place| is_char_start(buffer, place, buffer.len());
            return is_start(start) && is_start(end);
        }
        if is_utf8 {
            unsure.push(Shown { buffer: index(buffer_index), start, end, row });
        }
        true
    };
    let bad = views.iter().enumerate().position(|(row, view)| !is_sound(row, *view));
    let bad = bad.or_else(|| if is_utf8 { no_inline_text(views) } else { None });
    match bad.or_else(|| no_text(unsure, &buffers)) {
        None => Ok(()),
        Some(row) => Err(ErrorKind::View { column: column.to_owned(), row }.into()),
    }
}

/// The bytes of a view behind its length: if it is inline, its text and zeros.
fn inline(view: u128) -> u128 {
    view >> 32
}

/// The first row whose view is inline and no text.
///
/// Many are looked at at once: four zeros behind each text keep it apart from the next.
fn no_inline_text(views: &[u128]) -> Option<usize> {
    /// So many texts fit well into the fastest cache.
    const ROWS: usize = 256;
    let text = |view: &u128| {
        let is_inline = ByteView::from(*view).length <= MAX_INLINE_VIEW_LEN;
        if is_inline { inline(*view).to_le_bytes() } else { [0; 16] }
    };
    let mut texts = [[0; 16]; ROWS];
    for (chunk, views) in views.chunks(ROWS).enumerate() {
        // What is left of the chunk before, behind a short last one, is text.
        texts.iter_mut().zip(views).for_each(|(slot, view)| *slot = text(view));
        if simdutf8::basic::from_utf8(texts.as_flattened()).is_err() {
            let bad = views.iter().position(|view| std::str::from_utf8(&text(view)).is_err());
            return Some(chunk.saturating_mul(ROWS).saturating_add(bad.unwrap_or_default()));
        }
    }
    None
}

/// Bytes of a buffer that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    buffer: usize,
    start: usize,
    end: usize,
    row: usize,
}

/// The first row that is not text, of views into buffers that are not text as a whole.
///
/// Views may overlap, all of them all of a buffer. What several show is looked at once: where
/// ranges overlap, they are text if their union is, and each of them starts and ends between
/// characters.
fn no_text(mut shown: Vec<Shown>, buffers: &[(&[u8], bool)]) -> Option<usize> {
    shown.sort_unstable();
    let mut first_bad = None;
    let mut rest = shown.as_slice();
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let overlaps = |view: &&Shown| {
            let overlaps = view.buffer == first.buffer && view.start < end;
            end = if overlaps { end.max(view.end) } else { end };
            overlaps
        };
        let count = rest.iter().take_while(overlaps).count();
        let (group, behind) = rest.split_at(count);
        rest = behind;
        let union = buffers.get(first.buffer).and_then(|(buffer, _)| buffer.get(first.start..end));
        let union = union.unwrap_or_default();
        let bad_at = match simdutf8::basic::from_utf8(union) {
            Ok(_) => None,
            // Whoever shows the place where it stops to be text is not text.
            Err(_) => std::str::from_utf8(union).err().map(|error| error.valid_up_to()),
        };
        let is_bad = |view: &&Shown| {
            let (from, to) = (view.start.saturating_sub(first.start), view.end.saturating_sub(first.start));
            match bad_at {
                Some(place) => (from..to).contains(&place),
                None => !is_char_start(union, from, union.len()) || !is_char_start(union, to, union.len()),
            }
        };
        let bad = group.iter().filter(is_bad).map(|view| view.row).min();
        first_bad = [first_bad, bad].into_iter().flatten().min();
    }
    first_bad
}

/// Every key that is not null has a value.
pub(super) fn keys<K: ArrowDictionaryKeyType>(
    keys: &PrimitiveArray<K>,
    values: usize,
    column: &str,
) -> Result<()> {
    // As u64 a negative key is larger than any length.
    let exists = |key: &K::Native| index(*key) < values;
    if keys.values().iter().fold(true, |all, key| all & exists(key)) {
        return Ok(());
    }
    let mut rows = keys.values().iter().enumerate();
    match rows.find(|(row, key)| !exists(key) && keys.is_valid(*row)) {
        None => Ok(()),
        Some((row, key)) => Err(ErrorKind::DictionaryKey {
            column: column.to_owned(),
            row,
            key: key.to_i64().map(i128::from).unwrap_or(i128::MAX),
            values,
        }
        .into()),
    }
}

/// Every type id has a field, and every offset a row of its child.
pub(super) fn union(
    fields: &UnionFields,
    type_ids: &[i8],
    offsets: Option<&[i32]>,
    children: &[ArrayRef],
    column: &str,
) -> Result<()> {
    // By type id, how many rows its child has; 0 for ids that do not exist. In a sparse
    // union the rows are as many as type ids, so that offset 0 stands for any of them.
    let mut rows = [0usize; 128];
    for ((id, _), child) in fields.iter().zip(children) {
        if let Some(rows) = rows.get_mut(index(id)) {
            *rows = child.len();
        }
    }
    let exists = |id: i8, offset: i32| rows.get(index(id)).is_some_and(|rows| index(offset) < *rows);
    let zeros = std::iter::repeat(&0);
    let mut slots = type_ids.iter().zip(offsets.unwrap_or_default().iter().chain(zeros));
    match slots.clone().position(|(id, offset)| !exists(*id, *offset)) {
        None => Ok(()),
        Some(row) => {
            let (type_id, offset) = slots.nth(row).map(|(id, offset)| (*id, *offset)).unwrap_or_default();
            Err(ErrorKind::Union { column: column.to_owned(), row, type_id, offset }.into())
        }
    }
}

/// Run ends ascend from 1 or more, up to the rows.
pub(super) fn run_ends<R: RunEndIndexType>(ends: &[R::Native], rows: usize, column: &str) -> Result<()> {
    let zero = R::Native::default();
    let before = std::iter::once(&zero).chain(ends);
    match ends.iter().zip(before).position(|(end, before)| end <= before) {
        None => last_run_end::<R>(ends, rows, column),
        Some(run) => Err(bad_run::<R>(ends, run, column)),
    }
}

/// The last run ends at the last row, or behind it.
pub(super) fn last_run_end<R: RunEndIndexType>(ends: &[R::Native], rows: usize, column: &str) -> Result<()> {
    let last = ends.last().map(|end| index(*end)).unwrap_or_default();
    if last != usize::MAX && last >= rows {
        return Ok(());
    }
    Err(bad_run::<R>(ends, ends.len().saturating_sub(1), column))
}

/// Whether a character, or the end, is at this place of some text.
fn is_char_start(text: &[u8], place: usize, end: usize) -> bool {
    // 10xxxxxx continues a character.
    place == end || text.get(place).is_some_and(|byte| byte & 0xc0 != 0x80)
}

#[cold]
fn bad_offsets<O: OffsetSizeTrait>(offsets: &[O], row: usize, limit: usize, column: &str) -> crate::Error {
    let at = |row: usize| offsets.get(row).and_then(|offset| offset.to_i64()).unwrap_or(-1);
    ErrorKind::Offsets {
        column: column.to_owned(),
        row,
        start: at(row),
        end: at(row.saturating_add(1)),
        limit: limit as u64,
    }
    .into()
}

#[cold]
fn bad_run<R: ArrowPrimitiveType>(ends: &[R::Native], run: usize, column: &str) -> crate::Error {
    let end = ends.get(run).and_then(|end| end.to_i64()).unwrap_or_default();
    ErrorKind::RunEnds { column: column.to_owned(), run, end }.into()
}
