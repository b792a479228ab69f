"""Peak memory and time of arrays, a dataframe and any object, beside pickle, cloudpickle, pyarrow and distributed.

    python memory.py [--write DOCS]

A peak is of a process of its own; times are of all ways in turn in one process. `--write` puts the tables into
OBJECTS.md and DASK.md in that folder, and the plot into memory.svg.
"""

import argparse
import datetime
import functools
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import arrays_in_dask
import beside_pickle
import compare
import numpy as np
import plot
import ways
from measuring import RESOLUTION, in_fresh_process, of_memory, of_time, peak, replace, table, timed

SIZES = {"80 KB": 80_000, "800 KB": 800_000, "8 MB": 8_000_000, "80 MB": 80_000_000, "800 MB": 800_000_000}
DATAFRAME = "DataFrame, 40 MB"

#: By data: what is large takes long, and varies less.
ROUNDS = {"80 KB": 301, "800 KB": 101, "8 MB": 31, "80 MB": 11, "800 MB": 5, DATAFRAME: 21}


def array(size: int) -> np.ndarray:
    return np.random.default_rng(0).random(size // 8)


DATA: dict[str, Callable[[], Any]] = {
    **{name: functools.partial(array, size) for name, size in SIZES.items()},
    DATAFRAME: compare.mixed,
}

WAYS: dict[str, Callable[..., ways.Way]] = {
    "arrow-frames, frames": ways.ours,
    "arrow-frames, file": ways.ours_in_file,
    "pickle 4": ways.pickle4,
    "pickle 5, in-band": ways.pickle5_in_band,
    "pickle 5, file": ways.pickle5_in_file,
    "pickle 5, out-of-band": ways.pickle5,
    "cloudpickle, in-band": ways.cloudpickle,
    "cloudpickle, out-of-band": ways.cloudpickle_out_of_band,
    "pyarrow": ways.pyarrow,
    "distributed": ways.distributed,
}
IN_FILE = (ways.ours_in_file, ways.pickle5_in_file)


def way_of(name: str, obj: Any, folder: str) -> ways.Way:
    function = WAYS[name]
    return function(obj, os.path.join(folder, "file")) if function in IN_FILE else function(obj)


def in_memory() -> tempfile.TemporaryDirectory:
    """A folder for files, without a disk where there is one: its speed is nobody's."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def peaks(data: str, name: str) -> dict[str, float]:
    """Peaks in MiB: beyond the object, and beyond the bytes that came."""
    obj = DATA[data]()
    with in_memory() as folder:
        small = way_of(name, obj[:10].copy(), folder)
        small.load(small.carry(small.dump()))
        way = way_of(name, obj, folder)
        sent, dumping = peak(way.dump)
        sent = way.carry(sent)
        again, loading = peak(lambda: way.load(sent))
        if way.in_file:
            loading -= os.stat(os.path.join(folder, "file")).st_size / 2**20
    assert again.equals(obj) if data == DATAFRAME else np.array_equal(again, obj)
    return {"dump": dumping, "load": loading}


def times(data: str) -> dict[str, dict[str, float]]:
    """The median milliseconds of each way."""
    obj = DATA[data]()
    found: dict[str, dict[str, list[float]]] = {name: {"dump": [], "load": []} for name in WAYS}
    with in_memory() as folder:
        of_name = {name: way_of(name, obj, folder) for name in WAYS}
        for _ in range(ROUNDS[data]):
            for name, way in of_name.items():
                # Once before each, so that the caches hold what is this way's own.
                sent = way.carry(way.dump())
                found[name]["dump"].append(timed(way.dump))
                way.load(sent)
                found[name]["load"].append(timed(lambda way=way, sent=sent: way.load(sent)))
                del sent
    return {name: {job: statistics.median(own) for job, own in jobs.items()} for name, jobs in found.items()}


def picture() -> tuple[str, str]:
    """The tables and the plot."""
    peak_of: dict = {name: {} for name in WAYS}
    time_of: dict = {name: {} for name in WAYS}
    for data in DATA:
        for name in WAYS:
            print(f"peaks of {data}: {name}", file=sys.stderr, flush=True)
            peak_of[name][data] = in_fresh_process(__file__, "--peaks", data, name)
        print(f"times of {data}", file=sys.stderr, flush=True)
        for name, own in in_fresh_process(__file__, "--times", data).items():
            time_of[name][data] = own
    tables = []
    for what, found, shown in (("Peak", peak_of, of_memory), ("Time", time_of, of_time)):
        for job in ("dump", "load"):
            rows = [[name, *(shown(found[name][data][job]) for data in DATA)] for name in WAYS]
            tables.append(f"**{what} of {job}**\n\n{table(['', *DATA], rows)}")
    panels = {
        title: {name: [peak_of[name][data][job] for data in SIZES] for name in WAYS}
        for job, title in (("dump", "dump: beyond the array"), ("load", "load: beyond the bytes that came"))
    }
    title = "Peak memory to send and to receive an array of float64, by its size"
    note = f"none: less than {RESOLUTION} MiB · each in a fresh process, one run · {machine()}"
    return "\n\n".join(tables), plot.svg(title, panels, SIZES, RESOLUTION, note)


def machine() -> str:
    """What it was measured with, and when."""
    packages = ("numpy", "cloudpickle", "pyarrow", "distributed")
    names = [f"CPython {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    return " · ".join([*names, datetime.datetime.now(datetime.UTC).date().isoformat()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="the folder of the documents")
    parser.add_argument("--only", choices=("picture", "pickle", "dask"), help="one part of it")
    parser.add_argument("--peaks", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--times", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peaks:
        print(json.dumps(peaks(*arguments.peaks)))
        return
    if arguments.times:
        print(json.dumps(times(arguments.times)))
        return
    docs: Path | None = arguments.write
    if arguments.only in (None, "picture"):
        tables, drawn = picture()
        if docs:
            (docs / "memory.svg").write_text(drawn, encoding="utf-8")
        written(docs and docs / "OBJECTS.md", "memory", tables)
    if arguments.only in (None, "pickle"):
        written(docs and docs / "OBJECTS.md", "beside-pickle", beside_pickle.tables())
    if arguments.only in (None, "dask"):
        written(docs and docs / "DASK.md", "arrays", arrays_in_dask.tables())


def written(document: Path | None, name: str, text: str) -> None:
    print(text, flush=True)
    if document is not None:
        replace(document, name, text)


if __name__ == "__main__":
    main()
