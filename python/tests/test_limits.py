"""What a few bytes may become: counted before it is allocated, and refused beyond the limits."""

import base64
import io
import json
import subprocess
import sys

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _native
from arrow_frames._native import Call, OutOfBand
from test_hostile_notes import with_note, written

#: What a load may allocate by default beyond a multiple of its input, and room for the interpreter.
BOUND = (256 + 64) << 20

#: Loads a stream, and says by how much that has raised the highest number of bytes in memory, and what came of it.
LOAD = """
import resource, sys
import arrow_frames as af, numpy, pandas, pyarrow
try:
    import scipy.sparse
except ImportError:
    pass
stream, into = sys.stdin.buffer.read(), sys.argv[1] or None
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    found = type(af.loads(stream, into=into)).__name__
except Exception as error:
    found = type(error).__name__
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10, found)
"""


def peak(stream: bytes, into: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOAD, into], input=stream, stdout=subprocess.PIPE, check=True
    )
    size, found = done.stdout.split()
    return int(size), found.decode()


def object_of(buffers: list) -> bytes:
    note = json.dumps({"version": 1, "kind": "python.object"})
    header, frames, _ = _native.encode_object(buffers, [("arrow_frames", note)])
    return b"".join(_native.segments(header, frames))


def noted(note: dict, *buffers) -> bytes:
    header, frames = with_note(note, *buffers)
    return b"".join(_native.segments(header, frames))


def repeated(dtype: str, count: int, *shape: int) -> dict:
    return {"dtype": dtype, "shape": [count, *shape], "strides": [0] * (1 + len(shape))}


def range_column(rows: int) -> bytes:
    """A column that is a range of so many rows, in a batch of one."""
    columns = _native.Columns(["a"], 1)
    form = _native.pickle(Call("pandas", "RangeIndex", 0, rows, 1, None, False, None))
    columns.opaque(0, json.dumps({"type_name": "range", "vendor_name": "pandas"}), "range", form)
    index = {"range": [0, 1, 1], "name": None}
    labels = {"text": "object", "names": ["a"], "name": None}
    note = {"version": 1, "kind": "pandas.DataFrame", "arrays": ["form"], "labels": labels, "index": index}
    header, frames, _ = columns.encode([("arrow_frames", json.dumps(note))])
    return b"".join(_native.segments(header, frames))


def nulls(rows: int) -> bytes:
    """A column of nulls, which takes no bytes."""
    return written(pa.table({"a": pa.nulls(rows)}))


COUNT = 1 << 28
ONE = bytes(8)
CASES = {
    "a range as a column": lambda: range_column(COUNT),
    "text of so many characters": lambda: noted(
        {"kind": "numpy.ndarray", "parts": [{"dtype": f"|S{COUNT * 8}", "shape": [1]}]}, ONE
    ),
    "a repeated element, masked": lambda: noted(
        {
            "kind": "numpy.MaskedArray",
            "mask": True,
            "parts": [repeated("<f8", COUNT), repeated("|b1", COUNT)],
        },
        ONE,
        b"\1",
    ),
    "a repeated element of text": lambda: noted(
        {"kind": "numpy.chararray", "parts": [repeated("<U1", COUNT)]}, bytes(4)
    ),
    "nulls": lambda: nulls(COUNT),
    "zeros, compressed": lambda: af.dumps(pa.table({"a": np.zeros(COUNT >> 1)}), compression="zstd"),
}
SPARSE = {
    "coo": ({"shape": [5, 5], "parts": [repeated("<f8", COUNT)] + 2 * [repeated("<i8", COUNT)]}, [ONE] * 3),
    "csr": ({"shape": [COUNT - 1, 5], "parts": [repeated("<f8", COUNT)] + 2 * [repeated("<i8", COUNT)]}, [ONE] * 3),
    "dok": ({"shape": [5], "dtype": "<f8", "parts": [repeated("<i8", COUNT, 1), repeated("<f8", COUNT)]}, [ONE] * 2),
    "lil": (
        {"shape": [COUNT, 5], "dtype": "<f8",
         "parts": [repeated("<i8", COUNT), {"dtype": "<i8", "shape": [0]}, {"dtype": "<f8", "shape": [0]}]},
        [ONE, b"", b""],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_few_bytes_become_no_more_than_the_bound(case):
    stream = CASES[case]()
    size, found = peak(stream, "pandas" if case == "nulls" else "")
    assert found in ("LimitError", "DecodeError")
    assert size < BOUND + 32 * len(stream)


@pytest.mark.parametrize("form", SPARSE)
def test_a_few_bytes_of_a_sparse_array_become_no_more_than_the_bound(form):
    pytest.importorskip("scipy")
    note, buffers = SPARSE[form]
    stream = noted({"kind": f"scipy.{form}_array", **note}, *buffers)
    size, found = peak(stream)
    assert found == "LimitError"
    assert size < BOUND


def test_streams_inside_a_stream_share_its_bound():
    """Each of them alone would be allowed."""
    level = af.dumps(pd.Index(np.zeros(4_000_000)), target="arrow", compression="zstd")
    _, metadata = _native.schema(af.dumps(pd.DataFrame({"a": [1]})))
    note = json.loads(dict(metadata)["arrow_frames"])
    kind = "level:" + base64.b64encode(level).decode()
    count = 30
    note["arrays"] = ["numpy"] + [kind] * count
    note["index"] = {"multi": count, "names": [None] * count, "freqs": [None] * count}
    names = ["a"] + [f"__index_level_{number}__" for number in range(count)]
    table = pa.table([pa.array([0], pa.int8())] * len(names), names)
    stream = written(table.replace_schema_metadata({"arrow_frames": json.dumps(note)}))
    size, found = peak(stream)
    assert found == "LimitError"
    assert size < BOUND + 32 * len(stream)


def test_a_note_of_many_lists_is_counted():
    nested = "[]," * 4_000_000
    note = '{"version": 1, "kind": "pandas.Series", "arrays": ["numpy"], "name": [' + nested + "0]}"
    stream = written(pa.table({"a": [1]}).replace_schema_metadata({"arrow_frames": note}))
    size, found = peak(stream)
    assert found == "LimitError"
    assert size < BOUND + 32 * len(stream)


def test_what_is_allowed_is_loaded():
    """Up to the bound and not beyond it; and what is large of its own is not counted."""
    rows, column = 1000, 1024
    loaded = af.loads(
        nulls(rows), into="pandas", limits={"max_expanded_bytes": 8 * rows + column, "max_expansion": 0}
    )
    assert loaded["a"].isna().sum() == rows
    with pytest.raises(af.LimitError, match="column 'a' in pandas would take 8,000 bytes"):
        af.loads(
            nulls(rows),
            into="pandas",
            limits={"max_expanded_bytes": 8 * rows + column - 1, "max_expansion": 0},
        )
    frame = pd.DataFrame({"a": np.arange(100_000), "b": np.arange(100_000) * 0.5})
    none = af.Limits(max_expanded_bytes=8 * column, max_expansion=0)
    assert af.loads(af.dumps(frame), limits=none).equals(frame)


def test_views_that_show_the_same_text_are_counted_as_often():
    """pandas copies text out of views."""
    if not hasattr(pa, "string_view") or int(pa.__version__.split(".")[0]) < 18:
        pytest.skip("this pyarrow makes no views of buffers")
    text, rows = "x" * 100_000, 10_000
    one = pa.array([text], pa.string_view())
    prefix = one.buffers()[1].to_pybytes()[:16]
    array = pa.Array.from_buffers(
        pa.string_view(), rows, [None, pa.py_buffer(prefix * rows), one.buffers()[2]]
    )
    stream = written(pa.table({"a": array}))
    size, found = peak(stream, "pandas")
    assert found == "LimitError"
    assert size < BOUND + 32 * len(stream)


READING = {
    "loads": lambda stream, limits: af.loads(stream, limits=limits),
    "load": lambda stream, limits: af.load(io.BytesIO(stream), limits=limits),
    "inspect": lambda stream, limits: af.inspect(stream, limits=limits),
}


@pytest.mark.parametrize("reading", READING)
@pytest.mark.parametrize("limits", [af.Limits(max_expanded_bytes=0, max_expansion=0), {"max_expanded_bytes": 0, "max_expansion": 0}])  # fmt: skip
def test_every_function_that_reads_takes_limits(reading, limits):
    stream = af.dumps(pa.table({"a": np.zeros(100_000)}), compression="zstd")
    READING[reading](stream, None)
    with pytest.raises(af.LimitError, match="max_expanded_bytes"):
        READING[reading](stream, limits)


def test_a_file_and_a_blob_take_limits(tmp_path):
    table = pa.table({"a": np.zeros(100_000)})
    path = tmp_path / "a.arrows"
    af.dump(table, path, compression="zstd")
    header, frames = af.to_buffers(table, compression="zstd")
    packed = _native.pack([memoryview(header), *frames])
    none = {"max_expanded_bytes": 0, "max_expansion": 0}
    for read in (lambda: af.load(path, limits=none), lambda: af.memory_map(path, limits=none),
                 lambda: af.unpack(packed, limits=none), lambda: af.from_buffers(header, frames, limits=none)):  # fmt: skip
        with pytest.raises(af.LimitError):
            read()
    assert af.memory_map(path, limits=af.Limits()).equals(table)


def test_a_stream_that_is_received_is_held_to_its_limits():
    stream = af.dumps(pd.DataFrame({"a": np.arange(10_000)}))
    with pytest.raises(af.LimitError, match="max_stream_bytes"):
        af.load(io.BytesIO(stream), limits={"max_stream_bytes": 1000})
    with pytest.raises(af.LimitError, match="max_metadata_bytes"):
        af.loads(stream, limits={"max_metadata_bytes": 8})


def test_limits_have_the_defaults_of_the_codec():
    limits = af.Limits()
    assert (limits.max_expanded_bytes, limits.max_expansion) == (256 << 20, 32)
    assert limits == af.Limits(max_depth=limits.max_depth) and "max_expansion=32" in repr(limits)
    lower = af.Limits.for_service()
    assert (
        lower.max_expanded_bytes < limits.max_expanded_bytes and lower.max_body_bytes < limits.max_body_bytes
    )
    for wrong in ({"max_rows": 1}, 5, "small"):
        with pytest.raises(TypeError):
            af.loads(af.dumps(pd.Series([1])), limits=wrong)


def colliding(count: int) -> np.ndarray:
    """Integers that have one hash in pandas' tables."""
    low = np.arange(1, 2 * count + 1, dtype="u8")
    high = (np.uint64(0x1234) ^ low ^ (low << np.uint64(11))) & np.uint64(0xFFFFFFFF)
    fits = high < 2**31
    return ((high[fits][:count] << np.uint64(33)) | low[fits][:count]).view("i8")


def categorical(categories) -> bytes:
    codes = np.zeros(3, "i4")
    form = Call(
        "pandas", "Categorical.from_codes",
        Call("numpy", "frombuffer", OutOfBand(codes), "<i4", 3),
        Call("numpy", "frombuffer", OutOfBand(categories), categories.dtype.str, len(categories)), False,
    )  # fmt: skip
    return object_of(_native.pickle(form))


def test_categories_that_collide_are_refused():
    """pandas takes n² / 2 steps for them: 10,000 are the most that a second is enough for."""
    stream = categorical(colliding(10_000))
    with pytest.raises(af.UntrustedPickleError, match="steps of a hash table"):
        af.loads(stream)
    assert len(af.loads(categorical(colliding(1_000))).categories) == 1_000
    ordinary = np.random.default_rng(0).integers(-(2**62), 2**62, 100_000)
    assert len(af.loads(categorical(np.unique(ordinary))).categories) > 99_000


def test_dictionaries_that_collide_are_refused():
    values = pa.array(colliding(10_000))
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    with pytest.raises(
        af.LimitError, match='the categories of column "a": 10000 values have hashes that collide'
    ):
        af.loads(written(pa.table({"a": array})), into="pandas")


def test_unique_labels_that_collide_are_refused():
    frame = pd.DataFrame({"a": np.zeros(10_000)}, index=pd.Index(colliding(10_000)))
    stream = af.dumps(frame)
    assert af.loads(stream).index.equals(frame.index)
    reader = pa.ipc.open_stream(stream)
    note = json.loads(reader.schema.metadata[b"arrow_frames"])
    table = reader.read_all().replace_schema_metadata(
        {"arrow_frames": json.dumps({**note, "unique_labels": True})}
    )
    with pytest.raises(af.LimitError, match="the labels of the rows: 10000 values"):
        af.loads(written(table))


class Counted(str):
    """A name that counts how often it is compared."""

    steps = 0

    def __eq__(self, other):
        Counted.steps += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Watched:
    """A decoded dataframe whose names are counted, and the calls for its columns."""

    def __init__(self, decoded) -> None:
        self.decoded, self.calls = decoded, 0
        self.fields = [(Counted(field[0]), *field[1:]) for field in decoded.fields]

    def __getattr__(self, name):
        found = getattr(self.decoded, name)
        if callable(found):
            self.calls += 1
        return found


def steps(stream: bytes) -> tuple[int, int]:
    """How many comparisons of names, and calls of the codec, a dataframe of pandas takes."""
    from arrow_frames import _note
    from arrow_frames._limits import Budget
    from arrow_frames._rebuild import Rebuild

    watched = Watched(_native.decode_stream(stream))
    Counted.steps = 0
    note = _note.of(dict(watched.decoded.metadata))
    Rebuild(watched, lambda _: watched, None, False, Budget(None, stream)).frame(note, "pandas.DataFrame")
    return Counted.steps, watched.calls


def index_columns(count: int) -> bytes:
    """Metadata that names index columns which are not there."""
    names = [f"c{number:06}" for number in range(count)]
    described = {"index_columns": [f"no{number}" for number in range(count)], "columns": []}
    table = pa.table([pa.array([1], pa.int8())] * count, names)
    return written(table.replace_schema_metadata({"pandas": json.dumps(described)}))


def many_batches(count: int) -> bytes:
    table = pa.table({"a": pa.array([1], pa.int8()), "s": ["x"], "d": pa.array(["y"]).dictionary_encode()})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(count):
            writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("stream_of", [index_columns, many_batches], ids=["index columns", "batches"])
def test_steps_grow_with_the_input(stream_of):
    few, many = (steps(stream_of(count)) for count in (100, 800))
    assert all(after <= 9 * max(before, 20) for before, after in zip(few, many))


def test_batches_are_joined_by_the_codec():
    """However many there are, the calls for a column are as many as for one."""
    assert steps(many_batches(400))[1] == steps(many_batches(2))[1]
    frame = af.loads(many_batches(5), into="pandas")
    assert frame["a"].tolist() == [1] * 5 and frame["s"].tolist() == ["x"] * 5
    assert frame["d"].tolist() == ["y"] * 5 and frame["d"].dtype == "category"
