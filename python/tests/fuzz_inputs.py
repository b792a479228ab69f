"""Natural streams of every kind that the package writes, and mutations of them.

A mutation keeps what is checked first: messages stay flatbuffers, notes stay JSON, and Arrow's own types stay
sound. What is wrong is a number, a type or a name in them.
"""

import base64
import copy
import functools
import io
import json
import struct

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
from arrow_frames import _native

MARKER = b"\xff\xff\xff\xff"
END = MARKER + b"\0\0\0\0"
KEY = b"arrow_frames"

#: Numbers at which something overflows, or changes its sign.
EDGES = (
    -1, 0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 128, 255, 256, 1000, 4096, 65_535, 65_536, 10**6, 2**24, 10**7, 10**8, 2**28 - 1,
    2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**40, 2**60, 2**61, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    -2, -4, -8, -64, -4000, -(2**31), -(2**40), -(2**62), -(2**63),
)  # fmt: skip

#: What takes the place of a value: other types.
OTHERS = (None, True, False, 0.0, -1.5, 1e308, "", "x", "1", [], {}, [[]], [None], [0, 0], {"float": "nan"})

#: dtypes as notes name them.
DTYPES = (
    "|b1", "?", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", ">i4", ">f8",
    "<M8[ns]", "<M8[s]", "<M8", "<m8[us]", "|S1", "|S0", "|S8", "<U1", "<U0", "<U4", "|V0", "|V1", "|V8", "|V16", "O", "|O",
    "|S3000000000", "<U700000000", "|V2147483647", "<f16", "<g", "a", "object", "str", "category", "int64", "float64",
    "datetime64[ns]", "string", "string[pyarrow]", "Int64", "boolean",
)  # fmt: skip

KINDS = (
    "pandas.DataFrame", "pandas.Series", "pandas.Index", "pyarrow.Table", "pyarrow.RecordBatch", "pyarrow.RecordBatchReader",
    "pyarrow.Array", "pyarrow.ChunkedArray", "polars.DataFrame", "polars.Series", "arrow.Stream", "arrow.Array",
    "python.object", "numpy.ndarray", "numpy.memmap", "numpy.recarray", "numpy.matrix", "numpy.chararray",
    "numpy.MaskedArray", *(f"scipy.{form}_{sort}" for form in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
                           for sort in ("array", "matrix")),
)  # fmt: skip

#: Entries of `arrays`, and what stands beside them in notes.
WORDS = (
    "numpy", "bool", "masked", "arrow", "arrow:string", "arrow:int64", "text:str", "text:string[python]",
    "text:string[pyarrow]", "text:object", "category", "zoned", "form", "form;freq:D", "freq:D", "zone:pytz", "zone:zoneinfo",
    "zone:datetime", "form;zone:pytz", "raw", "objects", "pickle", "level:", "range", "multi", "class", "index", "labels",
    "names", "freqs", "name", "attrs", "unique_labels", "parts", "shape", "strides", "offset", "dtype", "readonly", "mask",
    "fill", "hard", "order", "arrays", "stream", "text", "rows", "places", "tuple", "dict", "float", "pickle", "version",
    "D", "B", "2D", "ns", "UTC", "Europe/Paris", "dateutil//etc/passwd", "tzlocal()", "/etc/passwd", "C", "F",
    "DatetimeIndex", "TimedeltaIndex", "PeriodIndex", "CategoricalIndex", "IntervalIndex", "RangeIndex", "MultiIndex",
    "POLARS_EXTENSION_TYPE",
)  # fmt: skip


@functools.cache
def corpus() -> dict[str, bytes]:
    """Streams of every kind, by name: those that load without `allow_pickle`, and are small."""
    streams = forms()
    for name, make in natural().items():
        for how in (
            {},
            {"target": "arrow"},
            {"target": "pandas"},
            {"compression": "lz4"},
            {"compression": "zstd"},
            {"writable": True},
        ):
            try:
                stream = af.dumps(make(), **how)
                af.loads(stream)
            except (af.ArrowFramesError, ImportError, TypeError, NotImplementedError, AttributeError):
                # A pickle of any class, a target that this object does not have, or a type of a later pyarrow.
                continue
            if len(stream) < 20_000 and stream not in streams.values():
                streams[f"{name}, {', '.join(f'{key}={value}' for key, value in how.items()) or 'plain'}"] = (
                    stream
                )
    return streams


def chosen(streams: dict[str, bytes], rng) -> str:
    """The name of one of them: columns have many more names than all else, and are no more likely."""
    groups = {}
    for name in streams:
        groups.setdefault(GROUPS.get(name.split()[0], "arrays"), []).append(name)
    return rng.choice(groups[rng.choice(sorted(groups))])


#: What the first word of a name stands for; all else is arrays.
GROUPS = {
    "column": "columns", "series": "columns", "frame": "frames", "index": "frames", "labels": "frames", "table": "tables",
    "sparse": "sparse", "polars": "tables", "batch,": "tables", "reader,": "tables", "arrow": "tables", "chunked": "tables",
    "form": "forms",
}  # fmt: skip


def natural() -> dict:
    """What makes each object, by name."""
    made = {}
    for name, kind in kinds.kinds().items():
        if kind.is_safe:
            made[f"column {name}"] = lambda k=kind: pd.DataFrame(
                {"v": k.column(), "n": np.arange(kinds.ROWS)}
            )
            made[f"series {name}"] = lambda k=kind: k.column().iloc[:9]
    for name, index in kinds.indexes().items():
        made[f"index {name}"] = lambda i=index: i
        made[f"frame with index {name}"] = lambda i=index: pd.DataFrame({"v": np.arange(6.0)}, index=i)
        made[f"series with index {name}"] = lambda i=index: pd.Series(np.arange(6), index=i, name="s")
    for name, labels in kinds.labels().items():
        made[f"labels {name}"] = lambda i=labels: pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=i)
    made |= frames() | arrays() | sparse() | tables() | polars()
    return made


def frames() -> dict:
    """DataFrames of several columns."""

    def mixed():
        frame = pd.DataFrame({
            "n": np.arange(5), "x": np.linspace(0, 1, 5), "t": list("abcde"), "c": pd.Categorical(list("aabbc")),
            "d": pd.date_range("2020", periods=5, tz="UTC"), "b": [True, False, True, True, False],
            "m": pd.array([1, None, 3, 4, 5], "Int64"), "o": [{"a": 1}, None, (1,), "x", 2.5],
        })  # fmt: skip
        frame.attrs = {"source": "here", "moment": (1, 2.5, None)}
        return frame

    def levels():
        index = pd.MultiIndex.from_product(
            [["a", "b"], pd.date_range("2020", periods=3), [1.5]], names=list("xyz")
        )
        return pd.DataFrame({"v": np.arange(6), "w": list("uvwuvw")}, index=index)

    return {
        "frame mixed": mixed,
        "frame levels": levels,
        "frame of one block": lambda: pd.DataFrame(np.arange(40.0).reshape(8, 5)),
        "frame of one block, by columns": lambda: pd.DataFrame(
            np.asfortranarray(np.arange(40).reshape(8, 5))
        ),
        "frame no rows": lambda: pd.DataFrame({"a": [], "b": pd.array([], "Int64"), "c": pd.Categorical([])}),
        "frame no columns": lambda: pd.DataFrame(index=range(4)),
        "frame sparse": lambda: pd.DataFrame({"s": pd.arrays.SparseArray([0, 0, 1, 2] * 5), "n": range(20)}),
        "frame of nulls": lambda: pd.DataFrame({"a": [None] * 5, "b": [None] * 5}),
        "frame of zeros": lambda: pd.DataFrame({"a": np.zeros(50_000), "s": ["x"] * 50_000}),
        "frame wide": lambda: pd.DataFrame({f"c{n}": np.arange(2) + n for n in range(30)}),
    }


def arrays() -> dict:
    """Arrays of numpy: strided, structured, of objects, masked."""
    record = np.dtype([("a", "i1"), ("b", "<f8"), ("c", "S3"), ("d", "<i4", (2,))], align=True)
    made = {
        "array strided": lambda: np.arange(60).reshape(3, 4, 5)[::2, :, ::-2],
        "array repeated": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
        "array structured": lambda: np.zeros((3, 2), record),
        "array structured, strided": lambda: np.zeros(12, record)[::3],
        "array of objects": lambda: np.array([[1, "x"], [None, 2.5]], dtype=object),
        "array of text": lambda: np.array(["a", "bcd", ""]),
        "array of bytes": lambda: np.array([b"a", b"bcd", b""]),
        "array of moments": lambda: np.array(["2020-01-01", "NaT"], "M8[s]"),
        "array of no dimensions": lambda: np.array(5.0),
        "array of zeros": lambda: np.zeros(100_000),
        "array of nothing": lambda: np.zeros((0, 3)),
        "array read-only": lambda: readonly(np.arange(20)),
        "record array": lambda: np.rec.fromarrays([[1, 2], ["a", "b"]], names="n,t"),
        "matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
        "character array": lambda: np.char.array(["a", "bc"]),
        "masked array": lambda: np.ma.array(np.arange(6.0), mask=[0, 1, 0, 0, 1, 0], fill_value=7.0),
        "masked array, no mask": lambda: np.ma.array(np.arange(6)),
        "masked structured": lambda: np.ma.zeros(3, record),
    }
    for dtype in (
        "?",
        "i1",
        "u2",
        "<i4",
        "<i8",
        "<u8",
        "f2",
        "<f4",
        "<f8",
        "<c16",
        ">i4",
        "M8[ns]",
        "m8[us]",
    ):
        made[f"array {dtype}"] = lambda d=dtype: np.arange(12).reshape(3, 4).astype(d)
        made[f"array {dtype}, by columns"] = lambda d=dtype: np.asfortranarray(
            np.arange(12).reshape(3, 4).astype(d)
        )
    return made


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def sparse() -> dict:
    """Sparse matrices of scipy, in every format."""
    from scipy import sparse as scipy

    made = {}
    for form in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil"):
        for sort in ("array", "matrix"):
            if not hasattr(scipy, f"{form}_{sort}"):
                continue
            for dtype in ("<f8", "<i4", "<c16", "?"):
                dense = np.zeros((8, 6), dtype)
                dense[0, 1] = dense[2, 3] = dense[5, 5] = dense[7, 0] = 1
                made[f"sparse {form}_{sort} {dtype}"] = lambda f=f"{form}_{sort}", d=dense: getattr(scipy, f)(
                    d
                )
    return made


def tables() -> dict:
    """Objects of pyarrow."""
    made = {}
    for kind, values in kinds.arrow_samples():
        made[f"table {kind}"] = lambda k=kind, v=values: pa.table(
            {"v": pa.array(v, k), "n": pa.array(range(len(v)))}
        )
    batch = lambda: pa.record_batch({"a": [1, None, 3], "t": ["x", None, "z"]})
    ends = lambda: pa.table(
        {"e": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["x", "y"]))}
    )
    twice = pa.array(list("aab")).dictionary_encode()
    return made | {
        "batch": batch,
        "reader": lambda: pa.RecordBatchReader.from_batches(batch().schema, [batch(), batch()]),
        "arrow array": lambda: pa.array([[1, 2], None, []]),
        "chunked array": lambda: pa.chunked_array([["a", "b"], ["c"]]),
        "table of pandas": lambda: pa.Table.from_pandas(
            pd.DataFrame({"a": [1, 2]}, index=pd.Index(list("xy"), name="k"))
        ),
        "table of batches": lambda: pa.concat_tables([pa.table({"a": [1, 2]})] * 3),
        "table of run ends": ends,
        "table of views": lambda: pa.table(
            {"v": pa.array(["short", "a long text of its own"]).cast(pa.string_view())}
        ),
        "table of a dictionary twice": lambda: pa.table(dict.fromkeys("de", twice)),
    }


def polars() -> dict:
    """Objects of polars, where it is installed."""
    try:
        import polars as pl
    except ImportError:
        return {}
    frame = lambda: pl.DataFrame(
        {"a": [1, None], "t": ["x", "y"], "c": pl.Series(["u", "v"], dtype=pl.Categorical)}
    )
    return {"polars frame": frame, "polars series": lambda: pl.Series("s", [[1, 2], None])}


def forms() -> dict:
    """Pickles that are loaded without `allow_pickle`, as objects of their own."""
    call, buffer = _native.Call, _native.OutOfBand
    array = lambda dtype, *values: call(
        "numpy", "frombuffer", buffer(np.array(values, dtype)), dtype, len(values)
    )
    made = {
        "categorical": call("pandas", "Categorical.from_codes", array("<i1", 0, 1, -1), ["x", "y"], False),
        "array": array("<f8", 0.5, 1.5),
        "integers": call("pandas.arrays", "IntegerArray", array("<i8", 1, 2, 3), array("|b1", 0, 1, 0)),
        "booleans": call("pandas.arrays", "BooleanArray", array("|b1", 1, 0, 1), array("|b1", 0, 1, 0)),
        "periods": call(
            "pandas.arrays", "PeriodArray", array("<i8", 1, 2), call("pandas", "PeriodDtype", "D")
        ),
        "intervals": call(
            "pandas.arrays",
            "IntervalArray.from_arrays",
            array("<i8", 1, 2),
            array("<i8", 3, 4),
            "left",
            False,
        ),
        "zoned": call(
            "pandas", "array", array("<i8", 1, 2), call("pandas", "DatetimeTZDtype", "ns", "UTC"), False
        ),
    }
    metadata = [("arrow_frames", json.dumps({"version": 1, "kind": "python.object"}))]

    def stream(form):
        header, buffers, _ = _native.encode_object(_native.pickle(form), metadata)
        return b"".join(_native.segments(header, buffers))

    return {f"form {name}": stream(form) for name, form in made.items()}


# Messages.


def split(stream: bytes) -> list[list[bytearray]]:
    """The metadata and the body of each message, as far as they can be read."""
    messages, at = [], 0
    while stream[at : at + 4] == MARKER:
        length = struct.unpack_from("<i", stream, at + 4)[0]
        if length <= 0 or at + 8 + length > len(stream):
            break
        metadata = bytearray(stream[at + 8 : at + 8 + length])
        at += 8 + length
        place = slot(metadata, root(metadata), 3)
        body = struct.unpack_from("<q", metadata, place)[0] if place else 0
        messages.append([metadata, bytearray(stream[at : at + body])])
        at += body
    return messages


def join(messages: list[list[bytearray]]) -> bytes:
    written = b"".join(
        MARKER + struct.pack("<i", len(metadata)) + metadata + body for metadata, body in messages
    )
    # A tensor is all of its stream.
    is_tensor = bool(messages) and kind_of(messages[0][0]) > 3
    return written if is_tensor else written + END


def root(metadata: bytearray) -> int:
    return struct.unpack_from("<I", metadata, 0)[0]


def slot(metadata: bytearray, table: int, number: int) -> int | None:
    """Where a field of a table lies, unless it has its default."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, vtable)[0]
    if 4 + 2 * number + 2 > size:
        return None
    offset = struct.unpack_from("<H", metadata, vtable + 4 + 2 * number)[0]
    return table + offset if offset else None


def follow(metadata: bytearray, place: int | None) -> int | None:
    return None if place is None else place + struct.unpack_from("<I", metadata, place)[0]


def kind_of(metadata: bytearray) -> int:
    """1 is a schema, 2 a dictionary, 3 a batch, 4 a tensor, 5 a sparse one."""
    place = slot(metadata, root(metadata), 1)
    return metadata[place] if place else 0


def batch_of(metadata: bytearray) -> int | None:
    """The table of the batch of a message."""
    header = follow(metadata, slot(metadata, root(metadata), 2))
    if kind_of(metadata) == 2:
        header = follow(metadata, slot(metadata, header, 1))
    return header if kind_of(metadata) in (2, 3) else None


def structs(metadata: bytearray, batch: int, number: int) -> list[int]:
    """Where the pairs of numbers lie: 1 are the nodes of a batch, 2 its buffers."""
    vector = follow(metadata, slot(metadata, batch, number))
    if vector is None:
        return []
    return [vector + 4 + 16 * index for index in range(struct.unpack_from("<I", metadata, vector)[0])]


def note_of(messages) -> dict | None:
    """The note in the schema's metadata."""
    return read_json(schema_of(messages).metadata, KEY)


def read_json(metadata, key: bytes):
    try:
        return json.loads((metadata or {})[key])
    except (KeyError, ValueError):
        return None


def schema_of(messages) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(join(messages[:1])))


def with_schema(messages, schema: pa.Schema) -> list:
    """The same batches behind another schema."""
    return [[bytearray(split(schema.serialize().to_pybytes() + END)[0][0]), bytearray()], *messages[1:]]


def with_metadata(messages, key: bytes, value) -> list:
    schema = schema_of(messages)
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return with_schema(messages, schema.with_metadata({**(schema.metadata or {}), key: text}))


# Mutations. Each takes the messages of a stream and gives back others, or None where it has nothing to change.


def mutated(stream: bytes, rng, others: list[bytes], depth: int = 0) -> tuple[bytes, list[str]]:
    """Another stream, and which mutations made it."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        mutate = rng.choice(MUTATIONS)
        if mutate in (change_column, change_columns) and not SOUND.issuperset(done):
            # pyarrow reads these, and what it makes of damaged batches is not what is looked for.
            continue
        try:
            messages = split(stream)
            if (
                messages
                and kind_of(messages[0][0]) != 1
                and mutate not in (change_numbers, change_body, change_word)
            ):
                mutate = rng.choice((change_numbers, change_body, change_word))
            changed = mutate(messages, rng, others, depth) if messages else None
            changed = None if changed is None else join(changed)
        except Exception:
            # What is no longer a stream cannot be taken apart.
            changed = None
        if changed is not None:
            stream = changed
            done.append(mutate.__name__)
    return stream, done


def change_note(messages, rng, others, depth):
    note = note_of(messages)
    if note is None:
        return None
    for _ in range(rng.choice((1, 1, 2, 3))):
        note = changed_json(note, rng, others, depth)
    return with_metadata(messages, KEY, note)


def change_parts(messages, rng, others, depth):
    """The numbers of one array that a note describes, which fit together or nearly do."""
    note = note_of(messages)
    parts = [part for part in (note or {}).get("parts", []) if isinstance(part, dict)]
    if not parts:
        return None
    part = rng.choice(parts)
    shape = part.get("shape") or [1]
    match rng.randrange(9):
        case 0:
            part["offset"] = rng.choice(EDGES)
        case 1:
            part["strides"] = [rng.choice(EDGES) for _ in shape]
        case 2:
            part["strides"] = [0] * len(shape)
            part["shape"] = [rng.choice((10, 10**5, 10**9, 2**40, 2**62)) for _ in shape]
        case 3:
            part["shape"] = [*shape, 0]
        case 4:
            part["shape"] = [*shape, 1] if rng.random() < 0.5 else [1, *shape]
        case 5:
            part["dtype"] = rng.choice(DTYPES)
        case 6:
            part["shape"], part["strides"] = (
                [2 ** rng.choice((31, 32, 61, 62)) + 1],
                [2 ** rng.choice((0, 2, 3, 32, 33))],
            )
        case 7:
            # Another array with other bytes.
            other = rng.choice(parts)
            part["dtype"], other["dtype"] = other.get("dtype"), part.get("dtype")
        case _:
            part["strides"] = [-size for size in part.get("strides") or [8] * len(shape)]
            part["offset"] = rng.choice((0, 8, 64, 1000))
    return with_metadata(messages, KEY, note)


def change_pandas(messages, rng, others, depth):
    metadata = read_json(schema_of(messages).metadata, b"pandas")
    if metadata is None:
        names = schema_of(messages).names
        metadata = {"index_columns": names[:1], "columns": [], "column_indexes": []}
        if rng.random() < 0.7:
            return None
    for _ in range(rng.choice((1, 2, 3))):
        metadata = changed_json(metadata, rng, others, depth)
    return with_metadata(messages, b"pandas", metadata)


def drop_metadata(messages, rng, others, depth):
    schema = schema_of(messages)
    kept = {key: value for key, value in (schema.metadata or {}).items() if rng.random() < 0.5}
    return with_schema(messages, schema.with_metadata(kept))


def change_mark(messages, rng, others, depth):
    """What a field says, of the column or of an extension."""
    schema = schema_of(messages)
    if not schema.names:
        return None
    index = rng.randrange(len(schema.names))
    field = schema.field(index)
    metadata = dict(field.metadata or {})
    mark = read_json(metadata, KEY)
    match rng.randrange(4):
        case 0 if mark is not None:
            metadata[KEY] = json.dumps(changed_json(mark, rng, others, depth)).encode()
        case 1 if metadata:
            del metadata[rng.choice(sorted(metadata))]
        case 2:
            metadata[b"ARROW:extension:name"] = rng.choice(
                (b"arrow.json", b"pandas.period", b"pandas.interval", b"POLARS_EXTENSION_TYPE", b"arrow.uuid",
                 b"arrow.fixed_shape_tensor", b"arrow.bool8", b"arrow.py_extension_type"))  # fmt: skip
            metadata[b"ARROW:extension:metadata"] = rng.choice(
                (b"", b"{}", b"cposix\ngetpid\n(tR.", b'{"freq":"D"}', b'{"subtype":"int64","closed":"left"}', b"1;99999", b'{"shape":[2]}'))  # fmt: skip
        case _:
            metadata[KEY] = b'{"type_name":"object","vendor_name":"python"}'
    return with_schema(messages, schema.set(index, field.with_metadata(metadata)))


#: Types with the same buffers.
ALIKE = [
    [pa.int64(), pa.uint64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.duration("us"), pa.date64(),
     pa.time64("ns"), pa.timestamp("us", "Europe/Paris"), pa.timestamp("ns", "dateutil//etc/passwd"), pa.binary(8),
     pa.timestamp("us", "tzlocal()"), pa.int32(), pa.int8(), pa.float16(), pa.bool_()],
    [pa.int32(), pa.uint32(), pa.float32(), pa.date32(), pa.time32("s"), pa.binary(4), pa.int16()],
    [pa.int8(), pa.uint8(), pa.binary(1), pa.bool_()],
    [pa.int16(), pa.uint16(), pa.float16(), pa.binary(2)],
    [pa.string(), pa.binary()],
    [pa.large_string(), pa.large_binary()],
]  # fmt: skip


def change_type(messages, rng, others, depth):
    """Another type in the schema, over the buffers that are there."""
    schema = schema_of(messages)
    if not schema.names:
        return None
    index = rng.randrange(len(schema.names))
    field = schema.field(index)
    alike = [kind for group in ALIKE if field.type in group for kind in group]
    if not alike:
        return None
    return with_schema(messages, schema.set(index, field.with_type(rng.choice(alike))))


def change_nullable(messages, rng, others, depth):
    schema = schema_of(messages)
    if not schema.names:
        return None
    index = rng.randrange(len(schema.names))
    field = schema.field(index)
    return with_schema(messages, schema.set(index, field.with_nullable(not field.nullable)))


def change_column(messages, rng, others, depth):
    """A column of another type and its values, under an unchanged note."""
    table = pa.ipc.open_stream(pa.py_buffer(join(messages))).read_all()
    if not table.num_columns:
        return None
    index, rows = rng.randrange(table.num_columns), table.num_rows
    kinds_of = (note_of(messages) or {}).get("arrays")
    levels = [
        place
        for place, kind in enumerate(kinds_of if isinstance(kinds_of, list) else [])
        if str(kind).startswith("level:")
    ]
    if levels and rng.random() < 0.5:
        index = min(rng.choice(levels), table.num_columns - 1)
    field = table.schema.field(index)
    values = table.column(index).to_pylist()
    text = [None if value is None else str(value) for value in values]
    numbers = [rng.choice((0, 1, 2, 127, 100, 20_000, -1, 5)) for _ in range(rows)]
    column = rng.choice([
        lambda: pa.array(text, pa.string()), lambda: pa.array(text, pa.large_string()),
        lambda: pa.array([str(number) for number in numbers], pa.string()),
        lambda: pa.array([str(number).encode() for number in numbers], pa.binary()),
        lambda: pa.array(numbers, pa.int64()), lambda: pa.array([number % 128 for number in numbers], pa.int8()),
        lambda: pa.array([float(number) for number in numbers], pa.float64()),
        lambda: pa.array([number % 2 == 0 for number in numbers], pa.bool_()),
        lambda: pa.array([[number] for number in numbers], pa.list_(pa.int64())),
        lambda: pa.nulls(rows), lambda: pa.nulls(rows, pa.int64()), lambda: pa.nulls(rows, pa.string()),
        lambda: pa.array(text, pa.string()).dictionary_encode(),
        lambda: pa.array([{"x": number} for number in numbers]),
        lambda: pa.array(numbers, pa.int64()).cast(pa.timestamp("us", "Europe/Paris")),
        lambda: pa.array([number % 256 for number in numbers], pa.uint8()),
    ])()  # fmt: skip
    changed = table.set_column(index, pa.field(field.name, column.type, metadata=field.metadata), column)
    return split(written(changed.replace_schema_metadata(table.schema.metadata)))


def change_columns(messages, rng, others, depth):
    """Columns dropped, repeated, renamed or in another order; rows dropped; batches."""
    table = pa.ipc.open_stream(pa.py_buffer(join(messages))).read_all()
    if not table.num_columns:
        return None
    places = list(range(table.num_columns))
    match rng.randrange(5):
        case 0:
            rng.shuffle(places)
            table = table.select(places)
        case 1:
            del places[rng.randrange(len(places))]
            table = table.select(places)
        case 2:
            table = table.select([*places, rng.choice(places)])
        case 3:
            table = table.slice(rng.randrange(table.num_rows + 1), rng.randrange(table.num_rows + 1))
        case _:
            names = list(table.schema.names)
            names[rng.randrange(len(names))] = rng.choice((*names, "", "__index_level_0__", "a", "0"))
            table = table.rename_columns(names)
    return split(written(table, rng.choice((None, 1, 2))))


def written(table: pa.Table, rows: int | None = None) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue()


def change_numbers(messages, rng, others, depth):
    """Offsets, lengths, rows and null counts of a batch; of a tensor any number."""
    metadata = rng.choice(messages[1:] or messages)[0]
    batch = batch_of(metadata)
    places = []
    if batch is None:
        places = list(range(8, len(metadata) - 8, 4))
    else:
        rows = slot(metadata, batch, 0)
        pairs = structs(metadata, batch, 1) + structs(metadata, batch, 2) * 2
        places = [place + step for place in pairs for step in (0, 8)] + ([rows] if rows else [])
    if not places:
        return None
    for _ in range(rng.choice((1, 1, 2))):
        place, other = rng.choice(places), rng.choice(places)
        number = struct.unpack_from("<q", metadata, place)[0]
        new = rng.choice((
            rng.choice(EDGES), number + rng.choice((1, -1, 8, -8, 64, -64)), number * 2, number // 2,
            struct.unpack_from("<q", metadata, other)[0],
        ))  # fmt: skip
        struct.pack_into("<q", metadata, place, signed(new))
    return messages


def many_rows(messages, rng, others, depth):
    """Other rows in all places that say how many there are: columns of nulls have no bytes for them."""
    metadata = rng.choice(messages[1:] or messages)[0]
    batch = batch_of(metadata)
    rows = None if batch is None else slot(metadata, batch, 0)
    if rows is None:
        return None
    old, new = (
        struct.unpack_from("<q", metadata, rows)[0],
        rng.choice((1, 1000, 10**6, 10**7, 2**26, 2**28, 2**40)),
    )
    for place in (rows, *(place + step for place in structs(metadata, batch, 1) for step in (0, 8))):
        if struct.unpack_from("<q", metadata, place)[0] == old:
            struct.pack_into("<q", metadata, place, new)
    return messages


def overlap(messages, rng, others, depth):
    """A buffer that lies on another one."""
    metadata = rng.choice(messages[1:] or messages)[0]
    batch = batch_of(metadata)
    places = [] if batch is None else structs(metadata, batch, 2)
    full = [place for place in places if struct.unpack_from("<q", metadata, place + 8)[0] > 0]
    if len(full) < 2:
        return None
    one, other = rng.sample(full, 2)
    offset, length = struct.unpack_from("<qq", metadata, other)
    own = struct.unpack_from("<q", metadata, one + 8)[0]
    struct.pack_into("<qq", metadata, one, offset + rng.choice((0, 0, 0, 8, 64)), min(own, length))
    return messages


def signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def change_body(messages, rng, others, depth):
    """Words of a buffer: offsets, codes, masks, numbers in a pickle."""
    full = [body for _, body in messages if body]
    if not full:
        return None
    body = rng.choice(full)
    for _ in range(rng.choice((1, 2, 3))):
        width, code = rng.choice(((1, "<b"), (2, "<h"), (4, "<i"), (8, "<q")))
        if len(body) >= width:
            place = rng.randrange(len(body) // width) * width
            bits = 8 * width
            number = rng.choice((*EDGES, struct.unpack_from(code, body, place)[0] + rng.choice((1, -1, 8))))
            struct.pack_into(code, body, place, (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))
    return messages


#: Texts of one length that stand for each other: dtypes, and names in pickles.
TEXTS = [
    [
        b"<i8",
        b"<f8",
        b"<u8",
        b"<M8",
        b"<m8",
        b"<i4",
        b"<i1",
        b"<c8",
        b"|S8",
        b"<U2",
        b"|V8",
        b"|V0",
        b"|S0",
        b"|O8",
        b"|b1",
    ],
    [b"IntegerArray", b"BooleanArray"],
    [b"left", b"both"],
    [b"ns", b"us", b"ms"],
]


def change_word(messages, rng, others, depth):
    """A text in the metadata or a pickle for another one of its length."""
    where = rng.choice([part for message in messages for part in message if part])
    group = rng.choice(TEXTS)
    found = [(place, old) for old in group if (place := where.find(old)) >= 0]
    if not found:
        return None
    place, old = rng.choice(found)
    new = rng.choice([text for text in group if len(text) == len(old)])
    where[place : place + len(old)] = new
    return messages


def change_payload(messages, rng, others, depth):
    """Where the frames of opaque columns lie: digits of a message's own note."""
    notes = [metadata for metadata, _ in messages[1:] if b'{"version"' in metadata]
    if not notes:
        return None
    metadata = rng.choice(notes)
    start = metadata.index(b'{"version"')
    digits = [
        place for place in range(start, min(len(metadata), start + 4000)) if 48 <= metadata[place] <= 57
    ]
    for _ in range(rng.choice((1, 1, 2))):
        metadata[rng.choice(digits)] = rng.choice(b"0123456789")
    return messages


def cross(messages, rng, others, depth):
    """The note of one stream over the columns of another."""
    other = split(rng.choice(others))
    if kind_of(other[0][0]) != 1:
        return None
    note = note_of(other)
    if note is None or rng.random() < 0.3:
        return [messages[0], *other[1:]]
    return with_metadata(messages, KEY, note)


def changed_json(value, rng, others, depth):
    """A copy with one thing changed, anywhere in it."""
    value = copy.deepcopy(value)
    places = []

    def walk(holder, key, inner):
        places.append((holder, key))
        if isinstance(inner, dict):
            for name in list(inner):
                walk(inner, name, inner[name])
        elif isinstance(inner, list):
            for index, item in enumerate(inner[:40]):
                walk(inner, index, item)

    whole = [value]
    walk(whole, 0, value)
    holder, key = rng.choice(places[1:] or places)
    inner = holder[key]
    kind = rng.randrange(12)
    if isinstance(inner, str) and kind < 7:
        holder[key] = changed_text(inner, rng, others, depth)
    elif isinstance(inner, (int, float)) and kind < 7:
        holder[key] = rng.choice(
            (rng.choice(EDGES), inner + 1, inner - 1, inner * 2, -inner, float(inner), str(inner))
        )
    elif isinstance(inner, list) and inner and kind < 6:
        match rng.randrange(4):
            case 0:
                del inner[rng.randrange(len(inner))]
            case 1:
                inner.insert(rng.randrange(len(inner) + 1), copy.deepcopy(rng.choice(inner)))
            case 2:
                del inner[rng.randrange(len(inner)) :]
            case _:
                rng.shuffle(inner)
    elif isinstance(inner, dict) and inner and kind < 6:
        match rng.randrange(3):
            case 0:
                del inner[rng.choice(list(inner))]
            case 1:
                inner[rng.choice(WORDS)] = rng.choice((*OTHERS, rng.choice(EDGES)))
            case _:
                name = rng.choice(list(inner))
                inner[rng.choice(WORDS)] = inner.pop(name)
    elif kind < 9:
        other, name = rng.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif kind < 11:
        holder[key] = rng.choice(
            (*OTHERS, rng.choice(EDGES), rng.choice(WORDS), rng.choice(DTYPES), {"pickle": "gAVLAS4="})
        )
    else:
        holder[key] = [inner]
    return whole[0]


def changed_text(text: str, rng, others, depth):
    prefix, _, encoded = text.rpartition(":")
    if len(encoded) > 60 and depth < 2:
        # A stream inside: a level of the index, or labels.
        try:
            stream = base64.b64decode(encoded, validate=True)
        except ValueError:
            stream = b""
        if stream.startswith(MARKER):
            inner = rng.choice(others) if rng.random() < 0.1 else mutated(stream, rng, others, depth + 1)[0]
            return (f"{prefix}:" if prefix else "") + base64.b64encode(inner).decode()
    match rng.randrange(6):
        case 0:
            return rng.choice(DTYPES)
        case 1:
            return rng.choice(KINDS)
        case 2 | 3:
            return rng.choice(WORDS)
        case 4:
            return text[: rng.randrange(len(text) + 1)]
        case _:
            return text + rng.choice(("", ";", "0", ":", " ", "x" * 200, ";freq:D", ";zone:pytz"))


MUTATIONS = (
    *[change_note] * 6, *[change_parts] * 5, *[change_column] * 3, *[change_numbers] * 2, *[change_body] * 2,
    change_pandas, drop_metadata, change_mark, change_type, change_type, change_nullable, change_columns, overlap, overlap, many_rows,
    change_word, change_payload, cross,
)  # fmt: skip

#: Those that leave batches as they are.
SOUND = {"change_note", "change_parts", "change_pandas", "drop_metadata"}

#: Streams that need each library once.
FIRST = (
    "frame mixed, plain", "polars frame, plain", "sparse csr_array <f8, plain", "table list<item: int64>, plain",
    "column datetime64[ns, Europe/Paris], plain", "frame with index hours with a zone, plain", "form periods",
)  # fmt: skip
