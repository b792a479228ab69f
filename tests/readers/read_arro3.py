"""Reads Arrow IPC with arro3; answer.py says how it is asked.

arro3 has no exact Python value for every type. What it read is looked at by pyarrow, to which
it is handed as memory (the Arrow C data interface), or where pyarrow's Python lacks the type,
by nanoarrow.
"""

from importlib import metadata
from pathlib import Path

import arro3.io
import nanoarrow as na
import pyarrow as pa
import read_nanoarrow
import read_pyarrow
from answer import Read, answer


def read(path: Path) -> Read:
    from_file = arro3.io.read_ipc if path.suffix == ".arrow" else arro3.io.read_ipc_stream
    table = from_file(path).read_all()
    batches = table.to_batches()
    names = table.schema.names
    return Read(
        names=names,
        types=[str(field.type) for field in table.schema],
        rows=table.num_rows,
        values=[
            [value for batch in batches for value in values(batch.column(number))]
            for number in range(len(names))
        ],
        writers={
            "stream": lambda path: arro3.io.write_ipc_stream(table, path, compression=None),
            "file": lambda path: arro3.io.write_ipc(table, path, compression=None),
            "lz4": lambda path: arro3.io.write_ipc_stream(table, path, compression="lz4"),
            "zstd": lambda path: arro3.io.write_ipc_stream(table, path, compression="zstd"),
        },
    )


def values(array) -> list:
    try:
        seen = pa.array(array)
    except KeyError:  # An interval of months, or of days and milliseconds.
        seen = na.c_array(array)
        return read_nanoarrow.values(seen.schema, seen.view())
    seen.validate(full=True)
    return read_pyarrow.values(seen)


if __name__ == "__main__":
    answer(f"arro3 {metadata.version('arro3-core')}", read)
