"""DataFrames and Series of polars come back as they went, with every dtype that polars has."""

import datetime
import decimal

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pl = pytest.importorskip("polars")

ROWS = 100
DAY, MOMENT = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 1, 2, 3, 4)
NAN = float("nan")


def samples() -> dict[str, tuple]:
    """By the name of the dtype: the dtype and some values."""
    found = {}
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"):
        ends = np.iinfo(name.lower())
        found[name] = getattr(pl, name), [ends.min, None, ends.max]
    for name in ("Float16", "Float32", "Float64"):
        if hasattr(pl, name):
            found[name] = getattr(pl, name), [1.5, None, NAN, -0.0, float("inf")]
    for unit in ("ms", "us", "ns"):
        found[f"Datetime[{unit}]"] = pl.Datetime(unit), [MOMENT, None, datetime.datetime(1970, 1, 1)]
        found[f"Duration[{unit}]"] = pl.Duration(unit), [datetime.timedelta(-1, 5), None]
    for zone in ("UTC", "Europe/Paris"):
        found[f"Datetime[us, {zone}]"] = (
            pl.Datetime("us", zone),
            [MOMENT.replace(tzinfo=datetime.UTC), None],
        )
    points = [{"x": 1, "y": ["a"]}, None, {"x": None, "y": [None, "b"]}]
    others = {
        "Boolean": (pl.Boolean, [True, None, False]),
        "String": (pl.String, ["a", None, "", "ב", "a text that is longer than a view has"]),
        "Binary": (pl.Binary, [b"a", None, b"", b"\xff\0"]),
        "Date": (pl.Date, [DAY, None]),
        "Time": (pl.Time, [datetime.time(1, 2, 3, 4), None]),
        "Decimal": (pl.Decimal(20, 2), [decimal.Decimal("-1.50"), None]),
        "Null": (pl.Null, [None]),
        "Categorical": (pl.Categorical, ["a", None, "b", "a"]),
        "Enum": (pl.Enum(["b", "unused", "a"]), ["a", None, "b"]),
        "List": (pl.List(pl.Int16), [[1], None, [], [2, None]]),
        "List of lists": (pl.List(pl.List(pl.String)), [[["a"], None, []], None]),
        "List of Categorical": (pl.List(pl.Categorical), [["a", "b"], None, ["a"]]),
        "Array": (pl.Array(pl.Float32, 2), [[1.5, None], None]),
        "Array of arrays": (pl.Array(pl.Int8, (2, 1)), [[[1], [2]], None]),
        "Struct": (pl.Struct({"x": pl.Int64, "y": pl.List(pl.String)}), points),
        "Struct of Enum": (pl.Struct({"e": pl.Enum(["u", "v"])}), [{"e": "v"}, None, {"e": None}]),
    }
    return found | others


SAMPLES = samples()


def series(name: str, rows: int = ROWS) -> "pl.Series":
    dtype, values = SAMPLES[name]
    return pl.Series("värde", (values * rows)[:rows], dtype=dtype)


def shapes(made: "pl.Series") -> dict[str, "pl.Series"]:
    """In the shapes that lie in memory in ways of their own."""
    return {
        "all": made,
        "no rows": made[:0],
        "one row": made[1:2],
        "the middle": made[13:70],
        "every other row": made[::2],
        "two chunks": pl.concat([made[:7], made[9:]], rechunk=False),
        "all missing": pl.Series(made.name, [None] * 5, dtype=made.dtype),
    }


def assert_same(expected, found) -> None:
    """Of the same class, with the same names, dtypes and values, where NaN equals NaN and −0.0 is not 0.0."""
    assert type(found) is type(expected)
    if isinstance(expected, pl.DataFrame):
        assert found.schema == expected.schema and found.shape == expected.shape
        for one, other in zip(expected, found):
            assert_same(one, other)
        return
    assert (found.name, found.dtype, len(found)) == (expected.name, expected.dtype, len(expected))
    assert found.null_count() == expected.null_count()
    assert repr(found.to_list()) == repr(expected.to_list())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_series_comes_back_in_every_shape(name, exchanged):
    for shape, made in shapes(series(name)).items():
        try:
            assert_same(made, exchanged(made))
            assert_same(made.to_frame(), exchanged(made.to_frame()))
        except Exception as error:
            error.add_note(shape)
            raise


def test_every_dtype_has_a_sample():
    """But for those that a test below has by itself, and classes of which there are no values."""
    dtypes = {
        name for name, value in vars(pl).items() if isinstance(value, type) and issubclass(value, pl.DataType)
    }
    dtypes -= {"DataType", "Unknown", "Utf8", "BaseExtension", "Extension"}
    dtypes -= {"Map", "Object", "Int128", "UInt128"}
    assert dtypes == {name.partition("[")[0].partition(" ")[0] for name in SAMPLES}


@pytest.mark.skipif(not hasattr(pl, "Map"), reason="polars has no Map before 2")
def test_a_map_comes_back(exchanged):
    made = pl.Series("m", [{"a": 1}, None, {}], dtype=pl.Map(pl.String, pl.Int64))
    assert_same(made, exchanged(made))


def test_all_dtypes_come_back_in_one_dataframe(exchanged):
    frame = pl.DataFrame([series(name).rename(name) for name in SAMPLES])
    assert_same(frame, exchanged(frame))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_frames_come_back(compression, exchanged):
    frame = pl.DataFrame([series(name).rename(name) for name in SAMPLES if name != "Null"])
    assert_same(frame, exchanged(frame, compression=compression))


@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.DataFrame(),
        lambda: pl.DataFrame(schema={"a": pl.Int64, "b": pl.String}),
        lambda: pl.Series("", [], dtype=pl.Int64),
        lambda: pl.Series("", [1]),
    ],
    ids=["nothing", "no rows", "an empty Series", "no name"],
)
def test_what_is_empty_comes_back(make, exchanged):
    assert_same(make(), exchanged(make()))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("Object", lambda: pl.Series("odd", [object(), 1, None], dtype=pl.Object)),
        ("Int128", lambda: pl.Series("odd", [2**100, None], dtype=pl.Int128)),
        ("UInt128", lambda: pl.Series("odd", [2**127, None], dtype=pl.UInt128)),
    ],
)
def test_a_dtype_that_arrow_has_not_comes_back_or_is_refused_by_the_name_of_its_column(name, make):
    """Python's objects go by their addresses otherwise, which are of no use to anybody else."""
    if not hasattr(pl, name):
        pytest.skip(f"polars has no {name}")
    made = make()
    for obj in (made, made.to_frame(), made.to_frame()[:0]):
        if name == "Object":
            with pytest.raises((TypeError, af.EncodeError), match="odd"):
                af.to_buffers(obj)
            continue
        try:
            found = af.loads(af.dumps(obj))
        except (TypeError, af.EncodeError) as error:
            assert "odd" in str(error)
        else:
            assert_same(obj, found)


def test_numbers_and_text_share_their_memory():
    frame = pl.DataFrame({"n": np.arange(ROWS), "f": np.arange(ROWS) / 2})
    header, frames = af.to_buffers(frame)
    assert af.copies(frame) == []
    found = af.from_buffers(header, frames)
    for name in frame.columns:
        assert np.shares_memory(frame[name].to_numpy(), found[name].to_numpy())


def test_what_is_sent_is_plain_arrow():
    frame = pl.DataFrame({"n": [1, None], "text": ["a", "b"], "list": [[1], []]})
    table = pa.ipc.open_stream(af.dumps(frame)).read_all()
    assert table.to_pylist() == frame.to_dicts()


def test_it_comes_back_into_what_is_asked_for(exchanged):
    frame = pl.DataFrame({"n": [1, 2], "text": ["a", None]})
    table = exchanged(frame, into="pyarrow")
    assert type(table) is pa.Table and table.to_pylist() == frame.to_dicts()
    found = exchanged(frame, into="pandas")
    assert type(found) is pd.DataFrame and found["n"].tolist() == [1, 2]
    assert found["text"].isna().tolist() == [False, True]
    assert_same(frame, exchanged(frame.to_arrow(), into="polars"))
    assert_same(frame["text"], exchanged(frame["text"].to_frame(), into="polars.Series"))


@pytest.mark.parametrize("target", ["arrow", "pandas"])
def test_a_dataframe_of_pandas_becomes_one_of_polars(target, exchanged):
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "text": ["a", "b"],
            "kind": pd.Categorical(["x", "y"]),
            "zoned": pd.date_range("2020", periods=2, tz="Europe/Paris"),
            "flag": [True, False],
            "nullable": pd.array([1, None], dtype="Int64"),
        }
    )
    found = exchanged(frame, target=target, into="polars")
    assert type(found) is pl.DataFrame and found.columns[:6] == list(frame)
    assert found["n"].to_list() == [1, 2] and found["text"].to_list() == ["a", "b"]
    assert found["kind"].cast(pl.String).to_list() == ["x", "y"]
    assert found["zoned"].to_list() == [moment.to_pydatetime() for moment in frame["zoned"]]
    assert found["flag"].to_list() == [True, False] and found["nullable"].to_list() == [1, None]


def test_columns_are_chosen(exchanged):
    frame = pl.DataFrame({"a": [1], "b": ["x"], "c": [1.5]})
    assert_same(frame.select("c", "a"), exchanged(frame, columns=["c", "a"]))
