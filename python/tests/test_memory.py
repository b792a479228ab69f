"""Memory lives as long as what refers to it and no longer, and is as writable as it was or as is asked."""

import gc
import mmap
import threading
import tracemalloc
import weakref
from pathlib import Path

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same

ROWS = 1_000


def numbers(rows: int = ROWS) -> pd.DataFrame:
    """Columns of one memory, each without gaps."""
    return pd.DataFrame(np.random.default_rng(0).random((5, rows)).T, columns=list("abcde"), copy=False)


def mixed(rows: int = ROWS) -> pd.DataFrame:
    """Columns whose memory is numpy's, Arrow's, and in pickles."""
    return numbers(rows).assign(
        text=pd.array(["x", None] * (rows // 2), dtype="string[pyarrow]"),
        object=pd.Series(["x", 1] * (rows // 2), dtype=object),
        category=pd.Categorical(["x", "y"] * (rows // 2)),
        zoned=pd.date_range("2020", periods=rows, freq="s", tz="Europe/Paris"),
        nullable=pd.array([1, None] * (rows // 2), dtype="Int64"),
        flag=np.arange(rows) % 3 == 0,
    )


class Owned:
    """An array, and whether its memory is still there."""

    def __init__(self, values: np.ndarray) -> None:
        # Every view of it keeps this one object, and none is it.
        base = Watched(values.shape, values.dtype)
        base[:] = values
        self.is_gone = False
        weakref.finalize(base, self.gone)
        self.array = np.asarray(base)

    def gone(self) -> None:
        self.is_gone = True


class Watched(np.ndarray):
    """The array that has the memory."""


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


class TestOwners:
    @pytest.fixture
    def owned(self):
        return Owned(np.arange(float(ROWS)))

    def test_frames_keep_the_memory_of_a_dataframe_that_is_gone(self, owned):
        frame = pd.DataFrame({"a": owned.array}, copy=False)
        header, frames = af.to_buffers(frame)
        del frame, owned.array, header
        gc.collect()
        assert not owned.is_gone
        assert np.frombuffer(frames[0]).tolist() == list(range(ROWS))
        del frames
        gc.collect()
        assert owned.is_gone

    def test_the_last_array_keeps_it_and_no_frame(self, owned):
        header, frames = af.to_buffers(pd.DataFrame({"a": owned.array}, copy=False))
        again = af.from_buffers(header, frames)
        del frames, owned.array
        gc.collect()
        assert not owned.is_gone
        column = again["a"].to_numpy()[5:]
        del again
        gc.collect()
        assert not owned.is_gone and column[0] == 5.0
        del column
        gc.collect()
        assert owned.is_gone

    @pytest.mark.parametrize("refused", ["decoding", "encoding"])
    def test_a_failure_keeps_nothing(self, owned, refused):
        frame = pd.DataFrame({"a": owned.array, "o": pd.Series([{1}] * ROWS)}, copy=False)
        if refused == "decoding":
            header, frames = af.to_buffers(frame)
            with pytest.raises(af.UntrustedPickleError):
                af.from_buffers(header, frames)
            del frames
        else:
            frame["o"] = pd.Series([threading.Lock()] * ROWS)
            with pytest.raises(TypeError, match="pickle"):
                af.to_buffers(frame)
        del frame, owned.array
        gc.collect()
        assert owned.is_gone

    @pytest.mark.parametrize(
        "make",
        [
            lambda values: pd.Series(values, copy=False),
            lambda values: pd.DataFrame({"a": pd.Series(values.view("M8[ns]"), copy=False)}, copy=False),
            lambda values: pd.Series(pd.arrays.FloatingArray(values, values < 0), copy=False),
            lambda values: pd.Index(values, copy=False),
            lambda values: pa.table({"a": pa.array(values)}),
            lambda values: pa.array(values),
        ],
        ids=["Series", "datetimes", "Float64", "Index", "pyarrow.Table", "pyarrow.Array"],
    )
    def test_it_is_kept_and_freed_with_every_kind_of_object(self, owned, make):
        obj = make(owned.array)
        header, frames = af.to_buffers(obj)
        del obj, owned.array
        gc.collect()
        assert not owned.is_gone
        again = af.from_buffers(header, frames)
        del frames
        gc.collect()
        assert not owned.is_gone and len(again) == ROWS
        del again
        gc.collect()
        assert owned.is_gone

    @pytest.mark.parametrize("name", [name for name, kind in kinds.kinds().items() if kind.is_safe])
    def test_a_stream_can_be_resized_once_the_last_column_is_gone(self, name):
        """A `bytearray` says whether somebody refers to its memory."""
        stream = bytearray(af.dumps(kinds.kinds()[name].column().to_frame("x")))
        found = af.loads(stream)
        assert len(found) == kinds.ROWS
        del found
        gc.collect()
        stream.append(0)

    def test_a_stream_that_is_referred_to_cannot_be_resized(self):
        stream = bytearray(af.dumps(numbers()))
        found = af.loads(stream)
        with pytest.raises(BufferError):
            stream.append(0)
        del found
        gc.collect()
        stream.append(0)

    def test_a_map_can_be_closed_once_the_last_array_is_gone(self, tmp_path):
        path = tmp_path / "stream"
        af.dump(mixed(), path)
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found = af.loads(mapped)
        column = found["c"].to_numpy()
        del found
        gc.collect()
        with pytest.raises(BufferError):
            mapped.close()
        assert column.sum() == pytest.approx(numbers()["c"].sum())
        del column
        gc.collect()
        mapped.close()

    def test_a_mapped_file_is_unmapped_with_the_last_column(self, tmp_path):
        path = tmp_path / "stream"
        af.dump(mixed(), path)
        maps = lambda: str(path) in Path("/proc/self/maps").read_text()
        found = af.memory_map(path)
        assert maps()
        text = found["text"]
        del found
        gc.collect()
        assert maps() and text.iloc[0] == "x"
        del text
        gc.collect()
        assert not maps()


class TestLeaks:
    """Of what leaks there would be as many as there are turns."""

    @pytest.mark.parametrize(
        ("turns", "exchange"),
        [
            (1_000, lambda obj, _: af.from_buffers(*af.to_buffers(obj))),
            (1_000, lambda obj, _: af.loads(af.dumps(obj))),
            (200, lambda obj, _: af.unpack(af.pack(obj))),
            (200, lambda obj, _: af.loads(af.dumps(obj, compression="lz4"))),
            (200, lambda obj, _: af.loads(af.dumps(obj), into="pyarrow", columns=["a", "text"])),
            (200, lambda obj, path: (af.dump(obj, path), af.load(path))),
            (200, lambda obj, path: (af.dump(obj, path), af.memory_map(path))),
            (200, lambda obj, _: pytest.raises(af.DecodeError, af.loads, af.dumps(obj)[:-100])),
        ],
        ids=["frames", "stream", "packed", "compressed", "pyarrow", "file", "map", "refused"],
    )
    def test_round_trips_leave_nothing_behind(self, turns, exchange, tmp_path):
        obj, path = mixed(200), tmp_path / "stream"
        for _ in range(20):
            exchange(obj, path)
        gc.collect()
        objects, descriptors = count_objects(), open_files()
        tracemalloc.start()
        try:
            for _ in range(turns):
                exchange(obj, path)
            gc.collect()
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert count_objects() - objects < turns / 2
        assert open_files() == descriptors
        assert left < 100_000

    def test_memory_that_python_does_not_count_is_freed(self, tmp_path):
        obj, path = mixed(10_000), tmp_path / "stream"
        size = af.dump(obj, path)
        exchange = lambda: (af.load(path), af.loads(af.dumps(obj, compression="zstd")), af.detach(obj))
        for _ in range(20):
            exchange()
        gc.collect()
        before = resident()
        for _ in range(200):
            exchange()
        gc.collect()
        # If one in ten were kept, it would be more.
        assert resident() - before < 20 * size


def count_objects() -> int:
    """Objects of Python, but for weak references: pandas clears those that are dead once there are many."""
    return sum(not isinstance(obj, weakref.ref) for obj in gc.get_objects())


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class TestAccess:
    """`writable=None` is what the memory is, `True` copies what is not, and `False` makes all read-only."""

    FIXED, CHANGEABLE = bytes, bytearray

    @pytest.mark.parametrize(
        ("memory", "writable", "expected"),
        [
            (FIXED, None, False),
            (CHANGEABLE, None, True),
            (FIXED, True, True),
            (CHANGEABLE, True, True),
            (FIXED, False, False),
            (CHANGEABLE, False, False),
        ],
    )
    def test_arrays_are_as_writable_as_their_memory_or_as_asked(self, memory, writable, expected):
        frame = mixed().drop(columns=["text", "object"]).assign(z=np.arange(ROWS) * 1j)
        header, frames = af.to_buffers(frame)
        found = af.from_buffers(header, [memory(buffer) for buffer in frames], writable=writable)
        assert_same(frame, found)
        flags = {name: memory_of(found[name]).flags.writeable for name in found}
        assert flags == dict.fromkeys(frame, expected)
        stream = memory(af.dumps(frame))
        found = af.loads(stream, writable=writable)
        flags = {name: memory_of(found[name]).flags.writeable for name in found}
        assert flags == dict.fromkeys(frame, expected)

    def test_only_what_is_read_only_is_copied(self):
        frame = numbers()[["a", "b"]]
        header, frames = af.to_buffers(frame)
        lent = [bytearray(frames[0]), bytes(frames[1])]
        found = af.from_buffers(header, lent, writable=True)
        first, second = (found.iloc[:, place].to_numpy() for place in range(2))
        assert np.shares_memory(first, np.frombuffer(lent[0], "u1"))
        assert not np.shares_memory(second, np.frombuffer(lent[1], "u1"))

    def test_what_is_assigned_is_in_the_memory_that_was_lent(self):
        header, frames = af.to_buffers(numbers())
        lent = [bytearray(buffer) for buffer in frames]
        found = af.from_buffers(header, lent, writable=True)
        memory_of(found["a"])[0] = 9.5
        assert np.frombuffer(lent[0])[0] == 9.5
        stream = bytearray(af.dumps(numbers()))
        memory_of(af.loads(stream)["b"])[3] = -77.5
        assert af.loads(stream)["b"][3] == -77.5

    def test_what_is_read_only_cannot_be_assigned_to(self):
        frame = numbers()
        found = af.from_buffers(*af.to_buffers(frame), writable=False)
        with pytest.raises(ValueError, match="read-only"):
            memory_of(found["a"])[0] = 1.0
        # What was sent still can.
        memory_of(frame["a"])[0] = 1.0

    def test_dataframes_of_read_only_memory_can_be_changed_by_pandas(self):
        """It copies a column to write to it, or puts another in its place."""
        header, frames = af.to_buffers(mixed())
        found = af.from_buffers(header, [bytes(buffer) for buffer in frames], writable=True)
        for place in range(found.shape[1]):
            found.iloc[0, place] = found.iloc[-1, place]
        found["new"] = found["a"] * 2
        found = found.sort_values("b").drop(columns="c").fillna({"nullable": 3})
        assert len(found) == ROWS

    def test_what_is_received_is_writable(self, tmp_path):
        af.dump(numbers(), tmp_path / "stream")
        assert memory_of(af.load(tmp_path / "stream")["a"]).flags.writeable
        assert not memory_of(af.load(tmp_path / "stream", writable=False)["a"]).flags.writeable
        assert not memory_of(af.memory_map(tmp_path / "stream")["a"]).flags.writeable


def memory_of(column: pd.Series) -> np.ndarray:
    """The array of numpy that a column is in, as writable as it is: pandas shows read-only views of it."""
    [block] = column._mgr.blocks
    values = block.values
    for name in ("_ndarray", "_data"):
        values = getattr(values, name, values) if not isinstance(values, np.ndarray) else values
    return values


class TestDetached:
    def test_it_shares_nothing_and_can_be_changed(self):
        frame = mixed()
        stream = bytearray(af.dumps(frame))
        found = af.loads(stream)
        detached = af.detach(found)
        del found
        gc.collect()
        stream[:] = bytes(len(stream))
        stream.append(0)
        assert_same(frame, detached)
        memory_of(detached["a"])[0] = 1.0

    def test_nothing_of_the_original_is_kept(self):
        owned = Owned(np.arange(float(ROWS)))
        frame = pd.DataFrame({"a": owned.array}, copy=False)
        detached = af.detach(frame)
        del frame, owned.array
        gc.collect()
        assert owned.is_gone and detached["a"].sum() == sum(range(ROWS))

    @pytest.mark.parametrize(
        "make", [pa.table, lambda columns: pa.record_batch(list(columns.values()), ["a"])]
    )
    def test_objects_of_arrow_are_detached_too(self, make):
        owned = Owned(np.arange(float(ROWS)))
        obj = make({"a": pa.array(owned.array)})
        detached = af.detach(obj)
        assert type(detached) is type(obj) and detached.equals(obj)
        del obj, owned.array
        gc.collect()
        assert owned.is_gone


class TestMemoryOfOthers:
    """numpy lays arrays out in more ways than pandas does."""

    @pytest.mark.parametrize(
        "array",
        [
            lambda: np.broadcast_to(np.float64(2.5), (ROWS, 3)),
            lambda: np.broadcast_to(np.arange(3), (ROWS, 3)),
            lambda: np.lib.stride_tricks.as_strided(np.arange(4.0), (ROWS, 3), (0, 8)),
            lambda: np.arange(3.0 * ROWS).reshape(ROWS, 3)[::-1],
            lambda: np.arange(3.0 * ROWS).reshape(ROWS, 3)[:, ::-1],
            lambda: np.arange(6.0 * ROWS).reshape(ROWS, 6)[:, ::2],
            lambda: np.arange(6.0 * ROWS).reshape(6, ROWS).T[:, ::-2],
            lambda: np.arange(6.0 * ROWS).reshape(6, ROWS).T[::-3],
            lambda: np.arange(3 * ROWS).reshape(ROWS, 3).astype(">i8"),
            lambda: np.frombuffer(bytes(1) + np.arange(3.0 * ROWS).tobytes(), "f8", offset=1).reshape(
                ROWS, 3
            ),
        ],
        ids=[
            "one number",
            "one row",
            "stride 0",
            "rows backwards",
            "columns backwards",
            "every other column",
            "columns backwards in steps",
            "rows backwards in steps",
            "big-endian",
            "misaligned",
        ],
    )
    def test_arrays_come_back_however_they_lie(self, array, exchanged):
        frame = pd.DataFrame(array(), copy=False)
        assert_same(frame, exchanged(frame, allow_pickle=True))

    def test_a_mapped_array_comes_back_and_is_lent_as_it_lies(self, tmp_path, exchanged):
        values = np.memmap(tmp_path / "values", "f8", "w+", shape=(ROWS,))
        values[:] = np.arange(ROWS)
        frame = pd.DataFrame({"a": values}, copy=False)
        assert af.copies(frame) == []
        _, frames = af.to_buffers(frame)
        assert np.shares_memory(np.frombuffer(frames[0]), values)
        assert_same(frame, exchanged(frame))
