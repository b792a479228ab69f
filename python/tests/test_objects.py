"""Any object comes back: what is in it and is an array or a dataframe travels as frames."""

import array as typed
import collections
import concurrent.futures
import ctypes
import dataclasses
import datetime
import decimal
import gc
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
import weakref

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import in_frames
from same import assert_same


@dataclasses.dataclass
class Model:
    """Something of the user's."""

    weights: np.ndarray
    table: pd.DataFrame
    name: str = "m"


PLAIN = {
    "nothing": None,
    "an int": 2**200,
    "text": "\ud800 and more",
    "a set of text": {"a", "b"},
    "nested": [1, (2.5, b"x"), {"k": {None, True}}],
    "a counter": collections.Counter("hello"),
    "a date": datetime.date(2020, 1, 2),
    "a decimal": decimal.Decimal("1.20"),
    "a range": range(5),
    "a slice": slice(1, None, 2),
    "an exception": ValueError("x", 1).args,
    "a bytearray": bytearray(b"abc"),
    "a type": dict,
    "a function": len,
    "numpy's scalar": np.float32(1.5),
    "numpy's dtype": np.dtype("M8[ns]"),
    "a timestamp": pd.Timestamp("2020", tz="Europe/Paris"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_objects_come_back(name, exchanged):
    found = exchanged(PLAIN[name], allow_pickle=True)
    assert type(found) is type(PLAIN[name]) and found == PLAIN[name]


def test_an_object_needs_trust(exchanged):
    for obj in ([1, 2], {"a": np.arange(9)}, len):
        with pytest.raises(af.UntrustedPickleError, match="the object.*allow_pickle=True"):
            exchanged(obj)


def big(dtype="f8") -> np.ndarray:
    return np.arange(5_000).astype(dtype)


def test_arrays_and_dataframes_inside_are_the_same_memory():
    frame = pd.DataFrame(
        {"a": big(), "when": big("M8[ns]"), "c": pd.Categorical.from_codes(big("i2") % 3, list("xyz"))}
    )
    obj = {
        "model": Model(big(), frame),
        "s": frame["a"],
        "t": pa.table({"x": pa.array(big())}),
        "m8": big("m8[s]"),
    }
    found = in_frames(obj, allow_pickle=True)
    assert np.shares_memory(found["model"].weights, obj["model"].weights)
    assert np.shares_memory(found["m8"], obj["m8"])
    for name in ("a", "when"):
        assert np.shares_memory(found["model"].table[name].to_numpy(), frame[name].to_numpy())
    assert np.shares_memory(found["model"].table["c"].array.codes, frame["c"].array.codes)
    assert (
        found["t"].column("x").chunk(0).buffers()[1].address
        == obj["t"].column("x").chunk(0).buffers()[1].address
    )
    assert_same(frame, found["model"].table)
    assert found["t"].equals(obj["t"])
    assert [reason for _, reason, size in af.copies(obj) if size > 2_000] == []


def test_three_dataframes_two_arrays_and_a_closure_come_back(exchanged):
    factor = big()
    frames = {number: pd.DataFrame({"a": big() + number, "b": list("ab") * 2_500}) for number in range(3)}
    obj = {"frames": frames, "arrays": (big(), big("i4")), "twice": [factor, factor]}
    found = exchanged(obj, allow_pickle=True)
    for number, frame in frames.items():
        assert_same(frame, found["frames"][number])
    assert np.array_equal(found["arrays"][1], obj["arrays"][1])
    assert found["twice"][0] is found["twice"][1]


def test_a_closure_comes_back_where_cloudpickle_is():
    pytest.importorskip("cloudpickle")
    factor = big()
    found = in_frames({"f": lambda x: factor * x, "factor": factor}, allow_pickle=True)
    assert np.array_equal(found["f"](2), factor * 2)
    assert found["f"].__closure__[0].cell_contents is found["factor"]
    assert np.shares_memory(found["factor"], factor)


def test_an_array_that_is_there_twice_arrives_once():
    array, frame = big(), pd.DataFrame({"a": big()})
    _, frames = af.to_buffers([array, array, frame, {"f": frame}])
    assert sum(memory.nbytes for memory in frames) < array.nbytes + 8 * 5_000 + 4_000
    found = in_frames([array, array, frame, {"f": frame}], allow_pickle=True)
    assert found[0] is found[1] and found[2] is found[3]["f"]


def test_what_contains_itself_comes_back(exchanged):
    obj = [big()]
    obj.append({"self": obj})
    found = exchanged(obj, allow_pickle=True)
    assert found[1]["self"] is found and np.array_equal(found[0], obj[0])
    objects = np.empty(2, object)
    objects[0], objects[1] = objects, big()
    again = exchanged(objects, allow_pickle=True)
    assert again[0] is again


def test_arrays_of_every_layout_inside_come_back(exchanged):
    from test_numpy import STRUCTURED, filled, layouts

    for dtype in ("<f8", ">i4", "<M8[ns]", "?", "c16", STRUCTURED["nested"]):
        obj = {
            name: np.tile(array, (9, *[1] * (array.ndim - 1))) if array.ndim else array
            for name, array in layouts(dtype).items()
        }
        obj |= {f"as it is: {name}": array for name, array in layouts(dtype).items()}
        obj["large, F"] = np.asfortranarray(filled(dtype, (60, 50)))
        found = exchanged(obj, allow_pickle=True)
        for name, array in obj.items():
            assert found[name].dtype == array.dtype and found[name].shape == array.shape, name
            assert dtype == STRUCTURED["nested"] or found[name].tobytes() == array.tobytes(), name
            assert repr(found[name][-2:].tolist()) == repr(array[-2:].tolist()) if array.ndim else True, name
            assert found[name].flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc, name


def test_arrays_are_as_writable_as_they_were():
    readonly = big()
    readonly.flags.writeable = False
    found = in_frames([big(), readonly], allow_pickle=True)
    assert found[0].flags.writeable and not found[1].flags.writeable
    assert not any(array.flags.writeable for array in in_frames([big()], allow_pickle=True, writable=False))


def test_subclasses_of_dataframes_keep_their_class(exchanged):
    frame = Tagged({"a": big()})
    frame.tag = "t"
    found = exchanged([frame], allow_pickle=True)[0]
    assert type(found) is Tagged and found.tag == "t" and found.equals(frame)
    assert type(exchanged(frame, allow_pickle=True)) is Tagged


class Tagged(pd.DataFrame):
    """A dataframe with a tag."""

    _metadata = ["tag"]  # noqa: RUF012 - as pandas has it

    @property
    def _constructor(self):
        return Tagged


def test_frames_keep_what_they_are_of_alive_and_no_longer():
    array = big().view(Followed)
    gone = weakref.ref(array)
    header, frames = af.to_buffers({"array": np.asarray(array)})
    del array
    gc.collect()
    found = af.from_buffers(header, frames, allow_pickle=True)
    assert found["array"][7] == 7
    del frames, found
    gc.collect()
    assert gone() is None


class Followed(np.ndarray):
    """An array that can be waited for."""


def test_what_cannot_be_pickled_is_an_error_of_python_s_own():
    with pytest.raises((TypeError, AttributeError)):
        af.to_buffers(letter for letter in "abc")


def test_a_class_of_main_is_loaded_where_main_is_another(tmp_path):
    pytest.importorskip("cloudpickle")
    script = textwrap.dedent(
        """
        import sys, arrow_frames as af, numpy as np, pandas as pd
        class Point:
            def __init__(self, x): self.x = x
            def twice(self): return self.x * 2
        frame = pd.DataFrame({"p": [Point(1), Point(2)]})
        af.dump({"p": Point(np.arange(2000)), "f": lambda p: p.twice(), "frame": frame}, sys.argv[1])
        """
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "o")], check=True)
    found = af.load(tmp_path / "o", allow_pickle=True)
    assert np.array_equal(found["f"](found["p"]), np.arange(2000) * 2)
    assert [point.x for point in found["frame"]["p"]] == [1, 2]


def test_files_and_sockets_hold_objects_too(tmp_path):
    obj = {"a": big(), "frame": pd.DataFrame({"a": big()})}
    size = af.dump(obj, tmp_path / "o")
    assert size == (tmp_path / "o").stat().st_size
    found = af.load(tmp_path / "o", allow_pickle=True)
    assert np.array_equal(found["a"], obj["a"]) and found["a"].flags.writeable
    assert_same(obj["frame"], found["frame"])
    assert found["a"].__array_interface__["data"][0] % 64 == 0


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_objects_can_be_compressed(compression):
    obj = {"a": big() // 100, "frame": pd.DataFrame({"a": big()})}
    header, frames = af.to_buffers(obj, compression=compression)
    assert sum(frame.nbytes for frame in frames) < 1.5 * obj["a"].nbytes
    assert np.array_equal(af.from_buffers(header, frames, allow_pickle=True)["a"], obj["a"])


def test_an_object_that_was_lost_on_the_way_is_missed():
    stream = pa.ipc.open_stream(af.dumps([1]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    with pytest.raises(af.DecodeError, match="lost"):
        af.loads(sink.getvalue(), allow_pickle=True)


class OwnsBuffer:
    """A class that leaves its memory to whoever pickles it, as PEP 574 says."""

    def __init__(self, memory):
        self.memory = memory

    def __reduce_ex__(self, protocol):
        assert protocol >= 5
        return OwnsBuffer, (pickle.PickleBuffer(self.memory),)


@pytest.mark.parametrize(
    "memory",
    [
        b"abc",
        bytearray(b"abc"),
        typed.array("d", [1.5, 2.5]),
        (ctypes.c_uint16 * 3)(1, 2, 3),
        b"",
        bytearray(9_000),
    ],
    ids=lambda memory: type(memory).__name__,
)
def test_buffers_of_pep_574_are_frames_as_they_are(memory):
    header, frames = af.to_buffers([OwnsBuffer(memory), OwnsBuffer(memory)])
    lent = memoryview(memory).cast("B") if len(memoryview(memory).shape) == 1 else memoryview(memory)
    if lent.nbytes:
        addresses = [np.frombuffer(frame, "u1").ctypes.data for frame in frames[1:]]
        assert addresses == [np.frombuffer(memory, "u1").ctypes.data] * 2
    found = af.from_buffers(header, frames, allow_pickle=True)
    assert [bytes(one.memory) for one in found] == [bytes(lent)] * 2
    if lent.nbytes:
        assert all(memoryview(one.memory).readonly == lent.readonly for one in found)
    again = af.loads(af.dumps([OwnsBuffer(memory)]), allow_pickle=True)
    assert bytes(again[0].memory) == bytes(lent)


def test_a_buffer_with_gaps_is_an_error_of_python_s_own():
    with pytest.raises((BufferError, pickle.PicklingError), match="non-contiguous"):
        af.to_buffers([OwnsBuffer(memoryview(bytearray(10))[::2])])


def test_a_buffer_that_is_missing_or_cut_is_refused():
    header, frames = af.to_buffers({"a": big(), "b": big()})
    for some in (frames[:-1], frames[:1], [*frames, b"more"], [frames[0], frames[1][:-8], frames[2]]):
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, some, allow_pickle=True)


def test_eight_threads_at_once_have_objects_of_their_own():
    def work(number: int) -> bool:
        obj = {
            "a": big() + number,
            "frame": pd.DataFrame({"a": big() * number}),
            "m": np.ma.masked_equal(big(), number),
        }
        for _ in range(20):
            found = in_frames(obj, allow_pickle=True)
            if not (np.array_equal(found["a"], obj["a"]) and found["frame"].equals(obj["frame"])):
                return False
            if not (
                np.array_equal(found["m"].mask, obj["m"].mask) and np.shares_memory(found["a"], obj["a"])
            ):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_objects_with_many_arrays_leave_no_memory_behind():
    obj = {number: np.full(300, number) for number in range(200)}
    for _ in range(3):
        in_frames(obj, allow_pickle=True)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    for _ in range(100):
        in_frames(obj, allow_pickle=True)
    gc.collect()
    grown = sum(entry.size_diff for entry in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    assert grown < 100_000
