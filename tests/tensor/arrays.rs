//! Arrays of `ndarray`, which share memory with tensors.

use arrow::datatypes::DataType;
use arrow_frames::{Tensor, TensorCodec};
use ndarray::{Array, ArrayD, Axis, IxDyn, ShapeBuilder, array, s};

fn cube() -> ArrayD<i32> {
    ArrayD::from_shape_vec(IxDyn(&[2, 3, 4]), (0..24).collect()).unwrap()
}

#[test]
fn every_layout_goes_around() {
    let mut flipped = cube();
    flipped.invert_axis(Axis(1));
    let sliced = cube().slice_move(s![.., 1..;2, ..;-1]).into_dyn();
    let arrays = [
        cube(),
        cube().permuted_axes(IxDyn(&[2, 0, 1])),
        cube().reversed_axes(),
        flipped,
        sliced,
        Array::from_shape_vec(IxDyn(&[2, 3]).f(), vec![1, 2, 3, 4, 5, 6]).unwrap(),
        ArrayD::from_elem(IxDyn(&[]), 7),
        ArrayD::from_elem(IxDyn(&[0, 3]), 7),
        ArrayD::from_elem(IxDyn(&[3, 0, 2]), 7),
    ];
    for array in arrays {
        let expected = array.clone();
        let address = array.as_ptr();
        let tensor = Tensor::try_from(array).unwrap();
        assert_eq!(tensor.shape(), expected.shape());
        let view = tensor.view::<i32>().unwrap();
        assert_eq!(view, expected);
        if !expected.is_empty() {
            assert_eq!(view.as_ptr(), address);
            assert_eq!(view.strides(), expected.strides());
        }
        let again = Tensor::from_frames(tensor.to_frames().unwrap()).unwrap();
        assert_eq!(again.view::<i32>().unwrap(), expected);
    }
}

#[test]
fn broadcast_views_are_read_and_gathered() {
    let data = arrow::buffer::Buffer::from_vec(vec![1.5f64, 2.5]);
    let tensor = Tensor::try_new(DataType::Float64, vec![3, 2], Some(vec![0, 8]), data).unwrap();
    let view = tensor.view::<f64>().unwrap();
    assert_eq!(view, array![[1.5, 2.5], [1.5, 2.5], [1.5, 2.5]].into_dyn());
    let frames = TensorCodec::new().encode(&tensor).unwrap();
    assert_eq!(frames.buffers()[0].len(), 48);
    assert_eq!(Tensor::from_frames(frames).unwrap().view::<f64>().unwrap(), view);
}

#[test]
fn other_types_and_addresses_are_no_views() {
    let tensor = Tensor::from(vec![1u32, 2, 3]);
    assert!(tensor.view::<i32>().is_none());
    assert!(tensor.view::<u32>().is_some());
    let data = arrow::buffer::Buffer::from_vec(vec![0u64; 3]);
    let odd = Tensor::try_view(DataType::UInt32, vec![2], vec![4], 1, data.clone()).unwrap();
    assert!(odd.view::<u32>().is_none());
    let uneven = Tensor::try_new(DataType::UInt32, vec![2], Some(vec![6]), data).unwrap();
    assert!(uneven.view::<u32>().is_none());
}
