//! What the golden files of tensors hold: one of each layout and of each index. The task that
//! writes the files and the tests that read them both take it from here.

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, TimeUnit};
use arrow_frames::{Frames, Result, SparseIndex, SparseTensor, Tensor};

/// A golden file.
pub struct Golden {
    /// Its name, without the ending.
    pub name: &'static str,
    /// What it holds.
    pub tensor: Made,
}

/// A tensor of either kind.
#[allow(dead_code)] // The task only writes them.
pub enum Made {
    Dense(Tensor),
    Sparse(Box<SparseTensor>),
}

impl Golden {
    pub fn frames(&self) -> Result<Frames> {
        match &self.tensor {
            Made::Dense(tensor) => tensor.to_frames(),
            Made::Sparse(tensor) => tensor.to_frames(),
        }
    }

    /// The file's bytes.
    pub fn stream(&self) -> Result<Vec<u8>> {
        Ok(self.frames()?.segments()?.flatten().copied().collect())
    }
}

/// Every golden file of tensors.
pub fn all() -> Result<Vec<Golden>> {
    let dense = |name, tensor| Golden { name, tensor: Made::Dense(tensor) };
    let sparse = |name, tensor| Golden { name, tensor: Made::Sparse(Box::new(tensor)) };
    Ok(vec![
        dense("tensor_row_major", row_major()?),
        dense("tensor_column_major", column_major()?),
        dense("tensor_permuted", permuted()?),
        dense("tensor_scalar", Tensor::try_new(DataType::UInt8, vec![], None, vec![7u8].into())?),
        dense("tensor_empty", Tensor::try_new(DataType::Float32, vec![2, 0, 3], None, Buffer::default())?),
        dense("tensor_times", times()?),
        sparse("sparse_coo", sparse_coo()?),
        sparse("sparse_csr", sparse_csr()?),
        sparse("sparse_csc", sparse_csc()?),
        sparse("sparse_csf", sparse_csf()?),
        sparse("sparse_empty", sparse_empty()?),
    ])
}

fn row_major() -> Result<Tensor> {
    let data = Buffer::from_vec(vec![1.5f64, -2.5, f64::NAN, f64::INFINITY, -0.0, 6.0]);
    Tensor::try_new(DataType::Float64, vec![2, 3], None, data)
}

/// With names and metadata.
fn column_major() -> Result<Tensor> {
    let data = Buffer::from_vec(vec![1i32, 4, 2, 5, 3, 6]);
    let tensor = Tensor::try_new(DataType::Int32, vec![2, 3], Some(vec![4, 8]), data)?;
    Ok(tensor.with_names(["row", "column"])?.with_metadata([("unit", "m"), ("", "")].into()))
}

/// Neither: the middle axis is the closest.
fn permuted() -> Result<Tensor> {
    let data = Buffer::from_vec((0..24i16).collect::<Vec<_>>());
    let tensor = Tensor::try_new(DataType::Int16, vec![2, 3, 4], Some(vec![24, 2, 6]), data)?;
    tensor.with_names(["", "named", ""])
}

/// Of a type that Arrow C++ has no tensors of.
fn times() -> Result<Tensor> {
    let zone = Some("Europe/Oslo".into());
    let data = Buffer::from_vec(vec![0i64, 1_700_000_000_000_000]);
    Tensor::try_new(DataType::Timestamp(TimeUnit::Microsecond, zone), vec![2, 1], None, data)
}

/// ```text
/// . 1 . .     . . . .     . . . 4
/// . . 2 .     . . . .     5 . . 6
/// . . . 3     . . . .     . . . .
/// ```
pub fn sparse_coo() -> Result<SparseTensor> {
    let indices = vec![0i64, 0, 1, 0, 1, 2, 0, 2, 3, 2, 0, 3, 2, 1, 0, 2, 1, 3];
    let indices = Tensor::try_new(DataType::Int64, vec![6, 3], None, Buffer::from_vec(indices))?;
    let values = Tensor::from(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let tensor = SparseTensor::try_new(vec![3, 3, 4], SparseIndex::Coo { indices }, values)?;
    Ok(tensor.with_names(["layer", "row", "column"])?.with_metadata([("unit", "m")].into()))
}

/// ```text
/// . 1 .
/// 2 . 3
/// ```
pub fn sparse_csr() -> Result<SparseTensor> {
    let index =
        SparseIndex::Csr { indptr: Tensor::from(vec![0i32, 1, 3]), indices: Tensor::from(vec![1u16, 0, 2]) };
    SparseTensor::try_new(vec![2, 3], index, Tensor::from(vec![1i64, 2, 3]))
}

/// The same.
pub fn sparse_csc() -> Result<SparseTensor> {
    let index = SparseIndex::Csc {
        indptr: Tensor::from(vec![0u32, 1, 2, 3]),
        indices: Tensor::from(vec![1i8, 0, 1]),
    };
    SparseTensor::try_new(vec![2, 3], index, Tensor::from(vec![2i64, 1, 3]))
}

/// That of the coordinates.
pub fn sparse_csf() -> Result<SparseTensor> {
    let index = SparseIndex::Csf {
        indptr: vec![Tensor::from(vec![0i32, 3, 5]), Tensor::from(vec![0i32, 1, 2, 3, 4, 6])],
        indices: vec![
            Tensor::from(vec![0i32, 2]),
            Tensor::from(vec![0i32, 1, 2, 0, 1]),
            Tensor::from(vec![1i32, 2, 3, 3, 0, 3]),
        ],
        axis_order: vec![0, 1, 2],
    };
    let values = Tensor::from(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    SparseTensor::try_new(vec![3, 3, 4], index, values)
}

/// Of no elements, in more rows than have memory.
pub fn sparse_empty() -> Result<SparseTensor> {
    let indices = Tensor::try_new(DataType::Int64, vec![0, 2], Some(vec![8, 8]), Buffer::default())?;
    let values = Tensor::from(Vec::<f64>::new());
    SparseTensor::try_new(vec![1 << 40, 1 << 40], SparseIndex::Coo { indices }, values)
}
