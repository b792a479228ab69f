"""Columns share their memory from the object that is sent to the one that comes back."""

import mmap

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same

ROWS = 1_000
#: Columns whose memory travels as it is: how to get at it.
SHARED = {
    "int64": lambda column: column.to_numpy(),
    "float32": lambda column: column.to_numpy(),
    "float16": lambda column: column.to_numpy(),
    "bool": lambda column: column.to_numpy(),
    "complex128": lambda column: column.to_numpy(),
    "datetime64[ns]": lambda column: column.to_numpy(),
    "datetime64[ns], NaT": lambda column: column.to_numpy(),
    "timedelta64[ns]": lambda column: column.to_numpy(),
    "datetime64[us]": lambda column: column.to_numpy(),
    "timedelta64[s], NaT": lambda column: column.to_numpy(),
    "datetime64[ns, Europe/Paris]": lambda column: column.array._ndarray,
    "datetime64[ms, UTC]": lambda column: column.array._ndarray,
    "datetime64[ns, a fixed offset]": lambda column: column.array._ndarray,
    "category of text": lambda column: column.array._ndarray,
    "category of ints": lambda column: column.array._ndarray,
    "period[D]": lambda column: column.array._ndarray,
    "interval[int64, left]": lambda column: column.array.left.to_numpy(),
    "Int64": lambda column: column.array._data,
    "Float32": lambda column: column.array._data,
    "boolean": lambda column: column.array._data,
}
KINDS = kinds.kinds()


def block(columns: int = 5, dtype: str = "f8") -> pd.DataFrame:
    """Columns of one memory, each without gaps."""
    values = np.random.default_rng(0).random((columns, ROWS)) * 100
    return pd.DataFrame(values.astype(dtype).T, columns=[f"c{n}" for n in range(columns)], copy=False)


@pytest.mark.parametrize("name", [name for name in SHARED if name in KINDS])
def test_a_column_shares_its_memory_all_the_way(name):
    column, memory = KINDS[name].column(), SHARED[name]
    header, frames = af.to_buffers(column)
    found = af.from_buffers(header, frames)
    assert_same(column, found)
    assert np.shares_memory(memory(column), memory(found))
    assert any(np.shares_memory(memory(column), np.frombuffer(frame, "u1")) for frame in frames)
    # What is copied, if anything, is the mask: a bit a row instead of a byte.
    copied = af.copies(column)
    if isinstance(column.dtype, (pd.Int64Dtype, pd.Float32Dtype)) or name.endswith("NaT"):
        assert {reason for _, reason, _ in copied} <= {"mask"}
    else:
        assert copied == []


NATIVE = ["i1", "u8", "f2", "f4", "f8", "M8[ns]", "m8[ns]"]
WAYS = ["bytes", "bytearray", "mmap", "numpy", "pyarrow"]


@pytest.mark.parametrize(
    ("dtype", "lend"),
    [(dtype, "frames") for dtype in NATIVE]
    + [(dtype, way) for dtype in [*NATIVE, "?", "c16"] for way in WAYS],
)
def test_one_block_comes_back_as_one_block(dtype, lend, tmp_path):
    frame = block(dtype=dtype)
    assert len(frame._mgr.blocks) == 1
    if lend == "frames":
        memory, found = None, af.from_buffers(*af.to_buffers(frame))
        assert np.shares_memory(
            frame._mgr.blocks[0].values.view("u1"), found._mgr.blocks[0].values.view("u1")
        )
    else:
        memory = LENDERS[lend](af.dumps(frame), tmp_path)
        found = af.loads(memory)
        assert np.shares_memory(np.frombuffer(memory, "u1"), found._mgr.blocks[0].values.view("u1"))
    assert_same(frame, found)
    assert len(found._mgr.blocks) == 1


def mapped(stream: bytes, folder) -> mmap.mmap:
    (folder / "stream").write_bytes(stream)
    with open(folder / "stream", "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


LENDERS = {
    "bytes": lambda stream, _: stream,
    "bytearray": lambda stream, _: bytearray(stream),
    "mmap": mapped,
    "numpy": lambda stream, _: np.frombuffer(stream, "u1"),
    "pyarrow": lambda stream, _: pa.py_buffer(stream),
}


def test_blocks_of_several_dtypes_come_back_as_as_many(exchanged):
    dtypes = ("i8", "f4", "M8[ns]", "m8[ns]")
    frame = pd.DataFrame(
        {f"{dtype}{n}": np.arange(ROWS).astype(dtype) for n in range(3) for dtype in dtypes}
    ).copy()
    assert len(frame._mgr.blocks) == 4
    found = exchanged(frame)
    assert_same(frame, found)
    assert len(found._mgr.blocks) == 4


def test_rows_that_lie_one_behind_the_other_are_one_frame_and_one_block(exchanged):
    frame = pd.DataFrame(np.random.default_rng(0).random((ROWS, 5)), copy=False)
    header, frames = af.to_buffers(frame)
    assert max(buffer.nbytes for buffer in frames) == frame.to_numpy().nbytes
    assert af.copies(frame) == []
    assert np.shares_memory(frame.to_numpy(), af.from_buffers(header, frames).to_numpy())
    found = exchanged(frame)
    assert_same(frame, found)
    assert len(found._mgr.blocks) == 1


def test_every_other_row_of_a_block_is_copied_once_and_stays_a_block(exchanged):
    frame = block()[::2]
    assert {(reason, size) for _, reason, size in af.copies(frame)} == {("strided", ROWS // 2 * 8)}
    assert len(exchanged(frame)._mgr.blocks) == 1


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name.startswith(("string[pyarrow]", "str[pyarrow]"))]
)
def test_arrow_text_shares_its_memory(name):
    column = KINDS[name].column()
    chunks = chunks_of(column)
    header, frames = af.to_buffers(column)
    reasons = {reason for _, reason, _ in af.copies(column)}
    if len(chunks) > 1:
        assert reasons == {"chunks"}
        return
    data = chunks[0].buffers()[2]
    lent = [np.frombuffer(frame, "u1") for frame in frames]
    assert any(np.shares_memory(np.frombuffer(data, "u1"), frame) for frame in lent)
    found = af.from_buffers(header, frames)
    [again] = chunks_of(found)
    if kinds.PANDAS >= (2, 2):
        # Before, pandas has 32-bit offsets only, and pyarrow joins what it casts.
        assert np.shares_memory(np.frombuffer(data, "u1"), np.frombuffer(again.buffers()[2], "u1"))
    # Of a slice the offsets, which start elsewhere, and the bits, which are not at a whole byte.
    assert reasons <= ({"strided", "mask"} if "sliced" in name else set())


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.Series(np.arange(20))[::2], "strided"),
        (pd.Series([1, None], dtype="Int64"), "mask"),
        (pd.Series(["a", "b"], dtype=object), "pickled"),
        (pd.Series(["a", "b"], dtype="string[python]"), "pickled"),
        (pd.Series([{"a": 1}], dtype=object), "pickled"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.dtype),
)
def test_what_is_copied_is_named(column, reason):
    [(place, why, size)] = af.copies(column)
    assert (place, why) == (0, reason) and size > 0


def test_what_is_copied_names_its_column():
    frame = pd.DataFrame(
        {"ok": [1, 2], "mask": pd.array([1, None], dtype="Int8"), "o": pd.Series(["a", 1], dtype=object)}
    )
    assert [(place, why) for place, why, _ in af.copies(frame)] == [(1, "mask"), (2, "pickled")]


def test_a_copy_of_booleans_for_arrow_is_named():
    column = pd.Series([True, False] * 500)
    assert af.copies(column) == []
    assert af.copies(column, target="arrow") == [(0, "boolean", 125)]


@pytest.mark.parametrize("shift", [1, 2, 4, 7, 8, 33])
def test_frames_at_any_address_are_right(shift):
    frame = block(3).assign(
        t=pd.date_range("2020", periods=ROWS, tz="UTC"),
        s=pd.array(["text", None] * (ROWS // 2), dtype="string[pyarrow]"),
        i=pd.array([1, None] * (ROWS // 2), dtype="Int16"),
        c=pd.Categorical(["a", "b"] * (ROWS // 2)),
    )
    header, frames = af.to_buffers(frame)
    moved = [memoryview(bytearray(shift) + bytearray(buffer))[shift:] for buffer in frames]
    assert_same(frame, af.from_buffers(header, moved))
    stream = memoryview(bytearray(shift) + af.dumps(frame))[shift:]
    assert_same(frame, af.loads(stream))


def chunks_of(column: pd.Series) -> list[pa.Array]:
    array = column.array.__arrow_array__()
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]
