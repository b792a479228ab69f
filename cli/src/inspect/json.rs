//! What was found, for programs.

use arrow_frames::{BufferLayout, MessageKind, MessageLayout};
use arrow_schema::Metadata;
use serde_json::{Map, Value, json};

use super::{Inspected, dask, opaque_type, placed};

/// The whole document.
pub fn document(inspected: &Inspected) -> Value {
    let layout = &inspected.layout;
    let schema = layout
        .schema
        .as_ref()
        .map(|schema| json!({ "columns": columns(inspected), "metadata": metadata(schema.metadata()) }));
    json!({
        "file": inspected.file,
        "format": inspected.format.form(),
        "bytes": inspected.length,
        "trailing_bytes": inspected.trailing,
        "spill": inspected.spill.as_ref().map(dask::document),
        "schema": schema,
        "messages": layout.messages.iter().map(message).collect::<Vec<_>>(),
        "finished": layout.is_finished,
        "sound": inspected.problem.is_none(),
        "error": inspected.problem,
    })
}

fn columns(inspected: &Inspected) -> Vec<Value> {
    let columns = inspected.fields().iter().zip(&inspected.totals).map(|(field, (frames, bytes))| {
        json!({
            "name": field.name(),
            "type": field.data_type().to_string(),
            "nullable": field.is_nullable(),
            "ordered": field.dict_is_ordered(),
            "opaque": opaque_type(field),
            "frames": frames,
            "bytes": bytes,
            "metadata": metadata(field.metadata()),
        })
    });
    columns.collect()
}

/// The number of a column, or −1 for an object that is no column, as notes have it.
fn place(column: usize) -> Value {
    if column == BufferLayout::OF_OBJECT { json!(-1) } else { json!(column) }
}

fn message(message: &MessageLayout) -> Value {
    let (kind, id, is_delta) = match message.kind {
        MessageKind::Schema => ("schema", None, None),
        MessageKind::Dictionary { id, is_delta } => ("dictionary", Some(id), Some(is_delta)),
        MessageKind::Batch => ("batch", None, None),
        _ => ("unknown", None, None),
    };
    let buffers = placed(message).map(|placed| {
        json!({
            "column": place(placed.buffer.column),
            "part": placed.buffer.part.to_string(),
            "position": placed.position,
            "offset": placed.buffer.offset,
            "length": placed.buffer.length,
            "padding": placed.padding,
            "alignment": placed.alignment(),
        })
    });
    json!({
        "kind": kind,
        "id": id,
        "delta": is_delta,
        "position": message.position,
        "rows": message.rows,
        "metadata_bytes": message.metadata_bytes,
        "body_bytes": message.body_bytes,
        "compression": message.compression,
        "metadata": metadata(&message.metadata),
        "buffers": buffers.collect::<Vec<_>>(),
    })
}

fn metadata(metadata: &Metadata) -> Map<String, Value> {
    metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.clone()))).collect()
}
