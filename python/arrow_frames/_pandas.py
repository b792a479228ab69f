"""DataFrames, Series and Indexes of pandas → columns and a note."""

import base64
import functools
import json

import numpy as np
import pandas as pd

from arrow_frames import _arrays, _note, _values
from arrow_frames._arrays import array_format, field_name, frequency, raw
from arrow_frames._native import Columns
from arrow_frames._parts import octets


def encode(obj, target: str, writable: bool, compression):
    """Header, frames and copies of a DataFrame, a Series or an Index."""
    if isinstance(obj, pd.Index):
        frame, kind = pd.DataFrame(index=obj), "pandas.Index"
    elif isinstance(obj, pd.Series):
        frame, kind = obj.to_frame(0), "pandas.Series"
    else:
        frame, kind = obj, "pandas.DataFrame"
    note = _note.new(kind)
    own = labels_of(frame.columns)
    names, blocks, arrays, dtypes = plan(frame, own, target)
    index, levels = plan_index(frame.index)
    data_columns = len(names)
    names += [_note.level_name(number) for number in range(len(levels))]
    columns = Columns(names, len(frame))
    for place, add in blocks:
        arrays[place] = add(columns)
    for number, level in enumerate(levels):
        arrays.append(level(columns, data_columns + number, target))
    note["arrays"] = arrays
    if kind != "pandas.Index":
        note["labels"] = plan_labels(frame.columns, own)
    if kind == "pandas.Series":
        note["name"] = _values.encode(obj.name)
    note["index"] = index
    if kind != "pandas.Index":
        if obj.attrs:
            note["attrs"] = _values.encode(obj.attrs)
        if not obj.flags.allows_duplicate_labels:
            note["unique_labels"] = True
    metadata = [_note.entry(note), ("pandas", describe(names, arrays, dtypes, index))]
    return columns.encode(metadata, writable=writable, compression=compression)


def labels_of(index: pd.Index) -> list:
    """The labels as Python's objects."""
    if isinstance(index.dtype, pd.StringDtype) and index.dtype.storage == "pyarrow":
        # Much faster than pandas, which looks at each.
        values = index.array.__arrow_array__()
        if not values.null_count:
            return values.to_pylist()
    return index.tolist()


def plan(frame: pd.DataFrame, own: list, target: str):
    """Names, what adds the columns, and a place in the note for each."""
    labels = [label if type(label) is str and label.isascii() else field_name(label) for label in own]
    width, rows = len(labels), len(frame)
    # A block whose rows are the dataframe's rows is one column on the wire.
    blocks = [(block.mgr_locs.as_array, values_of(block)) for block in frame._mgr.blocks]
    whole = {
        id(values): places for places, values in blocks if target == "pandas" and is_row_major(values, rows)
    }
    hidden = {int(place) for places in whole.values() for place in places[1:]}
    position: dict[int, int] = {}
    for place in range(width):
        if place not in hidden:
            position[place] = len(position)
    names = [labels[place] for place in position]
    adds, dtypes = [], [None] * len(names)
    for places, values in blocks:
        places = places.tolist()
        for place in places:
            if place in position:
                dtypes[position[place]] = values.dtype
        if id(values) in whole:
            adds.append(row_major(position[places[0]], places, values))
        else:
            adds.extend(block_adds([position[place] for place in places], values, target))
    return names, adds, [None] * len(names), dtypes


def values_of(block):
    """The array of a block: of naive datetimes, numpy's."""
    values = block.values
    if isinstance(values, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray)) and isinstance(
        values.dtype, np.dtype
    ):
        return values._ndarray
    return values


def is_row_major(values, rows: int) -> bool:
    """Whether the rows of the dataframe lie one behind the other, each without gaps."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufbcMm" or not values.dtype.isnative:
        return False
    return values.shape[0] > 1 and rows > 1 and values.T.flags.c_contiguous and values.size > 0


def row_major(position: int, places, values: np.ndarray):
    """What adds such a block as one column."""

    def add(columns):
        flat = values.T.reshape(-1)
        _arrays.put_form(columns, position, _arrays.frombuffer(flat), f"{values.dtype}[{len(places)}]")
        return {"rows": values.dtype.str, "places": places}

    return position, add


def block_adds(positions: list[int], values, target: str):
    """What adds the columns of a block."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        known = array_format(values.dtype)
        is_dense = values.strides[1] == values.itemsize or values.shape[1] <= 1
        if known is not None and not (is_dense and values.strides[0] < 0):
            # One copy of all, so that they come back as the one block that they are.
            dense = values if is_dense else np.ascontiguousarray(values)

            def add(columns):
                if dense is not values:
                    for position in positions:
                        columns.copied(position, "strided", dense.nbytes // len(dense))
                columns.block(positions, known, raw(dense))
                return "numpy"

            return [(positions[0], add)] + [(position, lambda _: "numpy") for position in positions[1:]]
        if (
            known is None
            and target == "pandas"
            and _arrays.is_raw(values.dtype)
            and values.flags.c_contiguous
        ):
            # Parts of one memory, which is seen to be one block when they come back.
            memory = octets(values)
            size = values.shape[1] * values.itemsize
            parts = [memory[at * size : (at + 1) * size] for at in range(len(positions))]
            return [
                (position, raw_adder(position, part, values.dtype))
                for position, part in zip(positions, parts)
            ]
        rows = list(values)
    elif values.ndim == 2:
        rows = [values[number] for number in range(values.shape[0])]
    else:
        rows = [values]
    return [(position, adder(position, row, target)) for position, row in zip(positions, rows)]


def adder(position: int, array, target: str):
    return lambda columns: _arrays.put(columns, position, array, target)


def raw_adder(position: int, memory: memoryview, dtype: np.dtype):
    return lambda columns: _arrays.put_raw(columns, position, memory, dtype)


def plan_labels(labels: pd.Index, own: list):
    """The labels of the columns: the fields' names where these say all, or an Index of its own."""
    name = _values.encode(labels.name) if labels.nlevels == 1 else None
    if type(labels) is pd.RangeIndex:
        return {"range": [labels.start, labels.stop, labels.step], "name": name}
    if type(labels) is pd.Index and all(type(label) is str and _values.is_unicode(label) for label in own):
        if labels.dtype == object:
            return {"text": "object", "names": own, "name": name}
        if isinstance(labels.dtype, pd.StringDtype):
            return {"text": _arrays.text_name(labels.dtype), "names": own, "name": name}
    from arrow_frames._codec import dumps

    return {"stream": base64.b64encode(dumps(labels)).decode()}


def plan_index(index: pd.Index):
    """What the note says of an index, and what adds its columns."""
    if type(index) is pd.RangeIndex:
        name = _values.encode(index.name)
        return {"range": [index.start, index.stop, index.step], "name": name}, []
    if isinstance(index, pd.MultiIndex):
        names = [_values.encode(name) for name in index.names]
        freqs = [frequency(level) for level in index.levels]
        return {"multi": len(index.levels), "names": names, "freqs": freqs}, [
            level_adder(codes, level) for codes, level in zip(index.codes, index.levels)
        ]
    array = _arrays.unwrapped(index.array)
    note = {"class": type(index).__name__, "name": _values.encode(index.name), "freq": frequency(index)}
    return note, [lambda columns, place, target: _arrays.put(columns, place, array, target)]


def level_adder(codes, level: pd.Index):
    codes, level = np.asarray(codes), level.rename(None)

    def add(columns, place: int, target: str):
        is_set = level.dtype != "category" and not level.hasnans and level.is_unique
        if is_set and type(level) is not pd.RangeIndex:
            try:
                return _arrays.put_categorical(columns, place, codes, level, False, target)
            except TypeError:
                pass
        # No categories of a categorical, since these are a set, or three numbers: an Index of its own, in the note.
        from arrow_frames._codec import dumps

        _arrays.put_numpy(columns, place, codes, target)
        return "level:" + base64.b64encode(dumps(level)).decode()

    return add


def describe(names: list[str], arrays: list, dtypes: list, index: dict) -> str:
    """pandas' own metadata, for readers that know nothing of ours."""
    index_columns: list = names[len(dtypes) :]
    if "range" in index:
        start, stop, step = index["range"]
        text = index["name"] if isinstance(index["name"], str) else None
        index_columns = [{"kind": "range", "name": text, "start": start, "stop": stop, "step": step}]
    entries = [entry(name, name, types(array, dtype)) for name, array, dtype in zip(names, arrays, dtypes)]
    entries += [entry(None, name, OPAQUE) for name in names[len(dtypes) :]]
    head = f'{{"index_columns": {json.dumps(index_columns)}, "column_indexes": [], "columns": ['
    tail = f'], "creator": {{"library": "arrow_frames"}}, "pandas_version": "{pd.__version__}"}}'
    return head + ", ".join(entries) + tail


#: What the metadata says of a column that other readers see as nulls.
OPAQUE = ("empty", "object")


@functools.lru_cache(4096)
def entry(name: str | None, field_name: str, types: tuple[str, str]) -> str:
    """What the metadata says of a column: the same for every batch of a stream."""
    described = {"name": name, "field_name": field_name, "pandas_type": types[0], "numpy_type": types[1]}
    return json.dumps({**described, "metadata": None})


def types(array, dtype) -> tuple[str, str]:
    """What the metadata calls the type of a column, and the dtype that a reader builds."""
    if array in ("numpy", "bool", "masked") or str(array).startswith("arrow:"):
        return named(dtype)
    return OPAQUE


@functools.lru_cache(256)
def named(dtype) -> tuple[str, str]:
    """The two names of a dtype: numpy takes long to say them."""
    text = str(dtype)
    return {"M": "datetime", "m": "timedelta"}.get(getattr(dtype, "kind", ""), text.lower()), text
