"""Columns and a note → DataFrames, Series and Indexes of pandas."""

import base64
import datetime
import functools
import json
from collections import deque
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from arrow_frames import _note, _parts, _values, _zones
from arrow_frames._arrays import MAJOR, field_name, period_name, unwrapped, zone_library, zone_name
from arrow_frames._errors import UntrustedPickleError, needed, optional
from arrow_frames._hashes import check_values, hashed
from arrow_frames._limits import Budget
from arrow_frames._native import (
    ArrowFramesError,
    DecodeError,
    LimitError,
)
from arrow_frames._object import unpickled

# The formats of Arrow's C data interface as numpy's dtypes; `?` and complex ones are numpy's own.
DTYPES = _parts.DTYPES | {
    format: np.dtype(code) for format, code in (("b", "?"), ("?", "?"), ("c8", "<c8"), ("c16", "<c16"))
}

# Frequencies of indexes by the names that pandas before 2.2 has.
OLD_FREQS = {
    "ME": "M", "QE": "Q", "YE": "A", "Y": "A", "BME": "BM", "BQE": "BQ", "BYE": "BA", "YS": "AS", "BYS": "BAS",
    "h": "H", "min": "T", "s": "S", "ms": "L", "us": "U", "ns": "N",
}  # fmt: skip


#: What the note calls columns whose values only their payload has.
OPAQUE = ("form", "raw", "objects", "pickle")

#: Bytes of a small Python object and of a reference to it.
OBJECT_BYTES = 64

#: Characters of the labels that are kept for the next stream.
MAX_CACHED = 1 << 16

# Characters of the name of a frequency: pandas looks for ever at what is long.
MAX_FREQ = 64


class Rebuild:
    """What one dataframe is rebuilt with."""

    def __init__(
        self, decoded, decode_again, writable: bool | None, allow_pickle: bool, budget: Budget
    ) -> None:
        self.budget = budget
        self.take(decoded)
        self.rows = decoded.rows
        #: Decodes the columns at some places, in the order of these.
        self.decode_again = decode_again
        self.writable = writable
        self.allow_pickle = allow_pickle

    def take(self, decoded) -> None:
        self.decoded = decoded
        self.fields = decoded.fields
        self.batches = decoded.batches
        #: Columns of several batches as one, by their place.
        self.joined: dict[int, Any] = {}

    def frame(self, note: dict, kind: str):
        """The object of that kind that the note describes."""
        arrays: Any = note.get("arrays")
        data = 0
        labels: Any = None
        if isinstance(arrays, list):
            levels = _note.index_columns(note["index"])
            data = len(arrays) - levels
            if not 0 <= data <= len(arrays):
                raise DecodeError(f"the index has {levels} columns, of {len(arrays)} in all")
            labels = self.labels(note["labels"]) if kind != "pandas.Index" else None
        if not isinstance(arrays, list) or not self.fits(note, arrays, data, labels):
            # Somebody has added, taken or moved columns.
            if kind != "pandas.DataFrame":
                raise DecodeError(f"nothing says what of the columns is the {kind}")
            found = self.refitted(arrays, data, labels) if isinstance(arrays, list) else None
            if found is None:
                if isinstance(arrays, list) and any(
                    isinstance(entry, dict) or entry in OPAQUE for entry in arrays
                ):
                    self.check_no_nulls()
                return self.unnoted()
            arrays, data, labels = found
        index = self.index(note["index"], arrays, data)
        if kind == "pandas.Index":
            return index
        frame = assemble(self.blocks(arrays[:data], len(labels)), index, labels)
        if kind == "pandas.Series":
            if frame.shape[1] != 1:
                raise DecodeError(f"a Series has one column, and there are {frame.shape[1]}")
            # The column as it is: under copy-on-write even a view of it would share what it writes.
            series = frame.iloc[:, 0]
            series.name = self.value(note.get("name"), "the name")
            frame = series
        if "attrs" in note:
            if not isinstance(note["attrs"], dict):
                raise DecodeError("the attrs are no dict")
            frame.attrs = self.value(note["attrs"], "the attrs")
        if note.get("unique_labels"):
            self.check_unique(frame)
            frame.flags.allows_duplicate_labels = False
        return frame

    def check_no_nulls(self) -> None:
        """Refuses columns of nulls that may have been opaque: which ones were, nothing says any more."""
        for at, (_, _, _, _, mark) in enumerate(self.fields):
            if mark is None and self.decoded.is_null(at):
                raise self.lost(at)

    def lost(self, at: int) -> DecodeError:
        """The error that something rewrote the stream, and has left out what it does not know."""
        return DecodeError(
            f"the payload of column {self.fields[at][0]!r} was lost: something rewrote the stream without it"
        )

    def check_unique(self, frame) -> None:
        """Refuses labels that take pandas too long to compare with each other."""
        for labels, what in zip(frame.axes, ("the labels of the rows", "the labels of the columns")):
            if not isinstance(labels, pd.RangeIndex):
                for level in labels.levels if isinstance(labels, pd.MultiIndex) else [labels]:
                    check_values(level, what)

    def fits(self, note: dict, arrays: list, data: int, labels) -> bool:
        """Whether the columns are those that the note describes, by their number and names."""
        if len(arrays) != len(self.fields):
            return False
        if any(name != _note.level_name(number) for number, (name, *_) in enumerate(self.fields[data:])):
            return False
        if labels is None or any(isinstance(array, dict) for array in arrays):
            # No names, or a column of several labels.
            return True
        if len(labels) != data:
            return False
        names = [field[0] for field in self.fields[:data]]
        own = note["labels"].get("names")
        return names == own or names == [field_name(label) for label in own or labels.tolist()]

    def refitted(self, arrays: list, data: int, labels):
        """What the note says of the columns that are there now, which are brought into the order that it has."""
        if labels is None or len(labels) != data or any(isinstance(array, dict) for array in arrays):
            return None
        # An index says of its columns what their names are; of two columns of one name, the first comes first.
        known: dict[str, deque[int]] = {}
        for at, label in enumerate(labels.tolist()):
            known.setdefault(field_name(label), deque()).append(at)
        index = {_note.level_name(number): data + number for number in range(len(arrays) - data)}
        places, entries, own = [], [], []
        levels: dict[int, int] = {}
        for place, (name, *_) in enumerate(self.fields):
            if name in index and name not in known:
                levels[index.pop(name)] = place
                continue
            number = known[name].popleft() if known.get(name) else None
            places.append(place)
            entries.append(None if number is None else arrays[number])
            own.append(name if number is None else labels[number])
        if index:
            return None
        self.take(self.decode_again(places + [levels[at] for at in sorted(levels)]))
        is_text = labels.nlevels > 1 or any(type(label) is str for label in own)
        dtype = object if is_text and not isinstance(labels.dtype, pd.StringDtype) else labels.dtype
        changed = pd.Index(own, dtype=dtype, tupleize_cols=labels.nlevels > 1 and None not in entries)
        changed.names = labels.names if changed.nlevels == labels.nlevels else [None]
        return entries + arrays[data:], len(entries), changed

    def unnoted(self) -> pd.DataFrame:
        """A dataframe of what the metadata of pandas says of each column, or else its type."""
        names = [field[0] for field in self.fields]
        described = self.described()
        entries: dict[str, deque[dict]] = {}
        for entry in _parts.items(described.get("columns", []), "the columns of pandas' metadata"):
            entries.setdefault(entry.get("field_name") or entry.get("name"), deque()).append(entry)
        own = [entries[name].popleft() if entries.get(name) else {} for name in names]
        places: dict[str, int] = {}
        for at, name in enumerate(names):
            places.setdefault(name, at)
        arrays = [
            self.any_array(place, kind_of(entry, self.fields[place])) for place, entry in enumerate(own)
        ]
        keys, index = [], pd.RangeIndex(self.rows)
        for key in _parts.items(described.get("index_columns", []), "the index columns of pandas' metadata"):
            if isinstance(key, dict):
                counted = range_index([key["start"], key["stop"], key["step"]], key["name"])
                index = counted if len(counted) == self.rows else index
            elif key in places:
                keys.append(places[key])
        if keys:
            for key in keys:
                check_values(arrays[key], f"the index column {names[key]!r}")
            levels = [pd.Index(arrays[key], name=own[key].get("name"), copy=False) for key in keys]
            index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
        taken = set(keys)
        data = [place for place in range(len(names)) if place not in taken]
        blocks = [(ensured(arrays[place]), np.array([at], np.intp)) for at, place in enumerate(data)]
        labels = [names[place] for place in data]
        return assemble(blocks, index, pd.Index(labels, dtype=None if labels else object))

    def described(self) -> dict:
        """pandas' own metadata, if there is some."""
        try:
            described = json.loads(dict(self.decoded.metadata).get("pandas", "{}"))
        except ValueError:
            return {}
        return described if isinstance(described, dict) else {}

    def blocks(self, arrays: list, width: int) -> list:
        """Arrays and the places that they have in the dataframe."""
        if any(isinstance(array, dict) for array in arrays):
            noted = [places_of(array) if isinstance(array, dict) else None for array in arrays]
            taken = {at for own in noted if own is not None for at in own[1:]}
            free = (at for at in range(width) if at not in taken)
            places: list[list[int]] = []
            for own in noted:
                first = next(free, width)
                places.append([first] if own is None else own)
        else:
            places = [[at] for at in range(len(arrays))]
        if sum(map(len, places)) != width or sorted(at for some in places for at in some) != list(
            range(width)
        ):
            # pandas believes that each place is there once.
            raise DecodeError(f"there are {width} labels, and the columns are at other places")
        blocks = []
        if len(self.batches) == 1 and self.rows:
            plain = [at for at, array in enumerate(arrays) if self.is_plain(at, array)]
            for array, columns in self.plain_blocks(plain):
                blocks.append((array, np.array([places[at][0] for at in columns], np.intp)))
            done = set(plain)
        elif not self.rows:
            done = set()
            for format, columns in self.empty_blocks(arrays):
                empty = np.empty((len(columns), 0), DTYPES[format])
                blocks.append((narrowed(empty), np.array([places[at][0] for at in columns], np.intp)))
                done.update(columns)
        else:
            done = set()
        for at, array in enumerate(arrays):
            if at not in done:
                blocks.append((ensured(self.any_array(at, array)), np.array(places[at], np.intp)))
        return blocks

    def is_plain(self, at: int, array) -> bool:
        """Whether a column is numbers that lie as numpy has them."""
        mark = self.fields[at][4]
        if array == "numpy":
            return mark is None and is_numbers(self.fields[at])
        return array == "raw" and mark is not None

    def empty_blocks(self, arrays: list):
        """Numbers without rows, by their format: one array for all of it."""
        formats: dict[str, list[int]] = {}
        for at, array in enumerate(arrays):
            if array == "numpy" and self.is_plain(at, array):
                formats.setdefault(self.fields[at][1], []).append(at)
        return formats.items()

    def plain_blocks(self, columns: list[int]):
        """Numbers as arrays of two dimensions, one for columns that lie at a constant stride."""
        for format, places, memory, stride in self.decoded.blocks(0, columns, False):
            dtype = DTYPES[format]
            array = np.ndarray((len(places), self.rows), dtype, memory, 0, (stride, dtype.itemsize))
            yield self.with_access(narrowed(array)), places

    def any_array(self, at: int, array):
        """One column: an array of pandas or numpy, of two dimensions if it is a block."""
        if len(self.batches) > 1 and (whole := self.whole(at)) is not None:
            return self.piece(whole, 0, 0, self.rows, self.fields[at], array)
        pieces = [
            self.piece(self.decoded, batch, at, rows, self.fields[at], array)
            for batch, rows in enumerate(self.batches)
        ]
        if len(pieces) == 1:
            return pieces[0]
        return joined(pieces, self.fields[at][1])

    def whole(self, at: int):
        """The batches of a column as one, which is much faster than one after another; none if they are not alike."""
        if at not in self.joined:
            self.joined[at] = self.decoded.joined(at)
        return self.joined[at]

    def piece(self, decoded, batch: int, at: int, rows: int, field, array):
        """One batch of a column."""
        _, format, _, nulls, mark = field
        if mark is not None:
            return self.as_noted(self.opaque(batch, at, array, rows), array)
        kind = array if isinstance(array, str) else ""
        if array is not None and not kind.startswith("arrow:") and rows and decoded.is_null(at):
            # No array of pandas is one of nulls, but Arrow's own: whoever rewrote the stream saw an opaque column so.
            raise self.lost(at)
        if kind == "numpy" and is_numbers(field):
            return self.numbers(decoded, batch, at, rows, field, strict=False)
        if kind == "bool" and format == "b" and nulls == 0:
            return np.frombuffer(decoded.boolean(batch, at), "?")
        if kind == "masked" and format is not None:
            return self.masked(decoded, batch, at)
        return self.as_noted(self.arrow(decoded, batch, at, kind, rows, field), kind)

    def arrow(self, decoded, batch: int, at: int, kind: str, rows: int, field):
        """An Arrow column that is no plain numbers, as the note or its type says."""
        name, format, nullable, _, _ = field
        if not kind and format is not None:
            if is_numbers(field) and (not nullable or format[0] == "t"):
                return self.numbers(decoded, batch, at, rows, field, strict=True)
            if format != "e":
                return self.masked(decoded, batch, at)
            # pandas has no nullable one.
            kind = "arrow:"
        for zone in decoded.zones(at):
            _zones.checked(zone)
        pa = needed("pyarrow", "an Arrow column in pandas")
        array = decoded.array(batch, at)
        array.check_hashes()
        is_null, has_arrow = decoded.is_null(at), hasattr(pd, "ArrowDtype")
        is_arrow = kind.startswith("arrow:") or not decoded.is_text_or_dictionary(at)
        if is_null or not has_arrow or not is_arrow:
            # pandas makes objects, or an array of its own. None is one object for all.
            size = array.copy_nbytes(0 if is_null else OBJECT_BYTES)
            self.budget.claim(size, f"column {name!r} in pandas")
        return from_pyarrow(array.to_pyarrow(pa), kind)

    def numbers(self, decoded, batch: int, at: int, rows: int, field, strict: bool):
        if rows == 0:
            return np.empty(0, DTYPES[field[1]])
        [(format, _, memory, _)] = decoded.blocks(batch, [at], strict)
        return self.with_access(narrowed(np.frombuffer(memory, DTYPES[format])))

    def masked(self, decoded, batch: int, at: int):
        """An array of a nullable dtype."""
        format, values, mask = decoded.masked(batch, at)
        values = self.with_access(np.frombuffer(values, DTYPES[format]))
        classes = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
        kind = classes.get("b" if format == "b" else values.dtype.kind, pd.arrays.IntegerArray)
        return kind(values, np.frombuffer(mask, "?"))

    def opaque(self, batch: int, at: int, array, rows: int):
        """What a pickle holds, if it is one that is safe to load, or is allowed."""
        buffers, refused, size = self.decoded.opaque(batch, at)
        name = self.fields[at][0]
        if not self.allow_pickle:
            self.budget.claim(size, f"the pickle of column {name!r}")
        if refused is not None and not self.allow_pickle:
            raise UntrustedPickleError(f"column {name!r}", refused)
        try:
            loaded = unpickled(buffers, self.writable)
        except Exception as error:
            if refused is not None:
                raise
            # A form of ours that this pandas does not take, or takes otherwise.
            loaded = older(self.decoded.resolved(batch, at), self.fields[at][4], array, name, error)
        if not hasattr(type(loaded), "__len__"):
            raise DecodeError(f"column {name!r} is a {type(loaded).__name__}, which has no rows")
        expected = rows
        if isinstance(array, dict):
            places = places_of(array)
            expected = rows * len(places)
        # Before the array of an index is asked for: that of a range would be made.
        if len(loaded) != expected:
            raise DecodeError(f"column {name!r} has {len(loaded)} rows, not {expected}")
        if isinstance(loaded, (pd.RangeIndex, pd.MultiIndex)):
            self.budget.claim(OBJECT_BYTES * len(loaded), f"column {name!r} in pandas")
        if isinstance(loaded, (pd.Series, pd.Index)):
            loaded = loaded.array
        loaded = unwrapped(loaded)
        is_numpy = isinstance(loaded, np.ndarray)
        if isinstance(array, dict) or array in ("raw", "objects"):
            if type(loaded) is not np.ndarray:
                raise DecodeError(f"column {name!r} is not what its metadata says")
        elif not is_numpy and not isinstance(loaded, pd.api.extensions.ExtensionArray):
            raise DecodeError(f"column {name!r} is a {type(loaded).__name__}, which is no column")
        if loaded.ndim != 1:
            raise DecodeError(f"column {name!r} has {loaded.ndim} dimensions")
        if isinstance(array, dict):
            return narrowed(loaded.reshape(rows, len(places)).T)
        return loaded

    def as_noted(self, array, entry):
        """The array with what no pickle says of its zone, or of the frequency of its categories."""
        if not isinstance(entry, str) or not entry.startswith(("zone:", "freq:", "range:")):
            return array
        for part in entry.split(";"):
            key, _, value = part.partition(":")
            if isinstance(array, pd.Categorical):
                of = array.categories
                if key == "freq":
                    of = self.with_freq(of, value)
                elif key == "range":
                    counted = range_index(list(map(int, value.split(","))), None)
                    if len(counted) != len(of) or not counted.equals(of):
                        raise DecodeError(f"the categories are not the range {value}")
                    of = counted
                elif isinstance(of, pd.DatetimeIndex):
                    of = pd.DatetimeIndex(with_zone(of.array, value), copy=False)
                array = pd.Categorical.from_codes(array.codes, of, array.ordered)
            elif key == "zone" and isinstance(array, pd.arrays.DatetimeArray):
                array = with_zone(array, value)
        return array

    def index(self, note: dict, arrays: list, first: int):
        """The index of the rows."""
        if "range" in note:
            index = range_index(note["range"], self.value(note["name"], "the name of the index"))
            # Somebody has taken rows: which, nobody says.
            return index if len(index) == self.rows else pd.RangeIndex(self.rows, name=index.name)
        if "multi" in note:
            levels, codes = [], []
            names = _parts.items(note["names"], "the names of the index")
            freqs = _parts.items(note["freqs"], "the frequencies of the index")
            if not len(names) == len(freqs) == _note.index_columns(note):
                raise DecodeError(f"an index of {len(names)} names and {len(freqs)} frequencies")
            for number, freq in enumerate(freqs):
                kind = arrays[first + number]
                if not isinstance(kind, str):
                    raise DecodeError(f"level {number} of the index is not what its metadata says")
                if kind.startswith("level:"):
                    what = f"the codes of level {number} of the index"
                    level = self.stream(kind.partition(":")[2], f"level {number} of the index")
                    if isinstance(level, pd.MultiIndex):
                        raise DecodeError(f"level {number} of the index has levels of its own")
                    code = _parts.numbers(self.any_array(first + number, "numpy"), what, "i", self.rows)
                    if len(code) and not -1 <= int(code.min()) <= int(code.max()) < len(level):
                        # pandas would read memory that is not there.
                        raise DecodeError(
                            f"level {number} of the index has codes beyond its {len(level)} values"
                        )
                    levels.append(level)
                    codes.append(code)
                    continue
                array = self.any_array(first + number, kind)
                if not isinstance(array, pd.Categorical):
                    raise DecodeError(f"level {number} of the index is not what its metadata says")
                levels.append(self.with_freq(array.categories, freq))
                codes.append(array.codes)
            own = [self.value(name, "a name of the index") for name in names]
            return pd.MultiIndex(levels, codes, names=own, verify_integrity=False)
        array = self.any_array(first, arrays[first])
        name = self.value(note["name"], "the name of the index")
        dtype = object if isinstance(array, np.ndarray) and array.dtype == object else None
        index = pd.Index(array, dtype=dtype, name=None, copy=False)
        if name is not None:
            index.name = name
        return self.with_freq(index, note.get("freq"))

    def with_freq(self, index: pd.Index, freq):
        if freq is None:
            return index
        if isinstance(freq, dict):
            freq = self.value(freq, "the frequency of the index")
        else:
            freq = offset(freq)
        if not isinstance(freq, pd.offsets.Tick):
            # To compare, pandas makes every day from the first value to the last one.
            days = abs(int(getattr(freq, "n", 1))) * len(index)
            self.budget.claim(OBJECT_BYTES * days, "the frequency of an index")
        # Categories are shared by whoever has them.
        index = index.view() if isinstance(index, pd.DatetimeIndex) else index
        try:
            index.freq = freq
        except ValueError:
            # pandas may not find out by itself what comes after one value.
            if len(index) > 1:
                raise
            index._data._freq = freq
        return index

    def labels(self, note: dict) -> pd.Index:
        """The labels of the columns."""
        if "stream" in note:
            return self.stream(note["stream"], "the labels of the columns")
        name = self.value(note["name"], "the name of the columns")
        if "range" in note:
            return range_index(note["range"], name)
        names = _parts.items(note["names"], "the labels of the columns")
        if not all(type(label) is str for label in names):
            raise DecodeError("the labels of the columns are no text")
        is_short = sum(map(len, names)) < MAX_CACHED
        labels = (text_labels if is_short else text_labels.__wrapped__)(tuple(names), note["text"])
        # Before pandas 3, whoever has the labels may assign to their array.
        labels = labels.view() if MAJOR >= 3 else labels.copy(deep=True)
        labels.name = name
        return labels

    def stream(self, text: str, what: str) -> pd.Index:
        """An Index of its own in the note."""
        from arrow_frames._codec import loads_within

        try:
            return loads_within(base64.b64decode(text), self.budget, self.allow_pickle, "pandas.Index")
        except UntrustedPickleError as error:
            raise UntrustedPickleError(what, error.why) from error
        except LimitError:
            raise
        except ArrowFramesError as error:
            raise DecodeError(f"{what}: {error}") from error

    def value(self, value, what: str):
        return _values.decode(value, what, self.allow_pickle)

    def with_access(self, array: np.ndarray) -> np.ndarray:
        """The array, writable if that was asked. The whole object is made read-only in the end, if that was."""
        return array.copy() if self.writable and not array.flags.writeable else array


def places_of(noted: dict) -> list[int]:
    """Where the columns are that a note says are one column of the stream."""
    places = list(_parts.naturals(noted.get("places"), _parts.MAX_BYTES))
    if not places:
        raise DecodeError("a column of the stream that is no column")
    return places


def range_index(numbers: Any, name) -> pd.RangeIndex:
    """The range of three numbers, no larger than an index may be."""
    integers = _parts.integers(numbers, 3)
    if len(integers) != 3 or not integers[2]:
        raise DecodeError(f"{integers} is no range")
    if len(range(*integers)) > _parts.MAX_BYTES:
        raise DecodeError(f"{integers} is a range of too many numbers")
    return pd.RangeIndex(*integers, name=name)


def is_numbers(field) -> bool:
    """Whether numpy has the values of a column as they are: datetimes also where some are missing."""
    _, format, _, nulls, _ = field
    return format is not None and format != "b" and (nulls == 0 or format[0] == "t")


def kind_of(entry: dict, field) -> str | None:
    """What the metadata of pandas says of a column that may be numpy's."""
    numpy_type = entry.get("numpy_type", "")
    if not numpy_type[:1].islower() or numpy_type == "boolean":
        return None
    _, format, _, nulls, _ = field
    if format == "b":
        return "bool" if nulls == 0 else None
    return "numpy" if is_numbers(field) else None


def assemble(blocks: list, index: pd.Index, columns: pd.Index) -> pd.DataFrame:
    """A DataFrame of blocks, as pyarrow assembles them. pandas takes their shapes on trust."""
    for array, places in blocks:
        shape = (len(places), len(index)) if isinstance(array, np.ndarray) else (len(index),)
        if array.shape != shape or array.ndim == 1 and len(places) != 1:
            raise DecodeError(f"an array of {array.shape} for {len(places)} columns of {len(index)} rows")
    if MAJOR >= 3:
        from pandas.api.internals import create_dataframe_from_blocks

        return create_dataframe_from_blocks(blocks, index=index, columns=columns)
    from pandas.core.internals import BlockManager, make_block

    manager = BlockManager(
        [make_block(array, placement=places) for array, places in blocks], [columns, index]
    )
    if hasattr(pd.DataFrame, "_from_mgr"):
        return pd.DataFrame._from_mgr(manager, manager.axes)
    return pd.DataFrame(manager)


def ensured(array):
    """Numbers as the rows of a block."""
    return array[np.newaxis] if isinstance(array, np.ndarray) and array.ndim == 1 else array


def narrowed(array: np.ndarray) -> np.ndarray:
    """Datetimes in nanoseconds where pandas has no other: an error if some are out of their range."""
    if MAJOR >= 2 or array.dtype.kind not in "Mm" or array.dtype.str.endswith("[ns]"):
        return array
    narrow = array.astype(array.dtype.str[:3] + "[ns]")
    if (narrow.astype(array.dtype) != array)[~np.isnat(array)].any():
        raise DecodeError(
            f"this pandas has no {array.dtype}, and some values are out of the range of nanoseconds"
        )
    return narrow


def offset(freq: str):
    """The offset of that name, also where pandas has an older one for it."""
    if len(freq) > MAX_FREQ:
        raise DecodeError(f"a frequency of {len(freq):,} characters")
    try:
        return pd.tseries.frequencies.to_offset(freq)
    except ValueError:
        digits = freq[: len(freq) - len(freq.lstrip("-0123456789"))]
        base, _, anchor = freq[len(digits) :].partition("-")
        old = OLD_FREQS.get(base)
        if old is None:
            raise DecodeError(f"this pandas has no frequency {freq!r}") from None
        return pd.tseries.frequencies.to_offset(digits + old + (f"-{anchor}" if anchor else ""))


@functools.lru_cache(64)
def text_labels(names: tuple[str, ...], dtype: str) -> pd.Index:
    """Labels of text: pandas takes long to make an Index of them, and streams repeat them."""
    return pd.Index(list(names), dtype=text_dtype(dtype))


def text_dtype(name: str):
    """The text dtype of that name, or what this pandas has instead of it."""
    if name == "object":
        return object
    base, _, storage = name.partition("[")
    storage = storage.rstrip("]") or "pyarrow"
    if base == "string":
        return pd.StringDtype(storage)
    if MAJOR >= 3:
        return pd.StringDtype(storage, na_value=np.nan)
    return object


def joined(pieces: list, format):
    """The batches of a column as one array."""
    if not pieces:
        return np.empty(0, DTYPES.get(format, object))
    if all(isinstance(piece, pd.Categorical) for piece in pieces):
        # Each is known to be quick; all of them together may not be.
        for arrays in zip(*(list(hashed(piece.categories)) for piece in pieces)):
            check_values(np.concatenate(arrays), "the categories of all batches")
        return pd.api.types.union_categoricals(pieces)
    if all(isinstance(piece, np.ndarray) for piece in pieces):
        return np.concatenate(pieces)
    series = [pd.Series(piece, dtype=piece.dtype, copy=False) for piece in pieces]
    return unwrapped(pd.concat(series, ignore_index=True).array)


def from_pyarrow(values, kind: str):
    """An array of pyarrow as one of pandas, of the dtype that the note names."""
    import pyarrow as pa

    if kind.startswith("arrow:"):
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([values]))
    if pa.types.is_dictionary(values.type):
        indices = values.indices
        codes = indices.fill_null(-1) if indices.null_count else indices
        if values.type.index_type.bit_width and not pa.types.is_signed_integer(values.type.index_type):
            codes = indices.cast(pa.int64()).fill_null(-1)
        own = values.dictionary.type
        is_ours = is_text(own) or pa.types.is_timestamp(own) and own.tz is not None
        categories = from_pyarrow(values.dictionary, "") if is_ours else values.dictionary.to_pandas()
        return pd.Categorical.from_codes(
            codes.to_numpy(zero_copy_only=False), pd.Index(categories), values.type.ordered
        )
    if is_text(values.type):
        dtype = text_dtype(kind.partition(":")[2] or ("str" if MAJOR >= 3 else "object"))
        if dtype is object:
            return values.to_numpy(zero_copy_only=False)
        if dtype.storage == "python":
            return pd.array(values.to_pylist(), dtype=dtype)
        if MAJOR < 3:
            values = values.cast(pa.string()) if pd.__version__ < "2.2" else values
            return pd.arrays.ArrowStringArray(pa.chunked_array([values]))
        return dtype.__from_arrow__(values)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        return zoned(values)
    if pa.types.is_null(values.type):
        return np.full(len(values), None, object)
    if hasattr(pd, "ArrowDtype"):
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([values]))
    return pd.Series(values.to_pylist(), dtype=object).to_numpy()


def zoned(values):
    """Timestamps in a zone."""
    import pyarrow as pa

    unit, zone = values.type.unit, _zones.checked(values.type.tz)
    numbers = values.view(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(np.iinfo("i8").min)
    datetimes = narrowed(numbers.to_numpy(zero_copy_only=False).view(f"M8[{unit}]"))
    unit = np.datetime_data(datetimes.dtype)[0]
    return pd.array(datetimes.view("i8"), pd.DatetimeTZDtype(unit, zone), copy=False)


def with_zone(array, library: str):
    """Datetimes in the zone that a library has, where this pandas has chosen another's of the same name."""
    zone = array.dtype.tz
    own = zone and zone_of(zone, library)
    return array if own is zone else array.tz_convert(own)


def zone_of(zone, library: str):
    """The time zone of that name which a library has, if it is there."""
    if zone_library(zone) == library:
        return zone
    name = zone_name(zone, as_call=False)
    if library == "zoneinfo":
        return ZoneInfo(name)
    if library == "pytz" and (pytz := optional("pytz")) is not None:
        if name[0] in "+-":
            return pytz.FixedOffset(int(zone.utcoffset(None).total_seconds()) // 60)
        return pytz.timezone(name)
    return datetime.UTC if library == "datetime" and name == "UTC" else zone


def is_text(kind) -> bool:
    """Whether a type of pyarrow is one of text; views are new in 16."""
    import pyarrow as pa

    names = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(pa.types, name, lambda _: False)(kind) for name in names)


def older(array, mark: str, kind, name: str, error: Exception):
    """What this pandas has instead of a form that it does not take: of text, zones and periods."""
    pa = needed("pyarrow", f"column {name!r} on this pandas")
    try:
        values = array.to_pyarrow(pa)
        dtype = json.loads(mark)["type_name"]
        if dtype.startswith("period["):
            ordinals = values.cast(pa.int64()).fill_null(np.iinfo("i8").min).to_numpy(zero_copy_only=False)
            return pd.arrays.PeriodArray(ordinals, pd.PeriodDtype(offset(period_name(dtype[7:-1]))))
        if any(known(values.type) for known in (is_text, pa.types.is_timestamp, pa.types.is_dictionary)):
            return from_pyarrow(values, kind if isinstance(kind, str) else "")
    except Exception as reason:  # noqa: BLE001 - whatever pandas raises is why
        raise DecodeError(f"this pandas cannot have column {name!r}: {reason}") from error
    raise DecodeError(f"this pandas cannot have column {name!r}: {error}") from error
