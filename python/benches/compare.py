"""Time and peak memory beside pickle 5, dask.distributed and pyarrow: each in a fresh process, in one run.

`python compare.py` prints the tables; `--write FILE` puts them between the markers in a document.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import ways
from measuring import in_fresh_process, peak, replace, timed

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


PEERS = {
    "arrow-frames, frames": ways.ours,
    "arrow-frames, read-only bytes": ways.ours_from_bytes,
    "pickle 5 out-of-band": ways.pickle5,
    "distributed, frames": ways.distributed,
    "distributed, writable bytes": ways.distributed_from_bytes,
    "distributed, read-only bytes": ways.distributed_from_readonly_bytes,
    "pyarrow IPC": ways.arrow_ipc,
    "Table.from_pandas": ways.arrow_table,
}


def measure(data: str, peer: str) -> dict:
    """Medians in milliseconds, and the peak beyond what was there before, in MiB."""
    df = DATA[data]()
    small = PEERS[peer](df.iloc[:10].copy())
    small.load(small.carry(small.dump()))
    way = PEERS[peer](df)
    result: dict[str, float] = {}
    # First, since later the allocators have memory to hand that the process needed already.
    sent, result["dump peak"] = peak(way.dump)
    sent = way.carry(sent)
    loaded, result["load peak"] = peak(lambda: way.load(sent))
    del loaded
    for name, work in (("dump", way.dump), ("load", lambda: way.load(sent))):
        result[name] = statistics.median(timed(work) for _ in range(ROUNDS))
    return result


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
            found = in_fresh_process(__file__, "--one", data, peer)
            cells = [f"{found[key]:.2f} ms" for key in ("dump", "load")]
            cells += [f"{max(found[key], 0):.1f} MiB" for key in ("dump peak", "load peak")]
            lines.append(f"| {peer} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines[1:])
    if arguments.write is None:
        print(text)
    else:
        replace(arguments.write, "benchmark", text)


if __name__ == "__main__":
    main()
