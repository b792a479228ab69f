"""No input does more than raise one of our errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import arrow_frames as af
import numpy as np
import pandas as pd
import pytest


class Touch:
    """Whose pickle makes a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_pickle_is_not_run_unless_it_is_allowed(tmp_path):
    path = str(tmp_path / "made")
    frame = pd.DataFrame({"ok": [1], "odd": pd.Series([Touch(path)], dtype=object)})
    sent = af.dumps(frame)
    with pytest.raises(af.UntrustedPickleError, match="'odd'.*allow_pickle=True"):
        af.loads(sent)
    af.inspect(sent)
    assert af.loads(sent, columns=["ok"])["ok"].tolist() == [1]
    assert not os.path.exists(path)
    af.loads(sent, allow_pickle=True)
    assert os.path.exists(path)


def test_forged_offsets_of_text_are_refused_before_anything_reads_them():
    column = pd.Series(["aa", "bb"], dtype="string[pyarrow]")
    header, frames = af.to_buffers(column)
    [offsets] = [at for at, frame in enumerate(frames) if frame.nbytes in (12, 24)]
    width = frames[offsets].nbytes // 3
    forged = np.array([0, 2**45 if width == 8 else 2**30, 2], f"<i{width}").tobytes()
    frames[offsets] = forged
    with pytest.raises(af.DecodeError):
        af.from_buffers(header, frames)


def test_codes_without_a_category_are_refused():
    header, frames = af.to_buffers(pd.Series(pd.Categorical(["a", "b"])))
    frames[-1] = b"\x00\x7f"
    with pytest.raises(af.DecodeError):
        af.from_buffers(header, frames)


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": 3},
        {"arrays": ["numpy"] * 9},
        {"arrays": [{"rows": "<f8", "places": [0, 0, 7]}, "numpy", "numpy", "numpy"]},
        {"arrays": ["raw", "masked", "level:AAAA", "text:str[pyarrow]"]},
        {"labels": {"text": "object", "names": ["a"], "name": None}},
        {"labels": {"range": [0, 10**12, 1], "name": None}},
        {"labels": {"stream": "AAAA"}},
        {"index": {"range": [0, 5, 0], "name": None}},
        {"index": {"range": [0, 10**15, 1], "name": None}},
        {"index": {"multi": -3, "names": [], "freqs": []}},
        {"index": {"class": "DatetimeIndex", "name": None, "freq": "7Q"}},
        {"kind": "pandas.Index"},
        {"kind": "pandas.Series"},
        {"kind": 4},
        {"attrs": 5},
    ],
    ids=lambda change: json.dumps(change)[:60],
)
def test_a_note_that_lies_is_refused_or_describes_what_is_there(change):
    frame = pd.DataFrame(
        {"a": [1.5, 2.5], "b": [1, 2], "c": ["x", "y"], "d": pd.date_range("2020", periods=2)}
    )
    header, frames = af.to_buffers(frame)
    columns = af._native.decode(header, frames)
    metadata = dict(columns.metadata)
    note = {**json.loads(metadata["arrow_frames"]), **change}
    changed = af._native.Columns(["a", "b", "c", "d"], 2)
    changed.block([0], "g", np.array([[1.5, 2.5]]))
    changed.block([1], "l", np.array([[1, 2]]))
    changed.block([2], "l", np.array([[1, 2]]))
    changed.block([3], "l", np.array([[1, 2]]))
    header, frames, _ = changed.encode([("arrow_frames", json.dumps(note))])
    try:
        found = af.from_buffers(header, frames)
    except af.ArrowFramesError:
        return
    assert len(found) == 2


SCRIPT = """
import sys
import arrow_frames as af
stream = bytearray(open(sys.argv[1], "rb").read())
outcomes = {"read": 0, "refused": 0}
def attempt(stream):
    try:
        af.loads(stream)
        outcomes["read"] += 1
    except (af.ArrowFramesError, af.MissingLibraryError):
        outcomes["refused"] += 1
    try:
        af.inspect(stream)
    except af.ArrowFramesError:
        pass
for length in range(len(stream)):
    attempt(stream[:length])
    assert outcomes["read"] == 0, length
for at in range(len(stream)):
    for bit in (at % 8, (at + 3) % 8):
        stream[at] ^= 1 << bit
        attempt(stream)
        stream[at] ^= 1 << bit
print(outcomes)
"""


@pytest.mark.parametrize("options", [[], ["-O"]], ids=["python", "python -O"])
def test_no_damage_does_more_than_raise(options, tmp_path):
    frame = pd.DataFrame(
        {"f": [1.5], "s": pd.Series(["x"], dtype="string[pyarrow]"), "k": pd.Categorical(["a"]), "o": [None]},
        index=pd.MultiIndex.from_tuples([("a", 1)]),
    )
    (tmp_path / "stream").write_bytes(af.dumps(frame))
    (tmp_path / "damage.py").write_text(
        SCRIPT.replace("assert outcomes", "if outcomes").replace(
            " == 0, length", ": raise SystemExit(length)"
        )
    )
    command = [sys.executable, *options, str(tmp_path / "damage.py"), str(tmp_path / "stream")]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=Path(af.__file__).parents[1]
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'refused'" in done.stdout
