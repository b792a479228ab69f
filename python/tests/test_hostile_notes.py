"""Notes that lie of arrays, objects, indexes and names: an error of ours, and no memory that is not the frames'."""

import io
import json

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _native
from conftest import in_frames, in_stream
from same import assert_same
from scipy import sparse


def with_note(note: dict, *buffers):
    """An object whose note says that."""
    metadata = [("arrow_frames", json.dumps({"version": 1, **note}))]
    header, frames, _ = _native.encode_object([b"\x80\x05N.", *buffers], metadata)
    return header, frames


def with_index_note(frame: pd.DataFrame, edit) -> bytes:
    """A dataframe's stream whose note was edited."""
    reader = pa.ipc.open_stream(af.dumps(frame, target="arrow"))
    note = json.loads(reader.schema.metadata[b"arrow_frames"])
    edit(note)
    table = reader.read_all()
    return written(
        table.replace_schema_metadata({**table.schema.metadata, b"arrow_frames": json.dumps(note).encode()})
    )


def written(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def refused(header, frames, **options) -> None:
    with pytest.raises(af.DecodeError):
        af.from_buffers(header, frames, **options)


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    "dtype",
    [
        {"names": ["a", "b"], "formats": ["<i4", f"|V{HUGE}"], "offsets": [0, 4], "itemsize": 24},
        {"names": ["a"], "formats": [{"base": "|u1", "shape": [HUGE]}], "offsets": [4], "itemsize": 24},
        {"names": ["a"], "formats": ["<f8"], "offsets": [HUGE - 3], "itemsize": 8},
        {"names": ["a"], "formats": ["<f8"], "offsets": [-8], "itemsize": 24},
        {"names": ["a"], "formats": ["<f8"], "offsets": [20], "itemsize": 24},
        {"names": ["a"], "formats": ["<f8"], "offsets": [0], "itemsize": 2**40},
        {"base": "<f8", "shape": [2**31, 2**31]},
        {"base": "<f8", "shape": [-1]},
        {"base": "<f8", "shape": [1.0]},
        {"names": ["a"], "formats": [{"names": ["b"], "formats": ["<f8"], "offsets": [9], "itemsize": 16}],
         "offsets": [0], "itemsize": 24},
    ],
)  # fmt: skip
def test_fields_never_reach_beyond_their_element(dtype):
    refused(*with_note({"kind": "numpy.ndarray", "parts": [{"dtype": dtype, "shape": [5]}]}, bytes(120)))


def test_elements_of_no_bytes_are_counted():
    nothing = {"names": ["a"], "formats": ["|V0"], "offsets": [0], "itemsize": 0}
    refused(*with_note({"kind": "numpy.MaskedArray", "parts": [{"dtype": nothing, "shape": [10**15]}]}))


@pytest.mark.parametrize("offset", [HUGE, -(2**31), 7, -7])
def test_diagonals_are_in_their_array(offset):
    parts = [{"dtype": "<f8", "shape": [1, 6]}, {"dtype": "<i4", "shape": [1]}]
    note = {"kind": "scipy.dia_matrix", "shape": [6, 6], "parts": parts}
    refused(*with_note(note, np.ones(6), np.array([offset], "<i4")))


def test_memory_between_fields_is_the_sender_s_own():
    """Not whatever was in the memory that the copy was made in."""
    array = np.zeros(4000, np.dtype([("a", "i1"), ("b", "f8")], align=True))[::2]
    for _ in range(50):
        secret = np.full(array.nbytes, 83, "u1")
        del secret
        _, frames = af.to_buffers(array)
        assert not any(np.frombuffer(frame, "u1").any() for frame in frames if frame.nbytes == array.nbytes)


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex(levels=[["a", "a"]], codes=[[0, 1]], verify_integrity=False),
        pd.MultiIndex(levels=[["a", None]], codes=[[0, 1]], verify_integrity=False),
        pd.concat({np.nan: pd.Series([1]), 1.5: pd.Series([2])}).index,
        pd.DataFrame({"a": ["x", np.nan], "b": [1.0, np.nan], "v": 1}).groupby(["a", "b"], dropna=False).sum().index,
    ],
)  # fmt: skip
def test_levels_that_are_no_set_come_back(index, exchanged):
    frame = pd.DataFrame({"v": range(len(index))}, index=index)
    assert_same(frame, exchanged(frame))


def test_levels_that_were_moved_stay_what_they_are():
    index = pd.MultiIndex.from_tuples([("a", "x"), ("b", "y")], names=["p", "q"])
    frame = pd.DataFrame({"v": [1, 2]}, index=index)
    table = pa.ipc.open_stream(af.dumps(frame, target="arrow")).read_all()
    moved = af.loads(written(table.select(["v", "__index_level_1__", "__index_level_0__"])))
    assert_same(frame, moved)


def test_rows_that_were_taken_leave_a_range_of_those_that_are_there():
    frame = pd.DataFrame({"v": [1, 2, 3, 4]}, index=pd.RangeIndex(4, name="n"))
    table = pa.ipc.open_stream(af.dumps(frame, target="arrow")).read_all()
    found = af.loads(written(table.slice(1, 2)))
    assert found["v"].tolist() == [2, 3] and found.index.tolist() == [0, 1] and found.index.name == "n"


def test_tables_that_were_read_from_our_streams_are_tables():
    frame = pd.DataFrame({"v": ["a", "b"], "n": [1, 2]})
    table = pa.ipc.open_stream(af.dumps(frame)).read_all()
    numbers = table.select(["n"])
    assert type(af.from_buffers(*af.to_buffers(numbers))) is pa.Table
    own = pa.table({"a": [1]}).replace_schema_metadata({"arrow_frames": "mine"})
    assert af.from_buffers(*af.to_buffers(own)).schema.metadata == own.schema.metadata
    if af.copies(frame) or pd.__version__ >= "3":
        with pytest.raises(af.EncodeError, match="column 'v' was a pickle"):
            af.to_buffers(table)


@pytest.mark.parametrize(
    "edit",
    [
        lambda note: note["index"].update(freq="1" * 20_000),
        lambda note: note["index"].update(freq=" " * 30_000),
        lambda note: note.update(attrs={"dict": [[(2**61 - 1) * i, 0] for i in range(20_000)]}),
        lambda note: note.update(attrs={"moment": ["<M8", 1]}),
        lambda note: note.update(attrs={"moment": ["<M8[s]", 2**60, "Europe/Paris", "pytz"]}),
        *(lambda note, name=name: note.update(attrs={"moment": ["<M8[ns]", 0, name, "zoneinfo"]})
          for name in ("dateutil//etc/passwd", "Europe", "../x", "/etc/passwd", "x" * 100_000, "No/Where")),
    ],
)  # fmt: skip
def test_frequencies_keys_and_zones_are_looked_at_first(edit):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2020", periods=2, freq="D"))
    with pytest.raises(af.DecodeError):
        af.loads(with_index_note(frame, edit))


@pytest.mark.parametrize(
    "edit",
    [
        lambda note: note.update(index={"multi": 10**9}),
        lambda note: note.update(index={"multi": "x"}),
        lambda note: note.update(index=5),
        lambda note: note.update(index=None),
        lambda note: note.update(arrays=5),
    ],
)
def test_columns_that_are_chosen_are_looked_for_in_any_note(edit):
    stream = with_index_note(pd.DataFrame({"a": [1, 2]}), edit)
    with pytest.raises(af.DecodeError):
        af.loads(stream, columns=["a"])


@pytest.mark.parametrize(
    "form",
    [
        _native.Call("pandas", "DatetimeTZDtype", "ns", "No/Where"),
        _native.Objects([_native.Call("decimal", "Decimal", "xx")]),
        _native.Call("pandas.arrays", "IntervalArray.from_arrays",
                     *(_native.Call("numpy", "frombuffer", _native.OutOfBand(np.array(ends)), "<f8", 2)
                       for ends in ([1.0, 0.0], [0.0, 1.0])), "left", False),
    ],
)  # fmt: skip
def test_what_a_library_does_not_make_of_a_form_is_an_error_of_ours(form):
    metadata = [("arrow_frames", json.dumps({"version": 1, "kind": "python.object"}))]
    refused(*_native.encode_object(_native.pickle(form), metadata)[:2])


@pytest.mark.parametrize("kind", ["pyarrow.Array", "pyarrow.ChunkedArray", "arrow.Array"])
def test_an_array_of_no_column_is_refused(kind):
    header, frames, _ = _native.encode_stream(
        pa.table({}).to_reader(), [("arrow_frames", json.dumps({"version": 1, "kind": kind}))], target="arrow"
    )
    refused(header, frames)


def test_a_note_of_many_levels_is_none():
    reader = pa.ipc.open_stream(af.dumps(pa.table({"a": [1]})))
    table = reader.read_all().replace_schema_metadata({"arrow_frames": "[" * 100_000})
    assert af.loads(written(table)).num_rows == 1
    assert af.inspect(written(table)).rows == 1


def test_what_polars_panics_about_is_an_error_of_ours():
    pytest.importorskip("polars")
    table = pa.table({"a": pa.array([None], pa.decimal256(76, 3))})
    with pytest.raises(af.DecodeError, match="polars"):
        af.loads(written(table), into="polars")


def test_every_object_can_be_inspected(exchanged):
    for obj in (
        np.arange(3.0),
        np.arange(3).astype("M8[s]"),
        sparse.csr_matrix(np.eye(3)),
        [1],
        {"a": np.arange(9_000)},
    ):
        assert str(af.inspect(*af.to_buffers(obj))) == str(af.inspect(af.dumps(obj)))
    for parts in (5, None, [5], "x"):
        assert af.inspect(*with_note({"kind": "numpy.ndarray", "parts": parts})).columns


def test_objects_keep_their_class_and_their_access():
    matrix = np.matrix(np.array([[1, "x"]], dtype=object))
    found = in_frames(matrix)
    assert type(found) is np.matrix and found.tolist() == matrix.tolist()
    readonly = np.array([1, "x"], object)
    readonly.flags.writeable = False
    assert not in_stream(readonly).flags.writeable
    assert not in_stream(np.array([1, "x"], object), writable=False).flags.writeable


def test_room_that_a_sparse_matrix_does_not_use_comes_back():
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.data = np.append(matrix.data, 0.0)
    matrix.indices = np.append(matrix.indices, 0).astype(matrix.indices.dtype)
    found = in_frames(matrix)
    assert np.array_equal(found.toarray(), np.eye(3)) and len(found.data) == 4
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices = matrix.indices.astype("u4")
    assert in_frames(matrix).indices.dtype == "u4"


def test_what_is_gathered_from_lists_and_dicts_is_counted():
    for matrix in (sparse.dok_matrix(np.eye(30)), sparse.lil_matrix(np.eye(30))):
        assert sum(size for _, reason, size in af.copies(matrix) if reason == "pickled") >= 240
