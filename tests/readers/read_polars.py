"""Reads Arrow IPC with polars; answer.py says how it is asked."""

from pathlib import Path

import polars as pl
from answer import DAY, UNITS, Read, Unhandled, answer, decimal, durations, each, number, structs, times


def read(path: Path) -> Read:
    df = pl.read_ipc(path) if path.suffix == ".arrow" else pl.read_ipc_stream(path)
    # The newest types that polars has in Arrow, so that they come back as they are.
    newest = {"compat_level": pl.CompatLevel.newest()}
    return Read(
        names=df.columns,
        types=[str(dtype) for dtype in df.dtypes],
        rows=df.height,
        values=[values(column) for column in df],
        writers={
            "stream": lambda path: df.write_ipc_stream(path, **newest),
            "file": lambda path: df.write_ipc(path, **newest),
            "lz4": lambda path: df.write_ipc_stream(path, compression="lz4", **newest),
            "zstd": lambda path: df.write_ipc_stream(path, compression="zstd", **newest),
        },
    )


def values(column: pl.Series) -> list:
    """The values of a column, which polars gives as integers for what Python has no exact type."""
    match column.dtype:
        case pl.Null:
            return [None] * len(column)
        case pl.Boolean | pl.String:
            return column.to_list()
        case pl.Categorical | pl.Enum:
            return column.cast(pl.String).to_list()
        case dtype if dtype.is_integer():
            return each(str, column.to_list())
        case dtype if dtype.is_float():
            return each(number, column.to_list())
        case pl.Decimal():
            return each(decimal, column.to_list())
        case pl.Binary:
            return each(bytes.hex, column.to_list())
        case pl.Date:
            return times(DAY, column.to_physical().to_list())
        case pl.Time:
            return times(1, column.to_physical().to_list())
        case pl.Datetime(time_unit=unit):
            return times(UNITS[unit], column.to_physical().to_list())
        case pl.Duration(time_unit=unit):
            return durations(UNITS[unit], column.to_physical().to_list())
        case pl.List() | pl.Array():
            return [row if row is None else values(row) for row in column]
        case pl.Map(key=key, value=value):
            return values(column.cast(pl.List(pl.Struct({"key": key, "value": value}))))
        case pl.Struct(fields=fields):
            columns = [values(column.struct.field(field.name)) for field in fields]
            return structs(columns, column.is_not_null().to_list())
        case pl.BaseExtension():
            return values(column.ext.storage())
    raise Unhandled(column.dtype)


if __name__ == "__main__":
    answer(f"polars {pl.__version__}", read)
