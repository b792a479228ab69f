//! What of a slice travels as it lies, and what is compacted.
//!
//! One rule decides for every layout: **a buffer travels as it lies while the bytes it
//! would carry for nothing are no more than the bytes that a copy would write.** So what is
//! sent is at most twice what the slice references, what is copied is at most that too,
//! and a slice of one row carries a handful of bytes beside the row.
//!
//! Tails are always cut off without a copy. At the front, offsets (views, list-views,
//! union offsets) may keep pointing past rows that nobody references, or be re-written
//! (`Rebased`). What is scattered may be gathered (`Compacted`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};

/// How offsets travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// As they are, with what lies before the first one.
    AsItLies,
    /// Re-written to start at 0.
    Rebased,
}

/// Decides whether to send `unused` bytes before the first row, or to re-write offsets of
/// `copied` bytes.
pub(super) fn front(unused: usize, copied: usize) -> Sent {
    if unused <= copied { Sent::AsItLies } else { Sent::Rebased }
}

/// About how many bytes an array's rows take on the wire, in a time that does not depend
/// on its rows; what only a scan could tell is taken as a whole.
pub(super) fn span_bytes(array: &dyn Array) -> usize {
    use DataType::*;
    let rows = array.len();
    let bitmap = array.nulls().map_or(0, |_| rows.div_ceil(8));
    let data_type = array.data_type();
    let values = match data_type {
        Boolean => rows.div_ceil(8),
        FixedSizeBinary(width) => rows * width.as_usize(),
        Utf8 => text_bytes(array.as_string::<i32>()),
        LargeUtf8 => text_bytes(array.as_string::<i64>()),
        Binary => text_bytes(array.as_binary::<i32>()),
        LargeBinary => text_bytes(array.as_binary::<i64>()),
        Utf8View => rows * 16 + view_bytes(array.as_string_view()),
        BinaryView => rows * 16 + view_bytes(array.as_binary_view()),
        List(_) => list_bytes(array.as_list::<i32>()),
        LargeList(_) => list_bytes(array.as_list::<i64>()),
        ListView(_) => rows * 8 + span_bytes(array.as_list_view::<i32>().values()),
        LargeListView(_) => rows * 16 + span_bytes(array.as_list_view::<i64>().values()),
        FixedSizeList(..) => span_bytes(array.as_fixed_size_list().values()),
        Struct(_) => array.as_struct().columns().iter().map(|c| span_bytes(c)).sum(),
        Map(..) => {
            let map = array.as_map();
            let (first, last) = ends(map.offsets());
            rows * 4 + span_bytes(&map.entries().slice(first, last - first))
        }
        Union(fields, _) => {
            let union = array.as_union();
            let children: usize = fields.iter().map(|(id, _)| span_bytes(union.child(id))).sum();
            rows * 5 + children
        }
        Dictionary(key, _) => rows * key.primitive_width().unwrap_or(8),
        RunEndEncoded(..) => super::walk::run_values(array).map_or(0, |v| v.len() * 8 + span_bytes(v)),
        _ => rows * data_type.primitive_width().unwrap_or(0),
    };
    bitmap + values
}

fn text_bytes<T: types::ByteArrayType>(array: &GenericByteArray<T>) -> usize {
    let (first, last) = ends(array.offsets());
    size_of_val(&array.offsets()[..]) + last - first
}

fn view_bytes<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    array.data_buffers().iter().map(Buffer::len).sum()
}

fn list_bytes<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> usize {
    let (first, last) = ends(array.offsets());
    size_of_val(&array.offsets()[..]) + span_bytes(array.values().slice(first, last - first).as_ref())
}

fn ends<O: OffsetSizeTrait>(offsets: &arrow_buffer::OffsetBuffer<O>) -> (usize, usize) {
    (offsets.first().as_usize(), offsets.last().as_usize())
}

/// How the views of an array and its data buffers travel.
pub(super) struct ViewPlan {
    how: Views,
    /// Bytes of views that are written anew.
    pub rebased_bytes: usize,
    /// Bytes of data that are gathered.
    pub compacted_bytes: usize,
}

enum Views {
    /// Views as they are; of each buffer only what lies before its last referenced byte.
    AsTheyLie(Vec<usize>),
    /// Views re-written for buffers that are cut at both ends.
    Cut(Vec<(usize, usize)>),
    /// Views re-written for one buffer of the referenced bytes.
    Gathered,
}

/// Decides for views. Reads them once, unless their buffers are smaller than they are.
pub(super) fn views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> ViewPlan {
    let buffers = array.data_buffers();
    let whole: usize = buffers.iter().map(Buffer::len).sum();
    let views_bytes = size_of_val(&array.views()[..]);
    if whole <= views_bytes {
        let ends = buffers.iter().map(Buffer::len).collect();
        return ViewPlan { how: Views::AsTheyLie(ends), rebased_bytes: 0, compacted_bytes: 0 };
    }
    let mut spans = vec![(usize::MAX, 0); buffers.len()];
    let mut referenced = 0;
    for view in array.views().iter().map(|view| ByteView::from(*view)) {
        if view.length > MAX_INLINE_VIEW_LEN {
            let (offset, length) = (view.offset as usize, view.length as usize);
            if let Some(span) = spans.get_mut(view.buffer_index as usize) {
                *span = (span.0.min(offset), span.1.max(offset + length));
            }
            referenced += length;
        }
    }
    let spans: Vec<_> = spans.into_iter().map(|(first, end)| (first.min(end), end)).collect();
    let unused_front: usize = spans.iter().map(|(first, _)| first).sum();
    let cut: usize = spans.iter().map(|(first, end)| end - first).sum();
    // Views that overlap reference more bytes than there are.
    let unused_inside = cut.saturating_sub(referenced);
    if unused_inside > referenced {
        ViewPlan { how: Views::Gathered, rebased_bytes: views_bytes, compacted_bytes: referenced }
    } else if front(unused_front, views_bytes) == Sent::Rebased {
        ViewPlan { how: Views::Cut(spans), rebased_bytes: views_bytes, compacted_bytes: 0 }
    } else {
        let ends = spans.into_iter().map(|(_, end)| end).collect();
        ViewPlan { how: Views::AsTheyLie(ends), rebased_bytes: 0, compacted_bytes: 0 }
    }
}

impl ViewPlan {
    /// The views and their data buffers. Buffers keep their number, empty ones included,
    /// unless everything is gathered into one.
    pub(super) fn apply<T: ByteViewType>(self, array: &GenericByteViewArray<T>) -> (Buffer, Vec<Buffer>) {
        let views = array.views();
        let buffers = array.data_buffers();
        match self.how {
            Views::AsTheyLie(ends) => {
                let cut = buffers.iter().zip(ends).map(|(buffer, end)| buffer.slice_with_length(0, end));
                (views.inner().clone(), cut.collect())
            }
            Views::Cut(spans) => {
                let rebase = |view: &u128| match ByteView::from(*view) {
                    long if long.length > MAX_INLINE_VIEW_LEN => {
                        let first = spans.get(long.buffer_index as usize).map_or(0, |span| span.0);
                        long.with_offset(long.offset - first as u32).as_u128()
                    }
                    _ => *view,
                };
                let rebased: Vec<u128> = views.iter().map(rebase).collect();
                let cut = buffers.iter().zip(&spans);
                let cut = cut.map(|(buffer, (first, end))| buffer.slice_with_length(*first, end - first));
                (Buffer::from_vec(rebased), cut.collect())
            }
            Views::Gathered => {
                // One buffer holds at most 2 GiB, so that its offsets fit an i32 too.
                let mut gathered: Vec<Vec<u8>> = vec![Vec::new()];
                let mut rebased = Vec::with_capacity(views.len());
                for view in views.iter() {
                    let mut long = ByteView::from(*view);
                    if long.length <= MAX_INLINE_VIEW_LEN {
                        rebased.push(*view);
                        continue;
                    }
                    let start = long.offset as usize;
                    let data = &buffers[long.buffer_index as usize][start..start + long.length as usize];
                    if gathered.last().map_or(0, Vec::len) + data.len() > i32::MAX as usize {
                        gathered.push(Vec::new());
                    }
                    let index = gathered.len() - 1;
                    long.buffer_index = index as u32;
                    long.offset = gathered[index].len() as u32;
                    gathered[index].extend_from_slice(data);
                    rebased.push(long.as_u128());
                }
                let gathered = gathered.into_iter().map(Buffer::from_vec).collect();
                (Buffer::from_vec(rebased), gathered)
            }
        }
    }
}

/// How the offsets and the child of a list-view travel.
pub(super) struct ListViewPlan {
    how: Rows,
    /// Bytes of offsets that are written anew.
    pub rebased_bytes: usize,
    /// Bytes of child rows that are gathered.
    pub compacted_bytes: usize,
}

/// Which rows of a child travel.
#[derive(Debug, Clone, Copy)]
enum Rows {
    /// Those before this one; offsets stay.
    Before(usize),
    /// Those of this range; offsets are re-written.
    Range(usize, usize),
    /// The referenced ones, in order; offsets are re-written.
    Gathered,
}

/// Decides for a list-view. Reads its offsets and sizes once, unless its child is smaller
/// than they are.
pub(super) fn list_view<O: OffsetSizeTrait>(array: &GenericListViewArray<O>) -> ListViewPlan {
    let child = array.values();
    let offset_bytes = size_of_val(&array.offsets()[..]);
    if span_bytes(child) <= 2 * offset_bytes {
        return ListViewPlan { how: Rows::Before(child.len()), rebased_bytes: 0, compacted_bytes: 0 };
    }
    let (mut first, mut end, mut referenced) = (usize::MAX, 0, 0usize);
    for (offset, size) in array.offsets().iter().zip(array.sizes().iter()) {
        let (offset, size) = (offset.as_usize(), size.as_usize());
        if size > 0 {
            first = first.min(offset);
            end = end.max(offset + size);
            referenced = referenced.saturating_add(size);
        }
    }
    first = first.min(end);
    // An empty view may point anywhere up to the child's end; if rows are cut off in
    // front or behind, its offset is re-written too.
    let stray = |cut: usize| array.offsets().iter().any(|offset| offset.as_usize() > cut);
    let unused = span_bytes(child.slice(0, first).as_ref());
    let range = child.slice(first, end - first);
    if (end - first).saturating_sub(referenced) > referenced {
        let share = (referenced as u128 * span_bytes(range.as_ref()) as u128) / (end - first) as u128;
        ListViewPlan { how: Rows::Gathered, rebased_bytes: offset_bytes, compacted_bytes: share as usize }
    } else if front(unused, offset_bytes) == Sent::Rebased || stray(end) {
        ListViewPlan { how: Rows::Range(first, end), rebased_bytes: offset_bytes, compacted_bytes: 0 }
    } else {
        ListViewPlan { how: Rows::Before(end), rebased_bytes: 0, compacted_bytes: 0 }
    }
}

impl ListViewPlan {
    /// The offsets, and the child they point into.
    pub(super) fn apply<O: OffsetSizeTrait>(
        self,
        array: &GenericListViewArray<O>,
    ) -> Result<(Buffer, ArrayRef), ArrowError> {
        let child = array.values();
        match self.how {
            Rows::Before(end) => Ok((array.offsets().inner().clone(), child.slice(0, end))),
            Rows::Range(first, end) => {
                let rebase = |(offset, size): (&O, &O)| {
                    if *size == O::default() { O::default() } else { *offset - O::usize_as(first) }
                };
                let rows = array.offsets().iter().zip(array.sizes().iter());
                let offsets: Vec<O> = rows.map(rebase).collect();
                Ok((Buffer::from_vec(offsets), child.slice(first, end - first)))
            }
            Rows::Gathered => {
                let data = child.to_data();
                let mut gathered = MutableArrayData::new(vec![&data], false, 0);
                let mut offsets: Vec<O> = Vec::with_capacity(array.len());
                for (offset, size) in array.offsets().iter().zip(array.sizes().iter()) {
                    let (offset, size) = (offset.as_usize(), size.as_usize());
                    offsets.push(O::usize_as(gathered.len()));
                    gathered.try_extend(0, offset, offset + size)?;
                }
                Ok((Buffer::from_vec(offsets), make_array(gathered.freeze())))
            }
        }
    }
}

/// How the offsets and the children of a dense union travel.
pub(super) struct UnionPlan {
    /// By type id: which rows of that child, and from which row its offsets count.
    children: Vec<(i8, Rows)>,
    /// Bytes of offsets that are written anew.
    pub rebased_bytes: usize,
    /// Bytes of child rows that are gathered.
    pub compacted_bytes: usize,
}

/// Decides for a dense union. Reads its type ids and offsets once, unless its children are
/// smaller than they are.
pub(super) fn dense_union(array: &UnionArray) -> UnionPlan {
    let ids = type_ids(array);
    let offset_bytes = array.len() * size_of::<i32>();
    let total: usize = ids.iter().map(|id| span_bytes(array.child(*id))).sum();
    if total <= offset_bytes {
        let children = ids.iter().map(|id| (*id, Rows::Before(array.child(*id).len()))).collect();
        return UnionPlan { children, rebased_bytes: 0, compacted_bytes: 0 };
    }
    // By type id: first row, end, and how many rows reference it.
    let mut spans = [(usize::MAX, 0usize, 0usize); 128];
    let offsets = array.offsets().map(|offsets| &offsets[..]).unwrap_or_default();
    for (id, offset) in array.type_ids().iter().zip(offsets) {
        if let Some(span) = spans.get_mut(id.as_usize()) {
            let row = offset.as_usize();
            *span = (span.0.min(row), span.1.max(row + 1), span.2 + 1);
        }
    }
    let mut unused_front = 0;
    let mut compacted_bytes = 0;
    let mut children = Vec::with_capacity(ids.len());
    for id in ids {
        let (first, end, count) = spans[id.as_usize()];
        let first = first.min(end);
        let child = array.child(id);
        unused_front += span_bytes(child.slice(0, first).as_ref());
        if (end - first).saturating_sub(count) > count {
            let range = span_bytes(child.slice(first, end - first).as_ref()) as u128;
            compacted_bytes += (range * count as u128 / (end - first) as u128) as usize;
            children.push((id, Rows::Gathered));
        } else {
            children.push((id, Rows::Range(first, end)));
        }
    }
    let is_gathered = children.iter().any(|(_, rows)| matches!(rows, Rows::Gathered));
    if !is_gathered && front(unused_front, offset_bytes) == Sent::AsItLies {
        for (_, rows) in &mut children {
            if let Rows::Range(_, end) = *rows {
                *rows = Rows::Before(end);
            }
        }
        return UnionPlan { children, rebased_bytes: 0, compacted_bytes: 0 };
    }
    UnionPlan { children, rebased_bytes: offset_bytes, compacted_bytes }
}

/// The type ids of a union's fields, in their order.
fn type_ids(array: &UnionArray) -> Vec<i8> {
    match array.data_type() {
        DataType::Union(fields, _) => fields.iter().map(|(id, _)| id).collect(),
        _ => Vec::new(),
    }
}

impl UnionPlan {
    /// The offsets, and the children in the order of their fields.
    pub(super) fn apply(self, array: &UnionArray) -> Result<(Buffer, Vec<ArrayRef>), ArrowError> {
        let old = array.offsets().cloned().unwrap_or_default();
        if self.rebased_bytes == 0 {
            let cut = |(id, rows): &(i8, Rows)| match rows {
                Rows::Before(end) => array.child(*id).slice(0, *end),
                _ => array.child(*id).clone(),
            };
            return Ok((old.into_inner(), self.children.iter().map(cut).collect()));
        }
        let mut offsets = vec![0i32; array.len()];
        let mut children = Vec::with_capacity(self.children.len());
        for (id, rows) in self.children {
            let child = array.child(id);
            let slots = array.type_ids().iter().zip(old.iter()).zip(&mut offsets);
            let slots = slots.filter(|((type_id, _), _)| **type_id == id);
            match rows {
                Rows::Gathered => {
                    let data = child.to_data();
                    let mut gathered = MutableArrayData::new(vec![&data], false, 0);
                    for ((_, row), slot) in slots {
                        *slot = gathered.len() as i32;
                        gathered.try_extend(0, row.as_usize(), row.as_usize() + 1)?;
                    }
                    children.push(make_array(gathered.freeze()));
                }
                Rows::Range(first, end) => {
                    slots.for_each(|((_, row), slot)| *slot = row - first as i32);
                    children.push(child.slice(first, end - first));
                }
                Rows::Before(end) => {
                    slots.for_each(|((_, row), slot)| *slot = *row);
                    children.push(child.slice(0, end));
                }
            }
        }
        Ok((Buffer::from_vec(offsets), children))
    }
}

/// A dictionary with only the values that its keys use.
pub(super) struct Trimmed {
    /// The new keys, of the old type.
    pub keys: ArrayRef,
    /// The values in use, in their old order.
    pub values: ArrayRef,
    /// Bytes of both.
    pub copied_bytes: usize,
}

/// Trims a dictionary if that saves more bytes than it copies.
pub(super) fn trim(array: &dyn AnyDictionaryArray) -> Result<Option<Trimmed>, ArrowError> {
    let values = array.values();
    let whole = span_bytes(values);
    let key_bytes = span_bytes(array.keys());
    if values.is_empty() || whole <= key_bytes {
        return Ok(None);
    }
    let mut new_keys = vec![usize::MAX; values.len()];
    let keys = array.normalized_keys();
    for (row, key) in keys.iter().enumerate() {
        if array.keys().is_valid(row) {
            new_keys[*key] = 0;
        }
    }
    let mut used = 0;
    for new_key in new_keys.iter_mut().filter(|key| **key == 0) {
        *new_key = used;
        used += 1;
    }
    let kept = whole as u128 * used as u128 / values.len() as u128;
    if whole as u128 - kept <= key_bytes as u128 + kept {
        return Ok(None);
    }
    let data = values.to_data();
    let mut gathered = MutableArrayData::new(vec![&data], false, used);
    for (old_key, _) in new_keys.iter().enumerate().filter(|(_, key)| **key != usize::MAX) {
        gathered.try_extend(0, old_key, old_key + 1)?;
    }
    let remap = |key: usize| new_keys.get(key).copied().filter(|key| *key != usize::MAX).unwrap_or(0);
    let values = make_array(gathered.freeze());
    macro_rules! keys {
        ($t:ty) => {{
            let old = array.keys().as_primitive::<$t>();
            let new = keys.iter().map(|key| <$t as ArrowPrimitiveType>::Native::usize_as(remap(*key)));
            let new: ScalarBuffer<_> = new.collect::<Vec<_>>().into();
            Arc::new(PrimitiveArray::<$t>::new(new, old.nulls().cloned())) as ArrayRef
        }};
    }
    let keys = downcast_integer! {
        array.keys().data_type() => (keys),
        _ => return Ok(None)
    };
    let copied_bytes = key_bytes + span_bytes(values.as_ref());
    Ok(Some(Trimmed { keys, values, copied_bytes }))
}
