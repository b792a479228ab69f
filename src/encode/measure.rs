//! How many bytes rows take on the wire: what they reference, value by value.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, OffsetBuffer};
use arrow_data::MAX_INLINE_VIEW_LEN;
use arrow_schema::{DataType, UnionMode};

/// Adds up what rows reference. A value that two rows reference counts twice; what lies
/// between them, and nobody references, not at all.
///
/// Counting stops soon after `limit`. As every row of a type without a fixed width takes
/// bytes of its own, that bounds the time too, whatever lies in front of a slice.
#[derive(Debug)]
pub(super) struct Measure {
    limit: u64,
    bits: u64,
    mode: Mode,
}

/// What counts of an array whose rows point anywhere into it: views, list-views, dense unions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// What the rows point to, as often as they do.
    Referenced,
    /// What gathering the rows writes: it leaves the data of views and the children of
    /// list-views where they are.
    Gathered,
    /// What gathering the lists around the rows writes: it leaves only the data of views.
    GatheredInLists,
    /// All that lies there, once.
    Lying,
}

impl Measure {
    /// Counts up to this many bytes, or a few more.
    pub(super) fn up_to(limit: usize) -> Self {
        Measure { limit: (limit as u64).saturating_mul(8), bits: 0, mode: Mode::Referenced }
    }

    /// Counts what gathering the rows writes, up to this many bytes, or a few more.
    pub(super) fn gathered(limit: usize) -> Self {
        Measure { mode: Mode::Gathered, ..Self::up_to(limit) }
    }

    /// The bytes of all rows so far; if they are more than the limit, then any number that is.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.bits.div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// Adds some rows of an array.
    pub(super) fn add(&mut self, array: &dyn Array, first: usize, count: usize) -> &mut Self {
        use DataType::*;
        if count == 0 || self.bits > self.limit {
            return self;
        }
        if let Some(bits) = row_bits(array) {
            self.each(count, bits);
            return self;
        }
        if array.null_count() > 0 {
            self.each(count, 1);
        }
        match array.data_type() {
            Utf8 => self.texts(array.as_bytes::<Utf8Type>(), first, count),
            LargeUtf8 => self.texts(array.as_bytes::<LargeUtf8Type>(), first, count),
            Binary => self.texts(array.as_bytes::<BinaryType>(), first, count),
            LargeBinary => self.texts(array.as_bytes::<LargeBinaryType>(), first, count),
            Utf8View => self.views(array.as_byte_view::<StringViewType>(), first, count),
            BinaryView => self.views(array.as_byte_view::<BinaryViewType>(), first, count),
            List(_) => {
                let list = array.as_list::<i32>();
                self.lists(list.offsets(), list.values(), first, count);
            }
            LargeList(_) => {
                let list = array.as_list::<i64>();
                self.lists(list.offsets(), list.values(), first, count);
            }
            Map(..) => {
                let map = array.as_map();
                self.lists(map.offsets(), map.entries(), first, count);
            }
            ListView(_) => self.list_views(array.as_list_view::<i32>(), first, count),
            LargeListView(_) => self.list_views(array.as_list_view::<i64>(), first, count),
            FixedSizeList(_, size) => {
                let size = size.as_usize();
                self.add(array.as_fixed_size_list().values(), first * size, count * size);
            }
            Struct(_) => array.as_struct().columns().iter().for_each(|column| {
                self.add(column, first, count);
            }),
            Union(fields, mode) => {
                let union = array.as_union();
                self.each(count, 8);
                if *mode == UnionMode::Sparse {
                    fields.iter().for_each(|(id, _)| {
                        self.add(union.child(id), first, count);
                    });
                } else {
                    self.each(count, 32);
                    if self.mode == Mode::Lying {
                        fields.iter().for_each(|(id, _)| self.whole(union.child(id)));
                        return self;
                    }
                    for row in first..first + count {
                        if self.bits > self.limit {
                            break;
                        }
                        self.add(union.child(union.type_id(row)), union.value_offset(row), 1);
                    }
                }
            }
            RunEndEncoded(ends, _) => match ends.data_type() {
                Int16 => self.runs::<Int16Type>(array, first, count),
                Int32 => self.runs::<Int32Type>(array, first, count),
                _ => self.runs::<Int64Type>(array, first, count),
            },
            _ => {}
        }
        self
    }

    fn whole(&mut self, array: &dyn Array) {
        self.add(array, 0, array.len());
    }

    fn each(&mut self, count: usize, bits: u64) {
        self.bits = self.bits.saturating_add((count as u64).saturating_mul(bits));
    }

    fn texts<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>, first: usize, count: usize) {
        let offsets = array.value_offsets();
        self.each(count, 8 * size_of::<T::Offset>() as u64);
        self.each(offsets[first + count].as_usize() - offsets[first].as_usize(), 8);
    }

    fn views<T: ByteViewType>(&mut self, array: &GenericByteViewArray<T>, first: usize, count: usize) {
        self.each(count, 128);
        match self.mode {
            Mode::Referenced => {}
            Mode::Gathered | Mode::GatheredInLists => return,
            Mode::Lying => return array.data_buffers().iter().for_each(|data| self.each(data.len(), 8)),
        }
        for view in &array.views()[first..first + count] {
            if self.bits > self.limit {
                return;
            }
            let length = *view as u32;
            if length > MAX_INLINE_VIEW_LEN {
                self.each(length as usize, 8);
            }
        }
    }

    fn lists<O: OffsetSizeTrait>(
        &mut self,
        offsets: &OffsetBuffer<O>,
        child: &dyn Array,
        first: usize,
        count: usize,
    ) {
        let (start, end) = (offsets[first].as_usize(), offsets[first + count].as_usize());
        self.each(count, 8 * size_of::<O>() as u64);
        let around = self.mode;
        if around == Mode::Gathered {
            self.mode = Mode::GatheredInLists;
        }
        self.add(child, start, end - start);
        self.mode = around;
    }

    fn list_views<O: OffsetSizeTrait>(
        &mut self,
        array: &GenericListViewArray<O>,
        first: usize,
        count: usize,
    ) {
        self.each(count, 16 * size_of::<O>() as u64);
        match self.mode {
            Mode::Referenced | Mode::GatheredInLists => {}
            Mode::Gathered => return,
            Mode::Lying => return self.whole(array.values()),
        }
        for row in first..first + count {
            if self.bits > self.limit {
                return;
            }
            let (offset, size) = (array.offsets()[row].as_usize(), array.sizes()[row].as_usize());
            self.add(array.values(), offset, size);
        }
    }

    fn runs<R: RunEndIndexType>(&mut self, array: &dyn Array, first: usize, count: usize) {
        let Some(array) = array.as_any().downcast_ref::<RunArray<R>>() else { return };
        let (start, end) = (array.get_physical_index(first), array.get_physical_index(first + count - 1));
        self.each(end - start + 1, 8 * size_of::<R::Native>() as u64);
        self.add(array.values(), start, end - start + 1);
    }
}

/// The bytes that these rows reference, or any number above `limit` if they are more.
pub(super) fn bytes_of(array: &dyn Array, first: usize, count: usize, limit: usize) -> usize {
    Measure::up_to(limit).add(array, first, count).bytes()
}

/// The bytes that lie where these rows are: what they take if they travel as they are, and all
/// that they may point to. Takes a time that depends on the layout only.
///
/// Rows that point to the same values reference more bytes than lie there. Who counts up to
/// this many never takes longer than it takes to read them all once.
pub(super) fn bytes_lying(array: &dyn Array, first: usize, count: usize) -> usize {
    let mut lying = Measure { mode: Mode::Lying, ..Measure::up_to(usize::MAX) };
    lying.add(array, first, count).bytes()
}

/// The bits of a row, if all rows take the same.
pub(super) fn row_bits(array: &dyn Array) -> Option<u64> {
    use DataType::*;
    let validity = u64::from(array.null_count() > 0);
    let values = match array.data_type() {
        Null => 0,
        Boolean => 1,
        FixedSizeBinary(width) => 8 * width.as_usize() as u64,
        FixedSizeList(_, size) => size.as_usize() as u64 * row_bits(array.as_fixed_size_list().values())?,
        Struct(_) => array.as_struct().columns().iter().map(|c| row_bits(c)).sum::<Option<_>>()?,
        Dictionary(key, _) => 8 * key.primitive_width()? as u64,
        other => 8 * other.primitive_width()? as u64,
    };
    Some(validity + values)
}

/// The bytes of the last offsets of an array of this type: each level has one more than rows.
pub(super) fn last_offsets(data_type: &DataType) -> usize {
    use DataType::*;
    match data_type {
        Utf8 | Binary => 4,
        LargeUtf8 | LargeBinary => 8,
        List(child) | Map(child, _) => 4 + last_offsets(child.data_type()),
        LargeList(child) => 8 + last_offsets(child.data_type()),
        ListView(child) | LargeListView(child) | FixedSizeList(child, _) => last_offsets(child.data_type()),
        Struct(fields) => fields.iter().map(|field| last_offsets(field.data_type())).sum(),
        Union(fields, _) => fields.iter().map(|(_, field)| last_offsets(field.data_type())).sum(),
        RunEndEncoded(_, values) => last_offsets(values.data_type()),
        _ => 0,
    }
}
