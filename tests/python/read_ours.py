"""Reads every stream and file in a folder with pyarrow, checks it, and writes it again.

Usage: read_ours.py IN OUT. Each is written to OUT as a stream, under its own name, batch by
batch, with the metadata of the batches' messages. Those with `zstd` or `lz4` in their names
are compressed by that codec, those with `delta` have dictionary deltas. For each one that
pyarrow refuses, a line `NAME: REASON` is printed.

If IN has a file `NAME.reference`, it holds the same data as another writer wrote it, and
pyarrow must find the two equal.
"""

import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc


def batches(path: Path):
    """The schema, and the batches with their custom metadata."""
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    if is_file:
        reader = ipc.open_file(path)
        read = [(reader.get_batch(n), None) for n in range(reader.num_record_batches)]
        return reader.schema, read
    reader = ipc.open_stream(path)
    read = []
    while True:
        try:
            read.append(reader.read_next_batch_with_custom_metadata())
        except StopIteration:
            return reader.schema, read


def check(path: Path, out: Path) -> None:
    schema, read = batches(path)
    for batch, _ in read:
        batch.validate(full=True)
        if batch.schema != schema:
            raise ValueError(f"a batch of {batch.schema}, not {schema}")
    reference = path.with_name(path.name + ".reference")
    if reference.exists():
        compare(schema, read, *batches(reference))
    codec = next((codec for codec in ("zstd", "lz4") if codec in path.name), None)
    options = ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas="delta" in path.name)
    with ipc.new_stream(out / path.name, schema, options=options) as writer:
        for batch, metadata in read:
            writer.write_batch(batch, custom_metadata=metadata)


def compare(schema, read, other_schema, other) -> None:
    if not schema.equals(other_schema, check_metadata=True):
        raise ValueError(f"schema {schema}\nis not {other_schema}")
    if len(read) != len(other):
        raise ValueError(f"{len(read)} batches, not {len(other)}")
    for number, ((batch, _), (other_batch, _)) in enumerate(zip(read, other)):
        if batch.num_rows != other_batch.num_rows:
            raise ValueError(f"batch {number}: {batch.num_rows} rows, not {other_batch.num_rows}")
        for field, column, other_column in zip(schema, batch.columns, other_batch.columns):
            if not is_equal(column, other_column):
                raise ValueError(f"batch {number}, column {field.name}: {column} is not {other_column}")


def is_equal(column: pa.Array, other: pa.Array) -> bool:
    """NaNs are equal here; `equals` says they are not."""
    return column.equals(other) or text(column) == text(other)


def text(column: pa.Array) -> str:
    """Every value, at any depth."""
    return column.to_string(window=10_000, container_window=10_000)


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    for path in sorted(source.iterdir()):
        if path.suffix == ".reference":
            continue
        try:
            check(path, out)
        except Exception as error:  # Whatever it is, the test names the file.
            print(f"{path.name}: {type(error).__name__}: {error}".replace("\n", " "))


if __name__ == "__main__":
    main()
