//! Why a column cannot be pickled exactly.

use std::fmt;

use arrow_schema::DataType;

/// Why no form carries a column without changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inexact {
    /// No form is known for the type.
    NoForm {
        /// The type, of the column or of something inside it.
        data_type: DataType,
    },
    /// A time zone that is neither a known name nor an offset like `+05:30`.
    Zone {
        /// What the type says.
        zone: String,
    },
    /// A period's frequency that not every pandas understands.
    Frequency {
        /// What the extension metadata says.
        frequency: String,
    },
    /// An extension type whose metadata does not describe it.
    Extension {
        /// The metadata.
        metadata: String,
    },
    /// A category that is missing (null, NaN or NaT): pandas has no such categories.
    NullCategory {
        /// The index of the category.
        category: usize,
    },
    /// Two categories that are equal.
    DuplicateCategory {
        /// The index of the second one.
        category: usize,
    },
    /// An interval of which only one end is missing: pandas has none or both.
    HalfInterval {
        /// The row.
        row: usize,
    },
    /// Ordered categories of a batch that do not continue those of the batches before it.
    CategoryOrder {
        /// The index of the batch.
        batch: usize,
    },
    /// An interval that is missing, in a type that cannot say so.
    MissingInterval {
        /// The row.
        row: usize,
    },
    /// An interval whose ends are NaN or the wrong way round.
    IntervalEnds {
        /// The row.
        row: usize,
    },
    /// A value that the Python type does not reach: a date outside the years 1 to 9999, a time
    /// with nanoseconds, an instant that nanoseconds do not express.
    OutOfRange {
        /// The row.
        row: usize,
        /// The value, in the unit of the type.
        value: i64,
    },
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inexact::NoForm { data_type } => write!(f, "there is no form for {data_type}"),
            Inexact::Zone { zone } => write!(f, "{zone:?} is no time zone that pandas knows"),
            Inexact::Frequency { frequency } => {
                write!(f, "not every pandas knows the period frequency {frequency:?}")
            }
            Inexact::Extension { metadata } => {
                write!(f, "its extension metadata {metadata:?} does not describe it")
            }
            Inexact::NullCategory { category } => {
                write!(f, "category {category} is missing (null, NaN or NaT)")
            }
            Inexact::DuplicateCategory { category } => write!(f, "category {category} is there twice"),
            Inexact::HalfInterval { row } => write!(f, "row {row} is an interval with one end"),
            Inexact::CategoryOrder { batch } => {
                write!(f, "the ordered categories of batch {batch} do not continue those before them")
            }
            Inexact::MissingInterval { row } => {
                write!(f, "row {row} is missing, which intervals of integers cannot be")
            }
            Inexact::IntervalEnds { row } => {
                write!(f, "row {row} is an interval whose ends are NaN or the wrong way round")
            }
            Inexact::OutOfRange { row, value } => {
                write!(f, "row {row} holds {value}, which the receiver's type does not reach")
            }
        }
    }
}
