//! Which columns travel as Arrow buffers, and which as pickles.

use arrow_schema::{DataType, Field};

/// Who will rebuild the dataframe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Any reader of Arrow: every column travels as its own buffers.
    Arrow,
    /// pandas, with exactly the dtypes that it should have. Dictionaries (categoricals),
    /// strings and zoned timestamps travel as pickles, everything else as Arrow buffers
    /// with metadata that says what pandas builds of them.
    ///
    /// What is pickled shares its buffers too: the codes of a categorical and the integers
    /// of zoned timestamps without nulls, and text. What pandas would change is refused, such as
    /// the instant `i64::MIN`, which is its missing value: the integers are read once for
    /// that. A reader that joins several batches copies.
    Pandas,
}

/// How a column travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carriage {
    /// As its Arrow buffers.
    Native,
    /// As a pickle. A column that no form carries exactly is an error.
    Opaque,
    /// As a pickle if a form carries the whole column exactly, otherwise as its Arrow
    /// buffers. In a stream made batch by batch only its type decides.
    OpaqueOrNative,
}

impl Target {
    /// How a column of that field travels to this receiver, unless the caller says
    /// otherwise.
    pub fn carriage(self, field: &Field) -> Carriage {
        use DataType::*;
        let is_pickled = match field.data_type() {
            Dictionary(..) | Utf8 | LargeUtf8 | Utf8View | Timestamp(_, Some(_)) => true,
            _ => {
                let extension = field.metadata().get("ARROW:extension:name").map(String::as_str);
                matches!(extension, Some("pandas.period" | "pandas.interval"))
            }
        };
        if self == Target::Pandas && is_pickled { Carriage::Opaque } else { Carriage::Native }
    }
}
