//! Arrow's PyCapsule interface: arrays and streams of any Python library that has it, and ours for them.
//!
//! Source: the Arrow specification, "The Arrow PyCapsule Interface". This is one of the two files with
//! unsafe code.
#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, make_array};
use arrow_frames::pickle::Hashed;
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::{DecodeError, EncodeError, Result};
use crate::{convert, expanded};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The extension type whose metadata is a pickle.
const PICKLED_TYPE: &str = "arrow.py_extension_type";

/// The first version of pyarrow that does not unpickle it.
const UNPICKLED_UNTIL: [u32; 3] = [14, 0, 1];

/// An Arrow array of a decoded column, for any library that takes `__arrow_c_array__`.
#[pyclass(frozen, module = "arrow_frames")]
pub struct Array {
    /// The array.
    pub array: ArrayRef,
    /// Its field.
    pub field: FieldRef,
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// The Arrow type, as text.
    #[getter]
    fn r#type(&self) -> String {
        self.array.data_type().to_string()
    }

    /// Bytes of its values, as far as it shows them.
    #[getter]
    fn nbytes(&self) -> usize {
        self.array.to_data().get_slice_memory_size().unwrap_or_default()
    }

    /// Bytes of a copy whose values are objects that take so many bytes beside their content; of a
    /// dictionary its keys, and such a copy of its values.
    fn copy_nbytes(&self, object_bytes: u64) -> u64 {
        let copy = |values: &ArrayRef| {
            let objects = object_bytes.saturating_mul(values.len() as u64);
            expanded::expanded_bytes(values).saturating_add(objects)
        };
        match self.array.as_any_dictionary_opt() {
            None => copy(&self.array),
            // pandas has codes of 8 bytes where it copies them.
            Some(dictionary) => {
                let keys = (dictionary.keys().len() as u64).saturating_mul(8);
                copy(dictionary.values()).saturating_add(keys)
            }
        }
    }

    /// Refuses a dictionary whose values pandas would take too long to put into a hash table.
    fn check_hashes(&self, py: Python<'_>) -> Result<()> {
        let Some(dictionary) = self.array.as_any_dictionary_opt() else { return Ok(()) };
        let what = format!("the categories of column {:?}", self.field.name());
        convert::check_hashes_of(py, dictionary.values(), Hashed::Numbers, &what)
    }

    fn __repr__(&self) -> String {
        format!("<arrow_frames.Array of {} values: {}>", self.array.len(), self.array.data_type())
    }

    /// The array as one of pyarrow's, of any version.
    fn to_pyarrow<'py>(&self, pyarrow: &Bound<'py, PyModule>) -> Result<Bound<'py, PyAny>> {
        refuse_pickled_types(pyarrow, &Schema::new(vec![self.field.clone()]))?;
        let (mut array, mut schema) = export(&self.array, &self.field)?;
        // It moves both out.
        let addresses = ((&raw mut array) as usize, (&raw mut schema) as usize);
        pyarrow
            .getattr("Array")?
            .call_method1("_import_from_c", addresses)
            .map_err(|error| refused(pyarrow, error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyTuple>> {
        // The interface lets a producer that cannot cast give what it has.
        drop(requested_schema);
        let (array, schema) = export(&self.array, &self.field)?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        PyTuple::new(py, [schema, array])
    }

    #[pyo3(signature = ())]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.field.as_ref()).map_err(unsupported)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

/// Decoded batches, for any library that takes `__arrow_c_stream__`. They can be asked for again.
#[pyclass(frozen, module = "arrow_frames")]
pub struct Stream {
    /// Their schema.
    pub schema: SchemaRef,
    /// The batches.
    pub batches: Vec<RecordBatch>,
}

#[pymethods]
impl Stream {
    fn __repr__(&self) -> String {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        let columns = self.schema.fields().len();
        format!("<arrow_frames.Stream of {rows} rows and {columns} columns>")
    }

    /// The batches as a reader of pyarrow's, of any version.
    fn to_pyarrow<'py>(&self, pyarrow: &Bound<'py, PyModule>) -> Result<Bound<'py, PyAny>> {
        refuse_pickled_types(pyarrow, &self.schema)?;
        let mut stream = self.export();
        // It moves it out.
        let reader = pyarrow.getattr("RecordBatchReader")?;
        let imported = reader.call_method1("_import_from_c", ((&raw mut stream) as usize,));
        imported.map_err(|error| refused(pyarrow, error))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        PyCapsule::new_with_value(py, self.export(), STREAM)
    }

    #[pyo3(signature = ())]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(unsupported)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

impl Stream {
    fn export(&self) -> FFI_ArrowArrayStream {
        let batches = self.batches.clone().into_iter().map(Ok);
        FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.schema.clone())))
    }
}

/// The array of an object that has `__arrow_c_array__`, and its field.
pub fn import_array(object: &Bound<'_, PyAny>) -> Result<(ArrayRef, Field)> {
    if !object.hasattr("__arrow_c_array__")? && object.hasattr("_export_to_c")? {
        return import_by_address(object);
    }
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        object.call_method0("__arrow_c_array__")?.extract()?;
    let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
    // SAFETY: a capsule of that name holds an ArrowSchema, and is alive: we hold it.
    let schema: &FFI_ArrowSchema = unsafe { schema.cast().as_ref() };
    let mut array = array.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of that name holds an ArrowArray, which its consumer moves out, leaving one that
    // is marked as released; nobody else has it.
    let array = std::mem::replace(unsafe { array.as_mut() }, FFI_ArrowArray::empty());
    // SAFETY: the producer fills both structures by the rules of Arrow's C data interface.
    unsafe { imported(array, schema) }
}

/// The array of pyarrow before 14, which has no capsules.
fn import_by_address(object: &Bound<'_, PyAny>) -> Result<(ArrayRef, Field)> {
    let (mut array, mut schema) = (FFI_ArrowArray::empty(), FFI_ArrowSchema::empty());
    object.call_method1("_export_to_c", ((&raw mut array) as usize, (&raw mut schema) as usize))?;
    // SAFETY: pyarrow has filled both structures by the rules of Arrow's C data interface.
    unsafe { imported(array, &schema) }
}

/// The batches of an object that has `__arrow_c_stream__`.
pub fn import_stream(object: &Bound<'_, PyAny>) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let stream = if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
        // SAFETY: a capsule of that name holds an ArrowArrayStream, which its consumer moves out, leaving
        // one that is marked as released; nobody else has it.
        let held = unsafe { capsule.cast::<FFI_ArrowArrayStream>().as_mut() };
        std::mem::replace(held, FFI_ArrowArrayStream::empty())
    } else {
        // A reader of pyarrow before 14, which has no capsules.
        let mut stream = FFI_ArrowArrayStream::empty();
        object.call_method1("_export_to_c", ((&raw mut stream) as usize,))?;
        stream
    };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(unsupported)?;
    object.py().detach(move || {
        let schema = reader.schema();
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(unsupported)?;
        Ok((schema, batches))
    })
}

/// Refuses to give pyarrow types that it would unpickle: their metadata may be a pickle of anybody's.
/// Source: CVE-2023-47248.
fn refuse_pickled_types(pyarrow: &Bound<'_, PyModule>, schema: &Schema) -> Result<()> {
    let is_pickled = |field: &&Field| field.extension_type_name() == Some(PICKLED_TYPE);
    let Some(field) = schema.flattened_fields().into_iter().find(is_pickled) else { return Ok(()) };
    let version: String = pyarrow.getattr("__version__")?.extract()?;
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    if [(); 3].map(|()| parts.next().unwrap_or_default()) >= UNPICKLED_UNTIL {
        return Ok(());
    }
    let name = field.name();
    Err(DecodeError::new_err(format!(
        "column {name:?} is of type {PICKLED_TYPE}, which pyarrow {version} would unpickle: that may run any \
         code, and pyarrow 14.0.1 does so no more"
    )))
}

/// What pyarrow does not take, as an error of the codec; any other error as it is.
fn refused(pyarrow: &Bound<'_, PyModule>, error: PyErr) -> PyErr {
    let py = pyarrow.py();
    let is_pyarrow = pyarrow
        .getattr("ArrowException")
        .and_then(|known| error.value(py).is_instance(&known))
        .unwrap_or(false);
    if !is_pyarrow {
        return error;
    }
    let wrapped = DecodeError::new_err(format!("pyarrow cannot take the stream: {}", error.value(py)));
    wrapped.set_cause(py, Some(error));
    wrapped
}

fn export(array: &ArrayRef, field: &Field) -> Result<(FFI_ArrowArray, FFI_ArrowSchema)> {
    let (array, _) = to_ffi(&array.to_data()).map_err(unsupported)?;
    Ok((array, FFI_ArrowSchema::try_from(field).map_err(unsupported)?))
}

/// # Safety
///
/// Both structures are filled by the rules of Arrow's C data interface.
unsafe fn imported(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> Result<(ArrayRef, Field)> {
    let field = Field::try_from(schema).map_err(unsupported)?;
    // SAFETY: what the caller promises.
    let mut data = unsafe { from_ffi(array, schema) }.map_err(unsupported)?;
    data.align_buffers();
    Ok((make_array(data), field))
}

fn unsupported(error: ArrowError) -> PyErr {
    EncodeError::new_err(format!("the Arrow data cannot be taken: {error}"))
}
