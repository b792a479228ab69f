"""What distributed makes of the frames before they come back: the functions that it calls, and no cluster."""

import json
import pickle

import arrow_frames as af
import arrow_frames.dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed.protocol import deserialize, dumps, loads, serialize, serialize_bytelist, to_serialize
from distributed.protocol.compression import compressions
from distributed.protocol.serialize import (
    Serialized,
    _nested_deserialize,
    deserialize_bytes,
    merge_and_deserialize,
    serialize_and_split,
    serialize_bytes,
)
from frames import mixed, table
from subclass import Subclass


def joined(obj, **options) -> bytes:
    return b"".join(serialize_bytelist(obj, **options))


def at(offset: int, data: bytes) -> memoryview:
    """Writable memory with the data at an address so many bytes behind an aligned one."""
    memory = np.empty(len(data) + 128, "u1")
    start = -memory.ctypes.data % 64 + offset
    memory[start : start + len(data)] = np.frombuffer(data, "u1")
    return memory.data[start : start + len(data)]


def flags(df: pd.DataFrame) -> list[bool]:
    """Whether each array of numpy in a dataframe may be assigned to."""
    arrays = (block.values for block in df._mgr.blocks)
    arrays = (getattr(array, "_ndarray", getattr(array, "_data", array)) for array in arrays)
    return [array.flags.writeable for array in arrays if isinstance(array, np.ndarray)]


OBJECTS = {
    "mixed": mixed,
    "empty": lambda: pd.DataFrame(),
    "no rows": lambda: mixed(10)[:0],
    "no columns": lambda: pd.DataFrame(index=range(3)),
    "slice": lambda: mixed()[100:900:3],
    "indexed": lambda: mixed(50).set_index(["key", "text"]),
    "wide": lambda: pd.DataFrame(np.arange(3000.0).reshape(30, 100)),
    "series": lambda: mixed()["first"],
    "named index": lambda: pd.Index(["a", "b"], name="letter"),
    "datetime index": lambda: pd.date_range("2020", periods=5, freq="h", tz="UTC"),
    "multi index": lambda: pd.MultiIndex.from_product([["a", "b"], [1, 2]]),
    "table": table,
    "no batches": lambda: table()[:0],
    "batch": lambda: table().to_batches()[0],
}


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other)
    elif isinstance(one, pd.Index):
        pd.testing.assert_index_equal(one, other)
    else:
        assert one.schema.equals(other.schema, check_metadata=True)
        assert one.equals(other)


@pytest.mark.parametrize("of", OBJECTS.values(), ids=OBJECTS)
class TestEveryObject:
    def test_comes_back_from_a_spill_file(self, of):
        for memory in (bytes, bytearray, lambda data: at(3, data)):
            same(deserialize_bytes(memory(joined(of(), compression="lz4"))), of())

    def test_comes_back_from_a_message(self, of):
        frames = [bytes(frame) for frame in dumps({"data": to_serialize(of())})]
        same(loads(frames)["data"], of())

    def test_is_carried_as_frames_in_collections(self, of):
        for collection in ([of(), of()], (of(),), {"key": of(), 1: of()}):
            header, frames = serialize(collection)
            assert all(sub["sub-header"]["arrow-frames"] == 1 for sub in header["sub-headers"])
            result = deserialize(header, frames)
            assert type(result) is type(collection)
            values = result.values() if isinstance(result, dict) else result
            assert len(values) == len(collection)
            for value in values:
                same(value, of())


def test_frames_are_one_dimensional_and_as_long_as_the_header_says():
    header, frames = serialize(mixed())
    assert all(isinstance(frame, memoryview) and frame.ndim == 1 and frame.contiguous for frame in frames)
    assert sum(header["sub-header"]["lengths"]) == sum(frame.nbytes for frame in frames)
    arrow_header, _ = af.to_buffers(mixed())
    assert header["sub-header"]["lengths"][0] == len(arrow_header) == frames[0].nbytes


def test_neighbours_travel_as_one_frame_and_are_one_block_again():
    df = pd.DataFrame(np.arange(4000.0).reshape(4, 1000).T.copy(order="F"))
    header, frames = serialize(df)
    assert len(header["sub-header"]["lengths"]) == 5
    assert [frame.nbytes for frame in frames[1:]] == [32_000]
    memory = df._mgr.blocks[0].values
    assert np.shares_memory(np.frombuffer(frames[1], "f8"), memory)
    again = deserialize(header, frames)
    [block] = again._mgr.blocks
    assert np.shares_memory(block.values, memory)
    assert block.values.shape == (4, 1000)


def test_neighbours_of_different_objects_stay_apart():
    memory = np.arange(100.0)
    whole = memoryview(memory).cast("B")
    frames = [whole[:400], whole[400:]]
    assert [frame.nbytes for frame in af._native.merge(frames)] == [800]
    other = np.arange(50.0)
    assert [frame.nbytes for frame in af._native.merge([frames[0], memoryview(other).cast("B")])] == [
        400,
        400,
    ]
    # Writable and not is not one.
    assert [frame.readonly for frame in af._native.merge([frames[0], frames[1].toreadonly()])] == [
        False,
        True,
    ]


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 4096])
def test_split_frames_are_merged(size):
    df = mixed(100)
    header, frames = serialize_and_split(df, size=size)
    assert len(frames) > len(serialize(df)[1])
    assert max(frame.nbytes for frame in frames) <= size
    same(merge_and_deserialize(header, frames), df)
    same(merge_and_deserialize(header, [bytes(frame) for frame in frames]), df)


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 10**9])
def test_any_cuts_of_the_same_bytes_are_the_same_dataframe(size):
    """Split and not merged, or merged: what matters is which bytes there are."""
    df = mixed(100)
    header, frames = serialize(df)
    data = b"".join(frames)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    same(deserialize(header, pieces), df)
    same(deserialize(header, [b"", *map(bytearray, pieces), b""]), df)
    whole = memoryview(bytearray(data))
    same(deserialize(header, [whole[start : start + size] for start in range(0, len(data), size)]), df)


def test_frames_that_lie_as_they_are_cut_are_not_joined_by_copying():
    header, frames = serialize(pd.DataFrame({"a": np.arange(1000.0)}))
    memory = at(0, b"".join(frames))
    pieces = arrow_frames.dask.cut(
        [memory[:999], memory[999:3001], memory[3001:]], header["sub-header"]["lengths"]
    )
    for piece in pieces:
        assert np.shares_memory(np.frombuffer(piece, "u1"), np.frombuffer(memory, "u1"))


def test_a_nested_message_is_rebuilt():
    df = mixed()
    header, frames = serialize(df)
    same(_nested_deserialize({"x": [Serialized(header, frames)]})["x"][0], df)
    # Once more: nothing that it was made of has been changed.
    same(_nested_deserialize({"x": [Serialized(header, frames)]})["x"][0], df)


@pytest.mark.parametrize(
    "codec", sorted({codec for codec in compressions if isinstance(codec, str) and codec != "auto"})
)
def test_compressed_frames_come_back(codec):
    df = mixed(20_000)
    same(deserialize_bytes(joined(df, compression=codec)), df)


@pytest.mark.parametrize("offset", range(9))
def test_misaligned_frames_come_back(offset):
    df = mixed()
    header, frames = serialize(df)
    again = deserialize(header, [at(offset, bytes(frame)) for frame in frames])
    same(again, df)
    same(again.groupby("key")["first"].sum(), df.groupby("key")["first"].sum())
    same(again.sort_values("second"), df.sort_values("second"))


def test_misaligned_numbers_stay_where_they_lie():
    data = at(3, joined(mixed(), compression=False))
    again = deserialize_bytes(data)
    arrays = [again[name].to_numpy() for name in ("key", "first", "flag", "complex")]
    arrays += [again["nullable"].array._data, again["category"].array.codes]
    assert any(not array.flags.aligned for array in arrays)
    assert all(np.shares_memory(array, np.frombuffer(data, "u1")) for array in arrays)
    # Nor are they copied to be sent on.
    _, frames = serialize(again)
    starts = {np.frombuffer(frame, "u1").ctypes.data for frame in frames}
    assert {array.ctypes.data for array in arrays} - starts <= {again["second"].to_numpy().ctypes.data}
    same(deserialize(serialize(again)[0], frames), mixed())


def test_misaligned_tables_are_sound():
    again = deserialize_bytes(at(3, joined(table(), compression=False)))
    again.validate(full=True)
    same(again, table())


def test_misaligned_columns_of_arrow_are_sound():
    again = deserialize_bytes(at(3, joined(mixed(), compression=False)))
    pa.chunked_array(again["arrow"].array.__arrow_array__()).validate(full=True)


def test_wrong_lengths_are_refused():
    header, frames = serialize(mixed())
    total = sum(header["sub-header"]["lengths"])
    with pytest.raises(
        af.DecodeError, match=f"names {total:,} bytes of frames, and {total - frames[-1].nbytes:,}"
    ):
        deserialize(header, frames[:-1])
    with pytest.raises(af.DecodeError, match="version 2"):
        deserialize({**header, "sub-header": {**header["sub-header"], "arrow-frames": 2}}, frames)


class TestMutability:
    @pytest.mark.parametrize("memory", [bytes, bytearray, lambda data: at(2, data)])
    def test_every_column_can_be_assigned_to_as_before(self, memory):
        df = mixed()
        again = deserialize_bytes(memory(joined(df)))
        assert all(flags(df)) and all(flags(again))
        for place in range(df.shape[1]):
            again.iloc[0, place] = again.iloc[-1, place]
            df.iloc[0, place] = df.iloc[-1, place]
        same(again, df)

    @pytest.mark.parametrize("memory", [bytes, bytearray])
    def test_what_was_read_only_is_so_again(self, memory):
        array = np.arange(10.0)
        array.flags.writeable = False
        df = pd.DataFrame({"fixed": pd.Series(array, copy=False), "free": np.arange(10.0)}, copy=False)
        assert sorted(flags(df)) == [False, True]
        again = deserialize_bytes(memory(joined(df)))
        assert flags(again) == flags(df)
        for one in (df, again):
            one.iloc[0, 1] = 5.0
            with pytest.raises(ValueError, match="read-only"):
                one.iloc[0, 0] = 5.0

    def test_writable_memory_is_not_copied(self):
        data = bytearray(joined(mixed()))
        again = deserialize_bytes(data)
        assert np.shares_memory(again["flag"].to_numpy(), np.frombuffer(data, "u1"))

    def test_text_is_not_copied_to_be_writable(self):
        """Nobody assigns to Arrow's memory."""
        data = joined(mixed(), compression=False)
        again = deserialize_bytes(data)
        [chunk] = pa.chunked_array(again["text"].array.__arrow_array__()).chunks
        text = chunk.buffers()[2]
        assert np.shares_memory(np.frombuffer(text, "u1"), np.frombuffer(data, "u1"))

    def test_an_assignment_does_not_change_what_was_sent(self):
        df = mixed()
        again = deserialize_bytes(bytearray(joined(df)))
        again.iloc[0, 1] = -1.0
        same(df, mixed())


class TestWhatIsPassedOn:
    def test_subclasses_go_as_before(self):
        header, frames = serialize(Subclass({"a": [1, 2]}))
        assert header["serializer"] == "pickle"
        assert type(deserialize(header, frames)) is Subclass

    def test_objects_that_only_cloudpickle_pickles_go_by_it(self):
        header, frames = serialize(pd.DataFrame({"function": [lambda: 7]}))
        assert header["serializer"] == "dask"
        assert deserialize(header, frames)["function"][0]() == 7

    def test_classes_of_the_main_program_go_as_before(self):
        kind = type(
            "Local", (), {"__module__": "__main__", "__reduce__": lambda self: (eval, ("'__main__'",))}
        )
        header, _ = serialize(pd.DataFrame({"object": [kind()]}))
        assert header["serializer"] == "pickle"

    def test_other_objects_are_unpickled_without_being_asked(self):
        df = pd.DataFrame({"object": [frozenset({1}), range(3)]})
        header, frames = serialize(df)
        assert header["serializer"] == "dask"
        same(deserialize(header, frames), df)

    def test_an_object_around_a_table_is_pickled(self):
        """Distributed's pickler asks the registered functions where pickle fails."""
        around = {"function": lambda: 1, "table": table(), "index": pd.Index([1, 2])}
        header, frames = serialize(around)
        assert header["serializer"] == "pickle"
        again = deserialize(header, frames)
        same(again["table"], table())
        same(again["index"], around["index"])

    def test_pickle_itself_is_as_before(self):
        same(pickle.loads(pickle.dumps(mixed())), mixed())


class TestArrays:
    """Those that distributed would pickle or copy go by our frames, every other one as it did before."""

    ours = (
        np.array(["a", None, 1, 2.5, {"k": [1]}] * 20, dtype=object),
        np.array([["a", "b"], ["c", "d"]], dtype=object).T,
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
        np.arange(24)[::-1],
        np.arange(24).astype("M8[ns]").reshape(4, 6)[:, ::-1],
        np.arange(24.0)[::2],
    )
    theirs = (
        np.arange(24.0),
        np.asfortranarray(np.arange(24).reshape(4, 6)),
        np.arange(3).astype("M8[s]"),
        np.broadcast_to(np.arange(3), (5, 3)),
        np.array(1.5),
        np.zeros(0),
        np.matrix([[1, 2]]),
        np.array([{1, 2}, range(3)], dtype=object),
    )

    @pytest.mark.parametrize("array", ours, ids=lambda array: f"{array.dtype}{array.shape}")
    def test_ours(self, array):
        header, frames = serialize(array)
        assert header["sub-header"][arrow_frames.dask.KEY] == arrow_frames.dask.VERSION
        self.same(deserialize(header, frames), array)
        self.same(deserialize_bytes(serialize_bytes(array)), array)

    @pytest.mark.parametrize("array", theirs, ids=lambda array: f"{array.dtype}{array.shape}")
    def test_theirs(self, array):
        header, frames = serialize(array)
        assert arrow_frames.dask.KEY not in header.get("sub-header", {})
        self.same(deserialize(header, frames), array)

    @pytest.mark.parametrize("offset", [1, 2, 7])
    def test_numbers_at_any_address_are_not_copied(self, offset):
        array = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)
        header, frames = serialize(array)
        memory = bytearray(offset + memoryview(frames[-1]).nbytes)
        memory[offset:] = frames[-1]
        found = deserialize(header, [*frames[:-1], memoryview(memory)[offset:]])
        assert np.shares_memory(found, np.frombuffer(memory, "u1")) and np.array_equal(found, array)

    def test_access_is_kept(self):
        for writable in (True, False):
            array = np.arange(24)[::-1]
            array.flags.writeable = writable
            assert deserialize_bytes(serialize_bytes(array)).flags.writeable == writable

    @staticmethod
    def same(found, expected):
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert found.tolist() == expected.tolist()
        assert found.flags.writeable == expected.flags.writeable


def test_registered_functions_outlive_those_of_distributed():
    """It registers its own for pyarrow when the first of pyarrow's objects comes."""
    from distributed.protocol import dask_serialize

    dask_serialize.dispatch(type(pa.fs.FileInfo("x")))
    assert dask_serialize.dispatch(pa.Table) is arrow_frames.dask.dumps


def test_the_program_reads_a_file_that_is_not_compressed(program, tmp_path):
    file = tmp_path / "spilled"
    file.write_bytes(joined(mixed(), compression=False))
    done = program("inspect", "--json", str(file))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    header, _ = serialize(mixed())
    assert document["spill"]["lengths"] == header["sub-header"]["lengths"]
    assert done.stdout.count('"first"') > 0
