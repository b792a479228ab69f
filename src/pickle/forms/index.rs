//! Indexes of a dataframe: what pandas calls its rows and columns by.

use std::num::NonZeroI64;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field};

use super::{Forms, Inexact, Pickler, check_categories};
use crate::error::{ErrorKind, Result};
use crate::pickle::Writer;

/// A pickled `pandas.RangeIndex(start, stop, step)`: no value of it is written.
///
/// ```
/// use std::num::NonZeroI64;
///
/// let step = NonZeroI64::new(1).unwrap();
/// let buffers = arrow_frames::pickle::range_index(0, 1_000_000, step, Some("row"));
/// assert!(buffers.len() == 1 && buffers[0].len() < 64);
/// ```
pub fn range_index(start: i64, stop: i64, step: NonZeroI64, name: Option<&str>) -> Vec<Buffer> {
    let mut writer = Writer::new();
    writer.call("pandas", "RangeIndex", 6, |w| {
        for number in [start, stop, step.get()] {
            w.int(number.into());
        }
        w.none();
        w.boolean(false);
        name_or_none(w, name);
    });
    writer.finish()
}

/// A pickled `pandas.Index` of a column.
///
/// # Errors
///
/// [`ErrorKind::Inexact`](crate::ErrorKind::Inexact).
pub fn index(array: &dyn Array, field: &Field, forms: Forms, name: Option<&str>) -> Result<Vec<Buffer>> {
    let mut uncounted = |_, _| Ok(());
    let mut pickler = Pickler::new(forms, field.name(), &mut uncounted);
    pickler.call("pandas", "Index", 4, |p| {
        p.level(array, field)?;
        p.writer.none();
        p.writer.boolean(false);
        name_or_none(&mut p.writer, name);
        Ok(())
    })?;
    Ok(pickler.writer.finish())
}

/// A pickled `pandas.MultiIndex` of dictionaries of one length: the values of each are a
/// level, its keys the codes that say which of them a row has.
///
/// # Errors
///
/// [`ErrorKind::Inexact`](crate::ErrorKind::Inexact), also of what is no dictionary;
/// [`ErrorKind::RowCount`](crate::ErrorKind::RowCount).
pub fn multi_index(
    levels: &[(&dyn Array, &Field)],
    forms: Forms,
    names: &[Option<&str>],
) -> Result<Vec<Buffer>> {
    let mut uncounted = |_, _| Ok(());
    let name = levels.first().map(|(_, field)| field.name().as_str()).unwrap_or_default();
    let mut pickler = Pickler::new(forms, name, &mut uncounted);
    let rows = levels.first().map_or(0, |(array, _)| array.len());
    for (column, (array, field)) in levels.iter().enumerate() {
        if array.as_any_dictionary_opt().is_none() {
            let (column, data_type) = (field.name().clone(), array.data_type().clone());
            return Err(ErrorKind::Inexact { column, reason: Inexact::NoForm { data_type } }.into());
        }
        if array.len() != rows {
            return Err(ErrorKind::RowCount { batch: 0, column, expected: rows, found: array.len() }.into());
        }
    }
    pickler.call("pandas", "MultiIndex", 4, |p| {
        p.list(levels, |p, (array, field)| {
            let values = array.as_any_dictionary().values();
            let level = Field::new(field.name(), values.data_type().clone(), false);
            check_categories(values).map_err(|reason| p.inexact(reason))?;
            p.level(values, &level)
        })?;
        p.list(levels, |p, (array, _)| p.codes(array.as_any_dictionary()))?;
        p.writer.none();
        let names = (0..levels.len()).map(|level| names.get(level).copied().flatten());
        p.writer.list(names, name_or_none);
        Ok(())
    })?;
    Ok(pickler.writer.finish())
}

impl Pickler<'_> {
    /// The values of an index, of which pandas has none of float16.
    fn level(&mut self, array: &dyn Array, field: &Field) -> Result<()> {
        match field.data_type() {
            DataType::Float16 => Err(self.inexact(Inexact::NoForm { data_type: DataType::Float16 })),
            _ => self.column(array, field),
        }
    }
}

fn name_or_none(w: &mut Writer, name: Option<&str>) {
    match name {
        Some(name) => w.text(name),
        None => w.none(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::UInt8Type;
    use arrow_array::{ArrayRef, DictionaryArray, Float16Array, UInt8Array};

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn pandas_has_no_index_of_float16() {
        let halves: ArrayRef = Arc::new(Float16Array::from_iter_values(Vec::new()));
        let field = Field::new("x", DataType::Float16, false);
        let keys = UInt8Array::from(Vec::<u8>::new());
        let categorical = DictionaryArray::<UInt8Type>::new(keys, halves.clone());
        let categories = Field::new("x", categorical.data_type().clone(), false);
        let forms = Forms::default();
        for refused in [
            index(&halves, &field, forms, None),
            multi_index(&[(&categorical, &categories)], forms, &[None]),
            index(&categorical, &categories, forms, None),
        ] {
            let refused = refused.unwrap_err();
            let no_form = Inexact::NoForm { data_type: DataType::Float16 };
            assert!(matches!(refused.kind(), ErrorKind::Inexact { reason, .. } if *reason == no_form));
        }
    }
}
