//! Text: the receiver's default text dtype, and the others that pandas has.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericStringArray, LargeStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer};
use arrow_schema::DataType;

use super::Pickler;
use crate::copies::CopyReason;
use crate::error::Result;

/// What text becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextForm {
    /// The receiver's own default: `str` from pandas 3 on, `object` before. Its buffers are
    /// shared. It loads as a `Series` without a name, whose `.array` is the column.
    #[default]
    Default,
    /// `object`: a Python `str` or `None` per row, pickled.
    Object,
    /// `string[python]`: pickled too.
    StringPython,
    /// `string[pyarrow]`: the text is shared, and so are its offsets if they have 32 bits, which
    /// pandas before 2.2 insists on. Other offsets are copied; for 2 GiB of text or more they
    /// keep their 64 bits, and need pandas 2.2.
    StringPyarrow,
    /// `str`, by name: buffers are shared. It needs pandas 2.3.
    Str,
}

impl TextForm {
    /// The dtype, as pandas writes it.
    pub(super) fn dtype_name(self) -> &'static str {
        match self {
            TextForm::Default | TextForm::Str => "str",
            TextForm::Object => "object",
            TextForm::StringPython => "string[python]",
            TextForm::StringPyarrow => "string[pyarrow]",
        }
    }
}

impl Pickler<'_> {
    /// A text column in the chosen form.
    pub(super) fn text(&mut self, array: &dyn Array) -> Result<()> {
        match self.forms.text {
            TextForm::Default => self.call("pyarrow", "Array.to_pandas", 1, |p| p.arrow_text(array)),
            TextForm::StringPyarrow => {
                self.call("pandas.arrays", "ArrowStringArray", 1, |p| p.narrow_text(array))
            }
            TextForm::Str => self.call("pandas", "StringDtype.__from_arrow__", 2, |p| {
                p.writer.call("pandas", "StringDtype", 2, |w| {
                    w.text("pyarrow");
                    w.float(f64::NAN);
                });
                p.arrow_text(array)
            }),
            TextForm::StringPython => self.call("pandas", "array", 3, |p| {
                p.text_list(array)?;
                p.writer.call("pandas", "StringDtype", 1, |w| w.text("python"));
                p.writer.boolean(false);
                Ok(())
            }),
            TextForm::Object => self.object_array(array.len(), |p| p.text_list(array)),
        }
    }

    /// A list of `str`, `None` where there is none.
    pub(super) fn text_list(&mut self, array: &dyn Array) -> Result<()> {
        match array.data_type() {
            DataType::Utf8 => self.list_of(array.as_string::<i32>()),
            DataType::LargeUtf8 => self.list_of(array.as_string::<i64>()),
            _ => {
                let array = array.as_string_view();
                let bytes = view_bytes(array);
                self.list_of_values(array.len(), bytes, array.iter())
            }
        }
    }

    fn list_of<O: OffsetSizeTrait>(&mut self, array: &GenericStringArray<O>) -> Result<()> {
        let offsets = array.value_offsets();
        let span = offsets.first().zip(offsets.last());
        let bytes = span.map_or(0, |(first, last)| last.as_usize() - first.as_usize());
        self.list_of_values(array.len(), bytes, array.iter())
    }

    fn list_of_values<'v>(
        &mut self,
        rows: usize,
        bytes: usize,
        values: impl Iterator<Item = Option<&'v str>>,
    ) -> Result<()> {
        self.claim(CopyReason::Pickled, bytes)?;
        // An opcode and a length of one byte; longer text is rare enough to grow for.
        self.writer.reserve(bytes + 2 * rows + rows / 250);
        self.writer.list(values, |w, value| match value {
            Some(text) => w.text(text),
            None => w.none(),
        });
        Ok(())
    }

    /// `pyarrow.Array.from_buffers(type, rows, [validity, offsets, data])`.
    fn arrow_text(&mut self, array: &dyn Array) -> Result<()> {
        match array.data_type() {
            DataType::Utf8 => self.arrow_text_of(array.as_string::<i32>(), "string"),
            DataType::LargeUtf8 => self.arrow_text_of(array.as_string::<i64>(), "large_string"),
            _ => {
                // Not every pyarrow has views.
                let views = array.as_string_view();
                self.claim(CopyReason::Pickled, view_bytes(views) + (views.len() + 1) * size_of::<i64>())?;
                let flat: GenericStringArray<i64> = views.iter().collect();
                self.arrow_text_of(&flat, "large_string")
            }
        }
    }

    /// The same with offsets of 32 bits if they reach.
    fn narrow_text(&mut self, array: &dyn Array) -> Result<()> {
        let large: LargeStringArray = match array.data_type() {
            DataType::Utf8 => return self.arrow_text(array),
            DataType::LargeUtf8 => array.as_string().clone(),
            _ => {
                self.claim(CopyReason::Pickled, view_bytes(array.as_string_view()))?;
                array.as_string_view().iter().collect()
            }
        };
        let (first, last): (i64, i64) = (large.offsets().first(), large.offsets().last());
        if i32::try_from(last - first).is_err() {
            return self.arrow_text_of(&large, "large_string");
        }
        self.claim(CopyReason::Rebased, large.value_offsets().len() * size_of::<i32>())?;
        // None is more than the last, which fits.
        let offsets =
            large.value_offsets().iter().map(|offset| i32::try_from(offset - first).unwrap_or_default());
        let offsets = Buffer::from_vec(offsets.collect::<Vec<_>>());
        let data = large.values().slice_with_length(first.as_usize(), (last - first).as_usize());
        self.arrow_text_parts("string", &large, offsets, data)
    }

    fn arrow_text_of<O: OffsetSizeTrait>(
        &mut self,
        array: &GenericStringArray<O>,
        type_name: &str,
    ) -> Result<()> {
        let offsets = array.offsets();
        let first = offsets.first().as_usize();
        let last = offsets.last().as_usize();
        let offset_bytes = size_of_val(&offsets[..]);
        // A slice carries the text before it while that is cheaper than new offsets.
        let (offsets, data) = if first <= offset_bytes {
            (offsets.inner().inner().clone(), array.values().slice_with_length(0, last))
        } else {
            self.claim(CopyReason::Rebased, offset_bytes)?;
            let from_zero = offsets.iter().map(|&offset| offset - offsets.first());
            let rebased = Buffer::from_vec(from_zero.collect::<Vec<O>>());
            (rebased, array.values().slice_with_length(first, last - first))
        };
        self.arrow_text_parts(type_name, array, offsets, data)
    }

    fn arrow_text_parts(
        &mut self,
        type_name: &str,
        array: &dyn Array,
        offsets: Buffer,
        data: Buffer,
    ) -> Result<()> {
        let validity = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => Some(self.bitmap(nulls.inner())?),
            None => None,
        };
        self.writer.call("pyarrow", "Array.from_buffers", 3, |w| {
            w.call("pyarrow", type_name, 0, |_| ());
            w.int(array.len() as i128);
            w.list([validity, Some(offsets), Some(data)], |w, buffer| match buffer {
                Some(buffer) => w.call("pyarrow", "py_buffer", 1, |w| w.buffer(buffer)),
                None => w.none(),
            });
        });
        Ok(())
    }

    /// A validity bitmap that starts at a byte.
    fn bitmap(&mut self, bits: &BooleanBuffer) -> Result<Buffer> {
        let bytes = bits.len().div_ceil(8);
        if bits.offset().is_multiple_of(8) {
            return Ok(bits.inner().slice_with_length(bits.offset() / 8, bytes));
        }
        self.claim(CopyReason::BitOffset, bytes)?;
        Ok(bits.sliced().slice_with_length(0, bytes))
    }
}

/// Bytes of all text, that of nulls included.
fn view_bytes(array: &StringViewArray) -> usize {
    array.lengths().map(|length| length as usize).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};
    use arrow_schema::Field;

    use super::super::Forms;
    use super::*;

    /// pandas before 2.2 makes a `string[pyarrow]` only of text with 32-bit offsets.
    #[test]
    fn string_pyarrow_has_offsets_of_32_bits() {
        let words = ["lo", "", "mid", "hi"];
        let all: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter_values(words)),
            Arc::new(LargeStringArray::from_iter_values(words)),
            Arc::new(StringViewArray::from_iter_values(words)),
        ];
        let forms = Forms { text: TextForm::StringPyarrow, ..Forms::default() };
        for array in all {
            let field = Field::new("x", array.data_type().clone(), true);
            for (array, offsets) in [(array.clone(), &[0, 2, 2, 5, 7][..]), (array.slice(2, 2), &[0, 3, 5])] {
                let buffers = Pickler::new(forms, "x", &mut |_, _| Ok(())).pickle(&array, &field).unwrap();
                let [pickle, found, data] = &buffers[..] else { panic!("{} buffers", buffers.len()) };
                let first = found.typed_data::<i32>()[0];
                let found: Vec<i32> = found.typed_data::<i32>().iter().map(|offset| offset - first).collect();
                assert_eq!(found, offsets, "{}", array.data_type());
                assert_eq!(i32::try_from(data.len()).unwrap() - first, *offsets.last().unwrap());
                assert!(!pickle.windows(12).any(|name| name == b"large_string"));
            }
        }
    }
}
