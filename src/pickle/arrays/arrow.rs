//! pyarrow's arrays: of a type, a length and buffers, of which all is checked.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef, Fields};

use super::super::allow::Name;
use super::super::fault::PickleFault;
use super::super::graph::Id;
use super::super::view::Value;
use super::Reading;
use super::arguments::Arguments;
use super::arrow_types;
use crate::decode::trusted::{self, Trust};
use crate::error::{ErrorKind, Result};

/// The parts of an array, taken one after the other.
struct Parts {
    data_type: DataType,
    /// Rows of the buffers that the array is of: those before `start` are not shown.
    rows: usize,
    start: usize,
    buffers: std::vec::IntoIter<Option<Buffer>>,
    children: std::vec::IntoIter<ArrayRef>,
    dictionary: Option<ArrayRef>,
    position: u64,
}

impl<'p> Reading<'p, '_> {
    /// The array that a call makes.
    pub(super) fn arrow(&mut self, id: Id) -> Result<ArrayRef> {
        let Some(call) = Arguments::of(self.view, id) else {
            return self.no_type(self.view.position(id), "no call");
        };
        match call.name {
            Name::FromBuffers => {
                let (data_type, length) = (arrow_types::inner(call.exactly(3)?, 0)?, call.count(1)?);
                let buffers = self.buffers(call, call.get(2)?)?;
                let children = Vec::new().into_iter();
                let position = call.position();
                self.built(Parts {
                    data_type,
                    rows: length,
                    start: 0,
                    buffers,
                    children,
                    dictionary: None,
                    position,
                })
            }
            Name::DictionaryFromArrays => {
                call.exactly(2)?;
                let part = |index| super::pandas::arrow(call, index);
                let (keys, values) = (self.arrow(part(0)?)?, self.arrow(part(1)?)?);
                self.dictionary(call, keys, values)
            }
            Name::RestoreArray => self.restored(call, call.exactly(1)?.get(0)?),
            Name::ChunkedArray => {
                let chunks = call.exactly(2)?.list(0)?.map(|chunk| match self.view.value(chunk) {
                    Value::Call(Name::RestoreArray) => self.arrow(chunk),
                    _ => call.wrong(0),
                });
                let chunks = chunks.collect::<Result<Vec<_>>>()?;
                self.joined(&chunks, arrow_types::inner(call, 1)?, call.position())
            }
            _ => call.refuse(0, "no array"),
        }
    }

    /// `(type, length, null count, offset, buffers, children, dictionary)`.
    fn restored(&mut self, call: Arguments<'p>, id: Id) -> Result<ArrayRef> {
        let view = self.view;
        let parts: Vec<Id> = view.tuple(id).into_iter().flatten().collect();
        let [data_type, length, _, start, buffers, children, dictionary] = *parts.as_slice() else {
            return call.wrong(0);
        };
        let Some(data_type) = arrow_types::of(view, data_type) else { return call.wrong(0) };
        let count = |id| view.int(id).and_then(|number| usize::try_from(number).ok());
        let (Some(length), Some(start)) = (count(length), count(start)) else { return call.wrong(0) };
        let Some(rows) = length.checked_add(start) else { return call.wrong(0) };
        if view.value(children) != Value::List {
            return call.wrong(0);
        }
        let children = view.graph.children(children).map(|child| self.restored(call, child));
        let children = children.collect::<Result<Vec<_>>>()?.into_iter();
        let dictionary = match view.value(dictionary) {
            Value::None => None,
            _ => Some(self.restored(call, dictionary)?),
        };
        let (buffers, position) = (self.buffers(call, buffers)?, call.position());
        self.built(Parts { data_type: data_type?, rows, start, buffers, children, dictionary, position })
    }

    fn buffers(&self, call: Arguments<'p>, list: Id) -> Result<std::vec::IntoIter<Option<Buffer>>> {
        let view = self.view;
        if view.value(list) != Value::List {
            return call.wrong(2);
        }
        let buffer = |id| match view.value(id) {
            Value::None => Ok(None),
            _ => match Arguments::of(view, id) {
                Some(buffer) if buffer.name == Name::PyBuffer => Ok(Some(buffer.exactly(1)?.buffer(0)?)),
                _ => call.wrong(2),
            },
        };
        Ok(view.graph.children(list).map(buffer).collect::<Result<Vec<_>>>()?.into_iter())
    }

    fn built(&mut self, mut parts: Parts) -> Result<ArrayRef> {
        let rows = parts.rows;
        let array = self.array_of(&mut parts)?;
        let left = parts.buffers.len().saturating_add(parts.children.len());
        if left > 0 || parts.dictionary.is_some() {
            return self.bad_parts(&parts, "there are buffers or children that it does not have");
        }
        if array.len() != rows {
            return self.bad_parts(&parts, "a part has another length");
        }
        match parts.start {
            0 => Ok(array),
            start => Ok(array.slice(start, rows.saturating_sub(start))),
        }
    }

    fn array_of(&mut self, parts: &mut Parts) -> Result<ArrayRef> {
        use DataType::*;
        let nulls = self.validity(parts)?;
        let rows = parts.rows;
        let data_type = parts.data_type.clone();
        macro_rules! primitive {
            ($t:ty) => {{
                let values = self.part(parts)?;
                let values =
                    self.scalars::<<$t as ArrowPrimitiveType>::Native>(values, rows, parts.position)?;
                Ok(Arc::new(PrimitiveArray::<$t>::new(values, nulls).with_data_type(data_type.clone())))
            }};
        }
        downcast_primitive! {
            data_type => (primitive),
            Boolean => {
                let values = self.part(parts)?;
                self.check_bits(&values, rows, parts.position)?;
                Ok(Arc::new(BooleanArray::new(BooleanBuffer::new(values, 0, rows), nulls)))
            }
            Utf8 => self.byte_array::<Utf8Type>(parts, nulls),
            LargeUtf8 => self.byte_array::<LargeUtf8Type>(parts, nulls),
            Binary => self.byte_array::<BinaryType>(parts, nulls),
            LargeBinary => self.byte_array::<LargeBinaryType>(parts, nulls),
            Utf8View => self.view_array::<StringViewType>(parts, nulls),
            BinaryView => self.view_array::<BinaryViewType>(parts, nulls),
            FixedSizeBinary(width) => {
                let values = self.part(parts)?;
                let needed = usize::try_from(width).ok().and_then(|width| width.checked_mul(rows));
                match needed.filter(|needed| *needed <= values.len()) {
                    Some(needed) => {
                        let values = values.slice_with_length(0, needed);
                        let array = FixedSizeBinaryArray::try_new(width, values, nulls);
                        self.arrow_array(parts, array)
                    }
                    None => self.bad_parts(parts, "the buffer is too short"),
                }
            }
            List(field) => self.list::<i32>(parts, field, nulls),
            LargeList(field) => self.list::<i64>(parts, field, nulls),
            Struct(fields) => self.struct_array(parts, fields, nulls),
            Dictionary(key, _) => {
                let keys = Parts {
                    data_type: key.as_ref().clone(),
                    rows,
                    start: 0,
                    buffers: vec![nulls.map(|nulls| nulls.into_inner().into_inner()), parts.buffers.next().flatten()].into_iter(),
                    children: Vec::new().into_iter(),
                    dictionary: None,
                    position: parts.position,
                };
                let Some(values) = parts.dictionary.take() else {
                    return self.bad_parts(parts, "there is no dictionary");
                };
                let keys = self.built(keys)?;
                self.dictionary_of(parts, keys, values)
            }
            _ => self.bad_parts(parts, "arrays of this type are not read from pickles")
        }
    }

    /// The bitmap of the rows that are not null.
    fn validity(&mut self, parts: &mut Parts) -> Result<Option<NullBuffer>> {
        let Some(validity) = parts.buffers.next() else {
            return self.bad_parts(parts, "a buffer is missing");
        };
        let Some(bits) = validity else { return Ok(None) };
        self.check_bits(&bits, parts.rows, parts.position)?;
        let nulls = NullBuffer::new(BooleanBuffer::new(bits, 0, parts.rows));
        Ok((nulls.null_count() > 0).then_some(nulls))
    }

    fn check_bits(&self, bits: &Buffer, rows: usize, position: u64) -> Result<()> {
        let (needed, found) = (rows.div_ceil(8) as u64, bits.len() as u64);
        if needed > found {
            return self.refuse(position, PickleFault::BufferLength { needed, found });
        }
        Ok(())
    }

    /// The next buffer; one that is not there is empty.
    fn part(&self, parts: &mut Parts) -> Result<Buffer> {
        match parts.buffers.next() {
            Some(buffer) => Ok(buffer.unwrap_or_default()),
            None => self.bad_parts(parts, "a buffer is missing"),
        }
    }

    fn offsets<O: OffsetSizeTrait>(
        &mut self,
        parts: &mut Parts,
        limit: impl FnOnce(&mut Parts) -> usize,
    ) -> Result<OffsetBuffer<O>> {
        let offsets = self.part(parts)?;
        let limit = limit(parts);
        // No rows need no offsets.
        if offsets.is_empty() && parts.rows == 0 {
            return Ok(OffsetBuffer::new_empty());
        }
        let Some(count) = parts.rows.checked_add(1) else {
            return self.bad_parts(parts, "the length overflows");
        };
        let offsets = self.scalars::<O>(offsets, count, parts.position)?;
        self.placed(parts.position, trusted::offsets(offsets, limit, Trust::validate(), self.name))
    }

    fn byte_array<T: ByteArrayType>(
        &mut self,
        parts: &mut Parts,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let mut values = Buffer::default();
        let offsets = self.offsets::<T::Offset>(parts, |parts| {
            values = parts.buffers.next().flatten().unwrap_or_default();
            values.len()
        })?;
        let array = trusted::bytes::<T>(offsets, values, nulls, Trust::validate(), self.name);
        Ok(Arc::new(self.placed(parts.position, array)?))
    }

    fn view_array<T: ByteViewType>(
        &mut self,
        parts: &mut Parts,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let views = self.part(parts)?;
        let views = self.scalars::<u128>(views, parts.rows, parts.position)?;
        let buffers: Vec<Buffer> = parts.buffers.by_ref().map(Option::unwrap_or_default).collect();
        let array = trusted::views::<T>(views, buffers, nulls, Trust::validate(), self.name);
        Ok(Arc::new(self.placed(parts.position, array)?))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        parts: &mut Parts,
        field: FieldRef,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let Some(values) = parts.children.next() else {
            return self.bad_parts(parts, "a child is missing");
        };
        let offsets = self.offsets::<O>(parts, |_| values.len())?;
        let array = GenericListArray::<O>::try_new(field, offsets, values, nulls);
        self.arrow_array(parts, array)
    }

    fn struct_array(
        &mut self,
        parts: &mut Parts,
        fields: Fields,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let children: Vec<ArrayRef> = parts.children.by_ref().take(fields.len()).collect();
        let array = StructArray::try_new_with_length(fields, children, nulls, parts.rows);
        self.arrow_array(parts, array)
    }

    fn dictionary(&mut self, call: Arguments<'p>, keys: ArrayRef, values: ArrayRef) -> Result<ArrayRef> {
        let data_type =
            DataType::Dictionary(Box::new(keys.data_type().clone()), Box::new(values.data_type().clone()));
        let parts = Parts {
            data_type,
            rows: keys.len(),
            start: 0,
            buffers: Vec::new().into_iter(),
            children: Vec::new().into_iter(),
            dictionary: None,
            position: call.position(),
        };
        self.dictionary_of(&parts, keys, values)
    }

    fn dictionary_of(&mut self, parts: &Parts, keys: ArrayRef, values: ArrayRef) -> Result<ArrayRef> {
        macro_rules! keys {
            ($t:ty) => {{
                let keys = keys.as_primitive::<$t>().clone();
                let array = trusted::dictionary(keys, values, Trust::validate(), self.name);
                Ok(Arc::new(self.placed(parts.position, array)?))
            }};
        }
        downcast_integer! {
            keys.data_type() => (keys),
            _ => self.bad_parts(parts, "the keys are no integers")
        }
    }

    fn arrow_array<A: Array + 'static>(
        &self,
        parts: &Parts,
        array: std::result::Result<A, arrow_schema::ArrowError>,
    ) -> Result<ArrayRef> {
        match array {
            Ok(array) => Ok(Arc::new(array)),
            Err(error) => self.bad_parts(parts, &error.to_string()),
        }
    }

    /// Says which byte of the pickle it is about, of what the IPC decoder's checks found.
    fn placed<T>(&self, position: u64, checked: Result<T>) -> Result<T> {
        checked.or_else(|error| {
            let fault = match error.into_kind() {
                ErrorKind::Offsets { row, start, end, limit, .. } => {
                    PickleFault::Offsets { row, start, end, limit }
                }
                ErrorKind::Utf8 { row, .. } => PickleFault::Text { row },
                ErrorKind::View { row, .. } => PickleFault::View { row },
                ErrorKind::DictionaryKey { row, key, values, .. } => {
                    let code = i64::try_from(key).unwrap_or(i64::MAX);
                    PickleFault::Code { row, code, categories: values }
                }
                kind => return Err(kind.into()),
            };
            self.refuse(position, fault)
        })
    }

    #[cold]
    fn bad_parts<T>(&self, parts: &Parts, reason: &str) -> Result<T> {
        let (data_type, reason) = (parts.data_type.clone(), reason.to_owned());
        self.refuse(parts.position, PickleFault::Arrow { data_type, reason })
    }
}
