"""Reads flights from the service of examples/http_service.rs, and sends them to it.

Usage: http_client.py URL FILE. It needs nothing but pyarrow; FILE is the Parquet file that the
service has.
"""

import sys
import urllib.error
import urllib.request

import pyarrow as pa
from pyarrow import parquet


def main(url: str, file: str) -> None:
    table = pa.ipc.open_stream(urllib.request.urlopen(url + "/flights")).read_all()
    check(table, parquet.read_table(file))

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    stream = sink.getvalue().to_pybytes()
    check(pa.ipc.open_stream(urllib.request.urlopen(url, data=stream)).read_all(), table)

    try:
        urllib.request.urlopen(url, data=stream[:-1_000])
    except urllib.error.HTTPError as error:
        reason = error.read().decode()
        if error.code != 400 or "ends early" not in reason:
            raise ValueError(f"{error}: {reason}") from None
    else:
        raise ValueError("a stream that was cut is taken")


def check(table: pa.Table, expected: pa.Table) -> None:
    table.validate(full=True)
    if not table.schema.equals(expected.schema, check_metadata=True):
        raise ValueError(f"schema {table.schema}\nis not {expected.schema}")
    if not table.equals(expected):
        raise ValueError("the values differ")


main(*sys.argv[1:])
