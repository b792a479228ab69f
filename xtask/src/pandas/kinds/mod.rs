//! Every kind of column that a dataframe for pandas can have.

mod categorical;
mod extension;
mod moments;
mod native;
mod numbers;
mod objects;
mod text;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::Error;
use super::kind::Kind;
pub use objects::mixed;

/// All kinds, in the order of the tables; those that share a dataframe together.
pub fn all() -> Result<Vec<Vec<Kind>>, Error> {
    let alone = |kinds: Vec<Kind>| kinds.into_iter().map(|kind| vec![kind]);
    let mut all = Vec::new();
    all.extend(alone(numbers::all()));
    all.extend(alone(moments::all()?));
    all.extend(categorical::all()?);
    all.extend(alone(text::all()));
    all.extend(extension::all()?);
    all.extend(alone(native::all()?));
    all.extend(alone(objects::all()?));
    Ok(all)
}

/// Integers as what they count in a type of 32 or 64 bits.
fn counted(values: &[i64], data_type: &DataType) -> Result<ArrayRef, Error> {
    let wide: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    Ok(match data_type.primitive_width() {
        Some(4) => {
            let narrow = values.iter().map(|value| *value as i32);
            cast(&Int32Array::from_iter_values(narrow), data_type)?
        }
        _ => cast(&wide, data_type)?,
    })
}

/// Text that is empty, not ASCII, has a NUL or is longer than a view holds inline.
const WORDS: [&str; 10] =
    ["lo", "", "Zürich", "日本語", "a\0b", "\0", "😀", "twelve bytes", "more than the twelve bytes", "x"];
