"""Nothing is copied that need not be, and memory lives as long as what refers to it."""

import gc
import mmap
import weakref

import arrow_frames as af
import numpy as np
import pandas as pd
import pytest
from same import assert_same

ROWS = 1_000


def block() -> pd.DataFrame:
    """Columns of one memory, each without gaps."""
    return pd.DataFrame(np.random.default_rng(0).random((5, ROWS)).T, columns=list("abcde"))


def test_numbers_share_memory_from_the_dataframe_to_the_dataframe():
    frame = block().copy()
    header, frames = af.to_buffers(frame)
    assert len(frames) == 5 and af.copies(frame) == []
    again = af.from_buffers(header, frames)
    for label, buffer in zip(frame, frames):
        assert np.shares_memory(frame[label].to_numpy(), np.frombuffer(buffer))
        assert np.shares_memory(frame[label].to_numpy(), again[label].to_numpy())
    assert len(again._mgr.blocks) == 1


def test_a_block_stays_one_block_through_a_stream():
    frame = block().copy().assign(i=1, j=2)
    for lend in (bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "u1")):
        again = af.loads(lend(af.dumps(frame)))
        assert_same(frame, again)
        assert len(again._mgr.blocks) == 2


def test_rows_that_lie_one_behind_the_other_are_one_frame():
    frame = pd.DataFrame(np.random.default_rng(0).random((ROWS, 5)), copy=False)
    header, frames = af.to_buffers(frame)
    assert max(buffer.nbytes for buffer in frames) == frame.to_numpy().nbytes
    again = af.from_buffers(header, frames)
    assert np.shares_memory(frame.to_numpy(), again.to_numpy()) and len(again._mgr.blocks) == 1


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(np.arange(ROWS).astype("M8[ns]")),
        pd.Series(np.arange(ROWS).astype("m8[ns]")),
        pd.Series(np.arange(ROWS).astype("M8[ns]")).dt.tz_localize("Europe/Paris"),
        pd.Series(np.arange(ROWS) % 2 == 0),
        pd.Series(np.arange(ROWS) * 1j),
        pd.Series(pd.Categorical.from_codes(np.arange(ROWS).astype("i1") % 3, list("abc"))),
        pd.Series(pd.period_range("2020", periods=ROWS, freq="D")),
    ],
    ids=lambda column: str(column.dtype),
)
def test_0_bytes_are_copied(column):
    assert af.copies(column) == []
    again = af.from_buffers(*af.to_buffers(column))
    assert np.shares_memory(memory(column), memory(again))


def test_0_bytes_of_arrow_text_are_copied():
    column = pd.Series([f"text {n}" for n in range(ROWS)], dtype="string[pyarrow]")
    assert af.copies(column) == []
    _, frames = af.to_buffers(column)
    lent = {np.frombuffer(buffer, "u1").ctypes.data for buffer in frames}
    own = {
        buffer.address for buffer in column.array.__arrow_array__().chunk(0).buffers() if buffer is not None
    }
    assert own <= lent


def test_what_is_copied_is_counted():
    strided = pd.DataFrame({"a": np.arange(20)})[::2]
    assert af.copies(strided) == [(0, "strided", 80)]
    assert [copy[1] for copy in af.copies(pd.Series([1, None], dtype="Int64"))] == ["mask"]
    assert [copy[1] for copy in af.copies(pd.Series(["a"], dtype=object))] == ["pickled"]


def test_arrays_are_as_writable_as_their_memory_or_as_asked():
    frame = block().copy()
    header, frames = af.to_buffers(frame)
    fixed = [bytes(buffer) for buffer in frames]
    changeable = [bytearray(buffer) for buffer in frames]

    def is_writable(buffers, writable):
        return af.from_buffers(header, buffers, writable=writable)._mgr.blocks[0].values.flags.writeable

    assert [is_writable(fixed, None), is_writable(changeable, None)] == [False, True]
    assert [is_writable(fixed, True), is_writable(changeable, True)] == [True, True]
    assert [is_writable(fixed, False), is_writable(changeable, False)] == [False, False]
    again = af.from_buffers(header, changeable, writable=True)
    again._mgr.blocks[0].values[0, 0] = 9.5
    assert np.frombuffer(changeable[0])[0] == 9.5


def test_frames_at_any_address_are_right():
    frame = block().copy().assign(t=pd.date_range("2020", periods=ROWS, tz="UTC"), s="text")
    header, frames = af.to_buffers(frame)
    for shift in (1, 2, 4, 7):
        moved = [memoryview(bytearray(shift) + bytearray(buffer))[shift:] for buffer in frames]
        assert_same(frame, af.from_buffers(header, moved))


def test_frames_keep_their_owner_and_columns_keep_their_frames():
    class Owner(np.ndarray):
        pass

    values = Owner((ROWS,), "f8")
    values[:] = range(ROWS)
    watched = weakref.ref(values)
    header, frames = af.to_buffers(pd.DataFrame({"a": np.asarray(values)}, copy=False))
    assert frames
    del values
    gc.collect()
    assert watched() is not None
    again = af.from_buffers(header, frames)
    del frames
    gc.collect()
    assert watched() is not None and again["a"].sum() == sum(range(ROWS))
    del again
    gc.collect()
    assert watched() is None


def test_a_thousand_round_trips_leave_nothing_behind():
    frame = block().copy().assign(s="text", k=pd.Categorical(["x"] * ROWS))

    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * mmap.PAGESIZE

    for _ in range(100):
        af.loads(af.dumps(frame))
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(1_000):
        af.loads(af.dumps(frame))
        af.from_buffers(*af.to_buffers(frame))
    gc.collect()
    assert resident() - before < 20 * len(af.dumps(frame))
    assert len(gc.get_objects()) - objects < 200


def memory(column: pd.Series) -> np.ndarray:
    array = column.array
    for name in ("_codes", "_ndarray"):
        if hasattr(array, name):
            return getattr(array, name)
    return column.to_numpy()
