//! Text: the receiver's default text dtype, and the others that pandas has.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{BooleanBuffer, Buffer};
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
    /// `string[pyarrow]`: buffers are shared.
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
                self.call("pandas.arrays", "ArrowStringArray", 1, |p| p.arrow_text(array))
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
