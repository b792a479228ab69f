"""What a header and frames, or a stream, hold, without rebuilding or running anything."""

import html
import json
from typing import Any

from arrow_frames import _limits, _native, _note
from arrow_frames._native import ArrowFramesError, Limits


class Inspection:
    """A table of the columns; `str` of it is text, and notebooks show it as HTML."""

    def __init__(self, kind: str, rows: int | None, columns: list[dict]) -> None:
        self.kind = kind
        self.rows = rows
        self.columns = columns

    def __repr__(self) -> str:
        lines = [self.title()]
        width = max((len(column["name"]) for column in self.columns), default=0)
        for column in self.columns:
            lines.append(
                f"  {column['name']:<{width}}  {column['travels']:<6}  {column['type']}  {column['bytes']:,} B"
            )
        return "\n".join(lines)

    def title(self) -> str:
        """What it is, and how much of it."""
        if self.rows is None:
            return f"{self.kind}: {len(self.columns)} buffers"
        return f"{self.kind}: {self.rows:,} rows × {len(self.columns)} columns"

    def _repr_html_(self) -> str:
        keys = ("name", "travels", "type", "bytes")
        rows = (
            "".join(f"<td>{html.escape(str(column[key]))}</td>" for key in keys) for column in self.columns
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        head = "".join(f"<th>{key}</th>" for key in keys)
        title = html.escape(self.title())
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def inspect(header: Any, frames: Any = None, *, limits: Limits | dict | None = None) -> Inspection:
    """Describes a header and its frames, or a stream; nothing in it is run. `limits` is as for `loads`.

    >>> import pandas as pd
    >>> from arrow_frames import to_buffers
    >>> inspect(*to_buffers(pd.DataFrame({"a": [1, 2]})))
    pandas.DataFrame: 2 rows × 1 columns
      a  native  Int64  16 B
    """
    limits = _limits.of(limits)
    if (kind := _native.kind(header)) != "dataframe":
        return of_tensor(kind, header, frames, limits)
    decoded = (
        _native.decode_stream(header, limits=limits)
        if frames is None
        else _native.decode(header, list(frames), limits=limits)
    )
    note = _note.of(dict(decoded.metadata))
    if (buffers := decoded.object()) is not None:
        return Inspection(str(note.get("kind", "object")), None, of_object(note, buffers))
    columns = []
    for at, (name, _, _, _, mark) in enumerate(decoded.fields):
        shown, size = "", 0
        for batch in range(len(decoded.batches)):
            if mark is None:
                array = decoded.array(batch, at)
                # The text of a nested type may be long, and is that of every batch.
                shown, size = shown or array.type, size + array.nbytes
            else:
                buffers, _, _ = decoded.opaque(batch, at)
                shown, size = type_name(mark), size + sum(buffer.nbytes for buffer in buffers)
        columns.append(
            {"name": name, "travels": "native" if mark is None else "opaque", "type": shown, "bytes": size}
        )
    return Inspection(str(note.get("kind", "arrow")), decoded.rows, columns)


def of_tensor(kind: str, header: Any, frames: Any, limits: Limits) -> Inspection:
    """An array that is a message of its own."""
    given = (header,) if frames is None else (header, list(frames))
    decoded: Any
    if kind == "tensor":
        decoded = (_native.decode_tensor_stream if frames is None else _native.decode_tensor)(
            *given, limits=limits
        )
        parts = [("values", decoded.format, decoded.values)]
    else:
        decoded = (_native.decode_sparse_stream if frames is None else _native.decode_sparse)(
            *given, limits=limits
        )
        parts = [("values", decoded.format, decoded.values)]
        parts += [("indptr", *numbers) for numbers in decoded.indptr]
        parts += [("indices", *numbers) for numbers in decoded.indices]
    shown = [
        {"name": name, "travels": "native", "type": format, "bytes": memory.nbytes}
        for name, format, memory in parts
    ]
    known = _note.of(dict(decoded.metadata)).get("kind", kind)
    return Inspection(f"{known} of {' × '.join(map(str, decoded.shape))}", None, shown)


def of_object(note: dict, buffers: list[memoryview]) -> list[dict]:
    """The pickle of an object and its buffers: what each is, as far as that is written down."""
    described = [
        {"name": "pickle", "travels": "opaque", "type": "not run", "bytes": pickle.nbytes}
        for pickle in buffers[:1]
    ]
    noted = note.get("parts")
    parts = [part for part in noted if isinstance(part, dict)] if isinstance(noted, list) else []
    known = (
        [f"{part.get('dtype')} {part.get('shape')}" for part in parts]
        if len(parts) == len(buffers) - 1
        else []
    )
    for number, buffer in enumerate(buffers[1:]):
        shown = known[number] if known else buffer_type(buffer)
        described.append({"name": f"[{number}]", "travels": "opaque", "type": shown, "bytes": buffer.nbytes})
    return described


def buffer_type(buffer: memoryview) -> str:
    """What a buffer of a pickle is: the header of a dataframe, whose frames are the next ones, or any bytes."""
    if buffer[:4] != b"\xff\xff\xff\xff":
        return "buffer"
    try:
        fields, metadata = _native.schema(buffer)
        kind = _note.of(dict(metadata)).get("kind", "pyarrow.Table")
    except ArrowFramesError:
        return "buffer"
    return f"header of a {kind} of {len(fields)} columns"


def type_name(mark: str) -> str:
    """What the sender calls the type of an opaque column."""
    try:
        return str(json.loads(mark)["type_name"])
    except (ValueError, TypeError, LookupError):
        return "unknown"
