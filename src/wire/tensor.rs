//! The metadata of a Tensor and of a SparseTensor: element type, dimensions, strides, index.
//!
//! Source: `Tensor.fbs` and `SparseTensor.fbs` of the Arrow format.

use std::borrow::Cow;

use arrow_ipc as ipc;
use arrow_schema::{ArrowError, DataType, Metadata};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Vector, WIPOffset};

use super::batch::{self, Span};
use super::message::{Header, Message};
use super::{padded, schema, types, write};
use crate::error::{ErrorKind, Part, Result};

/// A message's flatbuffer that can be verified.
///
/// Arrow C++ (of pyarrow 17 and 26, not of 11) writes an empty list of strides for a tensor without
/// dimensions, and does not align it: there is nothing in it. The verifier wants that all the same, so
/// that such a list is left out of a copy here, which says the same.
pub(crate) fn readable(flatbuffer: &[u8]) -> Cow<'_, [u8]> {
    match empty_strides(flatbuffer) {
        None => Cow::Borrowed(flatbuffer),
        Some(entry) => {
            let mut copy = flatbuffer.to_vec();
            if let Some(entry) = entry.checked_add(2).and_then(|end| copy.get_mut(entry..end)) {
                entry.fill(0);
            }
            Cow::Owned(copy)
        }
    }
}

/// Where a tensor's table says that it has strides, if these are an empty list. Nothing here is
/// verified yet: whatever is not there is none.
fn empty_strides(flatbuffer: &[u8]) -> Option<usize> {
    let number = |at: usize| -> Option<usize> {
        let bytes = flatbuffer.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let short = |at: usize| -> Option<usize> {
        let bytes = flatbuffer.get(at..at.checked_add(2)?)?;
        Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    };
    // Where a table's list of fields says where a field is, and where that is.
    let field = |table: usize, slot: usize| -> Option<(usize, usize)> {
        let bytes = flatbuffer.get(table..table.checked_add(4)?)?;
        let back = i64::from(i32::from_le_bytes(bytes.try_into().ok()?));
        let list = usize::try_from(i64::try_from(table).ok()?.checked_sub(back)?).ok()?;
        let place = slot.checked_mul(2)?.checked_add(4)?;
        let entry = list.checked_add(place)?;
        let is_there = place.checked_add(2)? <= short(list)?;
        let offset = short(entry).filter(|offset| is_there && *offset > 0)?;
        Some((entry, table.checked_add(offset)?))
    };
    let target = |at: usize| at.checked_add(number(at)?);
    let message = number(0)?;
    let (_, kind) = field(message, 1)?;
    if *flatbuffer.get(kind)? != ipc::MessageHeader::Tensor.0 {
        return None;
    }
    let tensor = target(field(message, 2)?.1)?;
    let (entry, strides) = field(tensor, 3)?;
    (number(target(strides)?)? == 0).then_some(entry)
}

/// What a Tensor message says, its numbers converted and not yet checked against each other.
#[derive(Debug)]
pub(crate) struct DenseMeta {
    /// The type of an element, of a fixed number of bytes.
    pub data_type: DataType,
    /// Its dimensions.
    pub dims: Dims,
    /// Bytes from an element to the next one along each dimension; row-major if there are none.
    pub strides: Option<Vec<i64>>,
    /// Where the elements lie in the body.
    pub data: Span,
}

/// What a SparseTensor message says, its numbers converted and not yet checked against each other.
#[derive(Debug)]
pub(crate) struct SparseMeta {
    /// The type of an element, of a fixed number of bytes.
    pub data_type: DataType,
    /// Its dimensions.
    pub dims: Dims,
    /// How many elements are there.
    pub non_zero: usize,
    /// Where they are.
    pub index: IndexMeta,
    /// The buffers in the body: those of the index, then the elements.
    pub buffers: Vec<Span>,
}

/// How a message says where the elements are. All types are those of integers.
#[derive(Debug)]
pub(crate) enum IndexMeta {
    /// A matrix: one buffer.
    Coo { indices: DataType, strides: Option<Vec<i64>>, is_canonical: bool },
    /// Rows or columns one behind the other: two buffers.
    Csx { axis: Axis, indptr: DataType, indices: DataType },
    /// A tree: for each dimension but the last a buffer, then one for each dimension.
    Csf { indptr: DataType, indices: DataType, axis_order: Vec<i32>, levels: (usize, usize) },
}

/// The axis along which a sparse matrix is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// CSR.
    Row,
    /// CSC.
    Column,
}

/// The sizes and names of dimensions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Dims {
    /// The sizes.
    pub shape: Vec<usize>,
    /// The names: none at all, or one for each, empty where there is none.
    pub names: Vec<String>,
}

impl DenseMeta {
    /// The metadata of a message that is a tensor.
    pub(crate) fn of(message: &Message<'_>) -> Result<Option<Self>> {
        let Header::Tensor(tensor) = &message.header else { return Ok(None) };
        let data = Spans::new(message).span(tensor.data())?;
        Ok(Some(DenseMeta {
            data_type: element_type(tensor)?,
            dims: dims(tensor.shape(), message.position)?,
            strides: numbers(tensor.strides()),
            data,
        }))
    }

    /// The message's envelope, with that metadata. The elements are all of the body.
    pub(crate) fn write(&self, metadata: &Metadata) -> Result<Vec<u8>> {
        let mut fbb = FlatBufferBuilder::new();
        let (type_type, type_) = schema::write_type(&mut fbb, &self.data_type);
        let shape = write_dims(&mut fbb, &self.dims)?;
        let strides = self.strides.as_ref().map(|strides| fbb.create_vector(strides));
        let (buffers, body_length) = places(&[self.data.length])?;
        let data = buffers.first().copied().unwrap_or_default();
        let args =
            ipc::TensorArgs { type_type, type_: Some(type_), shape: Some(shape), strides, data: Some(&data) };
        let table = ipc::Tensor::create(&mut fbb, &args).as_union_value();
        let mut header = Vec::new();
        write::message(&mut fbb, &mut header, ipc::MessageHeader::Tensor, table, body_length, metadata)?;
        Ok(header)
    }
}

impl SparseMeta {
    /// The metadata of a message that is a sparse tensor.
    pub(crate) fn of(message: &Message<'_>) -> Result<Option<Self>> {
        let Header::SparseTensor(tensor) = &message.header else { return Ok(None) };
        let position = message.position;
        let non_zero = tensor.non_zero_length();
        let non_zero = usize::try_from(non_zero).map_err(|_| ErrorKind::BadNumber {
            part: Part::Values,
            position,
            number: non_zero,
        })?;
        Ok(Some(SparseMeta {
            data_type: element_type(tensor)?,
            dims: dims(tensor.shape(), position)?,
            non_zero,
            index: index(tensor, position)?,
            buffers: sparse_buffers(tensor, message)?.1,
        }))
    }

    /// The message's envelope, with that metadata; of the buffers only the lengths are used.
    pub(crate) fn write(&self, metadata: &Metadata) -> Result<Vec<u8>> {
        let mut fbb = FlatBufferBuilder::new();
        let fbb = &mut fbb;
        let (type_type, type_) = schema::write_type(fbb, &self.data_type);
        let shape = write_dims(fbb, &self.dims)?;
        let lengths: Vec<u64> = self.buffers.iter().map(|span| span.length).collect();
        let (buffers, body_length) = places(&lengths)?;
        let (data, buffers) = buffers.split_last().map(|(last, rest)| (*last, rest)).unwrap_or_default();
        let buffer = |index: usize| buffers.get(index).copied().unwrap_or_default();
        let (kind, sparse_index) = match &self.index {
            IndexMeta::Coo { indices, strides, is_canonical } => {
                let args = ipc::SparseTensorIndexCOOArgs {
                    indicesType: Some(schema::write_int(fbb, indices)),
                    indicesStrides: strides.as_ref().map(|strides| fbb.create_vector(strides)),
                    indicesBuffer: Some(&buffer(0)),
                    isCanonical: *is_canonical,
                };
                let table = ipc::SparseTensorIndexCOO::create(fbb, &args).as_union_value();
                (ipc::SparseTensorIndex::SparseTensorIndexCOO, table)
            }
            IndexMeta::Csx { axis, indptr, indices } => {
                let args = ipc::SparseMatrixIndexCSXArgs {
                    compressedAxis: match axis {
                        Axis::Row => ipc::SparseMatrixCompressedAxis::Row,
                        Axis::Column => ipc::SparseMatrixCompressedAxis::Column,
                    },
                    indptrType: Some(schema::write_int(fbb, indptr)),
                    indptrBuffer: Some(&buffer(0)),
                    indicesType: Some(schema::write_int(fbb, indices)),
                    indicesBuffer: Some(&buffer(1)),
                };
                let table = ipc::SparseMatrixIndexCSX::create(fbb, &args).as_union_value();
                (ipc::SparseTensorIndex::SparseMatrixIndexCSX, table)
            }
            IndexMeta::Csf { indptr, indices, axis_order, levels } => {
                let (indptrs, rest) = buffers.split_at_checked(levels.0).unwrap_or_default();
                let args = ipc::SparseTensorIndexCSFArgs {
                    indptrType: Some(schema::write_int(fbb, indptr)),
                    indptrBuffers: Some(fbb.create_vector(indptrs)),
                    indicesType: Some(schema::write_int(fbb, indices)),
                    indicesBuffers: Some(fbb.create_vector(rest)),
                    axisOrder: Some(fbb.create_vector(axis_order)),
                };
                let table = ipc::SparseTensorIndexCSF::create(fbb, &args).as_union_value();
                (ipc::SparseTensorIndex::SparseTensorIndexCSF, table)
            }
        };
        let args = ipc::SparseTensorArgs {
            type_type,
            type_: Some(type_),
            shape: Some(shape),
            non_zero_length: write::number(self.non_zero as u64, Part::Values)?,
            sparseIndex_type: kind,
            sparseIndex: Some(sparse_index),
            data: Some(&data),
        };
        let table = ipc::SparseTensor::create(fbb, &args).as_union_value();
        let mut header = Vec::new();
        write::message(fbb, &mut header, ipc::MessageHeader::SparseTensor, table, body_length, metadata)?;
        Ok(header)
    }
}

/// Where the buffers of a tensor or a sparse tensor lie in its body, in order, empty ones
/// included, and what each holds; of any other message, nothing.
pub(crate) fn buffers(message: &Message<'_>) -> Result<(Vec<Part>, Vec<Span>)> {
    match &message.header {
        Header::Tensor(tensor) => Ok((vec![Part::Values], vec![Spans::new(message).span(tensor.data())?])),
        Header::SparseTensor(tensor) => sparse_buffers(tensor, message),
        _ => Ok(Default::default()),
    }
}

/// The buffers of a sparse tensor: those of its index, then its elements.
fn sparse_buffers(tensor: &ipc::SparseTensor<'_>, message: &Message<'_>) -> Result<(Vec<Part>, Vec<Span>)> {
    let mut declared: Vec<(Part, &ipc::Buffer, i64)> = Vec::new();
    if let Some(coo) = tensor.sparseIndex_as_sparse_tensor_index_coo() {
        declared.push((Part::Indices, coo.indicesBuffer(), 1));
    } else if let Some(csx) = tensor.sparseIndex_as_sparse_matrix_index_csx() {
        declared.push((Part::Pointers, csx.indptrBuffer(), 1));
        declared.push((Part::Indices, csx.indicesBuffer(), 1));
    } else if let Some(csf) = tensor.sparseIndex_as_sparse_tensor_index_csf() {
        let (pointers, indices) = level_widths(&csf, tensor.non_zero_length());
        declared.extend(csf.indptrBuffers().iter().map(|buffer| (Part::Pointers, buffer, pointers)));
        declared.extend(csf.indicesBuffers().iter().map(|buffer| (Part::Indices, buffer, indices)));
    }
    declared.push((Part::Values, tensor.data(), 1));
    let mut spans = Spans::new(message);
    let mut buffers = Vec::with_capacity(declared.len());
    let mut parts = Vec::with_capacity(declared.len());
    for (part, buffer, width) in declared {
        parts.push(part);
        // What overflows is outside as it is.
        let length = buffer.length().checked_mul(width).unwrap_or(buffer.length());
        buffers.push(spans.span(&ipc::Buffer::new(buffer.offset(), length))?);
    }
    // Indices that change with the values would lead anywhere once they were checked.
    if let Some((a, b)) = batch::overlap(&buffers)
        && let (Some(first), Some(second)) = (buffers.get(a), buffers.get(b))
    {
        return Err(batch::overlapping((a, first), (b, second), ""));
    }
    Ok((parts, buffers))
}

/// What the lengths of a tree's buffers are to be multiplied with, those of its pointers and those
/// of its indices: 1, if they are bytes as the specification says.
///
/// Arrow C++ gives the number of elements. A buffer of so few bytes would not hold its level, so that
/// the two cannot be confused.
fn level_widths(csf: &ipc::SparseTensorIndexCSF<'_>, non_zero: i64) -> (i64, i64) {
    let width = |int: ipc::Int<'_>| i64::from(int.bitWidth()).checked_div(8).unwrap_or_default();
    let (pointers, indices) = (width(csf.indptrType()), width(csf.indicesType()));
    let length = |buffer: Option<&ipc::Buffer>| buffer.map(ipc::Buffer::length);
    let first = length(csf.indicesBuffers().iter().next());
    let is_counted = match length(csf.indptrBuffers().iter().next()) {
        // One more than there are nodes: of bytes one is even, or neither is less than twice as long.
        Some(length) if pointers > 1 => first.and_then(|first| first.checked_add(1)) == Some(length),
        _ => indices > 1 && non_zero > 0 && length(csf.indicesBuffers().iter().next_back()) == Some(non_zero),
    };
    if is_counted { (pointers, indices) } else { (1, 1) }
}

fn index(tensor: &ipc::SparseTensor<'_>, position: u64) -> Result<IndexMeta> {
    let int = |int| types::int(int).map_err(|source| ErrorKind::TensorType { source });
    if let Some(coo) = tensor.sparseIndex_as_sparse_tensor_index_coo() {
        return Ok(IndexMeta::Coo {
            indices: int(coo.indicesType())?,
            strides: numbers(coo.indicesStrides()),
            is_canonical: coo.isCanonical(),
        });
    }
    if let Some(csx) = tensor.sparseIndex_as_sparse_matrix_index_csx() {
        let axis = match csx.compressedAxis() {
            ipc::SparseMatrixCompressedAxis::Row => Axis::Row,
            ipc::SparseMatrixCompressedAxis::Column => Axis::Column,
            ipc::SparseMatrixCompressedAxis(other) => {
                let number = other.into();
                return Err(ErrorKind::BadNumber { part: Part::AxisOrder, position, number }.into());
            }
        };
        return Ok(IndexMeta::Csx { axis, indptr: int(csx.indptrType())?, indices: int(csx.indicesType())? });
    }
    if let Some(csf) = tensor.sparseIndex_as_sparse_tensor_index_csf() {
        return Ok(IndexMeta::Csf {
            indptr: int(csf.indptrType())?,
            indices: int(csf.indicesType())?,
            axis_order: csf.axisOrder().iter().collect(),
            levels: (csf.indptrBuffers().len(), csf.indicesBuffers().len()),
        });
    }
    let number = tensor.sparseIndex_type().0.into();
    Err(ErrorKind::BadNumber { part: Part::Indices, position, number }.into())
}

fn element_type<'a>(table: &impl types::TypeTable<'a>) -> Result<DataType> {
    let none = || {
        let kind = table.kind();
        ArrowError::SchemaError(format!("{kind:?} has no fixed number of bytes"))
    };
    types::fixed_width(table)
        .and_then(|found| found.ok_or_else(none))
        .map_err(|source| ErrorKind::TensorType { source }.into())
}

type TensorDims<'a> = Vector<'a, ForwardsUOffset<ipc::TensorDim<'a>>>;

fn dims(list: TensorDims<'_>, position: u64) -> Result<Dims> {
    let mut dims = Dims::default();
    let mut is_named = false;
    for dim in list {
        let number = dim.size();
        let size = usize::try_from(number);
        dims.shape.push(size.map_err(|_| ErrorKind::BadNumber { part: Part::Shape, position, number })?);
        let name = dim.name().unwrap_or_default();
        is_named |= !name.is_empty();
        dims.names.push(name.to_owned());
    }
    if !is_named {
        dims.names.clear();
    }
    Ok(dims)
}

fn write_dims<'a>(
    fbb: &mut FlatBufferBuilder<'a>,
    dims: &Dims,
) -> Result<WIPOffset<Vector<'a, ForwardsUOffset<ipc::TensorDim<'a>>>>> {
    let mut tables = Vec::with_capacity(dims.shape.len());
    for (axis, size) in dims.shape.iter().enumerate() {
        let size = write::number(*size as u64, Part::Shape)?;
        let name = dims.names.get(axis).filter(|name| !name.is_empty());
        let name = name.map(|name| fbb.create_string(name));
        tables.push(ipc::TensorDim::create(fbb, &ipc::TensorDimArgs { size, name }));
    }
    Ok(fbb.create_vector(&tables))
}

/// Numbers, if there are any.
fn numbers(list: Option<Vector<'_, i64>>) -> Option<Vec<i64>> {
    list.filter(|list| !list.is_empty()).map(|list| list.iter().collect())
}

/// Lays buffers of these lengths out one behind the other, each at a multiple of 64; with the
/// length of the body.
fn places(lengths: &[u64]) -> Result<(Vec<ipc::Buffer>, i64)> {
    let mut buffers = Vec::with_capacity(lengths.len());
    let mut end = 0u64;
    for &length in lengths {
        let offset = write::number(end, Part::Body)?;
        buffers.push(ipc::Buffer::new(offset, write::number(length, Part::Values)?));
        let too_large = || ErrorKind::BadNumber { part: Part::Body, position: 0, number: i64::MAX };
        end = end.checked_add(length).and_then(padded).ok_or_else(too_large)?;
    }
    Ok((buffers, write::number(end, Part::Body)?))
}

/// Checks buffers one after another: each lies inside the body.
struct Spans {
    body: u64,
    index: usize,
}

impl Spans {
    fn new(message: &Message<'_>) -> Self {
        Spans { body: message.body_length, index: 0 }
    }

    fn span(&mut self, buffer: &ipc::Buffer) -> Result<Span> {
        let (offset, length) = (buffer.offset(), buffer.length());
        let index = self.index;
        self.index = index.saturating_add(1);
        // An empty buffer has no bytes to be anywhere.
        if length == 0 {
            return Ok(Span { offset: 0, length: 0 });
        }
        let span = || {
            let span = Span { offset: u64::try_from(offset).ok()?, length: u64::try_from(length).ok()? };
            (span.offset.checked_add(span.length)? <= self.body).then_some(span)
        };
        span().ok_or_else(|| {
            let (column, body) = (String::new(), self.body);
            ErrorKind::BufferOutside { column, buffer: index, offset, length, body }.into()
        })
    }
}
