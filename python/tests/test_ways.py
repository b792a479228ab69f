"""Files, sockets, packed blobs, kinds of Arrow objects, threads."""

import io
import socket
import threading

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same


def sample() -> pd.DataFrame:
    times = pd.date_range("2020", periods=1_000, tz="UTC")
    return pd.DataFrame({"a": np.arange(1_000), "t": times, "s": ["x", None] * 500, "b": [True, False] * 500})


def test_files_and_blobs(tmp_path):
    frame, path = sample(), tmp_path / "frame.arrows"
    assert af.dump(frame, path) == path.stat().st_size == len(af.dumps(frame))
    for read in (af.load, af.memory_map):
        assert_same(frame, read(path))
    with open(path, "rb") as buffered:
        assert_same(frame, af.load(buffered))
    with open(path, "rb", buffering=0) as raw:
        assert_same(frame, af.load(raw))
    assert af.load(path)._mgr.blocks[0].values.flags.writeable
    memory = io.BytesIO()
    af.dump(frame, memory)
    memory.seek(0)
    assert_same(frame, af.load(memory))
    assert_same(frame, af.unpack(af.pack(frame)))
    assert pa.ipc.open_stream(str(path)).read_all().num_rows == len(frame)


def test_a_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        af.dump(object(), tmp_path / "none")
    with pytest.raises(OSError):
        af.dump(sample(), tmp_path / "missing" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_socket_takes_several_streams_and_short_reads():
    left, right = socket.socketpair()
    frame = sample()

    def send():
        af.dump(frame, left)
        af.dump(frame.iloc[:3], left)
        left.close()

    sender = threading.Thread(target=send)
    sender.start()

    class Drip:
        def readinto(self, view):
            return right.recv_into(view, min(len(view), 777))

    assert_same(frame, af.load(Drip()))
    assert_same(frame.iloc[:3], af.load(right))
    sender.join()
    right.close()


def test_a_reader_that_keeps_the_memory_is_refused():
    kept = []

    class Keeps:
        def readinto(self, view):
            kept.append(memoryview(view))
            return 0

    with pytest.raises(BufferError, match="kept"):
        af.load(Keeps())


def test_what_a_reader_raises_comes_through():
    class Fails:
        def readinto(self, view):
            raise TimeoutError("no answer")

    with pytest.raises(TimeoutError, match="no answer"):
        af.load(Fails())


def test_columns_are_chosen_by_label(tmp_path):
    frame = sample().set_index("a")
    af.dump(frame, tmp_path / "f")
    assert_same(frame[["s"]], af.load(tmp_path / "f", columns=["s"]))
    assert_same(frame[["b", "t"]], af.loads(af.dumps(frame), columns=["b", "t"]))
    with pytest.raises(KeyError, match="'z'"):
        af.loads(af.dumps(frame), columns=["z"])


def test_detached_shares_nothing():
    frame = sample()
    again = af.detach(frame)
    assert_same(frame, again)
    assert not np.shares_memory(frame["a"].to_numpy(), again["a"].to_numpy())


@pytest.mark.parametrize(
    "obj",
    [
        pa.table({"a": pa.chunked_array([[1, None], [3]]), "s": pa.chunked_array([["x", "y"], [None]])}),
        pa.record_batch([pa.array([1, 2]), pa.array([[1], None])], names=["a", "l"]),
        pa.array(["x", None]),
        pa.chunked_array([[1.5], [2.5, None]]),
        pa.table({"d": pa.array(["u", "v", "u"]).dictionary_encode()}).replace_schema_metadata({"k": "v"}),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_arrow_objects_come_back_as_they_went(obj, exchanged):
    found = exchanged(obj)
    assert type(found) is type(obj) and found.equals(obj)
    if isinstance(obj, pa.Table):
        assert found.schema.equals(obj.schema, check_metadata=True)


def test_a_reader_of_batches_comes_back(exchanged):
    table = pa.table({"a": [1, 2]})
    assert exchanged(table.to_reader()).read_all().equals(table)


def test_objects_come_back_into_what_is_asked_for():
    frame = sample()
    table = af.loads(af.dumps(frame), into="pyarrow")
    assert isinstance(table, pa.Table) and table.column("a").to_pylist() == list(range(1_000))
    again = af.loads(af.dumps(pa.Table.from_pandas(frame)), into="pandas")
    assert again["a"].tolist() == frame["a"].tolist() and again["s"].isna().sum() == 500
    with pytest.raises(ValueError, match="into"):
        af.loads(af.dumps(frame), into="numpy")


def test_eight_threads_at_once():
    failures = []

    def work(seed: int) -> None:
        try:
            frame = sample().assign(n=seed, r=np.random.default_rng(seed).random(1_000))
            for _ in range(20):
                assert_same(frame, af.loads(af.dumps(frame)))
                assert_same(frame, af.from_buffers(*af.to_buffers(frame)))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
