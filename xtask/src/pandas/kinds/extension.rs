//! pandas' own extension types: periods and intervals.

use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};

use super::super::kind::{ALL, Kind};
use super::{Error, counted};

const SECTION: &str = "Periods and intervals";

/// Frequencies, and what each version calls them.
const FREQUENCIES: [(&str, [&str; 3]); 9] = [
    ("D", ["D", "D", "D"]),
    ("M", ["M", "M", "M"]),
    ("Q-DEC", ["Q-DEC", "Q-DEC", "Q-DEC"]),
    ("W-SUN", ["W-SUN", "W-SUN", "W-SUN"]),
    ("Y", ["A-DEC", "Y-DEC", "Y-DEC"]),
    ("h", ["H", "h", "h"]),
    ("min", ["T", "min", "min"]),
    ("s", ["S", "s", "s"]),
    ("ms", ["L", "ms", "ms"]),
];

pub fn all() -> Result<Vec<Vec<Kind>>, Error> {
    let mut groups = Vec::new();
    for (frequency, names) in FREQUENCIES {
        let sample = counted(&[0, 1, -1, 19_000, 5, 600, -700, 42, 43, 44], &DataType::Int64)?;
        let dtype = names.map(|name| format!("period[{name}]"));
        let field = extension("pandas.period", &format!("{{\"freq\": \"{frequency}\"}}"), &sample);
        let kind = Kind::new(SECTION, format!("period[{frequency}]"), sample, dtype).field(field);
        groups.push(vec![kind.shared(ALL, "values")]);
    }
    for (data_type, names) in ends() {
        let mut kinds = Vec::new();
        for closed in ["left", "right", "both", "neither"] {
            let left = counted(&[0, 1, 2, 3, 10, 20, 30, 40, 50], &data_type)?;
            let right = counted(&[1, 1, 5, 4, 11, 100, 31, 40, 51], &data_type)?;
            let fields = ["left", "right"].map(|name| Field::new(name, data_type.clone(), true));
            let sample = StructArray::try_new(Fields::from(fields.to_vec()), vec![left, right], None)?;
            let sample: ArrayRef = Arc::new(sample);
            let metadata = format!("{{\"subtype\": \"{}\", \"closed\": \"{closed}\"}}", names[2]);
            let field = extension("pandas.interval", &metadata, &sample);
            let dtype = names.map(|name| format!("interval[{name}, {closed}]"));
            let kind = Kind::new(SECTION, format!("interval[{}]", names[2]), sample, dtype);
            let kind = kind.field(field).name(closed);
            // pandas has no missing interval of integers.
            let kind = if data_type.is_integer() { kind.required() } else { kind };
            let first = names.iter().position(|name| *name == names[2]).unwrap_or_default();
            kinds.push(kind.shared(first..=2, "left").shared(first..=2, "right"));
        }
        groups.push(kinds);
    }
    Ok(groups)
}

/// Types of ends, and the dtype that each version has of them: numbers have 64 bits before
/// pandas 3, and moments are nanoseconds before pandas 2.
fn ends() -> [(DataType, [&'static str; 3]); 9] {
    use TimeUnit::*;
    [
        (DataType::Int64, ["int64"; 3]),
        (DataType::UInt64, ["uint64"; 3]),
        (DataType::Int32, ["int64", "int64", "int32"]),
        (DataType::UInt8, ["uint64", "uint64", "uint8"]),
        (DataType::Float64, ["float64"; 3]),
        (DataType::Float32, ["float64", "float64", "float32"]),
        (DataType::Timestamp(Nanosecond, None), ["datetime64[ns]"; 3]),
        (DataType::Timestamp(Microsecond, None), ["datetime64[ns]", "datetime64[us]", "datetime64[us]"]),
        (DataType::Duration(Second), ["timedelta64[ns]", "timedelta64[s]", "timedelta64[s]"]),
    ]
}

fn extension(name: &str, metadata: &str, sample: &ArrayRef) -> Field {
    let metadata = [("ARROW:extension:name", name), ("ARROW:extension:metadata", metadata)];
    Field::new("x", sample.data_type().clone(), true).with_metadata(metadata)
}
