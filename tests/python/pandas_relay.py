"""Writes streams again as relays do that know nothing of opaque columns, and reads the results.

Usage: pandas_relay.py FOLDER. Each stream `sent*.arrows` in it is relayed in every way that loses
the payload. For each way a line of JSON is printed: the file that was written beside it, and what
examples/consume.py makes of it. So it is of `later.arrows`, which is read as it is.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from consume import consume

KEY = b"arrow_frames"


def read(path: Path):
    """The schema, and the batches with the metadata of their messages."""
    reader, read = ipc.open_stream(path), []
    while True:
        try:
            read.append(reader.read_next_batch_with_custom_metadata())
        except StopIteration:
            return reader.schema, read


def write(path: Path, schema: pa.Schema, batches: list, codec=None) -> None:
    options = ipc.IpcWriteOptions(compression=codec)
    with ipc.new_stream(path, schema, options=options) as writer:
        for batch, metadata in batches:
            writer.write_batch(batch, custom_metadata=metadata)


def rebuilt(schema: pa.Schema, batches: list, change):
    """Every batch with its columns changed, and the metadata of its message kept."""
    columns = [list(zip(schema, batch.columns)) for batch, _ in batches]
    changed = [change(pairs, batch.num_rows) for pairs, (batch, _) in zip(columns, batches)]
    new = pa.schema([field for field, _ in changed[0]], metadata=schema.metadata)
    arrays = [[array for _, array in pairs] for pairs in changed]
    return new, [(pa.record_batch(a, schema=new), m) for a, (_, m) in zip(arrays, batches)]


def counter(rows: int) -> tuple:
    return pa.field("added", pa.int64()), pa.array(range(rows), pa.int64())


def ways(schema: pa.Schema, batches: list):
    """Names of ways to relay, and what is written."""
    with_rows = [pair for pair in batches if pair[0].num_rows]
    yield "written as it was read", schema, batches
    yield "without the metadata of messages", schema, [(batch, None) for batch, _ in batches]
    yield "a column added at the end", *rebuilt(schema, batches, lambda c, rows: [*c, counter(rows)])
    yield "a column added in front", *rebuilt(schema, batches, lambda c, rows: [counter(rows), *c])
    yield "a native column dropped", *rebuilt(schema, batches, lambda c, _: c[1:])
    yield "an opaque column dropped", *rebuilt(schema, batches, without_first_opaque)
    yield "columns in another order", *rebuilt(schema, batches, lambda c, _: c[::-1])
    second = [pa.array(range(0, batch.num_rows, 2), pa.int64()) for batch, _ in batches]
    yield "every second row", schema, [(b.take(rows), m) for (b, m), rows in zip(batches, second)]
    yield "batches sliced", schema, [(batch.slice(1, 2), m) for batch, m in with_rows]
    merged = pa.Table.from_batches([batch for batch, _ in batches]).combine_chunks().to_batches()
    yield "batches merged", schema, [(batch, batches[0][1]) for batch in merged]
    yield "batches the other way round", schema, [(b, m) for (b, _), (_, m) in zip(batches[::-1], batches)]


def without_first_opaque(pairs: list, _) -> list:
    first = next(n for n, (field, _) in enumerate(pairs) if KEY in (field.metadata or {}))
    return pairs[:first] + pairs[first + 1 :]


# Unpickled, it calls `ran`.
CODE = b"\x80\x05cpandas_relay\nran\n)R."
RAN = []


def ran() -> None:
    RAN.append(True)


def as_long(schema: pa.Schema, batches: list):
    """Adds a column of bytes to each batch that makes its body as long as the sender's was. Where the
    payload began there is a pickle now, which belongs to the column."""

    def column(length: int, place: int, rows: int) -> tuple:
        data = bytearray(length)
        data[place : place + len(CODE)] = CODE[:length]
        values = [bytes(data)] + [b""] * (rows - 1)
        return pa.field("bytes", pa.binary()), pa.array(values, pa.binary())

    def change(pairs: list, rows: int) -> list:
        note = json.loads(next(notes))
        offset = note["opaque"][0]["frames"][0][0]
        length = note["body_length"] - body([*pairs, column(0, 0, rows)]).size
        start = body([*pairs, column(length, 0, rows)]).to_pybytes().index(CODE)
        pairs = [*pairs, column(length, offset - start, rows)]
        assert body(pairs).size == note["body_length"]
        assert body(pairs)[offset : offset + len(CODE)].to_pybytes() == CODE
        return pairs

    batches = [pair for pair in batches if pair[0].num_rows]
    notes = iter([metadata[KEY] for _, metadata in batches])
    return rebuilt(schema, batches, change)


def body(pairs: list) -> pa.Buffer:
    """The body of a batch as pyarrow writes it."""
    fields, arrays = zip(*pairs)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, pa.schema(fields)) as writer:
        writer.write_batch(pa.record_batch(list(arrays), schema=pa.schema(fields)))
    return next(m for m in ipc.MessageReader.open_stream(sink.getvalue()) if m.type == "record batch").body


def outcome(path: Path) -> str:
    try:
        frame = consume(path.read_bytes())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"a DataFrame of {frame.shape}"


def main() -> None:
    sys.modules["pandas_relay"] = sys.modules["__main__"]
    folder = Path(sys.argv[1])
    for sent in sorted(folder.glob("sent*.arrows")):
        schema, batches = read(sent)
        codec = next((codec for codec in ("zstd", "lz4") if codec in sent.stem), None)
        relayed = [(codec, *way) for way in ways(schema, batches)]
        relayed.append(("lz4" if codec == "zstd" else "zstd", "compressed anew", schema, batches))
        if codec:
            relayed.append((None, "decompressed", schema, batches))
        else:
            way = "a column of pickles added, as long as the payload was"
            relayed.append((None, way, *as_long(schema, batches)))
        for number, (codec_now, way, new_schema, new) in enumerate(relayed):
            path = folder / f"{sent.stem}-{number:02}.relayed"
            write(path, new_schema, new, codec_now)
            print(json.dumps({"sent": sent.stem, "way": way, "file": path.name, "consume": outcome(path)}))
    way = "nothing, but what says where the payload lies has an unknown version"
    later = folder / "later.arrows"
    print(json.dumps({"sent": "later", "way": way, "file": later.name, "consume": outcome(later)}))
    assert not RAN, "a data column was unpickled"


if __name__ == "__main__":
    main()
