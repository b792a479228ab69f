//! Frames → columns in Python's memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef};
use arrow_buffer::Buffer;
use arrow_frames::pickle::Pickle;
use arrow_frames::{Batch, BufferLayout, Column, DataFrame, Decoder, Frames, Layout};
use arrow_schema::DataType;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::capsules::{Array, Stream, all_fields};
use crate::columns::{Copied, copied};
use crate::convert;
use crate::errors::{DecodeError, Result, caught, detached, reading};
use crate::limits::Limits;
use crate::memory::{Memory, Regions};
use crate::stream::import;
use crate::unaligned::{Unaligned, places};

/// A decoded dataframe, whose columns are the frames that it was decoded from.
#[pyclass(frozen, module = "arrow_frames._native")]
pub struct Decoded {
    df: DataFrame,
    /// Numbers that are zeros in it.
    unaligned: Unaligned,
    regions: Mutex<Regions>,
    copies: Vec<Copied>,
}

/// Columns that lie at a constant stride: their format, which they are, the memory from the first
/// to the end of the last, and the bytes from one to the next.
type Block<'py> = (&'static str, Vec<usize>, Bound<'py, PyMemoryView>, usize);

/// A field: its name, its format if it is one of numbers, whether it is nullable, its nulls, and its
/// mark if it is opaque.
type FieldParts = (String, Option<&'static str>, bool, usize, Option<String>);

/// Fields and metadata.
type SchemaParts = (Vec<FieldParts>, Vec<(String, String)>);

/// Decodes a header and its frames; of the columns, those asked for. Numbers that are not aligned stay
/// where they lie if that is asked for, which is for all columns.
#[pyfunction]
#[pyo3(signature = (header, frames, columns=None, *, as_they_lie=false, limits=None))]
pub fn decode(
    py: Python<'_>,
    header: &Bound<'_, PyAny>,
    frames: Vec<Bound<'_, PyAny>>,
    columns: Option<Vec<usize>>,
    as_they_lie: bool,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<Decoded> {
    let limits = Limits::of(limits);
    let mut regions = Regions::default();
    let frames = import(&mut regions, header, &frames)?;
    if regions.is_mixed() {
        // The header was the first import.
        regions.set_places(1, places(&frames, columns.as_deref()));
    }
    let (frames, unaligned) = if as_they_lie && columns.is_none() {
        Unaligned::take(frames)
    } else {
        (frames, Unaligned::default())
    };
    let decoded = decoded(py, regions, columns, limits, |decoder| decoder.decode(frames))?;
    Ok(Decoded { unaligned, ..decoded })
}

/// Decodes a stream, or a file, that lies in one buffer.
#[pyfunction]
#[pyo3(signature = (stream, columns=None, *, limits=None))]
pub fn decode_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    columns: Option<Vec<usize>>,
    limits: Option<&Bound<'_, Limits>>,
) -> Result<Decoded> {
    let limits = Limits::of(limits);
    let mut regions = Regions::default();
    let stream = regions.import(stream, "the stream")?;
    if stream.starts_with(b"ARROW1") {
        let frames = caught(|| Frames::from_file_with_limits(stream, &limits).map_err(reading))?;
        return decoded(py, regions, columns, limits, |decoder| decoder.decode(frames));
    }
    decoded(py, regions, columns, limits, |decoder| decoder.decode_stream(stream))
}

/// The fields and the metadata of a header or a stream: what is known before anything is decoded.
#[pyfunction]
pub fn schema(bytes: &Bound<'_, PyAny>) -> Result<SchemaParts> {
    let bytes = Regions::default().import(bytes, "the header")?;
    let layout = caught(|| {
        // A header is a stream whose bodies are missing: its schema comes first in both.
        let is_file = bytes.starts_with(b"ARROW1");
        Ok(if is_file { Layout::of_file(&bytes) } else { Layout::of_stream(&bytes) })
    })?;
    match (layout.schema, layout.error) {
        (Some(schema), _) => {
            let df = DataFrame::try_new(schema, Vec::new()).map_err(reading)?;
            Ok((fields(&df), metadata(&df)))
        }
        (None, Some(error)) => Err(reading(error)),
        (None, None) => Err(DecodeError::new_err("there is no schema")),
    }
}

fn decoded(
    py: Python<'_>,
    regions: Regions,
    columns: Option<Vec<usize>>,
    limits: arrow_frames::Limits,
    decode: impl FnOnce(&mut Decoder) -> arrow_frames::Result<DataFrame> + Send,
) -> Result<Decoded> {
    let mut decoder = Decoder::new().with_limits(limits);
    if let Some(columns) = columns {
        decoder = decoder.with_projection(columns);
    }
    let df = detached(py, || decode(&mut decoder).map_err(reading))?;
    if !decoder.is_finished() {
        return Err(DecodeError::new_err("the stream was cut: there is no end marker"));
    }
    let copies = copied(decoder.copies()).collect();
    Ok(Decoded { df, unaligned: Unaligned::default(), regions: Mutex::new(regions), copies })
}

#[pymethods]
impl Decoded {
    /// Rows of all batches.
    #[getter]
    fn rows(&self) -> usize {
        self.df.num_rows()
    }

    /// Rows of each batch.
    #[getter]
    fn batches(&self) -> Vec<usize> {
        self.df.batches().iter().map(Batch::num_rows).collect()
    }

    /// The schema's metadata.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        metadata(&self.df)
    }

    /// Each column's name, its format if it is one of numbers, whether it is nullable, how many nulls
    /// it has, and its mark if it is opaque.
    #[getter]
    fn fields(&self) -> Vec<FieldParts> {
        fields(&self.df)
    }

    /// What was copied: the column, why, and bytes.
    #[getter]
    fn copies(&self) -> Vec<Copied> {
        self.copies.clone()
    }

    /// Numbers of a batch, as few arrays of two dimensions as their memory allows. `strict` refuses
    /// datetimes that are there and that numpy takes for missing.
    fn blocks<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        columns: Vec<usize>,
        strict: bool,
    ) -> Result<Vec<Block<'py>>> {
        let mut parts = Vec::with_capacity(columns.len());
        for column in columns {
            if let Column::Opaque(opaque) = self.column(batch, column)? {
                // Of a byte each, or of two floats: Arrow has no such buffers, numpy has.
                let (format, width) = match opaque.type_name() {
                    "bool" => ("?", 1),
                    "complex64" => ("c8", 8),
                    "complex128" => ("c16", 16),
                    _ => return Err(self.no_numbers(column)),
                };
                match opaque.buffers() {
                    [_, values] if Some(values.len()) == opaque.num_rows().checked_mul(width) => {
                        parts.push((format, column, values.clone()));
                    }
                    _ => return Err(self.no_numbers(column)),
                }
                continue;
            }
            let array = self.native(batch, column)?;
            let Some(format) = convert::format(array.data_type()).filter(|format| *format != "b") else {
                return Err(self.no_numbers(column));
            };
            let mut values = self.values(batch, column, array);
            if convert::has_nat(array.data_type()) {
                let nulls = array.nulls();
                if strict && py.detach(|| convert::hides_nat(&values, nulls)) {
                    let name = self.df.schema().field(column).name().clone();
                    let why = "has the number −2⁶³, which pandas takes for a missing value";
                    return Err(DecodeError::new_err(format!("column {name:?} {why}")));
                }
                values = py.detach(|| convert::with_nat(&values, nulls));
            } else if array.null_count() > 0 {
                return Err(self.no_numbers(column));
            }
            parts.push((format, column, values));
        }
        parts.sort_by_key(|(format, column, values)| (*format, values.as_ptr() as usize, *column));
        let mut regions = self.regions();
        let mut blocks = Vec::new();
        let mut rest = parts.as_slice();
        while let [(format, first, start), ..] = rest {
            let length = start.len();
            let (run, stride, memory) = run(rest, batch, &mut regions);
            let Some((taken, left)) = rest.split_at_checked(run) else { break };
            rest = left;
            let columns =
                if run == 1 { vec![*first] } else { taken.iter().map(|(_, column, _)| *column).collect() };
            let memory = match memory {
                Some(memory) => memory,
                None => regions.memory_at((batch, *first), start, false),
            };
            blocks.push((*format, columns, memory, stride.max(length)));
        }
        // Python's code may run while there are views to be made, and must not wait for the lock.
        drop(regions);
        blocks.sort_by_key(|(_, columns, _, _)| columns.first().copied());
        let blocks = blocks.into_iter();
        blocks
            .map(|(format, columns, memory, stride)| Ok((format, columns, memory.view(py)?, stride)))
            .collect()
    }

    /// Numbers of a batch and a mask of a byte each, which is 1 where there is none.
    fn masked<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        column: usize,
    ) -> Result<(&'static str, Bound<'py, PyMemoryView>, Bound<'py, PyMemoryView>)> {
        let array = self.native(batch, column)?;
        let Some(format) = convert::format(array.data_type()) else { return Err(self.no_numbers(column)) };
        let mask = match array.nulls() {
            Some(nulls) => convert::bytes(&!nulls.inner()),
            None => Buffer::from_vec(vec![0u8; array.len()]),
        };
        let memory = match array.as_boolean_opt() {
            Some(array) => Memory::of_rust(convert::bytes(array.values()), false),
            None => {
                let values = self.values(batch, column, array);
                self.regions().memory_at((batch, column), &values, false)
            }
        };
        Ok((format, memory.view(py)?, Memory::of_rust(mask, false).view(py)?))
    }

    /// Booleans of a batch, a byte each.
    fn boolean<'py>(&self, py: Python<'py>, batch: usize, column: usize) -> Result<Bound<'py, PyMemoryView>> {
        let array = self.native(batch, column)?;
        let Some(array) = array.as_boolean_opt() else { return Err(self.no_numbers(column)) };
        Memory::of_rust(convert::bytes(array.values()), false).view(py)
    }

    /// Whether a column has the type Null: that of opaque columns, and of columns of nulls.
    fn is_null(&self, column: usize) -> bool {
        let schema = self.df.schema();
        schema.fields().get(column).is_some_and(|field| field.data_type() == &DataType::Null)
    }

    /// Whether a column is text or has a dictionary, of which pandas has arrays of its own.
    fn is_text_or_dictionary(&self, column: usize) -> bool {
        use DataType::{Dictionary, LargeUtf8, Utf8, Utf8View};
        let schema = self.df.schema();
        let data_type = schema.fields().get(column).map(|field| field.data_type());
        matches!(data_type, Some(Utf8 | LargeUtf8 | Utf8View | Dictionary(..)))
    }

    /// The names of the time zones in the type of a column.
    fn zones(&self, column: usize) -> Result<Vec<String>> {
        let schema = self.df.schema();
        let field = schema.fields().get(column);
        let field = field.ok_or_else(|| PyIndexError::new_err(format!("there is no column {column}")))?;
        let fields = all_fields(std::slice::from_ref(field));
        Ok(fields.filter_map(|(_, field)| zone_of(field.data_type())).collect())
    }

    /// A column whose batches are joined into one; none if they are not simply one behind the other:
    /// they are opaque, have dictionaries of their own, or are too long for one array.
    fn joined(&self, py: Python<'_>, column: usize) -> Result<Option<Decoded>> {
        let batches = self.df.batches();
        let mut pieces = Vec::with_capacity(batches.len());
        for (number, batch) in batches.iter().enumerate() {
            let Column::Native(array) = self.column(number, column)? else { return Ok(None) };
            let array = self.unaligned.array(number, column, array);
            pieces.push((array, batch.num_rows()));
        }
        // If one batch has all rows, the result is the input's own memory, and its access would be unknown.
        if pieces.iter().filter(|(_, rows)| *rows > 0).count() < 2 {
            return Ok(None);
        }
        let mut dictionaries = pieces.iter().filter_map(|(array, _)| array.as_any_dictionary_opt());
        if let Some(first) = dictionaries.next() {
            let first = first.values().to_data();
            if !dictionaries.all(|dictionary| dictionary.values().to_data().ptr_eq(&first)) {
                return Ok(None);
            }
        }
        let field = self.df.schema().field(column).clone();
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        let pieces =
            pieces.into_iter().map(|(array, rows)| Batch::try_new(vec![Column::Native(array)], rows));
        let df = pieces
            .collect::<arrow_frames::Result<Vec<_>>>()
            .and_then(|batches| DataFrame::try_new(schema, batches))
            .map_err(reading)?;
        let joined = detached(py, || Ok(df.into_record_batch()))?;
        Ok(joined.ok().map(|batch| Decoded {
            df: DataFrame::from(batch),
            unaligned: Unaligned::default(),
            regions: Mutex::default(),
            copies: Vec::new(),
        }))
    }

    /// An Arrow column of a batch.
    fn array(&self, batch: usize, column: usize) -> Result<Array> {
        let array = self.unaligned.array(batch, column, self.native(batch, column)?);
        let field = self.df.schema().fields().get(column).ok_or_else(|| self.no_numbers(column))?.clone();
        Ok(Array { array, field })
    }

    /// An opaque column of a batch: the pickle and its buffers, why Python should not be given it, if
    /// it should not, and about how many bytes Python takes for it.
    fn opaque<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        column: usize,
    ) -> Result<(Vec<Bound<'py, PyMemoryView>>, Option<String>, u64)> {
        let Column::Opaque(opaque) = self.column(batch, column)? else {
            return Err(PyValueError::new_err(format!("column {column} is not opaque")));
        };
        let (refused, bytes) = detached(py, || Ok(refused(opaque.buffers())))?;
        let buffers = opaque.buffers().iter().map(|buffer| ((batch, column), buffer));
        let memories = self.regions().memories(buffers, false);
        Ok((views(py, memories)?, refused, bytes))
    }

    /// The pickle of an object that is no column, and its buffers, if there is one.
    fn object<'py>(&self, py: Python<'py>) -> Result<Option<Vec<Bound<'py, PyMemoryView>>>> {
        let Some(buffers) = self.df.object() else { return Ok(None) };
        let buffers = buffers.iter().map(|buffer| ((0, BufferLayout::OF_OBJECT), buffer));
        let memories = self.regions().memories(buffers, false);
        views(py, memories).map(Some)
    }

    /// Why Python should not be given the pickle of that object, if it should not, and about how many
    /// bytes Python takes for it.
    fn object_refused(&self, py: Python<'_>) -> Result<(Option<String>, u64)> {
        let Some(buffers) = self.df.object() else { return Ok((None, 0)) };
        detached(py, || Ok(refused(buffers)))
    }

    /// An opaque column of a batch as an Arrow array, without Python's help.
    fn resolved(&self, py: Python<'_>, batch: usize, column: usize) -> Result<Array> {
        let Column::Opaque(opaque) = self.column(batch, column)? else { return self.array(batch, column) };
        let name = self.df.schema().field(column).name().clone();
        let work = || -> arrow_frames::Result<Array> {
            let pickle = Pickle::parse(opaque.buffers())?;
            let array = pickle.to_array()?;
            let field = Arc::new(pickle.to_field(&name, array.data_type())?);
            Ok(Array { array, field })
        };
        detached(py, || work().map_err(reading))
    }

    /// Everything as Arrow: opaque columns become arrays, as far as they have an Arrow type.
    fn stream(&self, py: Python<'_>) -> Result<Stream> {
        let df = self.aligned()?;
        let batches = detached(py, || df.into_record_batches().map_err(reading))?;
        // What it is without its opaque columns is in the first batch; without batches there are none.
        let schema = batches.first().map_or_else(|| self.df.schema().clone(), |batch| batch.schema());
        Ok(Stream { schema, batches })
    }
}

impl Decoded {
    fn regions(&self) -> MutexGuard<'_, Regions> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of a column, cut to its rows.
    fn values(&self, batch: usize, column: usize, array: &ArrayRef) -> Buffer {
        let values = values(array);
        match self.unaligned.values(batch, column) {
            Some(lying) => lying.slice_with_length(0, values.len()),
            None => values,
        }
    }

    /// All of it as Arrow's arrays.
    fn aligned(&self) -> Result<DataFrame> {
        if self.unaligned.is_empty() {
            return Ok(self.df.clone());
        }
        let batches = self.df.batches().iter().enumerate().map(|(number, batch)| {
            let columns = batch.columns().iter().enumerate();
            let columns = columns.map(|(at, column)| self.unaligned.column(number, at, column));
            Batch::try_new(columns.collect(), batch.num_rows())
        });
        let batches = batches.collect::<arrow_frames::Result<_>>().map_err(reading)?;
        DataFrame::try_new(self.df.schema().clone(), batches).map_err(reading)
    }

    fn column(&self, batch: usize, column: usize) -> Result<&Column> {
        let found = self.df.batches().get(batch).and_then(|batch| batch.column(column));
        found.ok_or_else(|| PyIndexError::new_err(format!("there is no column {column} of a batch {batch}")))
    }

    fn native(&self, batch: usize, column: usize) -> Result<&ArrayRef> {
        self.column(batch, column)?.as_native().ok_or_else(|| self.no_numbers(column))
    }

    fn no_numbers(&self, column: usize) -> PyErr {
        let name =
            self.df.schema().fields().get(column).map(|field| field.name().clone()).unwrap_or_default();
        DecodeError::new_err(format!("column {name:?} is not what its metadata says"))
    }
}

fn zone_of(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => Some(zone.to_string()),
        DataType::Dictionary(_, values) => zone_of(values),
        _ => None,
    }
}

/// Why Python should not be given a pickle, if it should not.
fn refused(buffers: &[Buffer]) -> (Option<String>, u64) {
    match Pickle::parse(buffers) {
        Ok(pickle) => (pickle.check().err().map(|error| error.to_string()), pickle.python_bytes()),
        Err(error) => (Some(error.to_string()), 0),
    }
}

fn views<'py>(py: Python<'py>, memories: Vec<Memory>) -> Result<Vec<Bound<'py, PyMemoryView>>> {
    memories.into_iter().map(|memory| memory.view(py)).collect()
}

/// How many parts from the first on lie at a constant stride in one memory, the stride, and that memory.
fn run(
    parts: &[(&'static str, usize, Buffer)],
    batch: usize,
    regions: &mut Regions,
) -> (usize, usize, Option<Memory>) {
    let [(format, first, start), (_, _, next), ..] = parts else { return (1, 0, None) };
    let stride = (next.as_ptr() as usize).saturating_sub(start.as_ptr() as usize);
    let width = start.len();
    if stride < width || width == 0 || !stride.is_multiple_of(width_of(format)) {
        return (1, 0, None);
    }
    let mut count = 1;
    let mut column = *first;
    let mut memory = regions.memory_at((batch, *first), start, false);
    for (at, (other, place, values)) in parts.iter().enumerate().skip(1) {
        let expected = (start.as_ptr() as usize).checked_add(stride.saturating_mul(at));
        if other != format || expected != Some(values.as_ptr() as usize) || *place <= column {
            break;
        }
        // One array is one object's memory, and writable or not.
        let Some(joined) = regions.joined(&memory, (batch, *place), values) else { break };
        (count, column, memory) = (at.saturating_add(1), *place, joined);
    }
    if count == 1 { (1, 0, None) } else { (count, stride, Some(memory)) }
}

fn width_of(format: &str) -> usize {
    match format {
        "c" | "C" | "?" => 1,
        "s" | "S" | "e" => 2,
        "i" | "I" | "f" | "c8" => 4,
        _ => 8,
    }
}

/// The values of an array of numbers: its own memory, cut to its rows.
fn values(array: &ArrayRef) -> Buffer {
    let data = array.to_data();
    let width = data.data_type().primitive_width().unwrap_or_default();
    let (Some(values), Some(start), Some(length)) =
        (data.buffers().first(), data.offset().checked_mul(width), data.len().checked_mul(width))
    else {
        return Buffer::default();
    };
    values.slice_with_length(start, length)
}

fn fields(df: &DataFrame) -> Vec<FieldParts> {
    let nulls = |index: usize| {
        let arrays = df.batches().iter().filter_map(|batch| batch.column(index)?.as_native());
        arrays.map(|array| array.null_count()).sum()
    };
    let parts = |(index, field): (usize, &arrow_schema::FieldRef)| {
        let is_opaque =
            df.batches().first().is_some_and(|b| matches!(b.column(index), Some(Column::Opaque(_))))
                || field.data_type() == &DataType::Null;
        let mark = field.metadata().get("arrow_frames").filter(|_| is_opaque).cloned();
        (field.name().clone(), convert::format(field.data_type()), field.is_nullable(), nulls(index), mark)
    };
    df.schema().fields().iter().enumerate().map(parts).collect()
}

fn metadata(df: &DataFrame) -> Vec<(String, String)> {
    df.schema().metadata().iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
