"""The functions of the package: which object goes which way, and what comes back."""

import contextlib
import mmap
import os
import stat
import sys
from typing import Any

from arrow_frames import _arrow, _limits, _native, _note
from arrow_frames._errors import needed
from arrow_frames._limits import NONE, Budget
from arrow_frames._native import ArrowFramesError, DecodeError, Limits

#: What can come back, the one first that is meant by the name of its library.
KINDS = (
    "pandas.DataFrame", "pandas.Series", "pandas.Index",
    "pyarrow.Table", "pyarrow.RecordBatch", "pyarrow.RecordBatchReader", "pyarrow.ChunkedArray", "pyarrow.Array",
    "polars.DataFrame", "polars.Series",
    "arrow.Stream", "arrow.Array",
)  # fmt: skip


#: Bytes that a column without rows takes in pandas, pyarrow or polars.
FIELD_BYTES = 1024

#: What an Arrow IPC file starts with.
FILE_MAGIC = b"ARROW1"


def to_buffers(
    obj: Any, *, target: str | None = None, writable: bool = False, compression: str | None = None
) -> tuple[bytes, list[memoryview]]:
    """Splits a dataframe into a header and frames, without copying a column.

    The header is `bytes`; each frame is a `memoryview` of a column's own memory. They may travel by any
    transport that keeps their order.

    `obj` is a pandas DataFrame, Series or Index, a pyarrow Table, RecordBatch, RecordBatchReader or
    Array, a polars DataFrame or Series, or has `__arrow_c_stream__` or `__arrow_c_array__`. `target` says who
    will rebuild it: `"pandas"` (the default for pandas objects) keeps every dtype exactly, `"arrow"` (the
    default for everything else) is plain Arrow throughout. `writable` marks the frames as ones that the
    receiver may change in place. `compression` is `"lz4"` or `"zstd"`.

    >>> import pandas as pd
    >>> df = pd.DataFrame({"price": [1.5, 2.5]})
    >>> header, frames = to_buffers(df)
    >>> [frame.nbytes for frame in frames]
    [16]
    >>> from_buffers(header, frames).equals(df)
    True
    """
    header, frames, _ = encode(obj, target, writable, compression)
    return header, frames


def from_buffers(
    header: Any,
    frames: Any,
    *,
    writable: bool | None = None,
    allow_pickle: bool = False,
    into: str | None = None,
    columns: list | None = None,
    limits: Limits | dict | None = None,
) -> Any:
    """Rebuilds what `to_buffers` split, on the memory of the frames.

    `frames` are objects of the buffer protocol, at any alignment. `writable=None` leaves arrays as writable
    as the memory that they are in; `True` copies only what is not, `False` makes all read-only.
    `into` is `"pandas"`, `"pyarrow"` or `"polars"`; by default the kind comes back that was sent.
    `columns` are the labels of the only columns to decode, each once. `limits` bounds what the input may ask for:
    a `Limits`, or a dict of its arguments.

    Raises `DecodeError` for malformed input and `LimitError` for input that asks for too much. Raises
    `UntrustedPickleError` for a column that only an arbitrary pickle holds, unless `allow_pickle` is true:
    unpickling can run any code.

    >>> import numpy as np, pandas as pd
    >>> df = pd.DataFrame({"a": np.arange(3), "b": ["x", "y", None]})
    >>> again = from_buffers(*to_buffers(df))
    >>> bool(np.shares_memory(again["a"].to_numpy(), df["a"].to_numpy()))
    True
    """
    frames = list(frames)
    budget = Budget(limits, header, *frames)
    known = budget.limits
    if (kind := _native.kind(header)) != "dataframe":
        return _tensor(
            kind,
            lambda: _native.decode_tensor(header, frames, limits=known),
            lambda: _native.decode_sparse(header, frames, limits=known),
            writable,
            into or columns,
            budget,
        )

    def decode(places):
        return _native.decode(header, frames, places, limits=known)

    return rebuild(decode, header, writable, allow_pickle, into, columns, budget)


def dumps(
    obj: Any, *, target: str | None = None, writable: bool = False, compression: str | None = None
) -> bytes:
    """One Arrow IPC stream as bytes: the header and all frames, joined once.

    >>> import pandas as pd
    >>> loads(dumps(pd.Series([1, 2], name="n")))
    0    1
    1    2
    Name: n, dtype: int64
    """
    return b"".join(_segments(obj, target, writable, compression))


def loads(
    stream: Any,
    *,
    writable: bool | None = None,
    allow_pickle: bool = False,
    into: str | None = None,
    columns: list | None = None,
    limits: Limits | dict | None = None,
) -> Any:
    """Rebuilds an object from a stream (or an Arrow IPC file) in memory, on that memory."""
    budget = Budget(limits, stream)
    return _loads(stream, budget.limits, budget, writable, allow_pickle, into, columns)


def loads_within(stream: Any, budget: Budget, allow_pickle: bool, into: str) -> Any:
    """The object of a stream inside another one, within what is left of that one's budget."""
    return _loads(stream, budget.rest(), budget, None, allow_pickle, into, None)


def _loads(stream, limits, budget, writable, allow_pickle, into, columns) -> Any:
    if (kind := _native.kind(stream)) != "dataframe":
        return _tensor(
            kind,
            lambda: _native.decode_tensor_stream(stream, limits=limits),
            lambda: _native.decode_sparse_stream(stream, limits=limits),
            writable,
            into or columns,
            budget,
        )

    def decode(places):
        return _native.decode_stream(stream, places, limits=limits)

    return rebuild(decode, stream, writable, allow_pickle, into, columns, budget)


def dump(
    obj: Any, file: Any, *, target: str | None = None, writable: bool = False, compression: str | None = None
) -> int:
    """Writes one stream to a file (by its name, or open) or a socket, straight from the columns.

    Returns the number of bytes. A file that is named has its name when it is whole, or not at all. It
    keeps the permissions of the one that it replaces (owner and group too, where the system lets it); a
    new one has those of any new file, by the umask. It may still be in the system's memory when this
    returns, and a loss of power then can lose it: open the file, and call `os.fsync`, to be sure.
    What `write()` of an open file is handed is read-only.
    """
    from arrow_frames._io import write

    return write(_segments(obj, target, writable, compression), file)


def load(
    file: Any,
    *,
    writable: bool | None = None,
    allow_pickle: bool = False,
    into: str | None = None,
    columns: list | None = None,
    limits: Limits | dict | None = None,
) -> Any:
    """Reads one stream from a file (by its name, or open) or a socket, into aligned memory of its own.

    By its name also an Arrow IPC file. What the file's methods raise is raised as it is.
    """
    options: Any = {
        "writable": writable, "allow_pickle": allow_pickle, "into": into, "columns": columns, "limits": limits
    }  # fmt: skip
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb", buffering=0) as opened:
            is_file = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
            if is_file and opened.read(len(FILE_MAGIC)) == FILE_MAGIC:
                from arrow_frames._io import whole

                return loads(whole(opened), **options)
            if is_file:
                opened.seek(0)
            return load(opened, **options)
    header, frames = _native.receive(file, limits=_limits.of(limits))
    return from_buffers(header, frames, **options)


def memory_map(
    path: Any,
    *,
    allow_pickle: bool = False,
    into: str | None = None,
    columns: list | None = None,
    limits: Limits | dict | None = None,
) -> Any:
    """Rebuilds an object on a mapped file: nothing is read until it is used, or validated.

    The file must not change while anything refers to the object. Arrays are the file's pages: what is written to
    the file is in them, also what could never have been decoded, such as text that is not UTF-8. A page that is gone
    since the file was cut ends the process (SIGBUS) when it is touched, which no `except` catches. Write another
    file and rename it instead, as `dump` does.
    """
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return loads(b"")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return loads(mapped, allow_pickle=allow_pickle, into=into, columns=columns, limits=limits)


def detach(obj: Any) -> Any:
    """A copy that shares no memory with where the object came from."""
    header, frames = to_buffers(obj)
    return from_buffers(header, [bytearray(frame) for frame in frames], allow_pickle=True, limits=NONE)


def pack(obj: Any, *, target: str | None = None) -> bytes:
    """Header and frames as one blob, in dask.distributed's `pack_frames` layout."""
    header, frames = to_buffers(obj, target=target)
    return _native.pack([memoryview(header), *frames])


def unpack(packed: Any, **options: Any) -> Any:
    """Rebuilds an object from such a blob. The options are those of `from_buffers`."""
    header, *frames = _native.unpack(packed) or [memoryview(b"")]
    return from_buffers(header, frames, **options)


def copies(obj: Any, *, target: str | None = None) -> list[tuple[int, str, int]]:
    """What `to_buffers` copies of an object: for each copy the column, why, and how many bytes."""
    return encode(obj, target, False, None)[2]


def encode(
    obj: Any, target: str | None, writable: bool, compression: str | None
) -> tuple[bytes, list[memoryview], list[tuple[int, str, int]]]:
    """Header, frames and what was copied."""
    if target not in (None, "arrow", "pandas"):
        raise ValueError(f"target is 'arrow' or 'pandas', not {target!r}")
    encoded = encode_known(obj, target, writable, compression)
    if encoded is None:
        from arrow_frames import _object

        encoded = _object.encode(obj, compression)
    return encoded


def encode_known(obj: Any, target: str | None = None, writable: bool = False, compression: str | None = None):
    """The same of a dataframe, an array or a sparse matrix; none of any other object, or of a subclass."""
    pd = sys.modules.get("pandas")
    if pd is not None and isinstance(obj, (pd.DataFrame, pd.Series, pd.Index)):
        if type(obj) not in (pd.DataFrame, pd.Series) and not isinstance(obj, pd.Index):
            return None
        from arrow_frames import _pandas

        return _pandas.encode(obj, target or "pandas", writable, compression)
    if "numpy" in sys.modules:
        from arrow_frames import _numpy, _parts, _scipy

        for library in (_numpy, _scipy):
            if library.kind_of(obj) is not None:
                try:
                    return library.encode(obj, compression)
                except _parts.Unsupported:
                    return None
    kind = _arrow.kind_of(obj)
    return None if kind is None else _arrow.encode(obj, kind, target or "arrow", writable, compression)


def rebuild(decode, schema_source, writable, allow_pickle, into, columns, budget: Budget) -> Any:
    """Decodes, and makes the object that the note or the caller names."""
    places = None if columns is None else _places(schema_source, columns)
    decoded = decode(places)
    budget.count(decoded)
    metadata = dict(decoded.metadata)
    budget.claim(_note.parsed_bytes(metadata), "the note in the schema's metadata")
    note = _note.of(metadata)
    fields = decoded.fields
    budget.claim(FIELD_BYTES * len(fields), "the columns of the schema")
    has_opaque = any(mark is not None for _, _, _, _, mark in fields)
    kind = note.get("kind") or ("pandas.DataFrame" if has_opaque else "pyarrow.Table")
    if kind.startswith(("numpy.", "scipy.", "python.")):
        if into is not None or columns is not None:
            raise DecodeError(
                f"the stream holds a {kind}, which has no columns and comes back as no other kind"
            )
        return _whole(decoded, note, kind, allow_pickle, writable, budget)
    if into is not None:
        kind = _kind_into(into, kind)
        if kind == "arrow.Stream":
            return decoded.stream()
    if not kind.startswith("pandas."):
        with _malformed("object of Arrow"):
            return _arrow.decode(decoded.stream(), note, kind, budget)
    needed("pandas", "a dataframe of pandas")
    from arrow_frames._rebuild import Rebuild

    with _malformed("dataframe"):
        if places is not None:
            note = _projected(note, places)

        def decode_again(order: list[int]):
            return decode(order if places is None else [places[at] for at in order])

        rebuilt = Rebuild(decoded, decode_again, writable, allow_pickle, budget).frame(note, kind)
        if columns is not None and _has_blocks(note):
            # Of columns that are parts of one in the stream, all were decoded.
            rebuilt = rebuilt[list(columns)]
        if writable is False:
            from arrow_frames._access import read_only

            rebuilt = read_only(rebuilt)
        return rebuilt


def _tensor(
    kind: str, decode_tensor, decode_sparse, writable: bool | None, asked: Any, budget: Budget
) -> Any:
    """An array that is a message of its own."""
    from arrow_frames import _tensors

    if asked:
        raise DecodeError("the stream holds an array, which has no columns and comes back as no other kind")
    with _malformed("array"):
        return _tensors.decode(kind, decode_tensor, decode_sparse, writable, budget)


def _whole(decoded, note: dict, kind: str, allow_pickle: bool, writable: bool | None, budget: Budget) -> Any:
    """An object that is no dataframe."""
    from arrow_frames import _object

    library = kind.partition(".")[0]
    if library == "python":
        return _object.loaded(decoded, allow_pickle, writable, budget)
    needed(library, f"a {kind}")
    buffers = _object.buffers_of(decoded)
    with _malformed(kind):
        if library == "scipy":
            from arrow_frames import _scipy

            return _scipy.decode(note, buffers, writable, budget)
        from arrow_frames import _numpy

        return _numpy.decode(
            note, buffers, lambda: _object.loaded(decoded, allow_pickle, writable, budget), writable, budget
        )


@contextlib.contextmanager
def _malformed(what: str):
    """Makes what libraries raise for a stream that lies an error of the codec."""
    try:
        yield
    except (ArrowFramesError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise DecodeError(f"no {what} can be made of the stream: {type(error).__name__}: {error}") from error


def _segments(obj, target, writable, compression):
    header, frames, _ = encode(obj, target, writable, compression)
    return _native.segments(header, frames)


def _kind_into(into: str, kind: str) -> str:
    if into in KINDS:
        return into
    if kind in KINDS and kind.startswith(into + "."):
        return kind
    for first in KINDS:
        if first.startswith(into + "."):
            return first
    raise ValueError(f"into is 'pandas', 'pyarrow', 'polars' or one of {', '.join(KINDS)}; not {into!r}")


def _places(schema_source, columns: list) -> list[int]:
    """The columns of the stream that these labels and the index are."""
    fields, metadata = _native.schema(schema_source)
    names = [field[0] for field in fields]
    note = _note.of(dict(metadata))
    levels = 0
    with _malformed("dataframe"):
        if "arrays" in note:
            levels = _note.index_columns(note["index"])
            if not 0 <= levels <= len(names):
                raise DecodeError(f"the index has {levels} columns, of {len(names)} in all")
    data = len(names) - levels
    known: dict[Any, list[int]] = {}
    for at, label in enumerate(_labels(note) if _has_blocks(note) else names[:data]):
        known.setdefault(label, []).append(at)
    places: list[int] = []
    asked = set()
    for label in columns:
        if label not in known:
            raise KeyError(f"there is no column {label!r}")
        if label in asked:
            # Both would be one memory, and what is written to one would be in the other.
            raise ValueError(f"column {label!r} is asked for more than once")
        asked.add(label)
        places.extend(known[label])
    return list(range(len(names))) if _has_blocks(note) else [*places, *range(data, len(names))]


def _has_blocks(note: dict) -> bool:
    """Whether one column of the stream is several of the dataframe."""
    arrays = note.get("arrays")
    return isinstance(arrays, list) and any(isinstance(array, dict) for array in arrays)


def _labels(note: dict) -> list[str]:
    """The labels of the dataframe's columns."""
    with _malformed("dataframe"):
        if "names" not in note["labels"]:
            raise DecodeError("only columns that are called by text can be chosen")
        return [str(name) for name in note["labels"]["names"]]


def _projected(note: dict, places: list[int]) -> dict:
    """The note of those columns only."""
    if "arrays" not in note or len(places) == len(note["arrays"]) and places == list(range(len(places))):
        return note
    data = len(places) - _note.index_columns(note["index"])
    own = _labels(note)
    names = [own[at] for at in places[:data]]
    labels = {**note["labels"], "names": names}
    return {**note, "arrays": [note["arrays"][at] for at in places], "labels": labels}
