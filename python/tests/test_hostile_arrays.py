"""What a note may say of an array: every byte of every element is inside its frame, or nobody sees the array."""

import base64
import contextlib
import io
import json
import random

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames import _native
from arrow_frames._limits import Budget
from arrow_frames._native import Call, OutOfBand
from arrow_frames._parts import join
from test_hostile_notes import refused, with_note, written

SIZE = 64


def array_note(**part) -> dict:
    return {"kind": "numpy.ndarray", "parts": [{"dtype": "|u1", "shape": [SIZE], **part}]}


WRONG_NUMBERS = [
    -1,
    -(2**40),
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    10**30,
    1.0,
    True,
    "0",
    None,
    [0],
    float("nan"),
]


@pytest.mark.parametrize("number", [number for number in WRONG_NUMBERS if number is not None], ids=repr)
@pytest.mark.parametrize("with_strides", [False, True])
def test_an_offset_is_inside_the_frame(number, with_strides):
    refused(
        *with_note(array_note(offset=number, **({"strides": [1]} if with_strides else {})), bytearray(SIZE))
    )


@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=repr)
def test_a_length_is_a_number_of_elements_that_are_there(number):
    refused(*with_note(array_note(shape=[number]), bytearray(SIZE)))
    refused(*with_note(array_note(shape=[number, 2]), bytearray(SIZE)))
    if not isinstance(number, list):
        refused(*with_note(array_note(shape=number), bytearray(SIZE)))


@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=repr)
def test_a_stride_leads_to_no_byte_outside(number):
    if number is not None:
        refused(*with_note(array_note(strides=[number]), bytearray(SIZE)))
    refused(*with_note(array_note(shape=[SIZE // 2, 2], strides=[1, number]), bytearray(SIZE)))


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ([2**32 + 1], [2**32], 0),
        ([2**62 + 1], [4], 0),
        ([2**31 + 1, 2], [2**33, 1], 0),
        ([2**33, 2**31], [2**31, 2**33], 0),
        ([2**63 - 1], [-(2**63)], 0),
        ([3, 3], [2**62, -(2**62)], 0),
        ([2], [-1], 0),
        ([2], [SIZE], 0),
        ([SIZE + 1], [1], 0),
        ([SIZE], [1], 1),
        ([2, 2], [1], 0),
        ([2], [1, 1], 0),
        ([0, 2**62, 2**62], None, 0),
        ([0] * 33, None, 0),
        ([1] * 65, [1] * 65, 0),
    ],
)
def test_products_that_wrap_lead_nowhere(shape, strides, offset):
    refused(*with_note(array_note(shape=shape, strides=strides, offset=offset), bytearray(SIZE)))


def test_random_layouts_are_inside_or_refused():
    """Those that pass have each element where an address counted without a limit says."""
    choose = random.Random(5)
    numbers = [0, 1, 2, 3, 7, 8, 16, 63, 64, -1, -8, -16, 2**31, 2**32, 2**61, 2**62, -(2**62), 2**63 - 1]
    passed = 0
    for _ in range(4000):
        axes = choose.randrange(4)
        shape = [
            choose.choice(numbers[:9]) if choose.random() < 0.9 else choose.choice(numbers)
            for _ in range(axes)
        ]
        strides = [
            choose.choice(numbers) if choose.random() < 0.4 else choose.choice((1, 8, -1, -8, 0))
            for _ in range(axes)
        ]
        offset = choose.choice(numbers[:9])
        dtype = choose.choice(["|u1", "<i4", ">f8", "|S3"])
        width = np.dtype(dtype).itemsize
        memory = bytearray(range(SIZE))
        layout = {"dtype": dtype, "shape": shape, "strides": strides, "offset": offset}
        try:
            array = join(layout, memory, None, Budget(None, memory), is_exact=False)
        except af.DecodeError:
            continue
        passed += 1
        assert array.shape == tuple(shape)
        for place in list(np.ndindex(*shape))[:200] if array.size else []:
            at = offset + sum(stride * index for stride, index in zip(strides, place))
            assert 0 <= at and at + width <= SIZE
            assert array[place].tobytes() == np.frombuffer(bytes(memory[at : at + width]), dtype)[0].tobytes()
    assert passed > 100


@pytest.mark.parametrize(
    "dtype",
    ["|u8", "<u1", "<b1", "|i2", "=i4", "i4", "<O8", "|O", "<U99999999999999", "|S1073741825", "|V" + "9" * 300,
     "<M8[1s]", "<M8[99999999999s]", "<M8[s", "<m8[x]", "<f3", "<c4", "", "<i4,<i4", "3<i4", None, 5, [], ["<i4"],
     {"base": "<i4"}, {"base": "<i4", "shape": 3}, {"base": "<i4", "shape": [2**40]},
     {"names": ["a", "a"], "formats": ["|u1", "|u1"], "offsets": [0, 1], "itemsize": 2},
     {"names": ["a"], "formats": ["|u1", "|u1"], "offsets": [0, 1], "itemsize": 2},
     {"names": ["a"], "formats": ["|u1"], "offsets": [0], "itemsize": True},
     {"names": [1], "formats": ["|u1"], "offsets": [0], "itemsize": 1},
     {"names": ["a"], "formats": ["|u1"], "offsets": [0], "itemsize": 1, "titles": ["a"]},
     {"names": ["a"], "formats": ["|u1"], "offsets": [0], "itemsize": 1, "aligned": 1}],
    ids=lambda dtype: json.dumps(dtype)[:40],
)  # fmt: skip
def test_a_dtype_is_just_what_numpy_calls_it(dtype):
    refused(*with_note(array_note(dtype=dtype, shape=[1]), bytearray(SIZE)))


def test_a_dtype_has_few_levels():
    dtype = "|u1"
    for _ in range(200):
        dtype = {"base": dtype, "shape": [1]}
    refused(*with_note(array_note(dtype=dtype, shape=[1]), bytearray(SIZE)))


@pytest.mark.parametrize(
    "parts", [None, 5, {}, [None], ["|u1"], [[]], [{}], [{"dtype": "|u1"}], [{"shape": [1]}], []]
)
def test_what_is_no_part_is_no_array(parts):
    refused(*with_note({"kind": "numpy.ndarray", "parts": parts}, bytearray(SIZE)))


@pytest.mark.parametrize(
    ("values", "mask", "fill"),
    [
        ("<f8", ("|u1", [8]), None),
        ("<f8", ("|b1", [4, 2]), None),
        ("<f8", ("|b1", [8]), ("<f8", [2])),
        ("<f8", ("|b1", [8]), ("<i8", [])),
        ({"names": ["a"], "formats": ["<f8"], "offsets": [0], "itemsize": 8}, ("|b1", [8]), None),
    ],
)
def test_a_mask_and_a_fill_value_fit_their_values(values, mask, fill):
    parts = [{"dtype": values, "shape": [8]}, {"dtype": mask[0], "shape": mask[1]}]
    buffers = [bytes(64), bytes(8)]
    if fill is not None:
        parts.append({"dtype": fill[0], "shape": fill[1]})
        buffers.append(bytes(16))
    note = {"kind": "numpy.MaskedArray", "mask": True, "fill": fill is not None, "parts": parts}
    refused(*with_note(note, *buffers))
    refused(*with_note({**note, "mask": "yes"}, *buffers))


INDICES = np.arange(8, dtype="<i4")
STARTS = np.array([0, 8], "<i4")


def part(dtype: str, *shape: int, **more) -> dict:
    return {"dtype": dtype, "shape": list(shape), **more}


@pytest.mark.parametrize(
    ("kind", "shape", "parts", "buffers"),
    [
        ("csr_array", [1, 8], [part("<f8", 8, 0), part("<i4", 8), part("<i4", 2)], [b"", INDICES, STARTS]),
        ("csr_array", [1, 8], [part("|V0", 8), part("<i4", 8), part("<i4", 2)], [INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<f8", 8, 1), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("|S8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<M8[s]", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<f8", 8), part("|S4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<f8", 8), part("<i4", 8, 1), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<f8", 8), part("<f4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [True, 8], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1.0, 8], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 7], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8, 1], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_array", [1, 8], [part("<f8", 8), part("<i4", 8)], [bytes(64), INDICES]),
        ("csr_anything", [1, 8], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csr_matrix", [8], [part("<f8", 8), part("<i4", 8), part("<i4", 2)], [bytes(64), INDICES, STARTS]),
        ("csc_matrix", [8, 1], [part("<i8", 8, 0), part("<i4", 8), part("<i4", 2)], [b"", INDICES, STARTS]),
        ("coo_array", [8, 8], [part("<f8", 8, 0), part("<i4", 8), part("<i4", 8)], [b"", INDICES, INDICES]),
        ("coo_array", [8, 8], [part("<f8", 8), part("<i4", 8)], [bytes(64), INDICES]),
        ("dia_array", [8, 8], [part("<f8", 8), part("<i4", 8)], [bytes(64), INDICES]),
        ("bsr_array", [3, 8], [part("<f8", 4, 2, 1), part("<i4", 4), part("<i4", 2)], [bytes(64), INDICES[:4], np.array([0, 4], "<i4")]),
        ("dok_array", [8], [part("<i4", 8), part("<f8", 8)], [INDICES, bytes(64)]),
        ("dok_array", [8], [part("<f4", 8, 1), part("<f8", 8)], [INDICES, bytes(64)]),
        ("lil_array", [2, 8], [part("<i8", 2), part("<i4", 2), part("<f8", 2)], [np.array([2**63 - 1, -(2**63) + 3]), INDICES[:2], bytes(16)]),
        ("lil_array", [3, 8], [part("<u8", 3), part("<i4", 2), part("<f8", 2)], [np.array([2**63, 2**63, 2], "u8"), INDICES[:2], bytes(16)]),
        ("lil_array", [2, 8], [part("<f8", 2), part("<i4", 2), part("<f8", 2)], [np.array([1.0, 1.0]), INDICES[:2], bytes(16)]),
    ],
)  # fmt: skip
def test_the_parts_of_a_sparse_array_have_its_shape(kind, shape, parts, buffers):
    pytest.importorskip("scipy")
    refused(*with_note({"kind": f"scipy.{kind}", "shape": shape, "dtype": "<f8", "parts": parts}, *buffers))


def leveled(codes: pa.Array, level: pd.Index, **more) -> bytes:
    """A dataframe whose index has these codes of a level that is a stream of its own."""
    text = "level:" + base64.b64encode(af.dumps(level)).decode()
    note = {
        "version": 1, "kind": "pandas.DataFrame", "arrays": ["numpy", text],
        "labels": {"text": "object", "names": ["v"], "name": None},
        "index": {"multi": 1, "names": [None], "freqs": [None], **more},
    }  # fmt: skip
    table = pa.table({"v": pa.array(range(len(codes))), "__index_level_0__": codes})
    return written(table.replace_schema_metadata({"arrow_frames": json.dumps(note)}))


FLOATS = pd.Index(np.arange(300) * 11.0)


@pytest.mark.parametrize(
    "codes",
    [
        pa.array(["0", "20000", "299"]), pa.array(["0", "20000", "299"], pa.large_string()),
        pa.array([b"0", b"20000"]), pa.array([0.0, 1.0]), pa.array([True, False]), pa.array([0, None, 1]),
        pa.array([0, 300]), pa.array([-2, 0]), pa.array([2**63], pa.uint64()), pa.array([[0], [1]]),
        pa.array([{"a": 0}]), pa.array([None, None], pa.null()), pa.array(["0", "1"]).dictionary_encode(),
        pa.array([0, 1], pa.timestamp("s")), pa.array([0, 1], pa.date32()),
    ],
    ids=lambda codes: str(codes.type) if isinstance(codes, pa.Array) else None,
)  # fmt: skip
@pytest.mark.parametrize("level", [FLOATS, pd.Index([f"s{number}" for number in range(300)], dtype=object)], ids=["floats", "objects"])  # fmt: skip
def test_codes_of_a_level_are_integers_that_have_a_value(codes, level):
    with pytest.raises(af.DecodeError):
        af.loads(leveled(codes, level))


def test_codes_of_a_level_that_have_a_value_come_back():
    found = af.loads(leveled(pa.array([0, -1, 299]), FLOATS))
    assert found.index.get_level_values(0).tolist()[::2] == [0.0, 3289.0]


@pytest.mark.parametrize(
    "more",
    [{"multi": True}, {"multi": -1}, {"multi": 1.0}, {"multi": "1"}, {"names": []}, {"names": "a"},
     {"freqs": []}, {"freqs": None}, {"names": [None, None]}],
    ids=json.dumps,
)  # fmt: skip
def test_an_index_has_as_many_levels_as_it_says(more):
    with pytest.raises(af.DecodeError):
        af.loads(leveled(pa.array([0, 1]), FLOATS, **more))


@pytest.mark.parametrize(
    "numbers", [[0, 2, 0], [0, 2], [0.0, 2.0, 1.0], [False, True, True], "021", [0, 2**64, 1], None]
)
def test_a_range_is_three_integers(numbers):
    frame = af.to_buffers(pd.DataFrame({"a": [1, 2]}))
    _, metadata = _native.schema(frame[0])
    note = json.loads(dict(metadata)["arrow_frames"])
    table = pa.table({"a": pa.array([1, 2])})
    for key in ("index", "labels"):
        changed = {**note, key: {"range": numbers, "name": None}}
        with pytest.raises(af.DecodeError):
            af.loads(written(table.replace_schema_metadata({"arrow_frames": json.dumps(changed)})))


@pytest.mark.parametrize("places", [[], [True], [0.0], ["0"], [-1], [0, 0], [1], [0, 2], [2**63], None])
def test_places_are_those_of_columns(places):
    note = {
        "version": 1, "kind": "pandas.DataFrame", "arrays": [{"rows": "<f8", "places": [0, 1]}],
        "labels": {"range": [0, 2, 1], "name": None}, "index": {"range": [0, 3, 1], "name": None},
    }  # fmt: skip
    assert af.from_buffers(*rows_as_one(note)).to_numpy().tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    note["arrays"][0]["places"] = places
    refused(*rows_as_one(note))


def rows_as_one(note: dict):
    """Three rows of two columns in one buffer."""
    columns = _native.Columns(["0"], 3)
    form = Call("numpy", "frombuffer", OutOfBand(np.arange(6.0)), "<f8", 6)
    mark = json.dumps({"type_name": "float64[2]", "vendor_name": "pandas"})
    columns.opaque(0, mark, "float64[2]", _native.pickle(form))
    header, frames, _ = columns.encode([("arrow_frames", json.dumps(note))])
    return header, frames


def test_one_array_is_no_block_of_several_columns():
    """A column of Arrow that the note calls two: pandas takes the shape of a block on trust."""
    note = {
        "version": 1, "kind": "pandas.DataFrame", "arrays": [{"rows": "<i8", "places": [0, 1]}],
        "labels": {"range": [0, 2, 1], "name": None}, "index": {"range": [0, 3, 1], "name": None},
    }  # fmt: skip
    table = pa.table({"0": [1, 2, 3]}).replace_schema_metadata({"arrow_frames": json.dumps(note)})
    with pytest.raises(af.DecodeError):
        af.loads(written(table))


def test_an_array_of_two_dimensions_is_no_column():
    columns = _native.Columns(["a"], 3)
    pickled = pd.io.pickle.pickle.dumps(np.zeros((3, 2)), 5)
    columns.opaque(0, json.dumps({"type_name": "float64", "vendor_name": "python"}), "float64", [pickled])
    note = {
        "version": 1, "kind": "pandas.DataFrame", "arrays": ["pickle"],
        "labels": {"text": "object", "names": ["a"], "name": None}, "index": {"range": [0, 3, 1], "name": None},
    }  # fmt: skip
    header, frames, _ = columns.encode([("arrow_frames", json.dumps(note))])
    with pytest.raises(af.DecodeError, match="column 'a' has 2 dimensions"):
        af.from_buffers(header, frames, allow_pickle=True)


def named(value) -> bytes:
    """A Series whose name is that value of a note."""
    note = {
        "version": 1, "kind": "pandas.Series", "arrays": ["numpy"], "labels": {"range": [0, 1, 1], "name": None},
        "index": {"range": [0, 1, 1], "name": None}, "name": value,
    }  # fmt: skip
    return written(pa.table({"0": [1]}).replace_schema_metadata({"arrow_frames": json.dumps(note)}))


def test_a_name_that_is_sound_comes_back():
    assert af.loads(named({"numpy": ["<i8", 5]})).name == 5


@pytest.mark.parametrize("value", [{"float": "1e5"}, {"float": "1" * 5000}, {"float": []}, {"numpy": ["|S1", 3 * 10**9]},
                                   {"numpy": ["<U1", 10**9]}, {"numpy": ["|V1", 5]}, {"numpy": ["<i8", 1.5]},
                                   {"numpy": ["<i8", 2**70]}, {"numpy": ["|b1", 1]}, {"numpy": ["<f8", 1.5]},
                                   {"moment": ["<f8[s]", 1]}, {"moment": ["<M8[s]", 1.0]}, {"moment": ["<M8[s]", True]},
                                   {"moment": ["<M8[s]", 2**63]}, {"tuple": 5}, {"dict": 5}, {"missing": "NO"}],
                         ids=lambda value: json.dumps(value)[:40])  # fmt: skip
def test_a_value_is_of_its_own_kind(value):
    with pytest.raises(af.DecodeError):
        af.loads(named(value))


ZONES = [
    "dateutil//etc/passwd", "dateutil/Europe/Paris", "DateUtil/x", "tzlocal()", "../../etc/passwd", "/etc/localtime",
    "Europe/../../etc/passwd", "Europe/Paris\0", "Europe/Par is", "+1:00", "+01:00:00", "a" * 65, "",
    ".hidden", "Europe//Paris", "file:///etc/passwd", "localtime", "posixrules", "right/Europe/Paris", "posix/UTC",
    "+\u0660\u0661:00",
]  # fmt: skip


# Arrow's C interface, which this is made by, has no such names as the others.
@pytest.mark.parametrize("zone", [zone for zone in ZONES if zone and "\0" not in zone])
@pytest.mark.parametrize("nested", ["column", "dictionary", "list", "struct"])
def test_a_zone_is_a_name_that_opens_no_other_file(zone, nested):
    values = pa.array([1, 2]).view(pa.timestamp("us", zone))
    array = {
        "column": lambda: values,
        "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1]), values),
        "list": lambda: pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), values),
        "struct": lambda: pa.StructArray.from_arrays([values], ["t"]),
    }[nested]()
    with pytest.raises(af.DecodeError, match="there is no time zone"):
        af.loads(written(pa.table({"t": array})), into="pandas")


@pytest.mark.parametrize(
    "zone", ["Europe/Paris", "UTC", "+01:00", "-09:30", "America/Argentina/Buenos_Aires", "Etc/GMT+5"]
)
def test_a_zone_that_there_is_comes_back(zone):
    values = pa.array([1, 2]).view(pa.timestamp("ns", zone))
    assert af.loads(written(pa.table({"t": values})), into="pandas")["t"].dt.tz is not None


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_of_a_value_is_such_a_name(zone):
    value = {"moment": ["<M8[ns]", 0, zone, "zoneinfo"]}
    with pytest.raises(af.DecodeError):
        af.loads(named(value))


OPAQUE = {
    "objects": pd.Series([1, "x", None], dtype=object),
    "period": pd.Series(pd.period_range("2020", periods=3)),
    "zoned": pd.Series(pd.date_range("2020", periods=3, tz="Europe/Paris")),
    "category": pd.Series(["x", "y", "x"], dtype="category"),
    "bool": pd.Series([True, False, True]),
    "complex": pd.Series([1j, 2j, 3j]),
    "text": pd.Series(["x", "y", None], dtype="string"),
}


@pytest.mark.parametrize("kind", OPAQUE)
@pytest.mark.parametrize("change", ["none", "taken", "added", "moved"])
def test_columns_rebuilt_without_their_marks_are_no_nulls(kind, change):
    """A program that makes a table of the columns that it saw, with the metadata of the schema that it had."""
    frame = pd.DataFrame({"n": [1, 2, 3], "a": OPAQUE[kind], "m": [4, 5, 6]})
    table = pa.ipc.open_stream(af.dumps(frame, target="pandas")).read_all()
    columns = {name: table.column(name) for name in table.column_names}
    if change == "taken":
        del columns["n"]
    elif change == "added":
        columns["more"] = pa.chunked_array([[7, 8, 9]])
    elif change == "moved":
        columns = dict(sorted(columns.items()))
    made = pa.table(columns).replace_schema_metadata(table.schema.metadata)
    with pytest.raises(af.DecodeError, match="payload of column 'a' was lost"):
        af.loads(written(made), allow_pickle=True)


def test_an_opaque_index_rebuilt_without_its_mark_is_no_nulls():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.period_range("2020", periods=2))
    table = pa.ipc.open_stream(af.dumps(frame, target="pandas")).read_all()
    made = pa.table({name: table.column(name) for name in table.column_names})
    with pytest.raises(af.DecodeError, match="was lost"):
        af.loads(written(made.replace_schema_metadata(table.schema.metadata)))


def test_columns_of_nulls_that_never_were_more_come_back():
    table = pa.table({"a": pa.nulls(3), "b": [1, 2, 3]})
    assert af.loads(af.dumps(table), into="pandas")["a"].isna().all()
    if hasattr(pd, "ArrowDtype"):
        frame = pd.DataFrame({"a": pd.array([None, None], dtype=pd.ArrowDtype(pa.null()))})
        assert af.loads(af.dumps(frame))["a"].dtype == frame["a"].dtype


@pytest.mark.parametrize(
    "described",
    [part("|u1", SIZE - 1), part("|u1", SIZE, 0), part("|u1", 8, 8, strides=[4, 1]), part("|u1", 2, strides=[63]),
     part("|u1", SIZE - 1, strides=[1], offset=1), part("<i4", 3, 5), part("|u1", SIZE, more=1)],
    ids=json.dumps,
)  # fmt: skip
def test_an_array_takes_all_of_its_memory(described):
    """Whoever wrote it has left nothing out: with fewer elements a number was changed on the way."""
    refused(*with_note({"kind": "numpy.ndarray", "parts": [described]}, bytearray(SIZE)))


@pytest.mark.parametrize(
    "note",
    ["{", "{}", '{"version": 1}', '{"kind": "pandas.DataFrame"}', '{"version": 2, "kind": "pandas.DataFrame"}',
     '{"version": true, "kind": "pandas.DataFrame"}', '{"version": 1, "kind": "pandas.DataFrame", "arrays": ["nuipy"]}'],
)  # fmt: skip
def test_a_damaged_note_is_an_error(note):
    with pytest.raises(af.DecodeError, match="the note in the schema's metadata"):
        af.loads(written(pa.table({"a": [1]}).replace_schema_metadata({"arrow_frames": note})))


def test_labels_of_one_load_are_not_those_of_another():
    stream = af.dumps(pd.DataFrame({"a": [1], "b": [2]}))
    # Versions of pandas whose labels can be assigned to have the first; others have neither, or the second.
    with contextlib.suppress(TypeError, ValueError):
        af.loads(stream).columns.values[0] = "X"
    with contextlib.suppress(TypeError, ValueError):
        af.loads(stream).columns.array[0] = "X"
    assert af.loads(stream).columns.tolist() == ["a", "b"]


@pytest.mark.parametrize("into", ["pyarrow", "polars"])
def test_the_names_of_fields_are_counted_for_each_batch(into):
    pytest.importorskip(into)
    table = pa.table({"a" * 300_000: pa.array([1], pa.int8())}).replace_schema_metadata({"k": "v" * 300_000})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(2_000):
            writer.write_table(table)
    stream = sink.getvalue()
    if into == "polars":
        with pytest.raises(af.LimitError, match="the schema of every batch"):
            af.loads(stream, into=into, limits={"max_expansion": 1})
    else:
        loaded = af.loads(stream, into=into)
        assert loaded.num_rows == 2_000 and loaded.schema.metadata == table.schema.metadata


def test_a_frequency_makes_no_more_days_than_the_bound():
    """pandas 3 makes every day between two values to find out whether they are so far apart."""
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2020", periods=2, freq="B"))
    stream = af.dumps(frame)
    assert af.loads(stream).index.freq == frame.index.freq
    reader = pa.ipc.open_stream(stream)
    note = json.loads(reader.schema.metadata[b"arrow_frames"])
    note["index"]["freq"] = "50000000B"
    table = reader.read_all().replace_schema_metadata({"arrow_frames": json.dumps(note)})
    with pytest.raises(af.LimitError, match="the frequency of an index"):
        af.loads(written(table))


@pytest.mark.parametrize(
    "value", [[1] * 5_000, {"a": [1] * 5_000}, "x" * 5_000], ids=["list", "struct", "text"]
)
def test_values_that_polars_copies_for_each_key_are_counted(value):
    pytest.importorskip("polars")
    values = pa.array([value])
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int8()), values)
    stream = written(pa.table({"a": array}))
    if isinstance(value, str):
        # A dictionary there too.
        assert af.loads(stream, into="polars").height == 100_000
    else:
        with pytest.raises(af.LimitError, match="in polars"):
            af.loads(stream, into="polars")


@pytest.mark.parametrize("into", ["pandas", "pyarrow", "polars"])
@pytest.mark.parametrize("rows", [0, 2])
def test_a_dictionary_without_values_has_only_nulls(into, rows):
    pytest.importorskip(into)
    array = pa.DictionaryArray.from_arrays(pa.array([None] * rows, pa.int8()), pa.array([], pa.int64()))
    nested = pa.StructArray.from_arrays([array], ["d"])
    stream = written(pa.table({"d": array, "s": nested}))
    assert len(af.loads(stream, into=into)) == rows


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nested", [False, True])
def test_text_has_characters_only(order, nested):
    """numpy makes text of Python of any numbers, which reads and writes beyond its memory then."""
    good, bad = np.array([0x10FFFF] * 4, order + "u4"), np.array([97, 98, 99, 0x110000], order + "u4")
    dtype = f"{order}U2"
    if nested:
        dtype = {"names": ["a"], "formats": [dtype], "offsets": [0], "itemsize": 8}
    note = {"kind": "numpy.ndarray", "parts": [part(dtype, 2)]}
    assert af.from_buffers(*with_note(note, good)).shape == (2,)
    refused(*with_note(note, bad))


def test_what_a_note_says_of_the_order_of_indices_is_found_out():
    sparse = pytest.importorskip("scipy").sparse
    matrix = sparse.csr_matrix((np.ones(3), np.array([2, 0, 0]), np.array([0, 3])), shape=(1, 3))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    again = af.loads(af.dumps(matrix))
    assert not again.has_sorted_indices and not again.has_canonical_format
