//! Numbers, times and names for people.

use std::fmt::Write;
use std::time::Duration;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table};

/// A count with its thousands apart: `60,000`.
pub fn count(number: impl TryInto<u128>) -> String {
    let digits = number.try_into().unwrap_or_default().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and its noun: `1 batch`, `3 batches`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A time with three digits that count.
pub fn duration(time: Duration) -> String {
    let nanos = time.as_nanos() as f64;
    let (value, unit) = match nanos {
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let decimals = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// Text from data, safe for a terminal and for a line.
pub fn one_line(text: &str) -> String {
    for_terminal(&text.trim_end().replace('\n', " "))
}

/// Text that may be from data, in lines: what a terminal would act on is escaped.
pub fn for_terminal(text: &str) -> String {
    escape(text, |char, out| out.extend(char.escape_default()))
}

/// JSON that may be shown on a terminal: what it would act on is escaped as JSON does it. Such
/// characters are in strings alone.
pub fn json_for_terminal(json: &str) -> String {
    escape(json, |char, out| {
        for unit in char.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Escapes what a terminal acts on, but the ends of lines.
fn escape(text: &str, escaped: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if char != '\n' && is_acted_on(char) {
            escaped(char, &mut out);
        } else {
            out.push(char);
        }
    }
    out
}

/// [`one_line`], cut to about so many characters.
pub fn shortened(text: &str, width: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(width) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

/// A table as every subcommand prints it, which fits itself to a terminal; these columns
/// hold numbers, which are never broken.
pub fn table<'a>(header: impl IntoIterator<Item = &'a str>, numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED.with_rounded_corners());
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    for index in numbers {
        if let Some(column) = table.column_mut(*index) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// The width of the terminal on stdout, if it is one.
pub fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// A cell that holds a number.
pub fn number(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

/// Characters that a terminal does not show but act on: the control characters (C0, DEL and C1),
/// those that separate lines, and those that turn the direction of text around, which could make
/// a name look like another.
fn is_acted_on(char: char) -> bool {
    let is_direction = matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') || is_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        let shown = [0u64, 7, 999, 1_000, 60_000, 1_234_567].map(count);
        assert_eq!(shown, ["0", "7", "999", "1,000", "60,000", "1,234,567"]);
        assert_eq!(counted(1, "batch", "batches"), "1 batch");
        assert_eq!(counted(2_000, "batch", "batches"), "2,000 batches");
    }

    #[test]
    fn durations_have_three_digits() {
        let shown =
            [0, 1_500, 12_345, 999_400, 1_234_567, 45_000_000, 3_210_000_000].map(Duration::from_nanos);
        assert_eq!(
            shown.map(duration),
            ["0.00 µs", "1.50 µs", "12.3 µs", "999 µs", "1.23 ms", "45.0 ms", "3.21 s"]
        );
    }

    #[test]
    fn json_says_the_same_escaped() {
        let all: String = ('\0'..='\u{ffff}').chain(['🦀']).collect();
        let json = serde_json::json!({ &all: [&all] });
        let escaped = json_for_terminal(&json.to_string());
        assert!(!escaped.contains(is_acted_on));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), json);
        assert!(escaped.contains("\\u009b") && escaped.contains("\\u202e") && escaped.contains('🦀'));
    }

    #[test]
    fn text_stays_on_its_line() {
        assert_eq!(one_line("two\nlines\n"), "two lines");
        assert_eq!(one_line("red \u{1b}[31m\rnot"), "red \\u{1b}[31m\\rnot");
        assert_eq!(one_line("\u{7f}\u{9b}1m\u{202e}\u{2028}x"), "\\u{7f}\\u{9b}1m\\u{202e}\\u{2028}x");
        assert_eq!(for_terminal("two\nlines \u{85}\n"), "two\nlines \\u{85}\n");
        assert_eq!(shortened("departure", 5), "depar…");
        assert_eq!(shortened("größe", 5), "größe");
    }
}
