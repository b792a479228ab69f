"""Every kind of label of columns comes back, and so do names, attrs and flags."""

import datetime
from zoneinfo import ZoneInfo

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pytest
from same import assert_same

LABELS = kinds.labels()


def labelled(labels: pd.Index) -> pd.DataFrame:
    """Columns of two dtypes, so that the labels of a block are not beside each other."""
    frame = pd.DataFrame({0: np.arange(4), 1: list("abcd"), 2: np.arange(4) + 9})
    frame.columns = labels
    return frame


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back(name, exchanged):
    frame = labelled(LABELS[name])
    for some in (
        frame,
        frame.iloc[:, :1],
        frame.iloc[:, ::2],
        frame.iloc[:, ::-1],
        frame.iloc[:0],
        frame.iloc[:, :0],
    ):
        assert_same(some, exchanged(some))


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back_with_the_target_arrow(name, exchanged):
    frame = labelled(LABELS[name])
    assert_same(frame, exchanged(frame, target="arrow"))


@pytest.mark.parametrize(
    "name", ["n", "", "שם", None, 3, -(2**63), True, 1.5, float("inf"), ("a", 1), ("a", (None, 2.5)), ()]
)
def test_names_come_back(name, exchanged):
    index = pd.Index([1, 2, 3], name=name)
    series = pd.Series([1, 2, 3], index=index, name=name)
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    frame.columns.name = name
    for obj in (index, series, frame):
        assert_same(obj, exchanged(obj))


def test_attrs_come_back(exchanged):
    attrs = {
        "list": [1, (2, 3)],
        "dict": {"q": None, "": {}},
        4: float("-inf"),
        ("t",): 2**63,
        None: True,
        "NaN": float("nan"),
    }
    for obj in (pd.DataFrame({"a": [1]}), pd.Series([1])):
        obj.attrs = attrs
        assert_same(obj, exchanged(obj))


@pytest.mark.parametrize(
    "odd", [{1, 2}, 2**64, np.complex64(1.5), "\ud800", pd.Period("2020"), b"bytes"], ids=repr
)
def test_a_name_or_attribute_that_json_does_not_have_needs_trust(odd, exchanged):
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"odd": odd}
    with pytest.raises(af.UntrustedPickleError, match="the attrs"):
        exchanged(frame)
    assert_same(frame, exchanged(frame, allow_pickle=True))
    if not isinstance(odd, set):
        series = pd.Series([1], name=odd)
        with pytest.raises(af.UntrustedPickleError, match="the name"):
            exchanged(series)
        assert_same(series, exchanged(series, allow_pickle=True))


@pytest.mark.parametrize(
    "scalar",
    [
        np.int64(1), np.uint8(255), np.float64(-0.0), np.float32(1.5), np.float64("nan"), np.bool_(True), pd.NA, pd.NaT,
        pd.Timestamp("2020-01-02 03:04:05.000000006"), pd.Timestamp("2020-06-01", tz="Europe/Paris"),
        pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz=datetime.timezone(datetime.timedelta(hours=2))),
        pd.Timestamp("2020-10-25 01:30", tz="UTC").tz_convert("Europe/Paris"), pd.Timestamp("2020", tz=ZoneInfo("Asia/Tokyo")),
        pd.Timedelta("1 days 3 ns"), pd.Timedelta(-5, "s"),
    ],
    ids=repr,
)  # fmt: skip
def test_scalars_of_numpy_and_pandas_are_names_that_need_no_trust(scalar, exchanged):
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"scalar": scalar, "nested": [(scalar, {"k": scalar})]}
    found = exchanged(frame)
    assert_same(frame, found)
    assert type(found.attrs["scalar"]) is type(scalar)
    if isinstance(scalar, pd.Timestamp):
        again = found.attrs["scalar"]
        assert type(again.tz) is type(scalar.tz) and again.fold == scalar.fold
        assert getattr(again, "unit", None) == getattr(scalar, "unit", None)
    if scalar is not pd.NA:
        assert_same(pd.Series([1], name=scalar), exchanged(pd.Series([1], name=scalar)))


def test_flags_come_back(exchanged):
    frame = pd.DataFrame({"a": [1], "b": [2]})
    for obj in (frame, frame["a"]):
        unique = obj.set_flags(allows_duplicate_labels=False)
        found = exchanged(unique)
        assert_same(unique, found)
        with pytest.raises(pd.errors.DuplicateLabelError):
            pd.concat([found, found])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame(index=range(5)),
        pd.DataFrame(index=pd.Index([], dtype=object)),
        pd.DataFrame(columns=["a", "b"]),
        pd.DataFrame(columns=pd.MultiIndex.from_arrays([[], []], names=["x", "y"])),
        pd.DataFrame({"a": []}, dtype="f8"),
        pd.Series([], dtype="int64"),
        pd.Index([], dtype="M8[ns]", name="n"),
        pd.RangeIndex(0),
    ],
    ids=lambda obj: f"{type(obj).__name__}{obj.shape}",
)
def test_nothing_comes_back_as_nothing(frame, exchanged):
    assert_same(frame, exchanged(frame))
