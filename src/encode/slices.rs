//! What of a slice travels as it lies, and what is compacted.
//!
//! One rule decides for every layout: **a buffer travels as it lies while the bytes it
//! would carry for nothing are no more than the bytes that a copy would write.** So what is
//! sent is at most twice what the slice references, what is copied is at most that too,
//! and a slice of one row carries a handful of bytes beside the row. Where arrays are
//! nested, the levels share that allowance ([`Carried`]).
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
use arrow_schema::{ArrowError, DataType, Field};

use super::measure::{Measure, bytes_of, last_offsets, row_bits};

/// Bytes that the enclosing arrays carry for nothing within the rows at hand. To the arrays
/// inside, these rows look as if they were referenced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Carried(pub usize);

impl Carried {
    /// Allows nothing more.
    pub(super) const FULL: Carried = Carried(usize::MAX);

    /// Whether `unused` bytes may travel along where a copy would write `copied` bytes.
    ///
    /// What is carried already counts twice: it is among `copied`, and it was not referenced.
    pub(super) fn allows(self, unused: usize, copied: usize) -> bool {
        unused == 0 || unused <= self.left_of(copied)
    }

    /// The most unused bytes that may travel along.
    pub(super) fn left_of(self, copied: usize) -> usize {
        copied.saturating_sub(self.0.saturating_mul(2))
    }
}

/// The bytes of the metadata of a buffer: one that nobody references costs that much.
const ENTRY: usize = size_of::<arrow_ipc::Buffer>();

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
    /// Views re-written for buffers that are cut at both ends; those without a referenced
    /// byte are left out.
    Cut(Vec<(usize, usize)>),
    /// Views re-written for one buffer of the referenced bytes.
    Gathered,
}

/// Decides for views. Reads them once, unless their buffers are smaller than they are.
pub(super) fn views<T: ByteViewType>(array: &GenericByteViewArray<T>, carried: Carried) -> ViewPlan {
    let buffers = array.data_buffers();
    let whole: usize = buffers.iter().map(|buffer| buffer.len() + ENTRY).sum();
    let views_bytes = size_of_val(&array.views()[..]);
    if carried.allows(whole, views_bytes) {
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
    let unused_entries = ENTRY * spans.iter().filter(|(_, end)| *end == 0).count();
    let cut: usize = spans.iter().map(|(first, end)| end - first).sum();
    // Views that overlap reference more bytes than there are.
    let unused_inside = cut.saturating_sub(referenced);
    if !carried.allows(unused_inside, referenced) {
        ViewPlan { how: Views::Gathered, rebased_bytes: views_bytes, compacted_bytes: referenced }
    } else if !carried.allows(unused_front + unused_entries, views_bytes) {
        ViewPlan { how: Views::Cut(spans), rebased_bytes: views_bytes, compacted_bytes: 0 }
    } else {
        let ends = spans.into_iter().map(|(_, end)| end).collect();
        ViewPlan { how: Views::AsTheyLie(ends), rebased_bytes: 0, compacted_bytes: 0 }
    }
}

impl ViewPlan {
    /// The views and their data buffers.
    pub(super) fn apply<T: ByteViewType>(self, array: &GenericByteViewArray<T>) -> (Buffer, Vec<Buffer>) {
        let views = array.views();
        let buffers = array.data_buffers();
        match self.how {
            Views::AsTheyLie(ends) => {
                let cut = buffers.iter().zip(ends).map(|(buffer, end)| buffer.slice_with_length(0, end));
                (views.inner().clone(), cut.collect())
            }
            Views::Cut(spans) => {
                let mut cut = Vec::new();
                let mut numbers = Vec::with_capacity(spans.len());
                for (buffer, (first, end)) in buffers.iter().zip(&spans) {
                    numbers.push(cut.len() as u32);
                    if end > first {
                        cut.push(buffer.slice_with_length(*first, end - first));
                    }
                }
                let rebase = |view: &u128| match ByteView::from(*view) {
                    mut long if long.length > MAX_INLINE_VIEW_LEN => {
                        let old = long.buffer_index as usize;
                        long.offset -= spans[old].0 as u32;
                        long.buffer_index = numbers[old];
                        long.as_u128()
                    }
                    _ => *view,
                };
                let rebased: Vec<u128> = views.iter().map(rebase).collect();
                (Buffer::from_vec(rebased), cut)
            }
            Views::Gathered => {
                // One buffer holds at most 2 GiB, so that its offsets fit an i32 too.
                let room = self.compacted_bytes.min(i32::MAX as usize);
                let mut gathered: Vec<Vec<u8>> = vec![Vec::with_capacity(room)];
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
    /// Bytes of child rows that travel along for nothing.
    pub carried_bytes: usize,
    /// Child rows that are referenced.
    rows: usize,
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

/// What rows of a child are referenced, and what lies between them.
#[derive(Debug, Clone, Copy)]
struct Used {
    first: usize,
    end: usize,
    rows: usize,
    bits: Option<u64>,
}

impl Used {
    fn none(child: &dyn Array) -> Self {
        Used { first: usize::MAX, end: 0, rows: 0, bits: row_bits(child) }
    }

    /// Adds rows, of a child whose rows take different numbers of bytes also to the measure.
    fn add(&mut self, child: &dyn Array, offset: usize, size: usize, measure: &mut Measure) {
        if size == 0 {
            return;
        }
        self.first = self.first.min(offset);
        self.end = self.end.max(offset + size);
        self.rows = self.rows.saturating_add(size);
        if self.bits.is_none() {
            measure.add(child, offset, size);
        }
    }

    /// The rows from the first one to the last one.
    fn range(&self) -> (usize, usize) {
        (self.first.min(self.end), self.end)
    }

    /// The bytes referenced.
    fn bytes(&self, measure: &Measure) -> usize {
        match self.bits {
            None => measure.bytes(),
            Some(bits) => (self.rows as u64).saturating_mul(bits).div_ceil(8) as usize,
        }
    }

    /// Whether these rows, which were all added, leave any of the range out. Bytes do not
    /// tell where some rows are referenced twice.
    fn has_gaps(&self, rows: impl Iterator<Item = (usize, usize)>) -> bool {
        let (first, end) = self.range();
        let mut seen = vec![false; end - first];
        for (row, count) in rows.filter(|(_, count)| *count > 0) {
            seen[row - first..][..count].fill(true);
        }
        seen.contains(&false)
    }

    /// Of the range, the bytes that nobody references; any larger number if it is more than
    /// that many. Rows that are referenced twice reference more bytes than there are.
    fn unused(&self, child: &dyn Array, referenced: usize, limit: usize) -> usize {
        let (first, end) = self.range();
        bytes_of(child, first, end - first, referenced.saturating_add(limit)).saturating_sub(referenced)
    }
}

/// Decides for a list-view. Reads its offsets and sizes once, unless its child is smaller
/// than they are.
pub(super) fn list_view<O: OffsetSizeTrait>(
    array: &GenericListViewArray<O>,
    carried: Carried,
) -> ListViewPlan {
    let child = array.values();
    let offset_bytes = size_of_val(&array.offsets()[..]);
    let travels = |how, rebased_bytes, carried_bytes| ListViewPlan {
        how,
        rebased_bytes,
        compacted_bytes: 0,
        carried_bytes,
        rows: 0,
    };
    let limit = carried.left_of(2 * offset_bytes);
    let whole = bytes_of(child, 0, child.len(), limit);
    if whole <= limit {
        return travels(Rows::Before(child.len()), 0, whole);
    }
    let mut used = Used::none(child);
    let mut measure = Measure::all();
    let views = || array.offsets().iter().zip(array.sizes().iter());
    for (offset, size) in views() {
        used.add(child, offset.as_usize(), size.as_usize(), &mut measure);
    }
    let (first, end) = used.range();
    let referenced = used.bytes(&measure);
    let unused = used.unused(child, referenced, carried.left_of(referenced));
    let rows = views().map(|(offset, size)| (offset.as_usize(), size.as_usize()));
    if !carried.allows(unused, referenced) || (carried == Carried::FULL && used.has_gaps(rows)) {
        let mut gathered = Measure::gathered();
        views().for_each(|(offset, size)| {
            gathered.add(child, offset.as_usize(), size.as_usize());
        });
        let compacted_bytes = gathered.bytes() + last_offsets(child.data_type());
        let (how, rows) = (Rows::Gathered, used.rows);
        return ListViewPlan { how, rebased_bytes: offset_bytes, compacted_bytes, carried_bytes: 0, rows };
    }
    let front = bytes_of(child, 0, first, carried.left_of(offset_bytes));
    // An empty view may point anywhere up to the child's end; if rows are cut off behind,
    // its offset is re-written too.
    let stray = || array.offsets().iter().any(|offset| offset.as_usize() > end);
    if !carried.allows(front, offset_bytes) || stray() {
        travels(Rows::Range(first, end), offset_bytes, unused)
    } else {
        travels(Rows::Before(end), 0, front + unused)
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
                let mut offsets: Vec<O> = Vec::with_capacity(array.len());
                let mut end = 0;
                let rows = array.offsets().iter().zip(array.sizes().iter()).map(|(offset, size)| {
                    offsets.push(O::usize_as(end));
                    end += size.as_usize();
                    (offset.as_usize(), size.as_usize())
                });
                let gathered = gather(child, rows, self.rows)?;
                Ok((Buffer::from_vec(offsets), gathered))
            }
        }
    }
}

/// How the offsets and the children of a dense union travel.
pub(super) struct UnionPlan {
    /// By type id: which rows of that child, and how many it has.
    children: Vec<(i8, Rows, usize)>,
    /// Bytes of offsets that are written anew.
    pub rebased_bytes: usize,
    /// Bytes of child rows that are gathered.
    pub compacted_bytes: usize,
    /// Bytes of child rows that travel along for nothing.
    pub carried_bytes: usize,
}

/// Decides for a dense union. Reads its type ids and offsets once, unless its children are
/// smaller than they are.
pub(super) fn dense_union(array: &UnionArray, carried: Carried) -> UnionPlan {
    let ids = type_ids(array);
    let offset_bytes = array.len() * size_of::<i32>();
    let limit = carried.left_of(offset_bytes);
    let mut whole = Measure::up_to(limit);
    for id in &ids {
        whole.add(array.child(*id), 0, array.child(*id).len());
    }
    if whole.bytes() <= limit {
        let whole_child = |id: &i8| (*id, Rows::Before(array.child(*id).len()), 0);
        let children = ids.iter().map(whole_child).collect();
        return UnionPlan { children, rebased_bytes: 0, compacted_bytes: 0, carried_bytes: whole.bytes() };
    }
    let mut used: Vec<(Used, Measure)> =
        ids.iter().map(|id| (Used::none(array.child(*id)), Measure::all())).collect();
    let mut places = [0; 128];
    for (place, id) in ids.iter().enumerate() {
        places[id.as_usize()] = place;
    }
    let slots = || array.type_ids().iter().zip(array.offsets().into_iter().flat_map(|o| o.iter()));
    for (id, offset) in slots() {
        let (used, measure) = &mut used[places[id.as_usize()]];
        used.add(array.child(*id), offset.as_usize(), 1, measure);
    }
    let mut front = Measure::up_to(carried.left_of(offset_bytes));
    let mut carried_bytes = 0;
    let mut compacted_bytes = 0;
    let mut children = Vec::with_capacity(ids.len());
    for (id, (used, measure)) in ids.into_iter().zip(used) {
        let (first, end) = used.range();
        let child = array.child(id);
        let referenced = used.bytes(&measure);
        let unused = used.unused(child, referenced, carried.left_of(referenced));
        front.add(child, 0, first);
        let rows =
            || slots().filter(|(type_id, _)| **type_id == id).map(|(_, offset)| (offset.as_usize(), 1));
        let has_gaps = carried == Carried::FULL && used.has_gaps(rows());
        if carried.allows(unused, referenced) && !has_gaps {
            carried_bytes += unused;
            children.push((id, Rows::Range(first, end), used.rows));
        } else {
            let mut gathered = Measure::gathered();
            rows().for_each(|(row, count)| {
                gathered.add(child, row, count);
            });
            compacted_bytes += gathered.bytes() + last_offsets(child.data_type());
            children.push((id, Rows::Gathered, used.rows));
        }
    }
    let is_gathered = children.iter().any(|(_, rows, _)| matches!(rows, Rows::Gathered));
    if !is_gathered && carried.allows(front.bytes(), offset_bytes) {
        for (_, rows, _) in &mut children {
            if let Rows::Range(_, end) = *rows {
                *rows = Rows::Before(end);
            }
        }
        let carried_bytes = carried_bytes + front.bytes();
        return UnionPlan { children, rebased_bytes: 0, compacted_bytes: 0, carried_bytes };
    }
    UnionPlan { children, rebased_bytes: offset_bytes, compacted_bytes, carried_bytes }
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
        let before = |(id, rows, _): &(i8, Rows, usize)| match rows {
            Rows::Before(end) => Some(array.child(*id).slice(0, *end)),
            _ => None,
        };
        if let Some(children) = self.children.iter().map(before).collect() {
            return Ok((old.into_inner(), children));
        }
        let mut offsets = vec![0i32; array.len()];
        let mut children = Vec::with_capacity(self.children.len());
        for (id, rows, count) in self.children {
            let child = array.child(id);
            let slots = array.type_ids().iter().zip(old.iter()).zip(&mut offsets);
            let slots = slots.filter(|((type_id, _), _)| **type_id == id);
            match rows {
                Rows::Gathered => {
                    let rows = (0..).zip(slots).map(|(new, ((_, old), slot))| {
                        *slot = new;
                        (old.as_usize(), 1)
                    });
                    children.push(gather(child, rows, count)?);
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

/// `count` rows of an array in all: some from one place, some from another.
fn gather(
    array: &ArrayRef,
    rows: impl Iterator<Item = (usize, usize)>,
    count: usize,
) -> Result<ArrayRef, ArrowError> {
    if has_runs(array.data_type()) {
        // `MutableArrayData` looks for the run of each row from the first run on.
        let rows = rows.flat_map(|(first, count)| first as u64..(first + count) as u64);
        return arrow_select::take::take(array, &UInt64Array::from_iter_values(rows), None);
    }
    let data = array.to_data();
    let mut gathered = MutableArrayData::new(vec![&data], false, count);
    for (first, count) in rows {
        gathered.try_extend(0, first, first + count)?;
    }
    Ok(make_array(gathered.freeze()))
}

/// Whether an array of this type has rows of a run-end encoding in its own rows.
fn has_runs(data_type: &DataType) -> bool {
    contains(data_type, |data_type| matches!(data_type, DataType::RunEndEncoded(..)))
}

/// Whether an array of this type has keys of a dictionary in its own rows.
pub(super) fn has_keys(data_type: &DataType) -> bool {
    contains(data_type, |data_type| matches!(data_type, DataType::Dictionary(..)))
}

fn contains(data_type: &DataType, is_it: fn(&DataType) -> bool) -> bool {
    use DataType::*;
    let inside = |field: &Field| contains(field.data_type(), is_it);
    match data_type {
        found if is_it(found) => true,
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => inside(child),
        FixedSizeList(child, _) | Map(child, _) | RunEndEncoded(_, child) => inside(child),
        Struct(fields) => fields.iter().any(|field| inside(field)),
        Union(fields, _) => fields.iter().any(|(_, field)| inside(field)),
        _ => false,
    }
}

/// Which values of a dictionary travel.
pub(super) enum Trim {
    /// All of them; so many of their bytes for nothing.
    Whole(usize),
    /// Those that are used.
    Used(TrimPlan),
}

/// Which values of a dictionary its keys use.
pub(super) struct TrimPlan {
    /// By old key the new one; `usize::MAX` of a value that is not used.
    new_keys: Vec<usize>,
    used: usize,
    /// Bytes of the new keys and values.
    pub copied_bytes: usize,
}

/// Decides to trim a dictionary if that saves more bytes than it copies.
pub(super) fn trim(array: &dyn AnyDictionaryArray) -> Trim {
    let values = array.values();
    let key_bytes = array.len() * array.keys().data_type().primitive_width().unwrap_or_default();
    // Unused values with keys of their own would keep other values alive.
    let always = has_keys(values.data_type());
    let whole = bytes_of(values, 0, values.len(), key_bytes);
    if values.is_empty() || (!always && whole <= key_bytes) {
        return Trim::Whole(whole);
    }
    let mut new_keys = vec![usize::MAX; values.len()];
    for (row, key) in array.normalized_keys().into_iter().enumerate() {
        if array.keys().is_valid(row) {
            new_keys[key] = 0;
        }
    }
    let (mut used, mut kept, mut gathered) = (0, Measure::all(), Measure::gathered());
    for (old_key, new_key) in new_keys.iter_mut().enumerate().filter(|(_, key)| **key == 0) {
        *new_key = used;
        used += 1;
        kept.add(values, old_key, 1);
        gathered.add(values, old_key, 1);
    }
    let copied = key_bytes + kept.bytes();
    let saved = bytes_of(values, 0, values.len(), kept.bytes() + copied).saturating_sub(kept.bytes());
    if saved <= copied && !(always && used < values.len()) {
        return Trim::Whole(saved);
    }
    let copied_bytes = key_bytes + gathered.bytes() + last_offsets(values.data_type());
    Trim::Used(TrimPlan { new_keys, used, copied_bytes })
}

impl TrimPlan {
    /// The new keys, of the old type, and the values in use, in their old order.
    pub(super) fn apply(self, array: &dyn AnyDictionaryArray) -> Result<(ArrayRef, ArrayRef), ArrowError> {
        let used = self.new_keys.iter().enumerate().filter(|(_, new_key)| **new_key != usize::MAX);
        let values = gather(array.values(), used.map(|(old_key, _)| (old_key, 1)), self.used)?;
        // Behind a null lies any key.
        let remap =
            |key: usize| self.new_keys.get(key).copied().filter(|key| *key != usize::MAX).unwrap_or(0);
        macro_rules! keys {
            ($t:ty) => {{
                let old = array.keys().as_primitive::<$t>();
                let new = old
                    .values()
                    .iter()
                    .map(|key| <$t as ArrowPrimitiveType>::Native::usize_as(remap(key.as_usize())));
                let new: ScalarBuffer<_> = new.collect::<Vec<_>>().into();
                Arc::new(PrimitiveArray::<$t>::new(new, old.nulls().cloned())) as ArrayRef
            }};
        }
        let keys = downcast_integer! {
            array.keys().data_type() => (keys),
            other => return Err(ArrowError::NotYetImplemented(format!("dictionary keys of {other}")))
        };
        Ok((keys, values))
    }
}
