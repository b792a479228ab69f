"""Values that take pandas too long to put into a hash table: anybody can make some whose hashes are equal."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from arrow_frames._arrays import MAJOR, raw, unwrapped
from arrow_frames._native import check_hashes, check_steps, check_text

#: Objects of one hash that are no sign of anything, and different ones of it that are counted one by one.
CROWDED, MANY = 64, 200


def check_values(values, what: str) -> None:
    """Refuses values that take pandas too long to put into a hash table."""
    text = isinstance(getattr(values, "dtype", None), pd.StringDtype)
    if MAJOR < 3 and text:
        check_text(
            [value for value in np.asarray(values, dtype=object).tolist() if isinstance(value, str)], what
        )
    for array in hashed(values):
        dtype = array.dtype
        if dtype == object:
            check_objects(array.tolist(), what)
        elif dtype.kind == "c" and dtype.isnative and dtype.itemsize in (8, 16):
            check_hashes(
                np.ascontiguousarray(array).view(f"f{dtype.itemsize // 2}"), f"c{dtype.itemsize}", what
            )
        elif dtype.kind in "iufMm" and dtype.itemsize == 8:
            native = array.astype(dtype.newbyteorder("="), copy=False)
            check_hashes(np.ascontiguousarray(raw(native)), {"f": "g", "u": "L"}.get(dtype.kind, "l"), what)


def hashed(values) -> Iterator[np.ndarray]:
    """The arrays of numpy that pandas hashes for an array of its own, whatever that is made of."""
    values = unwrapped(values.array if isinstance(values, (pd.Index, pd.Series)) else values)
    if isinstance(values, np.ndarray):
        yield values
    elif isinstance(values, pd.Categorical):
        yield from hashed(values.categories)
    elif isinstance(values, (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray)):
        yield values._ndarray
    elif isinstance(values, pd.arrays.PeriodArray):
        yield values.asi8
    elif isinstance(values, pd.arrays.IntervalArray):
        yield from hashed(values.left)
        yield from hashed(values.right)
    elif isinstance(values, pd.arrays.SparseArray):
        yield values.sp_values
    elif isinstance(values, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)):
        yield values._data
    elif isinstance(values, pd.arrays.ArrowExtensionArray) and values.dtype.kind in "iufMm":
        # Of Arrow's numbers it hashes either those or objects.
        array = values.__arrow_array__()
        for chunk in getattr(array, "chunks", [array]):
            numbers = chunk.drop_null()
            numbers = numbers.view("int64") if values.dtype.kind in "Mm" else numbers
            yield numbers.to_numpy(zero_copy_only=False)
        yield np.asarray(values, dtype=object)
    elif not isinstance(values.dtype, pd.StringDtype):
        # Of others, Arrow's among them, pandas hashes the objects. Those of text have a secret hash.
        yield np.asarray(values, dtype=object)


def check_objects(values: list, what: str) -> None:
    """The same of Python objects."""
    if MAJOR < 3:
        check_text([value for value in values if isinstance(value, str)], what)
    hashes = np.fromiter(map(hash, values), "i8", len(values))
    # What the tables of pandas have of it.
    folded = (hashes ^ (hashes >> 32)) & 0xFFFFFFFF
    order = np.argsort(folded, kind="stable")
    starts = np.flatnonzero(np.diff(folded[order], prepend=-1))
    steps = 0
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(values)]):
        if end - start > CROWDED:
            steps += pairs([values[at] for at in order[start:end].tolist()])
    check_steps(steps, len(values), what)


def pairs(values: list) -> int:
    """The pairs of different values among some whose hashes are equal; of very many, about so many."""
    different = 0
    while values and different < MANY:
        first = values[0]
        values = [value for value in values if value is not first and not equal(value, first)]
        different += 1
    different += len(values)
    return different * (different - 1) // 2


def equal(one, other) -> bool:
    return type(one) is type(other) and bool(one == other)
