//! The walk over arrays: nodes, buffers and dictionaries in the order of Arrow IPC.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, UnionMode};

use super::body::{Body, MetDictionary};
use super::measure::bytes_of;
use super::slices::{self, Carried, Trim};
use crate::compression::{self, Compression};
use crate::copies::{CopyBudget, CopyReason};
use crate::error::{Error, ErrorKind, Result};
use crate::nulls::{self, Hidden};
use crate::wire::batch::Span;
use crate::wire::schema::WireSchema;

/// One walk over the columns of a message.
pub(super) struct Walk<'w> {
    /// What the walk fills.
    pub body: &'w mut Body,
    /// The schema, whose dictionaries are met in order.
    pub schema: &'w WireSchema,
    /// Counts every copy.
    pub copies: &'w mut CopyBudget,
    /// How every buffer is compressed.
    pub compression: Option<Compression>,
    /// The top-level column, for the report and errors.
    pub column: usize,
    /// The dictionary of the schema that comes next.
    pub dictionary: usize,
    /// Whether unused dictionary values may be left out.
    pub trim: bool,
    /// What the arrays around the current one carry for nothing.
    pub carried: Carried,
}

impl Walk<'_> {
    /// An array and everything inside it.
    pub(super) fn array(&mut self, array: &dyn Array) -> Result<()> {
        use DataType::*;
        macro_rules! primitive {
            ($t:ty) => {
                self.primitive::<$t>(array.as_primitive::<$t>())
            };
        }
        downcast_primitive! {
            array.data_type() => (primitive),
            Null => {
                self.null(array.len());
                Ok(())
            }
            Boolean => {
                let array = array.as_boolean();
                self.node_and_validity(array)?;
                self.bits(array.values())
            }
            Utf8 => self.bytes(array.as_bytes::<Utf8Type>()),
            LargeUtf8 => self.bytes(array.as_bytes::<LargeUtf8Type>()),
            Binary => self.bytes(array.as_bytes::<BinaryType>()),
            LargeBinary => self.bytes(array.as_bytes::<LargeBinaryType>()),
            Utf8View => self.views(array.as_byte_view::<StringViewType>()),
            BinaryView => self.views(array.as_byte_view::<BinaryViewType>()),
            FixedSizeBinary(width) => {
                let array = array.as_fixed_size_binary();
                self.node_and_validity(array)?;
                let length = array.len() * usize::try_from(*width).unwrap_or(0);
                self.bytes_buffer(array.values().slice_with_length(0, length))
            }
            List(field) => self.list(field, array.as_list::<i32>()),
            LargeList(field) => self.list(field, array.as_list::<i64>()),
            ListView(field) => self.list_view(field, array.as_list_view::<i32>()),
            LargeListView(field) => self.list_view(field, array.as_list_view::<i64>()),
            FixedSizeList(field, size) => {
                let array = array.as_fixed_size_list();
                self.node_and_validity(array)?;
                let size = usize::try_from(*size).unwrap_or(0);
                self.rows(field, array.values(), 0, array.len() * size, Hidden::Lists(array.nulls(), size))
            }
            Struct(fields) => {
                let array = array.as_struct();
                self.node_and_validity(array)?;
                let mut columns = fields.iter().zip(array.columns());
                columns.try_for_each(|(field, column)| self.child(field, column, Hidden::Rows(array.nulls())))
            }
            Map(field, _) => {
                let array = array.as_map();
                self.node_and_validity(array)?;
                self.offsets_and_rows(array.offsets(), field, array.entries())
            }
            Union(_, mode) => self.union(array.as_union(), *mode),
            Dictionary(..) => self.dictionary(array),
            RunEndEncoded(ends, values) => match ends.data_type() {
                Int16 => self.runs::<Int16Type>(values, array),
                Int32 => self.runs::<Int32Type>(values, array),
                _ => self.runs::<Int64Type>(values, array),
            },
            // Every other type is primitive, and was matched above.
            _ => Ok(()),
        }
    }

    /// A column of nulls: a node, and no buffers.
    pub(super) fn null(&mut self, rows: usize) {
        self.body.node(rows, rows);
    }

    /// A frame of an opaque column.
    pub(super) fn payload(&mut self, buffer: &Buffer) -> Result<Span> {
        let frame = self.compressed(buffer.clone())?;
        Ok(self.body.payload(frame))
    }

    #[inline]
    fn primitive<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>) -> Result<()> {
        self.node_and_validity(array)?;
        self.buffer::<T::Native>(array.values().inner().clone())
    }

    fn bytes<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>) -> Result<()> {
        self.node_and_validity(array)?;
        let offsets = array.offsets();
        let (first, last) = (offsets.first().as_usize(), offsets.last().as_usize());
        if self.carried.allows(first, size_of_val(&offsets[..])) {
            self.buffer::<T::Offset>(offsets.inner().inner().clone())?;
            self.bytes_buffer(array.values().slice_with_length(0, last))
        } else {
            self.rebased(offsets)?;
            self.bytes_buffer(array.values().slice_with_length(first, last - first))
        }
    }

    fn views<T: ByteViewType>(&mut self, array: &GenericByteViewArray<T>) -> Result<()> {
        self.node_and_validity(array)?;
        let plan = slices::views(array, self.carried, self.compression.is_some());
        self.claim(CopyReason::Rebased, plan.rebased_bytes)?;
        self.claim(CopyReason::Compacted, plan.compacted_bytes)?;
        let (views, buffers) = plan.apply(array);
        self.buffer::<u128>(views)?;
        self.body.variadic.push(buffers.len() as i64);
        buffers.into_iter().try_for_each(|buffer| self.bytes_buffer(buffer))
    }

    fn list<O: OffsetSizeTrait>(&mut self, field: &Field, array: &GenericListArray<O>) -> Result<()> {
        self.node_and_validity(array)?;
        self.offsets_and_rows(array.offsets(), field, array.values())
    }

    /// The offsets of a list or a map, and the rows of its child that they span.
    fn offsets_and_rows<O: OffsetSizeTrait>(
        &mut self,
        offsets: &OffsetBuffer<O>,
        field: &Field,
        child: &dyn Array,
    ) -> Result<()> {
        let (first, last) = (offsets.first().as_usize(), offsets.last().as_usize());
        let offset_bytes = size_of_val(&offsets[..]);
        let allowance = self.allowance(child.data_type());
        let front = bytes_of(child, 0, first, allowance.left_of(offset_bytes));
        if allowance.allows(front, offset_bytes) {
            self.buffer::<O>(offsets.inner().inner().clone())?;
            self.carrying(front, |walk| walk.rows(field, child, 0, last, Hidden::Nothing))
        } else {
            self.rebased(offsets)?;
            self.rows(field, child, first, last - first, Hidden::Nothing)
        }
    }

    fn list_view<O: OffsetSizeTrait>(
        &mut self,
        field: &Field,
        array: &GenericListViewArray<O>,
    ) -> Result<()> {
        self.node_and_validity(array)?;
        let plan = slices::list_view(array, self.allowance(array.data_type()));
        self.claim(CopyReason::Rebased, plan.rebased_bytes)?;
        self.claim(CopyReason::Compacted, plan.compacted_bytes)?;
        let carried = plan.carried_bytes;
        let (offsets, child) = plan.apply(array).map_err(|e| self.arrow(e))?;
        self.buffer::<O>(offsets)?;
        self.buffer::<O>(array.sizes().inner().clone())?;
        self.carrying(carried, |walk| walk.child(field, child.as_ref(), Hidden::Nothing))
    }

    fn union(&mut self, array: &UnionArray, mode: UnionMode) -> Result<()> {
        let DataType::Union(fields, _) = array.data_type() else { return Ok(()) };
        self.body.node(array.len(), 0);
        self.buffer::<i8>(array.type_ids().inner().clone())?;
        if mode == UnionMode::Sparse {
            let rows = array.len();
            let mut children = fields.iter().map(|(id, field)| (field, array.child(id)));
            return children
                .try_for_each(|(field, child)| self.rows(field, child, 0, rows, Hidden::Anything));
        }
        let plan = slices::dense_union(array, self.allowance(array.data_type()));
        self.claim(CopyReason::Rebased, plan.rebased_bytes)?;
        self.claim(CopyReason::Compacted, plan.compacted_bytes)?;
        let carried = plan.carried_bytes;
        let (offsets, children) = plan.apply(array).map_err(|e| self.arrow(e))?;
        self.buffer::<i32>(offsets)?;
        let mut children = fields.iter().zip(&children);
        self.carrying(carried, |walk| {
            children.try_for_each(|((_, field), child)| walk.child(field, child, Hidden::Anything))
        })
    }

    fn dictionary(&mut self, array: &dyn Array) -> Result<()> {
        let index = self.dictionary;
        let Some(field) = self.schema.dictionaries.get(index) else { return Ok(()) };
        self.dictionary = index + 1 + field.nested;
        let dictionary = array.as_any_dictionary();
        let trim = if self.trim && !field.ordered { slices::trim(dictionary) } else { Trim::Whole(0) };
        let (keys, values, carried) = match trim {
            Trim::Whole(carried) => (None, dictionary.values().clone(), Carried(carried)),
            Trim::Used(plan) => {
                self.claim(CopyReason::Dictionary, plan.copied_bytes)?;
                let (keys, values) = plan.apply(dictionary).map_err(|e| self.arrow(e))?;
                (Some(keys), values, Carried::default())
            }
        };
        self.body.dictionaries.push(MetDictionary { index, values, carried });
        self.array(keys.as_deref().unwrap_or(dictionary.keys()))
    }

    fn runs<R: RunEndIndexType>(&mut self, field: &Field, array: &dyn Array) -> Result<()> {
        let Some(array) = array.as_any().downcast_ref::<RunArray<R>>() else { return Ok(()) };
        self.body.node(array.len(), 0);
        let ends = array.run_ends();
        let (first, count) = if array.is_empty() {
            (0, 0)
        } else {
            let first = ends.get_start_physical_index();
            (first, ends.get_end_physical_index() - first + 1)
        };
        self.body.node(count, 0);
        self.body.absent();
        let used = ends.inner().slice(first, count);
        let fits = used.last().is_none_or(|end| end.as_usize() == array.len());
        if ends.offset() == 0 && fits {
            self.buffer::<R::Native>(used.into_inner())?;
        } else {
            self.claim(CopyReason::Rebased, used.inner().len())?;
            let cut =
                |end: &R::Native| R::Native::usize_as((end.as_usize() - ends.offset()).min(array.len()));
            let cut: ScalarBuffer<R::Native> = used.iter().map(cut).collect::<Vec<_>>().into();
            self.buffer::<R::Native>(cut.into_inner())?;
        }
        self.rows(field, array.values(), first, count, Hidden::Nothing)
    }

    /// How much rows of a type inside may carry for nothing.
    fn allowance(&self, data_type: &DataType) -> Carried {
        // A dictionary is trimmed to the values that its keys use, those of such rows included.
        if self.trim && slices::has_keys(data_type) { Carried::FULL } else { self.carried }
    }

    /// Walks arrays inside one that carries so many bytes of them for nothing.
    fn carrying(&mut self, bytes: usize, inside: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let around = self.carried;
        self.carried.0 += bytes;
        let result = inside(self);
        self.carried = around;
        result
    }

    /// Some rows of an array inside another one.
    fn rows(
        &mut self,
        field: &Field,
        array: &dyn Array,
        first: usize,
        count: usize,
        hidden: Hidden<'_>,
    ) -> Result<()> {
        if first == 0 && count == array.len() {
            self.child(field, array, hidden)
        } else {
            self.child(field, array.slice(first, count).as_ref(), hidden)
        }
    }

    /// An array inside another one, which hides some of its rows.
    fn child(&mut self, field: &Field, array: &dyn Array, hidden: Hidden<'_>) -> Result<()> {
        nulls::check_child(field, array, hidden)?;
        self.array(array).map_err(|error| error.inside(field.name()))
    }

    fn rebased<O: OffsetSizeTrait>(&mut self, offsets: &OffsetBuffer<O>) -> Result<()> {
        self.claim(CopyReason::Rebased, size_of_val(&offsets[..]))?;
        let first = offsets.first();
        let rebased: Vec<O> = offsets.iter().map(|&offset| offset - first).collect();
        self.buffer::<O>(Buffer::from_vec(rebased))
    }

    #[inline]
    fn node_and_validity(&mut self, array: &dyn Array) -> Result<()> {
        // A bitmap without nulls says nothing; it is not sent.
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => {
                self.body.node(array.len(), 0);
                self.body.absent();
                Ok(())
            }
            Some(nulls) => {
                self.body.node(array.len(), nulls.null_count());
                self.bits(NullBuffer::inner(nulls))
            }
        }
    }

    fn bits(&mut self, bits: &BooleanBuffer) -> Result<()> {
        let bytes = bits.len().div_ceil(8);
        if bits.offset().is_multiple_of(8) {
            return self.bytes_buffer(bits.inner().slice_with_length(bits.offset() / 8, bytes));
        }
        self.claim(CopyReason::BitOffset, bytes)?;
        self.bytes_buffer(bits.sliced().slice_with_length(0, bytes))
    }

    /// A buffer of elements of this type.
    #[inline]
    fn buffer<T>(&mut self, buffer: Buffer) -> Result<()> {
        // An interval of several numbers is aligned like them, and so is its `Vec`.
        const WIDEST: usize = align_of::<u128>();
        let width = const { if align_of::<T>() == WIDEST { size_of::<T>() } else { align_of::<T>() } };
        let buffer = if self.compression.is_some() { self.compressed(buffer)? } else { buffer };
        self.body.buffer(buffer, width as u8);
        Ok(())
    }

    /// A buffer of bytes, or of bits.
    fn bytes_buffer(&mut self, buffer: Buffer) -> Result<()> {
        self.buffer::<u8>(buffer)
    }

    fn compressed(&mut self, buffer: Buffer) -> Result<Buffer> {
        let Some(compression) = self.compression.filter(|_| !buffer.is_empty()) else {
            return Ok(buffer);
        };
        let compressed = compression::compress(compression, &buffer).map_err(|source| {
            let column = self.schema.column_name(self.column).to_owned();
            ErrorKind::CodecFailed { column, source }
        })?;
        self.claim(CopyReason::Compressed, compressed.len())?;
        Ok(Buffer::from_vec(compressed))
    }

    fn arrow(&self, source: ArrowError) -> Error {
        ErrorKind::Arrow { column: self.schema.column_name(self.column).to_owned(), source }.into()
    }

    fn claim(&mut self, reason: CopyReason, bytes: usize) -> Result<()> {
        self.copies.claim(self.column, self.schema.column_name(self.column), reason, bytes)
    }
}

/// The values of a run-end encoded array, whatever the type of its run ends.
pub(super) fn run_values(array: &dyn Array) -> Option<&ArrayRef> {
    let any = array.as_any();
    any.downcast_ref::<RunArray<Int16Type>>()
        .map(RunArray::values)
        .or_else(|| any.downcast_ref::<RunArray<Int32Type>>().map(RunArray::values))
        .or_else(|| any.downcast_ref::<RunArray<Int64Type>>().map(RunArray::values))
}
