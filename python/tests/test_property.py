"""Whatever hypothesis makes of pandas comes back as it went, to the bit.

The examples are the same in every run.
"""

import datetime
import decimal

import kinds
import numpy as np
import pandas as pd
from conftest import in_frames, in_stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import pandas as hp
from same import assert_same

#: Where hypothesis keeps what it needs, if anything, is what HYPOTHESIS_STORAGE_DIRECTORY says.
PROFILE = settings(
    derandomize=True, deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow]
)

UNITS = ("s", "ms", "us", "ns") if kinds.PANDAS >= (2, 0) else ("ns",)
INTEGERS = [f"{sign}{width}" for sign in "iu" for width in (1, 2, 4, 8)]
FLOATS = ["f2", "f4", "f8"]
#: Those whose every pattern of bits is a value.
ANY_BITS = [*INTEGERS, *FLOATS, "c8", "c16", *(f"{kind}8[{unit}]" for kind in "mM" for unit in UNITS)]
#: Those that pandas has an index of.
INDEXED = ["i8", "u8", "f8"] if kinds.PANDAS < (2, 0) else [*INTEGERS, "f4", "f8"]

#: Text with lone surrogates, which no UTF-8 has.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
TEXT = st.text(max_size=6)

#: Objects that a column may hold beside each other.
OBJECTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    ANY_TEXT,
    st.binary(max_size=6),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.timedeltas(datetime.timedelta(-(10**6)), datetime.timedelta(10**6)),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.sampled_from([pd.NA, pd.NaT, float("nan"), decimal.Decimal("NaN"), -0.0]),
)
NESTED = st.recursive(
    OBJECTS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(ANY_TEXT, inner, max_size=3),
    ),
    max_leaves=5,
)
#: Names of columns, indexes and Series.
NAMES = st.one_of(
    st.none(), ANY_TEXT, st.integers(), st.floats(allow_nan=False), st.tuples(TEXT, st.integers())
)

ways = st.sampled_from([in_frames, in_stream])
rows = st.integers(0, 12)


def check(obj, way) -> None:
    assert_same(obj, way(obj, allow_pickle=True))


@st.composite
def bits(draw, length: int, dtypes=tuple(ANY_BITS)) -> np.ndarray:
    """An array whose bits are anything: NaNs with payloads, −0.0, NaT, the ends of every range."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    size = length * dtype.itemsize
    return np.frombuffer(bytearray(draw(st.binary(min_size=size, max_size=size))), dtype)


@st.composite
def columns(draw, length: int) -> pd.Series:
    """A column of so many rows, of any dtype that pandas has beside those of numpy."""
    values = lambda of: draw(st.lists(of, min_size=length, max_size=length))
    kind = draw(
        st.sampled_from(["bits", "bool", "object", "text", "nullable", "category", "zoned", "period"])
    )
    if kind == "bits":
        return pd.Series(draw(bits(length)), copy=False)
    if kind == "bool":
        return pd.Series(np.array(values(st.booleans()), "?"))
    if kind == "object":
        return pd.Series(as_objects(values(NESTED)), dtype=object)
    if kind == "text":
        dtype = draw(st.sampled_from(["string[python]", "string[pyarrow]"]))
        return pd.Series(values(st.none() | TEXT), dtype=dtype)
    if kind == "nullable":
        numbers = draw(bits(length, (*INTEGERS, "f4", "f8")))
        missing = np.array(values(st.booleans()), "?")
        made = pd.arrays.FloatingArray if numbers.dtype.kind == "f" else pd.arrays.IntegerArray
        return pd.Series(made(numbers, missing), copy=False)
    if kind == "category":
        categories = draw(st.lists(TEXT, min_size=1, max_size=5, unique=True))
        codes = values(st.integers(-1, len(categories) - 1))
        return pd.Series(pd.Categorical.from_codes(codes, categories, ordered=draw(st.booleans())))
    days = pd.to_datetime(values(st.integers(-(10**5), 10**5)), unit="D")
    if kind == "period":
        return pd.Series(days.to_period(draw(st.sampled_from(["D", "M"]))))
    zone = draw(st.sampled_from(["UTC", "Europe/Paris", "Asia/Kathmandu", "-03:30"]))
    return pd.Series(days.tz_localize("UTC").tz_convert(zone))


def as_objects(values: list) -> np.ndarray:
    """An array of these objects, even where they are lists of one length."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


@PROFILE
@given(st.data(), rows, ways)
def test_numbers_of_any_bits_come_back(data, length, way):
    check(pd.Series(data.draw(bits(length)), copy=False), way)


@PROFILE
@given(st.data(), rows, st.integers(1, 5), ways)
def test_blocks_of_any_bits_come_back(data, length, width, way):
    block = data.draw(bits(length * width)).reshape(length, width, order=data.draw(st.sampled_from("CF")))
    check(pd.DataFrame(block, copy=False), way)


@PROFILE
@given(st.data(), rows, ways)
def test_objects_of_any_class_come_back(data, length, way):
    values = data.draw(st.lists(NESTED, min_size=length, max_size=length))
    check(pd.Series(as_objects(values), dtype=object), way)


@PROFILE
@given(st.data(), rows, ways)
def test_dataframes_of_any_columns_come_back(data, length, way):
    made = data.draw(st.lists(columns(length), max_size=6))
    frame = pd.DataFrame(dict(enumerate(made)), index=range(length))
    labels = data.draw(st.lists(NAMES, min_size=len(made), max_size=len(made)))
    frame.columns = pd.Index(as_objects(labels), dtype=object, tupleize_cols=False, name=data.draw(NAMES))
    start, step = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([1, 2, -1]))
    for some in (frame, frame.iloc[start::step], frame.iloc[:, ::step]):
        check(some, way)


@PROFILE
@given(st.data(), rows, ways)
def test_series_and_indexes_with_any_name_come_back(data, length, way):
    series = data.draw(columns(length))
    series.name = data.draw(NAMES)
    check(series, way)
    numbers = data.draw(bits(length, (*INDEXED, "M8[ns]", "m8[ns]")))
    index = pd.Index(numbers, name=data.draw(NAMES))
    check(index, way)
    check(series.set_axis(index), way)


@PROFILE
@given(st.data(), rows, ways)
def test_levels_of_any_values_come_back(data, length, way):
    texts, floats = (st.lists(of, min_size=length, max_size=length) for of in (TEXT, st.floats()))
    arrays = [data.draw(texts), data.draw(bits(length, ("i8", "M8[ns]"))), data.draw(floats)]
    names = data.draw(st.lists(NAMES, min_size=3, max_size=3))
    index = pd.MultiIndex.from_arrays(arrays, names=names)
    check(index, way)
    check(pd.DataFrame({"v": range(length)}, index=index), way)


@PROFILE
@given(
    hp.data_frames(
        [
            hp.column("i", dtype="i8"),
            hp.column("f", dtype="f8"),
            hp.column("b", dtype="?"),
            hp.column("s", elements=TEXT, dtype=object),
            hp.column("t", dtype="M8[ns]"),
            hp.column("c", dtype="c16"),
        ],
        index=hp.indexes(dtype="i8", unique=False) | hp.range_indexes(),
    ),
    ways,
)
def test_dataframes_that_hypothesis_makes_come_back(frame, way):
    check(frame, way)


@PROFILE
@given(hp.series(dtype="f8", index=hp.indexes(elements=TEXT, dtype=object, max_size=9), name=ANY_TEXT), ways)
def test_series_that_hypothesis_makes_come_back(series, way):
    check(series, way)


@PROFILE
@given(st.dictionaries(NAMES, NESTED, max_size=3), ways)
def test_any_attributes_come_back(attrs, way):
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = attrs
    check(frame, way)
