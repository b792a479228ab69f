//! Tensors from and to arrays of the crate `ndarray`, which share their memory.

use arrow_buffer::Buffer;
use ndarray::{Array, ArrayViewD, Dimension, IxDyn, ShapeBuilder};
use zerocopy::FromBytes;

use super::dense::Tensor;
use super::element::TensorElement;
use crate::error::{Error, ErrorKind};

/// Takes the array's memory, however its elements lie in it.
///
/// ```
/// use arrow_frames::Tensor;
/// use ndarray::array;
///
/// let matrix = array![[1.5, 2.5], [3.5, 4.5]];
/// let address = matrix.as_ptr();
/// let tensor = Tensor::try_from(matrix)?;
/// assert_eq!(tensor.shape(), [2, 2]);
/// assert_eq!(tensor.data().as_ptr(), address.cast());
///
/// let again = Tensor::from_frames(tensor.to_frames()?)?;
/// assert_eq!(again.view::<f64>().unwrap()[[1, 0]], 3.5);
/// assert_eq!(again.view::<f64>().unwrap().as_ptr(), address);
/// # Ok::<(), arrow_frames::Error>(())
/// ```
impl<A: TensorElement, D: Dimension> TryFrom<Array<A, D>> for Tensor {
    type Error = Error;

    fn try_from(array: Array<A, D>) -> Result<Self, Error> {
        let shape = array.shape().to_vec();
        let width = size_of::<A>();
        let too_large = || ErrorKind::TensorSize { shape: shape.clone(), width };
        let bytes = |stride: &isize| stride.checked_mul(isize::try_from(width).ok()?);
        let strides = array.strides().iter().map(bytes).collect::<Option<Vec<_>>>().ok_or_else(too_large)?;
        let (values, first) = array.into_raw_vec_and_offset();
        let offset = first.unwrap_or_default().checked_mul(width).ok_or_else(too_large)?;
        Tensor::try_view(A::DATA_TYPE, shape, strides, offset, Buffer::from_vec(values))
    }
}

impl Tensor {
    /// The elements as an array of `ndarray` that borrows them, with the same strides; `None` if
    /// they are of another type, or lie at addresses that do not suit it.
    pub fn view<A: TensorElement>(&self) -> Option<ArrayViewD<'_, A>> {
        if *self.data_type() != A::DATA_TYPE {
            return None;
        }
        if self.num_elements() == 0 {
            return ArrayViewD::from_shape(self.shape(), &[]).ok();
        }
        let width = isize::try_from(size_of::<A>()).ok()?;
        // A stride that is negative stays so: `ndarray` has it as a number without a sign.
        let elements = |stride: &isize| match stride.checked_rem(width)? {
            0 => stride.checked_div(width).map(isize::cast_unsigned),
            _ => None,
        };
        let strides = self.strides().iter().map(elements).collect::<Option<Vec<_>>>()?;
        let bytes = self.data().get(self.extent())?;
        let values = <[A]>::ref_from_bytes(bytes).ok()?;
        ArrayViewD::from_shape(IxDyn(self.shape()).strides(IxDyn(&strides)), values).ok()
    }
}
