"""Objects of pyarrow, polars and of whoever has Arrow's PyCapsules, and what they come back as."""

import re
import sys

from arrow_frames import _note
from arrow_frames._errors import needed
from arrow_frames._limits import Budget
from arrow_frames._native import DecodeError, EncodeError, Stream, encode_stream


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
    if kind == "polars.Series":
        note["name"] = obj.name
        obj = obj.to_frame()
    elif kind in ("pyarrow.RecordBatch", "pyarrow.ChunkedArray", "pyarrow.Array", "arrow.Array"):
        obj = reader(needed("pyarrow", f"an object such as {type(obj).__name__}"), obj)
    if kind.startswith("polars."):
        for name, dtype in zip(obj.columns, obj.dtypes):
            if re.search(r"\b(Object|U?Int128)\b", str(dtype)):
                raise EncodeError(f"column {name!r} is of polars' {dtype}, which is no type of Arrow's")
    if kind.startswith("polars.") and any("Null" in str(dtype) for dtype in obj.dtypes):
        # polars hands over a buffer of a type that has none, which pyarrow takes.
        needed("pyarrow", "a column of polars of type Null")
        obj = obj.to_arrow()
    if not hasattr(obj, "__arrow_c_stream__") and hasattr(obj, "to_reader"):
        obj = obj.to_reader()
    if kind.startswith("pyarrow.") and hasattr(obj, "schema"):
        for field in obj.schema:
            if field.metadata and _note.KEY.encode() in field.metadata and str(field.type) == "null":
                raise EncodeError(
                    f"column {field.name!r} was a pickle, which whoever read the stream has left behind: "
                    "read it with arrow_frames"
                )
    # A table is what a stream is read as anyway, unless what was read once says otherwise.
    own = (getattr(getattr(obj, "schema", None), "metadata", None) or {}).get(_note.KEY.encode())
    is_told = kind == "pyarrow.Table" and (own is None or not _note.is_one(own.decode(errors="replace")))
    metadata = [] if is_told else [_note.entry(note)]
    return encode_stream(obj, metadata, target=target, writable=writable, compression=compression)


def reader(pa, obj):
    """A reader of a batch, or of an array's chunks: unlike a table's, it keeps those of no rows."""
    if isinstance(obj, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(obj.schema, [obj])
    if not isinstance(obj, (pa.ChunkedArray, pa.Array)):
        obj = pa.array(obj)
    chunks = obj.chunks if isinstance(obj, pa.ChunkedArray) else [obj]
    schema = pa.schema([("", obj.type)])
    batches = [pa.RecordBatch.from_arrays([chunk], schema=schema) for chunk in chunks]
    return pa.RecordBatchReader.from_batches(schema, batches)


def decode(stream: Stream, note: dict, kind: str, budget: Budget):
    """An object of that kind."""
    if kind.startswith("arrow.") and "pyarrow" not in sys.modules:
        return stream
    if kind.startswith("polars."):
        pl = needed("polars", "an object of polars")
        # It has the names of each batch's fields by themselves.
        budget.claim(stream.schemas_nbytes, "the schema of every batch in polars")
        budget.claim(stream.taken_nbytes, "values of dictionaries, runs and views in polars")
        stream = stream.for_polars(pl)
        try:
            frame = pl.DataFrame(stream)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:
            # Its panics are no exceptions of the usual kind.
            raise DecodeError(f"polars cannot take the stream: {error}") from error
        return frame.to_series(0) if kind == "polars.Series" else frame
    pa = needed("pyarrow", "an object of pyarrow")
    source = stream.to_pyarrow(pa)
    # The note is ours; whatever else is called so is not.
    ours = _note.KEY.encode() if note else None
    metadata = {k: v for k, v in (source.schema.metadata or {}).items() if k != ours} or None
    schema = source.schema.with_metadata(metadata)
    # One schema for all: each batch would have a copy of the metadata of its own.
    batches = [
        pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        if batch.num_columns
        else batch.replace_schema_metadata(metadata)
        for batch in source
    ]
    if kind in ("pyarrow.RecordBatch", "pyarrow.Array", "arrow.Array") and len(batches) == 1:
        return batches[0] if kind == "pyarrow.RecordBatch" else batches[0].column(0)
    table = pa.Table.from_batches(batches, schema)
    if kind == "pyarrow.RecordBatch":
        return (table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema)])[0]
    if kind == "pyarrow.RecordBatchReader":
        return pa.RecordBatchReader.from_batches(schema, batches)
    if kind == "pyarrow.ChunkedArray":
        return table.column(0)
    if kind in ("pyarrow.Array", "arrow.Array"):
        return table.column(0).combine_chunks()
    return table
