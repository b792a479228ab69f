"""Nothing that Python hands to the extension makes it panic: all are exceptions that `except Exception` catches, and
what says that somebody wants to stop is raised as it is."""

import ctypes
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _native

HAS_CAPSULES = hasattr(pa.Table, "__arrow_c_stream__")

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

#: An Arrow structure of zeros: one that was released.
RELEASED = ctypes.create_string_buffer(256)

NAMES = {"schema": b"arrow_schema", "array": b"arrow_array", "stream": b"arrow_array_stream"}


def capsule(name: bytes | None):
    return new_capsule(ctypes.addressof(RELEASED), name, None)


class Lender:
    """An object of nobody's with Arrow's capsules, which may be the same ones each time."""

    def __init__(self, stream=None, array=None) -> None:
        self.stream, self.array = stream, array

    def __arrow_c_stream__(self, requested_schema=None):
        return self.stream() if callable(self.stream) else self.stream

    def __arrow_c_array__(self, requested_schema=None):
        return self.array() if callable(self.array) else self.array


def encode_stream(lender):
    return _native.encode_stream(lender, [], target="arrow")


def add_array(lender) -> None:
    _native.Columns(["a"], 2).arrow(0, lender)


def stream() -> "_native.Stream":
    return _native.decode_stream(af.dumps(pa.table({"a": [1, None]}))).stream()


class TestCapsules:
    def test_a_stream_is_taken_once(self):
        lender = Lender(stream=stream().__arrow_c_stream__())
        encode_stream(lender)
        for _ in range(2):
            with pytest.raises(af.EncodeError, match="taken out of its capsule before"):
                encode_stream(lender)

    def test_an_array_is_taken_once(self):
        array = _native.decode_stream(af.dumps(pa.table({"a": [1, None]}))).array(0, 0)
        lender = Lender(array=array.__arrow_c_array__())
        add_array(lender)
        for _ in range(2):
            with pytest.raises(af.EncodeError, match="taken out of its capsule before"):
                add_array(lender)

    def test_what_was_released_is_refused(self):
        with pytest.raises(af.EncodeError, match="released"):
            encode_stream(Lender(stream=capsule(NAMES["stream"])))
        with pytest.raises(af.EncodeError, match="released"):
            add_array(Lender(array=(capsule(NAMES["schema"]), capsule(NAMES["array"]))))

    @pytest.mark.parametrize("name", [None, b"", b"other", b"arrow_array", b"arrow_schema", b"dltensor"])
    def test_a_capsule_of_another_name_is_refused(self, name):
        with pytest.raises(ValueError):
            encode_stream(Lender(stream=capsule(name)))
        for pair in ((capsule(name), capsule(name)), (capsule(NAMES["array"]), capsule(NAMES["schema"]))):
            with pytest.raises(ValueError):
                add_array(Lender(array=pair))

    @pytest.mark.parametrize("given", [None, 1, (), (None, None), "capsule", [1, 2, 3]], ids=repr)
    def test_what_is_no_capsule_is_refused(self, given):
        with pytest.raises(TypeError):
            encode_stream(Lender(stream=given))
        with pytest.raises((TypeError, ValueError)):
            add_array(Lender(array=given))

    @pytest.mark.skipif(not HAS_CAPSULES, reason="this pyarrow has no capsules")
    def test_a_stream_of_what_is_no_columns_is_refused(self):
        with pytest.raises(af.EncodeError, match="Int64"):
            encode_stream(Lender(stream=lambda: pa.chunked_array([[1, 2]]).__arrow_c_stream__()))

    @pytest.mark.skipif(not HAS_CAPSULES, reason="this pyarrow has no capsules")
    def test_rows_that_are_missing_as_a_whole_are_refused(self):
        """A dataframe cannot say so: their columns would come back as if they were there."""
        rows = pa.chunked_array([pa.array([{"a": 1}, None, {"a": 3}])])
        with pytest.raises(af.EncodeError, match="batch 0 has 1 rows that are missing"):
            encode_stream(Lender(stream=rows.__arrow_c_stream__))
        whole = pa.chunked_array([pa.array([{"a": 1}, {"a": None}])])
        header, frames, _ = encode_stream(Lender(stream=whole.__arrow_c_stream__))
        assert af.from_buffers(header, frames).to_pylist() == [{"a": 1}, {"a": None}]

    def test_what_a_lender_raises_is_raised(self):
        def stop():
            raise KeyboardInterrupt("now")

        for function, lender in ((encode_stream, Lender(stream=stop)), (add_array, Lender(array=stop))):
            with pytest.raises(KeyboardInterrupt, match="now"):
                function(lender)


class TestColumns:
    @pytest.mark.parametrize(
        ("values", "mask", "what"),
        [
            (np.arange(3), np.zeros(2, "?"), "2 bytes of mask, not 3"),
            (np.arange(3), np.zeros(4, "?"), "4 bytes of mask, not 3"),
            (np.arange(3), np.zeros(0, "?"), "0 bytes of mask, not 3"),
            (np.arange(3), np.zeros(3, "i8"), "24 bytes of mask, not 3"),
            (np.arange(2), np.zeros(3, "?"), "16 bytes of values, not 24"),
            (np.arange(4), np.zeros(3, "?"), "32 bytes of values, not 24"),
            (np.arange(3, dtype="i4"), np.zeros(3, "?"), "12 bytes of values, not 24"),
            (np.empty(0), np.zeros(3, "?"), "0 bytes of values, not 24"),
        ],
    )
    def test_values_and_masks_of_other_lengths_are_refused(self, values, mask, what):
        with pytest.raises(af.EncodeError, match=what):
            _native.Columns(["a"], 3).masked(0, "l", values, mask)
        booleans = np.zeros(values.nbytes // 8 + 5, "?")
        with pytest.raises(af.EncodeError):
            _native.Columns(["a"], 3).masked(0, "b", booleans, mask)
        with pytest.raises(af.EncodeError):
            _native.Columns(["a"], 3).boolean(0, booleans)

    @pytest.mark.parametrize("rows", [1, 2, 2**31, 2**62, 2**63, 2**64 - 1])
    def test_a_block_of_other_rows_is_refused(self, rows):
        for array in (np.zeros((2, 3)), np.zeros((1, 3)), np.zeros((2, 0))[:, :0], np.zeros((0, 3))):
            columns = _native.Columns(["a", "b"], rows)
            with pytest.raises(ValueError):
                columns.block([0, 1], "g", array)
                columns.encode([])

    @pytest.mark.parametrize("places", [[], [0], [0, 1, 2], [2, 3], [2**63, 2**64 - 1]], ids=str)
    def test_places_that_are_not_there_are_refused(self, places):
        with pytest.raises(ValueError):
            _native.Columns(["a", "b"], 3).block(places, "g", np.zeros((2, 3)))

    def test_columns_are_encoded_once_and_whole(self):
        columns = _native.Columns(["a", "b"], 3)
        columns.boolean(1, np.zeros(3, "?"))
        for _ in range(2):
            with pytest.raises(ValueError, match="column 0 was not given"):
                columns.encode([])
        columns.boolean(0, np.zeros(3, "?"))
        header, frames, _ = columns.encode([])
        assert af.from_buffers(header, frames, into="pyarrow").num_columns == 2
        with pytest.raises(ValueError, match="encoded before"):
            columns.encode([])
        with pytest.raises(ValueError, match="no column 0"):
            columns.boolean(0, np.zeros(3, "?"))

    def test_an_array_that_calls_back_is_told_that_the_columns_are_in_use(self):
        columns = _native.Columns(["a"], 2)

        def again():
            columns.boolean(0, np.zeros(2, "?"))

        with pytest.raises(RuntimeError, match="borrowed"):
            columns.arrow(0, Lender(array=again))


class TestPickles:
    def test_levels_are_counted_whatever_they_are_of(self):
        call = _native.Call("m", "n")
        held: list = []
        objects = _native.Objects(held)
        held.append(objects)
        for _ in range(100_000):
            call = _native.Call("m", "n", call)
        for nested in (call, objects):
            with pytest.raises(TypeError, match="too many levels"):
                _native.pickle(nested)

    def test_a_dict_that_changes_meanwhile_is_carried_or_refused(self):
        held = {"a": 1}

        def grow(_) -> str:
            for number in range(100):
                held[f"more {len(held)} {number}"] = number
            return "1"

        held["b"] = type("Decimal", (), {"__module__": "decimal", "__str__": grow})()
        held["c"] = 2
        assert _native.pickle(held)

    def test_a_list_that_changes_meanwhile_is_carried_or_refused(self):
        held: list = [1]

        def shrink(_) -> str:
            held.clear()
            return "1"

        held += [type("Decimal", (), {"__module__": "decimal", "__str__": shrink})(), 2, 3]
        assert _native.pickle(held)


STREAM = af.dumps(pd.DataFrame({"a": np.arange(10_000), "b": ["x", "y"] * 5_000}))


class Reader:
    """A reader that does something else once it was asked so often."""

    def __init__(self, otherwise, *, after: int = 0, keeps: bool = False) -> None:
        self.file = io.BytesIO(STREAM)
        self.otherwise, self.after, self.keeps = otherwise, after, keeps

    def readinto(self, view) -> int:
        if self.after == 0:
            part = view[1:] if self.keeps else None
            done = self.otherwise()
            del part
            return done
        self.after -= 1
        return self.file.readinto(view[:1000])


class OneByOne(Reader):
    """The same with `read`."""

    readinto = property()

    def read(self, size: int) -> bytes:
        if self.after == 0:
            return self.otherwise()
        self.after -= 1
        return self.file.read(min(size, 1000))


class Halt(BaseException):
    """What is no Exception."""


class TestReaders:
    @pytest.mark.parametrize("kind", [Reader, OneByOne])
    @pytest.mark.parametrize("keeps", [False, True])
    @pytest.mark.parametrize("after", [0, 1, 3, 50])
    @pytest.mark.parametrize(
        "error", [KeyboardInterrupt, SystemExit, GeneratorExit, Halt, ZeroDivisionError, InterruptedError]
    )
    def test_what_it_raises_is_raised_once_and_as_it_is(self, error, after, keeps, kind):
        raised = error("stop")
        calls = []

        def otherwise():
            calls.append(1)
            raise raised

        with pytest.raises(error) as caught:
            af.load(kind(otherwise, after=after, keeps=keeps))
        assert caught.value is raised and calls == [1]

    @pytest.mark.parametrize("name", ["readinto", "recv_into", "read"])
    def test_so_is_what_looking_for_its_method_raises(self, name):
        def stop(_):
            raise KeyboardInterrupt("now")

        with pytest.raises(KeyboardInterrupt, match="now"):
            af.load(type("Reader", (), {name: property(stop)})())

    @pytest.mark.parametrize(
        "answer", [-1, 2**70, "x", None, 1.5, b"", b"x" * 2000, object()], ids=lambda a: repr(a)[:9]
    )
    @pytest.mark.parametrize("kind", [Reader, OneByOne])
    def test_answers_that_make_no_sense_are_errors(self, kind, answer):
        with pytest.raises((ValueError, TypeError, OSError, BufferError, OverflowError)):
            af.load(kind(lambda: answer, after=2))

    def test_memory_that_a_reader_keeps_stays_there(self):
        """It leaks, and is neither used again nor freed."""
        kept = []
        reader = Reader(lambda: 0)
        reader.readinto = lambda view: kept.append(view[:]) or io.BytesIO(STREAM).readinto(view)
        with pytest.raises(BufferError, match="kept the memory"):
            af.load(reader)
        kept[0][:] = bytes(len(kept[0]))

    def test_a_reader_that_loads_is_a_reader(self):
        inner = []

        def otherwise():
            inner.append(af.loads(STREAM).shape)
            nested = Reader(lambda: reader.file.readinto(bytearray(0)), after=10**6)
            inner.append(af.load(nested).shape)
            reader.after = 10**6
            return reader.file.readinto(bytearray(0)) or 0

        reader = Reader(otherwise, after=2)
        with pytest.raises(af.DecodeError):
            # It has said that the stream ends.
            af.load(reader)
        assert inner == [(10_000, 2)] * 2

    def test_a_reader_that_reads_from_itself_gets_what_is_left(self):
        def otherwise():
            reader.after = 10**6
            with pytest.raises(af.ArrowFramesError):
                af.load(reader)
            return 0

        reader = Reader(otherwise, after=2)
        with pytest.raises(af.DecodeError):
            af.load(reader)

    def test_a_signal_is_noticed_between_reads(self):
        """The method that reads here is not written in Python, and it is another thread that the signal interrupts."""
        program = """
            import os, select, signal, threading
            import arrow_frames as af

            reads, writes = os.pipe()
            stream = af.dumps([1, 2])

            def feed():
                for at in range(len(stream) - 8):
                    os.write(writes, stream[at : at + 1])
                    if at == 20:
                        while select.select([reads], [], [], 0)[0]:
                            pass
                        signal.raise_signal(signal.SIGINT)

            with open(reads, "rb", buffering=0) as file:
                threading.Thread(target=feed, daemon=True).start()
                try:
                    af.load(file)
                except KeyboardInterrupt:
                    print("interrupted")
        """
        made = subprocess.run(
            [sys.executable, "-P", "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert made.stdout == "interrupted\n", made.stderr

    def test_a_socket_that_waits_is_interrupted(self):
        program = """
            import socket
            import arrow_frames as af

            ours, theirs = socket.socketpair()
            theirs.sendall(af.dumps([1, 2])[:64])
            print("waiting", flush=True)
            af.load(ours)
        """
        made = subprocess.Popen(
            [sys.executable, "-P", "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert made.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        made.send_signal(signal.SIGINT)
        _, errors = made.communicate(timeout=30)
        assert errors.rstrip().endswith("KeyboardInterrupt")


class TestBuffers:
    def test_what_lends_no_memory_is_named(self):
        header, frames = af.to_buffers(pd.DataFrame({"a": [1], "b": [1.5]}))
        with pytest.raises(TypeError, match="frame 1 must be"):
            af.from_buffers(header, [frames[0], 5])
        released = memoryview(bytes(8))
        released.release()
        with pytest.raises(ValueError):
            af.from_buffers(header, [frames[0], released])
        with pytest.raises(BufferError, match="frame 0 is not contiguous"):
            _native.merge([np.arange(8)[::2]])

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="classes of Python lend no memory before 3.12")
    def test_what_lending_raises_is_raised_once(self):
        calls = []

        class Frame:
            def __buffer__(self, flags):
                calls.append(flags)
                raise KeyboardInterrupt("now")

        header, _ = af.to_buffers(pd.DataFrame({"a": [1]}))
        with pytest.raises(KeyboardInterrupt, match="now"):
            af.from_buffers(header, [Frame()])
        assert len(calls) == 1


NUMBERS = [0, 1, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30]


class TestNumbers:
    @pytest.mark.parametrize("number", NUMBERS)
    def test_every_number_is_taken_or_refused(self, number):
        header, frames = af.to_buffers(
            pd.DataFrame({"a": [1.5, 2.5], "m": pd.array([1, None], dtype="Int64")})
        )
        decoded = _native.decode(header, frames)
        calls = [
            lambda: decoded.blocks(number, [0], False),
            lambda: decoded.blocks(0, [number], True),
            lambda: decoded.masked(number, 1),
            lambda: decoded.masked(0, number),
            lambda: decoded.boolean(0, number),
            lambda: decoded.array(number, number),
            lambda: decoded.opaque(0, number),
            lambda: decoded.resolved(0, number),
            lambda: _native.decode(header, frames, [number]),
            lambda: _native.decode_stream(STREAM, [number, number]),
            lambda: _native.Columns(["a"], number).encode([]),
            lambda: _native.Columns([], number).encode([]),
            lambda: _native.Columns(["a"], 2).copied(number, "why", number),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [number]),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [2, number, number]),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [2, 3], [number, 8]),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [2, 3], [24, 8], number),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [number] * 40, [number] * 40, number),
            lambda: _native.encode_tensor(np.arange(6.0), f"w:{number}", [2]),
            lambda: _native.encode_tensor(np.arange(6.0), "g", [6], max_copied_bytes=number),
            lambda: _native.encode_sparse(
                "csr", [number, 2], ("g", np.arange(2.0)), [("l", np.arange(3))], [("l", np.arange(2))]
            ),
            lambda: _native.encode_sparse(
                "coo", [2, 2], ("g", np.arange(2.0)), [], [("l", np.array([0, 1, 1, 0]))], strides=[number, 8]
            ),
            lambda: _native.encode_sparse(
                "csf", [2, 2], ("g", np.arange(2.0)), [], [("l", np.arange(2))] * 2, axis_order=[number, 0]
            ),
            lambda: _native.pickle(number),
        ]
        for call in calls:
            try:
                call()
            except (ValueError, OverflowError, IndexError, TypeError) as error:
                assert "a fault in arrow_frames" not in str(error)


#: Random arguments for whatever the extension has, in a process of its own: nothing may end it.
RANDOM = """
import random, sys, time
import numpy as np
import pandas as pd
import pyarrow as pa
import arrow_frames as af
from arrow_frames import _native

choose = random.Random(int(sys.argv[1]))
frame = pd.DataFrame({"a": np.arange(8.0), "m": pd.array([1, None] * 4, dtype="Int64"), "f": [True, False] * 4})
header, frames = af.to_buffers(frame)
stream = af.dumps(pa.table({"a": [1, None], "l": [[1], None], "s": ["x", "y"]}))
tensor = af.to_buffers(np.arange(6.0).reshape(2, 3).T)

class Odd:
    def readinto(self, view):
        return choose.choice([-1, 0, len(view) + 1, None, "x", 4])
    def __arrow_c_stream__(self, requested_schema=None):
        return choose.choice([None, self, ()])
    __arrow_c_array__ = __arrow_c_stream__

def value(depth=0):
    if depth < 3 and choose.random() < 0.3:
        return choose.choice([list, tuple])(value(depth + 1) for _ in range(choose.randrange(4)))
    return choose.choice([
        None, True, 0, 1, 2, -1, 2**31, 2**62, 2**63, 2**64, -2**70, 1.5, "", "a", "l", "g", "b", "w:0", "+s", "\\ud800",
        "arrow", "pandas", "lz4", "csr", "coo", b"", b"x" * 9, header, frames, frames[0], stream, stream[:99], tensor[0],
        tensor[1], np.arange(8), np.zeros((2, 4)), np.zeros((2, 0)), np.arange(8)[::2], np.zeros(3, "?"), Odd(), {},
        pa.array([1, None]), pa.table({"a": [1]}), [("k", "v")], _native.OutOfBand(b"x"), _native.Objects([1]),
    ])

def objects():
    return [
        _native.decode(header, frames), _native.decode_stream(stream).stream(), _native.Columns(["a", "b"], 8),
        _native.decode_stream(stream).array(0, 0), frames[0].obj, _native.decode_tensor(*tensor),
    ]

names = ["writable", "compression", "target", "columns", "as_they_lie", "names", "metadata", "strides", "max_copied_bytes"]
calls = 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for owner in [_native] * 6 + objects():
        found = [name for name in dir(owner) if not name.startswith("__") or name.startswith("__arrow")]
        function = getattr(owner, choose.choice(found))
        if callable(function):
            calls += 1
            named = {choose.choice(names): value()} if choose.random() < 0.2 else {}
            try:
                function(*(value() for _ in range(choose.randrange(6))), **named)
            except Exception as error:
                assert "a fault in arrow_frames" not in str(error), (function, error)
print(calls)
"""


@pytest.mark.parametrize("seed", [0, os.getpid()], ids=["the same", "another"])
def test_random_arguments_are_taken_or_refused(seed):
    made = subprocess.run(
        [sys.executable, "-P", "-X", "faulthandler", "-c", RANDOM, str(seed), "3"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, f"seed {seed}: {made.stderr}"
    assert int(made.stdout) > 1_000


def test_calls_of_one_object_by_several_threads_are_in_order_or_refused():
    header, frames = af.to_buffers(pd.DataFrame({f"c{n}": np.arange(100.0) for n in range(20)}))
    decoded = _native.decode(header, frames)
    errors = []

    def look():
        for _ in range(50):
            try:
                assert len(decoded.blocks(0, list(range(20)), False)) >= 1
                assert decoded.masked(0, 3)[0] == "g"
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
