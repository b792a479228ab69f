//! Text, in each layout and each of pandas' forms.

use std::sync::Arc;

use arrow::array::{ArrayRef, LargeStringArray, StringArray, StringViewArray};
use arrow_frames::pickle::{Forms, TextForm};

use super::super::case::{PerVersion, always, each};
use super::super::kind::{ALL, FROM_3, Kind};
use super::WORDS;

const SECTION: &str = "Text";

pub fn all() -> Vec<Kind> {
    let layouts: [(&str, ArrayRef); 3] = [
        ("utf8", Arc::new(StringArray::from_iter_values(WORDS))),
        ("large utf8", Arc::new(LargeStringArray::from_iter_values(WORDS))),
        ("utf8 view", Arc::new(StringViewArray::from_iter_values(WORDS))),
    ];
    let forms: [(&str, TextForm, PerVersion<String>); 5] = [
        ("", TextForm::Default, each(["object", "object", "str"])),
        (" as object", TextForm::Object, always("object")),
        (" as string[python]", TextForm::StringPython, always("string[python]")),
        (" as string[pyarrow]", TextForm::StringPyarrow, always("string[pyarrow]")),
        (" as str", TextForm::Str, always("str")),
    ];
    let mut kinds = Vec::new();
    for (layout, sample) in layouts {
        for (name, text, dtype) in &forms {
            let kind = Kind::new(SECTION, format!("{layout}{name}"), sample.clone(), dtype.clone());
            let kind = kind.forms(Forms { text: *text, ..Forms::default() });
            kinds.push(match text {
                TextForm::Default => kind.shared(FROM_3, "data"),
                TextForm::StringPyarrow => kind.shared(ALL, "data"),
                TextForm::Str => kind.shared(FROM_3, "data").refused(0, NO_STR).refused(1, NO_STR),
                _ => kind,
            });
        }
    }
    kinds
}

/// The error of pandas before 2.3 at `StringDtype("pyarrow", nan)`.
const NO_STR: &str =
    "TypeError: StringDtype.__init__() takes from 1 to 2 positional arguments but 3 were given";
