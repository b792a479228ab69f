//! What untrusted input may ask for, as Python gives it.

use arrow_frames::Limits as Core;
use pyo3::prelude::*;

/// What untrusted input may ask for before it is refused with `LimitError`.
///
/// Every function that reads takes `limits`: one of these, or a dict of some of its arguments.
///
/// `max_metadata_bytes` bounds one message's metadata, `max_body_bytes` one message's body,
/// `max_stream_bytes` a whole stream that is received, `max_depth` the levels of nested types.
/// `max_rows_without_bytes` bounds the rows of columns that carry no bytes. A load may allocate
/// `max_expanded_bytes`, and `max_expansion` times the bytes of its input, for what a few bytes can
/// turn into: compressed buffers, delta dictionaries, values of pickles, nulls as Python objects,
/// elements that an array repeats.
#[pyclass(frozen, eq, module = "arrow_frames")]
#[derive(Clone, PartialEq)]
pub struct Limits {
    core: Core,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, max_metadata_bytes=None, max_body_bytes=None, max_stream_bytes=None, max_expanded_bytes=None, max_expansion=None, max_rows_without_bytes=None, max_depth=None))]
    fn new(
        max_metadata_bytes: Option<u64>,
        max_body_bytes: Option<u64>,
        max_stream_bytes: Option<u64>,
        max_expanded_bytes: Option<u64>,
        max_expansion: Option<u64>,
        max_rows_without_bytes: Option<u64>,
        max_depth: Option<usize>,
    ) -> Self {
        let core = Core::default();
        Limits {
            core: Core {
                max_metadata_bytes: max_metadata_bytes.unwrap_or(core.max_metadata_bytes),
                max_body_bytes: max_body_bytes.unwrap_or(core.max_body_bytes),
                max_stream_bytes: max_stream_bytes.unwrap_or(core.max_stream_bytes),
                max_expanded_bytes: max_expanded_bytes.unwrap_or(core.max_expanded_bytes),
                max_expansion: max_expansion.unwrap_or(core.max_expansion),
                max_rows_without_bytes: max_rows_without_bytes.unwrap_or(core.max_rows_without_bytes),
                // The walk is recursive: more levels than the default may not fit the stack.
                max_depth: max_depth.unwrap_or(core.max_depth).min(core.max_depth),
            },
        }
    }

    /// Lower limits, for a process that serves many clients at once.
    #[staticmethod]
    fn for_service() -> Self {
        Limits { core: Core::for_service() }
    }

    #[getter]
    fn max_metadata_bytes(&self) -> u64 {
        self.core.max_metadata_bytes
    }

    #[getter]
    fn max_body_bytes(&self) -> u64 {
        self.core.max_body_bytes
    }

    #[getter]
    fn max_stream_bytes(&self) -> u64 {
        self.core.max_stream_bytes
    }

    #[getter]
    fn max_expanded_bytes(&self) -> u64 {
        self.core.max_expanded_bytes
    }

    #[getter]
    fn max_expansion(&self) -> u64 {
        self.core.max_expansion
    }

    #[getter]
    fn max_rows_without_bytes(&self) -> u64 {
        self.core.max_rows_without_bytes
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.core.max_depth
    }

    fn __repr__(&self) -> String {
        let Core {
            max_metadata_bytes,
            max_body_bytes,
            max_stream_bytes,
            max_expanded_bytes,
            max_expansion,
            max_rows_without_bytes,
            max_depth,
        } = self.core;
        format!(
            "Limits(max_metadata_bytes={max_metadata_bytes}, max_body_bytes={max_body_bytes}, \
             max_stream_bytes={max_stream_bytes}, max_expanded_bytes={max_expanded_bytes}, \
             max_expansion={max_expansion}, max_rows_without_bytes={max_rows_without_bytes}, \
             max_depth={max_depth})"
        )
    }
}

impl Limits {
    /// The limits that a caller gave, or the default ones.
    pub fn of(given: Option<&Bound<'_, Self>>) -> Core {
        given.map(|limits| limits.get().core.clone()).unwrap_or_default()
    }
}
