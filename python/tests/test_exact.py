"""Every kind of column, index and labels comes back as it went."""

import arrow_frames as af
import numpy as np
import pandas as pd
import pytest
import samples
from same import assert_same

COLUMNS = samples.columns()
PICKLED = samples.pickled_columns()
INDEXES = samples.indexes()
LABELS = samples.labels()


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_comes_back_in_every_shape(kind, exchanged):
    for shape, obj in samples.shapes(COLUMNS[kind]).items():
        try:
            assert_same(obj, exchanged(obj))
        except Exception as error:
            raise AssertionError(f"{kind}, {shape}: {error}") from error


@pytest.mark.parametrize("kind", PICKLED)
def test_what_only_python_pickles_comes_back_if_that_is_allowed(kind, exchanged):
    column = PICKLED[kind]
    assert_same(column, exchanged(column, allow_pickle=True))
    with pytest.raises(af.UntrustedPickleError, match="'odd'"):
        exchanged(column.to_frame("odd"))


@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_comes_back(kind, exchanged):
    index = INDEXES[kind]
    assert_same(index, exchanged(index))
    assert_same(pd.Series([1, 2, 3], index=index), exchanged(pd.Series([1, 2, 3], index=index)))
    frame = pd.DataFrame({"v": [1.5, 2.5, 3.5], "w": ["a", None, "b"]}, index=index)
    assert_same(frame, exchanged(frame))
    assert_same(frame.iloc[:0], exchanged(frame.iloc[:0]))


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back(kind, exchanged):
    frame = pd.DataFrame([[1, "x"], [2, "y"]])
    frame.columns = LABELS[kind]
    assert_same(frame, exchanged(frame))
    assert_same(frame.iloc[:, :1], exchanged(frame.iloc[:, :1]))


def test_many_kinds_come_back_in_one_dataframe(exchanged):
    frame = pd.DataFrame({kind: column.reindex(range(5)) for kind, column in COLUMNS.items()})
    assert_same(frame, exchanged(frame))


def test_attrs_flags_and_names_come_back(exchanged):
    frame = pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False)
    frame.attrs = {"list": [1, (2, 3)], "dict": {"q": None}, 4: float("inf")}
    assert_same(frame, exchanged(frame))
    for name in ("n", 3, ("a", 1), None, 1.5, True):
        assert_same(pd.Series([1], name=name), exchanged(pd.Series([1], name=name)))
    frame.attrs = {"odd": {1, 2}}
    with pytest.raises(af.UntrustedPickleError, match="attrs"):
        exchanged(frame)
    assert exchanged(frame, allow_pickle=True).attrs == frame.attrs


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame(index=range(5)),
        pd.DataFrame(columns=["a", "b"]),
        pd.DataFrame({"a": []}, dtype="f8"),
        pd.DataFrame(np.arange(12.0).reshape(3, 4)),
        pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd")).assign(s="x", n=1),
        pd.DataFrame(np.asfortranarray(np.arange(12).reshape(3, 4))[::2]),
    ],
)
def test_dataframes_without_rows_or_columns_or_of_one_array_come_back(frame, exchanged):
    assert_same(frame, exchanged(frame))


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_survive_the_target_arrow(kind, exchanged):
    """As far as Arrow has the type, and pyarrow reads the stream without our help."""
    frame = COLUMNS[kind].to_frame("x")
    if kind in ("float16", "objects") or kind.startswith(("complex", "category of", "interval", "period")):
        # Columns that stay opaque, or that Arrow has otherwise: the values are what counts.
        found = exchanged(frame, target="arrow")["x"]
        assert [str(value) for value in found] == [str(value) for value in frame["x"]]
        return
    pd.testing.assert_frame_equal(exchanged(frame, target="arrow"), frame, check_dtype=samples.MAJOR >= 3)


def test_a_subclass_is_refused():
    class Own(pd.DataFrame):
        pass

    with pytest.raises(TypeError, match="subclass"):
        af.to_buffers(Own({"a": [1]}))
    with pytest.raises(TypeError, match="is no dataframe"):
        af.to_buffers(3)
