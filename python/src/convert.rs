//! What numpy and Arrow lay out differently: missing datetimes, bytes and bits; and the names of types.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_frames::pickle::{Hashed, colliding_pairs, hash_steps, most_hash_steps};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use pyo3::prelude::*;

use crate::errors::{DecodeError, LimitError, detached};
use crate::memory::Regions;

/// The types that numpy has too, by their format strings in Arrow's C data interface.
const FORMATS: [(&str, DataType); 19] = [
    ("c", DataType::Int8),
    ("C", DataType::UInt8),
    ("s", DataType::Int16),
    ("S", DataType::UInt16),
    ("i", DataType::Int32),
    ("I", DataType::UInt32),
    ("l", DataType::Int64),
    ("L", DataType::UInt64),
    ("e", DataType::Float16),
    ("f", DataType::Float32),
    ("g", DataType::Float64),
    ("tss:", DataType::Timestamp(TimeUnit::Second, None)),
    ("tsm:", DataType::Timestamp(TimeUnit::Millisecond, None)),
    ("tsu:", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ("tsn:", DataType::Timestamp(TimeUnit::Nanosecond, None)),
    ("tDs", DataType::Duration(TimeUnit::Second)),
    ("tDm", DataType::Duration(TimeUnit::Millisecond)),
    ("tDu", DataType::Duration(TimeUnit::Microsecond)),
    ("tDn", DataType::Duration(TimeUnit::Nanosecond)),
];

/// Refuses values that pandas would take too long to put into a hash table. The format is that of the
/// numbers, or `c8` or `c16`.
#[pyfunction]
pub fn check_hashes(py: Python<'_>, values: &Bound<'_, PyAny>, format: &str, what: &str) -> PyResult<()> {
    let values = Regions::default().import(values, what)?;
    let (data_type, hashed) = match format {
        "c16" => (DataType::Float64, Hashed::Complex),
        "c8" => (DataType::Float32, Hashed::Complex),
        // Narrower numbers have a hash each.
        _ => match data_type(format).filter(|data_type| data_type.primitive_width() == Some(8)) {
            Some(data_type) => (data_type, Hashed::Numbers),
            None => return Ok(()),
        },
    };
    let rows = match data_type {
        DataType::Float32 => values.as_chunks::<4>().0.len(),
        _ => values.as_chunks::<8>().0.len(),
    };
    let array = array(data_type, rows, values, None);
    let array = array.map_err(|error| DecodeError::new_err(format!("{what}: {error}")))?;
    check_hashes_of(py, &array, hashed, what)
}

/// The same of text before pandas 3, which hashes some of it without a secret.
///
/// Source: `kh_str_hash_func` of `khash.h`.
#[pyfunction]
pub fn check_text(py: Python<'_>, values: Vec<String>, what: &str) -> PyResult<()> {
    let hash =
        |text: &str| text.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let hashed = || values.iter().map(|text| (hash(text), text.as_str())).collect();
    let steps = detached(py, || Ok(colliding_pairs(hashed())))?;
    check_steps(steps, values.len(), what)
}

/// The same of an array.
pub fn check_hashes_of(py: Python<'_>, values: &ArrayRef, hashed: Hashed, what: &str) -> PyResult<()> {
    let steps = detached(py, || Ok(hash_steps(values, hashed)))?;
    check_steps(steps, values.len(), what)
}

/// Refuses so many steps of a hash table for a number of values.
#[pyfunction]
pub fn check_steps(steps: u64, count: usize, what: &str) -> PyResult<()> {
    let allowed = most_hash_steps(count);
    if steps <= allowed {
        return Ok(());
    }
    Err(LimitError::new_err(format!(
        "{what}: {count} values have hashes that collide: a hash table of pandas takes {steps} steps for them, \
         and {allowed} are allowed"
    )))
}

/// The type of a format string, of those that numpy has too.
pub fn data_type(format: &str) -> Option<DataType> {
    FORMATS.iter().find(|(known, _)| *known == format).map(|(_, data_type)| data_type.clone())
}

/// The format string of a type, of those that numpy has too, and of `b`, booleans.
pub fn format(data_type: &DataType) -> Option<&'static str> {
    if data_type == &DataType::Boolean {
        return Some("b");
    }
    FORMATS.iter().find(|(_, known)| known == data_type).map(|(format, _)| *format)
}

/// Whether missing values of that type are the number −2⁶³ in numpy, which calls it NaT.
pub fn has_nat(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..) | DataType::Duration(_))
}

/// An array over values that lie in memory as Arrow has them.
pub fn array(
    data_type: DataType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(data_type).len(rows).add_buffer(values).nulls(nulls);
    // numpy has values at odd addresses too.
    Ok(make_array(data.align_buffers(true).build()?))
}

/// The rows that are not NaT, if one is.
pub fn not_nat(values: &[u8]) -> Option<NullBuffer> {
    let nat = i64::MIN.to_le_bytes();
    let (numbers, _) = values.as_chunks::<8>();
    // Without a branch per value: most columns have none.
    let is_any =
        numbers.chunks(1024).any(|some| some.iter().fold(false, |any, number| any | (*number == nat)));
    if !is_any {
        return None;
    }
    let bits = BooleanBuffer::collect_bool(numbers.len(), |row| numbers.get(row) != Some(&nat));
    Some(NullBuffer::new(bits))
}

/// The values with NaT where they are null: the same memory if it is there already.
pub fn with_nat(values: &Buffer, nulls: Option<&NullBuffer>) -> Buffer {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return values.clone() };
    let nat = i64::MIN.to_le_bytes();
    let (numbers, _) = values.as_chunks::<8>();
    let is_null = |row: usize| row < nulls.len() && nulls.is_null(row);
    let differs = numbers.iter().enumerate().any(|(row, number)| is_null(row) && *number != nat);
    if !differs {
        return values.clone();
    }
    let number =
        |(row, number): (usize, &[u8; 8])| if is_null(row) { i64::MIN } else { i64::from_le_bytes(*number) };
    Buffer::from_vec(numbers.iter().enumerate().map(number).collect::<Vec<i64>>())
}

/// Whether a value that is not null is NaT to numpy.
pub fn hides_nat(values: &Buffer, nulls: Option<&NullBuffer>) -> bool {
    let Some(found) = not_nat(values) else { return false };
    (0..found.len())
        .any(|row| found.is_null(row) && nulls.is_none_or(|nulls| row < nulls.len() && nulls.is_valid(row)))
}

/// A bit for each byte that is not 0.
pub fn bits(bytes: &[u8]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(bytes.len(), |row| bytes.get(row).is_some_and(|byte| *byte != 0))
}

/// The rows whose byte is 0, if one's is not.
pub fn not_masked(mask: &[u8]) -> Option<NullBuffer> {
    if mask.iter().fold(0, |any, byte| any | byte) == 0 {
        return None;
    }
    Some(NullBuffer::new(!&bits(mask)))
}

/// A byte for each bit: 1 where it is set.
pub fn bytes(bits: &BooleanBuffer) -> Buffer {
    Buffer::from_vec(bits.iter().map(u8::from).collect::<Vec<u8>>())
}
