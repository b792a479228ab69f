"""Rebuild a DataFrame with only pyarrow (11+) and pandas (1.5+). It unpickles: trust the sender."""

import json
import pickle

import pandas as pd
import pyarrow as pa


def consume(stream):  # bytes, or anything with a buffer
    reader = pa.ipc.open_stream(buffer := pa.py_buffer(stream))
    messages = (m for m in pa.ipc.MessageReader.open_stream(buffer) if m.type == "record batch")
    batches = [(m.body, *reader.read_next_batch_with_custom_metadata()) for m in messages]
    table = pa.Table.from_batches([batch for _, batch, _ in batches]).combine_chunks()
    names, pandas, dtypes = table.schema.names, json.loads(table.schema.metadata[b"pandas"]), {}
    for c in pandas["columns"]:  # of several columns of one name, the first has the first entry
        dtypes.setdefault(c["field_name"], []).append(c["numpy_type"])
    for body, _, metadata in batches:  # a note of another body is of no column
        note = json.loads((metadata or {}).get(b"arrow_frames", "{}"))
        if note.get("version") == 1 and note["body_length"] != body.size and note.get("opaque"):
            lost = [names[c["column"]] for c in note["opaque"] if c["column"] < len(names)] or names
            raise ValueError(f"the payload of column {lost[0]!r} was lost: the stream was re-written")
    built = [column(i, dtypes.get(n, ["object"]).pop(0), table, batches, buffer) for i, n in enumerate(names)]
    frame = pd.DataFrame(dict(enumerate(built)), pd.RangeIndex(table.num_rows), copy=False)
    keys = [names.index(key) for key in pandas["index_columns"] if key in names]
    labels = (table.slice(0, 0 if keys else None).to_pandas(types_mapper=pd.ArrowDtype)  # copies nothing
              if len(set(names)) == len(names) else pd.DataFrame(columns=names))
    frame.set_index(keys or [labels.index if len(labels) else frame.index], inplace=True)
    frame.columns, frame.index.names = labels.columns, labels.index.names
    return frame


def column(i, dtype, table, batches, buffer, pieces=()):
    field = table.field(i)
    is_marked, noted = (b"arrow_frames" in (m or {}) for m in (field.metadata, table.schema.metadata))
    kinds = json.loads(table.schema.metadata[b"arrow_frames"]).get("arrays", []) if noted else []  # arrow_frames in Python
    kind = kinds[i] if len(kinds) == table.num_columns and pa.types.is_null(field.type) else "arrow:null"
    for body, batch, metadata in batches:
        note = json.loads((metadata or {}).get(b"arrow_frames", '{"version": 1}'))
        spans = {c["column"]: c["frames"] for c in note.get("opaque", []) if note["version"] == 1}.get(i)
        if not is_marked and not spans and str(kind).startswith("arrow:"):
            continue  # no opaque column
        ends = [b.address + b.size - body.address for c in batch.columns for b in c.buffers() if b]
        is_rewritten = spans and (note["body_length"] != body.size or any(spans[0][0] < e <= body.size for e in ends))
        if not is_marked or not spans or is_rewritten:
            why = "was lost: the stream was re-written" if note["version"] == 1 else "has an unknown version"
            raise ValueError(f"the payload of column {field.name!r} {why}")
        frames = [memoryview(buffer)[body.address - buffer.address + at:][:size] for at, size in spans]
        if codec := note.get("codec"):  # an 8-byte length comes first
            frames = [f and pa.decompress(f[8:], int.from_bytes(f[:8], "little"), codec) for f in frames]
        pieces += (pd.Series(p := pickle.loads(frames[0], buffers=frames[1:]), dtype=p.dtype, copy=False),)
    if pieces:
        return (pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
                if pieces[0].dtype != "category" else pd.api.types.union_categoricals(pieces))
    array, exact = table.column(i).chunk(0), pd.__version__ >= "2" or table.field(i).type == pa.time64("ns")
    if dtype == "object":
        return pd.arrays.ArrowExtensionArray(array) if exact else pd.Series(array.to_pylist(), dtype=object)
    if dtype[0].islower() and dtype != "boolean":
        return array.to_numpy(zero_copy_only=False)
    values = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    return type(pd.array([], dtype))(*(a.to_numpy(zero_copy_only=False) for a in (values, array.is_null())))
