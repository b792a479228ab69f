//! The pickles of a folder, and what must come of each.

use std::error::Error;
use std::fs;
use std::path::Path;

use arrow::datatypes::{DataType, Field, TimeUnit};

/// What a pickle is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// It has a form that this crate writes.
    Vector,
    /// pandas wrote it.
    Natural,
    /// It is malformed or harmful.
    Attack,
}

/// A pickle.
pub struct Case {
    /// Its path in the folder, with `/` between the parts.
    pub path: String,
    pub group: Group,
    pub expected: Expected,
}

/// What must come of a pickle.
pub enum Expected {
    /// An array, of this type if its name says so.
    Array(Option<String>),
    /// It parses, and has no array.
    Opaque,
    /// It is refused.
    Refused,
}

/// Vectors that have no Arrow type.
const OPAQUE_VECTORS: [&str; 8] = [
    "DataFrame",
    "MultiIndex",
    "RangeIndex",
    "cat_dtype_ordered",
    "numpy_2d",
    "obj_lists",
    "obj_mixed",
    "sparse",
];

/// Pickles of pandas' own that have no Arrow type: tables, dtypes, scalars, values of several
/// kinds, and numpy's that Arrow does not have. Those ending in `*` are prefixes.
const OPAQUE_NATURAL: [&str; 25] = [
    "DataFrame",
    "DataFrame_attrs",
    "Interval",
    "MultiIndex",
    "NA",
    "NaT",
    "Period",
    "RangeIndex",
    "Timedelta",
    "Timestamp_*",
    "cat_dtype_*",
    "cat_mixed",
    "dttz_dtype",
    "ndarray_U",
    "ndarray_be",
    "ndarray_f_order",
    "ndarray_object",
    "np_dtype",
    "np_scalar_*",
    "numpy_complex",
    "obj_mixed",
    "obj_ordereddict",
    "pa_rb",
    "pa_table",
    "sparse_*",
];

impl Case {
    /// The name of what it holds: the file's, up to the first dot.
    pub fn kind(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split_once('.').map_or(name, |(kind, _)| kind)
    }

    /// The rest of the file's name: `rw`, `ro`, `ib` or `ibro`.
    pub fn mode(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split('.').nth(1).unwrap_or_default()
    }
}

/// Every pickle in a folder, by path.
pub fn cases(dir: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut cases = Vec::new();
    let folders = fs::read_dir(dir.join("natural"))?.map(|entry| Ok(entry?.file_name()));
    let folders = folders.collect::<Result<Vec<_>, std::io::Error>>()?;
    let natural = folders.iter().map(|name| format!("natural/{}", name.to_string_lossy()));
    for folder in ["attacks".to_owned(), "vectors".to_owned()].into_iter().chain(natural) {
        for entry in fs::read_dir(dir.join(&folder))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".pkl") {
                let group = match folder.as_str() {
                    "attacks" => Group::Attack,
                    "vectors" => Group::Vector,
                    _ => Group::Natural,
                };
                let path = format!("{folder}/{name}");
                let mut case = Case { path, group, expected: Expected::Refused };
                case.expected = expected(&case)?;
                cases.push(case);
            }
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(cases)
}

fn expected(case: &Case) -> Result<Expected, Box<dyn Error>> {
    let kind = case.kind();
    let is = |name: &&str| name.strip_suffix('*').map_or(*name == kind, |start| kind.starts_with(start));
    Ok(match case.group {
        Group::Attack => Expected::Refused,
        Group::Vector if OPAQUE_VECTORS.iter().any(&is) => Expected::Opaque,
        Group::Natural if OPAQUE_NATURAL.iter().any(is) => Expected::Opaque,
        Group::Natural => Expected::Array(None),
        Group::Vector => {
            let data_type = data_type(kind).ok_or_else(|| format!("no type is known for {}", case.path))?;
            Expected::Array(Some(data_type.to_string()))
        }
    })
}

/// The Arrow type that the name of a vector says.
fn data_type(kind: &str) -> Option<DataType> {
    use DataType::*;
    let categorical = |key, value| Dictionary(Box::new(key), Box::new(value));
    let bounds = |bound: DataType| {
        let field = |name| Field::new(name, bound.clone(), true);
        Struct(vec![field("left"), field("right")].into())
    };
    Some(match kind {
        "Float64" | "numpy_empty" => Float64,
        "Int64" | "Index_i8" | "arrow_int64" | "numpy_i8" => Int64,
        "UInt8" => UInt8,
        "boolean" => Boolean,
        "arrow_ts_tz" => Timestamp(TimeUnit::Microsecond, Some("Europe/Paris".into())),
        "DatetimeIndex_tz" => Timestamp(TimeUnit::Nanosecond, Some("Europe/Paris".into())),
        "cat_dt" => categorical(Int8, Timestamp(TimeUnit::Nanosecond, None)),
        "cat_int" => categorical(Int8, Int64),
        "cat_i16" => categorical(Int16, Utf8),
        "cat_i32codes_narrowed" => categorical(Int32, Utf8),
        "series_cat" | "pa_dictionary" => categorical(Int8, Utf8),
        "interval" => bounds(Int64),
        "interval_f" => bounds(Float64),
        "obj_NA_NaT" => Null,
        "string_pyarrow_large" | "str_nan_pyarrow" | "str_series_of_paarray" | "str_to_pandas" => LargeUtf8,
        "dttz_empty" => Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        _ if kind.starts_with("cat_") => categorical(Int8, Utf8),
        _ if kind.starts_with("str") || kind.starts_with("series_string") => Utf8,
        _ if kind.starts_with("period_") => Int64,
        _ => {
            let (start, unit) = kind.rsplit_once('_')?;
            let unit = match unit {
                "s" => TimeUnit::Second,
                "ms" => TimeUnit::Millisecond,
                "us" => TimeUnit::Microsecond,
                "ns" => TimeUnit::Nanosecond,
                _ => return None,
            };
            let zone = match start.rsplit_once('_') {
                _ if start == "td" => return Some(Duration(unit)),
                _ if start == "dt_naive" => return Some(Timestamp(unit, None)),
                Some((_, "paris" | "zi")) => "Europe/Paris",
                Some((_, "utc")) => "UTC",
                Some((_, "p0530")) => "+05:30",
                Some((_, "m0330")) => "-03:30",
                _ => return None,
            };
            Timestamp(unit, Some(zone.into()))
        }
    })
}
