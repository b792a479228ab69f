//! Arrow's PyCapsule interface: arrays and streams of any Python library that has it, and ours for them.
//!
//! Source: the Arrow specification, "The Arrow PyCapsule Interface". This is one of the two files with
//! unsafe code.
#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array as _, ArrayReader as _, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StructArray, make_array,
};
use arrow_frames::pickle::Hashed;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::errors::{DecodeError, EncodeError, Result, caught, detached};
use crate::{convert, expanded};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The extension type whose metadata is a pickle.
const PICKLED_TYPE: &str = "arrow.py_extension_type";

/// The extension type of polars' own column of Python's objects. Its values are addresses in the process
/// that made it.
const POLARS_OBJECT: &str = "POLARS_EXTENSION_TYPE";

/// The first version of polars that has extension types. Those before panic over each, and take the values of
/// [`POLARS_OBJECT`] for addresses: measured with 1.20 and 1.35.
const POLARS_KNOWS_EXTENSIONS: [u32; 3] = [1, 36, 0];

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
        refuse_pickled_types(pyarrow, std::slice::from_ref(&self.field))?;
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
        refuse_for_anybody(py, std::slice::from_ref(&self.field))?;
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

    /// The stream itself, after `DecodeError` for extension types that this polars does not take.
    fn for_polars<'py>(slf: Bound<'py, Self>, polars: &Bound<'py, PyModule>) -> Result<Bound<'py, Self>> {
        refuse_extension_types(polars, slf.get().schema.fields(), None)?;
        Ok(slf)
    }

    /// Bytes of the names and the metadata of all fields, once for each batch.
    #[getter]
    fn schemas_nbytes(&self) -> u64 {
        /// A field beside its texts.
        const FIELD: u64 = 256;
        let bytes = |field: &FieldRef| {
            let texts = field.metadata().iter().map(|(key, value)| key.len().saturating_add(value.len()));
            let texts = texts.fold(field.name().len(), usize::saturating_add);
            FIELD.saturating_add(texts as u64)
        };
        let fields = all_fields(self.schema.fields()).map(|(_, field)| bytes(field));
        fields.fold(0, u64::saturating_add).saturating_mul(self.batches.len() as u64)
    }

    /// Bytes of the columns whose values polars copies for each row: dictionaries of anything but text, runs,
    /// and views of lists, on any level.
    #[getter]
    fn taken_nbytes(&self) -> u64 {
        let fields = self.schema.fields().iter().enumerate();
        let is_taken = |field| {
            all_fields(std::slice::from_ref(field)).any(|(_, one)| expanded::is_taken(one.data_type()))
        };
        let taken: Vec<usize> = fields.filter(|(_, field)| is_taken(*field)).map(|(at, _)| at).collect();
        let arrays = self.batches.iter().flat_map(|batch| taken.iter().map(|at| batch.column(*at)));
        arrays.map(expanded::expanded_bytes).fold(0, u64::saturating_add)
    }

    /// The batches as a reader of pyarrow's, of any version.
    fn to_pyarrow<'py>(&self, pyarrow: &Bound<'py, PyModule>) -> Result<Bound<'py, PyAny>> {
        refuse_pickled_types(pyarrow, self.schema.fields())?;
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
        refuse_for_anybody(py, self.schema.fields())?;
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
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
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
    if stream.release().is_none() {
        return Err(consumed("stream"));
    }
    if stream.get_schema().is_none() || stream.get_next().is_none() {
        return Err(EncodeError::new_err("the Arrow data cannot be taken: a stream without its functions"));
    }
    // The arrays are as the producer says. What it says may make arrow panic.
    detached(object.py(), move || {
        let reader = ArrayStreamReader::try_new(stream).map_err(unsupported)?;
        let DataType::Struct(fields) = reader.field().data_type() else {
            let found = reader.field().data_type();
            return Err(EncodeError::new_err(format!("the Arrow stream is of {found}, and not of columns")));
        };
        let schema = Schema::new_with_metadata(fields.clone(), reader.field().metadata().clone());
        let schema = SchemaRef::new(schema);
        let batches = reader.enumerate().map(|(number, array)| {
            let array = array.map_err(unsupported)?;
            batch(number, &schema, array.as_struct_opt())
        });
        let batches = batches.collect::<Result<Vec<_>>>()?;
        Ok((schema, batches))
    })
}

/// One array of a stream as a batch.
fn batch(number: usize, schema: &SchemaRef, array: Option<&StructArray>) -> Result<RecordBatch> {
    let array = array.ok_or_else(|| EncodeError::new_err(format!("batch {number} has no columns")))?;
    if array.null_count() > 0 {
        // A batch cannot say that a whole row is missing.
        let message = format!("batch {number} has {} rows that are missing as a whole", array.null_count());
        return Err(EncodeError::new_err(message));
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(array.len()));
    RecordBatch::try_new_with_options(schema.clone(), array.columns().to_vec(), &rows).map_err(unsupported)
}

/// Refuses to give polars the extension types that it does not know, before it sees the schema: of `only`
/// this name, or of any.
fn refuse_extension_types(
    polars: &Bound<'_, PyModule>,
    fields: &[FieldRef],
    only: Option<&str>,
) -> Result<()> {
    let mut fields = all_fields(fields);
    let found = fields.find_map(|(column, field)| {
        let name = field.extension_type_name()?;
        only.is_none_or(|only| only == name).then_some((column, name))
    });
    let Some((column, name)) = found else { return Ok(()) };
    let version = VersionOf::read(polars)?;
    if version.numbers >= POLARS_KNOWS_EXTENSIONS {
        return Ok(());
    }
    let version = version.text;
    Err(DecodeError::new_err(format!(
        "column {column:?} is of the extension type {name:?}, over which polars {version} panics or ends the \
         process: polars 1.36 is the first that takes extension types"
    )))
}

/// The same for a consumer that does not say who it is: what a library that is loaded would unpickle, or take
/// for addresses, is given to nobody.
fn refuse_for_anybody(py: Python<'_>, fields: &[FieldRef]) -> Result<()> {
    let is_either = |name: &str| [POLARS_OBJECT, PICKLED_TYPE].contains(&name);
    if !all_fields(fields).any(|(_, field)| field.extension_type_name().is_some_and(is_either)) {
        return Ok(());
    }
    let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    if let Some(polars) = modules.get_item("polars")? {
        refuse_extension_types(polars.cast::<PyModule>()?, fields, Some(POLARS_OBJECT))?;
    }
    if let Some(pyarrow) = modules.get_item("pyarrow")? {
        refuse_pickled_types(pyarrow.cast::<PyModule>()?, fields)?;
    }
    Ok(())
}

/// Refuses to give pyarrow types that it would unpickle: their metadata may be a pickle of anybody's.
/// Source: CVE-2023-47248.
fn refuse_pickled_types(pyarrow: &Bound<'_, PyModule>, fields: &[FieldRef]) -> Result<()> {
    let is_pickled = |(_, field): &(_, &FieldRef)| field.extension_type_name() == Some(PICKLED_TYPE);
    let Some((column, _)) = all_fields(fields).find(is_pickled) else { return Ok(()) };
    let version = VersionOf::read(pyarrow)?;
    if version.numbers >= UNPICKLED_UNTIL && !pyarrow.hasattr("PyExtensionType")? {
        return Ok(());
    }
    let version = version.text;
    Err(DecodeError::new_err(format!(
        "column {column:?} is of type {PICKLED_TYPE}, which pyarrow {version} would unpickle, or make an array of that \
         ends the process: a pyarrow without PyExtensionType does neither"
    )))
}

/// All fields on all levels, each with the name of the column that it is of.
pub fn all_fields(fields: &[FieldRef]) -> impl Iterator<Item = (&str, &FieldRef)> {
    let mut waiting: Vec<(&str, &FieldRef)> =
        fields.iter().rev().map(|field| (field.name().as_str(), field)).collect();
    std::iter::from_fn(move || {
        let (column, field) = waiting.pop()?;
        let mut data_type = field.data_type();
        while let DataType::Dictionary(_, values) = data_type {
            data_type = values;
        }
        let mut child = |field| waiting.push((column, field));
        match data_type {
            DataType::Struct(fields) => fields.iter().for_each(child),
            DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| child(field)),
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => child(field),
            DataType::RunEndEncoded(run_ends, values) => {
                child(run_ends);
                child(values);
            }
            _ => {}
        }
        Some((column, field))
    })
}

/// The version of a library.
struct VersionOf {
    text: String,
    numbers: [u32; 3],
}

impl VersionOf {
    fn read(library: &Bound<'_, PyModule>) -> Result<Self> {
        let text: String = library.getattr("__version__")?.extract()?;
        // Of a name such as 1.36.0rc1, the digits.
        let mut parts = text.split('.').map(|part| {
            let digits =
                part.find(|c: char| !c.is_ascii_digit()).and_then(|end| part.get(..end)).unwrap_or(part);
            digits.parse().unwrap_or_default()
        });
        let numbers = [(); 3].map(|()| parts.next().unwrap_or_default());
        Ok(VersionOf { text, numbers })
    }
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
    if schema.release().is_none() || array.is_released() {
        return Err(consumed("array"));
    }
    caught(|| {
        let field = Field::try_from(schema).map_err(unsupported)?;
        // SAFETY: what the caller promises.
        let mut data = unsafe { from_ffi(array, schema) }.map_err(unsupported)?;
        data.align_buffers();
        Ok((make_array(data), field))
    })
}

fn consumed(what: &str) -> PyErr {
    EncodeError::new_err(format!("the Arrow {what} was taken out of its capsule before, or released"))
}

fn unsupported(error: ArrowError) -> PyErr {
    EncodeError::new_err(format!("the Arrow data cannot be taken: {error}"))
}
