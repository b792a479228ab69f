"""Opens a dataframe for pandas with readers that know nothing of it.

Usage: pandas_readers.py STREAM FILE. For each reader and either form a line of JSON is printed: its
name and version, and the values of each column. Opaque columns must be nulls.
"""

import json
import sys

import duckdb
import polars
import pyarrow as pa
from pandas_check import arrow
from pyarrow import ipc


def values(table: pa.Table) -> dict:
    return {
        name: [arrow(value) for value in column] for name, column in zip(table.column_names, table.columns)
    }


def main() -> None:
    stream, file = sys.argv[1:]
    read = [
        ("a stream", ipc.open_stream(stream).read_all(), polars.read_ipc_stream(stream)),
        ("a file", ipc.open_file(file).read_all(), polars.read_ipc(file)),
    ]
    for form, table, frame in read:
        back = duckdb.from_arrow(table).to_arrow_table()
        for name, module, seen in (
            ("pyarrow", pa, table),
            ("polars", polars, frame.to_arrow()),
            ("DuckDB", duckdb, back),
        ):
            print(json.dumps({"reader": f"{name} {module.__version__}, {form}", "values": values(seen)}))


if __name__ == "__main__":
    main()
