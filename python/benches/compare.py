"""Time and peak memory beside pickle 5, dask.distributed and pyarrow: each in a fresh process, in one run.

`python compare.py` prints the tables; `--write FILE` puts them between the markers in a document.
"""

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MARKERS = ("<!-- benchmark -->", "<!-- /benchmark -->")
ROUNDS = 15


def floats() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).random((10, 1_000_000)).T, columns=list("abcdefghij")).copy()


def objects() -> pd.DataFrame:
    return pd.DataFrame({"s": pd.Series([f"text {n}" for n in range(1_000_000)], dtype=object)})


def arrow_text() -> pd.DataFrame:
    return pd.DataFrame({"s": pd.Series([f"text {n}" for n in range(1_000_000)], dtype="string[pyarrow]")})


def categorical() -> pd.DataFrame:
    codes = np.random.default_rng(0).integers(0, 100, 1_000_000).astype("i1")
    return pd.DataFrame({"k": pd.Categorical.from_codes(codes, [f"kind {n}" for n in range(100)])})


def zoned() -> pd.DataFrame:
    return pd.DataFrame(
        {"t": pd.date_range("2020", periods=1_000_000, freq="s", tz="Europe/Paris", unit="ns")}
    )


def mixed() -> pd.DataFrame:
    rng, rows = np.random.default_rng(0), 100_000
    columns: dict[str, Any] = {f"f{n}": rng.random(rows) for n in range(20)}
    columns |= {f"i{n}": rng.integers(0, 9, rows) for n in range(10)}
    times = np.arange(rows).astype("M8[ns]")
    columns |= {f"d{n}": times + n for n in range(10)}
    columns |= {f"z{n}": pd.Series(times + n).dt.tz_localize("Europe/Paris") for n in range(4)}
    codes = [rng.integers(0, 3, rows).astype("i1") for _ in range(3)]
    columns |= {f"k{n}": pd.Categorical.from_codes(codes[n], ["lo", "mid", "hi"]) for n in range(3)}
    text = [f"text {n % 1000}" for n in range(rows)]
    columns |= {f"s{n}": pd.Series(text, dtype="string[pyarrow]") for n in range(3)}
    return pd.DataFrame(columns)


DATA: dict[str, Callable[[], pd.DataFrame]] = {
    "10 × 1M float64": floats,
    "1M object strings": objects,
    "1M Arrow strings": arrow_text,
    "1M categorical": categorical,
    "1M zoned": zoned,
    "50 columns × 100,000, mixed": mixed,
}


def ours(df: pd.DataFrame):
    import arrow_frames as af

    return lambda: af.to_buffers(df), lambda sent: af.from_buffers(*sent)


def ours_from_bytes(df: pd.DataFrame):
    import arrow_frames as af

    return lambda: af.dumps(df), lambda sent: af.loads(sent)


def pickle5(df: pd.DataFrame):
    def dump():
        buffers: list[pickle.PickleBuffer] = []
        return pickle.dumps(df, 5, buffer_callback=buffers.append), buffers

    return dump, lambda sent: pickle.loads(sent[0], buffers=sent[1])


def distributed(df: pd.DataFrame):
    from distributed.protocol import deserialize_bytes, serialize_bytelist

    return lambda: serialize_bytelist(df), lambda sent: deserialize_bytes(b"".join(sent))


def distributed_from_bytes(df: pd.DataFrame):
    from distributed.protocol import deserialize_bytes, serialize_bytes

    return lambda: serialize_bytes(df), lambda sent: deserialize_bytes(sent)


def arrow_ipc(df: pd.DataFrame):
    import pyarrow as pa

    def dump():
        table = pa.Table.from_pandas(df)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()

    return dump, lambda sent: pa.ipc.open_stream(sent).read_all().to_pandas()


def table(df: pd.DataFrame):
    import pyarrow as pa

    return lambda: pa.Table.from_pandas(df), lambda sent: sent.to_pandas()


PEERS = {
    "arrow-frames, frames": ours,
    "arrow-frames, bytes": ours_from_bytes,
    "pickle 5 out-of-band": pickle5,
    "distributed, frames": distributed,
    "distributed, bytes": distributed_from_bytes,
    "pyarrow IPC": arrow_ipc,
    "Table.from_pandas": table,
}


def measure(data: str, peer: str) -> dict:
    """Medians in milliseconds, and the peak beyond what was there before, in MiB."""
    df = DATA[data]()
    small_dump, small_load = PEERS[peer](df.iloc[:10].copy())
    small_load(small_dump())
    dump, load = PEERS[peer](df)
    result: dict[str, float] = {}
    # First, since later the allocators have memory to hand that the process needed already.
    before = reset_peak()
    sent = dump()
    result["dump peak"] = (status("VmHWM") - before) / 1024
    before = reset_peak()
    loaded = load(sent)
    result["load peak"] = (status("VmHWM") - before) / 1024
    del loaded
    for name, work in (("dump", dump), ("load", lambda: load(sent))):
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            done = work()
            times.append(time.perf_counter() - start)
            del done
        result[name] = statistics.median(times) * 1e3
    return result


def reset_peak() -> int:
    """Starts the peak anew: from here on it is what is used now, in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the document with the markers")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    lines = []
    for data in DATA:
        lines += [
            "",
            f"**{data}**",
            "",
            "| | dump | load | peak of dump | peak of load |",
            "|---|--:|--:|--:|--:|",
        ]
        for peer in PEERS:
            command = [sys.executable, __file__, "--one", data, peer]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(output.splitlines()[-1])
            cells = [f"{found[key]:.2f} ms" for key in ("dump", "load")]
            cells += [f"{max(found[key], 0):.1f} MiB" for key in ("dump peak", "load peak")]
            lines.append(f"| {peer} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines[1:])
    if arguments.write is None:
        print(text)
        return
    document = arguments.write.read_text(encoding="utf-8")
    head, rest = document.split(MARKERS[0])
    tail = rest.split(MARKERS[1])[1]
    arguments.write.write_text(f"{head}{MARKERS[0]}\n{text}\n{MARKERS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
