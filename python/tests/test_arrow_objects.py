"""Objects of pyarrow, and of whoever has Arrow's PyCapsules, come back as the kind that they were."""

import datetime

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same_scalar

ROWS = 60
HAS_CAPSULES = kinds.PYARROW >= 14
#: pyarrow before 14 has no capsules, and what it has instead cannot be told from others' objects.
needs_capsules = pytest.mark.skipif(not HAS_CAPSULES, reason="pyarrow has capsules since 14")


def samples() -> dict[str, pa.Array]:
    """An array of every type, by the name of the type."""
    found = {str(kind): numbered(kinds.arrow_values(kind, values)) for kind, values in kinds.arrow_samples()}
    rows = np.arange(ROWS)
    for kind in (pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()):
        found[str(kind)] = pa.array(rows % 100, kind, mask=rows % 7 == 0)
    for unit in ("s", "ms", "us", "ns"):
        found[f"timestamp[{unit}]"] = pa.array(rows, pa.timestamp(unit), mask=rows % 7 == 0)
        found[f"timestamp[{unit}, Asia/Tokyo]"] = pa.array(rows, pa.timestamp(unit, "Asia/Tokyo"))
        found[f"duration[{unit}]"] = pa.array(-rows, pa.duration(unit), mask=rows % 7 == 0)
    found["time32[ms]"] = pa.array([datetime.time(1, 2, 3, 4000), None] * (ROWS // 2), pa.time32("ms"))
    found["time64[ns]"] = pa.array(rows, pa.int64()).cast(pa.time64("ns"))
    found["halffloat"] = pa.array((rows / 4).astype("f2"), mask=rows % 7 == 0)
    found["month_day_nano"] = pa.array(
        [pa.MonthDayNano([1, -2, 3]), None] * (ROWS // 2), pa.month_day_nano_interval()
    )
    texts = pa.array(["b", None, "a"] * (ROWS // 3)).dictionary_encode()
    for index in (pa.int8(), pa.int32(), pa.uint16()):
        found[f"ordered dictionary of {index}"] = pa.DictionaryArray.from_arrays(
            texts.indices.cast(index), pa.array(["b", "a", "unused"]), ordered=True
        )
    found["dictionary of structs"] = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1] * (ROWS // 3), pa.int16()), pa.array([{"x": 1}, {"x": None}])
    )
    found["struct of dictionaries"] = pa.StructArray.from_arrays([texts, texts], ["p", "q"])
    found["list of dictionaries"] = pa.ListArray.from_arrays(
        pa.array([*range(ROWS), ROWS], pa.int32()), texts
    )
    nested = [[{"m": [("k", [1, None])]}], None, [], [{"m": None}, None]]
    kind = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.int8())))]))
    found["lists of structs of maps of lists"] = pa.array(nested * (ROWS // 4), kind)
    found["struct of nothing"] = pa.array([{}, None] * (ROWS // 2), pa.struct([]))
    numbers, words = pa.array(range(ROWS), pa.int64()), pa.array([f"w{n}" for n in range(ROWS)])
    codes = pa.array(rows % 2, pa.int8())
    found["sparse union"] = pa.UnionArray.from_sparse(codes, [numbers, words], ["n", "w"], [0, 1])
    places = pa.array(rows // 2, pa.int32())
    found["dense union"] = pa.UnionArray.from_dense(codes, places, [numbers, words], ["n", "w"], [0, 1])
    found["struct of a union"] = pa.StructArray.from_arrays([found["dense union"]], ["u"])
    found |= newer()
    return found


def numbered(array: pa.Array) -> pa.Array:
    """As many rows as the others have."""
    return pa.concat_arrays([array, array, array])[:ROWS]


def newer() -> dict[str, pa.Array]:
    """Types that pyarrow 11 has not."""
    found = {}
    if hasattr(pa, "RunEndEncodedArray"):
        ends = pa.array([10, 25, ROWS], pa.int32())
        found["run ends"] = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a", None, "b"]))
    values = ["a", None, "a text that is longer than a view has", ""] * (ROWS // 4)
    if hasattr(pa, "string_view"):
        found["string_view"] = pa.array(values, pa.string_view())
        found["binary_view"] = pa.array([v and v.encode() for v in values], pa.binary_view())
    lists = [[1], None, [], [2, None]] * (ROWS // 4)
    if hasattr(pa, "list_view"):
        found["list_view"] = pa.array(lists, pa.list_view(pa.int32()))
        found["large_list_view"] = pa.array(lists, pa.large_list_view(pa.int32()))
    if hasattr(pa, "decimal32"):
        found["decimal32"] = pa.array([1, None] * (ROWS // 2), pa.decimal32(7, 2))
        found["decimal64"] = pa.array([1, None] * (ROWS // 2), pa.decimal64(15, 2))
    return found


SAMPLES = samples()


class Celsius(pa.ExtensionType):
    """A type of the user's."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"degrees"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


class TableOnly:
    """Has `__arrow_c_stream__`, and nothing else."""

    def __init__(self, obj) -> None:
        self.obj = obj

    def __arrow_c_stream__(self, requested_schema=None):
        return self.obj.__arrow_c_stream__(requested_schema)


class ArrayOnly:
    """Has `__arrow_c_array__`, and nothing else."""

    def __init__(self, obj) -> None:
        self.obj = obj

    def __arrow_c_array__(self, requested_schema=None):
        return self.obj.__arrow_c_array__(requested_schema)


def assert_same(expected, found) -> None:
    """Of the same class, type, metadata, chunks and values; sound to the last buffer."""
    assert type(found) is type(expected), f"{type(found).__name__} instead of {type(expected).__name__}"
    if isinstance(expected, (pa.Table, pa.RecordBatch)):
        assert found.schema.equals(expected.schema, check_metadata=True), found.schema
        assert found.num_rows == expected.num_rows
        for one, other in zip(expected.columns, found.columns):
            assert_same(one, other)
        return
    assert found.type == expected.type, f"{found.type} instead of {expected.type}"
    assert (len(found), found.null_count) == (len(expected), expected.null_count)
    found.validate(full=True)
    assert_same_scalar(expected.to_pylist(), found.to_pylist(), str(expected.type))


def shapes(array: pa.Array) -> dict[str, object]:
    """As every kind of object, and in parts of it."""
    table = pa.table({"x": array, "n": pa.array(range(ROWS))})
    return {
        "an array": array,
        "a slice": array[13:50],
        "its end": array[ROWS - 3 :],
        "an array of no rows": array[:0],
        "a batch": pa.RecordBatch.from_arrays([array], ["x"]),
        "a slice of a batch": pa.RecordBatch.from_arrays([array], ["x"])[7:40],
        "a batch of no rows": pa.RecordBatch.from_arrays([array], ["x"])[9:9],
        "chunks": pa.chunked_array([array, array[3:9]]),
        "chunks, some of no rows": pa.chunked_array([array[:0], array[5:6], array[:0]]),
        "one chunk": pa.chunked_array([array]),
        "no chunk": pa.chunked_array([], array.type),
        "a table": table,
        "a slice of a table": table[5:31],
        "a table of no rows": table[:0],
        "a table of no batches": pa.Table.from_batches([], table.schema),
        "a table of several batches": pa.concat_tables([table[:9], table[20:]]),
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_every_type_comes_back_as_every_kind_of_object(name, exchanged):
    for shape, obj in shapes(SAMPLES[name]).items():
        try:
            assert_same(obj, exchanged(obj))
        except Exception as error:
            error.add_note(shape)
            raise


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_every_type_is_compressed(name, codec, exchanged):
    table = pa.table({"x": SAMPLES[name]})
    assert_same(table, exchanged(table, compression=codec))


def test_all_types_come_back_in_one_table(exchanged):
    table = pa.table({f"{name} {place}": array for place, (name, array) in enumerate(SAMPLES.items())})
    for some in (table, table[11:17], table[:0]):
        assert_same(some, exchanged(some))


def test_a_reader_of_batches_comes_back(exchanged):
    table = pa.table({"a": range(10), "s": ["x", None] * 5})
    for batches in (table.to_batches(), table.to_batches(3), []):
        reader = pa.RecordBatchReader.from_batches(table.schema, batches)
        found = exchanged(reader)
        assert isinstance(found, pa.RecordBatchReader)
        assert_same(pa.Table.from_batches(batches, table.schema), found.read_all())


@needs_capsules
class TestOthers:
    """Objects of which only the capsules are known."""

    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_stream_comes_back_as_a_table(self, name, exchanged):
        table = pa.table({"x": SAMPLES[name]})
        found = exchanged(TableOnly(table[7:40]))
        assert_same(table[7:40], found if isinstance(found, pa.Table) else pa.table(found))

    @pytest.mark.parametrize("name", SAMPLES)
    def test_an_array_comes_back_as_one(self, name, exchanged):
        assert_same(SAMPLES[name][7:40], exchanged(ArrayOnly(SAMPLES[name][7:40])))

    def test_our_own_stream_can_be_sent_on_and_asked_for_again(self, exchanged):
        table = pa.table({"a": [1, None], "s": ["x", "y"]})
        stream = af.loads(af.dumps(table), into="arrow.Stream")
        for _ in range(2):
            found = exchanged(stream)
            assert_same(table, found if isinstance(found, pa.Table) else pa.table(found))

    def test_what_a_producer_raises_comes_through(self):
        class Fails:
            def __arrow_c_stream__(self, requested_schema=None):
                raise ZeroDivisionError("on purpose")

        with pytest.raises(ZeroDivisionError, match="on purpose"):
            af.to_buffers(Fails())

    def test_a_capsule_of_another_name_is_refused(self):
        class Lies:
            def __arrow_c_stream__(self, requested_schema=None):
                return pa.array([1]).__arrow_c_array__()[0]

        with pytest.raises((ValueError, TypeError)):
            af.to_buffers(Lies())

    def test_an_array_that_is_no_capsule_is_refused(self):
        class Lies:
            def __arrow_c_array__(self, requested_schema=None):
                return 1, 2

        with pytest.raises((ValueError, TypeError)):
            af.to_buffers(Lies())


def test_metadata_of_schemas_and_fields_comes_back(exchanged):
    field = pa.field("a", pa.int64(), nullable=False, metadata={"unit": "m", "empty": ""})
    inner = pa.field("b", pa.list_(pa.field("item", pa.int8(), nullable=False, metadata={"k": "v"})))
    schema = pa.schema([field, inner], metadata={"of": "the test", "שם": "ב"})
    table = pa.table([[1, 2], [[1], []]], schema=schema)
    for obj in (table, table.to_batches()[0], table[:0]):
        assert_same(obj, exchanged(obj))


@pytest.mark.parametrize("names", [["a", "a"], ["", ""], ["a.b", "a b\n"], ["ש", "🦀"]], ids=repr)
def test_names_come_back(names, exchanged):
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names)
    assert_same(table, exchanged(table))


@pytest.mark.parametrize("make", [pa.table, lambda columns: pa.RecordBatch.from_arrays([], [])])
def test_no_columns_come_back(make, exchanged):
    assert_same(make({}), exchanged(make({})))


def test_a_type_of_the_users_comes_back(exchanged):
    array = pa.ExtensionArray.from_storage(Celsius(), pa.array([1.5, None]))
    table = pa.table({"t": array})
    found = exchanged(table)
    # Whoever does not know it has what it is stored as, and the metadata that names it.
    assert found["t"].type == pa.float64()
    assert found.schema.field("t").metadata[b"ARROW:extension:name"] == b"tests.celsius"
    pa.register_extension_type(Celsius())
    try:
        found = exchanged(table)
        assert found.equals(table) and found["t"].type == Celsius()
    finally:
        pa.unregister_extension_type("tests.celsius")


#: Types whose bytes grow with the rows.
SLICED = [name for name in SAMPLES if name not in ("null", "struct of nothing", "run ends")]


@pytest.mark.parametrize("name", SLICED)
def test_a_slice_costs_what_it_shows(name, exchanged):
    """Ten rows of many: a tenth of all bytes at most, and as many missing values as the slice has."""
    try:
        many = pa.concat_arrays([SAMPLES[name]] * 2_000)
    except pa.ArrowNotImplementedError:
        pytest.skip("pyarrow joins no arrays of this type")
    small = many[10:20]
    sizes = [header_and_frames(array) for array in (small, many)]
    assert sizes[0] <= 0.1 * sizes[1], sizes
    found = exchanged(small)
    assert found.null_count == small.null_count
    assert_same(small, found)


def header_and_frames(obj) -> int:
    header, frames = af.to_buffers(obj)
    return len(header) + sum(frame.nbytes for frame in frames)


class TestInto:
    """What was sent comes back as another kind if that is asked for."""

    TABLE = pa.table({"a": [1, 2, None], "s": ["x", None, "y"]})

    @pytest.mark.parametrize(
        ("into", "kind"),
        [
            ("pyarrow", pa.Table),
            ("pyarrow.Table", pa.Table),
            ("pyarrow.RecordBatch", pa.RecordBatch),
            ("pyarrow.RecordBatchReader", pa.RecordBatchReader),
            ("arrow.Stream", af.Stream),
        ],
    )
    def test_as_other_objects_of_arrow(self, into, kind, exchanged):
        found = exchanged(self.TABLE, into=into)
        assert isinstance(found, kind), f"{type(found).__name__} instead of {kind.__name__}"
        if kind is af.Stream:
            return
        table = found.read_all() if kind is pa.RecordBatchReader else found
        assert table.to_pydict() == self.TABLE.to_pydict()

    def test_as_arrays(self, exchanged):
        column = self.TABLE.select(["s"])
        assert_same(pa.array(["x", None, "y"]), exchanged(column, into="pyarrow.Array"))
        assert_same(pa.chunked_array([["x", None, "y"]]), exchanged(column, into="pyarrow.ChunkedArray"))

    def test_as_pandas(self, exchanged):
        frame = exchanged(self.TABLE, into="pandas")
        assert type(frame) is pd.DataFrame and list(frame) == ["a", "s"]
        assert frame["a"].tolist()[:2] == [1, 2] and frame["a"].isna().tolist() == [False, False, True]
        assert frame["s"].isna().tolist() == [False, True, False]

    def test_a_table_of_a_dataframe_as_that_dataframe(self, exchanged):
        frame = pd.DataFrame(
            {"a": [1.5, 2.5], "t": pd.date_range("2020", periods=2, tz="UTC")},
            index=pd.Index(["x", "y"], name="k"),
        )
        found = exchanged(pa.Table.from_pandas(frame), into="pandas")
        assert found.to_dict() == frame.to_dict() and list(found.index.names) == ["k"]

    @pytest.mark.parametrize("target", ["arrow", "pandas"])
    def test_a_dataframe_as_a_table(self, target, exchanged):
        frame = pd.DataFrame(
            {
                "a": [1, 2],
                "s": ["x", None],
                "k": pd.Categorical(["u", "v"]),
                "t": pd.date_range("2020", periods=2, tz="UTC"),
                "f": [True, False],
            }
        )
        table = exchanged(frame, target=target, into="pyarrow")
        assert type(table) is pa.Table and table.column_names[:5] == list(frame)
        assert table["a"].to_pylist() == [1, 2] and table["s"].to_pylist() == ["x", None]
        assert table["k"].to_pylist() == ["u", "v"] and table["f"].to_pylist() == [True, False]
        assert table["t"].to_pylist() == list(frame["t"])

    def test_a_column_that_has_no_type_of_arrow_is_refused_or_null(self, exchanged):
        frame = pd.DataFrame({"a": [1], "odd": pd.Series([{1}], dtype=object)})
        try:
            table = exchanged(frame, into="pyarrow")
        except af.ArrowFramesError as error:
            assert "odd" in str(error)
        else:
            assert table["a"].to_pylist() == [1]


def test_numbers_share_their_memory_all_the_way():
    table = pa.table({"n": pa.array(range(1_000)), "s": ["text"] * 1_000})
    assert af.copies(table) == []
    found = af.from_buffers(*af.to_buffers(table))
    for name in table.column_names:
        own, again = (column.chunk(0).buffers() for column in (table[name], found[name]))
        assert [buffer and buffer.address for buffer in again] == [
            buffer and buffer.address for buffer in own
        ]
