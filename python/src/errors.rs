//! The codec's errors as Python's exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_frames::{Error, ErrorKind, Fault};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyTypeError};

create_exception!(arrow_frames, ArrowFramesError, PyValueError, "What the codec cannot do, and why.");
create_exception!(arrow_frames, DecodeError, ArrowFramesError, "The input is malformed or not supported.");
create_exception!(
    arrow_frames,
    EncodeError,
    ArrowFramesError,
    "The object cannot be encoded as it is asked for."
);
create_exception!(arrow_frames, LimitError, DecodeError, "The input asks for more than the limits allow.");

/// A result whose error is Python's.
pub type Result<T> = PyResult<T>;

/// The exception for an error while something was read.
pub fn reading(error: Error) -> PyErr {
    exception(error, DecodeError::new_err)
}

/// The exception for an error while something was written.
pub fn writing(error: Error) -> PyErr {
    exception(error, EncodeError::new_err)
}

/// The exception for an object that is not what a parameter takes.
pub fn wrong_type(message: impl Into<String>) -> PyErr {
    PyTypeError::new_err(message.into())
}

/// Calls code that is not ours, or much of ours: a panic in it, which is a fault, becomes an error.
///
/// What it works on is not to be used again, and is not: it is dropped with the call that failed.
pub fn caught<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = message_of(&*panic);
        Err(ArrowFramesError::new_err(format!("a fault in arrow_frames, please report it: {message}")))
    })
}

/// The same, while other threads of Python run.
pub fn detached<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    py.detach(|| caught(call))
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

fn exception(error: Error, of_input: fn(String) -> PyErr) -> PyErr {
    let message = error.to_string();
    match error.fault() {
        Fault::Limit => LimitError::new_err(message),
        Fault::System => match error.kind() {
            // What a Python reader raised comes back as it was.
            ErrorKind::Io(source) => match source.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>()) {
                Some(raised) => Python::attach(|py| raised.clone_ref(py)),
                None => PyOSError::new_err(message),
            },
            ErrorKind::Memory { .. } => PyMemoryError::new_err(message),
            _ => PyOSError::new_err(message),
        },
        _ => of_input(message),
    }
}
