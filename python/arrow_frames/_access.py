"""Arrays that nobody may write to: those that objects of pandas are made of, whoever made them."""

from typing import Any

import numpy as np
import pandas as pd

#: Where pandas' own arrays keep what they are made of.
PARTS = (
    "_ndarray",
    "_data",
    "_mask",
    "_left",
    "_right",
    "_codes",
    "_sparse_values",
    "_sparse_index",
    "_dtype",
)

#: And where these parts that are no arrays do: the index of a sparse array, and the dtype of a categorical.
INNER = ("indices", "blocs", "blengths", "categories")


def read_only(obj: Any) -> Any:
    """The same object, after its arrays were made read-only, but for the labels of columns.

    These are not the stream's memory, and objects may share them.
    """
    if isinstance(obj, (pd.DataFrame, pd.Series)):
        waiting = [*(block.values for block in obj._mgr.blocks), obj.index]
    else:
        waiting = [obj]
    while waiting:
        one = waiting.pop()
        if isinstance(one, np.ndarray):
            one.flags.writeable = False
        elif isinstance(one, pd.MultiIndex):
            waiting += [*one.levels, *one.codes]
        elif isinstance(one, pd.Index):
            # A range is three numbers, of which pandas would make an array here.
            if not isinstance(one, pd.RangeIndex):
                waiting.append(one._data)
        elif "_pa_array" not in getattr(one, "__dict__", ()):
            # An array of Arrow's has none of numpy's.
            names = PARTS if isinstance(one, pd.api.extensions.ExtensionArray) else INNER
            waiting += [part for name in names if (part := vars_of(one, name)) is not None]
    return obj


def vars_of(one: Any, name: str) -> Any:
    """An attribute that is an array or has some."""
    part = getattr(one, name, None)
    known = (np.ndarray, pd.Index, pd.api.extensions.ExtensionArray, pd.CategoricalDtype)
    is_sparse = type(part).__name__ in ("IntIndex", "BlockIndex")
    return part if isinstance(part, known) or is_sparse else None
