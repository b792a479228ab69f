"""The kinds of columns, indexes and labels that the tests send, by name.

A name means the same values on every version of pandas. What a version of pandas or pyarrow does not
have is not on its list: each sample says since which version it is.
"""

import datetime
import decimal
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from dateutil import tz as dateutil_zones
from pandas.api.extensions import ExtensionArray, ExtensionDtype

PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
PYARROW = int(pa.__version__.split(".")[0])
ROWS = 24
NAN = float("nan")


@dataclass(frozen=True)
class Kind:
    """One kind of column."""

    name: str
    #: Makes an array or a Series of 24 rows.
    make: Callable[[], object]
    since: tuple[int, int] = (1, 5)
    #: Whether it comes back without `allow_pickle`.
    is_safe: bool = True
    #: Whether its dtype has something for a missing value.
    has_missing: bool = True
    #: Whether pandas has an index of such values.
    has_index: bool = True
    #: The least pyarrow that has the type.
    pyarrow: int = 11

    def column(self) -> pd.Series:
        made = self.make()
        return made if isinstance(made, pd.Series) else pd.Series(made, copy=False)

    def missing(self) -> pd.Series:
        """A column of the same dtype in which nothing but missing values are."""
        column = self.column()
        assert self.has_missing, self.name
        if isinstance(column.dtype, np.dtype):
            nothing = {"O": None, "m": "NaT", "M": "NaT"}.get(column.dtype.kind, NAN)
            return pd.Series(np.array([nothing] * 5, column.dtype))
        return pd.Series(column.array.take([-1] * 5, allow_fill=True), copy=False)


def kinds() -> dict[str, Kind]:
    """Those that the installed pandas and pyarrow have."""
    return {kind.name: kind for kind in every_kind() if PANDAS >= kind.since and PYARROW >= kind.pyarrow}


def repeated(*values, dtype=None) -> np.ndarray:
    """These values again and again, as numpy has them."""
    array = np.empty(len(values), object)
    array[:] = values
    array = np.resize(array, ROWS)
    return array if dtype is None else array.astype(dtype)


def repeated_as(dtype, *values) -> Callable[[], object]:
    return lambda: pd.array(repeated(*values).tolist(), dtype=dtype() if callable(dtype) else dtype)


def objects(*values) -> Callable[[], object]:
    return lambda: pd.Series(repeated(*values), dtype=object)


def every_kind() -> list[Kind]:
    return [
        *numbers(),
        *datetimes(),
        *nullables(),
        *categoricals(),
        *texts(),
        *python_objects(),
        *ranges(),
        *arrow_types(),
    ]


def numbers() -> list[Kind]:
    kinds = []
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        ends = np.iinfo(name)
        # numpy's own way from Python's ints, which has no detour by floats.
        kinds.append(
            Kind(name, lambda n=name, e=ends: repeated(e.min, 0, e.max, 1, dtype=n), has_missing=False)
        )
    for name in ("float16", "float32", "float64"):
        values = (1.5, NAN, -0.0, float("inf"), float("-inf"))
        kinds.append(Kind(name, lambda n=name, v=values: repeated(*v, dtype=n), has_index=name != "float16"))
    kinds.append(Kind("float64, NaN with a payload", nan_with_payload))
    kinds.append(Kind("bool", lambda: repeated(True, False, False, dtype="?"), has_missing=False))
    for name in ("complex64", "complex128"):
        kinds.append(
            Kind(name, lambda n=name: repeated(1 + 2j, -0.5j, complex(NAN, 1), dtype=n), has_index=False)
        )
    for name in (">i4", ">f8"):
        made = Kind(
            f"big-endian {name[1:]}",
            lambda n=name: repeated(1, 2, 3, dtype=n),
            has_missing=False,
            has_index=False,
            is_safe=False,
        )
        kinds.append(made)
    return kinds


def nan_with_payload() -> np.ndarray:
    values = np.arange(ROWS, dtype="f8")
    values.view("u8")[5] = 0x7FF8_0000_0000_BEEF
    return values


def datetimes() -> list[Kind]:
    kinds = []
    for unit in ("s", "ms", "us", "ns"):
        since = (1, 5) if unit == "ns" else (2, 0)

        def moments(kind: str, missing: bool, unit=unit):
            values = (np.arange(ROWS, dtype="i8") * 86_399 - 5).view(f"{kind}8[{unit}]").copy()
            if missing:
                values[3::7] = "NaT"
            return values

        def zoned(zone, unit=unit, moments=moments):
            values = pd.Series(moments("M", True)).dt.tz_localize("UTC")
            return values.dt.tz_convert(zone() if callable(zone) else zone)

        for kind, name in (("M", "datetime64"), ("m", "timedelta64")):
            kinds.append(Kind(f"{name}[{unit}]", lambda k=kind, m=moments: m(k, False), since))
            kinds.append(Kind(f"{name}[{unit}], NaT", lambda k=kind, m=moments: m(k, True), since))
        for zone in ("UTC", "Europe/Paris", "America/St_Johns"):
            kinds.append(Kind(f"datetime64[{unit}, {zone}]", lambda z=zone, f=zoned: f(z), since))
        offset = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
        kinds.append(Kind(f"datetime64[{unit}], a fixed offset", lambda z=offset, f=zoned: f(z), since))
        paris = lambda: dateutil_zones.gettz("Europe/Paris")
        kinds.append(
            Kind(f"datetime64[{unit}], dateutil", lambda z=paris, f=zoned: f(z), since, is_safe=False)
        )
    far = ["0001-01-01", "9999-12-31T23:59:59"]
    kinds.append(
        Kind("datetime64[s], years 1 and 9999", lambda: np.resize(np.array(far, "M8[s]"), ROWS), (2, 0))
    )
    kinds.append(
        Kind("datetime64[us], years 1 and 9999", lambda: np.resize(np.array(far, "M8[us]"), ROWS), (2, 0))
    )
    return kinds


def nullables() -> list[Kind]:
    kinds = []
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"):
        ends = np.iinfo(name.lower())
        kinds.append(Kind(name, lambda n=name, e=ends: masked(n, e.min, 0, e.max, None)))
        kinds.append(Kind(f"{name}, none missing", lambda n=name: masked(n, 1, 0)))
    for name in ("Float32", "Float64"):
        kinds.append(Kind(name, lambda n=name: masked(n, 1.5, None, -0.0, float("inf"))))
        kinds.append(Kind(f"{name}, NaN that is not missing", lambda n=name: masked(n, 1.5, NAN, None, -0.0)))
    kinds.append(Kind("boolean", lambda: masked("boolean", True, None, False)))
    kinds.append(Kind("Int64, beyond floats", lambda: masked("Int64", 2**53 + 1, None, -(2**53) - 1)))
    return kinds


def masked(dtype: str, *values):
    """A nullable array from its numbers and its mask: by any other way NaN becomes missing."""
    classes = {"b": pd.arrays.BooleanArray, "F": pd.arrays.FloatingArray}
    kind = classes.get(dtype[0], pd.arrays.IntegerArray)
    missing = np.array([value is None for value in np.resize(np.array(values, object), ROWS)])
    numbers = repeated(
        *(0 if value is None else value for value in values), dtype="?" if dtype[0] == "b" else dtype.lower()
    )
    return kind(numbers, missing)


def categoricals() -> list[Kind]:
    def of(categories: Callable[[], object], *, ordered=False, codes=(0, 1, -1, 0)):
        return lambda: pd.Categorical.from_codes(np.resize(codes, ROWS), categories(), ordered=ordered)

    many = [f"category {number}" for number in range(300)]
    return [
        Kind("category of text", of(lambda: ["b", "a"])),
        Kind("category of text, ordered, one unused", of(lambda: ["high", "low", "none"], ordered=True)),
        Kind("category of text, 300 of them", of(lambda: many, codes=(299, -1, 128))),
        Kind("category of ints", of(lambda: [7, -3])),
        Kind("category of uint8", of(lambda: pd.Index(np.array([7, 3], "u1"))), (2, 0)),
        Kind("category of floats", of(lambda: [0.5, float("inf")])),
        Kind("category of booleans", of(lambda: [True, False])),
        Kind("category of datetimes", of(lambda: pd.to_datetime(["2020-01-02", "1970-01-01"]))),
        Kind("category of datetimes with a frequency", of(lambda: pd.date_range("2020", periods=3))),
        Kind(
            "category of datetimes with a zone",
            of(lambda: pd.to_datetime(["2020-01-02", "2021-03-04"]).tz_localize("Asia/Tokyo")),
        ),
        Kind("category of durations", of(lambda: pd.to_timedelta([1, 5], unit="h"))),
        Kind("category of periods", of(lambda: pd.period_range("2020", periods=2, freq="M"))),
        Kind("category of intervals", lambda: pd.cut(np.arange(float(ROWS)), 3)),
        Kind("category of mixed objects", of(lambda: pd.Index(["x", 1], dtype=object)), is_safe=False),
        Kind("category of text as objects", of(lambda: pd.Index(["x", "y"], dtype=object))),
        Kind("category of string[python]", of(lambda: pd.Index(["x", "y"], dtype="string[python]"))),
        Kind("category of string[pyarrow]", of(lambda: pd.Index(["x", "y"], dtype="string[pyarrow]"))),
        Kind("category of nullable ints", of(lambda: pd.Index([5, 2], dtype="Int64")), (2, 0), is_safe=False),
        Kind("category of nothing", lambda: pd.Categorical([None] * ROWS)),
        Kind(
            "category of no ints",
            lambda: pd.Categorical([None] * ROWS, categories=pd.Index([], dtype="int64")),
        ),
        Kind(
            "category of no text",
            lambda: pd.Categorical([None] * ROWS, categories=pd.Index([], dtype="str")),
            (3, 0),
        ),
        Kind(
            "category of tuples",
            of(lambda: pd.Index([("a", 1), ("b", 2)], tupleize_cols=False)),
            is_safe=False,
            has_missing=False,
        ),
    ]


def texts() -> list[Kind]:
    values = ("a", "בלי", None, "", "a longer one, with 🦀", "a")
    plain = ("a", "bé", "", "d")
    kinds = [
        Kind("text of the default dtype", lambda: pd.Series(repeated(*values).tolist())),
        Kind("text of the default dtype, none missing", lambda: pd.Series(repeated(*plain).tolist())),
        Kind("string[python]", repeated_as("string[python]", *values)),
        Kind("string[pyarrow]", repeated_as("string[pyarrow]", *values)),
        Kind("string[pyarrow], none missing", repeated_as("string[pyarrow]", *plain)),
        Kind("string[pyarrow], sliced", lambda: sliced("string[pyarrow]", *values)),
        Kind("string[pyarrow], two chunks", lambda: in_chunks("string[pyarrow]", *values)),
        Kind(
            "str[python]",
            lambda: pd.array(repeated(*values).tolist(), dtype=pd.StringDtype("python", na_value=np.nan)),
            (3, 0),
        ),
        Kind(
            "str[pyarrow]",
            lambda: pd.array(repeated(*values).tolist(), dtype=pd.StringDtype("pyarrow", na_value=np.nan)),
            (3, 0),
        ),
        Kind("str[pyarrow], sliced", lambda: sliced("str", *values), (3, 0)),
    ]
    return kinds


def sliced(dtype: str, *values):
    """Arrow's text from the middle of its memory: neither offsets nor bits start at 0."""
    whole = pd.array([*values, *values, *repeated(*values).tolist(), *values], dtype=dtype)
    return whole[2 * len(values) - 1 : 2 * len(values) - 1 + ROWS]


def in_chunks(dtype: str, *values):
    text = repeated(*values).tolist()
    return pd.arrays.ArrowStringArray(
        pa.chunked_array([text[:7], text[7:]], pa.large_string() if PANDAS >= (2, 2) else pa.string())
    )


class Own:
    """A class of the user's."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"Own({self.number})"


def python_objects() -> list[Kind]:
    date, time, delta = datetime.date, datetime.time, datetime.timedelta
    identity, number = uuid.UUID(int=2**100 + 3), decimal.Decimal("1.50")
    return [
        Kind("objects: text", objects("a", "ב", "", None, NAN)),
        Kind("objects: mixed", objects("a", None, 1.5, 2, True, b"\x00\xff", NAN)),
        Kind(
            "objects: of every class that is safe",
            objects("a", None, 1.5, b"x", 2, (1, "2"), [1], True, number, date(1, 1, 1), time(1), delta(1)),
            has_index=False,
        ),
        Kind("objects: bytes", objects(b"", b"abc", bytes(range(256)))),
        Kind("objects: None", objects(None)),
        Kind("objects: NaN", objects(NAN)),
        Kind("objects: booleans", objects(True, False, None)),
        Kind("objects: ints of 64 bits", objects(2**63 - 1, -(2**63), 0)),
        Kind(
            "objects: Decimal",
            objects(decimal.Decimal("1.50"), decimal.Decimal("-1E+9"), decimal.Decimal("NaN"), None),
        ),
        Kind("objects: date", objects(date(1, 1, 1), date(9999, 12, 31), None)),
        Kind("objects: time", objects(time(1, 2, 3, 4), time(0), None)),
        Kind(
            "objects: datetime",
            objects(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
        ),
        Kind("objects: timedelta", objects(delta(-1, 5, 7), delta(3))),
        Kind("objects: UUID", objects(identity, None)),
        Kind("objects: lists", objects([], [1, "a", [None]], None), has_index=False),
        Kind("objects: tuples", objects((), (1, ("a",)), None), has_index=False),
        Kind("objects: NA and NaT", objects(pd.NA, pd.NaT, None)),
        Kind("objects: ints of more than 64 bits", objects(2**64, -(2**200), 2**63, 1)),
        Kind("objects: lone surrogates", objects("\ud800", "a\udfff", "x"), is_safe=False),
        Kind("objects: dicts", objects({"a": 1}, {}, None), has_index=False),
        Kind("objects: sets", objects({1}, frozenset("a")), is_safe=False, has_index=False),
        Kind("objects: Timestamps", objects(pd.Timestamp("2020"), pd.NaT), is_safe=False),
        Kind("objects: numpy's scalars", objects(np.int64(3), np.float32(1.5)), is_safe=False),
        Kind("objects: a class of the user's", objects(Own(1), Own(2)), is_safe=False),
    ]


def ranges() -> list[Kind]:
    kinds = []
    names = {"Y-DEC": "A-DEC", "h": "H", "min": "T", "s": "S"}
    for freq in ("D", "M", "Q-DEC", "W-SUN", "Y-DEC", "h", "min", "s"):
        own = freq if PANDAS >= (2, 2) else names.get(freq, freq)
        kinds.append(Kind(f"period[{freq}]", lambda f=own: periods(f)))
    kinds.append(Kind("period[3D]", lambda: periods("3D")))
    kinds.append(Kind("period[Y-JUN]", lambda: periods("Y-JUN" if PANDAS >= (2, 2) else "A-JUN")))
    for closed in ("left", "right", "both", "neither"):
        ints = np.arange(ROWS)
        kinds.append(
            Kind(
                f"interval[int64, {closed}]",
                lambda c=closed, i=ints: pd.arrays.IntervalArray.from_arrays(i, i + 2, c),
                has_missing=False,
            )
        )
    ends = np.resize(np.array([0.5, NAN, -1.0]), ROWS)
    kinds.append(Kind("interval[float64]", lambda: pd.arrays.IntervalArray.from_arrays(ends, ends + 1)))
    days = pd.date_range("2020", periods=ROWS)
    kinds.append(
        Kind("interval[datetime64[ns]]", lambda: pd.arrays.IntervalArray.from_arrays(days, days + days.freq))
    )
    zoned = days.tz_localize("Europe/Paris")
    kinds.append(
        Kind(
            "interval of datetimes with a zone",
            lambda: pd.arrays.IntervalArray.from_arrays(zoned, zoned + pd.Timedelta("1h")),
            is_safe=False,
        )
    )
    kinds.append(
        Kind(
            "Sparse[int64]",
            lambda: pd.arrays.SparseArray(repeated(0, 0, 3, dtype="i8")),
            has_missing=False,
        )
    )
    kinds.append(
        Kind(
            "Sparse[float64]",
            lambda: pd.arrays.SparseArray(repeated(NAN, NAN, 3.5, dtype="f8")),
        )
    )
    kinds.append(
        Kind(
            "an unknown extension",
            lambda: Celsius(np.linspace(-10.0, 30.0, ROWS)),
            is_safe=False,
            has_index=False,
        )
    )
    return kinds


def periods(freq: str):
    values = pd.period_range("2019-05-01", periods=ROWS, freq=freq).array.copy()
    values[4] = pd.NaT
    return values


class CelsiusDtype(ExtensionDtype):
    """A dtype that no library knows."""

    name = "celsius"
    type = float
    kind = "f"
    na_value = NAN

    @classmethod
    def construct_array_type(cls):
        return Celsius


class Celsius(ExtensionArray):
    """An extension array of a class that no library knows."""

    def __init__(self, values) -> None:
        self.values = np.asarray(values, "f8")

    dtype = CelsiusDtype()

    @classmethod
    def _from_sequence(cls, scalars, *, dtype=None, copy=False):
        return cls([NAN if scalar is pd.NA else scalar for scalar in scalars])

    @classmethod
    def _from_factorized(cls, values, original):
        return cls(values)

    @classmethod
    def _concat_same_type(cls, to_concat):
        return cls(np.concatenate([array.values for array in to_concat]))

    def __getitem__(self, item):
        found = self.values[item]
        return type(self)(found) if isinstance(found, np.ndarray) else found

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def isna(self):
        return np.isnan(self.values)

    def take(self, indices, *, allow_fill=False, fill_value=None):
        from pandas.api.extensions import take

        return type(self)(take(self.values, indices, allow_fill=allow_fill, fill_value=NAN))

    def copy(self):
        return type(self)(self.values.copy())


def arrow_samples() -> list[tuple[pa.DataType, list]]:
    """Types of Arrow, and values of each."""
    day = datetime.date(2020, 2, 29)
    moment = datetime.datetime(2020, 2, 29, 1, 2, 3)
    number = decimal.Decimal("12.34")
    return [
        (pa.int8(), [1, None, -128]),
        (pa.uint64(), [2**64 - 1, None, 2**63]),
        (pa.float32(), [1.5, None, NAN]),
        (pa.float64(), [1.5, None, -0.0]),
        (pa.bool_(), [True, None, False]),
        (pa.string(), ["a", None, "ב"]),
        (pa.large_string(), ["a", None, ""]),
        (pa.binary(), [b"a", None, b"\xff"]),
        (pa.large_binary(), [b"a", None, b""]),
        (pa.binary(3), [b"abc", None, b"\x00\x01\x02"]),
        (pa.date32(), [day, None]),
        (pa.date64(), [day, None]),
        (pa.time32("s"), [datetime.time(1, 2, 3), None]),
        (pa.time64("us"), [datetime.time(1, 2, 3, 4), None]),
        (pa.timestamp("us"), [moment, None]),
        (pa.timestamp("ns", "Europe/Paris"), [pd.Timestamp(moment, tz="Europe/Paris"), None]),
        (pa.duration("ms"), [datetime.timedelta(seconds=3), None]),
        (pa.decimal128(10, 2), [number, None]),
        (pa.decimal256(50, 2), [number, None]),
        (pa.list_(pa.int64()), [[1], None, [], [2, None]]),
        (pa.large_list(pa.string()), [["a"], None, ["b", None]]),
        (pa.list_(pa.int32(), 2), [[1, 2], None]),
        (
            pa.struct([("x", pa.int64()), ("y", pa.string())]),
            [{"x": 1, "y": "a"}, None, {"x": None, "y": None}],
        ),
        (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None, []]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b", "a"]),
        (pa.null(), [None]),
    ]


def arrow_types() -> list[Kind]:
    kinds = [
        Kind(
            f"ArrowDtype({kind})",
            lambda k=kind, v=values: pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_values(k, v)])),
            (2, 0),
            has_index=False,
        )
        for kind, values in arrow_samples()
    ]
    kinds.append(
        Kind(
            "ArrowDtype(int64), two chunks",
            lambda: pd.arrays.ArrowExtensionArray(pa.chunked_array([[1, None, 3], list(range(ROWS - 3))])),
            (2, 0),
            has_index=False,
        )
    )
    return kinds


def arrow_values(kind: pa.DataType, values: list) -> pa.Array:
    """An array of 24 rows."""
    if pa.types.is_dictionary(kind):
        text = pa.array(np.resize(np.array(values, object), ROWS).tolist(), kind.value_type)
        return text.dictionary_encode().cast(kind)
    return pa.array(repeated(*values).tolist(), kind)


def indexes() -> dict[str, pd.Index]:
    """Indexes of six rows."""
    hour = "h" if PANDAS >= (2, 2) else "H"
    month = "ME" if PANDAS >= (2, 2) else "M"
    quarter = "QE-NOV" if PANDAS >= (2, 2) else "Q-NOV"
    days = pd.date_range("2020-01-30", periods=6)
    mostly = pd.offsets.CustomBusinessDay(weekmask="Sun Mon Tue Wed Thu", holidays=["2020-02-03"])
    six = list(range(6))
    duplicated = pd.MultiIndex.from_arrays([six, list("aabbcc")], names=["k", "k"])
    return (
        {
            "a range": pd.RangeIndex(6),
            "a range with a step": pd.RangeIndex(50, -10, -10, name="n"),
            "ints": pd.Index([3, 1, 2, 3, -1, 0]),
            "floats": pd.Index([0.5, NAN, -1.0, 2.0, 3.0, 4.0], name="f"),
            "booleans": pd.Index([True, False, True, True, False, False]),
            "text": pd.Index(list("abcdef"), name="key"),
            "text as objects": pd.Index(list("abcdef"), dtype=object, name="מפתח"),
            "mixed": pd.Index(["a", 1, None, 1.5, b"x", ("t", 1)], dtype=object, tupleize_cols=False),
            "days": days,
            "days backwards": days[::-1],
            "days, no frequency": pd.DatetimeIndex([*days[:3], pd.NaT, *days[3:5]]),
            "business days": pd.bdate_range("2020", periods=6),
            "every other business day": pd.date_range("2020", periods=6, freq="2B", name="b"),
            "ends of months": pd.date_range("2020", periods=6, freq=month),
            "quarters": pd.date_range("2020", periods=6, freq=quarter),
            "hours with a zone": pd.date_range("2020-03-28", periods=6, freq=hour, tz="Europe/Paris"),
            "days in UTC": pd.date_range("2020", periods=6, tz="UTC", name="utc"),
            "durations": pd.timedelta_range("1 day", periods=6),
            "durations, no frequency": pd.TimedeltaIndex([1, 5, 2, None, 3, 4]),
            "periods": pd.period_range("2020", periods=6, freq="M", name="p"),
            "intervals": pd.interval_range(0, 6, closed="left"),
            "intervals of datetimes": pd.interval_range(pd.Timestamp("2020"), periods=6),
            "categories": pd.CategoricalIndex(
                list("xyxxyz"), categories=["unused", "z", "x", "y"], ordered=True, name="c"
            ),
            "two levels": pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]], names=["p", 4]),
            "a level that is a range": pd.MultiIndex.from_product([["a", "b"], range(3)]),
            "unused levels": pd.MultiIndex.from_product([list("abc"), pd.date_range("2020", periods=6)])[
                6:12
            ],
            "missing codes": pd.MultiIndex([["a"], [1.5]], [[0, -1, 0, 0, -1, 0], [0, 0, -1, 0, -1, 0]]),
            "a categorical level": pd.MultiIndex.from_arrays(
                [pd.Categorical(list("xyxxyx"), ["y", "x", "w"]), six]
            ),
            "a level of intervals": pd.MultiIndex.from_arrays([pd.interval_range(0, 6), six]),
            "a level of periods": pd.MultiIndex.from_arrays(
                [pd.period_range("2020", periods=6, freq="D"), six]
            ),
            "a level with a zone": pd.MultiIndex.from_arrays(
                [pd.date_range("2020", periods=6, tz="Asia/Tokyo"), six]
            ),
            "duplicated names": duplicated,
            "levels not in order": pd.MultiIndex(
                [["z", "a"], [2, 1]], [[0, 1, 0, 1, 0, 1], [1, 1, 1, 0, 0, 0]]
            ),
            "named by a tuple": pd.Index(six, name=("a", 1)),
            "duplicates": pd.Index([1] * 6),
        }
        | ({} if PANDAS < (2, 0) else indexes_of_pandas_2())
        | {"custom business days": pd.date_range("2020", periods=6, freq=mostly)}
    )


#: Indexes whose frequency has no name that says all.
PICKLED_INDEXES = {"custom business days"}


def indexes_of_pandas_2() -> dict[str, pd.Index]:
    return {
        "int8": pd.Index(np.arange(6, dtype="i1")),
        "uint16": pd.Index(np.arange(6, dtype="u2"), name="u"),
        "float32": pd.Index(np.arange(6, dtype="f4")),
        "nullable ints": pd.Index([1, None, 3, 4, 5, 6], dtype="Int64"),
        "string[pyarrow]": pd.Index(["a", None, "c", "d", "e", "f"], dtype="string[pyarrow]"),
        "seconds": pd.DatetimeIndex(np.arange(6).astype("M8[s]")),
        "milliseconds with a zone": pd.DatetimeIndex(np.arange(6).astype("M8[ms]")).tz_localize(
            "America/Lima"
        ),
    }


def labels() -> dict[str, pd.Index]:
    """Labels of three columns."""
    return {
        "text": pd.Index(["a", "b", "c"]),
        "text as objects": pd.Index(["a", "b", "c"], dtype=object),
        "text with a name": pd.Index(["a", "b", "c"], name="n"),
        "duplicates": pd.Index(["a", "b", "a"]),
        "a range": pd.RangeIndex(3),
        "a range with a step": pd.RangeIndex(9, 0, -3, name="r"),
        "ints": pd.Index([7, 3, 7], name=0),
        "mixed": pd.Index(["a", 1, None], dtype=object),
        "text and the same numbers": pd.Index(["1", 1, 1.0], dtype=object),
        "tuples": pd.Index([("x", 1), "b", ()], dtype=object, tupleize_cols=False),
        "booleans": pd.Index([True, False, True]),
        "bytes": pd.Index([b"a", b"b", b""], dtype=object),
        "datetimes": pd.date_range("2020", periods=3),
        "durations": pd.timedelta_range("1h", periods=3),
        "periods": pd.period_range("2020", periods=3, freq="M"),
        "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["p", None]),
        "unused levels": pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]])[3:],
        "categories": pd.CategoricalIndex(["u", "v", "u"], ["w", "v", "u"]),
        "Hebrew": pd.Index(["שלום", "עולם", "ב"], name="שם"),
        "empty text": pd.Index(["", " ", "\0"]),
        "floats": pd.Index([1.5, NAN, 2.0]),
        "intervals": pd.interval_range(0, 3),
    }
