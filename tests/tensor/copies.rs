//! What is shared and what is copied: pointer identity, and a report to the byte.

use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow_frames::{CopyReason, ErrorKind, Frames, SparseIndex, SparseTensor, Tensor, TensorCodec};

use crate::made::{self, Made};
use crate::memory::peak;

fn address(buffer: &Buffer) -> (usize, usize) {
    (buffer.as_ptr() as usize, buffer.len())
}

fn addresses(frames: &Frames) -> Vec<(usize, usize)> {
    frames.buffers().iter().map(address).collect()
}

fn strict() -> TensorCodec {
    TensorCodec::new().with_max_copied_bytes(0)
}

/// The buffers of a sparse tensor, in the order of its frames.
pub fn buffers(tensor: &SparseTensor) -> Vec<&Buffer> {
    let index: Vec<&Tensor> = match tensor.index() {
        SparseIndex::Coo { indices } => vec![indices],
        SparseIndex::Csr { indptr, indices } | SparseIndex::Csc { indptr, indices } => vec![indptr, indices],
        SparseIndex::Csf { indptr, indices, .. } => indptr.iter().chain(indices).collect(),
        _ => unreachable!(),
    };
    let all = index.into_iter().chain([tensor.values()]);
    all.map(Tensor::data).filter(|buffer| !buffer.is_empty()).collect()
}

#[test]
fn frames_are_the_tensors_memory_and_back() {
    for golden in made::all().unwrap() {
        let name = golden.name;
        match &golden.tensor {
            Made::Dense(tensor) => {
                let frames = strict().encode(tensor).unwrap();
                let expected: Vec<_> =
                    Some(address(tensor.data())).filter(|(_, len)| *len > 0).into_iter().collect();
                assert_eq!(addresses(&frames), expected, "{name}");
                let again = strict().decode(frames).unwrap();
                assert_eq!(address(again.data()).1, tensor.data().len(), "{name}");
                assert!(expected.is_empty() || address(again.data()) == expected[0], "{name}");
            }
            Made::Sparse(tensor) => {
                let frames = strict().encode_sparse(tensor).unwrap();
                let expected: Vec<_> = buffers(tensor).into_iter().map(address).collect();
                assert_eq!(addresses(&frames), expected, "{name}");
                let again = strict().decode_sparse(frames).unwrap();
                assert_eq!(buffers(&again).into_iter().map(address).collect::<Vec<_>>(), expected, "{name}");
            }
        }
    }
}

/// Neither side takes memory that grows with the elements.
#[test]
fn a_large_tensor_costs_nothing() {
    let tensor = Tensor::from(vec![1.5f64; 4 << 20]);
    let (again, memory) = peak(|| Tensor::from_frames(tensor.to_frames().unwrap()).unwrap());
    assert!(memory < 64 << 10, "{memory} bytes");
    assert_eq!(again.data().as_ptr(), tensor.data().as_ptr());
}

#[test]
fn a_view_is_gathered_once_or_refused() {
    let data = Buffer::from_vec((0..100i32).collect::<Vec<_>>());
    let view = Tensor::try_view(DataType::Int32, vec![4, 5], vec![-40, 8], 120, data).unwrap();
    let mut codec = TensorCodec::new();
    let frames = codec.encode(&view).unwrap();
    let copies: Vec<_> = codec.copies().iter().map(|copy| (copy.column, copy.reason, copy.bytes)).collect();
    assert_eq!(copies, [(0, CopyReason::Strided, 80)]);
    assert_eq!(codec.decode(frames).unwrap().values::<i32>().unwrap()[..6], [30, 32, 34, 36, 38, 20]);
    assert_eq!(codec.copies().total(), 0);

    let error = strict().encode(&view).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::CopyLimit { requested: 80, allowed: 0, .. }), "{error}");
    TensorCodec::new().with_max_copied_bytes(80).encode(&view).unwrap();
}

#[test]
fn a_misaligned_frame_is_copied_once_or_refused() {
    let tensor = Tensor::from(vec![1i64, 2, 3]);
    let (header, buffers) = tensor.to_frames().unwrap().into_parts();
    let odd = Buffer::from_vec([&[0u8; 3], buffers[0].as_slice()].concat()).slice(3);
    let frames = Frames::new(header, vec![odd]);
    let mut codec = TensorCodec::new();
    assert_eq!(codec.decode(frames.clone()).unwrap().values::<i64>(), Some(&[1, 2, 3][..]));
    assert_eq!(codec.copies().of_reason(CopyReason::Misaligned), 24);
    assert!(matches!(strict().decode(frames).unwrap_err().kind(), ErrorKind::CopyLimit { .. }));
}

#[test]
fn misaligned_frames_of_a_sparse_tensor() {
    for golden in made::all().unwrap() {
        let Made::Sparse(tensor) = &golden.tensor else { continue };
        let (header, buffers) = golden.frames().unwrap().into_parts();
        let odd = |buffer: &Buffer| Buffer::from_vec([&[0u8; 1], buffer.as_slice()].concat()).slice(1);
        let frames = Frames::new(header, buffers.iter().map(odd).collect());
        let mut codec = TensorCodec::new();
        let again = codec.decode_sparse(frames.clone()).unwrap();
        assert_eq!(self::buffers(&again), self::buffers(tensor), "{}", golden.name);
        let bytes: usize = buffers.iter().filter(|buffer| buffer.len() > 3).map(Buffer::len).sum();
        assert_eq!(codec.copies().total(), bytes as u64, "{}", golden.name);
        assert_eq!(strict().decode_sparse(frames).is_ok(), bytes == 0, "{}", golden.name);
    }
}

/// A view of another array as an index: gathered, each buffer under its number.
#[test]
fn strided_indices_are_gathered() {
    let numbers = Buffer::from_vec(vec![0i32, 9, 1, 9, 3, 9]);
    let every_second = Tensor::try_new(DataType::Int32, vec![3], Some(vec![8]), numbers).unwrap();
    let index = SparseIndex::Csr { indptr: every_second, indices: Tensor::from(vec![1i32, 0, 2]) };
    let tensor = SparseTensor::try_new(vec![2, 3], index, Tensor::from(vec![1.0, 2.0, 3.0])).unwrap();
    let mut codec = TensorCodec::new();
    let frames = codec.encode_sparse(&tensor).unwrap();
    let copies: Vec<_> = codec.copies().iter().map(|copy| (copy.column, copy.reason, copy.bytes)).collect();
    assert_eq!(copies, [(0, CopyReason::Strided, 12)]);
    let again = SparseTensor::from_frames(frames).unwrap();
    let SparseIndex::Csr { indptr, .. } = again.index() else { panic!("another index") };
    assert_eq!(indptr.values::<i32>(), Some(&[0, 1, 3][..]));
}

/// Coordinates axis by axis are as good as row by row.
#[test]
fn column_major_coordinates_are_shared() {
    let indices = Buffer::from_vec(vec![0u8, 1, 1, 2, 0, 3]);
    let indices = Tensor::try_new(DataType::UInt8, vec![3, 2], Some(vec![1, 3]), indices).unwrap();
    let address = indices.data().as_ptr();
    let values = Tensor::from(vec![1.0, 2.0, 3.0]);
    let tensor = SparseTensor::try_new(vec![2, 4], SparseIndex::Coo { indices }, values).unwrap();
    assert!(tensor.is_canonical());
    let again = SparseTensor::from_frames(strict().encode_sparse(&tensor).unwrap()).unwrap();
    let SparseIndex::Coo { indices } = again.index() else { panic!("another index") };
    assert_eq!((indices.data().as_ptr(), indices.strides()), (address, &[1, 3][..]));
    assert!(again.is_canonical());
}
