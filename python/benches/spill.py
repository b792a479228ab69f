"""Memory that a worker needs to spill a large mixed dataframe and to read it back, beyond the dataframe.

    python python/benches/spill.py [--megabytes 1000] [--write docs/DASK.md]

Each path in a fresh process, through distributed's own spill buffer and a real file; peaks are the process's highest
resident memory. `spilling` is beyond the process with the dataframe in it, `unspilling` beyond the process with as many
bytes as the spill file has.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
from pathlib import Path

from measuring import in_fresh_process, peak, replace

MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory to spill and unspill a large dataframe.")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--write", type=Path, help="the page whose table is to be replaced")
    options = parser.parse_args()
    lines = [
        "| path | compression | in the file, MiB | spilling, MiB | unspilling, MiB |",
        "|---|---|---|---|---|",
    ]
    for compression in ("", "lz4"):
        for path in ("arrow-frames", "distributed"):
            folder = fresh()
            (size, spilling), (_, unspilling) = (
                run(step, path, compression, str(options.megabytes), folder) for step in ("spill", "unspill")
            )
            # Pages that were there before may be gone at the peak.
            spilling, unspilling = max(spilling, 0), max(unspilling, 0)
            row = f"| {path} | {compression or 'none'} | {size:,.0f} | {spilling:,.0f} | {unspilling:,.0f} |"
            lines.append(row)
            print(row, flush=True)
    if options.write:
        replace(options.write, "spill", "\n".join(lines))


def fresh() -> str:
    return tempfile.mkdtemp(prefix="spill")


def run(step: str, path: str, compression: str, megabytes: str, folder: str) -> tuple[float, float]:
    """Runs one step in a process of its own."""
    size, rise = in_fresh_process(__file__, step, path, compression, megabytes, folder)
    if step == "unspill":
        for file in Path(folder).iterdir():
            file.unlink()
        os.rmdir(folder)
    return size, rise


def child(step: str, path: str, compression: str, megabytes: str, folder: str) -> None:
    import dask
    import pyarrow  # noqa: F401
    from distributed.spill import SpillBuffer

    if path == "arrow-frames":
        import arrow_frames.dask

        arrow_frames.dask.register()
    rows = int(megabytes) * 1_000_000 // BYTES_OF_A_ROW
    with dask.config.set({"distributed.worker.memory.spill-compression": compression or None}):
        buffer = SpillBuffer(folder, target=10**15)
    # What is loaded and made once, whatever the size.
    buffer["small"] = dataframe(1000)
    buffer.evict()
    assert buffer["small"].equals(dataframe(1000))
    del buffer["small"]
    if step == "spill":
        buffer["large"] = dataframe(rows)
        gc.collect()
        _, spilling = peak(buffer.evict)
        print(json.dumps([size(folder) / MIB, spilling]))
        return
    # The file that another process has left.
    buffer.slow.data.d.filenames["large"] = name(folder)
    gc.collect()
    large, unspilling = peak(lambda: buffer.slow.data["large"])
    assert large.shape == (rows, 7)
    assert large.equals(dataframe(rows))
    print(json.dumps([size(folder) / MIB, unspilling - size(folder) / MIB]))


#: Three floats, an integer, a boolean, a category's code, and a text with its offset.
BYTES_OF_A_ROW = 3 * 8 + 8 + 1 + 1 + 8 + 16


def dataframe(rows: int):
    """Columns of each kind; random, so that compressing them is not worth it, but for some."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    random = np.random.default_rng(0)
    text = pa.LargeStringArray.from_buffers(
        rows,
        pa.py_buffer(np.arange(0, 16 * rows + 1, 16, dtype="i8")),
        pa.py_buffer(random.integers(32, 127, 16 * rows, dtype="u1")),
    )
    return pd.DataFrame(
        {
            "x": random.random(rows),
            "y": random.random(rows),
            "z": random.random(rows),
            "n": random.integers(-(2**63), 2**63 - 1, rows),
            "flag": random.integers(0, 2, rows, dtype="i1").view("?"),
            "category": pd.Categorical.from_codes(random.integers(0, 5, rows, dtype="i1"), list("abcde")),
            "text": pd.array(text, dtype=pd.StringDtype("pyarrow", na_value=np.nan)),
        },
        copy=False,
    )


def name(folder: str) -> str:
    [found] = os.listdir(folder)
    return found


def size(folder: str) -> int:
    return os.stat(os.path.join(folder, name(folder))).st_size


if __name__ == "__main__":
    if sys.argv[1:2] in (["spill"], ["unspill"]):
        child(*sys.argv[1:])
    else:
        main()
