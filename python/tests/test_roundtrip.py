"""Every kind of column comes back as it went, whatever its shape."""

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pytest
from same import assert_same

KINDS = kinds.kinds()
#: Kinds of numpy's numbers, of which an array of two dimensions can be.
NUMPY = [
    name
    for name, kind in KINDS.items()
    if isinstance(kind.column().dtype, np.dtype) and kind.column().dtype != object
]


def shapes(column: pd.Series) -> dict[str, object]:
    """A column in the shapes that lie in memory in ways of their own."""
    three = pd.DataFrame({"x": column, "y": column.iloc[::-1].set_axis(column.index), "z": column})
    return {
        "many rows": column,
        "one row": column.iloc[:1],
        "no rows": column.iloc[:0],
        "the end": column.iloc[5:],
        "every other row": column.iloc[1::2],
        "backwards": column.iloc[::-1],
        "a DataFrame": column.to_frame("x"),
        "three columns": three,
        "three columns, every other row": three[::2],
        "three columns, no rows": three[:0],
        "one of three columns": three.iloc[:, 1:2],
        "every other of three columns": three.iloc[:, ::2],
        "columns backwards": three.iloc[:, ::-1],
    }


@pytest.mark.parametrize("name", KINDS)
def test_it_comes_back_in_every_shape(name, exchanged):
    kind = KINDS[name]
    for shape, obj in shapes(kind.column()).items():
        check(kind, shape, obj, exchanged)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.is_safe])
def test_a_kind_that_only_a_pickle_holds_is_refused_by_the_name_of_its_column(name, exchanged):
    frame = pd.DataFrame({"plain": range(kinds.ROWS), "odd": KINDS[name].column()})
    with pytest.raises(af.UntrustedPickleError, match="column 'odd'.*allow_pickle=True"):
        exchanged(frame)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.has_missing])
def test_it_comes_back_where_all_is_missing(name, exchanged):
    kind = KINDS[name]
    assert kind.missing().isna().all() and kind.missing().dtype == kind.column().dtype
    check(kind, "all missing", kind.missing(), exchanged)
    check(kind, "all missing, in a DataFrame", kind.missing().to_frame(1), exchanged)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.has_index])
def test_it_comes_back_as_an_index(name, exchanged):
    kind = KINDS[name]
    column = kind.column()
    dtype = object if column.dtype == object else None
    index = pd.Index(column.array, dtype=dtype, name="n", tupleize_cols=False)
    frame = pd.DataFrame({"v": range(len(index))}, index=index)
    for shape, obj in {
        "an index": index,
        "of a DataFrame": frame,
        "no rows": frame.iloc[:0],
        "steps": index[::-2],
    }.items():
        check(kind, shape, obj, exchanged)


@pytest.mark.parametrize("name", NUMPY)
def test_rows_that_lie_one_behind_the_other_come_back(name, exchanged):
    kind = KINDS[name]
    values = kind.column().to_numpy()
    rows = np.stack([values, values[::-1], values], axis=1)
    assert rows.flags.c_contiguous
    for shape, array in {
        "rows": rows,
        "columns": np.asfortranarray(rows),
        "a part": rows[2:9, 1:],
        "steps": rows[::3],
    }.items():
        frame = pd.DataFrame(array, columns=list("abc")[: array.shape[1]], copy=False)
        check(kind, shape, frame, exchanged)
        check(kind, f"{shape}, among others", frame.assign(s="text", n=1), exchanged)


def test_all_kinds_come_back_in_one_dataframe(exchanged):
    frame = pd.DataFrame({name: kind.column() for name, kind in KINDS.items()})
    assert_same(frame, exchanged(frame, allow_pickle=True))


@pytest.mark.parametrize("name", KINDS)
def test_the_values_are_the_same_for_the_target_arrow(name, exchanged):
    kind = KINDS[name]
    found = exchanged(kind.column().to_frame("x"), target="arrow", allow_pickle=not kind.is_safe)
    assert values(found["x"]) == values(kind.column())


def values(column: pd.Series) -> list[str]:
    """Values as text, all that are missing as one, and moments as those of UTC."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC")
    is_missing = lambda value: value is None or value is pd.NA or value is pd.NaT or value != value
    return ["missing" if is_missing(value) else str(value) for value in column]


def check(kind: kinds.Kind, shape: str, obj, exchanged) -> None:
    """Sends it, with no more trust than its kind needs."""
    try:
        assert_same(obj, exchanged(obj, allow_pickle=not kind.is_safe))
    except Exception as error:
        error.add_note(f"{kind.name}: {shape}")
        raise
