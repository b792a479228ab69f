//! A stream, and what each pandas must make of it.

use std::fs;
use std::path::Path;

use arrow::array::Array;
use arrow::buffer::Buffer;
use arrow_frames::{DataFrame, Encoder, Frames};
use serde_json::{Value, json};

use super::{Error, values};

/// The versions of pandas, oldest first. Each has its requirements in `tests/python`.
pub const VERSIONS: [&str; 3] = ["1.5.3", "2.2.3", "3.1.1"];

/// Something that is not the same to every version, in their order.
pub type PerVersion<T> = [T; VERSIONS.len()];

/// One stream.
pub struct Case {
    /// The table that its row is in.
    pub section: &'static str,
    /// The row that it counts for; cases of one row are its shapes.
    pub row: String,
    /// Which of the row's cases it is.
    pub detail: String,
    /// What a reader receives.
    pub sent: Sent,
    /// The dataframe that pandas must make of it.
    pub truth: Truth,
}

/// What a reader receives.
pub enum Sent {
    /// A dataframe.
    Stream(Vec<u8>),
    /// An index, or an array if the truth has no index: a pickle and its buffers.
    Pickle(Vec<Buffer>),
}

/// A dataframe in pandas.
#[derive(Clone, Default)]
pub struct Truth {
    pub columns: Vec<Column>,
    /// The labels of the columns and their dtypes, unless they are text.
    pub labels: Option<Index>,
    /// The index, unless it counts the rows.
    pub index: Option<Index>,
    /// Why a version cannot read it: what its error starts with.
    pub refused: PerVersion<Option<String>>,
}

/// A column in pandas.
#[derive(Clone)]
pub struct Column {
    pub label: Value,
    pub dtype: PerVersion<String>,
    pub values: Vec<Value>,
    /// Whether any of them is missing.
    pub has_nulls: bool,
    /// The dtype of a categorical's categories, themselves, and whether they are ordered.
    pub categories: Option<(PerVersion<String>, Vec<Value>, bool)>,
    /// Parts of the array that must lie in the received buffer.
    pub shared: PerVersion<Vec<&'static str>>,
    /// Whether those are writeable where the received buffer is. If not, they never are.
    pub writeable: bool,
}

/// An index in pandas, of one level or more.
#[derive(Clone)]
pub struct Index {
    pub class: PerVersion<String>,
    pub levels: Vec<Level>,
}

/// A level of an index.
#[derive(Clone)]
pub struct Level {
    pub name: Option<&'static str>,
    pub dtype: PerVersion<String>,
    pub values: Vec<Value>,
}

impl Case {
    /// Encodes a dataframe.
    pub fn encode(
        (section, row, detail): (&'static str, &str, &str),
        encoder: &mut Encoder,
        df: &DataFrame,
        truth: Truth,
    ) -> Result<Case, Error> {
        let frames = encoder.encode(df).map_err(|error| format!("{row}, {detail}: {error}"))?;
        Case::new((section, row, detail), Sent::Stream(stream(&frames)?), truth)
    }

    pub fn new(
        (section, row, detail): (&'static str, &str, &str),
        sent: Sent,
        truth: Truth,
    ) -> Result<Case, Error> {
        Ok(Case { section, row: row.to_owned(), detail: detail.to_owned(), sent, truth })
    }

    /// Writes what is sent into files of that number, and returns what the check is told.
    pub fn write(&self, folder: &Path, number: usize) -> Result<Value, Error> {
        let mut files = Vec::new();
        let mut write = |bytes: &[u8]| -> Result<(), Error> {
            files.push(format!("{number:04}-{}", files.len()));
            Ok(fs::write(folder.join(&files[files.len() - 1]), bytes)?)
        };
        match &self.sent {
            Sent::Stream(stream) => write(stream)?,
            Sent::Pickle(buffers) => buffers.iter().try_for_each(|buffer| write(buffer))?,
        }
        let Truth { columns, labels, index, refused } = &self.truth;
        Ok(json!({
            "is_stream": matches!(self.sent, Sent::Stream(_)),
            "files": files,
            "rows": columns.first().map(|column| column.values.len()),
            "columns": columns.iter().map(Column::json).collect::<Vec<_>>(),
            "labels": labels.as_ref().map(Index::json),
            "index": index.as_ref().map(Index::json),
            "refused": per_version(refused),
        }))
    }
}

/// Frames as a stream.
pub fn stream(frames: &Frames) -> Result<Vec<u8>, Error> {
    Ok(frames.segments()?.flatten().copied().collect())
}

impl Truth {
    /// A dataframe of that one column.
    pub fn of(column: Column) -> Truth {
        Truth { columns: vec![column], ..Truth::default() }
    }
}

impl Column {
    /// A column of that dtype everywhere, with the values of an array, that shares nothing.
    pub fn new(label: &str, dtype: PerVersion<String>, array: &dyn Array) -> Column {
        let shared = Default::default();
        Column {
            label: values::tagged("s", label),
            dtype,
            values: values::of(array),
            has_nulls: array.logical_null_count() > 0,
            categories: None,
            shared,
            writeable: true,
        }
    }

    fn json(&self) -> Value {
        let categories = self.categories.as_ref().map(|(dtype, values, is_ordered)| {
            json!({"dtype": per_version(dtype), "values": values, "ordered": is_ordered})
        });
        json!({
            "label": self.label,
            "dtype": per_version(&self.dtype),
            "values": self.values,
            "categories": categories,
            "shared": per_version(&self.shared),
            "writeable": self.writeable,
        })
    }
}

impl Index {
    fn json(&self) -> Value {
        let levels = self.levels.iter().map(
            |level| json!({"name": level.name, "dtype": per_version(&level.dtype), "values": level.values}),
        );
        json!({"class": per_version(&self.class), "levels": levels.collect::<Vec<_>>()})
    }
}

/// The same to every version.
pub fn always(dtype: impl Into<String>) -> PerVersion<String> {
    let dtype = dtype.into();
    VERSIONS.map(|_| dtype.clone())
}

/// Something of each version, oldest first.
pub fn each(dtypes: [&str; VERSIONS.len()]) -> PerVersion<String> {
    dtypes.map(str::to_owned)
}

fn per_version<T: Clone + Into<Value>>(values: &PerVersion<T>) -> Value {
    let entries = VERSIONS.iter().zip(values);
    Value::Object(entries.map(|(version, value)| ((*version).to_owned(), value.clone().into())).collect())
}
