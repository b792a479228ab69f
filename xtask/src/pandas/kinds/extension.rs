//! pandas' own extension types: periods and intervals.

use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};

use super::super::kind::{ALL, Kind};
use super::{Error, counted};

const SECTION: &str = "Periods and intervals";

/// Frequencies as any pandas may have written them, and what each version calls them.
const FREQUENCIES: [(&str, [&str; 3]); 20] = [
    ("D", ["D", "D", "D"]),
    ("M", ["M", "M", "M"]),
    ("Q-DEC", ["Q-DEC", "Q-DEC", "Q-DEC"]),
    ("W-SUN", ["W-SUN", "W-SUN", "W-SUN"]),
    ("Y", ["A-DEC", "Y-DEC", "Y-DEC"]),
    ("h", ["H", "h", "h"]),
    ("min", ["T", "min", "min"]),
    ("s", ["S", "s", "s"]),
    ("ms", ["L", "ms", "ms"]),
    ("us", ["U", "us", "us"]),
    ("ns", ["N", "ns", "ns"]),
    ("B", ["B", "B", "B"]),
    ("A-DEC", ["A-DEC", "Y-DEC", "Y-DEC"]),
    ("Y-DEC", ["A-DEC", "Y-DEC", "Y-DEC"]),
    ("H", ["H", "h", "h"]),
    ("T", ["T", "min", "min"]),
    ("L", ["L", "ms", "ms"]),
    ("N", ["N", "ns", "ns"]),
    ("15min", ["15T", "15min", "15min"]),
    ("2Q-MAR", ["2Q-MAR", "2Q-MAR", "2Q-MAR"]),
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

/// The types that ends may have, and the dtype that each version has of them: moments are
/// nanoseconds before pandas 2. Numbers of less than 64 bits are refused, which pandas before 3
/// would make of 64.
fn ends() -> [(DataType, [&'static str; 3]); 6] {
    use TimeUnit::*;
    [
        (DataType::Int64, ["int64"; 3]),
        (DataType::UInt64, ["uint64"; 3]),
        (DataType::Float64, ["float64"; 3]),
        (DataType::Timestamp(Nanosecond, None), ["datetime64[ns]"; 3]),
        (DataType::Timestamp(Microsecond, None), ["datetime64[ns]", "datetime64[us]", "datetime64[us]"]),
        (DataType::Duration(Second), ["timedelta64[ns]", "timedelta64[s]", "timedelta64[s]"]),
    ]
}

fn extension(name: &str, metadata: &str, sample: &ArrayRef) -> Field {
    let metadata = [("ARROW:extension:name", name), ("ARROW:extension:metadata", metadata)];
    Field::new("x", sample.data_type().clone(), true).with_metadata(metadata)
}
