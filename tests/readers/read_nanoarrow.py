"""Reads Arrow IPC with nanoarrow; answer.py says how it is asked.

The values are taken from nanoarrow's typed buffers: its conversion to Python objects drops
nanoseconds.
"""

from itertools import pairwise
from pathlib import Path

import nanoarrow as na
from answer import (
    DAY,
    UNITS,
    Read,
    Unhandled,
    answer,
    durations,
    interval,
    meant,
    number,
    scaled,
    structs,
    times,
)
from nanoarrow import ipc
from nanoarrow.c_schema import c_schema_view


def read(path: Path) -> Read:
    with ipc.InputStream.from_path(path) as source, na.ArrayStream(source) as stream:
        table = stream.read_all()
    batches = [na.c_array(batch) for batch in table.iter_chunks()]
    columns = list(na.c_schema(table.schema).children)
    return Read(
        names=[column.name for column in columns],
        types=[c_schema_view(column).type for column in columns],
        rows=len(table),
        values=[
            [value for batch in batches for value in values(column, batch.view().child(number))]
            for number, column in enumerate(columns)
        ],
        writers={"stream": lambda path: write(path, table)},
    )


def write(path: Path, table: na.Array) -> None:
    with ipc.StreamWriter.from_path(path) as writer:
        writer.write_stream(table)


def values(schema, array) -> list:
    """The values of an array, of which `schema` is nanoarrow's C schema."""
    view = c_schema_view(schema)
    kind = view.type

    def elements(buffer: int, more: int = 0) -> list:
        return list(array.buffer(buffer).elements(array.offset, array.length + more))

    def pieces(of) -> list:
        """What lies between offsets, of which an array without rows may have none."""
        offsets = elements(1, 1) if array.length else []
        return [of[start:end] for start, end in pairwise(offsets)]

    def or_null(items) -> list:
        if array.null_count == 0 or array.buffer(0).n_elements == 0:
            return list(items)
        return [item if valid else None for valid, item in zip(elements(0), items, strict=True)]

    match kind:
        case "na":
            return [None] * array.length
        case "dictionary":
            return meant(values(schema.dictionary, array.dictionary), or_null(elements(1)))
        case "bool":
            return or_null(map(bool, elements(1)))
        case "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64":
            return or_null(map(str, elements(1)))
        case "half_float" | "float" | "double":
            return or_null(map(number, elements(1)))
        case "decimal32" | "decimal64" | "decimal128" | "decimal256":
            integers = (int.from_bytes(item, "little", signed=True) for item in elements(1))
            return or_null(scaled(integer, view.decimal_scale) for integer in integers)
        case "date32":
            return times(DAY, or_null(elements(1)))
        case "date64":
            return times(UNITS["ms"], or_null(elements(1)))
        case "time32" | "time64" | "timestamp":
            return times(UNITS[view.time_unit], or_null(elements(1)))
        case "duration":
            return durations(UNITS[view.time_unit], or_null(elements(1)))
        case "interval_months":
            return or_null(interval(months, 0, 0) for months in elements(1))
        case "interval_day_time":
            return or_null(interval(0, days, ms * UNITS["ms"]) for days, ms in elements(1))
        case "interval_month_day_nano":
            return or_null(interval(*parts) for parts in elements(1))
        case "string" | "large_string":
            return or_null(str(item, "utf-8") for item in pieces(bytes(array.buffer(2))))
        case "binary" | "large_binary":
            return or_null(map(bytes.hex, pieces(bytes(array.buffer(2)))))
        case "fixed_size_binary":
            return or_null(map(bytes.hex, elements(1)))
        case "list" | "large_list" | "map":
            return or_null(pieces(values(schema.child(0), array.child(0))))
        case "fixed_size_list":
            child, size = values(schema.child(0), array.child(0)), view.fixed_size
            rows = range(array.offset, array.offset + array.length)
            return or_null(child[row * size : (row + 1) * size] for row in rows)
        case "struct":
            columns = [values(*child) for child in zip(schema.children, array.children, strict=True)]
            return structs(columns, or_null([True] * array.length))
        case "dense_union" | "sparse_union":
            rows = elements(1) if kind == "dense_union" else range(array.offset, array.offset + array.length)
            fields = zip(view.union_type_ids, schema.children, array.children, strict=True)
            children = {code: (field.name, values(field, child)) for code, field, child in fields}
            meant_by = zip(map(children.get, elements(0)), rows, strict=True)
            return [[name, child[row]] for (name, child), row in meant_by]
    raise Unhandled(kind)


if __name__ == "__main__":
    answer(f"nanoarrow {na.__version__}", read)
