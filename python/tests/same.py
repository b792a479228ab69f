"""Whether two objects of pandas are the same, to the flags."""

import pandas as pd


def assert_same(expected, found) -> None:
    """Values, dtypes, labels, names, the index and its frequency, attrs and flags."""
    assert type(found) is type(expected)
    if isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(found, expected, exact=True, check_exact=True)
        assert found.names == expected.names
        assert getattr(found, "freq", None) == getattr(expected, "freq", None)
        return
    if isinstance(expected, pd.DataFrame):
        options = {"check_column_type": True}
        pd.testing.assert_frame_equal(
            found, expected, check_exact=True, check_freq=True, check_flags=True, **options
        )
        assert_same(expected.columns, found.columns)
    else:
        pd.testing.assert_series_equal(found, expected, check_exact=True, check_freq=True, check_flags=True)
        assert type(found.name) is type(expected.name)
    assert_same(expected.index, found.index)
    assert found.attrs == expected.attrs
