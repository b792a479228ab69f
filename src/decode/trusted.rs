//! All unsafe code of the codec that does something: arrays put together without Arrow's own check,
//! because ours was made on the same buffers just before, or because the caller promised
//! that none is needed.
//!
//! Every function here is safe to call: it validates unless it is handed a [`Trust`] that
//! only unsafe code can make.
#![allow(unsafe_code)]

use arrow_array::types::{ArrowDictionaryKeyType, ByteArrayType, ByteViewType, RunEndIndexType};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, GenericByteArray, GenericByteViewArray,
    GenericListViewArray, OffsetSizeTrait, PrimitiveArray, RunArray, UnionArray,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, RunEndBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, FieldRef, UnionFields};

use super::validate;
use crate::error::{ErrorKind, Result};

/// Whether the bytes of columns are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trust(bool);

impl Trust {
    /// Nothing is taken on trust.
    pub(crate) fn validate() -> Self {
        Trust(false)
    }

    /// Everything that only the bytes of columns show is taken on trust.
    ///
    /// # Safety
    ///
    /// All data that is decoded under it is valid Arrow data.
    pub(super) unsafe fn trusted() -> Self {
        Trust(true)
    }

    /// Whether to validate.
    pub(super) fn validates(self) -> bool {
        !self.0
    }
}

/// A validity bitmap of `bits.len()` rows with this many nulls.
pub(super) fn nulls(bits: BooleanBuffer, count: usize, trust: Trust, column: &str) -> Result<NullBuffer> {
    if trust.validates() {
        validate::null_count(&bits, count, column)?;
    }
    // SAFETY: the count was compared with the bits, or the caller vouches for it.
    Ok(unsafe { NullBuffer::new_unchecked(bits, count) })
}

/// Values, and a bitmap that its reader made as long.
#[inline]
pub(super) fn primitive<T: ArrowPrimitiveType>(
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<T> {
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == values.len()));
    // SAFETY: both were taken for the rows of one node.
    unsafe { PrimitiveArray::new_unchecked(values, nulls) }
}

/// Offsets into values of length `limit`. There is at least one offset.
pub(crate) fn offsets<O: OffsetSizeTrait>(
    offsets: ScalarBuffer<O>,
    limit: usize,
    trust: Trust,
    column: &str,
) -> Result<OffsetBuffer<O>> {
    if trust.validates() {
        validate::offsets(&offsets, limit, column)?;
    } else {
        validate::last_offset(&offsets, limit, column)?;
    }
    // SAFETY: the offsets are not empty, and ascend from 0 or more: checked in full, or for
    // all but the last one vouched for by the caller.
    Ok(unsafe { OffsetBuffer::new_unchecked(offsets) })
}

/// Strings or binaries. The offsets lie inside the values.
pub(crate) fn bytes<T: ByteArrayType>(
    offsets: OffsetBuffer<T::Offset>,
    values: Buffer,
    nulls: Option<NullBuffer>,
    trust: Trust,
    column: &str,
) -> Result<GenericByteArray<T>> {
    if trust.validates() && matches!(T::DATA_TYPE, DataType::Utf8 | DataType::LargeUtf8) {
        validate::utf8(&offsets, &values, column)?;
    }
    // SAFETY: `offsets` made sure that all offsets ascend inside the values; text is UTF-8
    // between every two offsets, or the caller vouches for it. The bitmap has one bit per
    // row: its reader took as many as there are rows.
    Ok(unsafe { GenericByteArray::new_unchecked(offsets, values, nulls) })
}

/// String or binary views.
pub(crate) fn views<T: ByteViewType>(
    views: ScalarBuffer<u128>,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
    trust: Trust,
    column: &str,
) -> Result<GenericByteViewArray<T>> {
    if trust.validates() {
        validate::views(&views, &buffers, T::IS_UTF8, column)?;
    }
    // SAFETY: every view, that of a null included, is inline or lies inside its buffer with
    // the prefix it claims, and is UTF-8 where it must be; or the caller vouches for it.
    Ok(unsafe { GenericByteViewArray::new_unchecked(views, buffers.into(), nulls) })
}

/// A dictionary-encoded array.
pub(crate) fn dictionary<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    values: ArrayRef,
    trust: Trust,
    column: &str,
) -> Result<DictionaryArray<K>> {
    if trust.validates() {
        validate::keys(&keys, values.len(), column)?;
    }
    // SAFETY: every key that is not null has a value, or the caller vouches for it.
    Ok(unsafe { DictionaryArray::new_unchecked(keys, values) })
}

/// A list-view. There are as many sizes as offsets, and as many bits in its bitmap.
pub(super) fn list_view<O: OffsetSizeTrait>(
    field: FieldRef,
    offsets: ScalarBuffer<O>,
    sizes: ScalarBuffer<O>,
    child: ArrayRef,
    nulls: Option<NullBuffer>,
    trust: Trust,
    column: &str,
) -> Result<GenericListViewArray<O>> {
    if trust.validates() {
        validate::list_views(&offsets, &sizes, child.len(), column)?;
        return GenericListViewArray::try_new(field, offsets, sizes, child, nulls)
            .map_err(|source| ErrorKind::Arrow { column: column.to_owned(), source }.into());
    }
    // SAFETY: the caller vouches that every offset and size lies inside the child, whose type
    // is the field's: its reader was told so.
    Ok(unsafe { GenericListViewArray::new_unchecked(field, offsets, sizes, child, nulls) })
}

/// A union. There is a child per field, and a sparse union's children have its length.
pub(super) fn union(
    fields: UnionFields,
    type_ids: ScalarBuffer<i8>,
    offsets: Option<ScalarBuffer<i32>>,
    children: Vec<ArrayRef>,
    trust: Trust,
    column: &str,
) -> Result<UnionArray> {
    if trust.validates() {
        validate::union(&fields, &type_ids, offsets.as_deref(), &children, column)?;
    }
    // SAFETY: every type id has a field and every offset a row of its child, or the caller
    // vouches for it; the children were counted and measured by the reader.
    Ok(unsafe { UnionArray::new_unchecked(fields, type_ids, offsets, children) })
}

/// A run-end encoded array of `rows` rows. There are as many values as run ends.
pub(super) fn runs<R: RunEndIndexType>(
    data_type: DataType,
    ends: ScalarBuffer<R::Native>,
    rows: usize,
    values: ArrayRef,
    trust: Trust,
    column: &str,
) -> Result<RunArray<R>> {
    if trust.validates() {
        validate::run_ends::<R>(&ends, rows, column)?;
    } else {
        validate::last_run_end::<R>(&ends, rows, column)?;
    }
    // SAFETY: the run ends ascend from 1, or the caller vouches for it, and the last one is
    // not before the last row.
    let ends = unsafe { RunEndBuffer::new_unchecked(ends, 0, rows) };
    // SAFETY: the type is a run-end encoding of R and of the values' type: it is the type
    // that the reader took both from.
    Ok(unsafe { RunArray::new_unchecked(data_type, ends, values) })
}

/// The number as a `usize`; negative ones become too large to be anything.
pub(super) fn index<N: ArrowNativeType>(number: N) -> usize {
    number.to_usize().unwrap_or(usize::MAX)
}
