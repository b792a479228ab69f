//! The codec's part of `docs/PERFORMANCE.md`.

use std::fmt::Write;

use super::measure::Row;
use super::{NOISE, is_missed, target};
use crate::performance::machine::Machine;
use crate::performance::time;

/// The text: `page.md` with the figures of a run in it.
pub fn markdown(rows: &[Row], machine: &Machine) -> String {
    include_str!("page.md")
        .replace("{machine}", &machine.text())
        .replace("{no gain}", &no_gain(rows))
        .replace("{tables}", &tables(rows))
}

fn no_gain(rows: &[Row]) -> String {
    let mut list = String::new();
    for row in rows.iter().filter(|row| row.ratio >= 1.0 - NOISE) {
        let _ = writeln!(list, "- {}, {}: {:.2}", row.data, row.job, row.ratio);
    }
    if list.is_empty() { "None in this run.".to_owned() } else { list.trim_end().to_owned() }
}

fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for section in rows.chunk_by(|a, b| a.data == b.data) {
        let _ = write!(text, "### {}\n\n", section[0].data);
        text.push_str("| job | arrow-frames | arrow-ipc | peer | ratio | target | instructions |\n");
        text.push_str("|---|---:|---:|---|---:|---:|---:|\n");
        for row in section {
            let missed = if is_missed(row) { " (missed)" } else { "" };
            let target = target(row).map_or(String::new(), |target| format!("≤ {target}"));
            let instructions = row.instructions.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | `{}` | **{:.2}**{missed} | {target} | {instructions} |",
                row.job,
                time(row.ours),
                time(row.theirs),
                row.peer,
                row.ratio,
            );
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}
