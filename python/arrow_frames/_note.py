"""The note in a schema's metadata: which object the columns were, and how to make it again."""

import json
import re
from typing import Any

from arrow_frames._native import DecodeError

#: Its key.
KEY = "arrow_frames"

#: How a column becomes an array.
ARRAYS = re.compile(
    r"(?:numpy|bool|masked|form|raw|objects|pickle|category|zoned)\Z|(?:arrow|text|zone|freq|range|level):"
)

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
    """What the metadata says of the object; nothing if there is no note. One that is damaged is an error."""
    if not metadata.get(KEY, "").startswith("{"):
        # Others may use the key for something else.
        return {}
    try:
        note = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"the note in the schema's metadata is no JSON: {error}") from error
    if not isinstance(note, dict) or not isinstance(note.get("kind"), str):
        raise DecodeError("the note in the schema's metadata does not say what kind of object it is of")
    if type(note.get("version")) is not int or note["version"] != VERSION:
        raise DecodeError(
            f"the note in the schema's metadata is of version {str(note.get('version'))[:50]}, not {VERSION}"
        )
    arrays = note.get("arrays")
    for entry in {entry for entry in arrays if isinstance(entry, str)} if isinstance(arrays, list) else ():
        if not ARRAYS.match(entry):
            raise DecodeError(f"the note in the schema's metadata has an array of the kind {entry[:50]!r}")
    return note


def parsed_bytes(metadata: dict) -> int:
    """About how many bytes the JSON of the note, and of pandas' own metadata, takes as objects of Python."""
    texts = [metadata.get(key, "") for key in (KEY, "pandas")]
    # Containers are made twice: when the text is read, and when a value is made of it.
    return sum(144 * (text.count("[") + text.count("{")) + 32 * text.count(",") for text in texts)


def is_one(text: str) -> bool:
    """Whether a text is a note."""
    try:
        return bool(of({KEY: text}))
    except DecodeError:
        return False


def index_columns(note: Any) -> int:
    """How many columns of the stream, the last ones, are the index that a note describes."""
    if not isinstance(note, dict):
        raise DecodeError("the note has no index")
    count = 0 if "range" in note else note.get("multi", 1)
    if type(count) is not int or count < 0:
        raise DecodeError(f"{str(count)[:50]!r} is no number of levels")
    return count
