//! Tensors ↔ Frames: arrays of several dimensions as Arrow IPC messages of their own.
//!
//! [`dense`] and [`sparse`] are the types, which hold what was checked: [`strides`] knows where
//! elements lie, [`index`] whether an index is sound. [`codec`] makes frames of them and rebuilds
//! them; the metadata is read and written by `crate::wire::tensor`.
//!
//! Source: the Arrow columnar format, "Tensor Message" and "Sparse Tensor Message", and
//! `docs/FORMAT.md` for how this crate lays them out.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod codec;
mod dense;
mod element;
mod index;
#[cfg(feature = "ndarray")]
mod ndarray;
mod sparse;
mod strides;

pub use codec::TensorCodec;
pub use dense::Tensor;
pub use element::TensorElement;
pub use sparse::{SparseIndex, SparseTensor};
