//! How many bytes the rows of an array have if each has its own: what a library writes that copies
//! them. Views, lists, runs and dictionaries may show the same bytes any number of times.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RunArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

/// Bytes of a null, as the pointer to an object.
const NULL: u64 = 8;

/// Bytes of all rows of an array, each with values of its own.
pub fn expanded_bytes(array: &ArrayRef) -> u64 {
    Sizes::of(array).up_to(array.len())
}

/// Whether rows of a type may show the same values many times, and are copied by libraries without such
/// a type. Text in a dictionary is not copied.
pub fn is_taken(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        RunEndEncoded(..) | ListView(_) | LargeListView(_) => true,
        Dictionary(_, values) => !matches!(values.as_ref(), Utf8 | LargeUtf8 | Utf8View),
        _ => false,
    }
}

/// Bytes of the first rows of an array. Nothing is allocated for a row that takes no bytes.
enum Sizes {
    /// Every row has as many.
    Each(u64),
    /// Sums, from 0 to that of all rows.
    Sums(Vec<u64>),
    /// A row is so many rows of a child.
    Times(Box<Sizes>, usize),
    /// The children of a struct.
    All(Vec<Sizes>),
    /// Where runs end, and the bytes of all rows before each.
    Runs(Vec<usize>, Vec<u64>),
}

impl Sizes {
    fn of(array: &ArrayRef) -> Sizes {
        use DataType::*;
        match array.data_type() {
            Null => Sizes::Each(NULL),
            Boolean => Sizes::Each(1),
            FixedSizeBinary(width) => Sizes::Each(u64::try_from(*width).unwrap_or_default()),
            Utf8 => Self::offsets(array.as_string::<i32>().value_offsets(), None),
            LargeUtf8 => Self::offsets(array.as_string::<i64>().value_offsets(), None),
            Binary => Self::offsets(array.as_binary::<i32>().value_offsets(), None),
            LargeBinary => Self::offsets(array.as_binary::<i64>().value_offsets(), None),
            Utf8View => Self::lengths(array.as_string_view().views()),
            BinaryView => Self::lengths(array.as_binary_view().views()),
            List(_) => {
                let list = array.as_list::<i32>();
                Self::offsets(list.value_offsets(), Some(&Self::of(list.values())))
            }
            LargeList(_) => {
                let list = array.as_list::<i64>();
                Self::offsets(list.value_offsets(), Some(&Self::of(list.values())))
            }
            Map(..) => {
                let entries: ArrayRef = std::sync::Arc::new(array.as_map().entries().clone());
                Self::offsets(array.as_map().value_offsets(), Some(&Self::of(&entries)))
            }
            ListView(_) => {
                let list = array.as_list_view::<i32>();
                Self::views(list.value_offsets(), list.value_sizes(), &Self::of(list.values()))
            }
            LargeListView(_) => {
                let list = array.as_list_view::<i64>();
                Self::views(list.value_offsets(), list.value_sizes(), &Self::of(list.values()))
            }
            FixedSizeList(_, size) => {
                let child = Self::of(array.as_fixed_size_list().values());
                Sizes::Times(Box::new(child), usize::try_from(*size).unwrap_or_default())
            }
            Struct(_) => Sizes::All(array.as_struct().columns().iter().map(Self::of).collect()),
            Union(fields, _) => {
                let Some(union) = array.as_union_opt() else { return Sizes::Each(0) };
                let children = fields.iter().map(|(id, _)| (id, Self::of(union.child(id))));
                let children: Vec<_> = children.collect();
                let row = |row: usize| {
                    let (id, at) = (union.type_id(row), union.value_offset(row));
                    children.iter().find(|(known, _)| *known == id).map_or(0, |(_, child)| child.of_row(at))
                };
                Self::sums((0..union.len()).map(row))
            }
            Dictionary(..) => {
                let Some(dictionary) = array.as_any_dictionary_opt() else { return Sizes::Each(0) };
                if dictionary.values().is_empty() {
                    // All keys are null, or there are none.
                    return Sizes::Each(NULL);
                }
                let values = Self::of(dictionary.values());
                let nulls = dictionary.keys().nulls();
                let keys = dictionary.normalized_keys();
                let key = |(row, key): (usize, usize)| {
                    if nulls.is_some_and(|nulls| nulls.is_null(row)) { NULL } else { values.of_row(key) }
                };
                Self::sums(keys.into_iter().enumerate().map(key))
            }
            RunEndEncoded(ends, _) => match ends.data_type() {
                Int16 => Self::runs(array.as_run_opt::<Int16Type>()),
                Int32 => Self::runs(array.as_run_opt::<Int32Type>()),
                _ => Self::runs(array.as_run_opt::<Int64Type>()),
            },
            other => Sizes::Each(other.primitive_width().unwrap_or_default() as u64),
        }
    }

    fn offsets<O: OffsetSizeTrait>(offsets: &[O], child: Option<&Sizes>) -> Sizes {
        let up_to = |offset: &O| match child {
            Some(child) => child.up_to(offset.as_usize()),
            None => offset.as_usize() as u64,
        };
        let first = offsets.first().map_or(0, up_to);
        Sizes::Sums(offsets.iter().map(|offset| up_to(offset).saturating_sub(first)).collect())
    }

    fn lengths(views: &[u128]) -> Sizes {
        // A view starts with its length.
        let length = |view: &u128| {
            let [a, b, c, d, ..] = view.to_le_bytes();
            u64::from(u32::from_le_bytes([a, b, c, d]))
        };
        Self::sums(views.iter().map(length))
    }

    fn views<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O], child: &Sizes) -> Sizes {
        let row = |(offset, size): (&O, &O)| {
            let start = offset.as_usize();
            child.up_to(start.saturating_add(size.as_usize())).saturating_sub(child.up_to(start))
        };
        Self::sums(offsets.iter().zip(sizes).map(row))
    }

    fn runs<R: RunEndIndexType>(array: Option<&RunArray<R>>) -> Sizes {
        let Some(array) = array else { return Sizes::Each(0) };
        let values = Self::of(array.values());
        let offset = array.offset();
        // Of a slice, the ends count from the start of the whole.
        let ends = array.run_ends().values().iter();
        let ends: Vec<usize> =
            ends.map(|end| end.as_usize().saturating_sub(offset).min(array.len())).collect();
        let (mut sums, mut start, mut sum) = (Vec::with_capacity(ends.len()), 0usize, 0u64);
        for (run, end) in ends.iter().enumerate() {
            sums.push(sum);
            let rows = end.saturating_sub(start) as u64;
            sum = sum.saturating_add(values.of_row(run).saturating_mul(rows));
            start = *end;
        }
        sums.push(sum);
        Sizes::Runs(ends, sums)
    }

    fn sums(rows: impl Iterator<Item = u64>) -> Sizes {
        let mut sum = 0u64;
        let mut sums = vec![0];
        sums.extend(rows.map(|row| {
            sum = sum.saturating_add(row);
            sum
        }));
        Sizes::Sums(sums)
    }

    /// Bytes of the rows before this one.
    fn up_to(&self, row: usize) -> u64 {
        match self {
            Sizes::Each(bytes) => bytes.saturating_mul(row as u64),
            Sizes::Sums(sums) => sums.get(row).or(sums.last()).copied().unwrap_or_default(),
            Sizes::Times(child, rows) => child.up_to(row.saturating_mul(*rows)),
            Sizes::All(children) => {
                children.iter().map(|child| child.up_to(row)).fold(0, u64::saturating_add)
            }
            Sizes::Runs(ends, sums) => {
                let run = ends.partition_point(|end| *end <= row);
                let start =
                    run.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
                let before = sums.get(run).copied().unwrap_or_default();
                let (Some(end), Some(after)) = (ends.get(run), sums.get(run.saturating_add(1))) else {
                    return before;
                };
                let rows = end.saturating_sub(start) as u64;
                let each = after.saturating_sub(before).checked_div(rows).unwrap_or_default();
                before.saturating_add(each.saturating_mul(row.saturating_sub(start) as u64))
            }
        }
    }

    fn of_row(&self, row: usize) -> u64 {
        self.up_to(row.saturating_add(1)).saturating_sub(self.up_to(row))
    }
}
