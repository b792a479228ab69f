"""Reads Arrow IPC with pyarrow, of any version from 11 on; answer.py says how it is asked."""

from pathlib import Path

import pyarrow as pa
from answer import (
    DAY,
    UNITS,
    Read,
    Unhandled,
    answer,
    decimal,
    durations,
    each,
    interval,
    meant,
    number,
    runs,
    structs,
    times,
)
from pyarrow import ipc


def read(path: Path) -> Read:
    reader = ipc.open_file(path) if path.suffix == ".arrow" else ipc.open_stream(path)
    if path.suffix == ".arrow":
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    else:
        batches = list(reader)
    return found(reader.schema, batches)


def found(schema: pa.Schema, batches: list[pa.RecordBatch]) -> Read:
    for batch in batches:
        batch.validate(full=True)
    return Read(
        names=schema.names,
        types=[str(field.type) for field in schema],
        rows=sum(batch.num_rows for batch in batches),
        values=[
            [value for batch in batches for value in values(batch.column(column))]
            for column in range(len(schema))
        ],
        writers={
            "stream": lambda path: write(path, ipc.new_stream, schema, batches),
            "file": lambda path: write(path, ipc.new_file, schema, batches),
            "lz4": lambda path: write(path, ipc.new_stream, schema, batches, compression="lz4"),
            "zstd": lambda path: write(path, ipc.new_stream, schema, batches, compression="zstd"),
        },
    )


def write(path: Path, new, schema: pa.Schema, batches: list[pa.RecordBatch], **options) -> None:
    with new(path, schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)


def values(array: pa.Array) -> list:
    """The values of an array. The classes of older versions are fewer, hence their names."""
    kind = type(array).__name__.removesuffix("Array")
    match kind:
        case "Null":
            return [None] * len(array)
        case "Boolean" | "String" | "LargeString" | "StringView":
            return array.to_pylist()
        case "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" | "UInt64":
            return each(str, array.to_pylist())
        case "HalfFloat" | "Float" | "Double":
            return each(lambda value: number(float(value)), array.to_pylist())
        case "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256":
            return each(decimal, array.to_pylist())
        case "Binary" | "LargeBinary" | "BinaryView" | "FixedSizeBinary":
            return each(bytes.hex, array.to_pylist())
        case "Date32":
            return times(DAY, array.view(pa.int32()).to_pylist())
        case "Date64":
            return times(UNITS["ms"], array.view(pa.int64()).to_pylist())
        case "Time32":
            return times(UNITS[array.type.unit], array.view(pa.int32()).to_pylist())
        case "Time64" | "Timestamp":
            return times(UNITS[array.type.unit], array.view(pa.int64()).to_pylist())
        case "Duration":
            return durations(UNITS[array.type.unit], array.view(pa.int64()).to_pylist())
        case "MonthDayNanoInterval":
            return each(lambda value: interval(*value), array.to_pylist())
        case "List" | "LargeList" | "ListView" | "LargeListView" | "FixedSizeList" | "Map":
            return [values(row.values) if row.is_valid else None for row in array]
        case "Struct":
            columns = [values(array.field(child)) for child in range(array.type.num_fields)]
            return structs(columns, array.is_valid().to_pylist())
        case "Union":
            return union(array)
        case "Dictionary":
            return meant(values(array.dictionary), array.indices.to_pylist())
        case "RunEndEncoded":
            return runs(values(array.values), array.run_ends.to_pylist(), array.offset, len(array))
    if isinstance(array, pa.ExtensionArray):
        return values(array.storage)
    raise Unhandled(kind)


def union(array: pa.UnionArray) -> list:
    if len(array) == 0:
        return []  # It may have no buffers, without which `type_codes` and `offsets` crash.
    children = {
        code: (array.type.field(child).name, values(array.field(child)))
        for child, code in enumerate(array.type.type_codes)
    }
    rows = array.offsets.to_pylist() if array.type.mode == "dense" else range(len(array))
    codes = array.type_codes.to_pylist()
    return [[children[code][0], children[code][1][row]] for code, row in zip(codes, rows, strict=True)]


if __name__ == "__main__":
    answer(f"pyarrow {pa.__version__}", read)
