//! Columns of Python's memory → frames.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray};
use arrow_buffer::Buffer;
use arrow_frames::{
    Batch, BufferLayout, Column, Compression, CopyReport, DataFrame, Encoder, OpaqueColumn, Target,
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::capsules::{import_array, import_stream};
use crate::convert;
use crate::errors::{EncodeError, Result, caught, detached, writing};
use crate::memory::{Place, Regions};
use crate::unaligned::{Unaligned, places};

/// What to encode: columns, each added in one call, in order.
#[pyclass(module = "arrow_frames._native")]
pub struct Columns {
    rows: usize,
    fields: Vec<Field>,
    columns: Vec<Option<Column>>,
    /// Numbers that are zeros in the columns.
    unaligned: Unaligned,
    regions: Regions,
    /// What was copied, beside what the encoder copies.
    copies: Vec<Copied>,
    is_encoded: bool,
}

/// A copy: the column, why, and bytes.
pub type Copied = (usize, String, u64);

/// A header, its frames, and what was copied.
type Encoded<'py> = (Bound<'py, PyBytes>, Vec<Bound<'py, PyMemoryView>>, Vec<Copied>);

#[pymethods]
impl Columns {
    /// Columns of these names, all of so many rows. Each is filled by a call.
    #[new]
    fn new(names: Vec<String>, rows: usize) -> Self {
        let fields: Vec<Field> =
            names.into_iter().map(|name| Field::new(name, DataType::Null, true)).collect();
        let columns = vec![None; fields.len()];
        Columns {
            rows,
            fields,
            columns,
            unaligned: Unaligned::default(),
            regions: Regions::default(),
            copies: Vec::new(),
            is_encoded: false,
        }
    }

    /// Columns that are the rows of an array of two dimensions, as numbers of an Arrow format.
    fn block(
        &mut self,
        py: Python<'_>,
        places: Vec<usize>,
        format: &str,
        array: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let data_type = type_of(format)?;
        let rows = self.regions.import_rows(array, "a block", &places)?;
        let length = self.rows;
        if let (Some(first), Some(place)) = (rows.first(), places.first()) {
            self.check_values(*place, &data_type, first.len())?;
        }
        let unaligned = &mut self.unaligned;
        let made = detached(py, || {
            let made = rows.into_iter().zip(&places).map(|(values, place)| {
                let nulls = if convert::has_nat(&data_type) { convert::not_nat(&values) } else { None };
                let values = unaligned.aligned((0, *place), &data_type, values);
                convert::array(data_type.clone(), length, values, nulls).map_err(invalid)
            });
            made.collect::<Result<Vec<_>>>()
        })?;
        for (place, array) in places.into_iter().zip(made) {
            // Which datetimes are missing must not decide the type.
            let nullable = convert::has_nat(&data_type);
            self.put(place, array, nullable)?;
        }
        Ok(())
    }

    /// A column of numbers and a mask, one byte each, that is 1 where there is none.
    fn masked(
        &mut self,
        py: Python<'_>,
        place: usize,
        format: &str,
        values: &Bound<'_, PyAny>,
        mask: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let values = self.regions.at((0, place)).import(values, "the values")?;
        let mask = self.regions.import(mask, "the mask")?;
        let rows = self.rows;
        let boolean = format == "b";
        let data_type = if boolean { DataType::Boolean } else { type_of(format)? };
        self.check_values(place, &data_type, values.len())?;
        if mask.len() != rows {
            return Err(self.wrong_length(place, "mask", mask.len(), rows));
        }
        let unaligned = &mut self.unaligned;
        let array = detached(py, || {
            let nulls = convert::not_masked(&mask);
            if boolean {
                let array: ArrayRef = Arc::new(BooleanArray::new(convert::bits(&values), nulls));
                return Ok(array);
            }
            let values = unaligned.aligned((0, place), &data_type, values);
            convert::array(data_type, rows, values, nulls).map_err(invalid)
        })?;
        if array.nulls().is_some() || boolean {
            let masks = if boolean { 2 } else { 1 };
            self.copied(place, "mask", rows.div_ceil(8).saturating_mul(masks));
        }
        self.put(place, array, true)
    }

    /// A column of booleans of a byte each, which Arrow has as bits.
    fn boolean(&mut self, py: Python<'_>, place: usize, values: &Bound<'_, PyAny>) -> Result<()> {
        let values = self.regions.import(values, "the values")?;
        self.check_values(place, &DataType::Boolean, values.len())?;
        let bits = py.detach(|| convert::bits(&values));
        self.copied(place, "boolean", self.rows.div_ceil(8));
        self.put(place, Arc::new(BooleanArray::new(bits, None)), false)
    }

    /// A column of an object that has `__arrow_c_array__`.
    fn arrow(&mut self, place: usize, array: &Bound<'_, PyAny>) -> Result<()> {
        let (array, field) = import_array(array)?;
        let name = self.field(place)?.name().clone();
        let regions = self.regions.at((0, place));
        let mut waiting = vec![array.to_data()];
        while let Some(data) = waiting.pop() {
            data.buffers().iter().for_each(|buffer| regions.add_read_only(buffer));
            waiting.extend(data.child_data().iter().cloned());
        }
        self.set(place, field.with_name(name).with_nullable(true), Column::Native(array))
    }

    /// A column that is a pickle and its buffers; the mark says what it is.
    fn opaque(
        &mut self,
        place: usize,
        mark: String,
        type_name: String,
        buffers: Vec<Bound<'_, PyAny>>,
    ) -> Result<()> {
        let regions = self.regions.at((0, place));
        let buffers = buffers.iter().map(|buffer| regions.import(buffer, "a buffer of a pickle"));
        let opaque = OpaqueColumn::new(type_name, self.rows, buffers.collect::<Result<Vec<Buffer>>>()?);
        let field = Field::new(self.field(place)?.name(), DataType::Null, true);
        let field = field.with_metadata([("arrow_frames".to_owned(), mark)]);
        self.set(place, field, Column::Opaque(opaque))
    }

    /// Counts a copy that was made in Python.
    fn copied(&mut self, place: usize, reason: &str, bytes: usize) {
        self.copies.push((place, reason.to_owned(), bytes as u64));
    }

    /// Splits the columns into a header and frames: a frame is the memory that a column was given as.
    #[pyo3(signature = (metadata, *, writable=false, compression=None))]
    fn encode<'py>(
        &mut self,
        py: Python<'py>,
        metadata: Vec<(String, String)>,
        writable: bool,
        compression: Option<&str>,
    ) -> Result<Encoded<'py>> {
        if self.is_encoded {
            return Err(PyValueError::new_err("the columns were encoded before"));
        }
        if let Some(place) = self.columns.iter().position(Option::is_none) {
            return Err(PyValueError::new_err(format!("column {place} was not given")));
        }
        self.is_encoded = true;
        let fields = Fields::from(std::mem::take(&mut self.fields));
        let mut columns: Vec<_> = std::mem::take(&mut self.columns).into_iter().flatten().collect();
        let mut unaligned = std::mem::take(&mut self.unaligned);
        if compression.is_some() || writable {
            // Frames that are made of the columns' values.
            for (place, column) in columns.iter_mut().enumerate() {
                *column = unaligned.column(0, place, column);
            }
            unaligned = Unaligned::default();
        }
        let schema = Arc::new(Schema::new_with_metadata(
            fields,
            metadata.into_iter().collect::<arrow_schema::Metadata>(),
        ));
        let encoder = encoder(Target::Arrow, writable, compression)?;
        let copies = std::mem::take(&mut self.copies);
        let rows = self.rows;
        let work = || {
            let batch = Batch::try_new(columns, rows)?;
            DataFrame::try_new(schema, vec![batch])
        };
        let df = caught(|| work().map_err(writing))?;
        encoded(py, &df, encoder, &unaligned, &mut self.regions, copies)
    }
}

impl Columns {
    fn field(&self, place: usize) -> Result<&Field> {
        self.fields.get(place).ok_or_else(|| PyValueError::new_err(format!("there is no column {place}")))
    }

    /// Refuses values that are not as many bytes as the rows need; of booleans, a byte each.
    fn check_values(&self, place: usize, data_type: &DataType, found: usize) -> Result<()> {
        let width = data_type.primitive_width().unwrap_or(1);
        let expected = self.rows.saturating_mul(width);
        if found == expected { Ok(()) } else { Err(self.wrong_length(place, "values", found, expected)) }
    }

    fn wrong_length(&self, place: usize, what: &str, found: usize, expected: usize) -> PyErr {
        match self.field(place) {
            Ok(field) => {
                let name = field.name();
                EncodeError::new_err(format!("column {name:?} has {found} bytes of {what}, not {expected}"))
            }
            Err(error) => error,
        }
    }

    fn put(&mut self, place: usize, array: ArrayRef, nullable: bool) -> Result<()> {
        let field = Field::new(self.field(place)?.name(), array.data_type().clone(), nullable);
        self.set(place, field, Column::Native(array))
    }

    fn set(&mut self, place: usize, field: Field, column: Column) -> Result<()> {
        if column.len() != self.rows {
            let (name, expected, found) = (field.name(), self.rows, column.len());
            return Err(EncodeError::new_err(format!("column {name:?} has {found} rows, not {expected}")));
        }
        self.field(place)?;
        if let (Some(at), Some(held)) = (self.fields.get_mut(place), self.columns.get_mut(place)) {
            *at = field;
            *held = Some(column);
        }
        Ok(())
    }
}

/// Splits what an object's `__arrow_c_stream__` yields, with some schema metadata added.
#[pyfunction]
#[pyo3(signature = (source, metadata, *, target, writable=false, compression=None))]
pub fn encode_stream<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    metadata: Vec<(String, String)>,
    target: &str,
    writable: bool,
    compression: Option<&str>,
) -> Result<Encoded<'py>> {
    let (schema, batches) = import_stream(source)?;
    let mut all = schema.metadata().clone();
    all.extend(metadata);
    let schema = Arc::new(Schema::new_with_metadata(schema.fields().clone(), all));
    let batches = batches.into_iter().map(Batch::from).collect();
    let df = caught(|| DataFrame::try_new(schema, batches).map_err(writing))?;
    let target = match target {
        "arrow" => Target::Arrow,
        "pandas" => Target::Pandas,
        _ => return Err(PyValueError::new_err(format!("target is 'arrow' or 'pandas', not {target:?}"))),
    };
    let (encoder, unaligned) = (encoder(target, writable, compression)?, Unaligned::default());
    encoded(py, &df, encoder, &unaligned, &mut Regions::default(), Vec::new())
}

/// Splits an object that is no dataframe: its pickle, then the pickle's buffers.
#[pyfunction]
#[pyo3(signature = (buffers, metadata, *, compression=None))]
pub fn encode_object<'py>(
    py: Python<'py>,
    buffers: Vec<Bound<'py, PyAny>>,
    metadata: Vec<(String, String)>,
    compression: Option<&str>,
) -> Result<Encoded<'py>> {
    let mut regions = Regions::default();
    regions.at((0, BufferLayout::OF_OBJECT));
    let buffers = buffers.iter().map(|buffer| regions.import(buffer, "a buffer of a pickle"));
    let df = DataFrame::of_object(buffers.collect::<Result<_>>()?)
        .with_schema_metadata(metadata.into_iter().collect::<arrow_schema::Metadata>());
    let encoder = encoder(Target::Arrow, false, compression)?;
    encoded(py, &df, encoder, &Unaligned::default(), &mut regions, Vec::new())
}

fn encoder(target: Target, writable: bool, compression: Option<&str>) -> Result<Encoder> {
    let encoder = Encoder::new(target).with_writable(writable);
    Ok(match compression {
        None => encoder,
        Some("lz4") => encoder.with_compression(Compression::Lz4),
        Some("zstd") => encoder.with_compression(Compression::Zstd(1)),
        Some(other) => {
            return Err(PyValueError::new_err(format!("compression is 'lz4' or 'zstd', not {other:?}")));
        }
    })
}

fn encoded<'py>(
    py: Python<'py>,
    df: &DataFrame,
    mut encoder: Encoder,
    unaligned: &Unaligned,
    regions: &mut Regions,
    mut copies: Vec<Copied>,
) -> Result<Encoded<'py>> {
    let frames = detached(py, || encoder.encode(df).map_err(writing))?;
    copies.extend(copied(encoder.copies()));
    let frames = unaligned.put_back(frames);
    let places = if regions.is_mixed() { places(&frames, None) } else { Vec::new() };
    let (header, buffers) = frames.into_parts();
    let places = places.into_iter().chain(std::iter::repeat(Place::default()));
    let frames = regions.memories(places.zip(&buffers), true).into_iter().map(|memory| memory.view(py));
    Ok((PyBytes::new(py, &header), frames.collect::<Result<_>>()?, copies))
}

/// What the encoder or the decoder copied.
pub fn copied(report: &CopyReport) -> impl Iterator<Item = Copied> {
    report.iter().map(|copy| (copy.column, copy.reason.to_string(), copy.bytes))
}

fn type_of(format: &str) -> Result<DataType> {
    convert::data_type(format)
        .ok_or_else(|| PyValueError::new_err(format!("{format:?} is no format of numbers")))
}

fn invalid(error: ArrowError) -> PyErr {
    EncodeError::new_err(error.to_string())
}
