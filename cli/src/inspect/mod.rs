//! `inspect`: what lies where in an Arrow IPC stream or file.

mod dask;
mod json;
mod pickle;
mod picture;
mod report;

use std::path::Path;
use std::sync::Arc;

use arrow_frames::{BufferLayout, Layout, MessageLayout};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use serde_json::Value;

use crate::args::InspectArgs;
use crate::check::{self, Options};
use crate::dask::Spill;
use crate::failure::{Failure, Outcome};
use crate::format::Format;
use crate::input;
use crate::output;

/// Runs `inspect`.
pub fn run(args: &InspectArgs) -> Outcome {
    if pickle::is_pickle(&args.file) {
        return pickle::run(args);
    }
    let (format, bytes) = input::ipc_bytes(&args.file, args.from)?;
    let inspected = Inspected::new(&args.file, format, bytes);
    if args.json {
        output::print_json(&json::document(&inspected))?;
    } else {
        output::print(&report::report(&inspected))?;
    }
    match inspected.problem {
        None => Ok(()),
        Some(problem) => Err(Failure::of_file(&args.file, problem)),
    }
}

/// What was found.
struct Inspected {
    file: String,
    format: Format,
    length: u64,
    /// Bytes behind its end.
    trailing: usize,
    layout: Layout,
    /// What dask.distributed says of it, if it is a spill file that can be taken apart.
    spill: Option<Spill>,
    /// Of each column, the frames in all messages and their bytes.
    totals: Vec<(usize, u64)>,
    /// Why it does not decode, if it does not.
    problem: Option<String>,
}

impl Inspected {
    fn new(path: &Path, format: Format, bytes: Bytes) -> Inspected {
        let spill = if format == Format::Dask { Spill::parse(&bytes).ok() } else { None };
        let layout = check::layout(format, &bytes);
        let checked = check::check(format, &bytes, &layout, &Options::default());
        let problem = checked.err().map(|fault| fault.to_string());
        let length = bytes.len() as u64;
        let totals = totals(&layout);
        let trailing = check::trailing(format, &bytes, &layout);
        Inspected {
            file: path.display().to_string(),
            format,
            length,
            trailing,
            layout,
            spill,
            totals,
            problem,
        }
    }

    /// Whether its frames were not looked at: it is not ours, or dask.distributed compressed them.
    fn is_unread(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.frames().is_err())
    }

    /// The schema's fields.
    fn fields(&self) -> &[Arc<Field>] {
        self.layout.schema.as_ref().map_or(&[], |schema| schema.fields())
    }

    /// The name of a column, of no column: empty.
    fn column_name(&self, column: usize) -> &str {
        if column == BufferLayout::OF_OBJECT {
            return "the object";
        }
        self.fields().get(column).map_or("", |field| field.name())
    }
}

fn totals(layout: &Layout) -> Vec<(usize, u64)> {
    let columns = layout.schema.as_ref().map_or(0, |schema| schema.fields().len());
    let mut totals = vec![(0usize, 0u64); columns];
    for buffer in layout.messages.iter().flat_map(|message| &message.buffers) {
        if let Some((frames, bytes)) = totals.get_mut(buffer.column)
            && buffer.length > 0
        {
            *frames += 1;
            *bytes = bytes.saturating_add(buffer.length);
        }
    }
    totals
}

/// A buffer and where it lies.
struct Placed<'a> {
    buffer: &'a BufferLayout,
    /// Its first byte in the file.
    position: u64,
    /// Bytes from its end to the next one, or to the end of the body; `None` if it is
    /// empty, or if the next one starts before it ends.
    padding: Option<u64>,
}

impl Placed<'_> {
    /// The largest power of two that its position is a multiple of, up to a page.
    fn alignment(&self) -> u64 {
        const PAGE: u32 = 12;
        1 << self.position.trailing_zeros().min(PAGE)
    }
}

/// The buffers of a message. Empty ones lie anywhere, and end no padding.
fn placed(message: &MessageLayout) -> impl Iterator<Item = Placed<'_>> {
    let body = message.position.saturating_add(message.metadata_bytes);
    let starts = message.buffers.iter().filter(|buffer| buffer.length > 0).map(|buffer| buffer.offset);
    let mut starts = starts.chain(std::iter::once(message.body_bytes)).skip(1);
    message.buffers.iter().map(move |buffer| {
        let next = if buffer.length > 0 { starts.next() } else { None };
        let end = buffer.offset.saturating_add(buffer.length);
        let position = body.saturating_add(buffer.offset);
        Placed { buffer, position, padding: next.and_then(|next| next.checked_sub(end)) }
    })
}

/// The sender's name of the type of an opaque column.
fn opaque_type(field: &Field) -> Option<String> {
    let note = field.metadata().get("arrow_frames").filter(|_| *field.data_type() == DataType::Null)?;
    let note: Value = serde_json::from_str(note).ok()?;
    Some(note.get("type_name")?.as_str()?.to_owned())
}
