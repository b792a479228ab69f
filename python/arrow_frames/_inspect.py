"""What a header and frames, or a stream, hold, without rebuilding or running anything."""

import html
import json
from typing import Any

from arrow_frames import _native, _note


class Inspection:
    """A table of the columns; `str` of it is text, and notebooks show it as HTML."""

    def __init__(self, kind: str, rows: int, columns: list[dict]) -> None:
        self.kind = kind
        self.rows = rows
        self.columns = columns

    def __repr__(self) -> str:
        lines = [f"{self.kind}: {self.rows:,} rows × {len(self.columns)} columns"]
        width = max((len(column["name"]) for column in self.columns), default=0)
        for column in self.columns:
            lines.append(
                f"  {column['name']:<{width}}  {column['travels']:<6}  {column['type']}  {column['bytes']:,} B"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        keys = ("name", "travels", "type", "bytes")
        rows = (
            "".join(f"<td>{html.escape(str(column[key]))}</td>" for key in keys) for column in self.columns
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        head = "".join(f"<th>{key}</th>" for key in keys)
        title = html.escape(f"{self.kind}: {self.rows:,} rows")
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def inspect(header: Any, frames: Any = None) -> Inspection:
    """Describes a header and its frames, or a stream; nothing in it is run.

    >>> import pandas as pd
    >>> from arrow_frames import to_buffers
    >>> inspect(*to_buffers(pd.DataFrame({"a": [1, 2]})))
    pandas.DataFrame: 2 rows × 1 columns
      a  native  Int64  16 B
    """
    decoded = _native.decode_stream(header) if frames is None else _native.decode(header, list(frames))
    note = _note.of(dict(decoded.metadata))
    columns = []
    for at, (name, _, _, _, mark) in enumerate(decoded.fields):
        shown, size = "", 0
        for batch in range(len(decoded.batches)):
            if mark is None:
                array = decoded.array(batch, at)
                shown, size = array.type, size + array.nbytes
            else:
                buffers, _ = decoded.opaque(batch, at)
                shown, size = type_name(mark), size + sum(buffer.nbytes for buffer in buffers)
        columns.append(
            {"name": name, "travels": "native" if mark is None else "opaque", "type": shown, "bytes": size}
        )
    return Inspection(str(note.get("kind", "arrow")), decoded.rows, columns)


def type_name(mark: str) -> str:
    """What the sender calls the type of an opaque column."""
    try:
        return str(json.loads(mark)["type_name"])
    except (ValueError, TypeError, LookupError):
        return "unknown"
