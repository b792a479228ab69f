"""The kinds of columns, by name, of those that the installed pandas has."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa

MAJOR = int(pd.__version__.split(".")[0])
ROWS = 24


def columns() -> dict[str, pd.Series]:
    """Columns that travel without `allow_pickle`."""
    rng = np.random.default_rng(0)
    kinds: dict[str, pd.Series] = {}
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?", "c8", "c16"):
        kinds[np.dtype(code).name] = pd.Series(rng.integers(0, 2, ROWS).astype(code))
    kinds["uint64, large"] = pd.Series([2**64 - 1, 0, 2**63] * 8, dtype="u8")
    kinds["float64, NaN"] = pd.Series([1.5, np.nan, -0.0] * 8)
    # pandas before 2 makes nanoseconds of all.
    for unit in ("s", "ms", "us", "ns"):
        times = np.arange(ROWS).astype(f"M8[{unit}]")
        missing = times.copy()
        missing[3] = "NaT"
        kinds[f"datetime64[{unit}]"] = pd.Series(times)
        kinds[f"datetime64[{unit}], NaT"] = pd.Series(missing)
        kinds[f"timedelta64[{unit}]"] = pd.Series(missing.view(f"m8[{unit}]"))
        kinds[f"datetime64[{unit}, Europe/Paris]"] = pd.Series(missing).dt.tz_localize("Europe/Paris")
    kinds["UTC"] = pd.Series(pd.date_range("2020", periods=ROWS, tz="UTC"))
    offset = datetime.timezone(datetime.timedelta(hours=3))
    kinds["a fixed offset"] = pd.Series(pd.date_range("2020", periods=ROWS, tz=offset))
    for dtype in ("Int8", "UInt16", "Int64", "Float32", "Float64", "boolean"):
        kinds[dtype] = pd.Series([1, None, 0] * 8, dtype=dtype)
    kinds["Int64, beyond floats"] = pd.Series([2**53 + 1, None, 7] * 8, dtype="Int64")
    kinds["category"] = pd.Series(
        pd.Categorical(["a", "b", None, "a"] * 6, categories=["b", "a", "z"], ordered=True)
    )
    kinds["category of ints"] = pd.Series(pd.Categorical([1, 2, 1] * 8))
    kinds["category of intervals"] = pd.Series(pd.cut(np.arange(24.0), 3))
    kinds["category of datetimes"] = pd.Series(pd.Categorical(pd.date_range("2020", periods=ROWS)))
    kinds["category of periods"] = pd.Series(pd.Categorical(pd.period_range("2020", periods=ROWS, freq="D")))
    kinds["category of objects"] = pd.Series(pd.Categorical(pd.Index(["x", "y"] * 12, dtype=object)))
    kinds["category of nothing"] = pd.Series(pd.Categorical([None] * ROWS))
    kinds["text"] = pd.Series(["a", "bé", None, ""] * 6)
    kinds["string[python]"] = pd.Series(["a", None, "c"] * 8, dtype="string[python]")
    kinds["string[pyarrow]"] = pd.Series(["a", None, "c"] * 8, dtype="string[pyarrow]")
    kinds["Arrow text, sliced"] = pd.Series(["a", None, "c", "dd"] * 8, dtype="string[pyarrow]")[
        5:29
    ].reset_index(drop=True)
    moments = [
        datetime.date(1, 1, 1),
        datetime.date(9999, 12, 31),
        datetime.time(1, 2, 3, 4),
        datetime.timedelta(1),
    ]
    kinds["objects"] = pd.Series(
        ["a", None, 1.5, b"x", 2, (1, "2"), [1], True, decimal.Decimal("1.50"), *moments], dtype=object
    )
    kinds["period[M]"] = pd.Series(pd.period_range("2020", periods=ROWS, freq="M"))
    kinds["period[Q]"] = pd.Series(pd.period_range("2020", periods=ROWS, freq="Q"))
    kinds["period of years"] = pd.Series(
        pd.period_range("2020", periods=ROWS, freq="A" if MAJOR < 2 else "Y")
    )
    kinds["interval"] = pd.Series(pd.interval_range(0, ROWS))
    kinds["interval of datetimes"] = pd.Series(pd.interval_range(pd.Timestamp("2020"), periods=ROWS))
    if hasattr(pd, "ArrowDtype"):
        kinds["int64[pyarrow]"] = pd.Series([1, None, 3] * 8, dtype="int64[pyarrow]")
        kinds["list[pyarrow]"] = pd.Series([[1], None, [2, 3]] * 8, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    return kinds


def pickled_columns() -> dict[str, pd.Series]:
    """Columns that only Python's own pickle keeps."""
    return {
        "dicts": pd.Series([{1: 2}, None], dtype=object),
        "timestamps as objects": pd.Series([pd.Timestamp("2020"), pd.NaT, pd.NA], dtype=object),
        "lone surrogates": pd.Series(["\ud800", "x"], dtype=object),
        "large ints": pd.Series([2**200, -(2**200)], dtype=object),
        "sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1, 0])),
    }


def shapes(column: pd.Series) -> dict[str, object]:
    """One column in the shapes that matter."""
    some = {
        "all": column,
        "one row": column[:1],
        "no rows": column[:0],
        "every other": column[1::2],
        "reversed": column[::-1],
        "a DataFrame": column.to_frame("x"),
        "two columns": pd.DataFrame({"x": column, "y": column}),
    }
    # pandas has no index of these.
    if (
        column.dtype.kind != "c"
        and column.dtype != "float16"
        and not any(isinstance(v, list) for v in column)
    ):
        some["an Index"] = pd.Index(column, dtype=object if column.dtype == object else None, name="n")
    return some


def indexes() -> dict[str, pd.Index]:
    """Indexes of rows."""
    ends = "M" if MAJOR < 3 and pd.__version__ < "2.2" else "ME"
    return {
        "a range": pd.RangeIndex(5, 11, 2, name="n"),
        "ints": pd.Index([3, 1, 2]),
        "text": pd.Index(["a", "b", "c"], name="key"),
        "mixed": pd.Index(["a", 1, None], dtype=object),
        "days": pd.date_range("2020", periods=3, freq="D"),
        "business days": pd.bdate_range("2020", periods=3),
        "ends of months": pd.date_range("2020", periods=3, freq=ends),
        "zoned": pd.date_range("2020", periods=3, freq="h" if MAJOR > 1 else "H", tz="Asia/Tokyo"),
        "durations": pd.timedelta_range("1 day", periods=3),
        "periods": pd.period_range("2020", periods=3, freq="M"),
        "intervals": pd.interval_range(0, 3),
        "categories": pd.CategoricalIndex(["x", "y", "x"], categories=["z", "x", "y"]),
        "two levels": pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("b", 3)], names=["p", 4]),
        "unused levels": pd.MultiIndex.from_product([["a", "b"], pd.date_range("2020", periods=3)])[3:],
        "a missing level": pd.MultiIndex([["a"], [1.5]], [[0, -1, 0], [0, 0, -1]]),
        "a categorical level": pd.MultiIndex.from_arrays([pd.Categorical(["x", "y", "x"]), [1, 2, 3]]),
        "a level of intervals": pd.MultiIndex.from_arrays([pd.interval_range(0, 3), [1, 2, 3]]),
        "named by a tuple": pd.Index([1, 2, 3], name=("a", 1)),
        "duplicates": pd.Index([1, 1, 1]),
    }


def labels() -> dict[str, pd.Index]:
    """Labels of two columns."""
    return {
        "text": pd.Index(["a", "b"]),
        "duplicates": pd.Index(["a", "a"]),
        "a range": pd.RangeIndex(2),
        "ints": pd.Index([7, 3], name="n"),
        "mixed": pd.Index(["a", 1], dtype=object),
        "tuples": pd.Index([("x", 1), "b"], dtype=object, tupleize_cols=False),
        "booleans": pd.Index([True, False]),
        "bytes": pd.Index([b"a", b"b"], dtype=object),
        "datetimes": pd.date_range("2020", periods=2),
        "levels": pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["p", None]),
        "categories": pd.CategoricalIndex(["u", "v"]),
        "Hebrew": pd.Index(["שלום", "עולם"], name="שם"),
        "empty text": pd.Index(["", " "]),
        "float": pd.Index([1.5, 2.5]),
    }
