"""Arrays of pandas → columns: each as the memory that it has, or as a pickle of public constructors.

Every function takes `columns` (what is being encoded), the place of the column in it and the array,
and returns what the note says of the column: how `_rebuild` makes it again.
"""

import functools
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd

from arrow_frames import _values
from arrow_frames._errors import optional
from arrow_frames._native import Call, Objects, OutOfBand
from arrow_frames._native import pickle as written
from arrow_frames._parts import FORMATS, octets
from arrow_frames._values import is_unicode

MAJOR = int(pd.__version__.split(".")[0])

# Frequencies of periods, by names that most versions of pandas know.
PERIODS = {"A": "Y", "H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns"}

# How many bytes a dense array may have to stand for a sparse one, or how many times the sparse one's.
SPARSE_BYTES, SPARSE_FACTOR = 1 << 20, 8


class Inexact(TypeError):
    """No form of ours keeps the array exactly."""


def array_format(dtype: np.dtype) -> str | None:
    """The Arrow format of a numpy dtype, if Arrow has the same numbers."""
    return FORMATS.get(dtype.str[1:]) if dtype.isnative else None


def put(columns, place: int, array, target: str) -> str:
    """Adds one array of one dimension."""
    if isinstance(array, np.ndarray):
        return put_numpy(columns, place, array, target)
    try:
        return put_extension(columns, place, array, target)
    except TypeError:
        # Neither a form of ours nor a type of Arrow: what Python makes of it.
        return put_pickle(columns, place, array)


def put_numpy(columns, place: int, array: np.ndarray, target: str) -> str:
    """Adds an array of numpy."""
    dtype = array.dtype
    if dtype.kind == "O":
        return put_objects(columns, place, array, target)
    array = contiguous(columns, place, array)
    if (known := array_format(dtype)) is not None:
        columns.block([place], known, raw(array)[np.newaxis])
        return "numpy"
    if dtype.kind == "b" and target == "arrow":
        columns.boolean(place, array)
        return "bool"
    if is_raw(dtype):
        return put_raw(columns, place, octets(array), dtype)
    return put_pickle(columns, place, array)


def is_raw(dtype: np.dtype) -> bool:
    """Whether numpy lends numbers of this dtype, of which Arrow has no buffer."""
    return dtype.kind == "b" or dtype.kind == "c" and dtype.isnative and dtype.itemsize <= 16


def put_raw(columns, place: int, memory: memoryview, dtype: np.dtype) -> str:
    """Adds the memory of such numbers."""
    form = Call("numpy", "frombuffer", OutOfBand(memory), dtype.str, memory.nbytes // dtype.itemsize)
    put_form(columns, place, form, str(dtype))
    return "raw"


def put_objects(columns, place: int, array: np.ndarray, target: str) -> str:
    """Adds Python objects: as scalars, or as whatever their own classes make of them."""
    values = array.tolist()
    if target == "arrow" and (text := arrow_of_text(values)) is not None:
        columns.arrow(place, text)
        columns.copied(place, "pickled", text.nbytes)
        return "text:object"
    try:
        size = put_form(columns, place, Objects(values), "object")
    except TypeError:
        return put_pickle(columns, place, array)
    columns.copied(place, "pickled", size)
    return "objects"


def arrow_of_text(values: list):
    """Objects that are text, or None, as Arrow has them."""
    import pyarrow as pa

    kinds = set(map(type, values))
    if str not in kinds or not kinds <= {str, type(None)}:
        return None
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        return None


def put_extension(columns, place: int, array, target: str) -> str:
    """Adds an array of one of pandas' own classes."""
    kind = type(array)
    if kind is pd.Categorical:
        # Not `codes`, which is a read-only view: what comes back may be assigned to.
        return put_categorical(columns, place, array._ndarray, array.categories, array.ordered, target)
    if kind in (pd.arrays.IntegerArray, pd.arrays.FloatingArray):
        values, mask = contiguous(columns, place, array._data), contiguous(columns, place, array._mask)
        columns.masked(place, array_format(values.dtype), values, mask)
        return "masked"
    if kind is pd.arrays.BooleanArray:
        values, mask = contiguous(columns, place, array._data), contiguous(columns, place, array._mask)
        if target == "arrow":
            columns.masked(place, "b", values, mask)
            return "masked"
        put_form(
            columns,
            place,
            Call("pandas.arrays", "BooleanArray", frombuffer(values), frombuffer(mask)),
            "boolean",
        )
        return "form"
    if isinstance(array.dtype, pd.StringDtype):
        return put_text(columns, place, array, target)
    if isinstance(array, pd.arrays.ArrowExtensionArray):
        columns.arrow(place, one_chunk(columns, place, array))
        return "arrow:" + str(array.dtype)
    if isinstance(array.dtype, pd.DatetimeTZDtype) and target == "arrow":
        columns.arrow(place, zoned_arrow(array))
        return zone_entry(array.dtype) or "zoned"
    if isinstance(array.dtype, np.dtype) and array.dtype.kind in "Mm":
        return put_numpy(columns, place, array._ndarray, target)
    form = expression(columns, place, array)
    put_form(columns, place, form, str(array.dtype))
    return zone_entry(array.dtype) or "form"


def put_categorical(columns, place: int, codes, categories, ordered, target: str) -> str:
    """Adds codes and what they stand for: a categorical, or a level of an index."""
    codes = contiguous(columns, place, codes)
    entries = ";".join(filter(None, category_entries(categories)))
    if target == "arrow" and (values := arrow_values(categories)) is not None:
        import pyarrow as pa

        missing = codes < 0
        indices = pa.array(codes, mask=missing if missing.any() else None)
        columns.arrow(place, pa.DictionaryArray.from_arrays(indices, values, ordered=bool(ordered)))
        return entries or "category"
    form = Call(
        "pandas",
        "Categorical.from_codes",
        frombuffer(codes),
        labels(columns, place, categories),
        bool(ordered),
    )
    put_form(columns, place, form, "category")
    return entries or "form"


def category_entries(categories: pd.Index):
    """What the note says of categories that their values do not."""
    yield zone_entry(categories.dtype)
    freq = frequency(categories)
    if isinstance(freq, dict):
        raise Inexact("categories with a frequency that has no name")
    yield freq and f"freq:{freq}"
    if type(categories) is pd.RangeIndex:
        yield f"range:{categories.start},{categories.stop},{categories.step}"


def frequency(index: pd.Index):
    """The frequency of datetimes or durations, by its name or as it is."""
    freq = getattr(index, "freq", None) if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) else None
    if freq is None:
        return None
    try:
        if pd.tseries.frequencies.to_offset(freq.freqstr) == freq:
            return freq.freqstr
    except ValueError:
        pass
    return _values.encode(freq)


def arrow_values(categories: pd.Index):
    """Categories as Arrow has them, if it has them."""
    import pyarrow as pa

    if categories.dtype.kind == "O" and not isinstance(categories.dtype, pd.StringDtype):
        if not all(type(value) is str for value in categories.tolist()):
            return None
        return pa.array(categories.tolist(), pa.large_string())
    try:
        values = pa.array(categories)
    except (TypeError, pa.ArrowException):
        return None
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def labels(columns, place: int, index: pd.Index):
    """The categories of a categorical as an expression."""
    if index.name is not None or isinstance(index, pd.MultiIndex):
        raise Inexact("categories with a name")
    if index.dtype == object:
        if any(isinstance(value, tuple) for value in index):
            raise Inexact("categories that are tuples, which would become levels")
        return Call("pandas", "Index", index.tolist(), "O")
    if isinstance(index.dtype, pd.StringDtype):
        if is_default(index.dtype) and len(index):
            return index.tolist()
        if not is_default(index.dtype) and index.dtype.storage == "python":
            return text_list(index.array)
        return arrow_text(columns, place, index.array)
    if isinstance(index, pd.RangeIndex):
        return frombuffer(index.to_numpy())
    return expression(columns, place, index.array)


def expression(columns, place: int, array):
    """The expression that makes an array again; `Inexact` if there is none that is exact."""
    if isinstance(array, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray)):
        values = contiguous(columns, place, array._ndarray)
        if isinstance(array.dtype, np.dtype):
            return frombuffer(values)
        unit = np.datetime_data(values.dtype)[0]
        # A name that older pandas has not, which would read other units wrongly.
        before = None if unit == "ns" else ("pandas.arrays", "NumpyExtensionArray")
        zone = Call("pandas", "DatetimeTZDtype", unit, zone_name(array.dtype.tz))
        return Call("pandas", "array", frombuffer(raw(values)), zone, False, before=before)
    if isinstance(array, pd.arrays.PeriodArray):
        dtype = Call("pandas", "PeriodDtype", period_name(array.dtype.name[len("period[") : -1]))
        return Call("pandas.arrays", "PeriodArray", frombuffer(contiguous(columns, place, array.asi8)), dtype)
    if isinstance(array, pd.arrays.IntervalArray):
        left, right = (plain(end) for end in (array.left, array.right))
        ends = (frombuffer(contiguous(columns, place, end)) for end in (left, right))
        return Call("pandas.arrays", "IntervalArray.from_arrays", *ends, array.closed, False)
    if isinstance(array, pd.arrays.SparseArray):
        return sparse(columns, place, array)
    values = unwrapped(array)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return frombuffer(contiguous(columns, place, values))
    raise Inexact(f"there is no form of {type(array).__name__}")


def sparse(columns, place: int, array) -> Call:
    """A sparse array from its dense one, if that is not much larger and makes the same one again."""
    numbers, fill = array.sp_values.dtype, array.fill_value
    own = array.sp_values.nbytes + 4 * len(array.sp_values)
    if numbers.kind not in "iufb" or not numbers.isnative or array.kind != "integer":
        raise Inexact(f"{array.dtype} of {array.kind} places")
    if len(array) * numbers.itemsize > max(SPARSE_BYTES, SPARSE_FACTOR * own):
        raise Inexact(f"{array.dtype} with few values")
    fill = fill.item() if isinstance(fill, np.generic) else fill
    if type(fill) not in (bool, int, float):
        raise Inexact(f"{array.dtype}")
    dense = np.full(len(array), fill, numbers)
    dense[array.sp_index.indices] = array.sp_values
    again = pd.array(dense, pd.SparseDtype(numbers, fill), copy=False)
    if not again.sp_index.equals(array.sp_index) or again.sp_values.tobytes() != array.sp_values.tobytes():
        raise Inexact(f"{array.dtype} that holds its fill value")
    if again.dtype != array.dtype or type(again.fill_value) is not type(array.fill_value):
        raise Inexact(f"{array.dtype} with a fill value of {type(array.fill_value).__name__}")
    columns.copied(place, "pickled", dense.nbytes)
    dtype = Call("pandas", "SparseDtype", numbers.name, fill)
    return Call("pandas", "array", frombuffer(dense), dtype, False)


def period_name(freq: str) -> str:
    """The name of a frequency that most versions of pandas know."""
    base = freq.lstrip("-0123456789")
    digits = freq[: len(freq) - len(base)]
    if base in ("A-DEC", "Y-DEC"):
        return digits + "Y"
    base, _, anchor = base.partition("-")
    return digits + PERIODS.get(base, base) + (f"-{anchor}" if anchor else "")


def plain(end) -> np.ndarray:
    """The numbers or datetimes of an end of intervals."""
    if not isinstance(end.dtype, np.dtype) or end.dtype.kind not in "iufMm":
        raise Inexact(f"intervals of {end.dtype}")
    return np.asarray(end)


def put_text(columns, place: int, array, target: str) -> str:
    """Adds strings of a text dtype."""
    name = text_name(array.dtype)
    if target == "arrow" and array.dtype.storage == "python":
        import pyarrow as pa

        columns.arrow(place, pa.array(array.to_numpy(object, na_value=None), pa.large_string()))
    elif target == "arrow":
        columns.arrow(place, one_chunk(columns, place, array))
    elif array.dtype.storage == "python":
        columns.copied(place, "pickled", put_form(columns, place, text_list(array), name))
    else:
        put_form(columns, place, arrow_text(columns, place, array), name)
    return "text:" + name


def text_name(dtype) -> str:
    """`string[python]`, `string[pyarrow]`, or `str` with its storage."""
    return ("str" if is_default(dtype) else "string") + f"[{dtype.storage}]"


def is_default(dtype) -> bool:
    """Whether a text dtype is `str`, which pandas 3 makes of text, and not `string`."""
    return getattr(dtype, "na_value", pd.NA) is not pd.NA


def text_list(array) -> Call:
    """Strings that are Python objects."""
    values = [value if isinstance(value, str) else None for value in array.to_numpy(object).tolist()]
    dtype = Call("pandas", "StringDtype", "python", *((float("nan"),) if is_default(array.dtype) else ()))
    return Call("pandas", "array", values, dtype, False)


def arrow_text(columns, place: int, array) -> Call:
    """Strings that are in Arrow's memory."""
    values = from_buffers(columns, place, one_chunk(columns, place, array))
    if not is_default(array.dtype):
        return Call("pandas.arrays", "ArrowStringArray", values)
    if MAJOR >= 3:
        return Call("pyarrow", "Array.to_pandas", values)
    dtype = Call("pandas", "StringDtype", "pyarrow", float("nan"))
    return Call("pandas", "StringDtype.__from_arrow__", dtype, values)


def from_buffers(columns, place: int, array) -> Call:
    """`pyarrow.Array.from_buffers` of text: of a slice, what it shows."""
    import pyarrow as pa

    if array.type not in (pa.string(), pa.large_string()):
        array = array.cast(pa.large_string())
        columns.copied(place, "pickled", array.nbytes)
    width, name = (4, "string") if array.type == pa.string() else (8, "large_string")
    rows, start = len(array), array.offset
    validity, offsets, data = array.buffers()
    if array.null_count == 0:
        validity = None
    elif start % 8:
        validity = array.is_valid().buffers()[1]
        columns.copied(place, "mask", validity.size)
    else:
        validity = memoryview(validity)[start // 8 : (start + rows + 7) // 8]
    if offsets is None or offsets.size == 0:
        offsets = bytes(width)
    else:
        # Others may have left a buffer of any length behind the last one.
        offsets = np.frombuffer(offsets, f"<i{width}", start + rows + 1)[start:]
        if offsets[0]:
            columns.copied(place, "strided", offsets.nbytes)
            data, offsets = data[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0]
        data = memoryview(data)[: int(offsets[-1])] if data is not None else b""
    parts = (
        None if part is None else Call("pyarrow", "py_buffer", OutOfBand(part))
        for part in (validity, offsets, data)
    )
    return Call("pyarrow", "Array.from_buffers", Call("pyarrow", name), rows, list(parts))


def one_chunk(columns, place: int, array):
    """The Arrow array behind one of pandas'; several chunks are joined, and counted."""
    import pyarrow as pa

    array = array.__arrow_array__()
    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    joined = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    columns.copied(place, "chunks", joined.nbytes)
    return joined


def zoned_arrow(array):
    """Datetimes with a zone as Arrow has them."""
    import pyarrow as pa

    values = np.ascontiguousarray(array._ndarray)
    missing = np.isnat(values)
    unit = np.datetime_data(values.dtype)[0]
    name = zone_name(array.dtype.tz, as_call=False)
    plain_values = pa.array(raw(values), mask=missing if missing.any() else None)
    return plain_values.view(pa.timestamp(unit, name))


def zone_name(zone, *, as_call: bool = True):
    """A time zone by its IANA name, or as an offset."""
    import datetime

    # Others have a `key` too, and are not what a name is on any pandas.
    key = None
    if type(zone).__module__.partition(".")[0] in ("zoneinfo", "pytz"):
        key = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if isinstance(key, str):
        return key
    if zone is datetime.UTC:
        return "UTC"
    offset = zone.utcoffset(None)
    if type(zone) is datetime.timezone or type(zone).__name__ == "_FixedOffset":
        seconds = int(offset.total_seconds())
        # One that has a name of its own is not known by its offset alone.
        if offset.microseconds == 0 and zone.tzname(None) in (None, datetime.timezone(offset).tzname(None)):
            if as_call:
                delta = Call("datetime", "timedelta", 0, seconds)
                return Call("datetime", "timezone", delta)
            sign = "-" if seconds < 0 else "+"
            return f"{sign}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}"
    raise Inexact(f"there is no form of the time zone {zone!r}")


def zone_entry(dtype) -> str | None:
    """What the note says of a time zone of a class that this pandas would not choose for its name."""
    if not isinstance(dtype, pd.DatetimeTZDtype):
        return None
    library = zone_library(dtype.tz)
    return None if library == own_library(zone_name(dtype.tz, as_call=False)) else "zone:" + library


@functools.lru_cache(64)
def own_library(name: str) -> str:
    """Whose class pandas chooses for a time zone of that name."""
    return "datetime" if name[0] in "+-" else zone_library(pd.DatetimeTZDtype("ns", name).tz)


def zone_library(zone) -> str:
    """Whose class a time zone is of."""
    return type(zone).__module__.partition(".")[0]


def put_form(columns, place: int, form, type_name: str) -> int:
    """Adds an expression as an opaque column; the bytes of its pickle."""
    buffers = written(form)
    mark = json.dumps({"type_name": type_name, "vendor_name": "pandas"})
    columns.opaque(place, mark, type_name, buffers)
    return buffers[0].nbytes


def put_pickle(columns, place: int, array) -> str:
    """Adds what Python's own pickle makes of an array, its big buffers beside it."""
    data, buffers = pickled(array)
    mark = json.dumps({"type_name": str(array.dtype), "vendor_name": "python"})
    columns.opaque(place, mark, str(array.dtype), [data, *(buffer.raw() for buffer in buffers)])
    columns.copied(place, "pickled", len(data))
    return "pickle"


def pickled(array) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """The pickle of an array and its buffers: what is of `__main__` is in it, where cloudpickle is there to do so."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        data = pickle.dumps(array, 5, buffer_callback=buffers.append)
        needs_more = b"__main__" in data
    except (pickle.PicklingError, AttributeError, TypeError):
        if (cloudpickle := optional("cloudpickle")) is None:
            raise
        needs_more = True
    if needs_more and (cloudpickle := optional("cloudpickle")) is not None:
        buffers.clear()
        data = cloudpickle.dumps(array, 5, buffer_callback=buffers.append)
    return data, buffers


def unwrapped(array):
    """The array that pandas' own wrapper of numpy's holds; any other as it is."""
    return array.to_numpy() if type(array).__name__ in ("NumpyExtensionArray", "PandasArray") else array


def frombuffer(array: np.ndarray) -> Call:
    """`numpy.frombuffer` of an array's memory."""
    return Call("numpy", "frombuffer", OutOfBand(raw(array)), array.dtype.str, len(array))


def raw(array: np.ndarray) -> Any:
    """The same memory as integers where numpy does not lend it otherwise."""
    return array.view("i8") if array.dtype.kind in "Mm" else array


def contiguous(columns, place: int, array: np.ndarray) -> np.ndarray:
    """The array, or a counted copy of it without gaps."""
    if array.flags.c_contiguous:
        return array
    columns.copied(place, "strided", array.nbytes)
    return np.ascontiguousarray(array)


def field_name(label) -> str:
    """What an Arrow field calls a column of that label."""
    if type(label) is str:
        return label if is_unicode(label) else label.encode(errors="backslashreplace").decode()
    return str(label)
