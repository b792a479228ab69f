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

use super::measure::{Measure, bytes_lying, bytes_of, last_offsets, row_bits};

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
    /// Views as they are; of each buffer only what lies before its last referenced byte. The
    /// last buffers of which nothing is left are left out, since no view has their numbers.
    AsTheyLie(Vec<usize>),
    /// Views re-written for buffers that are cut at both ends; those without a referenced
    /// byte are left out.
    Cut(Vec<(usize, usize)>),
    /// Views re-written for one buffer of the referenced bytes.
    Gathered,
}

/// Decides for views. Reads them once, unless their buffers are smaller than they are.
///
/// A compressed message has no empty data buffer: polars (2.1) cannot read one.
pub(super) fn views<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    carried: Carried,
    is_compressed: bool,
) -> ViewPlan {
    let buffers = array.data_buffers();
    let whole: usize = buffers.iter().map(|buffer| buffer.len() + ENTRY).sum();
    let views_bytes = size_of_val(&array.views()[..]);
    let is_refused = |ends: &[usize]| is_compressed && ends.contains(&0);
    if carried.allows(whole, views_bytes) {
        let ends = without_last_empty(buffers.iter().map(Buffer::len).collect());
        if !is_refused(&ends) {
            return ViewPlan { how: Views::AsTheyLie(ends), rebased_bytes: 0, compacted_bytes: 0 };
        }
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
    let ends = without_last_empty(spans.iter().map(|(_, end)| *end).collect());
    if !carried.allows(unused_inside, referenced) {
        // Something is unused, so this copies less than there is, overlaps included.
        ViewPlan { how: Views::Gathered, rebased_bytes: views_bytes, compacted_bytes: referenced }
    } else if !carried.allows(unused_front + unused_entries, views_bytes) || is_refused(&ends) {
        ViewPlan { how: Views::Cut(spans), rebased_bytes: views_bytes, compacted_bytes: 0 }
    } else {
        ViewPlan { how: Views::AsTheyLie(ends), rebased_bytes: 0, compacted_bytes: 0 }
    }
}

fn without_last_empty(mut ends: Vec<usize>) -> Vec<usize> {
    ends.truncate(ends.iter().rposition(|&end| end > 0).map_or(0, |last| last + 1));
    ends
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
}

/// Which rows of a child travel.
#[derive(Debug)]
enum Rows {
    /// Those before this one; offsets stay.
    Before(usize),
    /// Those of this range; offsets are re-written.
    Range(usize, usize),
    /// The referenced ones, in the child's order; offsets are re-written.
    Gathered(Distinct),
}

/// Rows of a child without repetition, however often they are referenced: what is gathered of
/// them is never more than the child has.
#[derive(Debug)]
struct Distinct {
    /// Those rows in the child's order; none are noted if they are referenced in this order
    /// and once each, so that who references them says it all.
    spans: Option<Vec<Span>>,
    count: usize,
    /// Whether rows between the first one and the last one are missing. Bytes do not tell
    /// where some rows are referenced twice.
    has_gaps: bool,
}

/// Rows that lie next to each other.
#[derive(Debug)]
struct Span {
    first: usize,
    end: usize,
    /// The place of the first one among the distinct rows.
    place: usize,
}

impl Distinct {
    /// Of first rows and counts.
    fn of(rows: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let rows = rows.filter(|(_, count)| *count > 0).map(|(first, count)| (first, first + count));
        let mut distinct = Distinct { spans: None, count: 0, has_gaps: false };
        let mut behind = None;
        for (first, end) in rows.clone() {
            match behind {
                Some(behind) if first < behind => return Self::sorted(rows.collect()),
                Some(behind) => distinct.has_gaps |= first > behind,
                None => {}
            }
            distinct.count += end - first;
            behind = Some(end);
        }
        distinct
    }

    fn sorted(mut rows: Vec<(usize, usize)>) -> Self {
        rows.sort_unstable();
        let mut spans: Vec<Span> = Vec::new();
        let mut count = 0;
        for (first, end) in rows {
            match spans.last_mut() {
                Some(last) if first <= last.end => {
                    count += end.saturating_sub(last.end);
                    last.end = last.end.max(end);
                }
                _ => {
                    spans.push(Span { first, end, place: count });
                    count += end - first;
                }
            }
        }
        Distinct { has_gaps: spans.len() > 1, spans: Some(spans), count }
    }

    /// Where rows come to be: called for each first row and count, in the order in which they
    /// are referenced.
    fn placing(&self) -> impl FnMut(usize, usize) -> usize + '_ {
        let mut next = 0;
        move |first, count| match &self.spans {
            None => {
                next += count;
                next - count
            }
            Some(spans) => {
                let after = spans.partition_point(|span| span.first <= first);
                after.checked_sub(1).map_or(0, |at| spans[at].place + (first - spans[at].first))
            }
        }
    }

    /// First rows and counts of what is gathered, from those that are referenced.
    fn gathered<'r>(
        &'r self,
        referenced: impl Iterator<Item = (usize, usize)> + 'r,
    ) -> Box<dyn Iterator<Item = (usize, usize)> + 'r> {
        match &self.spans {
            None => Box::new(referenced.filter(|(_, count)| *count > 0)),
            Some(spans) => Box::new(spans.iter().map(|span| (span.first, span.end - span.first))),
        }
    }

    /// The bytes that gathering these rows of a child writes, unless they are more than lie
    /// there: inside the rows, lists may still share what they show.
    fn gathered_bytes(
        &self,
        child: &dyn Array,
        referenced: impl Iterator<Item = (usize, usize)>,
        lying: usize,
    ) -> Option<usize> {
        let mut gathered = Measure::gathered(lying);
        self.gathered(referenced).for_each(|(first, count)| {
            gathered.add(child, first, count);
        });
        (gathered.bytes() <= lying).then(|| gathered.bytes() + last_offsets(child.data_type()))
    }
}

/// What rows of a child are referenced, and what lies between them.
///
/// All rows are added first, then all are counted.
#[derive(Debug)]
struct Used {
    first: usize,
    end: usize,
    rows: usize,
    bits: Option<u64>,
    lying: usize,
    measure: Measure,
}

impl Used {
    fn none(child: &dyn Array) -> Self {
        let bits = row_bits(child);
        Used { first: usize::MAX, end: 0, rows: 0, bits, lying: 0, measure: Measure::up_to(0) }
    }

    fn add(&mut self, offset: usize, size: usize) {
        if size > 0 {
            self.first = self.first.min(offset);
            self.end = self.end.max(offset + size);
            self.rows = self.rows.saturating_add(size);
        }
    }

    /// Ends adding. From here on no more is counted than lies in the range: once that much is
    /// referenced, nothing of it travels for nothing.
    fn added(&mut self, child: &dyn Array) {
        let (first, end) = self.range();
        self.lying = bytes_lying(child, first, end - first);
        self.measure = Measure::up_to(self.lying);
    }

    /// Counts rows, unless all take the same number of bytes.
    fn count(&mut self, child: &dyn Array, offset: usize, size: usize) {
        if self.bits.is_none() {
            self.measure.add(child, offset, size);
        }
    }

    /// The rows from the first one to the last one.
    fn range(&self) -> (usize, usize) {
        (self.first.min(self.end), self.end)
    }

    /// The bytes referenced; if that is more than lie in the range, any number that is.
    fn bytes(&self) -> usize {
        match self.bits {
            None => self.measure.bytes(),
            Some(bits) => (self.rows as u64).saturating_mul(bits).div_ceil(8) as usize,
        }
    }

    /// Of the range, the bytes that nobody references; any larger number if it is more than
    /// that many. Rows that are referenced twice reference more bytes than there are.
    fn unused(&self, child: &dyn Array, limit: usize) -> usize {
        let ((first, end), referenced) = (self.range(), self.bytes());
        if referenced >= self.lying {
            return 0;
        }
        bytes_of(child, first, end - first, referenced.saturating_add(limit)).saturating_sub(referenced)
    }

    /// The rows to gather, which were all added, and the bytes that this writes; `None` if
    /// the range travels. Where nothing more is allowed, no gap is.
    fn gathering(
        &self,
        child: &dyn Array,
        unused: usize,
        carried: Carried,
        rows: impl Iterator<Item = (usize, usize)> + Clone,
    ) -> Option<(Distinct, usize)> {
        let too_much = !carried.allows(unused, self.bytes());
        if !too_much && carried != Carried::FULL {
            return None;
        }
        let distinct = Distinct::of(rows.clone());
        if !too_much && !distinct.has_gaps {
            return None;
        }
        let bytes = distinct.gathered_bytes(child, rows, self.lying)?;
        Some((distinct, bytes))
    }
}

/// Decides for a list-view. Reads its offsets and sizes a few times, unless its child is smaller
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
    };
    let limit = carried.left_of(2 * offset_bytes);
    let whole = bytes_of(child, 0, child.len(), limit);
    if whole <= limit {
        return travels(Rows::Before(child.len()), 0, whole);
    }
    let rows = || {
        let views = array.offsets().iter().zip(array.sizes().iter());
        views.map(|(offset, size)| (offset.as_usize(), size.as_usize()))
    };
    let mut used = Used::none(child);
    rows().for_each(|(offset, size)| used.add(offset, size));
    used.added(child);
    rows().for_each(|(offset, size)| used.count(child, offset, size));
    let (first, end) = used.range();
    let referenced = used.bytes();
    let unused = used.unused(child, carried.left_of(referenced));
    if let Some((distinct, compacted_bytes)) = used.gathering(child, unused, carried, rows()) {
        let how = Rows::Gathered(distinct);
        return ListViewPlan { how, rebased_bytes: offset_bytes, compacted_bytes, carried_bytes: 0 };
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
                let start = O::from_usize(first).ok_or(ArrowError::OffsetOverflowError(first))?;
                let rebase = |(offset, size): (&O, &O)| {
                    if *size == O::default() { O::default() } else { *offset - start }
                };
                let rows = array.offsets().iter().zip(array.sizes().iter());
                let offsets: Vec<O> = rows.map(rebase).collect();
                Ok((Buffer::from_vec(offsets), child.slice(first, end - first)))
            }
            Rows::Gathered(distinct) => {
                let rows = || {
                    let views = array.offsets().iter().zip(array.sizes().iter());
                    views.map(|(offset, size)| (offset.as_usize(), size.as_usize()))
                };
                let mut place_of = distinct.placing();
                let mut offsets = Vec::with_capacity(array.len());
                for (first, count) in rows() {
                    let place = if count == 0 { 0 } else { place_of(first, count) };
                    offsets.push(O::from_usize(place).ok_or(ArrowError::OffsetOverflowError(place))?);
                }
                Ok((Buffer::from_vec(offsets), gather(child, distinct.gathered(rows()), distinct.count)?))
            }
        }
    }
}

/// How the offsets and the children of a dense union travel.
pub(super) struct UnionPlan {
    /// By type id: which rows of that child.
    children: Vec<(i8, Rows)>,
    /// Bytes of offsets that are written anew.
    pub rebased_bytes: usize,
    /// Bytes of child rows that are gathered.
    pub compacted_bytes: usize,
    /// Bytes of child rows that travel along for nothing.
    pub carried_bytes: usize,
}

/// Decides for a dense union. Reads its type ids and offsets a few times, unless its children are
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
        let whole_child = |id: &i8| (*id, Rows::Before(array.child(*id).len()));
        let children = ids.iter().map(whole_child).collect();
        return UnionPlan { children, rebased_bytes: 0, compacted_bytes: 0, carried_bytes: whole.bytes() };
    }
    let mut used: Vec<Used> = ids.iter().map(|id| Used::none(array.child(*id))).collect();
    let mut places = [0; 128];
    for (place, id) in ids.iter().enumerate() {
        places[id.as_usize()] = place;
    }
    let slots = || array.type_ids().iter().zip(array.offsets().into_iter().flat_map(|o| o.iter()));
    for (id, offset) in slots() {
        used[places[id.as_usize()]].add(offset.as_usize(), 1);
    }
    for (id, used) in ids.iter().zip(&mut used) {
        used.added(array.child(*id));
    }
    for (id, offset) in slots() {
        used[places[id.as_usize()]].count(array.child(*id), offset.as_usize(), 1);
    }
    let mut front = Measure::up_to(carried.left_of(offset_bytes));
    let mut carried_bytes = 0;
    let mut compacted_bytes = 0;
    let mut children = Vec::with_capacity(ids.len());
    for (id, used) in ids.into_iter().zip(used) {
        let (first, end) = used.range();
        let child = array.child(id);
        let referenced = used.bytes();
        let unused = used.unused(child, carried.left_of(referenced));
        front.add(child, 0, first);
        let rows = slots().filter(|(type_id, _)| **type_id == id).map(|(_, offset)| (offset.as_usize(), 1));
        if let Some((distinct, bytes)) = used.gathering(child, unused, carried, rows) {
            compacted_bytes += bytes;
            children.push((id, Rows::Gathered(distinct)));
        } else {
            carried_bytes += unused;
            children.push((id, Rows::Range(first, end)));
        }
    }
    let is_gathered = children.iter().any(|(_, rows)| matches!(rows, Rows::Gathered(_)));
    if !is_gathered && carried.allows(front.bytes(), offset_bytes) {
        for (_, rows) in &mut children {
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
        let before = |(id, rows): &(i8, Rows)| match rows {
            Rows::Before(end) => Some(array.child(*id).slice(0, *end)),
            _ => None,
        };
        if let Some(children) = self.children.iter().map(before).collect() {
            return Ok((old.into_inner(), children));
        }
        let mut offsets = vec![0i32; array.len()];
        let mut children = Vec::with_capacity(self.children.len());
        for (id, rows) in self.children {
            let child = array.child(id);
            let slots = array.type_ids().iter().zip(old.iter()).zip(&mut offsets);
            let slots = slots.filter(|((type_id, _), _)| **type_id == id);
            let checked = |row| i32::try_from(row).map_err(|_| ArrowError::OffsetOverflowError(row));
            match rows {
                Rows::Gathered(distinct) => {
                    let mut place_of = distinct.placing();
                    for ((_, row), slot) in slots {
                        *slot = checked(place_of(row.as_usize(), 1))?;
                    }
                    let rows = array.type_ids().iter().zip(old.iter());
                    let rows = rows.filter(|(type_id, _)| **type_id == id);
                    let rows = distinct.gathered(rows.map(|(_, row)| (row.as_usize(), 1)));
                    children.push(gather(child, rows, distinct.count)?);
                }
                Rows::Range(first, end) => {
                    let first_row = checked(first)?;
                    slots.for_each(|((_, row), slot)| *slot = row - first_row);
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
    if has_runs(array.data_type()) || has_list_views(array.data_type()) {
        // `MutableArrayData` looks for the run of each row from the first run on, and copies
        // what a list-view shows for each of its rows, as often as they show it.
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

/// Whether an array of this type has rows of a list-view in its own rows.
fn has_list_views(data_type: &DataType) -> bool {
    contains(data_type, |data_type| matches!(data_type, DataType::ListView(_) | DataType::LargeListView(_)))
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
    let lying = bytes_lying(values, 0, values.len());
    let (mut used, mut kept, mut gathered) = (0, Measure::up_to(lying), Measure::gathered(lying));
    for (old_key, new_key) in new_keys.iter_mut().enumerate().filter(|(_, key)| **key == 0) {
        *new_key = used;
        used += 1;
        kept.add(values, old_key, 1);
        gathered.add(values, old_key, 1);
    }
    let copied = key_bytes + kept.bytes();
    let saved = if kept.bytes() < lying {
        bytes_of(values, 0, values.len(), kept.bytes() + copied).saturating_sub(kept.bytes())
    } else {
        0
    };
    let is_wanted = saved > copied || (always && used < values.len());
    if !is_wanted || gathered.bytes() > lying {
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
