//! What dask.distributed says of a file that it spilled.

use std::fmt::Write;

use comfy_table::Cell;
use serde_json::{Value, json};

use super::report::{MOST_ROWS, counted_bytes, more};
use crate::dask::{Spill, WireFrame, named};
use crate::text::{count, counted, number, one_line, shortened, table};

/// Lengths of frames that a person still reads.
const MOST_LENGTHS: usize = 20;

/// For people.
pub fn report(out: &mut String, spill: &Spill) {
    let header = &spill.header;
    let compressed = spill.wire_frames.iter().filter(|frame| frame.codec.is_some()).count();
    let bytes = spill.wire_frames.iter().fold(0u64, |bytes, frame| bytes.saturating_add(frame.length));
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "spilled with serializer {} and type {}: {} of {}, {} of them compressed by dask.distributed",
        shortened(named(&header.serializer), 40),
        shortened(named(&header.type_name), 80),
        counted(spill.wire_frames.len(), "wire frame", "wire frames"),
        counted_bytes(bytes),
        if compressed > 0 { count(compressed) } else { "none".to_owned() },
    );
    if spill.remainder > 0 {
        let _ = writeln!(
            out,
            "{} behind the last one, which nobody reads",
            counted_bytes(spill.remainder as u64)
        );
    }
    if !spill.wire_frames.is_empty() {
        let _ = writeln!(out, "{}", wire_frames(spill));
        more(out, spill.wire_frames.len(), MOST_ROWS, "wire frames");
    }
    if let Some(ours) = &header.ours {
        let shown: Vec<_> = ours.lengths.iter().take(MOST_LENGTHS).map(|length| count(*length)).collect();
        let _ = writeln!(
            out,
            "arrow-frames version {}, bytes of its header and {}: {}",
            ours.version,
            counted(ours.lengths.len().saturating_sub(1), "frame", "frames"),
            shown.join("; "),
        );
        more(out, ours.lengths.len(), MOST_LENGTHS, "lengths");
    }
    if spill.arrow_header().is_some() {
        let _ = writeln!(
            out,
            "what follows is the Arrow stream of which they are the parts, and counts bytes in it"
        );
    }
}

/// For programs.
pub fn document(spill: &Spill) -> Value {
    let header = &spill.header;
    let wire_frame = |frame: &WireFrame| {
        let WireFrame { position, length, codec } = frame;
        json!({ "position": position, "bytes": length, "compression": codec })
    };
    json!({
        "serializer": header.serializer,
        "type": header.type_name,
        "wire_frames": spill.wire_frames.iter().map(wire_frame).collect::<Vec<_>>(),
        "remainder": spill.remainder,
        "version": header.ours.as_ref().map(|ours| ours.version),
        "lengths": header.ours.as_ref().map(|ours| &ours.lengths),
    })
}

fn wire_frames(spill: &Spill) -> comfy_table::Table {
    let mut table = table(["wire frame", "at byte", "bytes", "compression"], &[0, 1, 2]);
    for (index, frame) in spill.wire_frames.iter().enumerate().take(MOST_ROWS) {
        table.add_row([
            number(index.to_string()),
            number(count(frame.position)),
            number(count(frame.length)),
            Cell::new(one_line(frame.codec.as_deref().unwrap_or_default())),
        ]);
    }
    table
}
