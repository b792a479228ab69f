"""Whatever memory is lent, and however it overlaps, what comes back is as writable as it was lent, or as is asked."""

import gc
import io
import mmap
import pickle
import socket
import threading
import time

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _native
from hypothesis import given, settings
from hypothesis import strategies as st
from test_memory import memory_of

#: Bytes of each memory that views are of.
SIZE = 3 * 4096

#: Arrays below this are in the pickle of a list, and no frame.
LEAST = 4096


class Lender:
    """Memory of one object, and the views of it that are lent."""

    def __init__(self, kind: str) -> None:
        self.is_fixed = kind == "bytes"
        self.owner = bytes(range(256)) * (SIZE // 256)
        if not self.is_fixed:
            self.owner = bytearray(self.owner)

    def view(self, start: int, length: int, readonly: bool, how: str):
        """A view, read-only where it has to be."""
        if how == "numpy":
            array = np.frombuffer(self.owner, "u1", length, start)
            array.flags.writeable = not (self.is_fixed or readonly)
            return array
        view = memoryview(self.owner)
        if readonly:
            view = view.toreadonly()
        view = view[start : start + length]
        return pickle.PickleBuffer(view) if how == "PickleBuffer" else view

    def address(self) -> int:
        return address(self.owner)


def address(memory) -> int:
    return np.frombuffer(memory, "u1").ctypes.data


def is_readonly(view) -> bool:
    return memoryview(view).readonly


lenders = st.lists(st.sampled_from(["bytes", "bytearray"]), min_size=1, max_size=2)
hows = st.sampled_from(["memoryview", "memoryview", "numpy", "PickleBuffer"])
#: Few addresses and lengths, so that spans are equal, prefixes, suffixes, nested and overlapping.
places = st.tuples(st.sampled_from([0, 1, 8, 4096, 8192]), st.sampled_from([4096, 4097, 8184, SIZE]))
views = st.lists(st.tuples(st.integers(0, 1), places, st.booleans(), hows), min_size=1, max_size=14)


def lent(kinds_of: list[str], chosen: list) -> list:
    memories = [Lender(kind) for kind in kinds_of]
    made = []
    for which, (start, length), readonly, how in chosen:
        memory = memories[which % len(memories)]
        made.append(memory.view(start, min(length, SIZE - start), readonly, how))
    return made


@settings(deadline=None)
@given(lenders, views)
def test_arrays_are_as_writable_as_the_view_that_was_lent_for_each(kinds_of, chosen):
    frames = lent(kinds_of, chosen)
    arrays = [np.zeros(memoryview(frame).nbytes, "u1") for frame in frames]
    frames = [frame if memoryview(frame).nbytes >= LEAST else None for frame in frames]
    header, own = af.to_buffers([array for array, frame in zip(arrays, frames) if frame is not None])
    frames = [frame for frame in frames if frame is not None]
    assert len(own) == len(frames) + 1
    found = af.from_buffers(header, [own[0], *frames], allow_pickle=True)
    for array, frame in zip(found, frames):
        assert array.ctypes.data == address(frame)
        assert array.flags.writeable == (not is_readonly(frame))


@settings(deadline=None)
@given(
    lenders,
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), st.booleans(), hows), min_size=1, max_size=12),
)
def test_columns_are_as_writable_as_the_view_that_was_lent_for_each(kinds_of, chosen):
    """Also where neighbours become one array of two dimensions."""
    rows = 16
    frames = lent(kinds_of, [(which, (8 * at, 8 * rows), *rest) for which, at, *rest in chosen])
    header, own = af.to_buffers(pd.DataFrame({f"c{at}": np.arange(rows) + at for at in range(len(frames))}))
    assert len(own) == len(frames)
    found = af.from_buffers(header, frames)
    blocks = {int(at): block.values for block in found._mgr.blocks for at in block.mgr_locs.as_array}
    for at, frame in enumerate(frames):
        block = blocks[at]
        assert block.flags.writeable == (not is_readonly(frame))
        own_row = list(next(b for b in found._mgr.blocks if b.values is block).mgr_locs.as_array).index(at)
        assert block[own_row].ctypes.data == address(frame)
    # What is between the columns of a block, and is no more writable than what was lent for it.
    for block in {id(block): block for block in blocks.values()}.values():
        if block.flags.writeable:
            first, end = block.ctypes.data, block.ctypes.data + block.strides[0] * (len(block) - 1) + 8 * rows
            gaps = [
                (first + n * block.strides[0] + 8 * rows, first + (n + 1) * block.strides[0])
                for n in range(len(block) - 1)
            ]
            fixed = [(address(frame), memoryview(frame).nbytes) for frame in frames if is_readonly(frame)]
            for start, stop in gaps:
                assert stop <= end
                assert not any(at < stop and start < at + length for at, length in fixed)


@settings(deadline=None)
@given(lenders, views)
def test_merged_frames_are_the_same_bytes_with_the_same_access(kinds_of, chosen):
    frames = lent(kinds_of, chosen)
    merged = _native.merge(frames)
    assert b"".join(merged) == b"".join(memoryview(frame) for frame in frames)
    for frame in merged:
        parts = [part for part in frames if address(frame) <= address(part) < address(frame) + frame.nbytes]
        assert any(is_readonly(part) == frame.readonly for part in parts)
        if not frame.readonly:
            # Every byte of it was lent writable.
            own = np.zeros(frame.nbytes, bool)
            for part in parts:
                if not is_readonly(part):
                    start = address(part) - address(frame)
                    own[start : start + memoryview(part).nbytes] = True
            assert own.all()


@settings(deadline=None)
@given(st.sampled_from(["bytes", "bytearray"]), st.booleans(), hows, st.integers(0, 64))
def test_an_unpacked_frame_is_as_writable_as_the_blob(kind, readonly, how, shift):
    blob = _native.pack([b"header", bytes(LEAST), b"x"])
    memory = Lender(kind)
    memory.owner = type(memory.owner)(bytes(shift) + blob)
    view = memory.view(shift, len(blob), readonly, how)
    for frame in _native.unpack(view):
        assert frame.readonly == is_readonly(view)


@settings(deadline=None)
@given(lenders, views)
def test_frames_are_as_writable_as_the_array_that_each_is_of(kinds_of, chosen):
    arrays = [np.frombuffer(frame, "u1") for frame in lent(kinds_of, chosen)]
    _, frames = af.to_buffers(arrays)
    assert len(frames) == len(arrays) + 1
    for array, frame in zip(arrays, frames[1:]):
        assert address(frame) == array.ctypes.data
        assert frame.readonly == (not array.flags.writeable)
    columns = {f"c{at}": array[:LEAST] for at, array in enumerate(arrays)}
    frame = pd.DataFrame(columns, copy=False)
    _, frames = af.to_buffers(frame)
    access = {
        int(at): block.values.flags.writeable for block in frame._mgr.blocks for at in block.mgr_locs.as_array
    }
    assert [not lent.readonly for lent in frames] == [access[at] for at in range(len(columns))]


class TestEqualSpans:
    """The whole of one memory, lent in both ways in one call."""

    @pytest.mark.parametrize("order", [(False, True), (True, False), (True, False, True, False)], ids=str)
    @pytest.mark.parametrize("how", ["memoryview", "numpy", "PickleBuffer"])
    def test_both_come_back_as_they_were_lent(self, order, how):
        rows = SIZE // 8
        header, _ = af.to_buffers(pd.DataFrame({f"c{at}": np.arange(rows) + at for at in range(len(order))}))
        memory = Lender("bytearray")
        found = af.from_buffers(header, [memory.view(0, SIZE, readonly, how) for readonly in order])
        assert [memory_of(found[name]).flags.writeable for name in found] == [not one for one in order]
        chosen = af.from_buffers(
            header, [memory.view(0, SIZE, readonly, how) for readonly in order], columns=["c1"]
        )
        assert memory_of(chosen["c1"]).flags.writeable == (not order[1])

    def test_parts_of_one_pickle_come_back_as_they_were_lent(self):
        header, own = af.to_buffers([np.zeros(SIZE, "u1"), np.ones(SIZE, "u1"), np.ones(SIZE, "u1")])
        memory = Lender("bytearray")
        ways = (True, False, True)
        frames = [memory.view(0, SIZE, readonly, "memoryview") for readonly in ways]
        found = af.from_buffers(header, [own[0], *frames], allow_pickle=True)
        assert [array.flags.writeable for array in found] == [not readonly for readonly in ways]

    def test_an_array_of_arrow_on_the_memory_of_numpy_stays_read_only(self):
        values = np.arange(float(LEAST))
        if not hasattr(pd, "ArrowDtype"):
            pytest.skip("this pandas has no arrays of Arrow")
        column = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values)]))
        frame = pd.DataFrame({"n": values, "a": column, "m": values.view()}, copy=False)
        _, frames = af.to_buffers(frame)
        assert len({address(one) for one in frames}) == 1
        assert [one.readonly for one in frames] == [False, True, False]

    def test_writing_to_one_of_them_is_seen_where_it_was_lent_and_bytes_never_change(self):
        header, own = af.to_buffers([np.zeros(LEAST + n, "u1") for n in range(12)])
        fixed = bytes(SIZE)
        frames = [own[0], *(memoryview(fixed)[: LEAST + n] for n in range(12))]
        for array in af.from_buffers(header, frames, allow_pickle=True):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        changeable = bytearray(SIZE)
        frames = [own[0], *(memoryview(changeable)[: LEAST + n] for n in range(12))]
        for number, array in enumerate(af.from_buffers(header, frames, allow_pickle=True)):
            array[number] = 7
        assert changeable[:12] == bytes([7] * 12)


class TestJoined:
    def test_a_read_only_part_between_columns_keeps_them_apart(self):
        """One array over both would be one over what lies between them too."""
        header, _ = af.to_buffers(pd.DataFrame({"a": np.arange(4), "b": np.arange(4), "c": np.arange(4)}))
        memory = memoryview(bytearray(96))
        ways = {"writable": memory[32:64], "read-only": memory[32:64].toreadonly()}
        for name, between in ways.items():
            found = af.from_buffers(header, [memory[:32], memory[64:], between])
            blocks = [block.values for block in found._mgr.blocks]
            assert len(blocks) == (2 if name == "writable" else 3), name
            flags = {name: memory_of(found[name]).flags.writeable for name in found}
            assert flags == {"a": True, "b": True, "c": name == "writable"}

    def test_neighbours_of_one_object_are_merged_and_of_two_are_not(self):
        memory = bytearray(64)
        view = memoryview(memory)
        assert [len(frame) for frame in _native.merge([view[:8], view[8:16], view[16:]])] == [64]
        parts = [view[:8], view[8:16].toreadonly(), view[16:]]
        assert [(len(frame), frame.readonly) for frame in _native.merge(parts)] == [
            (8, False),
            (8, True),
            (48, False),
        ]
        assert [len(frame) for frame in _native.merge([view[:8], b"", view[8:]])] == [8, 0, 56]

    @pytest.mark.parametrize("compression", [None, "lz4"])
    def test_many_frames_take_no_longer_each(self, compression):
        """Columns in the memory of many, which lie at one distance by chance, or were made."""

        def seconds(columns: int) -> float:
            frame = pd.DataFrame({f"c{at}": np.arange(64) for at in range(columns)})
            header, frames = af.to_buffers(frame, compression=compression)
            lent = [bytearray(frame) for frame in frames]
            decoded = _native.decode(header, lent)
            taken = []
            for _ in range(3):
                start = time.thread_time()
                decoded.blocks(0, list(range(columns)), False)
                taken.append(time.thread_time() - start)
            return min(taken)

        # Sixteen times as many: 256 times as long, if each were compared with each. The collector is off, which
        # looks at all views that there are every now and then.
        gc.disable()
        try:
            assert seconds(16_000) < 80 * max(seconds(1_000), 0.0005)
        finally:
            gc.enable()


class TestReadOnly:
    """`writable=False` leaves nothing to write to, whatever an object is made of."""

    @pytest.mark.parametrize("name", kinds.kinds())
    def test_of_every_kind(self, name):
        column = kinds.kinds()[name].column()
        for obj in (column, column.to_frame("a")):
            stream = bytearray(af.dumps(obj))
            found = af.loads(stream, writable=False, allow_pickle=True)
            assert [path for path, array in arrays_of(found) if array.flags.writeable] == []
            assert len(found.copy()) == len(column)

    @pytest.mark.parametrize("name", kinds.indexes())
    def test_of_every_index(self, name):
        index = kinds.indexes()[name]
        for obj in (index, pd.DataFrame({"a": np.arange(len(index))}, index=index)):
            found = af.loads(bytearray(af.dumps(obj)), writable=False, allow_pickle=True)
            assert [path for path, array in arrays_of(found) if array.flags.writeable] == []

    def test_pandas_works_with_it(self):
        frame = pd.DataFrame(
            {
                "key": pd.Series(["x", "y", None, "x"] * 25, dtype=object),
                "nullable": pd.array([1, None] * 50, dtype="Int64"),
                "flag": pd.array([True, None] * 50, dtype="boolean"),
                "kind": pd.Categorical(["p", "q"] * 50),
                "n": np.arange(100.0),
                "t": pd.date_range("2020", periods=100, tz="UTC"),
            }
        )
        frame.index = pd.Index([f"row {at}" for at in range(100)], dtype=object)
        found = af.loads(bytearray(af.dumps(frame)), writable=False)
        pd.testing.assert_frame_equal(frame, found)
        for obj in (frame, found):
            assert obj.loc["row 7", "n"] == 7.0
            assert obj.groupby("key")["nullable"].sum().tolist() == [25, 0]
            assert obj.groupby("kind", observed=True)["n"].max().tolist() == [98.0, 99.0]
            assert obj.merge(obj, on="n").shape == (100, 11)
            assert obj.sort_values(["key", "n"]).iloc[0]["n"] == 0.0
            assert obj.fillna({"nullable": 3})["nullable"].sum() == 200
            assert obj.reindex(obj.index[::-1]).index[0] == "row 99"
            assert obj.drop_duplicates("key").shape[0] == 3

    def test_what_was_lent_is_as_writable_as_before(self):
        frame = pd.DataFrame({"m": pd.array([1, None], dtype="Int64"), "n": [1.5, 2.5]})
        header, frames = af.to_buffers(frame)
        af.from_buffers(header, frames, writable=False)
        for column in frame:
            for path, array in arrays_of(frame[[column]]):
                assert array.flags.writeable or "index" in path


def arrays_of(obj, path: str = ""):
    """The arrays of numpy that an object of pandas is made of, but for the labels of columns."""
    if isinstance(obj, np.ndarray):
        yield path, obj
    elif isinstance(obj, (pd.DataFrame, pd.Series)):
        for number, block in enumerate(obj._mgr.blocks):
            yield from arrays_of(block.values, f"{path} block {number}")
        yield from arrays_of(obj.index, f"{path} index")
    elif isinstance(obj, pd.MultiIndex):
        for number, (codes, level) in enumerate(zip(obj.codes, obj.levels)):
            yield from arrays_of(codes, f"{path} codes {number}")
            yield from arrays_of(level, f"{path} level {number}")
    elif isinstance(obj, pd.Index):
        if not isinstance(obj, pd.RangeIndex):
            yield from arrays_of(obj.array, f"{path} values")
    elif isinstance(obj, pd.Categorical):
        yield from arrays_of(obj.codes, f"{path} codes")
        yield from arrays_of(obj._ndarray, f"{path} codes")
        yield from arrays_of(obj.categories, f"{path} categories")
    elif isinstance(obj, pd.arrays.IntervalArray):
        yield from arrays_of(obj.left, f"{path} left")
        yield from arrays_of(obj.right, f"{path} right")
    elif isinstance(obj, pd.arrays.SparseArray):
        yield from arrays_of(obj.sp_values, f"{path} sp_values")
        yield from arrays_of(obj.sp_index.indices, f"{path} sp_index")
    elif isinstance(obj, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)):
        yield from arrays_of(obj._data, f"{path} data")
        yield from arrays_of(obj._mask, f"{path} mask")
    elif hasattr(obj, "_ndarray"):
        yield from arrays_of(obj._ndarray, f"{path} values")


class Spy:
    """A file that keeps what it was given to write."""

    def __init__(self) -> None:
        self.views = []

    def write(self, data) -> int:
        self.views.append(data)
        return data.nbytes


class TestWriters:
    """Who is given a column to write may not change it."""

    @pytest.mark.parametrize("compression", [None, "lz4"])
    @pytest.mark.parametrize(
        "make",
        [
            lambda values: pd.DataFrame({"a": values}, copy=False),
            lambda values: pd.Series(values, copy=False),
            lambda values: values,
            lambda values: values.reshape(-1, 2).T,
            lambda values: [values, {"b": values}],
            lambda values: pd.DataFrame(
                {"m": pd.arrays.FloatingArray(values, values < 0), "z": values * 1j}, copy=False
            ),
        ],
        ids=["DataFrame", "Series", "array", "transposed", "object", "masked"],
    )
    def test_a_file_is_handed_read_only_views(self, make, compression):
        values = np.arange(float(LEAST))
        spy = Spy()
        written = af.dump(make(values), spy, compression=compression)
        assert written == sum(view.nbytes for view in spy.views)
        for view in spy.views:
            assert view.readonly
            with pytest.raises(TypeError, match="read-only"):
                view[:1] = b"x"
            # Nor through the object that the view is of.
            assert memoryview(view.obj).readonly
        assert values[0] == 0.0

    def test_segments_are_read_only_and_frames_are_as_they_were(self):
        frame = pd.DataFrame({"a": np.arange(float(LEAST))})
        header, frames = af.to_buffers(frame)
        assert [one.readonly for one in frames] == [False]
        assert all(view.readonly for view in _native.segments(header, frames))

    def test_raw_files_and_sockets_still_take_them(self, tmp_path):
        frame = pd.DataFrame({"a": np.arange(100.0)})
        af.dump(frame, tmp_path / "named")
        with open(tmp_path / "raw", "wb", buffering=0) as file:
            af.dump(frame, file)
        buffered = io.BytesIO()
        af.dump(frame, buffered)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            sender = threading.Thread(target=af.dump, args=(frame, ours))
            sender.start()
            received = af.load(theirs)
            sender.join()
        assert received.equals(frame)
        assert buffered.getvalue() == (tmp_path / "raw").read_bytes() == (tmp_path / "named").read_bytes()


def test_a_map_is_read_only_and_stays_so(tmp_path):
    af.dump(pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100)}), tmp_path / "stream")
    found = af.memory_map(tmp_path / "stream")
    assert not any(memory_of(found[name]).flags.writeable for name in found)
    with open(tmp_path / "stream", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        found = af.loads(memoryview(mapped).toreadonly())
        assert not any(memory_of(found[name]).flags.writeable for name in found)
        del found


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("nulls", [True, False])
def test_one_batch_of_several_that_has_rows_stays_as_it_was_lent(first, nulls):
    """Its memory is the input's, although batches are joined."""
    column = pa.array([1, None, 3] if nulls else [1, 2, 3], pa.timestamp("ns"))
    table = pa.table({"a": pa.array([1.5, 2.5, 3.5]), "t": column})
    empty = table.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    batches = table.to_batches() + empty if first else empty + table.to_batches()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    stream = sink.getvalue().to_pybytes()
    before = bytes(bytearray(stream))
    for into in ("pandas", None):
        loaded = af.loads(stream, into=into)
        if into == "pandas":
            for name in loaded.columns:
                values = loaded[name].array
                values = getattr(values, "_data", getattr(values, "_ndarray", None))
                if isinstance(values, np.ndarray) and values.flags.writeable:
                    values[:1] = values[-1:]
    assert stream == before
