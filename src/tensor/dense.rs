//! A tensor: elements of one type in several dimensions.

use std::fmt;

use arrow_buffer::Buffer;
use arrow_schema::{DataType, Metadata};
use zerocopy::FromBytes;

use super::codec::TensorCodec;
use super::element::{Element, TensorElement};
use super::strides;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::wire::tensor::Dims;

/// An array of several dimensions: elements of one type, which share a buffer.
///
/// Where an element lies is said by strides: bytes (not elements) from it to the next one along each
/// dimension. Row-major ("C"), column-major ("F") and any other order of the axes is a tensor
/// whose elements lie one behind the other; encoding it copies nothing. A view with gaps, or
/// with strides that are negative or 0, is gathered once, and
/// [counted](crate::CopyReason::Strided).
///
/// ```
/// use arrow_buffer::Buffer;
/// use arrow_frames::{Frames, Tensor};
/// use arrow_schema::DataType;
///
/// // 2 rows of 3 numbers, column by column.
/// let data = Buffer::from_vec(vec![1i32, 4, 2, 5, 3, 6]);
/// let tensor = Tensor::try_new(DataType::Int32, vec![2, 3], Some(vec![4, 8]), data)?
///     .with_names(["row", "column"])?;
/// assert!(tensor.is_column_major());
///
/// let (header, buffers) = tensor.to_frames()?.into_parts();
/// assert_eq!(buffers[0].as_ptr(), tensor.data().as_ptr());
///
/// // … the header and the buffers travel …
///
/// let again = Tensor::from_frames(Frames::new(header, buffers))?;
/// assert_eq!(again.shape(), [2, 3]);
/// assert_eq!(again.strides(), [4, 8]);
/// assert_eq!(again.names(), ["row", "column"]);
/// assert_eq!(again.to_row_major()?.values::<i32>(), Some(&[1, 2, 3, 4, 5, 6][..]));
/// # Ok::<(), arrow_frames::Error>(())
/// ```
///
/// As a stream a tensor is one message and its body, with no schema before and no end marker
/// behind it: [`write_frames`](crate::write_frames) writes what `pyarrow.ipc.read_tensor` reads,
/// and [`Frames::from_stream`] takes apart what `pyarrow.ipc.write_tensor` writes.
///
/// Source: the Arrow columnar format, "Tensor Message".
#[derive(Clone)]
pub struct Tensor {
    element: Element,
    dims: Dims,
    strides: Vec<isize>,
    offset: usize,
    data: Buffer,
    metadata: Metadata,
}

impl Tensor {
    /// A tensor whose first element is the first one of the buffer. Without strides it is
    /// row-major.
    ///
    /// The type's values are of a fixed number of bytes: numbers, decimals, dates, times,
    /// timestamps, durations, intervals and binary of a fixed size. (Arrow C++ has tensors of
    /// integers and floats only; those are [`TensorElement`]s.)
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TensorType`] for any other type; [`ErrorKind::TensorSize`] for a shape of
    /// more bytes than can be addressed; [`ErrorKind::TensorCount`] if there is not a stride for
    /// each dimension; [`ErrorKind::TensorLength`] and [`ErrorKind::TensorStrides`] if an element
    /// lies outside the buffer.
    pub fn try_new(
        data_type: DataType,
        shape: Vec<usize>,
        strides: Option<Vec<isize>>,
        data: Buffer,
    ) -> Result<Self> {
        let element = Element::new(data_type)?;
        let Some(strides) = strides else {
            return Tensor::row_major(element, shape, data, Part::Values);
        };
        Tensor::strided(element, shape, strides, 0, data)
    }

    /// A tensor whose first element starts at this byte of the buffer, from where negative
    /// strides may lead back.
    ///
    /// ```
    /// use arrow_buffer::Buffer;
    /// use arrow_frames::Tensor;
    /// use arrow_schema::DataType;
    ///
    /// let data = Buffer::from_vec(vec![1u8, 2, 3]);
    /// let backwards = Tensor::try_view(DataType::UInt8, vec![3], vec![-1], 2, data)?;
    /// assert_eq!(backwards.to_row_major()?.values::<u8>(), Some(&[3, 2, 1][..]));
    /// # Ok::<(), arrow_frames::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_new`](Self::try_new).
    pub fn try_view(
        data_type: DataType,
        shape: Vec<usize>,
        strides: Vec<isize>,
        offset: usize,
        data: Buffer,
    ) -> Result<Self> {
        Tensor::strided(Element::new(data_type)?, shape, strides, offset, data)
    }

    /// A row-major tensor from the start of a buffer, which holds that part of something.
    pub(super) fn row_major(element: Element, shape: Vec<usize>, data: Buffer, part: Part) -> Result<Self> {
        let strides = strides::row_major(&shape, element.width())?;
        let needed = strides::num_bytes(&shape, element.width())?;
        if needed > data.len() {
            let (needed, found) = (needed as u64, data.len() as u64);
            return Err(ErrorKind::TensorLength { part, needed, found }.into());
        }
        Tensor::strided(element, shape, strides, 0, data)
    }

    pub(super) fn strided(
        element: Element,
        shape: Vec<usize>,
        strides: Vec<isize>,
        offset: usize,
        data: Buffer,
    ) -> Result<Self> {
        if strides.len() != shape.len() {
            let (expected, found) = (shape.len(), strides.len());
            return Err(ErrorKind::TensorCount { part: Part::Strides, expected, found }.into());
        }
        // A shape of no elements too: its strides must be expressible.
        strides::row_major(&shape, element.width())?;
        if strides::extent(&shape, &strides, offset, element.width(), data.len()).is_none() {
            let length = data.len() as u64;
            return Err(ErrorKind::TensorStrides { shape, strides, offset, length }.into());
        }
        let dims = Dims { shape, names: Vec::new() };
        Ok(Tensor { element, dims, strides, offset, data, metadata: Metadata::new() })
    }

    /// Names the dimensions. If all names are empty there are none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TensorCount`] if there is not a name for each.
    pub fn with_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Result<Self> {
        self.dims.name(names.into_iter().map(Into::into).collect())?;
        Ok(self)
    }

    /// Sets the metadata that travels in the message, as pairs of key and value.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The type of an element.
    pub fn data_type(&self) -> &DataType {
        self.element.data_type()
    }

    /// Elements along each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.dims.shape
    }

    /// Bytes from an element to the next one along each dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The byte of [`data`](Self::data) at which the first element starts.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The names of the dimensions: none at all, or one for each, empty where there is none.
    pub fn names(&self) -> &[String] {
        &self.dims.names
    }

    /// The metadata of the message.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The buffer that all elements lie in.
    pub fn data(&self) -> &Buffer {
        &self.data
    }

    /// Bytes of an element.
    pub fn element_width(&self) -> usize {
        self.element.width()
    }

    /// How many elements there are.
    pub fn num_elements(&self) -> usize {
        self.num_bytes().checked_div(self.element.width()).unwrap_or_default()
    }

    /// Bytes of all elements, without what may lie between them.
    pub fn num_bytes(&self) -> usize {
        strides::num_bytes(self.shape(), self.element.width()).unwrap_or_default()
    }

    /// Whether the elements lie one behind the other in row-major ("C") order.
    pub fn is_row_major(&self) -> bool {
        strides::is_row_major(self.shape(), &self.strides, self.element.width())
    }

    /// Whether the elements lie one behind the other in column-major ("F") order.
    pub fn is_column_major(&self) -> bool {
        strides::is_column_major(self.shape(), &self.strides, self.element.width())
    }

    /// Whether the elements lie one behind the other, in whatever order of the axes: then
    /// encoding copies nothing.
    pub fn is_contiguous(&self) -> bool {
        strides::is_contiguous(self.shape(), &self.strides, self.element.width())
    }

    /// The elements in row-major order, if that is how they lie, if this is their type, and if
    /// their address suits it.
    pub fn values<T: TensorElement>(&self) -> Option<&[T]> {
        if *self.data_type() != T::DATA_TYPE || !self.is_row_major() {
            return None;
        }
        let length = self.num_bytes();
        if length == 0 {
            return Some(&[]);
        }
        let bytes = self.data.get(self.offset..self.offset.checked_add(length)?)?;
        <[T]>::ref_from_bytes(bytes).ok()
    }

    /// This tensor, or if it is not row-major a copy that is, with no bytes but its elements'.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`].
    pub fn to_row_major(&self) -> Result<Tensor> {
        if self.is_row_major() {
            return Ok(self.clone());
        }
        Ok(Tensor {
            strides: strides::row_major(self.shape(), self.element.width())?,
            offset: 0,
            data: self.gather()?,
            ..self.clone()
        })
    }

    /// Makes a header and a frame of it, which is the tensor's own memory if its elements lie one
    /// behind the other. [`TensorCodec`] has the options and the report.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`] if a view has to be gathered.
    pub fn to_frames(&self) -> Result<Frames> {
        TensorCodec::new().encode(self)
    }

    /// Rebuilds a tensor from a header and its frame, without copying it.
    ///
    /// # Errors
    ///
    /// Any [`ErrorKind`] whose [`fault`](crate::Error::fault) is the input;
    /// [`ErrorKind::WrongContent`] if the header is of something else.
    pub fn from_frames(frames: Frames) -> Result<Tensor> {
        TensorCodec::new().decode(frames)
    }

    pub(super) fn element(&self) -> &Element {
        &self.element
    }

    /// The bytes of [`data`](Self::data) that elements lie in.
    pub(super) fn extent(&self) -> std::ops::Range<usize> {
        let (width, length) = (self.element.width(), self.data.len());
        strides::extent(self.shape(), &self.strides, self.offset, width, length).unwrap_or_default()
    }

    pub(super) fn dims(&self) -> &Dims {
        &self.dims
    }

    pub(super) fn with_dims(mut self, dims: Dims) -> Self {
        self.dims = dims;
        self
    }

    /// The elements in row-major order, in new memory.
    pub(super) fn gather(&self) -> Result<Buffer> {
        let width = self.element.width();
        let bytes = strides::gather(&self.data, self.shape(), &self.strides, self.offset, width)?;
        Ok(Buffer::from_vec(bytes))
    }
}

impl Dims {
    /// Names the dimensions.
    pub(super) fn name(&mut self, names: Vec<String>) -> Result<()> {
        if names.len() != self.shape.len() {
            let (expected, found) = (self.shape.len(), names.len());
            return Err(ErrorKind::TensorCount { part: Part::Names, expected, found }.into());
        }
        self.names = if names.iter().all(String::is_empty) { Vec::new() } else { names };
        Ok(())
    }
}

/// What it is and how it lies, without its elements.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("data_type", self.data_type())
            .field("shape", &self.shape())
            .field("strides", &self.strides)
            .field("offset", &self.offset)
            .field("names", &self.names())
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// A tensor of one dimension, which takes the vector's memory.
///
/// ```
/// use arrow_frames::Tensor;
///
/// let tensor = Tensor::from(vec![1.5, 2.5]);
/// assert_eq!(tensor.shape(), [2]);
/// assert_eq!(tensor.values::<f64>(), Some(&[1.5, 2.5][..]));
/// ```
impl<T: TensorElement> From<Vec<T>> for Tensor {
    fn from(values: Vec<T>) -> Self {
        let width = size_of::<T>();
        Tensor {
            element: Element::of::<T>(),
            dims: Dims { shape: vec![values.len()], names: Vec::new() },
            // No element is wider than 8 bytes.
            strides: vec![isize::try_from(width).unwrap_or_default()],
            offset: 0,
            data: Buffer::from_vec(values),
            metadata: Metadata::new(),
        }
    }
}
