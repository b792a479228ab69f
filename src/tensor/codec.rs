//! Tensors to frames and back, with options.

use std::borrow::Cow;

use arrow_buffer::Buffer;
use arrow_schema::DataType;

use super::dense::Tensor;
use super::element::Element;
use super::sparse::{SparseIndex, SparseTensor};
use super::{index, strides};
use crate::content::Content;
use crate::copies::{CopyBudget, CopyReason, CopyReport};
use crate::decode::aligned_copy;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::batch::Span;
use crate::wire::envelope::{self, Next};
use crate::wire::message::Message;
use crate::wire::tensor::{Axis, DenseMeta, IndexMeta, SparseMeta, readable};

/// Encodes and decodes tensors, with options.
///
/// ```
/// use arrow_buffer::Buffer;
/// use arrow_frames::{CopyReason, Tensor, TensorCodec};
/// use arrow_schema::DataType;
///
/// // Every second number.
/// let data = Buffer::from_vec(vec![1i16, 2, 3, 4]);
/// let view = Tensor::try_new(DataType::Int16, vec![2], Some(vec![4]), data)?;
///
/// let mut codec = TensorCodec::new();
/// let frames = codec.encode(&view)?;
/// assert_eq!(codec.copies().of_reason(CopyReason::Strided), 4);
/// assert_eq!(codec.decode(frames)?.values::<i16>(), Some(&[1, 3][..]));
///
/// let mut strict = TensorCodec::new().with_max_copied_bytes(0);
/// assert!(strict.encode(&view).is_err());
/// # Ok::<(), arrow_frames::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct TensorCodec {
    limits: Limits,
    copies: CopyBudget,
}

/// The names of the buffers, for errors.
const VALUES: &str = "values";
const INDICES: &str = "indices";
const POINTERS: &str = "index pointers";

impl TensorCodec {
    /// A codec within the default [`Limits`], that copies what must be copied.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the input may claim: the lengths of its metadata and its body.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Refuses to copy more than this many bytes of elements and indices in one call; 0 is strict
    /// zero copy. Without this, any copy that is needed is made and counted.
    pub fn with_max_copied_bytes(mut self, bytes: u64) -> Self {
        self.copies.allowed = Some(bytes);
        self
    }

    /// What the last call copied. A tensor has one buffer, a sparse one those of its index and
    /// then that of its values; they are numbered where a dataframe's report has columns.
    pub fn copies(&self) -> &CopyReport {
        self.copies.report()
    }

    /// Makes a header and a frame of a tensor (no frame, if it has no elements).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::CopyLimit`]; [`ErrorKind::Memory`] if a view has to be gathered.
    pub fn encode(&mut self, tensor: &Tensor) -> Result<Frames> {
        self.copies.reset();
        let (strides, data) = self.lay_out(tensor, 0, VALUES, Layout::AnyOrder)?;
        let meta = DenseMeta {
            data_type: tensor.data_type().clone(),
            dims: tensor.dims().clone(),
            strides: Some(strides),
            data: span(&data),
        };
        Ok(frames(meta.write(tensor.metadata())?, [data]))
    }

    /// Makes a header and frames of a sparse tensor: the buffers of its index, then its values,
    /// as far as they are not empty.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_sparse(&mut self, tensor: &SparseTensor) -> Result<Frames> {
        self.copies.reset();
        let mut buffers = Vec::new();
        let index = match tensor.index() {
            SparseIndex::Coo { indices } => {
                let (strides, data) = self.lay_out(indices, 0, INDICES, Layout::AnyOrder)?;
                buffers.push(data);
                let indices = indices.data_type().clone();
                IndexMeta::Coo { indices, strides: Some(strides), is_canonical: tensor.is_canonical() }
            }
            SparseIndex::Csr { indptr, indices } => {
                self.compressed(Axis::Row, indptr, indices, &mut buffers)?
            }
            SparseIndex::Csc { indptr, indices } => {
                self.compressed(Axis::Column, indptr, indices, &mut buffers)?
            }
            SparseIndex::Csf { indptr, indices, axis_order } => {
                let named = indptr.iter().map(|tensor| (tensor, POINTERS));
                for (tensor, name) in named.chain(indices.iter().map(|tensor| (tensor, INDICES))) {
                    let (_, data) = self.lay_out(tensor, buffers.len(), name, Layout::RowMajor)?;
                    buffers.push(data);
                }
                // A tree of one dimension has no pointers; their type must be one all the same.
                let type_of = |tensors: &[Tensor]| tensors.first().map(|tensor| tensor.data_type().clone());
                IndexMeta::Csf {
                    indptr: type_of(indptr).unwrap_or(DataType::Int64),
                    indices: type_of(indices).unwrap_or(DataType::Int64),
                    axis_order: index::axis_numbers(axis_order)?,
                    levels: (indptr.len(), indices.len()),
                }
            }
        };
        let (_, data) = self.lay_out(tensor.values(), buffers.len(), VALUES, Layout::RowMajor)?;
        buffers.push(data);
        let meta = SparseMeta {
            data_type: tensor.data_type().clone(),
            dims: tensor.dims().clone(),
            non_zero: tensor.num_values(),
            index,
            buffers: buffers.iter().map(span).collect(),
        };
        Ok(frames(meta.write(tensor.metadata())?, buffers))
    }

    /// Rebuilds a tensor from its header and its frame.
    ///
    /// The tensor's elements are the frame, unless it lies at an address that does not suit
    /// their type: then it is copied and [counted](crate::CopyReason::Misaligned). Strides that
    /// leave gaps, or lead to the same element twice, are kept, if every element lies inside the
    /// frame.
    ///
    /// # Errors
    ///
    /// Any [`ErrorKind`] whose [`fault`](crate::Error::fault) is the input;
    /// [`ErrorKind::WrongContent`] if the header is of something else; [`ErrorKind::Limit`];
    /// [`ErrorKind::CopyLimit`].
    pub fn decode(&mut self, frames: Frames) -> Result<Tensor> {
        self.copies.reset();
        let (header, buffers) = frames.into_parts();
        let flatbuffer = flatbuffer(&header, &self.limits)?;
        let message = Message::parse(&flatbuffer, 0, &self.limits)?;
        let meta = DenseMeta::of(&message)?.ok_or_else(|| message.unexpected(Content::Tensor))?;
        let data = take_all(&[meta.data], buffers)?.pop().unwrap_or_default();
        let tensor = Tensor::try_new(
            meta.data_type,
            meta.dims.shape.clone(),
            strides_of(meta.strides, message.position)?,
            data,
        )?;
        let tensor = self.aligned(tensor, 0, VALUES)?;
        Ok(tensor.with_dims(meta.dims).with_metadata(message.all_metadata()))
    }

    /// Rebuilds a sparse tensor from its header and its frames. Every index is checked.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn decode_sparse(&mut self, frames: Frames) -> Result<SparseTensor> {
        self.copies.reset();
        let (header, buffers) = frames.into_parts();
        let flatbuffer = flatbuffer(&header, &self.limits)?;
        let message = Message::parse(&flatbuffer, 0, &self.limits)?;
        let meta = SparseMeta::of(&message)?.ok_or_else(|| message.unexpected(Content::SparseTensor))?;
        let mut buffers = take_all(&meta.buffers, buffers)?;
        let data = buffers.pop().unwrap_or_default();
        let non_zero = meta.non_zero;
        let element = Element::new(meta.data_type)?;
        let values = Tensor::row_major(element, vec![non_zero], data, Part::Values)?;
        let values = self.aligned(values, buffers.len(), VALUES)?;
        let shape = &meta.dims.shape;
        let mut buffers = buffers.into_iter();
        let mut next = || buffers.next().unwrap_or_default();
        let index = match meta.index {
            IndexMeta::Coo { indices, strides, .. } => {
                let strides = strides_of(strides, message.position)?;
                let indices = index::matrix(indices, [non_zero, shape.len()], strides, next())?;
                SparseIndex::Coo { indices: self.aligned(indices, 0, INDICES)? }
            }
            IndexMeta::Csx { axis, indptr, indices } => {
                let rows = index::compressed_size(shape, axis)?;
                let indptr = index::vector(indptr, rows.saturating_add(1), next(), Part::Pointers)?;
                let indices = index::vector(indices, non_zero, next(), Part::Indices)?;
                let indptr = self.aligned(indptr, 0, POINTERS)?;
                let indices = self.aligned(indices, 1, INDICES)?;
                match axis {
                    Axis::Row => SparseIndex::Csr { indptr, indices },
                    Axis::Column => SparseIndex::Csc { indptr, indices },
                }
            }
            IndexMeta::Csf { indptr, indices, axis_order, levels } => {
                let axis_order = index::axis_order(&axis_order)?;
                let pointers: Vec<Buffer> = (0..levels.0).map(|_| next()).collect();
                let buffers: Vec<Buffer> = (0..levels.1).map(|_| next()).collect();
                let counts = index::level_counts(&indptr, &pointers, &indices, &buffers, non_zero)?;
                let mut number = 0usize;
                let mut level = |data_type: &DataType, count, buffer, part, name| {
                    let tensor = index::vector(data_type.clone(), count, buffer, part)?;
                    let tensor = self.aligned(tensor, number, name);
                    number = number.saturating_add(1);
                    tensor
                };
                let pointers = pointers.into_iter().zip(&counts).map(|(buffer, count)| {
                    level(&indptr, count.saturating_add(1), buffer, Part::Pointers, POINTERS)
                });
                let indptr = pointers.collect::<Result<_>>()?;
                let indices = buffers
                    .into_iter()
                    .zip(&counts)
                    .map(|(buffer, count)| level(&indices, *count, buffer, Part::Indices, INDICES));
                SparseIndex::Csf { indptr, indices: indices.collect::<Result<_>>()?, axis_order }
            }
        };
        let tensor = SparseTensor::try_new(meta.dims.shape.clone(), index, values)?;
        Ok(tensor.with_dims(meta.dims).with_metadata(message.all_metadata()))
    }

    fn compressed(
        &mut self,
        axis: Axis,
        indptr: &Tensor,
        indices: &Tensor,
        buffers: &mut Vec<Buffer>,
    ) -> Result<IndexMeta> {
        buffers.push(self.lay_out(indptr, 0, POINTERS, Layout::RowMajor)?.1);
        buffers.push(self.lay_out(indices, 1, INDICES, Layout::RowMajor)?.1);
        let (indptr, indices) = (indptr.data_type().clone(), indices.data_type().clone());
        Ok(IndexMeta::Csx { axis, indptr, indices })
    }

    /// A tensor's strides and elements as they are sent: one behind the other.
    fn lay_out(
        &mut self,
        tensor: &Tensor,
        buffer: usize,
        name: &str,
        layout: Layout,
    ) -> Result<(Vec<i64>, Buffer)> {
        let (shape, width, length) = (tensor.shape(), tensor.element_width(), tensor.num_bytes());
        let row_major = strides::row_major(shape, width)?;
        if length == 0 {
            // Of no elements any strides would do. Arrow C++ takes only its own for contiguous.
            let strides = vec![i64::try_from(width).unwrap_or(i64::MAX); shape.len()];
            return Ok((strides, Buffer::default()));
        }
        let is_sent_as_it_lies = match layout {
            Layout::AnyOrder => tensor.is_contiguous(),
            Layout::RowMajor => tensor.is_row_major(),
        };
        if is_sent_as_it_lies {
            // Where an axis of one element leads to means nothing, but must look well to Arrow C++.
            let strides = if tensor.is_row_major() {
                row_major
            } else if tensor.is_column_major() {
                strides::column_major(shape, width)?
            } else {
                let sound = |(stride, usual): (&isize, &isize)| if *stride < 0 { *usual } else { *stride };
                tensor.strides().iter().zip(&row_major).map(sound).collect()
            };
            return Ok((wire_strides(&strides), tensor.data().slice_with_length(tensor.offset(), length)));
        }
        self.copies.claim(buffer, name, CopyReason::Strided, length)?;
        Ok((wire_strides(&row_major), tensor.gather()?))
    }

    /// A tensor whose memory starts where its type can be read.
    fn aligned(&mut self, tensor: Tensor, buffer: usize, name: &str) -> Result<Tensor> {
        let address = tensor.data().as_ptr() as usize;
        if tensor.num_bytes() == 0 || address.is_multiple_of(tensor.element().alignment()) {
            return Ok(tensor);
        }
        let range = tensor.extent();
        self.copies.claim(buffer, name, CopyReason::Misaligned, range.len())?;
        let data = aligned_copy(tensor.data().get(range).unwrap_or_default())?;
        Tensor::strided(tensor.element().clone(), tensor.shape().to_vec(), tensor.strides().to_vec(), 0, data)
    }
}

/// How elements that are sent have to lie.
#[derive(Clone, Copy)]
enum Layout {
    /// With strides that say how.
    AnyOrder,
    /// In row-major order: nothing says how else.
    RowMajor,
}

/// The flatbuffer of a header's message, which is its only one.
fn flatbuffer<'h>(header: &'h [u8], limits: &Limits) -> Result<Cow<'h, [u8]>> {
    let Next::Message(envelope) = envelope::first(header, limits)? else {
        let (needed, available) = (8, header.len() as u64);
        return Err(ErrorKind::Truncated { part: Part::Metadata, position: 0, needed, available }.into());
    };
    Ok(readable(header.get(envelope.metadata).unwrap_or_default()))
}

/// The frame of each of these buffers, which is none for empty ones.
fn take_all(spans: &[Span], frames: Vec<Buffer>) -> Result<Vec<Buffer>> {
    let expected = spans.iter().filter(|span| span.length > 0).count();
    let found = frames.len();
    if expected != found {
        return Err(ErrorKind::FrameCount { expected, found }.into());
    }
    let mut frames = frames.into_iter().enumerate();
    let mut next = |span: &Span| {
        if span.length == 0 {
            return Ok(Buffer::default());
        }
        let (frame, buffer) = frames.next().ok_or(ErrorKind::FrameCount { expected, found })?;
        if buffer.len() as u64 != span.length {
            let (expected, found) = (span.length, buffer.len() as u64);
            return Err(ErrorKind::FrameLength { frame, expected, found }.into());
        }
        Ok(buffer)
    };
    spans.iter().map(&mut next).collect()
}

fn frames(header: Vec<u8>, buffers: impl IntoIterator<Item = Buffer>) -> Frames {
    Frames::new(header, buffers.into_iter().filter(|buffer| !buffer.is_empty()).collect())
}

/// A buffer that is to be written; where it lies follows from the lengths.
fn span(buffer: &Buffer) -> Span {
    Span { offset: 0, length: buffer.len() as u64 }
}

/// The strides of a message, none of which may be negative.
fn strides_of(strides: Option<Vec<i64>>, position: u64) -> Result<Option<Vec<isize>>> {
    let stride = |number: i64| {
        let stride = isize::try_from(number).ok().filter(|stride| *stride >= 0);
        stride.ok_or_else(|| ErrorKind::BadNumber { part: Part::Strides, position, number }.into())
    };
    strides.map(|strides| strides.into_iter().map(stride).collect()).transpose()
}

fn wire_strides(strides: &[isize]) -> Vec<i64> {
    strides.iter().map(|stride| i64::try_from(*stride).unwrap_or(i64::MAX)).collect()
}
