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
