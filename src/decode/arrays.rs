//! Builds an array of each type from a reader's nodes and buffers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, UnionMode};

use super::reader::{Node, Reader};
use super::trusted;
use crate::error::{Error, ErrorKind, Part, Result};
use crate::nulls::{self, Hidden};

impl Reader<'_, '_> {
    /// The next array, of this type.
    pub(super) fn array(&mut self, data_type: &DataType) -> Result<ArrayRef> {
        use DataType::*;
        macro_rules! primitive {
            ($t:ty) => {{
                let array = self.primitive::<$t>()?;
                // Only these types have parameters that `$t` does not say.
                let has_parameters = matches!(
                    data_type,
                    Timestamp(..) | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..)
                );
                let array = if has_parameters { array.with_data_type(data_type.clone()) } else { array };
                Ok(Arc::new(array))
            }};
        }
        downcast_primitive! {
            data_type => (primitive),
            Null => {
                let rows = self.node()?.rows;
                self.check_free_rows(rows)?;
                Ok(Arc::new(NullArray::new(rows)))
            }
            Boolean => {
                let (node, nulls) = self.node_and_validity()?;
                let buffer = self.bytes_buffer()?;
                let bits = self.bits(buffer, node.rows, Part::Values)?;
                Ok(Arc::new(BooleanArray::new(bits, nulls)))
            }
            Utf8 => self.bytes::<Utf8Type>(),
            LargeUtf8 => self.bytes::<LargeUtf8Type>(),
            Binary => self.bytes::<BinaryType>(),
            LargeBinary => self.bytes::<LargeBinaryType>(),
            Utf8View => self.views::<StringViewType>(),
            BinaryView => self.views::<BinaryViewType>(),
            FixedSizeBinary(width) => self.fixed_size_binary(*width),
            List(field) => self.list::<i32>(field),
            LargeList(field) => self.list::<i64>(field),
            ListView(field) => self.list_view::<i32>(field),
            LargeListView(field) => self.list_view::<i64>(field),
            FixedSizeList(field, size) => self.fixed_size_list(field, *size),
            Struct(fields) => {
                let (node, nulls) = self.node_and_validity()?;
                if fields.is_empty() {
                    self.check_free_rows(node.rows)?;
                }
                let child = |field: &FieldRef| self.child(field, Hidden::Rows(nulls.as_ref()));
                let children = fields.iter().map(child).collect::<Result<_>>()?;
                let array = StructArray::try_new_with_length(fields.clone(), children, nulls, node.rows);
                Ok(Arc::new(array.map_err(|e| self.arrow(e))?))
            }
            Map(field, sorted) => {
                let (node, nulls) = self.node_and_validity()?;
                let offsets = self.offsets::<i32>(node.rows)?;
                let entries = self.child(field, Hidden::Nothing)?;
                let offsets = self.check_offsets(offsets, entries.len())?;
                let entries = entries.as_struct().clone();
                let array = MapArray::try_new(field.clone(), offsets, entries, nulls, *sorted);
                Ok(Arc::new(array.map_err(|e| self.arrow(e))?))
            }
            Union(fields, mode) => {
                let node = self.node()?;
                if self.meta.is_v4 {
                    self.v4_validity(node)?;
                }
                let type_ids = self.values::<i8>(node.rows, Part::TypeIds)?;
                let offsets = match mode {
                    UnionMode::Sparse => None,
                    UnionMode::Dense => Some(self.values::<i32>(node.rows, Part::Offsets)?),
                };
                let children = fields.iter().map(|(_, field)| self.child(field, Hidden::Anything));
                let children = children.collect::<Result<Vec<_>>>()?;
                if let (None, Some(child)) = (&offsets, children.iter().find(|c| c.len() != node.rows)) {
                    return Err(self.count(Part::Rows, child.len()));
                }
                let (trust, name) = (self.trust, self.name());
                Ok(Arc::new(trusted::union(fields.clone(), type_ids, offsets, children, trust, name)?))
            }
            Dictionary(key, value) => match key.as_ref() {
                Int8 => self.dictionary::<Int8Type>(value),
                Int16 => self.dictionary::<Int16Type>(value),
                Int32 => self.dictionary::<Int32Type>(value),
                Int64 => self.dictionary::<Int64Type>(value),
                UInt8 => self.dictionary::<UInt8Type>(value),
                UInt16 => self.dictionary::<UInt16Type>(value),
                UInt32 => self.dictionary::<UInt32Type>(value),
                UInt64 => self.dictionary::<UInt64Type>(value),
                _ => Err(self.unsupported(data_type)),
            },
            RunEndEncoded(ends, values) => match ends.data_type() {
                Int16 => self.runs::<Int16Type>(data_type, values),
                Int32 => self.runs::<Int32Type>(data_type, values),
                Int64 => self.runs::<Int64Type>(data_type, values),
                _ => Err(self.unsupported(data_type)),
            },
            _ => Err(self.unsupported(data_type)),
        }
    }

    /// The next array, of this field, which is inside another one that hides some of its rows.
    fn child(&mut self, field: &Field, hidden: Hidden<'_>) -> Result<ArrayRef> {
        let child = self.array(field.data_type()).map_err(|error| error.inside(field.name()))?;
        nulls::check_child(field, &child, hidden)?;
        Ok(child)
    }

    /// Passes over the next array, of this type.
    pub(super) fn skip(&mut self, data_type: &DataType) -> Result<()> {
        use DataType::*;
        let node = self.node()?;
        let buffers = match data_type {
            Null | RunEndEncoded(..) => 0,
            Struct(_) | FixedSizeList(..) => 1,
            Union(_, UnionMode::Sparse) => 1,
            Union(_, UnionMode::Dense) => 2,
            Utf8 | LargeUtf8 | Binary | LargeBinary | ListView(_) | LargeListView(_) => 3,
            _ => 2,
        };
        if self.meta.is_v4 && matches!(data_type, Union(..) | RunEndEncoded(..)) {
            self.v4_validity(node)?;
        }
        for _ in 0..buffers {
            self.skip_buffer()?;
        }
        match data_type {
            Utf8View | BinaryView => {
                for _ in 0..self.variadic_count()? {
                    self.skip_buffer()?;
                }
                Ok(())
            }
            List(field) | LargeList(field) | ListView(field) | LargeListView(field) => {
                self.skip(field.data_type())
            }
            FixedSizeList(field, _) | Map(field, _) => self.skip(field.data_type()),
            Struct(fields) => fields.iter().try_for_each(|field| self.skip(field.data_type())),
            Union(fields, _) => fields.iter().try_for_each(|(_, field)| self.skip(field.data_type())),
            RunEndEncoded(ends, values) => {
                self.skip(ends.data_type())?;
                self.skip(values.data_type())
            }
            Dictionary(..) => {
                self.next_dictionary();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn primitive<T: ArrowPrimitiveType>(&mut self) -> Result<PrimitiveArray<T>> {
        let (node, nulls) = self.node_and_validity()?;
        let values = self.values::<T::Native>(node.rows, Part::Values)?;
        Ok(trusted::primitive(values, nulls))
    }

    fn bytes<T: ByteArrayType>(&mut self) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        let offsets = self.offsets::<T::Offset>(node.rows)?;
        let values = self.bytes_buffer()?;
        let offsets = self.check_offsets(offsets, values.len())?;
        Ok(Arc::new(trusted::bytes::<T>(offsets, values, nulls, self.trust, self.name())?))
    }

    fn views<T: ByteViewType>(&mut self) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        let views = self.values::<u128>(node.rows, Part::Views)?;
        let count = self.variadic_count()?;
        let buffers = (0..count).map(|_| self.bytes_buffer()).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(trusted::views::<T>(views, buffers, nulls, self.trust, self.name())?))
    }

    fn fixed_size_binary(&mut self, width: i32) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        let buffer = self.bytes_buffer()?;
        if width == 0 {
            self.check_free_rows(node.rows)?;
        }
        let bytes = usize::try_from(width).unwrap_or(usize::MAX);
        let needed = node.rows.checked_mul(bytes).filter(|needed| *needed <= buffer.len());
        let Some(needed) = needed else {
            let needed = (node.rows as u64).saturating_mul(bytes as u64);
            return Err(self.too_short(Part::Values, needed, buffer.len()));
        };
        let values = buffer.slice_with_length(0, needed);
        let array = FixedSizeBinaryArray::try_new_with_len(width, values, nulls, node.rows);
        Ok(Arc::new(array.map_err(|e| self.arrow(e))?))
    }

    fn list<O: OffsetSizeTrait>(&mut self, field: &FieldRef) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        let offsets = self.offsets::<O>(node.rows)?;
        let child = self.child(field, Hidden::Nothing)?;
        let offsets = self.check_offsets(offsets, child.len())?;
        let array = GenericListArray::<O>::try_new(field.clone(), offsets, child, nulls);
        Ok(Arc::new(array.map_err(|e| self.arrow(e))?))
    }

    fn list_view<O: OffsetSizeTrait>(&mut self, field: &FieldRef) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        let offsets = self.values::<O>(node.rows, Part::Offsets)?;
        let sizes = self.values::<O>(node.rows, Part::Sizes)?;
        let child = self.child(field, Hidden::Nothing)?;
        let (trust, name) = (self.trust, self.name());
        let array = trusted::list_view(field.clone(), offsets, sizes, child, nulls, trust, name)?;
        Ok(Arc::new(array))
    }

    fn fixed_size_list(&mut self, field: &FieldRef, size: i32) -> Result<ArrayRef> {
        let (node, nulls) = self.node_and_validity()?;
        if size == 0 {
            self.check_free_rows(node.rows)?;
        }
        let child = self.child(field, Hidden::Anything)?;
        let needed = node.rows.checked_mul(usize::try_from(size).unwrap_or(usize::MAX));
        let Some(needed) = needed.filter(|needed| *needed <= child.len()) else {
            return Err(self.count(Part::Rows, child.len()));
        };
        let child = if needed == child.len() { child } else { child.slice(0, needed) };
        // Values behind the last list are cut off by now.
        let values = usize::try_from(size).unwrap_or_default();
        nulls::check_child(field, &child, Hidden::Lists(nulls.as_ref(), values))?;
        let array = FixedSizeListArray::try_new_with_length(field.clone(), size, child, nulls, node.rows);
        Ok(Arc::new(array.map_err(|e| self.arrow(e))?))
    }

    fn dictionary<K: ArrowDictionaryKeyType>(&mut self, value_type: &DataType) -> Result<ArrayRef> {
        let keys = self.primitive::<K>()?;
        let id = self.next_dictionary();
        let values = match id.and_then(|id| self.dictionaries.get(id)) {
            Some(values) => values.clone(),
            // Nothing but nulls needs no values, and some writers send none.
            None if keys.null_count() == keys.len() => new_empty_array(value_type),
            None => {
                let column = self.name().to_owned();
                return Err(ErrorKind::DictionaryMissing { column, id: id.unwrap_or(-1) }.into());
            }
        };
        Ok(Arc::new(trusted::dictionary(keys, values, self.trust, self.name())?))
    }

    fn runs<R: RunEndIndexType>(&mut self, data_type: &DataType, values: &FieldRef) -> Result<ArrayRef> {
        let node = self.node()?;
        if self.meta.is_v4 {
            self.v4_validity(node)?;
        }
        self.check_free_rows(node.rows)?;
        let ends = self.primitive::<R>()?;
        let values = self.child(values, Hidden::Nothing)?;
        if values.len() != ends.len() {
            return Err(self.count(Part::Rows, values.len()));
        }
        if ends.null_count() > 0 {
            return Err(self.null_count(ends.null_count(), 0));
        }
        let ends = ends.values().clone();
        let (trust, name) = (self.trust, self.name());
        Ok(Arc::new(trusted::runs::<R>(data_type.clone(), ends, node.rows, values, trust, name)?))
    }

    #[inline]
    fn node_and_validity(&mut self) -> Result<(Node, Option<NullBuffer>)> {
        let node = self.node()?;
        let nulls = match self.buffer_if_any()? {
            None if node.nulls > 0 => return Err(self.null_count(node.nulls, 0)),
            None => None,
            Some(_) if node.nulls == 0 && !self.trust.validates() => None,
            Some(buffer) => {
                let buffer = if node.nulls > 0 { self.owned_bytes(buffer)? } else { buffer };
                let bits = self.bits(buffer, node.rows, Part::Validity)?;
                let nulls = trusted::nulls(bits, node.nulls, self.trust, self.name())?;
                (node.nulls > 0).then_some(nulls)
            }
        };
        Ok((node, nulls))
    }

    fn bits(&self, buffer: Buffer, rows: usize, part: Part) -> Result<BooleanBuffer> {
        let needed = rows.div_ceil(8);
        if buffer.len() < needed {
            return Err(self.too_short(part, needed as u64, buffer.len()));
        }
        Ok(BooleanBuffer::new(buffer, 0, rows))
    }

    /// The offsets of `rows` rows; an empty buffer is as good as a zero for no rows.
    fn offsets<O: ArrowNativeType>(&mut self, rows: usize) -> Result<ScalarBuffer<O>> {
        let buffer = self.buffer()?;
        if rows == 0 && buffer.is_empty() {
            return Ok(vec![O::default()].into());
        }
        self.elements(buffer, rows.saturating_add(1), Part::Offsets)
    }

    fn check_offsets<O: OffsetSizeTrait>(
        &self,
        offsets: ScalarBuffer<O>,
        limit: usize,
    ) -> Result<OffsetBuffer<O>> {
        trusted::offsets(offsets, limit, self.trust, self.name())
    }

    /// Before V5 every type but null had a validity bitmap: unions, and run-end encodings as
    /// today's writers write them there. One that hides values cannot be kept.
    fn v4_validity(&mut self, node: Node) -> Result<()> {
        self.skip_buffer()?;
        if node.nulls > 0 { Err(self.null_count(node.nulls, 0)) } else { Ok(()) }
    }

    /// The id of the next dictionary; those inside its values were read with them.
    fn next_dictionary(&mut self) -> Option<i64> {
        let field = self.wire.dictionaries.get(self.dictionary)?;
        self.dictionary = self.dictionary.saturating_add(field.nested).saturating_add(1);
        Some(field.id)
    }

    fn null_count(&self, declared: usize, found: u64) -> Error {
        let declared = i64::try_from(declared).unwrap_or(i64::MAX);
        ErrorKind::NullCount { column: self.name().to_owned(), declared, found }.into()
    }

    fn arrow(&self, source: ArrowError) -> Error {
        ErrorKind::Arrow { column: self.name().to_owned(), source }.into()
    }

    fn unsupported(&self, data_type: &DataType) -> Error {
        let source = ArrowError::NotYetImplemented(data_type.to_string());
        ErrorKind::BadType { column: self.name().to_owned(), source }.into()
    }
}
