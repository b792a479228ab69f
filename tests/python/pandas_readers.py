"""Opens a stream for pandas with readers that know nothing of it.

Usage: pandas_readers.py STREAM. For each reader a line of JSON is printed: its name and version, and
the values of each column. Opaque columns must be nulls.
"""

import json
import sys

import duckdb
import polars
import pyarrow as pa
from pyarrow import ipc

from pandas_check import arrow


def values(table: pa.Table) -> dict:
    return {name: [arrow(value) for value in column] for name, column in zip(table.column_names, table.columns)}


def main() -> None:
    path = sys.argv[1]
    table = ipc.open_stream(path).read_all()
    back = duckdb.from_arrow(table).to_arrow_table()
    frame = polars.read_ipc_stream(path).to_arrow()
    for name, module, read in (("pyarrow", pa, table), ("polars", polars, frame), ("DuckDB", duckdb, back)):
        print(json.dumps({"reader": f"{name} {module.__version__}", "values": values(read)}))


if __name__ == "__main__":
    main()
