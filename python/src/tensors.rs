//! Tensors in Python's memory ↔ frames. Types are format strings of Arrow's C data interface.

use arrow_buffer::Buffer;
use arrow_frames::{Content, Frames, SparseIndex, SparseTensor, Tensor, TensorCodec};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Metadata};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::columns::{Copied, copied};
use crate::errors::{DecodeError, EncodeError, Result, caught, detached, reading, writing};
use crate::limits::Limits;
use crate::memory::Regions;
use crate::stream::import;

/// A header, its frames, and what was copied.
type Encoded<'py> = (Bound<'py, PyBytes>, Vec<Bound<'py, PyMemoryView>>, Vec<Copied>);

/// Numbers of Python's: their format and their memory.
type Numbers<'py> = (String, Bound<'py, PyAny>);

/// What a header or a stream (or a file) holds: `dataframe`, `tensor` or `sparse`.
#[pyfunction]
pub fn kind(bytes: &Bound<'_, PyAny>) -> Result<&'static str> {
    let bytes = Regions::default().import(bytes, "the header")?;
    if bytes.starts_with(b"ARROW1") {
        return Ok("dataframe");
    }
    match caught(|| Content::of(&bytes).map_err(reading))? {
        Content::DataFrame => Ok("dataframe"),
        Content::Tensor => Ok("tensor"),
        Content::SparseTensor => Ok("sparse"),
        other => Err(DecodeError::new_err(format!("it holds {other}"))),
    }
}

/// Makes a header and a frame of a tensor whose elements are in this memory, the first one at a byte of
/// it; its strides are bytes.
#[pyfunction]
#[pyo3(signature = (values, format, shape, strides=None, offset=0, *, names=None, metadata=None, max_copied_bytes=None))]
#[allow(clippy::too_many_arguments)] // They are Python's, most of them by name.
pub fn encode_tensor<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    format: &str,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    offset: usize,
    names: Option<Vec<String>>,
    metadata: Option<Vec<(String, String)>>,
    max_copied_bytes: Option<u64>,
) -> Result<Encoded<'py>> {
    let mut regions = Regions::default();
    let values = regions.import(values, "the values")?;
    let data_type = data_type(format)?;
    let tensor = match (strides, offset) {
        (None, 0) => Tensor::try_new(data_type, shape, None, values),
        (None, _) => return Err(PyValueError::new_err("an offset needs strides")),
        (Some(strides), offset) => Tensor::try_view(data_type, shape, strides, offset, values),
    };
    let mut tensor = tensor.map_err(writing)?.with_metadata(pairs(metadata));
    if let Some(names) = names {
        tensor = tensor.with_names(names).map_err(writing)?;
    }
    encoded(py, &mut regions, max_copied_bytes, |codec| codec.encode(&tensor))
}

/// Makes a header and frames of a sparse tensor: its elements, and the index that says where they are.
///
/// `kind` is `coo` (no pointers, one matrix of indices, whose strides are bytes), `csr` or `csc` (one
/// of each), or `csf` (one of pointers fewer than dimensions, one of indices for each).
#[pyfunction]
#[pyo3(signature = (kind, shape, values, indptr, indices, *, strides=None, axis_order=None, names=None, metadata=None, max_copied_bytes=None))]
#[allow(clippy::too_many_arguments)]
pub fn encode_sparse<'py>(
    py: Python<'py>,
    kind: &str,
    shape: Vec<usize>,
    values: Numbers<'py>,
    indptr: Vec<Numbers<'py>>,
    indices: Vec<Numbers<'py>>,
    strides: Option<Vec<isize>>,
    axis_order: Option<Vec<usize>>,
    names: Option<Vec<String>>,
    metadata: Option<Vec<(String, String)>>,
    max_copied_bytes: Option<u64>,
) -> Result<Encoded<'py>> {
    let mut regions = Regions::default();
    let values = vector(&mut regions, &values, "the values")?;
    let indptr = indptr.iter().map(|numbers| vector(&mut regions, numbers, "the pointers"));
    let indptr = indptr.collect::<Result<Vec<_>>>()?;
    let indices = indices.iter().map(|numbers| vector(&mut regions, numbers, "the indices"));
    let indices = indices.collect::<Result<Vec<_>>>()?;
    let wrong = || PyValueError::new_err(format!("{kind:?} is no kind of index with such parts"));
    let index = match kind {
        "coo" => {
            let [indices] = <[Tensor; 1]>::try_from(indices).map_err(|_| wrong())?;
            let matrix = vec![values.num_elements(), shape.len()];
            let indices =
                Tensor::try_new(indices.data_type().clone(), matrix, strides, indices.data().clone());
            SparseIndex::Coo { indices: indices.map_err(writing)? }
        }
        "csr" | "csc" => {
            let [indptr] = <[Tensor; 1]>::try_from(indptr).map_err(|_| wrong())?;
            let [indices] = <[Tensor; 1]>::try_from(indices).map_err(|_| wrong())?;
            match kind {
                "csr" => SparseIndex::Csr { indptr, indices },
                _ => SparseIndex::Csc { indptr, indices },
            }
        }
        "csf" => {
            let axis_order = axis_order.unwrap_or_else(|| (0..shape.len()).collect());
            SparseIndex::Csf { indptr, indices, axis_order }
        }
        _ => return Err(wrong()),
    };
    let tensor = detached(py, || SparseTensor::try_new(shape, index, values).map_err(writing))?;
    let mut tensor = tensor.with_metadata(pairs(metadata));
    if let Some(names) = names {
        tensor = tensor.with_names(names).map_err(writing)?;
    }
    encoded(py, &mut regions, max_copied_bytes, |codec| codec.encode_sparse(&tensor))
}

/// A decoded tensor, whose memory is the frame that it was decoded from.
#[pyclass(frozen, get_all, module = "arrow_frames._native")]
pub struct DecodedTensor {
    format: String,
    shape: Vec<usize>,
    /// Bytes from an element to the next one along each dimension.
    strides: Vec<isize>,
    /// None at all, or one for each dimension.
    names: Vec<String>,
    metadata: Vec<(String, String)>,
    /// The memory of all elements, the first one at its start.
    values: Py<PyMemoryView>,
    copies: Vec<Copied>,
}

/// A decoded sparse tensor, whose memory is the frames that it was decoded from.
#[pyclass(frozen, get_all, module = "arrow_frames._native")]
pub struct DecodedSparse {
    /// `coo`, `csr`, `csc` or `csf`.
    kind: &'static str,
    format: String,
    shape: Vec<usize>,
    names: Vec<String>,
    metadata: Vec<(String, String)>,
    /// The memory of the elements.
    values: Py<PyMemoryView>,
    /// The format and the memory of pointers.
    indptr: Vec<(String, Py<PyMemoryView>)>,
    /// The format and the memory of indices.
    indices: Vec<(String, Py<PyMemoryView>)>,
    /// Of coordinates, the strides of their matrix in bytes.
    strides: Option<Vec<isize>>,
    /// Of a tree, the dimension of each level.
    axis_order: Option<Vec<usize>>,
    /// Whether they are coordinates in order, each once.
    is_canonical: bool,
    copies: Vec<Copied>,
}

/// Decodes a header and its frame.
#[pyfunction]
#[pyo3(signature = (header, frames, *, max_copied_bytes=None, limits=None))]
pub fn decode_tensor(
    py: Python<'_>,
    header: &Bound<'_, PyAny>,
    frames: Vec<Bound<'_, PyAny>>,
    max_copied_bytes: Option<u64>,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<DecodedTensor> {
    let mut regions = Regions::default();
    let frames = import(&mut regions, header, &frames)?;
    tensor(py, regions, frames, codec(max_copied_bytes).with_limits(Limits::of(limits)))
}

/// Decodes a tensor's stream that lies in one buffer.
#[pyfunction]
#[pyo3(signature = (stream, *, max_copied_bytes=None, limits=None))]
pub fn decode_tensor_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    max_copied_bytes: Option<u64>,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<DecodedTensor> {
    let mut regions = Regions::default();
    let stream = regions.import(stream, "the stream")?;
    let limits = Limits::of(limits);
    let frames = caught(|| Frames::from_stream_with_limits(stream, &limits).map_err(reading))?;
    tensor(py, regions, frames, codec(max_copied_bytes).with_limits(limits))
}

/// Decodes a header and its frames. Every index is checked.
#[pyfunction]
#[pyo3(signature = (header, frames, *, max_copied_bytes=None, limits=None))]
pub fn decode_sparse(
    py: Python<'_>,
    header: &Bound<'_, PyAny>,
    frames: Vec<Bound<'_, PyAny>>,
    max_copied_bytes: Option<u64>,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<DecodedSparse> {
    let mut regions = Regions::default();
    let frames = import(&mut regions, header, &frames)?;
    sparse(py, regions, frames, codec(max_copied_bytes).with_limits(Limits::of(limits)))
}

/// Decodes a sparse tensor's stream that lies in one buffer. Every index is checked.
#[pyfunction]
#[pyo3(signature = (stream, *, max_copied_bytes=None, limits=None))]
pub fn decode_sparse_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    max_copied_bytes: Option<u64>,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<DecodedSparse> {
    let mut regions = Regions::default();
    let stream = regions.import(stream, "the stream")?;
    let limits = Limits::of(limits);
    let frames = caught(|| Frames::from_stream_with_limits(stream, &limits).map_err(reading))?;
    sparse(py, regions, frames, codec(max_copied_bytes).with_limits(limits))
}

fn tensor(
    py: Python<'_>,
    mut regions: Regions,
    frames: Frames,
    mut codec: TensorCodec,
) -> Result<DecodedTensor> {
    let tensor = detached(py, || codec.decode(frames).map_err(reading))?;
    Ok(DecodedTensor {
        format: format(tensor.data_type())?,
        shape: tensor.shape().to_vec(),
        strides: tensor.strides().to_vec(),
        names: tensor.names().to_vec(),
        metadata: unpaired(tensor.metadata()),
        values: view(py, &mut regions, tensor.data())?,
        copies: copied(codec.copies()).collect(),
    })
}

fn sparse(
    py: Python<'_>,
    mut regions: Regions,
    frames: Frames,
    mut codec: TensorCodec,
) -> Result<DecodedSparse> {
    let tensor = detached(py, || codec.decode_sparse(frames).map_err(reading))?;
    let mut strides = None;
    let mut order = None;
    let (kind, indptr, indices): (_, &[Tensor], &[Tensor]) = match tensor.index() {
        SparseIndex::Coo { indices } => {
            strides = Some(indices.strides().to_vec());
            ("coo", &[], std::slice::from_ref(indices))
        }
        SparseIndex::Csr { indptr, indices } => {
            ("csr", std::slice::from_ref(indptr), std::slice::from_ref(indices))
        }
        SparseIndex::Csc { indptr, indices } => {
            ("csc", std::slice::from_ref(indptr), std::slice::from_ref(indices))
        }
        SparseIndex::Csf { indptr, indices, axis_order } => {
            order = Some(axis_order.clone());
            ("csf", indptr, indices)
        }
        _ => return Err(DecodeError::new_err("an index of an unknown kind")),
    };
    let mut numbers = |tensors: &[Tensor]| {
        let parts = tensors
            .iter()
            .map(|tensor| Ok((format(tensor.data_type())?, view(py, &mut regions, &exact(tensor))?)));
        parts.collect::<Result<Vec<_>>>()
    };
    Ok(DecodedSparse {
        kind,
        format: format(tensor.data_type())?,
        shape: tensor.shape().to_vec(),
        names: tensor.names().to_vec(),
        metadata: unpaired(tensor.metadata()),
        indptr: numbers(indptr)?,
        indices: numbers(indices)?,
        values: view(py, &mut regions, &exact(tensor.values()))?,
        strides,
        axis_order: order,
        is_canonical: tensor.is_canonical(),
        copies: copied(codec.copies()).collect(),
    })
}

/// The bytes of elements one behind the other, without what other writers put behind them; of a
/// matrix with gaps all that it lies in.
fn exact(tensor: &Tensor) -> Buffer {
    if tensor.is_contiguous() {
        return tensor.data().slice_with_length(tensor.offset(), tensor.num_bytes());
    }
    tensor.data().clone()
}

fn encoded<'py>(
    py: Python<'py>,
    regions: &mut Regions,
    max_copied_bytes: Option<u64>,
    encode: impl FnOnce(&mut TensorCodec) -> arrow_frames::Result<Frames> + Send,
) -> Result<Encoded<'py>> {
    let mut codec = codec(max_copied_bytes);
    let (header, buffers) = detached(py, || encode(&mut codec).map_err(writing))?.into_parts();
    // What was gathered is nobody else's.
    let frames = buffers.iter().map(|frame| regions.memory(frame, false).view(py));
    let frames = frames.collect::<Result<Vec<_>>>()?;
    Ok((PyBytes::new(py, &header), frames, copied(codec.copies()).collect()))
}

fn codec(max_copied_bytes: Option<u64>) -> TensorCodec {
    match max_copied_bytes {
        Some(bytes) => TensorCodec::new().with_max_copied_bytes(bytes),
        None => TensorCodec::new(),
    }
}

/// All of an object's memory as elements of this format.
fn vector(regions: &mut Regions, (format, values): &Numbers<'_>, what: &str) -> Result<Tensor> {
    let values = regions.import(values, what)?;
    let data_type = data_type(format)?;
    let empty = Tensor::try_new(data_type.clone(), vec![0], None, Buffer::default()).map_err(writing)?;
    let width = empty.element_width();
    if !values.len().is_multiple_of(width) {
        let message = format!("{what} are {} bytes, which are no elements of {width}", values.len());
        return Err(PyValueError::new_err(message));
    }
    let count = values.len().checked_div(width).unwrap_or_default();
    Tensor::try_new(data_type, vec![count], None, values).map_err(writing)
}

fn view(py: Python<'_>, regions: &mut Regions, buffer: &Buffer) -> Result<Py<PyMemoryView>> {
    Ok(regions.memory(buffer, false).view(py)?.unbind())
}

fn data_type(format: &str) -> Result<DataType> {
    let none =
        |reason: String| EncodeError::new_err(format!("{format:?} is no format of elements: {reason}"));
    // Arrow takes it on trust that nested types have children.
    if format.starts_with('+') {
        return Err(none("it is nested".into()));
    }
    let schema = FFI_ArrowSchema::try_new(format, Vec::new(), None);
    let data_type = schema.and_then(|schema| DataType::try_from(&schema));
    data_type.map_err(|error| none(error.to_string()))
}

fn format(data_type: &DataType) -> Result<String> {
    let schema = FFI_ArrowSchema::try_from(data_type);
    let schema =
        schema.map_err(|error| DecodeError::new_err(format!("{data_type} has no format: {error}")))?;
    Ok(schema.format().to_owned())
}

fn pairs(metadata: Option<Vec<(String, String)>>) -> Metadata {
    metadata.unwrap_or_default().into_iter().collect()
}

fn unpaired(metadata: &Metadata) -> Vec<(String, String)> {
    metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}
