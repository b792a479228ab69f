//! Time zones: by name, or as a fixed offset from UTC.

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use crate::error::Result;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pickle) enum Zone {
    Name(String),
    /// Seconds ahead of UTC, a whole number of minutes and less than a day.
    Fixed(i64),
}

/// Seconds in a day: offsets are less.
const DAY: i64 = 86_400;

impl Zone {
    /// The zone that a value stands for: text, or a call.
    pub(in crate::pickle) fn of(view: View<'_>, id: Id) -> Result<Self> {
        if let Value::Text(text) = view.value(id) {
            return named(view, id, text);
        }
        let Some(call) = Arguments::of(view, id) else { return none(view, id, &view.shown(id)) };
        match call.name {
            Name::TimeZone => {
                call.exactly(1)?;
                let seconds = duration(call.call(0, Name::TimeDelta)?)?;
                match seconds {
                    (seconds, 0) if seconds.abs() < DAY && seconds % 60 == 0 => Ok(Zone::Fixed(seconds)),
                    (seconds, _) => none(view, id, &format!("{seconds} seconds")),
                }
            }
            Name::ZoneInfo => named(view, id, call.exactly(1)?.text(0)?),
            Name::ZoneInfoUnpickle => {
                call.int(1)?;
                named(view, id, call.exactly(2)?.text(0)?)
            }
            // The rest says which of the zone's offsets this object stands for.
            Name::PytzZone => {
                if call.count == 4 {
                    call.int(1)?;
                    call.int(2)?;
                    call.text(3)?;
                }
                named(view, id, call.text(0)?)
            }
            Name::DateutilUnpickle => named(view, id, call.text(1)?),
            Name::PytzUtc | Name::DateutilUtc => {
                call.exactly(0)?;
                Ok(Zone::Fixed(0))
            }
            Name::PytzFixed => match call.exactly(1)?.int(0)?.checked_mul(60) {
                Some(seconds) if seconds.abs() < DAY => Ok(Zone::Fixed(seconds)),
                _ => call.wrong(0),
            },
            _ => none(view, id, call.name.text()),
        }
    }

    /// Arrow's name of the zone. Source: Schema.fbs, `Timestamp`.
    pub(in crate::pickle) fn text(&self) -> String {
        match self {
            Zone::Name(name) => name.clone(),
            Zone::Fixed(0) => "UTC".to_owned(),
            Zone::Fixed(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                let minutes = seconds.unsigned_abs() / 60;
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }

    /// Whether an Arrow name of a zone means this one.
    pub(in crate::pickle) fn is_named(&self, name: &str) -> bool {
        match (self, fixed_offset(name)) {
            (Zone::Fixed(seconds), Some(other)) => *seconds == other,
            (Zone::Name(own), other) => own == name || (fixed_offset(own) == other && other.is_some()),
            _ => false,
        }
    }
}

/// The seconds and microseconds of a call of `datetime.timedelta`.
pub(in crate::pickle) fn duration(call: Arguments<'_>) -> Result<(i64, i64)> {
    if call.count > 3 || call.view.state(call.call).is_some() {
        return call.refuse(3, "too many");
    }
    let part = |index| if index < call.count { call.int(index) } else { Ok(0) };
    let (days, seconds, micros) = (part(0)?, part(1)?, part(2)?);
    match days.checked_mul(DAY).and_then(|days| days.checked_add(seconds)) {
        Some(seconds) => Ok((seconds, micros)),
        None => call.wrong(0),
    }
}

/// The offset of an Arrow name that has one: `+05:30`, `-0330`, `+01`, and the names of UTC.
pub(in crate::pickle) fn fixed_offset(name: &str) -> Option<i64> {
    if matches!(
        name,
        "UTC" | "utc" | "Z" | "GMT" | "UCT" | "Zulu" | "Etc/UTC" | "Etc/GMT" | "Etc/UCT" | "Etc/Zulu"
    ) {
        return Some(0);
    }
    let sign = match name.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1i64,
        _ => return None,
    };
    let digits = name.get(1..)?.replacen(':', "", 1);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match digits.len() {
        2 if is_number => (digits.as_str(), "0"),
        4 if is_number => digits.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
    (minutes < 60 && seconds < DAY).then(|| seconds.checked_mul(sign))?
}

/// Whether text has the shape of a zone's name: parts of letters, digits, `_`, `+` and `-`,
/// with `/` between, as in `America/Argentina/Buenos_Aires`. What pandas takes for a file or
/// for a zone of the machine is none.
pub(in crate::pickle) fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-');
        part.starts_with(|first: char| first.is_ascii_alphabetic()) && part.bytes().all(is_of_name)
    };
    text.len() <= 64
        && text.split('/').count() <= 3
        && text.split('/').all(is_part)
        && !text.starts_with("dateutil/")
        && text != "localtime"
}

fn named(view: View<'_>, id: Id, text: &str) -> Result<Zone> {
    match text {
        "UTC" => Ok(Zone::Fixed(0)),
        _ if is_name(text) => Ok(Zone::Name(text.to_owned())),
        _ => none(view, id, text),
    }
}

fn none<T>(view: View<'_>, id: Id, name: &str) -> Result<T> {
    let name = name.chars().take(64).collect();
    refuse(view.position(id), PickleFault::TimeZone { name })
}
