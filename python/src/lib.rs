//! The extension module `arrow_frames._native`: the codec over Python's buffer protocol and Arrow's
//! PyCapsules. What objects are made of, and how they are put together again, is decided in Python.
//!
//! Data moves one way: Python objects → [`columns`] → frames → [`decoded`] → Python objects.
//! [`memory`] and [`capsules`] are the only files with unsafe code.
//!
//! A panic would reach Python as an exception that no `except Exception` catches. So nothing here may panic
//! over what Python gives, and [`errors::caught`] makes an error of a panic in what is called.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod capsules;
mod columns;
mod convert;
mod decoded;
mod errors;
mod expanded;
mod limits;
mod memory;
mod pickles;
mod stream;
mod tensors;
mod unaligned;

use pyo3::prelude::*;

/// The codec behind `arrow_frames`, which is what to import.
// Every class is frozen or locks what it changes, so that free-threaded Python may use it.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::capsules::{Array, Stream};
    #[pymodule_export]
    use super::columns::{Columns, encode_object, encode_stream};
    #[pymodule_export]
    use super::convert::{check_hashes, check_steps, check_text};
    #[pymodule_export]
    use super::decoded::{Decoded, decode, decode_stream, schema};
    #[pymodule_export]
    use super::errors::{ArrowFramesError, DecodeError, EncodeError, LimitError};
    #[pymodule_export]
    use super::limits::Limits;
    #[pymodule_export]
    use super::memory::Memory;
    #[pymodule_export]
    use super::pickles::{Call, Objects, OutOfBand, pickle};
    #[pymodule_export]
    use super::stream::{merge, pack, receive, segments, unpack};
    #[pymodule_export]
    use super::tensors::{
        DecodedSparse, DecodedTensor, decode_sparse, decode_sparse_stream, decode_tensor,
        decode_tensor_stream, encode_sparse, encode_tensor, kind,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
