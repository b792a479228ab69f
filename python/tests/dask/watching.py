"""What distributed's pickle family is handed, in this process: a preload for workers.

An object that holds rows of a dataframe is none of its business. It is written down, and the test fails.
"""

import functools
from collections import Counter

import pandas as pd
import pyarrow as pa
from distributed.protocol.serialize import families

#: What was pickled, and of what classes objects went as frames.
PICKLED: list[str] = []
CARRIED: Counter = Counter()


def install() -> None:
    """Looks at everything that either family is handed from now on."""
    if hasattr(families["pickle"][0], "__wrapped__"):
        return
    dumps, loads, wants_context = families["pickle"]

    @functools.wraps(dumps)
    def pickle_dumps(x, context=None):
        PICKLED.extend(dataframes(x))
        return dumps(x, context=context)

    families["pickle"] = pickle_dumps, loads, wants_context
    ours, loads_ours, wants_context_ours = families["dask"]

    @functools.wraps(ours)
    def dask_dumps(x, context=None):
        header, frames = ours(x, context=context)
        if "arrow-frames" in header["sub-header"]:
            CARRIED[type(x).__name__] += 1
        return header, frames

    families["dask"] = dask_dumps, loads_ours, wants_context_ours


def dataframes(x):
    """The names of dataframes with rows that an object is, or is a collection of."""
    if isinstance(x, (pd.DataFrame, pd.Series)):
        return [] if x.size == 0 else [f"{type(x).__name__} of {x.shape}"]
    if isinstance(x, (pa.Table, pa.RecordBatch)):
        return [f"{type(x).__name__} of {x.shape}"] if x.num_rows else []
    if isinstance(x, dict):
        x = list(x.values())
    return [name for one in x for name in dataframes(one)] if isinstance(x, (list, tuple, set)) else []


def seen():
    """What there is so far, and forgets it."""
    found = list(PICKLED), Counter(CARRIED)
    PICKLED.clear()
    CARRIED.clear()
    return found


def dask_setup(_) -> None:
    install()
