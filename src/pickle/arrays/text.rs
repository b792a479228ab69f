//! Text and bytes of Python objects, joined into Arrow arrays.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::*;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::super::fault::PickleFault;
use super::super::graph::{Id, Kind, Segment};
use super::Reading;
use super::scalars::Scalar;
use crate::copies::CopyReason;
use crate::decode::trusted::{self, Trust};
use crate::error::Result;

impl<'p> Reading<'p, '_> {
    /// The strings of a list, with its missing values; as Utf8, if they fit. An error if
    /// there is anything else in it.
    pub(super) fn strings(&mut self, list: Id, target: Option<&DataType>) -> Result<ArrayRef> {
        let view = self.view;
        let total = self.text_length(list)?;
        let count = view.graph.children(list).len();
        match is_large(total, target) {
            true => self.join::<LargeUtf8Type, _>(view.texts(list), count, total),
            false => self.join::<Utf8Type, _>(view.texts(list), count, total),
        }
    }

    /// The bytes of all text in a list; an error if there is anything else in it.
    fn text_length(&self, list: Id) -> Result<usize> {
        let (mut total, mut row) = (0usize, 0usize);
        let Some(container) = self.view.graph.container(list) else { return Ok(0) };
        for segment in self.view.graph.segments(container) {
            let edges = match segment {
                Segment::Edges(edges) => edges,
                Segment::Run(run) => {
                    total = total.saturating_add(usize::try_from(run.text).unwrap_or(usize::MAX));
                    row = row.saturating_add(run.count as usize);
                    continue;
                }
            };
            for id in edges {
                match self.view.text_bytes(*id) {
                    Some(text) => total = total.saturating_add(text.len()),
                    None if self.is_missing(*id)? => {}
                    None => return self.mixed(list, row, "str", *id),
                }
                row = row.saturating_add(1);
            }
        }
        Ok(total)
    }

    /// The bytes of a list, with its missing values.
    pub(super) fn binaries(&mut self, list: Id, target: Option<&DataType>) -> Result<ArrayRef> {
        let view = self.view;
        let mut total = 0usize;
        for (row, id) in view.graph.children(list).enumerate() {
            match view.graph.kind(id) {
                Kind::Bytes => total = total.saturating_add(view.buffer(id).map_or(0, |bytes| bytes.len())),
                _ if self.is_missing(id)? => {}
                _ => return self.mixed(list, row, "bytes", id),
            }
        }
        let bytes = |id| (view.graph.kind(id) == Kind::Bytes).then(|| view.buffer(id)).flatten();
        let children = view.graph.children(list);
        let (count, values) = (children.len(), children.map(bytes));
        match is_large(total, target) {
            true => self.join::<LargeBinaryType, _>(values, count, total),
            false => self.join::<BinaryType, _>(values, count, total),
        }
    }

    /// The parts of text between separators.
    pub(super) fn parts(
        &mut self,
        text: &str,
        separator: &str,
        target: Option<&DataType>,
    ) -> Result<ArrayRef> {
        let parts = || text.split(separator).map(Some);
        let total = parts().flatten().map(str::len).fold(0, usize::saturating_add);
        let count = parts().count();
        match is_large(total, target) {
            true => self.join::<LargeUtf8Type, _>(parts(), count, total),
            false => self.join::<Utf8Type, _>(parts(), count, total),
        }
    }

    /// So many values one behind the other, of this length in all.
    fn join<T: ByteArrayType, B: AsRef<[u8]>>(
        &mut self,
        values: impl Iterator<Item = Option<B>>,
        count: usize,
        total: usize,
    ) -> Result<ArrayRef> {
        let offset_bytes = count.saturating_add(1).saturating_mul(size_of::<T::Offset>());
        self.claim(CopyReason::Pickled, total.saturating_add(offset_bytes))?;
        let mut data: Vec<u8> = self.room(total)?;
        let mut offsets: Vec<T::Offset> = self.room(count.saturating_add(1))?;
        offsets.push(T::Offset::default());
        let mut missing: Vec<usize> = Vec::new();
        for (row, value) in values.enumerate() {
            match value {
                Some(value) => data.extend_from_slice(value.as_ref()),
                None => missing.push(row),
            }
            offsets.push(T::Offset::usize_as(data.len()));
        }
        let nulls = self.nulls_at(count, &missing)?;
        let offsets =
            trusted::offsets(ScalarBuffer::from(offsets), data.len(), Trust::validate(), self.name)?;
        let data = Buffer::from_vec(data);
        Ok(Arc::new(trusted::bytes::<T>(offsets, data, nulls, Trust::validate(), self.name)?))
    }

    /// The bitmap of rows of which these are missing; none if there are none.
    pub(super) fn nulls_at(&mut self, count: usize, missing: &[usize]) -> Result<Option<NullBuffer>> {
        if missing.is_empty() {
            return Ok(None);
        }
        self.claim(CopyReason::Pickled, count.div_ceil(8))?;
        let mut missing = missing.iter().peekable();
        let bits = BooleanBuffer::collect_bool(count, |row| missing.next_if_eq(&&row).is_none());
        Ok(Some(NullBuffer::new(bits)))
    }

    /// Whether a value among strings or objects stands for none: `None`, `NA`, `NaT`, or the
    /// NaN that pandas has in columns of strings.
    pub(super) fn is_missing(&self, id: Id) -> Result<bool> {
        match Scalar::of(self.view, id)? {
            Scalar::Missing => Ok(true),
            Scalar::Float(number) => Ok(number.is_nan()),
            _ => Ok(false),
        }
    }

    /// The error that a row of a list is of another kind than the rows before.
    #[cold]
    pub(super) fn mixed<T>(&self, list: Id, row: usize, expected: &'static str, id: Id) -> Result<T> {
        let found = self.view.kind_text(id);
        self.refuse(self.view.position(list), PickleFault::Mixed { row, expected, found })
    }
}

/// Whether offsets must have 64 bits, or were asked for with them.
fn is_large(total: usize, target: Option<&DataType>) -> bool {
    match target {
        Some(DataType::LargeUtf8 | DataType::LargeBinary) => true,
        _ => i32::try_from(total).is_err(),
    }
}
