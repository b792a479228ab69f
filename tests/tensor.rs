//! Tensors and sparse tensors: what is made of them, what it costs, and what is refused.

#[cfg(feature = "ndarray")]
#[path = "tensor/arrays.rs"]
mod arrays;
#[path = "tensor/carried.rs"]
mod carried;
#[path = "tensor/copies.rs"]
mod copies;
#[path = "tensor/interop.rs"]
mod interop;
#[path = "golden/tensors.rs"]
mod made;
#[path = "tensor/malformed.rs"]
mod malformed;
#[path = "malformed/memory.rs"]
mod memory;
#[path = "tensor/refused.rs"]
mod refused;
#[path = "common/rng.rs"]
mod rng;
#[path = "tensor/roundtrip.rs"]
mod roundtrip;

use arrow_frames::{Frames, Tensor};

/// A stream's bytes.
fn stream(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().flatten().copied().collect()
}

/// The bytes of the elements in row-major order, one by one by the shape and the strides.
fn elements(tensor: &Tensor) -> Vec<u8> {
    let mut out = Vec::new();
    let mut place = vec![0usize; tensor.shape().len()];
    for _ in 0..tensor.num_elements() {
        let steps = place.iter().zip(tensor.strides()).map(|(index, stride)| *index as isize * stride);
        let at = (tensor.offset() as isize + steps.sum::<isize>()) as usize;
        out.extend_from_slice(&tensor.data()[at..at + tensor.element_width()]);
        for (index, size) in place.iter_mut().zip(tensor.shape()).rev() {
            *index += 1;
            if *index < *size {
                break;
            }
            *index = 0;
        }
    }
    out
}
