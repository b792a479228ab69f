"""Whether two objects of pandas are the same, down to what `pandas.testing` lets pass.

Its functions take None, NaN and NA for each other, 1 for True and -0.0 for 0.0, and look neither at
unused levels nor at frequencies of levels.
"""

import math

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray


def assert_same(expected, found) -> None:
    """Values, dtypes, labels, names, the class of the index and its frequency, attrs and flags."""
    assert type(found) is type(expected), f"{type(found).__name__} instead of {type(expected).__name__}"
    if isinstance(expected, pd.Index):
        assert_same_index(expected, found)
        return
    assert_same_index(expected.index, found.index, "index")
    if isinstance(expected, pd.DataFrame):
        assert found.shape == expected.shape
        assert_same_index(expected.columns, found.columns, "columns")
        for place, label in enumerate(expected.columns):
            assert_same_array(
                array_of(expected.iloc[:, place]), array_of(found.iloc[:, place]), f"column {label!r}"
            )
    else:
        assert_same_scalar(expected.name, found.name, "the name")
        assert_same_array(array_of(expected), array_of(found), "the values")
    assert_same_scalar(dict(expected.attrs), dict(found.attrs), "attrs")
    assert found.flags.allows_duplicate_labels == expected.flags.allows_duplicate_labels


def assert_same_index(expected: pd.Index, found: pd.Index, what: str = "the index") -> None:
    assert type(found) is type(expected), (
        f"{what} is a {type(found).__name__}, not a {type(expected).__name__}"
    )
    assert_same_scalar(list(expected.names), list(found.names), f"names of {what}")
    if isinstance(expected, pd.MultiIndex):
        assert found.nlevels == expected.nlevels
        for number in range(expected.nlevels):
            assert_same_index(expected.levels[number], found.levels[number], f"level {number} of {what}")
            codes, own = np.asarray(found.codes[number]), np.asarray(expected.codes[number])
            assert codes.dtype == own.dtype and codes.tolist() == own.tolist(), f"codes {number} of {what}"
        return
    if isinstance(expected, pd.RangeIndex):
        assert (found.start, found.stop, found.step) == (expected.start, expected.stop, expected.step), what
        return
    freq, own = getattr(found, "freq", None), getattr(expected, "freq", None)
    assert freq == own and type(freq) is type(own), f"{what} has the frequency {freq}, not {own}"
    assert_same_array(array_of(expected), array_of(found), what)


def assert_same_array(expected, found, what: str) -> None:
    assert type(found) is type(expected), (
        f"{what} is of {type(found).__name__}, not of {type(expected).__name__}"
    )
    assert found.dtype == expected.dtype, f"{what} is of {found.dtype}, not of {expected.dtype}"
    assert str(found.dtype) == str(expected.dtype), f"{what} is of {found.dtype}, not of {expected.dtype}"
    assert len(found) == len(expected), f"{what} has {len(found)} rows, not {len(expected)}"
    if isinstance(expected, np.ndarray):
        assert_same_numbers(expected, found, what)
    elif isinstance(expected, pd.Categorical):
        assert bool(found.ordered) == bool(expected.ordered), f"{what}: ordered"
        assert_same_numbers(np.asarray(expected.codes), np.asarray(found.codes), f"codes of {what}")
        assert_same_index(expected.categories, found.categories, f"categories of {what}")
    elif hasattr(expected, "_mask"):
        assert_same_numbers(expected._mask, found._mask, f"mask of {what}")
        assert_same_numbers(expected._data[~expected._mask], found._data[~found._mask], what)
    elif isinstance(expected, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray, pd.arrays.PeriodArray)):
        assert_same_numbers(expected.asi8, found.asi8, what)
        if isinstance(expected.dtype, pd.DatetimeTZDtype):
            assert type(found.dtype.tz) is type(expected.dtype.tz), f"zone of {what}: {found.dtype.tz!r}"
    elif isinstance(expected, pd.arrays.IntervalArray):
        assert found.closed == expected.closed, what
        assert_same_array(array_of(expected.left), array_of(found.left), f"left ends of {what}")
        assert_same_array(array_of(expected.right), array_of(found.right), f"right ends of {what}")
    elif isinstance(expected, pd.arrays.SparseArray):
        assert found.sp_index.equals(expected.sp_index), what
        assert_same_numbers(expected.sp_values, found.sp_values, what)
        assert_same_scalar(expected.fill_value, found.fill_value, what)
    else:
        assert_same_scalar(plain(expected), plain(found), what)


def assert_same_numbers(expected: np.ndarray, found: np.ndarray, what: str) -> None:
    """To the bit; of objects, to the type."""
    assert found.dtype == expected.dtype and found.shape == expected.shape, (
        f"{what}: {found.dtype}{found.shape}"
    )
    if expected.dtype == object:
        assert_same_scalar(expected.tolist(), found.tolist(), what)
        return
    own, other = np.ascontiguousarray(expected), np.ascontiguousarray(found)
    assert own.tobytes() == other.tobytes(), f"{what}: {other[:10]!r} instead of {own[:10]!r}"


def assert_same_scalar(expected, found, what: str) -> None:
    """Of the same type and equal, where NaN equals NaN."""
    assert type(found) is type(expected), f"{what}: {found!r} instead of {expected!r}"
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), what
        for number, (one, other) in enumerate(zip(expected, found)):
            assert_same_scalar(one, other, f"{what}[{number}]")
    elif isinstance(expected, dict):
        assert_same_scalar(list(expected.items()), list(found.items()), what)
    elif isinstance(expected, float):
        is_equal = expected == found and math.copysign(1, expected) == math.copysign(1, found)
        assert is_equal or expected != expected and found != found, (
            f"{what}: {found!r} instead of {expected!r}"
        )
    elif expected is pd.NA or expected is pd.NaT:
        assert found is expected, f"{what}: {found!r} instead of {expected!r}"
    else:
        is_equal = expected == found or expected != expected and found != found
        assert is_equal, f"{what}: {found!r} instead of {expected!r}"


def array_of(values):
    """The array of a Series or an Index: of numpy's own, numpy's."""
    array = values.array
    return array.to_numpy() if type(array).__name__ in ("NumpyExtensionArray", "PandasArray") else array


def plain(array: ExtensionArray) -> list:
    """The values of an extension array as Python's."""
    if hasattr(array, "_pa_array") or hasattr(array, "_data") and hasattr(array._data, "to_pylist"):
        return array.__arrow_array__().to_pylist()
    return list(array)
