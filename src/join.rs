//! Joins arrays of one type, whatever they hold: what does not fit is an error.
//!
//! `arrow_select::concat` panics where lists, maps, list-views or dictionaries inside of
//! something become too long together, adds to the keys of nulls, and gathers unions row by
//! row. So only what has no children is left to it; the rest is put together here, each
//! number checked.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, FieldRef, UnionFields, UnionMode};

use crate::copies::{CopyBudget, CopyReason};
use crate::error::{Error, ErrorKind, Result};

/// Joins arrays and counts what that copies.
pub(crate) struct Join<'j> {
    /// Counts every copy, as of a dictionary.
    pub copies: &'j mut CopyBudget,
    /// The top-level column, for the report and errors.
    pub column: usize,
    /// Its name.
    pub name: &'j str,
    /// How many rows may become of arrays whose rows take no bytes.
    pub max_rows_without_bytes: u64,
}

impl Join<'_> {
    /// All rows of the arrays, which are one or more of the same type.
    pub(crate) fn arrays(&mut self, arrays: &[ArrayRef]) -> Result<ArrayRef> {
        use DataType::*;
        let Some(first) = arrays.first() else {
            return Err(self.error(ArrowError::ComputeError("nothing to join".into())));
        };
        let data_type = first.data_type();
        if let Some(other) = arrays.iter().find(|array| array.data_type() != data_type) {
            let reason = format!("{} cannot be joined with {data_type}", other.data_type());
            return Err(self.error(ArrowError::SchemaError(reason)));
        }
        // Values that no key names are data, so that a dictionary of no rows counts as well.
        let some = |array: &&ArrayRef| !array.is_empty() || matches!(data_type, Dictionary(..));
        let arrays: Vec<ArrayRef> = arrays.iter().filter(some).cloned().collect();
        let arrays = match arrays.as_slice() {
            [] => return Ok(first.clone()),
            [array] => return Ok(array.clone()),
            arrays => arrays,
        };
        let rows = arrays.iter().map(|array| array.len()).fold(0, usize::saturating_add);
        match data_type {
            Null => {
                self.check_free_rows(rows)?;
                Ok(Arc::new(NullArray::new(rows)))
            }
            List(field) => self.list::<i32>(arrays, field, rows),
            LargeList(field) => self.list::<i64>(arrays, field, rows),
            ListView(field) => self.list_view::<i32>(arrays, field, rows),
            LargeListView(field) => self.list_view::<i64>(arrays, field, rows),
            FixedSizeList(field, size) => {
                if *size == 0 {
                    self.check_free_rows(rows)?;
                }
                let nulls = self.nulls(arrays, rows)?;
                let lists = arrays.iter().filter_map(|array| array.as_fixed_size_list_opt());
                let children: Vec<_> = lists.map(|list| list.values().clone()).collect();
                let child = self.arrays(&children)?;
                let array = FixedSizeListArray::try_new_with_length(field.clone(), *size, child, nulls, rows);
                Ok(Arc::new(array.map_err(|e| self.error(e))?))
            }
            Struct(fields) => {
                if fields.is_empty() {
                    self.check_free_rows(rows)?;
                }
                let nulls = self.nulls(arrays, rows)?;
                let structs: Vec<_> = arrays.iter().filter_map(|array| array.as_struct_opt()).collect();
                let mut columns = Vec::with_capacity(fields.len());
                for index in 0..fields.len() {
                    let pieces = structs.iter().filter_map(|array| array.columns().get(index).cloned());
                    columns.push(self.arrays(&pieces.collect::<Vec<_>>())?);
                }
                let array = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows);
                Ok(Arc::new(array.map_err(|e| self.error(e))?))
            }
            Map(field, sorted) => {
                let nulls = self.nulls(arrays, rows)?;
                let maps = arrays.iter().filter_map(|array| array.as_map_opt());
                let parts = maps.map(|map| (map.offsets(), map.entries() as &dyn Array));
                let (offsets, entries) = self.offsets(parts, rows)?;
                let entries = entries.as_struct().clone();
                let array = MapArray::try_new(field.clone(), offsets, entries, nulls, *sorted);
                Ok(Arc::new(array.map_err(|e| self.error(e))?))
            }
            Union(fields, UnionMode::Sparse) => self.sparse_union(arrays, fields, rows),
            Union(fields, UnionMode::Dense) => self.dense_union(arrays, fields, rows),
            RunEndEncoded(ends, _) => match ends.data_type() {
                Int16 => self.runs::<Int16Type>(arrays, data_type, rows),
                Int32 => self.runs::<Int32Type>(arrays, data_type, rows),
                _ => self.runs::<Int64Type>(arrays, data_type, rows),
            },
            Dictionary(key, _) => match key.as_ref() {
                Int8 => self.dictionary::<Int8Type>(arrays, rows),
                Int16 => self.dictionary::<Int16Type>(arrays, rows),
                Int32 => self.dictionary::<Int32Type>(arrays, rows),
                Int64 => self.dictionary::<Int64Type>(arrays, rows),
                UInt8 => self.dictionary::<UInt8Type>(arrays, rows),
                UInt16 => self.dictionary::<UInt16Type>(arrays, rows),
                UInt32 => self.dictionary::<UInt32Type>(arrays, rows),
                _ => self.dictionary::<UInt64Type>(arrays, rows),
            },
            FixedSizeBinary(0) => {
                self.check_free_rows(rows)?;
                self.leaf(arrays)
            }
            _ => self.leaf(arrays),
        }
    }

    /// Arrays without children.
    fn leaf(&mut self, arrays: &[ArrayRef]) -> Result<ArrayRef> {
        let bytes = arrays.iter().map(leaf_bytes).try_fold(0usize, |sum, bytes| {
            bytes.map(|bytes| sum.saturating_add(bytes)).map_err(|e| self.error(e))
        })?;
        self.claim(bytes)?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&arrays).map_err(|e| self.error(e))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        arrays: &[ArrayRef],
        field: &FieldRef,
        rows: usize,
    ) -> Result<ArrayRef> {
        let nulls = self.nulls(arrays, rows)?;
        let lists = arrays.iter().filter_map(|array| array.as_list_opt::<O>());
        let parts = lists.map(|list| (list.offsets(), list.values().as_ref()));
        let (offsets, child) = self.offsets(parts, rows)?;
        let array = GenericListArray::<O>::try_new(field.clone(), offsets, child, nulls);
        Ok(Arc::new(array.map_err(|e| self.error(e))?))
    }

    /// The offsets of lists or maps, and the rows of their children that these span.
    fn offsets<'a, O: OffsetSizeTrait>(
        &mut self,
        parts: impl Iterator<Item = (&'a OffsetBuffer<O>, &'a dyn Array)>,
        rows: usize,
    ) -> Result<(OffsetBuffer<O>, ArrayRef)> {
        let count = rows.saturating_add(1);
        self.claim(count.saturating_mul(size_of::<O>()))?;
        let mut joined = Vec::with_capacity(count);
        joined.push(O::default());
        let mut children = Vec::new();
        let mut end = 0usize;
        for (offsets, child) in parts {
            let (first, last) = (offsets.first().as_usize(), offsets.last().as_usize());
            let (base, length) = (end, last.saturating_sub(first));
            end = end.saturating_add(length);
            // The last offset is the largest.
            self.offset::<O>(end)?;
            joined.extend(
                offsets
                    .iter()
                    .skip(1)
                    .map(|offset| O::usize_as(offset.as_usize().saturating_sub(first).saturating_add(base))),
            );
            children.push(child.slice(first, length));
        }
        Ok((OffsetBuffer::new(joined.into()), self.arrays(&children)?))
    }

    fn list_view<O: OffsetSizeTrait>(
        &mut self,
        arrays: &[ArrayRef],
        field: &FieldRef,
        rows: usize,
    ) -> Result<ArrayRef> {
        let nulls = self.nulls(arrays, rows)?;
        self.claim(rows.saturating_mul(size_of::<O>()).saturating_mul(2))?;
        let mut offsets = Vec::with_capacity(rows);
        let mut sizes = Vec::with_capacity(rows);
        let mut children = Vec::new();
        let mut base = 0usize;
        for list in arrays.iter().filter_map(|array| array.as_list_view_opt::<O>()) {
            let rows = || list.offsets().iter().zip(list.sizes().iter());
            let used = rows().filter(|(_, size)| **size > O::default());
            // What no row shows stays behind.
            let (first, end) = used.fold((usize::MAX, 0), |(first, end), (offset, size)| {
                let offset = offset.as_usize();
                (first.min(offset), end.max(offset.saturating_add(size.as_usize())))
            });
            let first = first.min(end);
            for (offset, size) in rows() {
                let place = offset.as_usize().clamp(first, end).saturating_sub(first).saturating_add(base);
                offsets.push(self.offset::<O>(place)?);
                sizes.push(*size);
            }
            let length = end.saturating_sub(first);
            children.push(list.values().slice(first, length));
            base = base.saturating_add(length);
        }
        let child = self.arrays(&children)?;
        let (offsets, sizes) = (ScalarBuffer::from(offsets), ScalarBuffer::from(sizes));
        let array = GenericListViewArray::<O>::try_new(field.clone(), offsets, sizes, child, nulls);
        Ok(Arc::new(array.map_err(|e| self.error(e))?))
    }

    fn sparse_union(&mut self, arrays: &[ArrayRef], fields: &UnionFields, rows: usize) -> Result<ArrayRef> {
        self.claim(rows)?;
        let unions: Vec<_> = arrays.iter().filter_map(|array| array.as_union_opt()).collect();
        let type_ids: Vec<i8> = unions.iter().flat_map(|union| union.type_ids().iter().copied()).collect();
        let mut children = Vec::with_capacity(fields.len());
        for (id, _) in fields.iter() {
            let pieces: Vec<_> = unions.iter().map(|union| union.child(id).clone()).collect();
            children.push(self.arrays(&pieces)?);
        }
        let array = UnionArray::try_new(fields.clone(), type_ids.into(), None, children);
        Ok(Arc::new(array.map_err(|e| self.error(e))?))
    }

    fn dense_union(&mut self, arrays: &[ArrayRef], fields: &UnionFields, rows: usize) -> Result<ArrayRef> {
        self.claim(rows.saturating_mul(size_of::<i32>().saturating_add(1)))?;
        let mut type_ids = Vec::with_capacity(rows);
        let mut offsets = Vec::with_capacity(rows);
        let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); fields.len()];
        // By type id, where its child's rows go to.
        let mut bases = [0usize; 128];
        for union in arrays.iter().filter_map(|array| array.as_union_opt()) {
            let rows = || union.type_ids().iter().zip(union.offsets().into_iter().flatten());
            // By type id, the rows of its child that are shown: the others stay behind.
            let mut spans = [(usize::MAX, 0usize); 128];
            for (id, offset) in rows() {
                if let Some((first, end)) = spans.get_mut(index(*id)) {
                    let offset = offset.as_usize();
                    *first = offset.min(*first);
                    *end = offset.saturating_add(1).max(*end);
                }
            }
            for (id, offset) in rows() {
                let first = spans.get(index(*id)).map(|(first, _)| *first).unwrap_or_default();
                let base = bases.get(index(*id)).copied().unwrap_or_default();
                type_ids.push(*id);
                let place = offset.as_usize().saturating_sub(first).saturating_add(base);
                offsets.push(self.offset::<i32>(place)?);
            }
            for ((id, _), pieces) in fields.iter().zip(&mut pieces) {
                let (first, end) = spans.get(index(id)).copied().unwrap_or_default();
                let first = first.min(end);
                let length = end.saturating_sub(first);
                pieces.push(union.child(id).slice(first, length));
                if let Some(base) = bases.get_mut(index(id)) {
                    *base = base.saturating_add(length);
                }
            }
        }
        let children = pieces.iter().map(|pieces| self.arrays(pieces)).collect::<Result<_>>()?;
        let array = UnionArray::try_new(fields.clone(), type_ids.into(), Some(offsets.into()), children);
        Ok(Arc::new(array.map_err(|e| self.error(e))?))
    }

    fn runs<R: RunEndIndexType>(
        &mut self,
        arrays: &[ArrayRef],
        data_type: &DataType,
        rows: usize,
    ) -> Result<ArrayRef> {
        self.check_free_rows(rows)?;
        // The last run ends at the last row: if that fits, all do.
        if R::Native::from_usize(rows).is_none() {
            return Err(self.error(ArrowError::RunEndIndexOverflowError));
        }
        let runs: Vec<_> = arrays.iter().filter_map(|a| a.as_any().downcast_ref::<RunArray<R>>()).collect();
        let values: Vec<ArrayRef> = runs.iter().map(|run| run.values_slice()).collect();
        let count = values.iter().map(|values| values.len()).fold(0, usize::saturating_add);
        self.claim(count.saturating_mul(size_of::<R::Native>()))?;
        let mut ends: Vec<R::Native> = Vec::with_capacity(count);
        let mut base = 0usize;
        for run in &runs {
            let shifted = |end: R::Native| R::Native::usize_as(end.as_usize().saturating_add(base));
            ends.extend(run.run_ends().sliced_values().map(shifted));
            base = base.saturating_add(run.len());
        }
        let ends = PrimitiveArray::<R>::try_new(ends.into(), None).map_err(|e| self.error(e))?;
        let values = self.arrays(&values)?;
        let data = ArrayData::builder(data_type.clone())
            .len(rows)
            .add_child_data(ends.into_data())
            .add_child_data(values.to_data());
        let data = data.build().map_err(|e| self.error(e))?;
        Ok(Arc::new(RunArray::<R>::from(data)))
    }

    fn dictionary<K: ArrowDictionaryKeyType>(
        &mut self,
        arrays: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let parts: Vec<_> = arrays.iter().filter_map(|array| array.as_dictionary_opt::<K>()).collect();
        // Where the values of each part start among the joined ones. Parts in a row that
        // share their values do so once.
        let mut values: Vec<ArrayRef> = Vec::new();
        let mut starts = Vec::with_capacity(parts.len());
        let (mut start, mut end) = (0usize, 0usize);
        for part in &parts {
            if values.last().is_none_or(|last| !is_same_array(last, part.values())) {
                values.push(part.values().clone());
                start = end;
                end = end.saturating_add(part.values().len());
            }
            starts.push(start);
        }
        let fits = end == 0 || K::Native::from_usize(end.saturating_sub(1)).is_some();
        if values.len() > 1 && (!fits || end >= rows) && is_mergeable(parts.first().map(|p| p.values())) {
            return self.merged::<K>(&parts, rows);
        }
        if !fits {
            return Err(self.error(ArrowError::DictionaryKeyOverflowError));
        }
        let nulls = self.nulls(arrays, rows)?;
        self.claim(rows.saturating_mul(size_of::<K::Native>()))?;
        let mut keys: Vec<K::Native> = Vec::with_capacity(rows);
        for (part, start) in parts.iter().zip(starts) {
            // The key of a null may be any number.
            keys.extend(part.keys().iter().map(|key| match key {
                Some(key) => K::Native::usize_as(key.as_usize().saturating_add(start)),
                None => K::Native::default(),
            }));
        }
        let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls).map_err(|e| self.error(e))?;
        let values = self.arrays(&values)?;
        let array = DictionaryArray::try_new(keys, values).map_err(|e| self.error(e))?;
        Ok(Arc::new(array))
    }

    /// A dictionary of the values in use, each once if that is cheap.
    fn merged<K: ArrowDictionaryKeyType>(
        &mut self,
        parts: &[&DictionaryArray<K>],
        rows: usize,
    ) -> Result<ArrayRef> {
        let mut bytes = rows.saturating_mul(size_of::<K::Native>());
        for part in parts {
            bytes = bytes.saturating_add(leaf_bytes(part.values()).map_err(|e| self.error(e))?);
        }
        self.claim(bytes)?;
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| *part as &dyn Array).collect();
        arrow_select::concat::concat(&arrays).map_err(|e| self.error(e))
    }

    /// The bitmap of all rows, if there are nulls.
    fn nulls(&mut self, arrays: &[ArrayRef], rows: usize) -> Result<Option<NullBuffer>> {
        if arrays.iter().all(|array| array.null_count() == 0) {
            return Ok(None);
        }
        self.claim(rows.div_ceil(8))?;
        let mut bits = BooleanBufferBuilder::new(rows);
        for array in arrays {
            match array.nulls() {
                Some(nulls) => bits.append_buffer(nulls.inner()),
                None => bits.append_n(array.len(), true),
            }
        }
        Ok(Some(NullBuffer::new(bits.finish())))
    }

    /// A number as an offset.
    fn offset<O: ArrowNativeType>(&self, number: usize) -> Result<O> {
        O::from_usize(number).ok_or_else(|| self.error(ArrowError::OffsetOverflowError(number)))
    }

    fn check_free_rows(&self, rows: usize) -> Result<()> {
        let (requested, allowed) = (rows as u64, self.max_rows_without_bytes);
        if requested > allowed {
            return Err(ErrorKind::Limit { limit: "max_rows_without_bytes", requested, allowed }.into());
        }
        Ok(())
    }

    fn claim(&mut self, bytes: usize) -> Result<()> {
        self.copies.claim(self.column, self.name, CopyReason::Dictionary, bytes)
    }

    fn error(&self, source: ArrowError) -> Error {
        ErrorKind::Arrow { column: self.name.to_owned(), source }.into()
    }
}

/// Bytes that a copy of an array without children has. Views share their data.
fn leaf_bytes(array: &ArrayRef) -> Result<usize, ArrowError> {
    if matches!(array.data_type(), DataType::Utf8View | DataType::BinaryView) {
        let bitmap = array.nulls().map_or(0, |_| array.len().div_ceil(8));
        return Ok(array.len().saturating_mul(size_of::<u128>()).saturating_add(bitmap));
    }
    array.to_data().get_slice_memory_size()
}

/// Whether arrow knows how to find equal values among these.
fn is_mergeable(values: Option<&ArrayRef>) -> bool {
    use DataType::*;
    let is_mergeable =
        |t: &DataType| t.is_primitive() || matches!(t, Utf8 | LargeUtf8 | Binary | LargeBinary);
    values.is_some_and(|values| is_mergeable(values.data_type()))
}

/// Whether two arrays are the same memory.
pub(crate) fn is_same_array(a: &ArrayRef, b: &ArrayRef) -> bool {
    Arc::ptr_eq(a, b) || (a.len() == b.len() && a.to_data().ptr_eq(&b.to_data()))
}

/// A type id as an index; negative ones become too large to be any.
fn index(id: i8) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}
