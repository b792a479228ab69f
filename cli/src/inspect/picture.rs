//! A body drawn to scale: one line of blocks, one pattern per column in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use arrow_frames::{BufferLayout, MessageLayout};

use crate::text;

/// Patterns of neighbouring columns, each unlike the next.
const PATTERNS: [char; 4] = ['█', '▒', '▓', '░'];

/// A cell that is mostly padding.
const PADDING: char = '·';

/// The bar of a message's body, the numbers of its columns beneath, and their legend.
pub fn picture(message: &MessageLayout, name: impl Fn(usize) -> String, width: usize) -> String {
    let cells = cells(message, width);
    let mut out = String::with_capacity(4 * width);
    out.extend(cells.iter().map(|cell| cell.map_or(PADDING, pattern)));
    out.push('\n');
    out.push_str(labels(&cells).trim_end());
    out.push('\n');
    out.push_str(&legend(message, &cells, name, width));
    out
}

fn pattern(column: usize) -> char {
    PATTERNS.get(column % PATTERNS.len()).copied().unwrap_or(PADDING)
}

/// For each cell, the column that has most of its bytes; `None` if padding has.
fn cells(message: &MessageLayout, width: usize) -> Vec<Option<usize>> {
    let length = message.body_bytes;
    let width = width.max(1) as u64;
    // The shares of each cell by column: few, since a cell is narrow.
    let mut shares: Vec<Vec<(usize, u64)>> = vec![Vec::new(); width as usize];
    // Cell `i` covers the bytes from `i × length / width` on.
    let edge = |cell: u64| (u128::from(cell) * u128::from(length) / u128::from(width)) as u64;
    for buffer in message.buffers.iter().filter(|buffer| buffer.length > 0) {
        let end = buffer.offset.saturating_add(buffer.length).min(length);
        let mut cell = cell_of(buffer.offset, length, width);
        while cell < width && edge(cell) < end {
            let bytes = end.min(edge(cell + 1)).saturating_sub(buffer.offset.max(edge(cell)));
            if let Some(shares) = shares.get_mut(cell as usize) {
                match shares.iter_mut().find(|(column, _)| *column == buffer.column) {
                    Some((_, share)) => *share = share.saturating_add(bytes),
                    None => shares.push((buffer.column, bytes)),
                }
            }
            cell += 1;
        }
    }
    let most = |(cell, shares): (usize, Vec<(usize, u64)>)| {
        let cell = cell as u64;
        let used = shares.iter().fold(0u64, |used, (_, bytes)| used.saturating_add(*bytes));
        let padding = (edge(cell + 1) - edge(cell)).saturating_sub(used);
        let (column, bytes) = shares.into_iter().max_by_key(|(_, bytes)| *bytes)?;
        (bytes > 0 && bytes >= padding).then_some(column)
    };
    shares.into_iter().enumerate().map(most).collect()
}

/// The last cell that starts at or before a byte.
fn cell_of(byte: u64, length: u64, width: u64) -> u64 {
    if length == 0 {
        return 0;
    }
    let cell = u128::from(byte) * u128::from(width) / u128::from(length);
    // The edges are rounded down, so the cell may start a byte after this one.
    u64::try_from(cell).unwrap_or(u64::MAX).min(width - 1)
}

/// The number of each column where its run of cells starts, if it fits there.
fn labels(cells: &[Option<usize>]) -> String {
    let mut out = String::new();
    let mut start = 0;
    for run in cells.chunk_by(|left, right| left == right) {
        if let Some(Some(column)) = run.first() {
            let label = number(*column);
            if label.len() <= run.len() {
                let _ = write!(out, "{:1$}{label}", "", start - out.len());
            }
        }
        start += run.len();
    }
    out
}

/// The number of a column; an object that is no column has none.
fn number(column: usize) -> String {
    if column == BufferLayout::OF_OBJECT { "–".to_owned() } else { column.to_string() }
}

/// Each column that can be seen with its share, as many per line as fit.
fn legend(
    message: &MessageLayout,
    cells: &[Option<usize>],
    name: impl Fn(usize) -> String,
    width: usize,
) -> String {
    let mut bytes: BTreeMap<usize, u64> = BTreeMap::new();
    for buffer in message.buffers.iter().filter(|buffer| buffer.length > 0) {
        let bytes = bytes.entry(buffer.column).or_default();
        *bytes = bytes.saturating_add(buffer.length);
    }
    let seen: BTreeSet<usize> = cells.iter().flatten().copied().collect();
    let mut entries: Vec<String> = Vec::new();
    for column in &seen {
        let bytes = bytes.get(column).copied().unwrap_or_default();
        let share = bytes as f64 * 100.0 / message.body_bytes.max(1) as f64;
        let name = text::shortened(&name(*column), 30);
        entries.push(format!("{} {} {name} {share:.1} %", pattern(*column), number(*column)));
    }
    match bytes.len().saturating_sub(seen.len()) {
        0 => {}
        1 => entries.push("1 column is too small to see".to_owned()),
        more => entries.push(format!("{} columns are too small to see", text::count(more))),
    }
    lines(&entries, width)
}

/// Entries side by side, three spaces apart.
fn lines(entries: &[String], width: usize) -> String {
    const GAP: usize = 3;
    let mut out = String::new();
    let mut line = 0;
    for entry in entries {
        let length = entry.chars().count();
        if line > 0 && line + GAP + length > width {
            out.push('\n');
            line = 0;
        } else if line > 0 {
            out.push_str(&" ".repeat(GAP));
            line += GAP;
        }
        out.push_str(entry);
        line += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use arrow_frames::{BufferLayout, MessageKind, Part};

    use super::*;

    fn message(body_bytes: u64, buffers: &[(usize, u64, u64)]) -> MessageLayout {
        let buffer = |&(column, offset, length): &(usize, u64, u64)| BufferLayout {
            column,
            part: Part::Values,
            offset,
            length,
        };
        MessageLayout {
            kind: MessageKind::Batch,
            position: 0,
            metadata_bytes: 64,
            body_bytes,
            rows: 1,
            compression: None,
            metadata: Default::default(),
            buffers: buffers.iter().map(buffer).collect(),
        }
    }

    fn drawn(message: &MessageLayout, width: usize) -> Vec<String> {
        let picture = picture(message, |column| format!("c{column}"), width);
        picture.lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_have_their_share() {
        let message = message(1_000, &[(0, 0, 250), (1, 250, 500), (2, 750, 250)]);
        let lines = drawn(&message, 40);
        assert_eq!(lines[0], ["█".repeat(10), "▒".repeat(20), "▓".repeat(10)].concat());
        assert_eq!(lines[1], "0         1                   2");
        assert_eq!(lines[2], "█ 0 c0 25.0 %   ▒ 1 c1 50.0 %");
        assert_eq!(lines[3], "▓ 2 c2 25.0 %");
    }

    #[test]
    fn padding_shows_where_it_is_most() {
        let lines = drawn(&message(128, &[(0, 0, 8), (5, 64, 64)]), 16);
        assert_eq!(lines[0], "█·······▒▒▒▒▒▒▒▒");
        assert_eq!(lines[1], "0       5");
    }

    #[test]
    fn any_size_fits() {
        for body in [0, 1, 7, 64, u64::MAX] {
            for width in [1, 7, 100] {
                let message = message(body, &[(0, 0, body / 2), (11, body / 2, body - body / 2)]);
                assert_eq!(drawn(&message, width)[0].chars().count(), width);
            }
        }
        // What overlaps or lies outside must not break the picture of what is sound.
        let lines = drawn(&message(100, &[(0, 90, u64::MAX), (1, 0, 200), (2, 500, 1)]), 10);
        assert_eq!(lines[0].chars().count(), 10);
    }
}
