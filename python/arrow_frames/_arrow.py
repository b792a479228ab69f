"""Objects of pyarrow, polars and of whoever has Arrow's PyCapsules, and what they come back as."""

import json
import sys

from arrow_frames import _note
from arrow_frames._errors import needed
from arrow_frames._native import Stream, encode_stream


def kind_of(obj) -> str | None:
    """The kind of an Arrow object, if it is one."""
    pa = sys.modules.get("pyarrow")
    if pa is not None:
        for kind in ("Table", "RecordBatch", "RecordBatchReader", "ChunkedArray", "Array"):
            if isinstance(obj, getattr(pa, kind)):
                return f"pyarrow.{kind}"
    pl = sys.modules.get("polars")
    if pl is not None:
        if isinstance(obj, pl.DataFrame):
            return "polars.DataFrame"
        if isinstance(obj, pl.Series):
            return "polars.Series"
    if hasattr(obj, "__arrow_c_stream__"):
        return "arrow.Stream"
    if hasattr(obj, "__arrow_c_array__"):
        return "arrow.Array"
    return None


def encode(obj, kind: str, target: str, writable: bool, compression):
    """Header, frames and copies of an Arrow object."""
    note = _note.new(kind)
    if kind in ("pyarrow.Array", "pyarrow.ChunkedArray"):
        pa = needed("pyarrow", "an array of pyarrow")
        obj = pa.table({"": obj})
    elif kind == "polars.Series":
        note["name"] = obj.name
        obj = obj.to_frame()
    elif kind == "arrow.Array":
        pa = needed("pyarrow", f"an object such as {type(obj).__name__}")
        obj = pa.table({"": pa.array(obj)})
    if kind == "pyarrow.RecordBatch":
        obj = needed("pyarrow", "a batch of pyarrow").Table.from_batches([obj])
    if not hasattr(obj, "__arrow_c_stream__") and hasattr(obj, "to_reader"):
        obj = obj.to_reader()
    # A table is what a stream is read as anyway.
    metadata = [] if kind == "pyarrow.Table" else [(_note.KEY, json.dumps(note))]
    return encode_stream(obj, metadata, target=target, writable=writable, compression=compression)


def decode(stream: Stream, note: dict, kind: str):
    """An object of that kind."""
    if kind.startswith("arrow.") and "pyarrow" not in sys.modules:
        return stream
    if kind.startswith("polars."):
        pl = needed("polars", "an object of polars")
        frame = pl.DataFrame(stream)
        return frame.to_series(0) if kind == "polars.Series" else frame
    pa = needed("pyarrow", "an object of pyarrow")
    table = stream.to_pyarrow(pa).read_all()
    table = table.replace_schema_metadata(
        {k: v for k, v in (table.schema.metadata or {}).items() if k != _note.KEY.encode()} or None
    )
    if kind == "pyarrow.RecordBatch":
        batches = table.to_batches()
        return (
            batches[0]
            if len(batches) == 1
            else table.combine_chunks().to_batches()[0]
            if batches
            else pa.RecordBatch.from_pylist([], table.schema)
        )
    if kind == "pyarrow.RecordBatchReader":
        return table.to_reader()
    if kind == "pyarrow.ChunkedArray":
        return table.column(0)
    if kind in ("pyarrow.Array", "arrow.Array"):
        column = table.column(0)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return table
