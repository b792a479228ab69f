//! What pandas made of a vector, as text, and whether an array has the same values.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use arrow_frames::pickle::Pickle;
use serde_json::Value;

use super::cases::Case;

/// What pandas 3.1 made of every vector.
pub struct Truth(HashMap<String, String>);

/// What pandas prints for no value.
const MISSING: [&str; 4] = ["<NA>", "NaT", "nan", "None"];

impl Truth {
    /// Reads the JSON file of one pandas version.
    pub fn load(path: &Path) -> Result<Self, Box<dyn Error>> {
        let json: HashMap<String, Value> = serde_json::from_slice(&fs::read(path)?)?;
        let text = |value: Value| value.get("desc").and_then(Value::as_str).map(str::to_owned);
        Ok(Truth(json.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect()))
    }

    /// Compares the values of an array with those that pandas has.
    pub fn compare(&self, case: &Case, pickle: &Pickle, array: &ArrayRef) -> Result<(), String> {
        let key = format!("{}|{}", case.kind(), case.mode());
        let truth = self.0.get(&key).ok_or("pandas does not say what it is")?;
        if let Some(at) = truth.find("cats=") {
            return categorical(&truth[at..], truth.contains("ordered=True"), pickle, array);
        }
        let expected = list(truth).ok_or_else(|| format!("there are no values in {truth:?}"))?;
        if array.len() != expected.len() {
            return Err(format!("{} values, not {}", array.len(), expected.len()));
        }
        let field = pickle.to_field("", array.data_type()).map_err(|error| error.to_string())?;
        let metadata = field.extension_type_metadata().unwrap_or_default().to_owned();
        for (row, expected) in expected.iter().enumerate() {
            same(array, row, expected, &metadata)?;
        }
        Ok(())
    }
}

/// Compares `cats=str:[…],codes=int8:[…]`: categories, codes and whether they are ordered.
fn categorical(truth: &str, is_ordered: bool, pickle: &Pickle, array: &ArrayRef) -> Result<(), String> {
    let dictionary = array.as_any_dictionary_opt().ok_or("it is no dictionary")?;
    let (categories, codes) = truth.split_once(",codes=").ok_or("there are no codes")?;
    let categories = list(categories).ok_or("there are no categories")?;
    // Of many, pandas' description has the first.
    for (row, expected) in categories.iter().enumerate() {
        same(dictionary.values(), row, expected, "")?;
    }
    let codes = codes.split_once(":[").and_then(|(_, codes)| codes.split_once(']')).map(|(codes, _)| codes);
    let codes = codes.ok_or("there are no codes")?.split(", ").filter(|code| !code.is_empty());
    let codes: Vec<i64> =
        codes.map(str::parse).collect::<Result<_, _>>().map_err(|_| "a code is no number")?;
    let keys = cast(dictionary.keys(), &DataType::Int64).map_err(|error| error.to_string())?;
    let keys: Vec<i64> = keys.as_primitive::<Int64Type>().iter().map(|key| key.unwrap_or(-1)).collect();
    if keys != codes {
        return Err(format!("codes {keys:?}, not {codes:?}"));
    }
    let field = pickle.to_field("", array.data_type()).map_err(|error| error.to_string())?;
    match field.dict_is_ordered() == Some(is_ordered) {
        true => Ok(()),
        false => Err(format!("ordered is {:?}, not {is_ordered}", field.dict_is_ordered())),
    }
}

/// The strings of the first Python list in text; brackets in names of types start none.
fn list(text: &str) -> Option<Vec<String>> {
    let start = text.find(":[").or_else(|| text.find(" ["))?;
    let mut rest = text.get(start..)?.get(2..)?;
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        let quote = match rest.chars().next()? {
            ']' => return Some(values),
            quote @ ('\'' | '"') => quote,
            _ => return None,
        };
        let (value, after) = rest.get(1..)?.split_once(quote)?;
        values.push(value.to_owned());
        rest = after;
    }
}

/// Whether a row has the value that pandas prints like this.
fn same(array: &ArrayRef, row: usize, expected: &str, metadata: &str) -> Result<(), String> {
    let differs = |found: &str| Err(format!("row {row} is {found}, not {expected}"));
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return if MISSING.contains(&expected) { Ok(()) } else { differs("null") };
    }
    let is_same = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row) == expected,
        DataType::LargeUtf8 => array.as_string::<i64>().value(row) == expected,
        DataType::Boolean => array.as_boolean().value(row) == (expected == "True"),
        DataType::Float64 => Ok(array.as_primitive::<Float64Type>().value(row)) == expected.parse(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[row];
            return same(dictionary.values(), key, expected, metadata);
        }
        DataType::Struct(_) => return interval(array, row, expected, metadata),
        DataType::Timestamp(unit, _) => number(array, row)? == instant(expected, *unit)?,
        DataType::Duration(unit) => number(array, row)? == duration(expected, *unit)?,
        _ if metadata.contains("freq") => number(array, row)? == ordinal(expected, metadata)?,
        _ => Ok(number(array, row)?) == expected.parse(),
    };
    if is_same { Ok(()) } else { differs(&format!("{:?}", array.slice(row, 1))) }
}

fn number(array: &ArrayRef, row: usize) -> Result<i64, String> {
    let number = cast(&array.slice(row, 1), &DataType::Int64).map_err(|error| error.to_string())?;
    Ok(number.as_primitive::<Int64Type>().value(0))
}

/// `[0, 1)`.
fn interval(array: &ArrayRef, row: usize, expected: &str, metadata: &str) -> Result<(), String> {
    let closed = match (expected.starts_with('['), expected.ends_with(']')) {
        (true, true) => "both",
        (true, false) => "left",
        (false, true) => "right",
        (false, false) => "neither",
    };
    if !metadata.contains(&format!("\"closed\":\"{closed}\"")) {
        return Err(format!("{metadata} is not closed {closed}"));
    }
    let (left, right) = expected.trim_matches(['[', ']', '(', ')']).split_once(", ").ok_or("no interval")?;
    let bounds = array.as_struct();
    same(bounds.column(0), row, left, "")?;
    same(bounds.column(1), row, right, "")
}

/// `2020-01-01 01:00:00+01:00` as a number since 1970 in UTC.
fn instant(text: &str, unit: TimeUnit) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no instant");
    let (date, rest) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let (clock, offset) = match rest.find(['+', '-']) {
        Some(at) => (&rest[..at], seconds(&rest[at + 1..]).ok_or_else(wrong)? * sign(&rest[at..])),
        None => (rest, 0),
    };
    let seconds = days(date).ok_or_else(wrong)? * 86_400 + seconds(clock).ok_or_else(wrong)? - offset;
    Ok(seconds * per_second(unit))
}

fn sign(offset: &str) -> i64 {
    if offset.starts_with('-') { -1 } else { 1 }
}

/// `0 days 00:00:00.001000` as a number.
fn duration(text: &str, unit: TimeUnit) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no duration");
    let (days, clock) = text.split_once(" days ").ok_or_else(wrong)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let days: i64 = days.parse().map_err(|_| wrong())?;
    let nanos: i64 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
    let whole = (days * 86_400 + seconds(clock).ok_or_else(wrong)?) * per_second(unit);
    Ok(whole + nanos / (1_000_000_000 / per_second(unit)))
}

/// The number of a period since 1970, by its text and frequency.
fn ordinal(text: &str, metadata: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no period of {metadata}");
    let frequency = metadata.split('"').nth(3).ok_or_else(wrong)?;
    let year: i64 = text.get(..4).and_then(|year| year.parse().ok()).ok_or_else(wrong)?;
    let (date, clock) = text.split_once(' ').unwrap_or((text, "00:00"));
    let day = || days(date).ok_or_else(wrong);
    let second = || Ok::<i64, String>(day()? * 86_400 + seconds(clock).ok_or_else(wrong)?);
    Ok(match frequency {
        "Y" => year - 1970,
        "Q-DEC" => {
            (year - 1970) * 4 + text.get(5..).and_then(|q| q.parse::<i64>().ok()).ok_or_else(wrong)? - 1
        }
        "M" => (year - 1970) * 12 + text.get(5..).and_then(|m| m.parse::<i64>().ok()).ok_or_else(wrong)? - 1,
        // Weeks end on Sunday; that of 1970-01-01 is the first.
        "W-SUN" => text.split_once('/').and_then(|(_, end)| Some((days(end)? + 4) / 7)).ok_or_else(wrong)?,
        "D" => day()?,
        "h" => second()? / 3_600,
        "min" => second()? / 60,
        "s" => second()?,
        _ => return Err(wrong()),
    })
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The seconds of `12:34:56` or `12:34`.
fn seconds(clock: &str) -> Option<i64> {
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    Some(hours * 3_600 + minutes * 60 + parts.next().unwrap_or(Some(0))?)
}

/// Days since 1970 of `2020-01-31`, by counting.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let years: i64 = if year >= 1970 {
        (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum()
    } else {
        -(year..1970).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<i64>()
    };
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: i64 = lengths.iter().take(usize::try_from(month - 1).ok()?).sum();
    Some(years + months + day - 1)
}
