"""Mutated streams for some seconds, and whether the fuzzer sees what it looks for. `fuzz_streams.py` runs for longer."""

import os
import subprocess
import sys
from pathlib import Path

import fuzz_inputs
import fuzz_memory
import fuzz_streams
import numpy as np
import pandas as pd
import pytest

#: For each version of pandas.
SECONDS = os.environ.get("ARROW_FRAMES_FUZZ_SECONDS", "20")
SEED = os.environ.get("ARROW_FRAMES_FUZZ_SEED", "1")


def test_mutated_streams(tmp_path):
    script = Path(fuzz_streams.__file__)
    command = [sys.executable, "-P", script, "--seconds", SECONDS, "--seed", SEED, "--findings", tmp_path]
    done = subprocess.run(
        command, capture_output=True, text=True, env=fuzz_streams.environment(), check=False
    )
    print(done.stdout)
    details = "\n".join(path.read_text()[:3000] for path in sorted(tmp_path.glob("*.txt")))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{details}"


def test_natural_streams_have_every_property():
    # A number that shares no factor with the twelve ways: all of them are taken.
    assert fuzz_streams.natural(step=97) == []


def test_the_same_seed_makes_the_same_inputs():
    streams = dict(list(fuzz_inputs.corpus().items())[::50])
    inputs = [fuzz_streams.made(5, index, streams) for index in range(60)]
    assert inputs == [fuzz_streams.made(5, index, streams) for index in range(60)]
    changed = [stream for stream, _, made_by in inputs if len(made_by) > 1 and stream != streams[made_by[0]]]
    assert len(changed) > 40


def broken(obj, lent=(), writable=None) -> str:
    with pytest.raises(fuzz_memory.Broken) as raised:
        fuzz_memory.check(obj, list(lent), writable)
    return str(raised.value)


def test_arrays_outside_of_their_memory_are_seen():
    memory = bytearray(64)
    array = np.frombuffer(memory, "u1")
    fuzz_memory.check([array], [], None)
    for shape, strides in (((65,), (1,)), ((2**62 + 1,), (4,)), ((2,), (-1,))):
        wild = np.lib.stride_tricks.as_strided(array, shape, strides)
        assert "outside of its memory" in broken({"a": wild}, [(*fuzz_memory.span(memory), True)])


def test_arrays_that_can_change_each_other_are_seen():
    memory = bytearray(64)
    one, other = np.frombuffer(memory, "i8", 4), np.frombuffer(memory, "i4", 8, 8)
    assert one.base is not other.base
    assert "overlap" in broken((one, other))
    # Of one dtype and place too; views of one array are the library's own.
    assert "overlap" in broken((one, np.frombuffer(memory, "i8", 4)))
    fuzz_memory.check((one, one.view("M8[ns]"), one[1:]), [], None)
    other.flags.writeable = False
    assert "overlap" in broken(pd.Series([one, other], dtype=object))
    one.flags.writeable = False
    fuzz_memory.check((one, other), [], None)


def test_writable_arrays_on_what_is_read_only_are_seen():
    memory = bytearray(64)
    array = np.frombuffer(memory, "f8")
    span = fuzz_memory.span(memory)
    frame = pd.DataFrame({"a": array}, copy=False)
    assert "read-only input" in broken(frame, [(*span, False)])
    assert "none was asked for" in broken(frame, [(*span, True)], writable=False)
    fuzz_memory.check(frame, [(*span, True)], None)


def test_files_that_an_input_opens_are_seen():
    assert not fuzz_streams.is_known(("open", "/etc/passwd"))
    assert not fuzz_streams.is_known(("os.system", "true"))
    assert not fuzz_streams.is_known(("pickle.find_class", "posix system"))
    assert fuzz_streams.is_known(("open", os.__file__))
