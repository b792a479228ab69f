//! What this crate writes into field and message metadata: the mark of an opaque column
//! and the place of its payload. `docs/FORMAT.md` has the format.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Metadata, Schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flatbuffers::FlatBufferBuilder;
use serde_json::Value;
use serde_json::value::RawValue;

use super::batch::Span;
use super::envelope::{self, Next};
use super::json::{entries, parse};
use super::message::{Header, Message};
use super::schema::WireSchema;
use super::{padded, write};
use crate::compression::Codec;
use crate::error::Result;
use crate::limits::Limits;

/// The key in field metadata that marks an opaque column.
pub(crate) const FIELD_KEY: &str = "arrow_frames";

/// The key in message metadata that says where payload lies.
pub(crate) const MESSAGE_KEY: &str = "arrow_frames";

/// The only version of the note that is written, and whose payload is read.
const VERSION: u64 = 1;

/// The column that payload is of which is one whole object, and no column's. A note says −1.
pub(crate) const WHOLE_OBJECT: usize = usize::MAX;

/// Whether a field is marked as an opaque column.
pub(crate) fn is_marked(field: &Field) -> bool {
    field.data_type() == &DataType::Null && field.metadata().contains_key(FIELD_KEY)
}

/// Whether a field has the mark of an opaque column and a type that has values: something cast
/// the column of nulls that it saw.
pub(crate) fn is_mark_of_values(field: &Field) -> bool {
    field.data_type() != &DataType::Null && field.metadata().contains_key(FIELD_KEY)
}

/// The sender's name of an opaque column's type; empty where the mark does not say.
pub(crate) fn type_name(field: &Field) -> String {
    parse(MarkParts::of(field).type_name).unwrap_or_default()
}

/// What a field says of its opaque column; what it does not say is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mark {
    /// The sender's name of the type.
    pub type_name: String,
    /// Whose type it is: `pandas` or `python`.
    pub vendor_name: String,
    /// The field of the Arrow column that was pickled, if it was one.
    pub field: Option<Field>,
    /// What the pandas metadata said of the column, as it was written.
    pub pandas: Option<String>,
}

impl Mark {
    /// Reads the mark of a field.
    pub(crate) fn of(field: &Field, limits: &Limits) -> Mark {
        let parts = MarkParts::of(field);
        Mark {
            type_name: parse(parts.type_name).unwrap_or_default(),
            vendor_name: parse(parts.vendor_name).unwrap_or_default(),
            field: parse::<String>(parts.field)
                .and_then(|base64| read_field(&base64, limits))
                .filter(|original| original.name() == field.name() && !is_marked(original)),
            pandas: parts.pandas.map(|entry| entry.get().to_owned()),
        }
    }

    /// A field of that name with this mark.
    pub(crate) fn field(&self, name: &str) -> Result<Field> {
        let mut text = format!(
            "{{\"type_name\":{},\"vendor_name\":{}",
            Value::from(self.type_name.as_str()),
            Value::from(self.vendor_name.as_str())
        );
        if let Some(field) = &self.field {
            // Base64 has nothing that JSON escapes.
            text.push_str(",\"field\":\"");
            text.push_str(&write_field(field)?);
            text.push('"');
        }
        if let Some(pandas) = &self.pandas {
            text.push_str(",\"pandas\":");
            text.push_str(pandas);
        }
        text.push('}');
        let metadata = Metadata::new().with(FIELD_KEY, text);
        Ok(Field::new(name, DataType::Null, true).with_metadata(metadata))
    }
}

/// The entries of a mark, none if it is no JSON object.
#[derive(Default)]
struct MarkParts<'m> {
    type_name: Option<&'m RawValue>,
    vendor_name: Option<&'m RawValue>,
    field: Option<&'m RawValue>,
    pandas: Option<&'m RawValue>,
}

impl<'m> MarkParts<'m> {
    fn of(field: &'m Field) -> Self {
        let text = field.metadata().get(FIELD_KEY).map(String::as_str).unwrap_or_default();
        let parts = entries(text, ["type_name", "vendor_name", "field", "pandas"]);
        let parts = parts.map(|[type_name, vendor_name, field, pandas]| MarkParts {
            type_name,
            vendor_name,
            field,
            pandas,
        });
        parts.unwrap_or_default()
    }
}

/// A field as a Schema message in base64.
fn write_field(field: &Field) -> Result<String> {
    let schema = WireSchema::new(Arc::new(Schema::new(vec![field.clone()])))?;
    let mut message = Vec::new();
    write::schema(&mut FlatBufferBuilder::new(), &mut message, &schema, &Metadata::new())?;
    Ok(BASE64.encode(message))
}

/// The field of a Schema message in base64. One that cannot be read is as good as none.
fn read_field(base64: &str, limits: &Limits) -> Option<Field> {
    let message = BASE64.decode(base64).ok()?;
    // A flatbuffer is read where it is aligned.
    let message = Buffer::from_slice_ref(message);
    let Next::Message(envelope) = envelope::first(&message, limits).ok()? else { return None };
    let flatbuffer = message.get(envelope.metadata)?;
    let Header::Schema(schema) = Message::parse(flatbuffer, 0, limits).ok()?.header else { return None };
    let schema = WireSchema::read(schema, limits).ok()?.schema;
    let [field] = &schema.fields()[..] else { return None };
    Some(field.as_ref().clone())
}

/// What a message says about the opaque columns in its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageNote {
    body_length: u64,
    columns: Vec<(usize, Vec<Span>)>,
    writable: Vec<(usize, u8)>,
}

impl MessageNote {
    /// The length of the body that the note was written for.
    pub(crate) fn body_length(&self) -> u64 {
        self.body_length
    }

    /// Whether the body is as it was when the note was written: its length, and payload frames
    /// each at the next multiple of 64 behind the declared buffers, which end there, up to the
    /// body's end. Anything else re-wrote the body, and the note's offsets point at other data.
    pub(crate) fn fits(&self, body_length: u64, declared_end: u64) -> bool {
        let mut end = padded(declared_end);
        for span in self.spans() {
            let place = end.filter(|end| *end == span.offset);
            end = place.and_then(|place| padded(place.checked_add(span.length)?));
        }
        self.body_length == body_length && end == Some(body_length)
    }

    /// The payload frames of all columns, in order; empty ones included.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.columns.iter().flat_map(|(_, spans)| spans.iter().copied())
    }

    /// The note of a message that has no columns.
    pub(crate) fn without_payload(self) -> Self {
        MessageNote { columns: Vec::new(), ..self }
    }

    /// The frames that the receiver may change, by number, and their element widths in bytes.
    pub(crate) fn writable(&self) -> &[(usize, u8)] {
        &self.writable
    }

    /// The payload frames by top-level column, or of the [`WHOLE_OBJECT`], in the order of the body.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (usize, &[Span])> {
        self.columns.iter().map(|(column, spans)| (*column, spans.as_slice()))
    }
}

/// Reads the note of a message; `None` if it is none, or of a version that is not known.
pub(crate) fn parse_note(json: &str) -> Option<MessageNote> {
    let [version, body_length, opaque, writable, device] =
        entries(json, ["version", "body_length", "opaque", "writable", "device"])?;
    if parse(version) != Some(VERSION) || device.is_some() {
        return None;
    }
    let column = |entry: &&RawValue| {
        let [column, frames] = entries(entry.get(), ["column", "frames"])?;
        let spans: Vec<(u64, u64)> = parse(frames)?;
        let spans = spans.into_iter().map(|(offset, length)| Span { offset, length });
        let column = match parse::<i64>(column)? {
            -1 => WHOLE_OBJECT,
            column => usize::try_from(column).ok()?,
        };
        Some((column, spans.collect()))
    };
    let columns: Vec<(usize, Vec<Span>)> = match opaque {
        None => Vec::new(),
        Some(_) => parse::<Vec<&RawValue>>(opaque)?.iter().map(column).collect::<Option<_>>()?,
    };
    // Which of two payloads were a column's?
    let mut seen = HashSet::new();
    if !columns.iter().all(|(column, _)| seen.insert(*column)) {
        return None;
    }
    // Marks that cannot be read are as good as none: they only say where frames may lie.
    let writable = parse(writable).unwrap_or_default();
    Some(MessageNote { body_length: parse(body_length)?, columns, writable })
}

/// What the note of a message is written from.
pub(crate) struct NoteParts<'n> {
    /// The length of the message's body.
    pub body_length: u64,
    /// How every buffer is compressed.
    pub codec: Option<Codec>,
    /// The payload of each opaque column, by top-level column, or that of the [`WHOLE_OBJECT`].
    pub opaque: &'n [(usize, Vec<Span>)],
    /// The frames that the receiver may change, and their element widths in bytes.
    pub writable: &'n [(usize, u8)],
}

impl NoteParts<'_> {
    /// The note: compact, keys in the fixed order; none if there is nothing to say.
    pub(crate) fn write(&self) -> Option<String> {
        use std::fmt::Write;
        if self.opaque.is_empty() && self.writable.is_empty() {
            return None;
        }
        let mut json = format!("{{\"version\":{VERSION},\"body_length\":{}", self.body_length);
        if let Some(codec) = self.codec {
            // Writing to a String cannot fail.
            let _ = write!(json, ",\"codec\":\"{}\"", codec.name());
        }
        if !self.opaque.is_empty() {
            json.push_str(",\"opaque\":[");
            for (n, (column, spans)) in self.opaque.iter().enumerate() {
                let comma = if n == 0 { "" } else { "," };
                let frames: Vec<_> = spans.iter().map(|s| format!("[{},{}]", s.offset, s.length)).collect();
                let column = if *column == WHOLE_OBJECT { "-1".to_owned() } else { column.to_string() };
                let _ = write!(json, "{comma}{{\"column\":{column},\"frames\":[{}]}}", frames.join(","));
            }
            json.push(']');
        }
        if !self.writable.is_empty() {
            json.push_str(",\"writable\":[");
            for (n, (frame, width)) in self.writable.iter().enumerate() {
                let comma = if n == 0 { "" } else { "," };
                let _ = write!(json, "{comma}[{frame},{width}]");
            }
            json.push(']');
        }
        json.push('}');
        Some(json)
    }
}
