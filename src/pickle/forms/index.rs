//! Indexes of a dataframe: what pandas calls its rows and columns by.

use arrow_array::Array;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field};

use super::{Forms, Inexact, Pickler};
use crate::error::Result;
use crate::pickle::Writer;

/// A pickled `pandas.RangeIndex(start, stop, step)`: no value of it is written.
///
/// ```
/// let buffers = arrow_frames::pickle::range_index(0, 1_000_000, 1, Some("row"));
/// assert!(buffers.len() == 1 && buffers[0].len() < 64);
/// ```
pub fn range_index(start: i64, stop: i64, step: i64, name: Option<&str>) -> Vec<Buffer> {
    let mut writer = Writer::new();
    writer.call("pandas", "RangeIndex", 6, |w| {
        for number in [start, stop, step] {
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

/// A pickled `pandas.MultiIndex` of levels, each a column with its name, and codes, which
/// say by number which value of its level a row has (−1: none).
///
/// # Errors
///
/// [`ErrorKind::Inexact`](crate::ErrorKind::Inexact).
pub fn multi_index(
    levels: &[(&dyn Array, &Field)],
    codes: &[&dyn Array],
    forms: Forms,
    names: &[Option<&str>],
) -> Result<Vec<Buffer>> {
    let mut uncounted = |_, _| Ok(());
    let name = levels.first().map(|(_, field)| field.name().as_str()).unwrap_or_default();
    let mut pickler = Pickler::new(forms, name, &mut uncounted);
    pickler.call("pandas", "MultiIndex", 4, |p| {
        p.list(levels, |p, (array, field)| p.level(*array, field))?;
        p.list(codes, |p, codes| p.numbers(*codes))?;
        p.writer.none();
        p.writer.list(names, |w, name| name_or_none(w, *name));
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
            multi_index(&[(&halves, &field)], &[], forms, &[None]),
            index(&categorical, &categories, forms, None),
        ] {
            let refused = refused.unwrap_err();
            let no_form = Inexact::NoForm { data_type: DataType::Float16 };
            assert!(matches!(refused.kind(), ErrorKind::Inexact { reason, .. } if *reason == no_form));
        }
    }
}
