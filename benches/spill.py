"""Spills a dataframe of 1 GB and brings it back, one way per process.

Usage: spill.py feather|pickle FILE. Prints, for the write and the read, the nanoseconds and
by how many bytes the peak of resident memory rose.
"""

import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather

ROWS = 12_500_000


def memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


def measured(what, job):
    before = memory("VmRSS:")
    Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter_ns()
    result = job()
    elapsed = time.perf_counter_ns() - start
    print(f"{what}\t{elapsed}\t{max(memory('VmHWM:') - before, 0)}")
    return result


def columns():
    return {f"column_{n}": np.arange(ROWS) * (n + 1) * 0.5 for n in range(10)}


def spill_feather(path):
    table = pa.table(columns())
    measured("write", lambda: feather.write_feather(table, path, compression="uncompressed"))
    del table
    # As a reader that needs the data in memory: a map would only postpone it.
    table = measured("read", lambda: feather.read_table(path, memory_map=False))
    assert table.num_rows == ROWS


def spill_pickle(path):
    df = pd.DataFrame(columns(), copy=False)

    def write():
        with open(path, "wb") as file:
            pickle.dump(df, file, protocol=5)

    def read():
        with open(path, "rb") as file:
            return pickle.load(file)

    measured("write", write)
    del df
    assert len(measured("read", read)) == ROWS


{"feather": spill_feather, "pickle": spill_pickle}[sys.argv[1]](sys.argv[2])
