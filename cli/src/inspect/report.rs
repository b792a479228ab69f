//! What was found, for people.

use std::fmt::Write;

use arrow_frames::{MessageKind, MessageLayout};
use arrow_schema::Metadata;
use comfy_table::{Cell, Table};

use super::picture::picture;
use super::{Inspected, dask, opaque_type, placed};
use crate::text::{count, counted, number, one_line, shortened, table, terminal_width};

/// As wide as a picture gets.
const MOST_WIDTH: usize = 100;

/// Rows of a table, and pictures, that a person still reads; `--json` has all.
pub const MOST_ROWS: usize = 200;
const MOST_PICTURES: usize = 8;

/// Characters of a metadata value.
const METADATA_WIDTH: usize = 60;

/// The whole report.
pub fn report(inspected: &Inspected) -> String {
    let mut out = String::new();
    let messages = &inspected.layout.messages;
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: {} of {}, {}",
        one_line(&inspected.file),
        inspected.format.description(),
        counted_bytes(inspected.length),
        counted(messages.len(), "message", "messages"),
    );
    if let Some(spill) = &inspected.spill {
        dask::report(&mut out, spill);
    } else if inspected.trailing > 0 {
        let trailing = counted_bytes(inspected.trailing as u64);
        let _ = writeln!(out, "{trailing} behind its end, which no reader looks at");
    }
    if let Some(schema) = &inspected.layout.schema {
        metadata(&mut out, "metadata of the schema", schema.metadata());
        if !inspected.fields().is_empty() {
            let _ = writeln!(out, "{}", columns(inspected));
            more(&mut out, inspected.fields().len(), MOST_ROWS, "columns");
        }
    }
    if !messages.is_empty() {
        let _ = writeln!(out, "{}", message_table(messages));
        more(&mut out, messages.len(), MOST_ROWS, "messages");
    }
    for (index, message) in messages.iter().enumerate().take(MOST_ROWS) {
        metadata(&mut out, &format!("metadata of message {index}"), &message.metadata);
    }
    let (frames, all) = frames(inspected);
    if all > 0 {
        let _ = writeln!(out, "{frames}");
        more(&mut out, all, MOST_ROWS, "frames");
    }
    pictures(&mut out, inspected);
    let _ = match &inspected.problem {
        None => writeln!(out, "sound: it decodes, and every value is valid"),
        Some(problem) if inspected.is_unread() => writeln!(out, "not read: {}", one_line(problem)),
        Some(problem) => {
            let sound = counted(messages.len(), "message is", "messages are");
            writeln!(out, "not sound, {sound} laid out above: {}", one_line(problem))
        }
    };
    out
}

fn columns(inspected: &Inspected) -> Table {
    let mut table =
        table(["", "column", "type", "nullable", "travels", "frames", "bytes", "metadata"], &[0, 5, 6]);
    let fields = inspected.fields().iter().zip(&inspected.totals);
    for (index, (field, (frames, bytes))) in fields.enumerate().take(MOST_ROWS) {
        let opaque = opaque_type(field);
        let travels = if opaque.is_some() { "opaque" } else { "native" };
        let mut data_type = opaque.unwrap_or_else(|| field.data_type().to_string());
        if field.dict_is_ordered() == Some(true) {
            data_type.push_str(", ordered");
        }
        let keys = field.metadata().keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        table.add_row([
            number(index.to_string()),
            Cell::new(shortened(field.name(), 40)),
            Cell::new(shortened(&data_type, 60)),
            Cell::new(if field.is_nullable() { "yes" } else { "no" }),
            Cell::new(travels),
            number(count(*frames)),
            number(count(*bytes)),
            Cell::new(shortened(&keys, METADATA_WIDTH)),
        ]);
    }
    table
}

fn message_table(messages: &[MessageLayout]) -> Table {
    let header = ["", "message", "at byte", "rows", "metadata", "body", "padding", "frames", "compression"];
    let mut table = table(header, &[0, 2, 3, 4, 5, 6, 7]);
    for (index, message) in messages.iter().enumerate().take(MOST_ROWS) {
        let frames = message.buffers.iter().filter(|buffer| buffer.length > 0);
        let bytes = frames.clone().fold(0u64, |bytes, frame| bytes.saturating_add(frame.length));
        let rows = match message.kind {
            MessageKind::Schema => String::new(),
            _ => count(message.rows),
        };
        table.add_row([
            number(index.to_string()),
            Cell::new(kind(message)),
            number(count(message.position)),
            number(rows),
            number(count(message.metadata_bytes)),
            number(count(message.body_bytes)),
            number(count(message.body_bytes.saturating_sub(bytes))),
            number(count(frames.count())),
            Cell::new(message.compression.unwrap_or_default()),
        ]);
    }
    table
}

/// The frames of all messages, and how many there are.
fn frames(inspected: &Inspected) -> (Table, usize) {
    let header = ["", "column", "", "at byte", "bytes", "padding", "aligned"];
    let mut table = table(header, &[0, 3, 4, 5, 6]);
    let mut all = 0;
    for (index, message) in inspected.layout.messages.iter().enumerate() {
        for frame in placed(message).filter(|frame| frame.buffer.length > 0) {
            all += 1;
            if all > MOST_ROWS {
                continue;
            }
            let name = inspected.column_name(frame.buffer.column);
            table.add_row([
                number(index.to_string()),
                Cell::new(shortened(name, 40)),
                Cell::new(frame.buffer.part),
                number(count(frame.position)),
                number(count(frame.buffer.length)),
                number(frame.padding.map_or_else(|| "overlaps".to_owned(), count)),
                number(count(frame.alignment())),
            ]);
        }
    }
    (table, all)
}

fn pictures(out: &mut String, inspected: &Inspected) {
    let width = terminal_width().unwrap_or(MOST_WIDTH).min(MOST_WIDTH);
    let batches = inspected.layout.messages.iter().enumerate();
    let batches = batches.filter(|(_, m)| m.kind == MessageKind::Batch && m.body_bytes > 0);
    let mut all = 0;
    for (index, message) in batches {
        all += 1;
        if all > MOST_PICTURES {
            continue;
        }
        let scale = message.body_bytes as f64 / width as f64;
        let _ = writeln!(
            out,
            "message {index}: {} rows, a body of {}; one character is {}",
            count(message.rows),
            counted_bytes(message.body_bytes),
            if scale < 10.0 { format!("{scale:.1} bytes") } else { counted_bytes(scale as u64) },
        );
        out.push_str(&picture(message, |column| inspected.column_name(column).to_owned(), width));
        out.push('\n');
    }
    more(out, all, MOST_PICTURES, "bodies");
}

fn kind(message: &MessageLayout) -> String {
    match message.kind {
        MessageKind::Schema => "schema".to_owned(),
        MessageKind::Dictionary { id, is_delta: false } => format!("dictionary {id}"),
        MessageKind::Dictionary { id, is_delta: true } => format!("dictionary {id}, delta"),
        MessageKind::Batch => "record batch".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn metadata(out: &mut String, of: &str, metadata: &Metadata) {
    if metadata.is_empty() {
        return;
    }
    let _ = writeln!(out, "{of}:");
    for (key, value) in metadata {
        let _ = writeln!(out, "  {}: {}", shortened(key, 40), shortened(value, METADATA_WIDTH));
    }
}

/// Says what a table or a list leaves out.
pub fn more(out: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let _ = writeln!(out, "… and {} more {what}; --json has all", count(all - shown));
    }
}

/// A number of bytes, with its noun.
pub fn counted_bytes(bytes: u64) -> String {
    format!("{} {}", count(bytes), if bytes == 1 { "byte" } else { "bytes" })
}
