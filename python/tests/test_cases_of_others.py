"""What pandas, dask.distributed and cloudpickle test their own ways of sending with, where no kind of ours has it.

pandas writes a file of each of these with every release: `generate_legacy_storage_files.py`.
"""

import datetime
import zoneinfo

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pytest
from pandas.tseries import offsets
from same import assert_same

NAN = float("nan")
DATES = pd.date_range("2013-01-01", periods=5)


def mixed() -> dict:
    return {
        "A": [0.0, 1.0, 2.0, 3.0, NAN],
        "B": [0, 1, 0, 1, 0],
        "C": ["foo1", "foo2", "foo3", "foo4", "foo5"],
        "D": DATES,
        "E": [0.0, 1, pd.Timestamp("20100101"), "foo", 2.0],
    }


def levels() -> pd.MultiIndex:
    pairs = zip(*[["bar", "bar", "baz", "baz", "foo"], ["one", "two", "one", "two", "three"]], strict=True)
    return pd.MultiIndex.from_tuples(pairs, names=["first", "second"])


def repeated_labels(*places: int) -> pd.DataFrame:
    return pd.DataFrame(mixed()).iloc[:, list(places)].set_axis(list("ABCDEA")[: len(places)], axis=1)


FRAMES = {
    "floats": lambda: pd.DataFrame({"A": mixed()["A"], "B": pd.Series(mixed()["A"]) + 1}),
    "ints": lambda: pd.DataFrame({"A": mixed()["B"], "B": pd.Series(mixed()["B"]) + 1}),
    "mixed": lambda: pd.DataFrame({name: mixed()[name] for name in "ABCD"}),
    "mixed, with moments among the objects": lambda: pd.DataFrame(mixed()),
    "levels": lambda: pd.DataFrame({"A": np.arange(5.0), "B": np.arange(5)}, index=levels()),
    "one label twice": lambda: pd.DataFrame(np.arange(15.0).reshape(5, 3), columns=["A", "B", "A"]),
    "one label twice, mixed": lambda: repeated_labels(0, 1, 2, 3, 1, 2),
    "one category": lambda: pd.DataFrame({"A": pd.Categorical(["foo", "bar"])}),
    "a category and floats": lambda: pd.DataFrame(
        {"A": pd.Categorical(["foo", "bar", "baz"]), "B": np.arange(3.0)}
    ),
    "two zones": lambda: pd.DataFrame(
        {"A": pd.Timestamp("2013", tz="US/Eastern"), "B": pd.Timestamp("2013", tz="CET")}, index=range(5)
    ),
    "two zones and none": lambda: pd.DataFrame(
        {
            "A": pd.Timestamp("2013", tz="US/Eastern"),
            "B": pd.Timestamp("2013", tz="CET"),
            "C": pd.Timestamp("2013"),
        },
        index=range(5),
    ),
    "a label that is an int": lambda: pd.DataFrame({2: [1], "b": [2]}),
    "words": lambda: pd.DataFrame({"A": ["abc"] * 3, "B": [b"abc"] * 3}),
    "Hebrew": lambda: pd.DataFrame({"אב": ["א", "ב"]}, index=["ג", "ד"]),
    "a named index of words": lambda: pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="bar")),
    "pandas' own example": lambda: pd.DataFrame(
        {"A": pd.Series([1, 2, 3], dtype="Int64"), "B": [1.5, NAN, 3]}
    ),
    "a level of categories with one unused": lambda: pd.DataFrame(
        {"v": [1, 2]},
        index=pd.MultiIndex.from_arrays([pd.CategoricalIndex(["a", "b"], ["c", "b", "a"]), [1, 2]]),
    ),
    "a table of sums": lambda: (
        pd.DataFrame({"k": list("aab"), "v": [1, 2, 3]}).groupby("k").agg(["sum", "max"])
    ),
    "a table of columns by month": lambda: pd.DataFrame(
        np.arange(6.0).reshape(2, 3), columns=pd.period_range("2020", periods=3, freq="M", name="month")
    ),
    "a crosstab": lambda: pd.crosstab(pd.Series(list("aab"), name="x"), pd.Series([1, 2, 2], name="y")),
    "what describe says": lambda: pd.DataFrame(mixed())[["A", "B"]].describe(),
    "transposed": lambda: pd.DataFrame(mixed())[["A", "B", "C"]].T,
    "split in many blocks": lambda: split(30),
}


def split(columns: int) -> pd.DataFrame:
    """Columns that were added one after the other: a block each."""
    frame = pd.DataFrame({"c0": np.arange(9)})
    for number in range(1, columns):
        frame.insert(number, f"c{number}", np.arange(9) * number)
    assert len(frame._mgr.blocks) == columns
    return frame


#: Those with objects that no form of ours holds.
PICKLED = {"mixed, with moments among the objects"}


@pytest.mark.parametrize("name", FRAMES)
def test_dataframes_come_back(name, exchanged):
    frame = FRAMES[name]()
    for some in (frame, frame.iloc[::2], frame.iloc[:0]):
        assert_same(some, exchanged(some, allow_pickle=name in PICKLED))
    for place in range(frame.shape[1]):
        # Its name may be a scalar of numpy or a period, which JSON does not have.
        column = frame.iloc[:, place]
        assert_same(column, exchanged(column, allow_pickle=True))


YEAR = "YE" if kinds.PANDAS >= (2, 2) else "A"
#: Frequencies of days and times: the classes whose offsets pandas has.
FREQUENCIES = [
    offsets.Day(3),
    offsets.Hour(2),
    offsets.Minute(-5),
    offsets.Second(7),
    offsets.Milli(9),
    offsets.Micro(11),
    offsets.Nano(13),
    offsets.BusinessDay(),
    offsets.BusinessDay(3),
    offsets.BusinessHour(),
    offsets.Week(),
    offsets.Week(weekday=2),
    offsets.WeekOfMonth(week=1, weekday=2),
    offsets.LastWeekOfMonth(weekday=4),
    offsets.MonthBegin(),
    offsets.MonthEnd(2),
    offsets.BusinessMonthBegin(),
    offsets.BusinessMonthEnd(),
    offsets.SemiMonthBegin(),
    offsets.SemiMonthEnd(day_of_month=20),
    offsets.QuarterBegin(startingMonth=2),
    offsets.QuarterEnd(),
    offsets.BQuarterBegin(),
    offsets.BQuarterEnd(startingMonth=11),
    offsets.YearBegin(month=5),
    offsets.YearEnd(),
    offsets.BYearBegin(),
    offsets.BYearEnd(month=6),
    offsets.FY5253(startingMonth=1, weekday=4, variation="last"),
    offsets.FY5253Quarter(startingMonth=1, weekday=4, variation="last", qtr_with_extra_week=2),
    offsets.Easter(),
    offsets.CustomBusinessDay(holidays=["2020-01-06"]),
    offsets.CustomBusinessHour(start="10:00"),
    offsets.CustomBusinessMonthBegin(),
    offsets.CustomBusinessMonthEnd(holidays=["2020-01-31"]),
    offsets.DateOffset(months=1, days=2),
    offsets.DateOffset(),
]


@pytest.mark.parametrize("freq", FREQUENCIES, ids=lambda freq: f"{type(freq).__name__} {freq.n}")
def test_every_frequency_comes_back(freq, exchanged):
    days = pd.date_range("2020-01-01", periods=4, freq=freq)
    for index in (days, days[:0], days[1:2]):
        assert_same(index, exchanged(index, allow_pickle=True))
        assert_same(pd.DataFrame(index=index), exchanged(pd.DataFrame(index=index), allow_pickle=True))
    objects = pd.Series([freq, freq * 2, None], dtype=object)
    assert_same(objects, exchanged(objects, allow_pickle=True))


@pytest.mark.parametrize(
    "zone",
    [
        datetime.UTC,
        datetime.timezone(datetime.timedelta(hours=5, minutes=45)),
        datetime.timezone(datetime.timedelta(hours=-1), "a name"),
        datetime.timezone(datetime.timedelta(seconds=-7)),
        zoneinfo.ZoneInfo("UTC"),
        zoneinfo.ZoneInfo("America/New_York"),
        zoneinfo.ZoneInfo("Asia/Kathmandu"),
        "UTC",
        "+05:45",
        "Pacific/Chatham",
    ],
    ids=str,
)
def test_every_zone_comes_back(zone, exchanged):
    if isinstance(zone, zoneinfo.ZoneInfo) and kinds.PANDAS < (2, 0):
        pytest.skip("pandas before 2 cannot work with zones of zoneinfo in every place")
    moments = pd.Series(pd.date_range("2020-03-01", periods=9, freq=pd.Timedelta("7D"), tz=zone))
    for obj in (moments, moments.to_frame("t"), pd.Index(moments), moments.astype("category")):
        assert_same(obj, exchanged(obj, allow_pickle=True))


def test_scalars_as_objects_come_back(exchanged):
    column = pd.Series(
        [
            pd.Timestamp("2011-01-01 12:00", tz="Asia/Tokyo"),
            pd.Timedelta("1 days 2 ns"),
            pd.Period("2011-01", freq="M"),
            pd.Interval(0, 1),
            np.datetime64("2020"),
            pd.NaT,
            pd.NA,
            range(3),
            frozenset({1}),
            1 + 2j,
        ],
        dtype=object,
    )
    assert_same(column, exchanged(column, allow_pickle=True))
    with pytest.raises(af.UntrustedPickleError):
        exchanged(column)


def test_structured_arrays_come_back(exchanged):
    """pandas makes columns of their fields."""
    records = np.array([(1, 2.5, "a"), (3, 4.5, "b")], [("x", "<i4"), ("y", "<f8"), ("z", "U1")])
    frame = pd.DataFrame.from_records(records, index="x")
    assert_same(frame, exchanged(frame))


def test_columns_of_many_kinds_in_one_shuffled_dataframe_come_back(exchanged):
    frame = pd.concat([FRAMES["mixed"]()] * 4, keys=list("abcd"), names=["part", None]).sample(
        frac=1, random_state=0
    )
    frame = frame.droplevel(1)
    assert_same(frame, exchanged(frame))
    parts = [part for _, part in frame.groupby("B")]
    assert_same(pd.concat(parts), pd.concat([exchanged(part) for part in parts]))


def test_what_came_back_can_be_sent_again(exchanged):
    frame = pd.DataFrame(mixed(), index=levels())
    again = frame
    for _ in range(4):
        again = exchanged(again, allow_pickle=True)
    assert_same(frame, again)
