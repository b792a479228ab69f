"""Arrays in dask.distributed: its own way beside our frames."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import ways
from measuring import in_fresh_process, of_memory, of_ratio, of_time, peak, table


def floats() -> np.ndarray:
    return np.random.default_rng(0).random((1000, 10_000))


def structured() -> np.ndarray:
    made = np.zeros(5_000_000, [("number", "i8"), ("value", "f8")])
    made["value"] = np.arange(len(made))
    return made


ARRAYS: dict[str, Callable[[], Any]] = {
    "float64, C order, 80 MB": floats,
    "float64, Fortran order, 80 MB": lambda: np.asfortranarray(floats()),
    "every other column, 80 MB of 160": lambda: np.random.default_rng(0).random((1000, 20_000))[:, ::2],
    "rows backwards, 80 MB": lambda: floats()[::-1],
    "a row broadcast to 1,000, 80 MB": lambda: np.broadcast_to(np.arange(10_000.0), (1000, 10_000)),
    "datetime64, 80 MB": lambda: np.datetime64("2020-01-01", "ns") + np.arange(10_000_000),
    "structured, 80 MB": structured,
    "object, 1M strings": lambda: np.array([f"text {number}" for number in range(1_000_000)], object),
    "a list of 1,000 arrays of 100": lambda: [np.arange(100.0) + number for number in range(1000)],
    "a list of 1,000 arrays of 1,000": lambda: [np.arange(1000.0) + number for number in range(1000)],
    "one array of 100": lambda: np.arange(100.0),
}


def distributed(obj: Any) -> ways.Way:
    from distributed.protocol import deserialize, serialize

    return ways.Way(lambda: serialize(obj), lambda sent: deserialize(*sent))


SIDES: dict[str, Callable[[Any], ways.Way]] = {
    "ours": lambda obj: ways.ours(obj, allow_pickle=True),
    "theirs": distributed,
}


def peaks(name: str, side: str) -> dict[str, Any]:
    """Peaks in MiB, the bytes that are sent, and whether the array comes back as it was."""
    obj = ARRAYS[name]()
    small = SIDES[side](np.arange(10.0))
    small.load(small.dump())
    way = SIDES[side](obj)
    sent, dumping = peak(way.dump)
    again, loading = peak(lambda: way.load(sent))
    first, header = again[0] if isinstance(obj, list) else again, sent[0]
    own = obj[0] if isinstance(obj, list) else obj
    assert np.array_equal(first, own)
    bytes_sent = sum(memoryview(frame).nbytes for frame in sent[1])
    return {
        "dump": dumping,
        "load": loading,
        "sent": bytes_sent + (len(header) if isinstance(header, bytes) else 0),
        "same": [first.dtype == own.dtype, first.strides == own.strides, first.flags.writeable == own.flags.writeable],
    }  # fmt: skip


def times(name: str) -> dict[str, Any]:
    """The milliseconds of both in turn."""
    obj = ARRAYS[name]()
    ours, theirs = (way(obj) for way in SIDES.values())
    return ways.in_turns(ours, theirs)


def tables() -> str:
    timed, kept = [], []
    for name in ARRAYS:
        print(f"in dask.distributed: {name}", file=sys.stderr, flush=True)
        found = in_fresh_process(__file__, "times", name)
        timed.append([
            name,
            of_time(found["ours dump"]), of_time(found["theirs dump"]), f"**{of_ratio(found['dump ratio'])}**",
            of_time(found["ours load"]), of_time(found["theirs load"]), f"**{of_ratio(found['load ratio'])}**",
        ])  # fmt: skip
        ours, theirs = (in_fresh_process(__file__, "peaks", name, side) for side in SIDES)
        kept.append([
            name,
            *(of_memory(side[job]) for job in ("dump", "load") for side in (ours, theirs)),
            *(f"{side['sent'] / 1e6:,.2f} MB" for side in (ours, theirs)),
            *(changed(*side["same"]) for side in (ours, theirs)),
        ])  # fmt: skip
    times_head = ["time", "dump", "distributed", "ratio", "load", "distributed", "ratio"]
    kept_head = [
        "peak", "dump", "distributed", "load", "distributed",
        "sent", "distributed", "changed", "by distributed",
    ]  # fmt: skip
    return f"{table(times_head, timed)}\n\n{table(kept_head, kept)}"


def changed(dtype: bool, strides: bool, writeable: bool) -> str:
    """What of an array is another than it was."""
    names = [
        name for name, same in (("dtype", dtype), ("layout", strides), ("writable", writeable)) if not same
    ]
    return ", ".join(names) or "–"


if __name__ == "__main__":
    print(json.dumps({"times": times, "peaks": peaks}[sys.argv[1]](*sys.argv[2:])))
