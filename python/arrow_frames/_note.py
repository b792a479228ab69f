"""The note in a schema's metadata: which object the columns were, and how to make it again."""

import json
from typing import Any

from arrow_frames._native import DecodeError

#: Its key.
KEY = "arrow_frames"

#: The only version that there is.
VERSION = 1


def new(kind: str) -> dict:
    """The note of an object of that kind."""
    return {"version": VERSION, "kind": kind}


def entry(note: dict) -> tuple[str, str]:
    """The entry of the metadata that a note is."""
    return KEY, json.dumps(note)


def level_name(number: int) -> str:
    """What a column is called that is the index, or a level of it."""
    return f"__index_level_{number}__"


def of(metadata: dict) -> dict:
    """What the metadata says of the object; nothing if it is of another version."""
    try:
        note = json.loads(metadata.get(KEY, "{}"))
    except (ValueError, RecursionError):
        return {}
    is_ours = isinstance(note, dict) and note.get("version") == VERSION and isinstance(note.get("kind"), str)
    return note if is_ours else {}


def index_columns(note: Any) -> int:
    """How many columns of the stream, the last ones, are the index that a note describes."""
    if not isinstance(note, dict):
        raise DecodeError("the note has no index")
    count = 0 if "range" in note else note.get("multi", 1)
    if type(count) is not int or count < 0:
        raise DecodeError(f"{str(count)[:50]!r} is no number of levels")
    return count
