//! Datetimes with and without a zone, and durations.

use arrow::datatypes::{DataType, TimeUnit};
use arrow_frames::Carriage;
use arrow_frames::pickle::{Forms, ZonedForm};

use super::super::case::{PerVersion, always};
use super::super::kind::{ALL, FROM_2, Kind};
use super::{Error, counted};

const SECTION: &str = "Datetimes and durations";
const ZONED: &str = "Datetimes with a zone";

/// Units, their names, and how many of them are a second.
const UNITS: [(TimeUnit, &str, i64); 4] = [
    (TimeUnit::Second, "s", 1),
    (TimeUnit::Millisecond, "ms", 1_000),
    (TimeUnit::Microsecond, "us", 1_000_000),
    (TimeUnit::Nanosecond, "ns", 1_000_000_000),
];

/// Zones in Arrow's spelling and in that of the dtype.
const ZONES: [(&str, &str); 4] =
    [("UTC", "UTC"), ("Europe/Paris", "Europe/Paris"), ("+05:30", "UTC+05:30"), ("-03:30", "UTC-03:30")];

/// The error of pandas before 2.1 at a zoned column of another unit, which it would get wrong.
const NO_UNITS: &str =
    "AttributeError: Can't get attribute 'NumpyExtensionArray' on <module 'pandas.arrays' from ";

pub fn all() -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    for (unit, name, per_second) in UNITS {
        let types = [
            ("timestamp", "datetime64", DataType::Timestamp(unit, None), "OutOfBoundsDatetime: "),
            ("duration", "timedelta64", DataType::Duration(unit), "OutOfBoundsTimedelta: "),
        ];
        for (arrow, numpy, data_type, beyond) in types {
            let sample = counted(&seconds(per_second), &data_type)?;
            let dtype = nanoseconds_before_2(&format!("{numpy}[{name}]"), &format!("{numpy}[ns]"));
            // pandas before 2 makes nanoseconds of the others.
            let sharing = if name == "ns" { ALL } else { FROM_2 };
            let kind = Kind::new(SECTION, format!("{arrow}[{name}]"), sample.clone(), dtype.clone());
            kinds.push(kind.read_only().shared_without_nulls(sharing.clone(), "values"));
            let kind = Kind::new(SECTION, format!("{arrow}[{name}], pickled"), sample, dtype.clone());
            kinds.push(kind.carried(Carriage::Opaque).shared(sharing, "values"));
            if name != "ns" {
                // The least integer is NaT.
                let extremes = [0, i64::MAX, i64::MIN + 1, 1, -1, 86_400, i64::MAX - 1, 2, 3];
                let row = format!("{arrow}[{name}] beyond nanoseconds");
                let kind = Kind::new(SECTION, row, counted(&extremes, &data_type)?, dtype).read_only();
                kinds.push(kind.refused_values(0, beyond).shared_without_nulls(FROM_2, "values"));
            }
        }
        for (zone, shown) in ZONES {
            let data_type = DataType::Timestamp(unit, Some(zone.into()));
            let sample = counted(&seconds(per_second), &data_type)?;
            let own = format!("datetime64[{name}, {shown}]");
            let row = format!("timestamp[{name}] in {zone}");
            if name == "ns" {
                let kind = Kind::new(ZONED, &row, sample.clone(), always(&own));
                kinds.push(kind.shared(ALL, "values"));
            } else {
                let kind = Kind::new(ZONED, &row, sample.clone(), always(&own)).refused(0, NO_UNITS);
                kinds.push(kind.shared(FROM_2, "values"));
            }
            let row = format!("{row}, for any pandas");
            let dtype = nanoseconds_before_2(&own, &format!("datetime64[ns, {shown}]"));
            let forms = Forms { zoned: ZonedForm::AnyPandas, ..Forms::default() };
            let kind = Kind::new(ZONED, row, sample, dtype).forms(forms);
            kinds.push(if name == "ns" { kind.shared(ALL, "values") } else { kind });
        }
    }
    Ok(kinds)
}

/// Around 1970, both sides of changes of the clocks in Paris, and far away; each a little off
/// the second if the unit can say so.
fn seconds(per_second: i64) -> Vec<i64> {
    const SECONDS: [i64; 10] = [
        0,
        1,
        -1,
        1_711_846_799,
        1_711_846_800,
        1_729_990_800,
        1_729_994_400,
        -9_000_000_000,
        9_000_000_000,
        86_400,
    ];
    SECONDS.iter().enumerate().map(|(n, second)| second * per_second + n as i64 % per_second).collect()
}

fn nanoseconds_before_2(own: &str, nanoseconds: &str) -> PerVersion<String> {
    [nanoseconds.to_owned(), own.to_owned(), own.to_owned()]
}
