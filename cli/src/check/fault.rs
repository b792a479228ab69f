//! What is wrong and where: message, column, buffer, byte.

use std::fmt;

use arrow_frames::{Decoder, Error, ErrorKind, Frames, Layout, MessageKind, MessageLayout, Part};
use serde_json::{Value, json};

use crate::dask::Problem;
use crate::text;

/// What is wrong, and as much of the place as is known.
#[derive(Debug, Default)]
pub struct Fault {
    what: String,
    whose: &'static str,
    message: Option<Message>,
    column: Option<String>,
    row: Option<u64>,
    part: Option<Part>,
    buffer: Option<usize>,
    /// From the start of the stream or file: where the buffer or the number lies.
    byte: Option<u64>,
}

#[derive(Debug)]
struct Message {
    index: usize,
    /// What it is, if it can be read.
    kind: Option<&'static str>,
}

impl Fault {
    /// The fault that an error names.
    pub fn of_error(error: &Error) -> Fault {
        let mut fault = Fault { what: error.to_string(), whose: whose(error), ..Fault::default() };
        fault.read(error.kind());
        fault
    }

    /// Why there are no frames in a spill file.
    pub fn of_spill(problem: &Problem) -> Fault {
        match problem {
            Problem::Frames(error) => Fault::of_error(error),
            _ => Fault {
                what: problem.to_string(),
                whose: if matches!(problem, Problem::HeaderLimit { .. }) { "limit" } else { "input" },
                byte: problem.position(),
                ..Fault::default()
            },
        }
    }

    /// The fault at which a layout ends.
    pub fn of_layout(layout: &Layout, error: &Error) -> Fault {
        let mut fault = Fault::of_error(error);
        // Before the first message, the fault is the file's own.
        if !layout.messages.is_empty() || !matches!(error.kind(), ErrorKind::NotAFile { .. }) {
            fault.message = Some(Message { index: layout.messages.len(), kind: None });
        }
        if let ErrorKind::Truncated { part: Part::Body, .. } = error.kind() {
            // The message itself could be read.
            let last = layout.messages.last().map(|last| kind(last.kind));
            fault.message = Some(Message { index: layout.messages.len().saturating_sub(1), kind: last });
        }
        fault
    }

    /// Input that ends between two messages.
    pub fn unfinished(layout: &Layout) -> Fault {
        let messages = layout.messages.len();
        let after = text::counted(messages, "message", "messages");
        Fault {
            what: format!("it ends after {after}, without the end-of-stream marker: it was cut there"),
            whose: "input",
            ..Fault::default()
        }
    }

    /// Bytes behind the end, which starts there.
    pub fn trailing(end: usize, count: usize) -> Fault {
        let bytes = text::counted(count, "byte follows", "bytes follow");
        Fault {
            what: format!("{bytes} its end at byte {}, and no reader looks at them", text::count(end)),
            whose: "input",
            part: Some(Part::End),
            byte: Some(end as u64),
            ..Fault::default()
        }
    }

    /// The fault that decoding these frames, which lie in `bytes`, runs into.
    ///
    /// The messages are decoded one by one until the error comes again.
    pub fn find(error: &Error, frames: &Frames, bytes: &[u8], mut decoder: Decoder) -> Fault {
        let mut fault = Fault::of_error(error);
        // The error's position counts in the header.
        fault.byte = None;
        let layout = Layout::of_frames(frames);
        let mut buffers = frames.buffers();
        for (index, message) in layout.messages.iter().enumerate() {
            let in_body = message.buffers.iter().filter(|buffer| buffer.length > 0).count();
            let Some((own, rest)) = buffers.split_at_checked(in_body) else { break };
            buffers = rest;
            let Some(header) = header(frames, message) else { break };
            if decoder.decode(Frames::new(header, own.to_vec())).is_ok() {
                continue;
            }
            fault.message = Some(Message { index, kind: Some(kind(message.kind)) });
            fault.find_buffer(&layout, message);
            if let Some(buffer) = fault.buffer {
                let before = message.buffers.iter().take(buffer).filter(|buffer| buffer.length > 0).count();
                let frame = own.get(before).map(|frame| frame.as_ptr().addr());
                fault.byte =
                    frame.and_then(|address| address.checked_sub(bytes.as_ptr().addr())).map(|b| b as u64);
            }
            break;
        }
        fault
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "what": self.what,
            "fault": self.whose,
            "message": self.message.as_ref().map(|message| message.index),
            "kind": self.message.as_ref().and_then(|message| message.kind),
            "column": self.column,
            "row": self.row,
            "part": self.part.map(|part| part.to_string()),
            "buffer": self.buffer,
            "byte": self.byte,
        })
    }

    /// Takes over what an error knows of the place.
    fn read(&mut self, kind: &ErrorKind) {
        use ErrorKind::*;
        match kind {
            Truncated { part, position, .. } | BadNumber { part, position, .. } => {
                (self.part, self.byte) = (Some(*part), Some(*position));
            }
            NotAFile { position }
            | Flatbuffer { position, .. }
            | MetadataVersion { position, .. }
            | LegacyCompression { position }
            | UnexpectedMessage { position, .. }
            | SchemaMissing { position }
            | SchemaRepeated { position }
            | UnknownCodec { position, .. } => self.byte = Some(*position),
            BufferOutside { column, buffer, .. } | Compressed { column, buffer, .. } => {
                self.column = named(column);
                self.buffer = Some(*buffer);
            }
            BufferLength { column, part, .. } | Count { column, part, .. } => {
                (self.column, self.part) = (named(column), Some(*part));
            }
            NullCount { column, .. } => (self.column, self.part) = (named(column), Some(Part::Validity)),
            Offsets { column, row, .. } => self.at_row(column, *row, Part::Offsets),
            Utf8 { column, row } | DictionaryKey { column, row, .. } => {
                self.at_row(column, *row, Part::Values)
            }
            View { column, row } => self.at_row(column, *row, Part::Views),
            Union { column, row, .. } => self.at_row(column, *row, Part::TypeIds),
            BadType { column, .. }
            | Arrow { column, .. }
            | RunEnds { column, .. }
            | DictionaryMissing { column, .. }
            | PayloadLost { column }
            | CopyLimit { column, .. } => self.column = named(column),
            _ => {}
        }
    }

    fn at_row(&mut self, column: &str, row: usize, part: Part) {
        self.column = named(column);
        self.row = Some(row as u64);
        self.part = Some(part);
    }

    /// The buffer that the error means, if its column has only one that holds such a part.
    fn find_buffer(&mut self, layout: &Layout, message: &MessageLayout) {
        if self.buffer.is_some() {
            return;
        }
        let (Some(column), Some(part), Some(schema)) = (&self.column, self.part, &layout.schema) else {
            return;
        };
        let is_meant = |index: usize| schema.fields().get(index).is_some_and(|field| field.name() == column);
        let buffers = message.buffers.iter().enumerate();
        let mut buffers = buffers.filter(|(_, buffer)| buffer.part == part && is_meant(buffer.column));
        if let (Some((index, _)), None) = (buffers.next(), buffers.next()) {
            self.buffer = Some(index);
        }
    }
}

impl fmt::Display for Fault {
    /// What is wrong, then those parts of the place that it does not say itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let Some(message) = &self.message else { return Ok(()) };
        write!(f, " (message {}", message.index)?;
        if let Some(kind) = message.kind {
            write!(f, ", a {kind}")?;
        }
        if let Some(buffer) = self.buffer {
            write!(f, ", buffer {buffer}")?;
            if let Some(byte) = self.byte {
                write!(f, " at byte {byte}")?;
            }
        }
        f.write_str(")")
    }
}

/// The header of one message.
fn header(frames: &Frames, message: &MessageLayout) -> Option<arrow_buffer::Buffer> {
    let start = usize::try_from(message.position).ok()?;
    let length = usize::try_from(message.metadata_bytes).ok()?;
    let end = start.checked_add(length).filter(|end| *end <= frames.header().len())?;
    Some(frames.header().slice_with_length(start, end - start))
}

fn kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Schema => "schema",
        MessageKind::Dictionary { .. } => "dictionary",
        _ => "record batch",
    }
}

fn named(column: &str) -> Option<String> {
    (!column.is_empty()).then(|| column.to_owned())
}

fn whose(error: &Error) -> &'static str {
    match error.fault() {
        arrow_frames::Fault::Input => "input",
        arrow_frames::Fault::Limit => "limit",
        arrow_frames::Fault::System => "system",
        _ => "caller",
    }
}
