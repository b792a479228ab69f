"""Every kind of index comes back: its class, its values, names, levels and frequency."""

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pytest
from same import assert_same

INDEXES = kinds.indexes()


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_comes_back_alone_and_in_what_it_labels(name, exchanged):
    index = INDEXES[name]
    trust = {"allow_pickle": name in kinds.PICKLED_INDEXES}
    assert_same(index, exchanged(index, **trust))
    series = pd.Series(np.arange(6.0), index=index, name="v")
    assert_same(series, exchanged(series, **trust))
    frame = pd.DataFrame({"v": np.arange(6), "w": list("abcdef")}, index=index)
    for some in (frame, frame.iloc[:0], frame.iloc[2:3], frame.iloc[1::2], frame.iloc[:, :0]):
        assert_same(some, exchanged(some, **trust))


@pytest.mark.parametrize("name", kinds.PICKLED_INDEXES)
def test_a_frequency_that_has_no_name_is_refused_without_trust(name, exchanged):
    with pytest.raises(af.UntrustedPickleError, match="the frequency of the index"):
        exchanged(pd.Series(range(6), index=INDEXES[name]))


@pytest.mark.parametrize("name", INDEXES)
def test_the_index_of_a_dataframe_stays_its_index_for_the_target_arrow(name, exchanged):
    frame = pd.DataFrame({"v": np.arange(6)}, index=INDEXES[name])
    found = exchanged(frame, target="arrow", allow_pickle=name in kinds.PICKLED_INDEXES)
    assert list(found.columns) == ["v"] and found["v"].tolist() == list(range(6))
    assert list(found.index.names) == list(frame.index.names)
    assert [repr(label) for label in found.index] == [repr(label) for label in frame.index]


def test_a_level_keeps_its_frequency(exchanged):
    days = pd.date_range("2020", periods=3, freq="2D")
    index = pd.MultiIndex([["a", "b"], days], [[0, 1, 0], [0, 1, 2]], names=["k", "day"])
    assert exchanged(index).levels[1].freq == days.freq


def test_an_index_of_a_million_numbers_is_three_numbers(exchanged):
    frame = pd.DataFrame(index=pd.RangeIndex(0, 3_000_000, 3))
    assert len(af.dumps(frame)) < 4_096
    assert_same(frame, exchanged(frame))
