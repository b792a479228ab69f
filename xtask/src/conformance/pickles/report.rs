//! The table of what came of each pickle.

use std::collections::BTreeMap;

use comfy_table::{Table, presets};

use super::super::report::push_line;
use super::{Group, Outcome, Row};
use crate::table;

/// Prints the table, what is not as expected, and the worst time and memory.
pub fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(HEADER);
    for counts in counts(rows) {
        table.add_row(counts);
    }
    table::align_right(&mut table, 1..HEADER.len());
    println!("{table}");
    for row in rows.iter().filter(|row| !row.is_right()) {
        println!("MISSED {}: {}", row.path, row.faults.join("; "));
    }
    let most = |number: fn(&Row) -> Option<u64>| rows.iter().filter_map(number).max().unwrap_or_default();
    println!("attacks: at most {} ms and {} KiB", most(|row| row.millis), most(|row| row.kib));
}

/// The section of the document. It has nothing that differs from run to run.
pub fn markdown(rows: &[Row]) -> String {
    let mut out = String::from(INTRODUCTION);
    push_line(&mut out, HEADER.map(str::to_owned));
    push_line(&mut out, HEADER.map(|name| if name == HEADER[0] { "---" } else { "--:" }.to_owned()));
    for counts in counts(rows) {
        push_line(&mut out, counts);
    }
    out.push_str("\nEach form, by name, is read as:\n\n");
    push_line(&mut out, ["form", "array, or what it is called"].map(str::to_owned));
    push_line(&mut out, ["---"; 2].map(str::to_owned));
    let mut forms: BTreeMap<&str, String> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.group == Group::Vector) {
        let name = row.path.rsplit('/').next().unwrap_or_default();
        let name = name.split_once('.').map_or(name, |(name, _)| name);
        forms.insert(name, shown(row));
    }
    for (form, shown) in forms {
        push_line(&mut out, [format!("`{form}`"), shown]);
    }
    out.push_str("\nEach attack is refused:\n\n");
    push_line(&mut out, ["file", "error"].map(str::to_owned));
    push_line(&mut out, ["---"; 2].map(str::to_owned));
    for row in rows.iter().filter(|row| row.group == Group::Attack) {
        let name = row.path.rsplit('/').next().unwrap_or_default();
        push_line(&mut out, [format!("`{name}`"), shown(row)]);
    }
    out
}

const HEADER: [&str; 6] = ["folder", "pickles", "as expected", "arrays", "opaque", "refused"];

const INTRODUCTION: &str = "
## Pickles

What the restricted reader made of a folder of pickles, `DIR/pickle`: the forms that this
crate writes, put together by hand, with their buffers writable, read-only and in the pickle
(`vectors`), pandas' own pickles of three versions (`natural`), and harmful ones (`attacks`).

Every form may be given to Python, and is the Arrow array that its name says, with the values
that pandas 3.1 shows for it; or it has no Arrow type, and stays opaque. Cut at any byte, or
with any byte replaced by one of five others, it is an error or a value. Every pickle of
pandas' own parses, and those of arrays are read, with buffers inside and outside the pickle
as the same. Attacks are read in a process of their own: an error in less than a second and in
less than 64 MiB beyond the file's own size.

";

fn shown(row: &Row) -> String {
    match &row.outcome {
        _ if !row.is_right() => format!("**{}**", row.faults.join("; ")),
        Outcome::Array(data_type) => format!("`{data_type}`"),
        Outcome::Opaque(description) => format!("opaque: {description}"),
        Outcome::Refused(error) => error.clone(),
    }
}

/// A line per folder: its name, then numbers.
fn counts(rows: &[Row]) -> Vec<[String; 6]> {
    let mut folders: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let folder = row.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder).or_default().push(row);
    }
    let line = |name: &str, rows: &[&Row]| {
        let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count().to_string();
        [
            name.to_owned(),
            rows.len().to_string(),
            count(&Row::is_right),
            count(&|row| matches!(row.outcome, Outcome::Array(_))),
            count(&|row| matches!(row.outcome, Outcome::Opaque(_))),
            count(&|row| matches!(row.outcome, Outcome::Refused(_))),
        ]
    };
    let mut lines: Vec<_> = folders.iter().map(|(name, rows)| line(name, rows)).collect();
    lines.push(line("all", &rows.iter().collect::<Vec<_>>()));
    lines
}
