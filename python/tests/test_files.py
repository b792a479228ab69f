"""Streams go through files, sockets and whatever reads or writes, in one piece or not at all."""

import ctypes
import errno
import io
import os
import resource
import socket
import stat
import threading
from contextlib import contextmanager

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _io
from same import assert_same


def sample(rows: int = 1_000) -> pd.DataFrame:
    """Columns that travel in several ways."""
    times = pd.date_range("2020", periods=rows, freq=pd.Timedelta("40min"), tz="UTC")
    columns = {"a": np.arange(rows), "t": times, "s": np.resize(np.array(["x", None]), rows)}
    return pd.DataFrame(columns | {"b": np.arange(rows) % 2 == 0})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "frame.arrows"


class TestNamedFiles:
    @pytest.mark.parametrize("name", [str, lambda path: path], ids=["str", "Path"])
    def test_what_is_dumped_is_loaded(self, path, name):
        size = af.dump(sample(), name(path))
        assert size == path.stat().st_size == len(af.dumps(sample()))
        for read in (af.load, af.memory_map):
            assert_same(sample(), read(name(path)))

    def test_a_name_in_this_folder_is_enough(self, path, monkeypatch):
        monkeypatch.chdir(path.parent)
        af.dump(sample(), path.name)
        assert_same(sample(), af.load(path.name))

    def test_it_is_a_stream_of_arrow(self, path):
        af.dump(sample(), path, target="arrow")
        table = pa.ipc.open_stream(str(path)).read_all()
        assert table["a"].to_pylist() == list(range(1_000))
        assert table["s"].to_pylist() == ["x", None] * 500

    def test_a_file_of_arrow_is_read_too(self, path):
        table = pa.table({"a": [1, None], "s": ["x", "y"]})
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
        assert af.loads(path.read_bytes()).equals(table)
        assert af.memory_map(path).equals(table)

    def test_another_takes_the_place_of_what_was_there(self, path):
        path.write_bytes(b"old" * 100_000)
        af.dump(sample(), path)
        assert_same(sample(), af.load(path))
        assert os.listdir(path.parent) == [path.name]

    def test_it_may_be_read_by_whom_other_new_files_may(self, path):
        (path.parent / "other").write_bytes(b"")
        af.dump(sample(), path)
        modes = [stat.S_IMODE(file.stat().st_mode) for file in (path, path.parent / "other")]
        assert modes[0] == modes[1]

    def test_what_was_mapped_stays_when_another_takes_its_name(self, path):
        af.dump(sample(), path)
        mapped = af.memory_map(path)
        af.dump(sample(10), path)
        assert_same(sample(), mapped)
        assert_same(sample(10), af.memory_map(path))


class TestFailures:
    def test_what_cannot_be_encoded_leaves_nothing(self, path):
        for obj in (threading.Lock(), pd.DataFrame({"lock": [threading.Lock()]})):
            with pytest.raises(TypeError, match="pickle"):
                af.dump(obj, path)
        assert os.listdir(path.parent) == []

    def test_a_folder_that_is_not_there_is_named(self, path):
        with pytest.raises(FileNotFoundError, match="missing"):
            af.dump(sample(), path.parent / "missing" / "file")

    def test_a_write_that_fails_leaves_nothing(self, path):
        with files_of_at_most(5_000), pytest.raises(OSError) as raised:
            af.dump(sample(), path)
        assert raised.value.errno == errno.EFBIG
        assert os.listdir(path.parent) == []

    def test_a_write_that_fails_leaves_what_was_there(self, path):
        af.dump(sample(10), path)
        with files_of_at_most(5_000), pytest.raises(OSError):
            af.dump(sample(), path)
        assert_same(sample(10), af.load(path))
        assert os.listdir(path.parent) == [path.name]

    @pytest.mark.parametrize("buffering", [0, -1])
    def test_a_full_device_is_an_error(self, buffering):
        with pytest.raises(OSError) as raised, open("/dev/full", "wb", buffering=buffering) as full:
            af.dump(sample(), full)
        assert raised.value.errno == errno.ENOSPC

    @pytest.mark.parametrize("kept", [0, 1, 100, 5_000, -1])
    def test_a_file_that_is_cut_is_refused(self, path, kept):
        path.write_bytes(af.dumps(sample())[:kept])
        for read in (af.load, af.memory_map):
            with pytest.raises(af.DecodeError):
                read(path)

    def test_a_file_that_is_not_there_is_named(self, path):
        for read in (af.load, af.memory_map):
            with pytest.raises(FileNotFoundError, match=path.name):
                read(path)

    def test_what_was_opened_is_closed(self, path):
        """Whether it goes well or not."""
        af.dump(sample(), path)
        before = os.listdir("/proc/self/fd")
        af.load(path)
        path.write_bytes(b"junk")
        for read in (af.load, af.memory_map):
            with pytest.raises(af.DecodeError):
                read(path)
        with files_of_at_most(5_000), pytest.raises(OSError):
            af.dump(sample(), path)
        assert os.listdir("/proc/self/fd") == before


@contextmanager
def files_of_at_most(size: int):
    """Has the system refuse to write beyond so many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Slow(io.RawIOBase):
    """A raw file that takes and gives no more than a few bytes at a time."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.place = 0

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def write(self, data) -> int:
        with memoryview(data) as view:
            taken = bytes(view.cast("B")[:777])
        self.bytes += taken
        return len(taken)

    def readinto(self, view) -> int:
        found = self.bytes[self.place : self.place + min(len(view), 777)]
        view[: len(found)] = found
        self.place += len(found)
        return len(found)


class Reads:
    """What has `read`, and nothing else."""

    def __init__(self, stream: bytes, most: int = 10**9) -> None:
        self.stream = io.BytesIO(stream)
        self.most = most

    def read(self, size: int) -> bytes:
        return self.stream.read(min(size, self.most))


class TestOpenFiles:
    @pytest.mark.parametrize("buffering", [0, -1, 100])
    def test_what_is_written_is_read(self, path, buffering):
        with open(path, "wb", buffering=buffering) as file:
            assert af.dump(sample(), file) == len(af.dumps(sample()))
        with open(path, "rb", buffering=buffering) as file:
            assert_same(sample(), af.load(file))

    def test_what_was_written_before_stays(self, path):
        with open(path, "w+b") as file:
            file.write(b"before")
            af.dump(sample(), file)
            file.write(b"after")
            file.seek(0)
            assert file.read(6) == b"before"
            assert_same(sample(), af.load(file))
            assert file.read() == b"after"

    def test_several_streams_lie_one_behind_the_other(self):
        memory = io.BytesIO()
        for rows in (10, 0, 4):
            af.dump(sample(rows), memory)
        memory.seek(0)
        for rows in (10, 0, 4):
            assert_same(sample(rows), af.load(memory))
        with pytest.raises(af.DecodeError):
            af.load(memory)

    def test_writes_and_reads_may_be_short(self):
        slow = Slow()
        assert af.dump(sample(), slow) == len(af.dumps(sample()))
        assert bytes(slow.bytes) == af.dumps(sample())
        assert_same(sample(), af.load(slow))

    @pytest.mark.parametrize("most", [1, 777, 10**9])
    def test_read_is_enough(self, most):
        assert_same(sample(10), af.load(Reads(af.dumps(sample(10)), most)))

    def test_a_pipe_takes_what_it_has_room_for(self):
        source, sink = os.pipe()
        with open(source, "rb", buffering=0) as reader, open(sink, "wb", buffering=0) as writer:
            sender = threading.Thread(target=af.dump, args=(sample(50_000), writer))
            sender.start()
            assert_same(sample(50_000), af.load(reader))
            sender.join()

    def test_more_slices_than_one_system_call_takes(self, path):
        frame = pd.DataFrame({f"c{n}": pd.Series([n], dtype=("i8", "i4", "f8")[n % 3]) for n in range(3_000)})
        af.dump(frame, path)
        assert_same(frame, af.load(path))


class TestOddFiles:
    def test_what_neither_reads_nor_writes_is_refused(self):
        with pytest.raises(TypeError, match="object has no readinto, recv_into or read"):
            af.load(object())
        with pytest.raises((TypeError, AttributeError), match="write"):
            af.dump(sample(), object())

    def test_a_file_of_text_is_refused(self, path):
        with pytest.raises(TypeError):
            af.dump(sample(), io.StringIO())
        with pytest.raises(TypeError):
            af.load(io.StringIO("text"))

    def test_a_reader_that_keeps_the_memory_is_refused(self):
        kept = []

        class Keeps:
            def readinto(self, view):
                kept.append(memoryview(view))
                return 0

        with pytest.raises(BufferError, match="kept"):
            af.load(Keeps())

    def test_a_reader_that_gives_more_than_it_was_asked_for_is_refused(self):
        class Generous:
            def read(self, size):
                return bytes(size + 1)

        class Boastful:
            def readinto(self, view):
                return len(view) + 1

        for reader in (Generous(), Boastful()):
            with pytest.raises(BufferError, match="more than"):
                af.load(reader)

    def test_a_reader_that_does_not_block_is_refused(self):
        class Waits:
            def readinto(self, view):
                return None

        with pytest.raises(BlockingIOError, match="block"):
            af.load(Waits())

    @pytest.mark.parametrize("error", [TimeoutError("no answer"), KeyboardInterrupt(), ZeroDivisionError()])
    def test_what_a_reader_or_a_writer_raises_comes_through(self, error):
        class Fails:
            def readinto(self, view):
                raise error

            def write(self, data):
                raise error

        with pytest.raises(type(error)):
            af.load(Fails())
        with pytest.raises(type(error)):
            af.dump(sample(), Fails())


@contextmanager
def over_tcp():
    """Two ends of a real connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        left = socket.create_connection(server.getsockname())
        right, _ = server.accept()
    with left, right:
        yield left, right


@contextmanager
def in_pair():
    left, right = socket.socketpair()
    with left, right:
        yield left, right


@pytest.fixture(params=[over_tcp, in_pair], ids=["TCP", "a socket pair"])
def ends(request):
    with request.param() as ends:
        yield ends


class TestSockets:
    @pytest.mark.parametrize("timeout", [None, 60])
    def test_several_streams_go_through_one(self, ends, timeout):
        left, right = ends
        left.settimeout(timeout)
        right.settimeout(timeout)

        def send():
            for rows in (100_000, 0, 3, 1_000):
                af.dump(sample(rows), left)
            left.close()

        sender = threading.Thread(target=send)
        sender.start()
        for rows in (100_000, 0, 3, 1_000):
            assert_same(sample(rows), af.load(right))
        with pytest.raises(af.DecodeError):
            af.load(right)
        sender.join()

    def test_a_file_of_a_socket_is_one(self, ends):
        left, right = ends
        with left.makefile("wb") as sink, right.makefile("rb") as source:
            sender = threading.Thread(target=lambda: (af.dump(sample(), sink), sink.flush()))
            sender.start()
            assert_same(sample(), af.load(source))
            sender.join()

    def test_a_sender_that_stops_is_an_error(self, ends):
        left, right = ends
        left.sendall(af.dumps(sample())[:-100])
        left.close()
        with pytest.raises(af.DecodeError):
            af.load(right)

    def test_one_that_does_not_block_is_refused_before_anything_is_sent(self, ends):
        """It would be left with a part of the stream, and nobody knows how much."""
        left, right = ends
        left.setblocking(False)
        right.setblocking(False)
        with pytest.raises((ValueError, BlockingIOError)):
            af.dump(sample(500_000), left)
        with pytest.raises(BlockingIOError):
            right.recv(1)
        with pytest.raises((ValueError, BlockingIOError)):
            af.load(right)

    def test_a_timeout_is_raised(self, ends):
        left, right = ends
        left.settimeout(0.01)
        right.settimeout(0.01)
        with pytest.raises(TimeoutError):
            af.load(right)
        with pytest.raises(TimeoutError):
            af.dump(sample(1_000_000), left)


class TestBlobs:
    def test_what_is_packed_is_unpacked(self):
        assert_same(sample(), af.unpack(af.pack(sample())))
        assert_same(sample()[["s"]], af.unpack(bytearray(af.pack(sample())), columns=["s"]))
        assert isinstance(af.unpack(af.pack(sample(), target="arrow"), into="pyarrow"), pa.Table)

    def test_a_blob_that_is_cut_is_refused(self):
        blob = af.pack(sample(4))
        for length in range(len(blob)):
            with pytest.raises(af.DecodeError):
                af.unpack(blob[:length])

    def test_it_shares_the_memory_of_the_blob(self):
        blob = bytearray(af.pack(sample()))
        found = af.unpack(blob)
        assert np.shares_memory(found["b"].to_numpy(), np.frombuffer(blob, "u1"))


class TestCompression:
    @pytest.mark.parametrize("codec", ["lz4", "zstd"])
    def test_it_comes_back_and_is_smaller(self, codec, path, exchanged):
        frame = sample(10_000).assign(o=pd.Series(["text", 1] * 5_000, dtype=object))
        plain = len(af.dumps(frame))
        assert_same(frame, exchanged(frame, compression=codec))
        assert af.dump(frame, path, compression=codec) < plain
        for read in (af.load, af.memory_map):
            assert_same(frame, read(path))

    @pytest.mark.parametrize("codec", ["lz4", "zstd"])
    def test_others_read_it(self, codec):
        table = pa.table({"a": [1, None] * 1_000, "s": ["x", "y"] * 1_000})
        assert pa.ipc.open_stream(af.dumps(table, compression=codec)).read_all().equals(table)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(
            sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)
        ) as writer:
            writer.write_table(table)
        assert af.loads(sink.getvalue()).equals(table)

    def test_a_codec_that_there_is_not_is_refused(self):
        with pytest.raises(ValueError, match="gzip"):
            af.dumps(sample(), compression="gzip")


class TestNames:
    def test_a_link_stays_one_and_what_it_leads_to_is_written(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "link").symlink_to(tmp_path / "target")
        af.dump(pa.table({"a": [1]}), tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert af.load(tmp_path / "target").num_rows == 1

    def test_a_file_keeps_who_may_read_it(self, tmp_path):
        (tmp_path / "f").touch(0o600)
        af.dump(pa.table({"a": [1]}), tmp_path / "f")
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_a_file_keeps_its_mode_and_a_new_one_has_what_the_umask_leaves(self, tmp_path, monkeypatch, mask):
        file = tmp_path / "f"
        created, written = [], []

        def create(name, flags, mode):
            descriptor = real_open(name, flags, mode)
            created.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return descriptor

        def write(segments, opened):
            written.append(stat.S_IMODE(os.fstat(opened.fileno()).st_mode))
            return real_write(segments, opened)

        def dump():
            _io.write_named([memoryview(b"some")], str(file))
            return stat.S_IMODE(file.stat().st_mode)

        real_open, real_write = os.open, _io.write
        monkeypatch.setattr(os, "open", create)
        monkeypatch.setattr(_io, "write", write)
        before = os.umask(mask)
        try:
            assert dump() == created.pop() == written.pop() == 0o666 & ~mask
            for kept in [0o600, 0o640, 0o444, 0o666]:
                file.chmod(kept)
                assert dump() == written.pop() == kept
                # Who cannot open it in the end never could.
                assert created.pop() & 0o077 & ~kept == 0
            file.chmod(0o4755)
            assert dump() == 0o755
        finally:
            os.umask(before)
        assert os.listdir(tmp_path) == ["f"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
    def test_a_file_keeps_its_owner_and_group(self, tmp_path):
        file = tmp_path / "f"
        file.touch()
        file.chmod(0o660)
        os.chown(file, 1234, 5678)
        af.dump(pa.table({"a": [1]}), file)
        known = file.stat()
        assert (known.st_uid, known.st_gid, stat.S_IMODE(known.st_mode)) == (1234, 5678, 0o660)

    def test_a_group_that_cannot_be_kept_leaves_the_group_nothing(self, tmp_path, monkeypatch):
        def refused(*_):
            raise PermissionError(errno.EPERM, "not yours to give away")

        file = tmp_path / "f"
        file.touch()
        file.chmod(0o664)
        monkeypatch.setattr(os, "fchown", refused)
        af.dump(pa.table({"a": [1]}), file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o604

    @pytest.mark.parametrize("when", ["open", "write", "replace"])
    def test_an_interrupt_leaves_the_old_file_or_the_new_one(self, tmp_path, monkeypatch, when):
        def interrupted(*arguments, **options):
            if when == "replace":
                replace(*arguments, **options)
            raise KeyboardInterrupt

        replace = os.replace
        (tmp_path / "f").write_bytes(b"old")
        module = _io if when == "write" else os
        monkeypatch.setattr(module, when, interrupted)
        with pytest.raises(KeyboardInterrupt):
            _io.write_named([memoryview(b"new")], str(tmp_path / "f"))
        monkeypatch.undo()
        assert os.listdir(tmp_path) == ["f"]
        assert (tmp_path / "f").read_bytes() == (b"new" if when == "replace" else b"old")

    def test_a_pipe_with_a_name_is_written_to_and_read_from(self, tmp_path):
        os.mkfifo(tmp_path / "p")
        writer = threading.Thread(target=af.dump, args=(pa.table({"a": [1, 2]}), tmp_path / "p"))
        writer.start()
        assert af.load(tmp_path / "p").num_rows == 2
        writer.join()
        assert stat.S_ISFIFO((tmp_path / "p").stat().st_mode)

    @pytest.mark.parametrize("answer", [0, -1, 10**9, "all"])
    def test_a_file_that_lies_about_what_it_wrote_is_an_error(self, answer):
        class Liar:
            def write(self, data):
                return answer

        with pytest.raises(OSError, match="says that it has written"):
            af.dump(pa.table({"a": [1]}), Liar())


def test_arrays_of_ctypes_are_frames():
    header, _ = af.to_buffers(pa.table({"a": pa.array([1.5, 2.5])}))
    lent = (ctypes.c_double * 2)(1.5, 2.5)
    assert af.from_buffers(header, [lent]).column("a").to_pylist() == [1.5, 2.5]
