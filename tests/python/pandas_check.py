"""Reads streams with examples/consume.py and checks what pandas makes of them.

Usage: pandas_check.py FOLDER. It holds streams, and `cases.json`, which says what each must be
to every version of pandas. Each is read twice: from memory that can be written to, and from
memory that cannot. For each one a line of JSON is printed: the dtypes, which parts of the arrays
lie in the memory that was received, and every problem. `xtask/src/pandas/values.rs` says how
values are written.
"""

import datetime
import decimal
import json
import math
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from consume import consume

PER_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
LETTERS = {"t": pa.types.is_time, "T": pa.types.is_timestamp, "m": pa.types.is_duration}


# ---- Values


def values(array) -> list:
    """The values of an array or an index of pandas, as they must be."""
    if isinstance(array, pd.Index):
        array = array.array
    if isinstance(array, pd.Categorical):
        categories = values(array.categories)
        return [None if code < 0 else categories[code] for code in array.codes.tolist()]
    if isinstance(array, pd.arrays.IntervalArray):
        ends = zip(values(array.left), values(array.right), array.isna())
        return [None if missing else {"left": left, "right": right} for left, right, missing in ends]
    if isinstance(array, pd.arrays.PeriodArray):
        return [None if missing else int(n) for n, missing in zip(array.asi8, array.isna())]
    if isinstance(array, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray)):
        return moments(array._ndarray)
    if isinstance(array, pd.arrays.ArrowExtensionArray) and not isinstance(array.dtype, pd.StringDtype):
        return [arrow(value) for value in pa.array(array)]
    if hasattr(array, "_mask"):
        pairs = zip(array._data.tolist(), array._mask.tolist())
        return [None if missing else scalar(value) for value, missing in pairs]
    if isinstance(array.dtype, pd.StringDtype):
        return [None if missing else scalar(value) for value, missing in zip(array, array.isna())]
    return [scalar(value) for value in array.to_numpy()]


def moments(array: np.ndarray) -> list:
    letter = "T" if array.dtype.kind == "M" else "m"
    factor = PER_UNIT[np.datetime_data(array.dtype)[0]]
    numbers = zip(array.view("i8").tolist(), np.isnat(array))
    return [None if missing else f"{letter}:{number * factor}" for number, missing in numbers]


def scalar(value):
    """A Python object."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return "nan" if math.isnan(value) else "f:" + np.array(value, ">f8").tobytes().hex()
    if isinstance(value, str):
        return "s:" + value
    if isinstance(value, bytes):
        return "b:" + value.hex()
    if isinstance(value, decimal.Decimal):
        return f"d:{value:f}"
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return f"D:{value.toordinal() - datetime.date(1970, 1, 1).toordinal()}"
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return f"t:{seconds * 10**9 + value.microsecond * 1_000}"
    if isinstance(value, pa.MonthDayNano):
        return "i:{},{},{}".format(*value)
    if isinstance(value, (list, tuple)):
        return [scalar(item) for item in value]
    if isinstance(value, dict):
        return {key: scalar(item) for key, item in value.items()}
    return f"{type(value).__name__} {value!r}"


def arrow(value: pa.Scalar):
    """A value of pyarrow, of which Python has not always an exact object."""
    if not value.is_valid:
        return None
    kind = value.type
    for letter, is_kind in LETTERS.items():
        if is_kind(kind):
            return f"{letter}:{value.value * PER_UNIT[kind.unit]}"
    if pa.types.is_date64(kind):
        return f"D:{value.value // 86_400_000}"
    if pa.types.is_map(kind):
        return [[scalar(key), scalar(item)] for key, item in value.as_py()]
    if pa.types.is_union(kind):
        return arrow(value.value)
    return scalar(value.as_py())


# ---- dtypes


def dtype_name(dtype) -> str:
    if isinstance(dtype, pd.StringDtype):
        is_nan = getattr(dtype, "na_value", pd.NA) is not pd.NA
        return "str" if is_nan and dtype.storage == "pyarrow" else f"string[{dtype.storage}]"
    return str(dtype)


# ---- Memory


def parts(array) -> dict:
    """The memory of an array by part: address, length, and whether it can be written to.

    That of pyarrow never is."""
    if isinstance(array, pd.Categorical):
        return {"codes": numpy_part(array._ndarray)}
    if isinstance(array, pd.arrays.IntervalArray):
        ends = {"left": array._left, "right": array._right}
        return {name: numpy_part(np.asarray(end)) for name, end in ends.items()}
    if hasattr(array, "_mask"):
        return {"values": numpy_part(array._data), "mask": numpy_part(array._mask)}
    if isinstance(array, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray, pd.arrays.PeriodArray)):
        return {"values": numpy_part(array._ndarray)}
    chunks = getattr(array, "_pa_array", getattr(array, "_data", None))
    if isinstance(chunks, pa.ChunkedArray):
        buffers = [buffer for chunk in chunks.chunks for buffer in chunk.buffers()[1:] if buffer is not None]
        names = ["offsets", "data"] if len(buffers) == 2 else ["data"] * len(buffers)
        return {name: (b.address, b.size, None) for name, b in zip(names, buffers)}
    array = array.to_numpy()
    return {} if array.dtype == object else {"values": numpy_part(array)}


def numpy_part(array: np.ndarray) -> tuple:
    return array.__array_interface__["data"][0], array.nbytes, array.flags.writeable


# ---- Checks


def check(case: dict, version: str, received, is_writeable: bool, seen: dict) -> None:
    def expect(what: str, found, expected) -> None:
        if found != expected:
            seen["problems"].append(f"{what}: {found!r}, not {expected!r}")

    refused = case["refused"][version]
    try:
        if not case["is_stream"]:
            loaded = pickle.loads(received[0], buffers=received[1:])
            if case["index"]:
                return check_index(expect, "index", loaded, case["index"], version, seen)
            seen["dtypes"].append(dtype_name(loaded.dtype))
            expect("dtype", seen["dtypes"][-1], case["columns"][0]["dtype"][version])
            return expect(
                "values", values(pd.Series(loaded, dtype=loaded.dtype).array), case["columns"][0]["values"]
            )
        frame = consume(received[0])
    except Exception as error:
        seen["error"] = f"{type(error).__name__}: {error}"
        if not refused or not seen["error"].startswith(refused):
            seen["problems"].append(seen["error"])
        return
    if refused:
        seen["problems"].append(f"it was read, and not refused with {refused!r}")
        return
    span = pa.py_buffer(received[0])
    expect("columns", frame.shape[1], len(case["columns"]))
    text = {"name": None, "values": [column["label"] for column in case["columns"]]}
    check_index(expect, "labels", frame.columns, case["labels"] or {"levels": [text]}, version, seen)
    rows = {"name": None, "values": list(range(case["rows"]))}
    counted = {"class": {version: "RangeIndex"}, "levels": [rows]}
    check_index(expect, "index", frame.index, case["index"] or counted, version, seen)
    if case["index"] and not isinstance(frame.index, (pd.RangeIndex, pd.MultiIndex)):
        own = parts(frame.index.array).items()
        record(seen["memory"], {part: lies_within(span, *place[:2]) for part, place in own})
    for position, column in enumerate(case["columns"]):
        array = frame.iloc[:, position].array
        dtype = dtype_name(array.dtype)
        # Intervals of one row are closed on every side.
        seen["dtypes"].append(dtype.split(",")[0] + "]" if dtype.startswith("interval") else dtype)
        expect("dtype", dtype, column["dtype"][version])
        expect("values", values(array), column["values"])
        if column["categories"]:
            expect("categories", values(array.categories), column["categories"]["values"])
            categories_dtype = dtype_name(array.categories.dtype)
            seen["categories"].append(categories_dtype)
            expect("dtype of the categories", categories_dtype, column["categories"]["dtype"][version])
            expect("ordered", array.ordered, column["categories"]["ordered"])
        if not column["values"]:
            continue
        shared = {}
        for part, (address, size, part_is_writeable) in parts(array).items():
            shared[part] = lies_within(span, address, size)
            if shared[part] and part_is_writeable is not None:
                expect(f"{part} writeable", part_is_writeable, column["writeable"] and is_writeable)
        if not case["index"]:
            record(seen["memory"], shared)
        for part in column["shared"][version]:
            expect(f"{part} shared", shared.get(part), True)


def lies_within(span: pa.Buffer, address: int, size: int) -> bool:
    """Text that is all null or empty has no bytes to share."""
    return size == 0 or span.address <= address and address + size <= span.address + span.size


def record(memory: dict, shared: dict) -> None:
    for part, is_shared in shared.items():
        memory[part] = is_shared and memory.get(part, True)


def check_index(expect, what: str, index: pd.Index, expected: dict, version: str, seen: dict) -> None:
    dtypes = []
    if "class" in expected:
        expect(f"class of the {what}", type(index).__name__, expected["class"][version])
    expect(f"levels of the {what}", index.nlevels, len(expected["levels"]))
    for number, level in enumerate(expected["levels"]):
        found, found_values = index, None
        if isinstance(index, pd.MultiIndex):
            found = index.levels[number]
            all_values = values(found)
            found_values = [None if code < 0 else all_values[code] for code in index.codes[number]]
        expect(f"name of the {what}", index.names[number], level["name"])
        expect(f"values of the {what}", found_values or values(found), level["values"])
        if "dtype" in level:
            dtypes.append(dtype_name(found.dtype))
            expect(f"dtype of the {what}", dtypes[-1], level["dtype"][version])
    if dtypes:
        seen["indexes"].append(f"{type(index).__name__} of {', '.join(dtypes)}")


def main() -> None:
    folder, version = Path(sys.argv[1]), pd.__version__
    warnings.simplefilter("ignore")
    print(json.dumps({"pandas": version, "pyarrow": pa.__version__, "numpy": np.__version__}))
    for case in json.loads((folder / "cases.json").read_text(encoding="utf-8")):
        seen = {"dtypes": [], "categories": [], "indexes": [], "memory": {}, "error": None, "problems": []}
        received = [(folder / file).read_bytes() for file in case["files"]]
        check(case, version, [memoryview(bytearray(part)) for part in received], True, seen)
        check(case, version, received, False, {**seen, "dtypes": [], "categories": [], "indexes": []})
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
