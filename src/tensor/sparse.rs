//! A sparse tensor: the elements that are not zero, and where they are.

use arrow_schema::{DataType, Metadata};

use super::codec::TensorCodec;
use super::dense::Tensor;
use super::index;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::wire::tensor::Dims;

/// An array of several dimensions of which only some elements are there; the others are zero.
///
/// ```
/// use arrow_frames::{SparseIndex, SparseTensor, Tensor};
///
/// //  .  1.5   .
/// // 2.5  .   3.5
/// let index = SparseIndex::Csr {
///     indptr: Tensor::from(vec![0i32, 1, 3]),
///     indices: Tensor::from(vec![1i32, 0, 2]),
/// };
/// let matrix = SparseTensor::try_new(vec![2, 3], index, Tensor::from(vec![1.5, 2.5, 3.5]))?;
///
/// let frames = matrix.to_frames()?;
/// assert_eq!(frames.buffers().len(), 3);
///
/// // … the header and the buffers travel …
///
/// let again = SparseTensor::from_frames(frames)?;
/// assert_eq!(again.values().values::<f64>(), Some(&[1.5, 2.5, 3.5][..]));
/// assert_eq!(again.values().data().as_ptr(), matrix.values().data().as_ptr());
/// # Ok::<(), arrow_frames::Error>(())
/// ```
///
/// Source: the Arrow columnar format, "Sparse Tensor Message".
#[derive(Debug, Clone)]
pub struct SparseTensor {
    dims: Dims,
    index: SparseIndex,
    values: Tensor,
    is_canonical: bool,
    metadata: Metadata,
}

/// Where the elements of a sparse tensor are.
///
/// Indices and pointers are tensors of any integer type, with or without a sign; their own names
/// and metadata do not travel. `n` is the number of elements that are there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SparseIndex {
    /// Coordinates, for any number of dimensions.
    Coo {
        /// A matrix of `n` rows, with a column for each dimension, in row-major or column-major
        /// order.
        indices: Tensor,
    },
    /// A matrix, row by row.
    Csr {
        /// Where each row starts in `indices` and the values: one number more than there are
        /// rows, from 0 to `n`.
        indptr: Tensor,
        /// The column of each element. Within a row they may be in any order.
        indices: Tensor,
    },
    /// A matrix, column by column.
    Csc {
        /// Where each column starts in `indices` and the values: one number more than there are
        /// columns, from 0 to `n`.
        indptr: Tensor,
        /// The row of each element. Within a column they may be in any order.
        indices: Tensor,
    },
    /// A tree with a level for each dimension, for one dimension and more.
    Csf {
        /// Of each level but the last, where the children of each node start in the next level:
        /// one number more than the level has nodes, from 0 to the number of nodes of the next
        /// level. All of one type.
        indptr: Vec<Tensor>,
        /// Of each level, the index of each node along the level's dimension. The last level has
        /// `n` nodes. All of one type.
        indices: Vec<Tensor>,
        /// The dimension of each level: each dimension once.
        axis_order: Vec<usize>,
    },
}

impl SparseTensor {
    /// A sparse tensor of these elements, a tensor of one dimension. Every index is checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TensorCount`] if there are more or fewer
    /// indices, pointers or levels than the shape and the values need;
    /// [`ErrorKind::TensorIndex`] and
    /// [`ErrorKind::TensorPointers`] if one leads outside;
    /// [`ErrorKind::TensorAxes`];
    /// [`ErrorKind::TensorType`] and
    /// [`ErrorKind::TensorLevels`] if they are not integers, or
    /// levels of a tree not of the same type.
    pub fn try_new(shape: Vec<usize>, index: SparseIndex, values: Tensor) -> Result<Self> {
        let found = values.shape().len();
        let &[count] = values.shape() else {
            return Err(ErrorKind::TensorCount { part: Part::Shape, expected: 1, found }.into());
        };
        let is_canonical = index::check(&shape, &index, count)?.is_canonical;
        let dims = Dims { shape, names: Vec::new() };
        Ok(SparseTensor { dims, index, values, is_canonical, metadata: Metadata::new() })
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
        self.values.data_type()
    }

    /// Elements along each dimension, with those that are zero.
    pub fn shape(&self) -> &[usize] {
        &self.dims.shape
    }

    /// The names of the dimensions: none at all, or one for each, empty where there is none.
    pub fn names(&self) -> &[String] {
        &self.dims.names
    }

    /// The metadata of the message.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Where the elements are.
    pub fn index(&self) -> &SparseIndex {
        &self.index
    }

    /// The elements that are there, in the order of the index: a tensor of one dimension.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// How many elements are there.
    pub fn num_values(&self) -> usize {
        self.values.shape().first().copied().unwrap_or_default()
    }

    /// Whether this is an index of coordinates that ascend in row-major order, each once. What a
    /// message claims is not believed: it was looked at.
    pub fn is_canonical(&self) -> bool {
        self.is_canonical
    }

    /// The index and the elements.
    pub fn into_parts(self) -> (SparseIndex, Tensor) {
        (self.index, self.values)
    }

    /// Makes a header and frames of it, which are its own memory. [`TensorCodec`] has the options
    /// and the report.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`] if a view has to be gathered.
    pub fn to_frames(&self) -> Result<Frames> {
        TensorCodec::new().encode_sparse(self)
    }

    /// Rebuilds a sparse tensor from a header and its frames, without copying them.
    ///
    /// # Errors
    ///
    /// Any [`ErrorKind`](crate::ErrorKind) whose [`fault`](crate::Error::fault) is the input;
    /// [`ErrorKind::WrongContent`] if the header is of something
    /// else.
    pub fn from_frames(frames: Frames) -> Result<SparseTensor> {
        TensorCodec::new().decode_sparse(frames)
    }

    pub(super) fn dims(&self) -> &Dims {
        &self.dims
    }

    pub(super) fn with_dims(mut self, dims: Dims) -> Self {
        self.dims = dims;
        self
    }
}
