"""Only the columns that are asked for are decoded, and the index with them."""

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same


def frame() -> pd.DataFrame:
    times = pd.date_range("2020", periods=100, tz="UTC")
    columns = {"a": np.arange(100), "t": times, "s": ["x", None] * 50, "b": [True, False] * 50}
    return pd.DataFrame(columns, index=pd.Index(np.arange(100.0), name="key"))


@pytest.mark.parametrize("labels", [["s"], ["b", "t"], ["t", "b", "a", "s"], []], ids=str)
def test_columns_come_back_in_the_order_that_is_asked_for(labels, exchanged):
    assert_same(frame()[labels], exchanged(frame(), columns=labels))


def test_columns_of_a_file_are_chosen(tmp_path):
    path = tmp_path / "frame.arrows"
    af.dump(frame(), path)
    for read in (af.load, af.memory_map):
        assert_same(frame()[["t"]], read(path, columns=["t"]))


def test_columns_of_a_table_are_chosen(exchanged):
    table = pa.table({"a": [1, 2], "b": ["x", None], "c": [[1], []]})
    assert exchanged(table, columns=["c", "a"]).equals(table.select(["c", "a"]))


def test_the_index_comes_with_every_choice(exchanged):
    levels = pd.MultiIndex.from_product([["p", "q"], list(range(50))], names=["k", None])
    assert_same(frame().set_axis(levels)[["a"]], exchanged(frame().set_axis(levels), columns=["a"]))


def test_what_is_not_chosen_is_not_decoded(exchanged):
    odd = frame().assign(odd=pd.Series([{1}] * 100, index=frame().index, dtype=object))
    assert_same(odd[["a"]], exchanged(odd, columns=["a"]))


def test_a_label_that_is_not_there_is_named(exchanged):
    with pytest.raises(KeyError, match="'z'"):
        exchanged(frame(), columns=["a", "z"])


def test_a_column_is_asked_for_once(exchanged):
    """Two arrays over one memory would change with each other."""
    for obj in (frame(), pa.table({"a": [1], "b": [2]})):
        with pytest.raises(ValueError, match="'a' is asked for more than once"):
            exchanged(obj, columns=["a", "b", "a"])


def test_columns_of_one_name_come_back_together(exchanged):
    twice = pd.DataFrame([[1, 2.5, 3]], columns=["a", "b", "a"])
    assert_same(twice["a"], exchanged(twice, columns=["a"]))
    first, second = (exchanged(twice, columns=["a"]).iloc[:, at].to_numpy() for at in (0, 1))
    assert not np.shares_memory(first, second)


def test_the_index_is_no_column(exchanged):
    with pytest.raises(KeyError, match="__index_level_0__"):
        exchanged(frame(), columns=["__index_level_0__"])


@pytest.mark.parametrize("labels", [["b"], ["c", "a"]], ids=str)
def test_columns_of_an_array_whose_rows_lie_together_are_chosen(labels, exchanged):
    rows = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc"), copy=False)
    assert_same(rows[labels], exchanged(rows, columns=labels))
    with pytest.raises(KeyError, match="'z'"):
        exchanged(rows, columns=["z"])
