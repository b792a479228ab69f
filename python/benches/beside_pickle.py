"""Arrays and other objects beside CPython's own pickle: time, bytes copied, and writing in one piece."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ways
from measuring import in_fresh_process, in_turn, of_memory, of_ratio, of_time, peak, ratio, table

MB = 1_000_000


def octets() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (10_000, 10_000), "u1")


def octets_by_columns() -> np.ndarray:
    return np.asfortranarray(octets())


def datetimes() -> np.ndarray:
    return np.datetime64("2020-01-01", "ns") + np.arange(10_000_000)


def texts() -> set[str]:
    return {f"text {number}" for number in range(1_000_000)}


def vectorizer() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = [f"word{number}" for number in range(200_000)]
    made = TfidfVectorizer().fit(
        [" ".join(words[start : start + 100]) for start in range(0, len(words), 100)]
    )
    assert len(made.vocabulary_) == len(words)
    return made


#: How to make each, and the ratio of dumping that is aimed at, if one is.
OBJECTS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "uint8, 100 MB, C order": (octets, None),
    "uint8, 100 MB, Fortran order": (octets_by_columns, None),
    "10M datetime64[ns]": (datetimes, None),
    "a set of 1M strings": (texts, 1.1),
    "a fitted TfidfVectorizer, 200,000 words": (vectorizer, 1.1),
}


def numpy_file(array: np.ndarray, path: str) -> ways.Way:
    def dump():
        with open(path, "wb", buffering=0) as file:
            np.save(file, array)

    return ways.Way(dump, lambda _: np.load(path), in_file=True)


FILES = {
    "arrow-frames, `dump` and `load`": ways.ours_in_file,
    "pickle 5, `dump` and `load`": ways.pickle5_in_file,
    "numpy, `save` and `load`": numpy_file,
}


def beside(name: str) -> dict[str, float]:
    """One object: milliseconds and bytes copied, of both."""
    import arrow_frames as af

    obj = OBJECTS[name][0]()
    ours, theirs = ways.ours(obj, allow_pickle=True), ways.pickle5(obj)
    return {
        "ours copied": sum(size for _, _, size in af.copies(obj)),
        "theirs copied": len(theirs.dump()[0]),
        **ways.in_turns(ours, theirs),
    }


def in_one_piece(name: str) -> dict[str, float]:
    """Writing to a file and reading: ratios to one write and one read of the same bytes, and peaks."""
    array = octets()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = Path(folder) / "file"
        small = FILES[name](array[:10].copy(), str(path))
        small.load(small.dump())
        way = FILES[name](array, str(path))
        _, dumping = peak(way.dump)
        again, loading = peak(lambda: way.load(None))
        assert np.array_equal(again, array)
        del again
        prepared = path.read_bytes()
        place = np.empty(len(prepared), "u1")
        place[:] = 0

        def write() -> None:
            with open(path, "wb", buffering=0) as file:
                assert file.write(prepared) == len(prepared)

        def read() -> np.ndarray:
            found = np.empty(len(prepared), "u1")
            with open(path, "rb", buffering=0) as file:
                assert file.readinto(found) == len(prepared)
            return found

        writing = in_turn({"ours": way.dump, "once": write}, ways.ROUNDS)
        reading = in_turn({"ours": lambda: way.load(None), "once": read}, ways.ROUNDS)
        return {
            "dump peak": dumping,
            "load peak": loading - len(prepared) / 2**20,
            "dump ratio": ratio(writing["ours"], writing["once"]),
            "load ratio": ratio(reading["ours"], reading["once"]),
        }


def tables() -> str:
    head = ["", "dump", "pickle 5", "ratio", "load", "pickle 5", "ratio", "copied", "by pickle 5"]
    rows = []
    for name, (_, target) in OBJECTS.items():
        print(f"beside pickle: {name}", file=sys.stderr, flush=True)
        found = in_fresh_process(__file__, "beside", name)
        missed = target is not None and found["dump ratio"] > target
        aim = "" if target is None else f" (target ≤ {target}{', missed' if missed else ''})"
        rows.append([
            name,
            of_time(found["ours dump"]), of_time(found["theirs dump"]), f"**{of_ratio(found['dump ratio'])}**{aim}",
            of_time(found["ours load"]), of_time(found["theirs load"]), f"**{of_ratio(found['load ratio'])}**",
            *(of_bytes(found[f"{side} copied"]) for side in ("ours", "theirs")),
        ])  # fmt: skip
    out_of_band = table(head, rows)
    head = [
        "100 MB of uint8",
        "÷ one write",
        "peak above the array",
        "÷ one read",
        "peak above what was read",
    ]
    rows = []
    for name in FILES:
        print(f"in one piece: {name}", file=sys.stderr, flush=True)
        found = in_fresh_process(__file__, "file", name)
        cells = [
            (f"{found[f'{job} ratio']:.2f}", of_memory(found[f"{job} peak"])) for job in ("dump", "load")
        ]
        rows.append([name, *cells[0], *cells[1]])
    return f"{out_of_band}\n\n{table(head, rows)}"


def of_bytes(size: float) -> str:
    return f"{size / MB:,.1f} MB" if size > MB / 10 else f"{size:,.0f} B"


if __name__ == "__main__":
    print(json.dumps({"beside": beside, "file": in_one_piece}[sys.argv[1]](sys.argv[2])))
