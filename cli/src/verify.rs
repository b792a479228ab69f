//! `verify`: full validation of an Arrow IPC stream or file.

use std::collections::BTreeMap;
use std::fmt::Write;

use arrow_frames::{Limits, MessageKind};
use comfy_table::Cell;
use serde_json::{Value, json};

use crate::args::VerifyArgs;
use crate::check::{self, Fault, Options, Sound};
use crate::failure::{Failure, Outcome};
use crate::format::Format;
use crate::input;
use crate::output;
use crate::text::{count, counted, number, one_line, shortened, table};

/// Runs `verify`.
pub fn run(args: &VerifyArgs) -> Outcome {
    let (format, bytes) = input::ipc_bytes(&args.file, args.from)?;
    let mut options = Options { max_copied_bytes: args.max_copied_bytes, ..Options::default() };
    if let Some(limit) = args.limit_bytes {
        let limits = Limits::default();
        options.limits =
            Limits { max_body_bytes: limit, max_expanded_bytes: limit, max_expansion: 0, ..limits };
    }
    let layout = check::layout(format, &bytes);
    let dictionaries = layout.messages.iter();
    let dictionaries = dictionaries.filter(|m| matches!(m.kind, MessageKind::Dictionary { .. })).count();
    let trailing = check::trailing(format, &bytes, &layout);
    let checked = check::check(format, &bytes, &layout, &options).and_then(|sound| match trailing {
        0 => Ok(sound),
        // What is sound is not all of it.
        _ => Err(Fault::trailing(bytes.len() - trailing, trailing).into()),
    });
    let verified = Verified {
        file: args.file.display().to_string(),
        format,
        bytes: bytes.len(),
        trailing,
        dictionaries,
        checked,
    };
    if args.json {
        output::print_json(&verified.to_json())?;
    } else if let Ok(sound) = &verified.checked {
        output::print(&verified.to_text(sound))?;
    }
    match verified.checked {
        Ok(_) => Ok(()),
        Err(fault) => Err(Failure::of_file(&args.file, fault)),
    }
}

struct Verified {
    file: String,
    format: Format,
    bytes: usize,
    trailing: usize,
    dictionaries: usize,
    checked: Result<Sound, Box<Fault>>,
}

impl Verified {
    fn to_text(&self, sound: &Sound) -> String {
        let df = &sound.df;
        let mut out = format!(
            "{}: sound: {} of {} rows × {} in {}",
            one_line(&self.file),
            self.format.description(),
            count(df.num_rows()),
            counted(df.num_columns(), "column", "columns"),
            counted(df.batches().len(), "batch", "batches"),
        );
        // Writing to a string cannot fail.
        if self.dictionaries > 0 {
            let dictionaries = counted(self.dictionaries, "dictionary message", "dictionary messages");
            let _ = write!(out, " and {dictionaries}");
        }
        let _ = writeln!(
            out,
            "; {} with {} bytes, of which decoding copied {}",
            counted(sound.frames, "frame", "frames"),
            count(sound.frame_bytes),
            count(sound.copies.total()),
        );
        if sound.copies.total() > 0 {
            let _ = writeln!(out, "{}", copies_table(sound));
        }
        out
    }

    fn to_json(&self) -> Value {
        let sound = self.checked.as_ref().ok();
        let copies = sound.map(|sound| {
            let copy = |copied: arrow_frames::Copied| {
                json!({
                    "column": copied.column,
                    "name": column_name(sound, copied.column),
                    "reason": copied.reason.to_string(),
                    "bytes": copied.bytes,
                })
            };
            sound.copies.iter().map(copy).collect::<Vec<_>>()
        });
        json!({
            "file": self.file,
            "format": self.format.form(),
            "bytes": self.bytes,
            "trailing_bytes": self.trailing,
            "sound": sound.is_some(),
            "error": self.checked.as_ref().err().map(|fault| fault.to_json()),
            "rows": sound.map(|sound| sound.df.num_rows()),
            "columns": sound.map(|sound| sound.df.num_columns()),
            "batches": sound.map(|sound| sound.df.batches().len()),
            "dictionary_messages": self.dictionaries,
            "frames": sound.map(|sound| sound.frames),
            "frame_bytes": sound.map(|sound| sound.frame_bytes),
            "copied_bytes": sound.map(|sound| sound.copies.total()),
            "copies": copies,
        })
    }
}

/// Why bytes were copied, most first: by reason, with the column that has most of it.
fn copies_table(sound: &Sound) -> comfy_table::Table {
    let mut reasons: BTreeMap<String, (u64, usize, u64)> = BTreeMap::new();
    for copied in sound.copies.iter() {
        let (total, column, most) = reasons.entry(copied.reason.to_string()).or_default();
        *total += copied.bytes;
        if copied.bytes > *most {
            (*column, *most) = (copied.column, copied.bytes);
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (total, ..))| std::cmp::Reverse(*total));
    let mut table = table(["copied for", "bytes", "most of it in column"], &[1]);
    for (reason, (total, column, _)) in reasons {
        let column = shortened(&column_name(sound, column), 40);
        table.add_row([Cell::new(reason), number(count(total)), Cell::new(column)]);
    }
    table
}

fn column_name(sound: &Sound, column: usize) -> String {
    sound.df.schema().fields().get(column).map(|field| field.name().clone()).unwrap_or_default()
}
