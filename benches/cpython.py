"""CPython's side of `cargo xtask pickle`: answers each `write KIND` or `read KIND` on stdin
with the nanoseconds that `pickle.dumps` or `loads` took, buffers out-of-band. Its first line
says what it is."""

import gc
import pickle
import platform
import sys
import time

import numpy as np
import pandas as pd

ROWS = 1_000_000
DISTINCT = 1_000


def make(kind):
    if kind == "unique":
        return np.array([f"string number {row}" for row in range(ROWS)], dtype=object)
    if kind == "long":
        return np.array([f"string number {row:046}" for row in range(ROWS)], dtype=object)
    if kind == "repeated":
        # As many str as there are rows, as reading a column makes them.
        return np.array([f"string number {row % DISTINCT}" for row in range(ROWS)], dtype=object)
    if kind == "categorical":
        codes = (np.arange(ROWS) % DISTINCT).astype("i4")
        return pd.Categorical.from_codes(codes, [f"string number {row}" for row in range(DISTINCT)])
    values = (1_600_000_000_000_000 + np.arange(ROWS) * 1_000_003).view("M8[us]")
    return pd.array(values, dtype=pd.DatetimeTZDtype("us", "UTC")).tz_convert("Europe/Paris")


print(f"CPython {platform.python_version()}, pandas {pd.__version__}, numpy {np.__version__}", flush=True)
made = {}
for line in sys.stdin:
    action, kind = line.split()
    value = made.get(kind)
    if value is None:
        value = made[kind] = make(kind)
    gc.collect()
    buffers = []
    start = time.perf_counter_ns()
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    wrote = time.perf_counter_ns() - start
    if action == "write":
        print(wrote, flush=True)
        continue
    start = time.perf_counter_ns()
    loaded = pickle.loads(pickled, buffers=buffers)
    read = time.perf_counter_ns() - start
    # What was made is dropped after the time is taken, on both sides.
    del loaded
    print(read, flush=True)
