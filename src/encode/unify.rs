//! Gives the batches of a categorical the same categories.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, UInt64Array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field};
use arrow_select::take::take;

use crate::copies::{CopyBudget, CopyReason};
use crate::error::{ErrorKind, Result};
use crate::join::{Join, is_same_array};
use crate::pickle::{Categories, Inexact, check_categories};

/// The pieces of a column, with one dictionary if they are dictionaries whose values differ.
///
/// They stay as they are if their keys cannot number all the values together: then each
/// batch has categories of its own.
///
/// # Errors
///
/// [`ErrorKind::Inexact`] for values that cannot be categories, and for ordered ones of which
/// a batch has others than that the union would have first: their order would be made up.
pub(super) fn categories(
    pieces: Vec<ArrayRef>,
    column: usize,
    field: &Field,
    copies: &mut CopyBudget,
) -> Result<Vec<ArrayRef>> {
    let name = field.name();
    let Some(DataType::Dictionary(key, _)) = pieces.first().map(|piece| piece.data_type()) else {
        return Ok(pieces);
    };
    let values: Vec<ArrayRef> =
        pieces.iter().map(|piece| piece.as_any_dictionary().values().clone()).collect();
    let is_shared = values.windows(2).all(|pair| match pair {
        [a, b] => is_same_array(a, b) || a == b,
        _ => true,
    });
    if is_shared {
        return Ok(pieces);
    }
    let inexact = |reason| ErrorKind::Inexact { column: name.to_owned(), reason };
    for values in &values {
        check_categories(values).map_err(inexact)?;
    }
    let all = Join { copies, column, name, max_rows_without_bytes: u64::MAX }.arrays(&values)?;
    let keys = Categories::new(&all);
    let mut numbers = HashMap::new();
    let mut firsts = Vec::new();
    let mut map = Vec::with_capacity(all.len());
    for (row, category) in keys.iter().enumerate() {
        map.push(*numbers.entry(category).or_insert_with(|| {
            firsts.push(row as u64);
            firsts.len() - 1
        }));
    }
    let is_ordered = field.dict_is_ordered() == Some(true);
    let mut start = 0;
    for (batch, values) in values.iter().enumerate().filter(|_| is_ordered) {
        let numbers = &map[start..start + values.len()];
        start += values.len();
        if numbers.iter().enumerate().any(|(place, number)| place != *number) {
            return Err(inexact(Inexact::CategoryOrder { batch }).into());
        }
    }
    if firsts.len() > key_capacity(key) {
        return Ok(pieces);
    }
    let union = take(&all, &UInt64Array::from(firsts), None)
        .map_err(|source| ErrorKind::Arrow { column: name.to_owned(), source })?;
    let mut start = 0;
    let mut unified = Vec::with_capacity(pieces.len());
    for (piece, values) in pieces.iter().zip(&values) {
        let map = &map[start..start + values.len()];
        start += values.len();
        let width = key.primitive_width().unwrap_or_default();
        copies.claim(column, name, CopyReason::Dictionary, piece.len() * width)?;
        unified.push(match key.as_ref() {
            DataType::Int8 => renumbered::<Int8Type>(piece, map, &union),
            DataType::Int16 => renumbered::<Int16Type>(piece, map, &union),
            DataType::Int32 => renumbered::<Int32Type>(piece, map, &union),
            DataType::Int64 => renumbered::<Int64Type>(piece, map, &union),
            DataType::UInt8 => renumbered::<UInt8Type>(piece, map, &union),
            DataType::UInt16 => renumbered::<UInt16Type>(piece, map, &union),
            DataType::UInt32 => renumbered::<UInt32Type>(piece, map, &union),
            _ => renumbered::<UInt64Type>(piece, map, &union),
        });
    }
    Ok(unified)
}

/// How many values keys of that type can number.
fn key_capacity(key: &DataType) -> usize {
    match key {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        DataType::Int32 => 1 << 31,
        _ => usize::MAX,
    }
}

/// The dictionary array with other values, whose numbers `map` gives for the old ones.
fn renumbered<K: ArrowDictionaryKeyType>(piece: &dyn Array, map: &[usize], values: &ArrayRef) -> ArrayRef {
    let dictionary = piece.as_dictionary::<K>();
    let keys = dictionary.keys();
    // What lies under a null may be no key at all.
    let new = |key: &K::Native| K::Native::usize_as(map.get(key.as_usize()).copied().unwrap_or(0));
    let new = keys.values().iter().map(new).collect::<Vec<_>>();
    let keys = PrimitiveArray::<K>::new(new.into(), keys.nulls().cloned());
    Arc::new(DictionaryArray::new(keys, values.clone()))
}
