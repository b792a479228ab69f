"""Nothing of a sender's runs unless the caller allows it, and no input does more than raise one of our errors."""

import base64
import json
import pickle
import subprocess
import sys
from pathlib import Path

import arrow_frames as af
import kinds
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arrow_frames._native import Columns, decode

#: pyarrow unpickles a type of the name below by itself before this version.
# Those between unpickle nothing, and make arrays of that type that end the process.
IS_SAFE_PYARROW = not hasattr(pa, "PyExtensionType")
PICKLED_TYPE = "arrow.py_extension_type"


class Touch:
    """Whose pickle makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def touch(tmp_path):
    """Such an object, and the file that must not be made."""
    return Touch(tmp_path / "made")


class TestPickles:
    def test_a_column_is_not_run_unless_it_is_allowed(self, touch):
        frame = pd.DataFrame({"ok": [1], "odd": pd.Series([touch], dtype=object)})
        sent = af.dumps(frame)
        with pytest.raises(af.UntrustedPickleError, match="column 'odd'.*allow_pickle=True"):
            af.loads(sent)
        af.inspect(sent)
        assert af.loads(sent, columns=["ok"])["ok"].tolist() == [1]
        assert not touch.path.exists()
        af.loads(sent, allow_pickle=True)
        assert touch.path.exists()

    @pytest.mark.parametrize("into", ["pyarrow", "polars", "arrow"])
    def test_a_column_is_not_run_for_another_library(self, into, touch):
        if into == "polars":
            pytest.importorskip("polars")
        sent = af.dumps(pd.DataFrame({"odd": pd.Series([touch], dtype=object)}))
        for allowed in (False, True):
            # An error or nulls: pickles are none of theirs.
            try:
                af.loads(sent, into=into, allow_pickle=allowed)
            except af.ArrowFramesError as error:
                assert "odd" in str(error)
        assert not touch.path.exists()

    @pytest.mark.parametrize(
        ("what", "obj"),
        [
            ("the attrs", lambda odd: with_attrs(pd.DataFrame({"a": [1]}), odd)),
            ("the name", lambda odd: pd.Series([1], name=odd)),
            ("the name of the index", lambda odd: pd.DataFrame({"a": [1]}, index=pd.Index([1], name=odd))),
            ("a name of the index", lambda odd: pd.Series([1], named_levels(odd))),
            ("the name of the columns", lambda odd: pd.DataFrame([[1]], columns=pd.Index(["a"], name=odd))),
            ("pickle", lambda odd: pd.DataFrame([[1]], columns=pd.Index([odd], dtype=object))),
            ("pickle", lambda odd: pd.Series(pd.Categorical([0]).rename_categories([odd]))),
        ],
    )
    def test_names_and_labels_are_not_run_unless_it_is_allowed(self, what, obj, touch):
        sent = af.dumps(obj(touch))
        with pytest.raises(af.UntrustedPickleError, match=what):
            af.loads(sent)
        af.inspect(sent)
        assert not touch.path.exists()
        af.loads(sent, allow_pickle=True)
        assert touch.path.exists()


def pickled_type(touch: Touch) -> dict:
    """The metadata of a field whose type is a pickle: one that is text, as metadata must be."""
    return {"ARROW:extension:name": PICKLED_TYPE, "ARROW:extension:metadata": pickle.dumps(touch, 0)}


def with_attrs(frame: pd.DataFrame, odd) -> pd.DataFrame:
    frame.attrs = {"odd": odd}
    return frame


def named_levels(odd) -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples([("a", 1)], names=["x", odd])


class TestTypesOfPyarrow:
    """pyarrow 11 unpickles what the metadata of a field holds, if the field says that its type is a pickle."""

    @pytest.fixture(params=["a column", "a field of a struct", "the values of a list", "the values of a map"])
    def stream(self, request, touch) -> bytes:
        # Nothing is an extension type where it is written: only who reads it makes one of the metadata.
        field = pa.field("f", pa.int32(), metadata=pickled_type(touch))
        column = {
            "a column": field,
            "a field of a struct": pa.field("f", pa.struct([field])),
            "the values of a list": pa.field("f", pa.list_(field)),
            "the values of a map": pa.field("f", pa.map_(pa.int8(), field)),
        }[request.param]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([column])) as writer:
            batch = pa.RecordBatch.from_arrays([pa.array([None], column.type)], schema=pa.schema([column]))
            writer.write_batch(batch)
        return sink.getvalue().to_pybytes()

    @pytest.mark.parametrize("into", [None, "pyarrow", "pandas", "arrow", "pyarrow.RecordBatch"])
    def test_a_pickled_type_is_never_unpickled(self, stream, into, touch, tmp_path):
        (tmp_path / "stream").write_bytes(stream)
        for read in (
            lambda: af.loads(stream, into=into),
            lambda: af.loads(stream, into=into, allow_pickle=True),
            lambda: af.load(tmp_path / "stream", into=into),
            lambda: af.memory_map(tmp_path / "stream", into=into),
        ):
            try:
                read()
            except af.DecodeError as error:
                assert not IS_SAFE_PYARROW and PICKLED_TYPE in str(error)
            else:
                # pandas needs no pyarrow for numbers, and streams of ours are none of its objects.
                assert IS_SAFE_PYARROW or into in ("pandas", "arrow")
            assert not touch.path.exists()

    def test_looking_at_it_does_not_unpickle_it(self, stream, touch):
        af.inspect(stream)
        assert not touch.path.exists()

    @pytest.mark.parametrize("into", [None, "pandas", "pyarrow"])
    def test_the_original_field_of_an_opaque_column_is_never_unpickled(self, into, touch):
        text = pa.field("s", pa.large_string(), metadata=pickled_type(touch))
        field = base64.b64encode(pa.schema([text]).serialize()).decode()
        mark = {"type_name": "string[pyarrow]", "vendor_name": "pandas", "field": field}
        original = decode(*af.to_buffers(pd.DataFrame({"s": pd.array(["a"], dtype="string[pyarrow]")})))
        columns = Columns(["s"], 1)
        columns.opaque(0, json.dumps(mark), "string[pyarrow]", original.opaque(0, 0)[0])
        header, frames, _ = columns.encode(original.metadata)
        try:
            af.from_buffers(header, frames, into=into)
        except af.DecodeError:
            pass
        assert not touch.path.exists()


@pytest.mark.parametrize(
    "into",
    [
        "pyarrow.Nothing",
        "pandas.Foo",
        "polars.LazyFrame",
        "nowhere",
        "numpy",
        "numpy.ndarray",
        "",
        ".",
        "pandas.",
        "Table",
    ],
)
def test_a_class_that_there_is_not_is_refused(into, exchanged):
    for obj in (pd.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        with pytest.raises(ValueError, match="into"):
            exchanged(obj, into=into)


class TestForgedForms:
    """Forms that have only allowed names, and buffers that these would read beyond the end of."""

    @pytest.mark.parametrize("offsets", [[0, 2**45, 2], [0, 3, 2], [-1, 1, 2], [1, 2, 5], [2, 1, 0]])
    def test_offsets_of_text_are_checked_before_anything_reads_them(self, offsets):
        # pandas before 2.2 has those of 32 bits.
        width = 8 if kinds.PANDAS >= (2, 2) else 4
        header, frames = af.to_buffers(pd.Series(["aa", "bb"], dtype="string[pyarrow]"))
        [place] = [at for at, frame in enumerate(frames) if frame.nbytes == 3 * width]
        frames[place] = np.minimum(offsets, 2 ** (8 * width - 2)).astype(f"<i{width}").tobytes()
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, frames)

    def test_text_that_is_no_utf8_is_refused(self):
        header, frames = af.to_buffers(pd.Series(["aa", "bb"], dtype="string[pyarrow]"))
        frames[-1] = b"a\xff\xfea"
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, frames)

    @pytest.mark.parametrize("code", [2, 127, -2, -128])
    @pytest.mark.parametrize("target", ["pandas", "arrow"])
    def test_codes_without_a_category_are_refused(self, code, target):
        column = pd.Series(pd.Categorical(["a", "b", "a"]))
        header, frames = af.to_buffers(column, target=target)
        [place] = [at for at, frame in enumerate(frames) if bytes(frame) == bytes([0, 1, 0])]
        frames[place] = np.array([0, code, 0], "i1").tobytes()
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, frames)

    @pytest.mark.parametrize("code", [3, 127, -2, -128])
    def test_codes_without_a_label_are_refused(self, code):
        levels = pd.MultiIndex.from_arrays([["a", "b", "a"], pd.interval_range(0, 3)])
        header, frames = af.to_buffers(pd.DataFrame(index=levels))
        places = [
            at for at, frame in enumerate(frames) if bytes(frame) in (bytes([0, 1, 0]), bytes([0, 1, 2]))
        ]
        assert len(places) == 2
        for place in places:
            forged = list(frames)
            forged[place] = np.array([0, code, 0], "i1").tobytes()
            with pytest.raises(af.DecodeError):
                af.from_buffers(header, forged)

    @pytest.mark.parametrize("dtype", ["i8", "M8[ns]", "c16", "?"])
    def test_a_frame_that_is_too_short_is_refused(self, dtype):
        header, frames = af.to_buffers(pd.Series(np.zeros(4, dtype)))
        frames[-1] = memoryview(frames[-1])[:-1]
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, frames)

    @pytest.mark.parametrize("change", [-2, -1, 1, 2])
    def test_frames_that_are_missing_or_too_many_are_refused(self, change):
        header, frames = af.to_buffers(pd.DataFrame({"a": [1], "b": [1.5]}))
        with pytest.raises(af.DecodeError):
            af.from_buffers(header, (frames * 2)[: len(frames) + change])


#: What a note may say instead, none of which is what the columns are.
LIES = [
    {"arrays": 3},
    {"arrays": ["numpy"] * 9},
    {"arrays": [{"rows": "<f8", "places": [0, 0, 7]}, "numpy", "numpy", "numpy"]},
    {"arrays": [{"rows": "<f8", "places": [0]}, "numpy", "numpy", "numpy"]},
    {"arrays": [{}, None, 4, []]},
    {"arrays": ["raw", "masked", "level:AAAA", "text:str[pyarrow]"]},
    {"arrays": ["objects", "form", "pickle", "zoned"]},
    {"arrays": ["freq:D", "category", "bool", "arrow:int8[pyarrow]"]},
    {"labels": {"text": "object", "names": ["a"], "name": None}},
    {"labels": {"text": "object", "names": [1, {}, None, "d"], "name": None}},
    {"labels": {"range": [0, 10**12, 1], "name": None}},
    {"labels": {"stream": "AAAA"}},
    {"labels": {"stream": "é"}},
    {"labels": {"stream": 7}},
    {"labels": []},
    {"index": {"range": [0, 5, 0], "name": None}},
    {"index": {"range": [0, 10**15, 1], "name": None}},
    {"index": {"range": ["a", None, 1], "name": None}},
    {"index": {"multi": -3, "names": [], "freqs": []}},
    {"index": {"multi": 10**9, "names": [], "freqs": []}},
    {"index": {"multi": "2", "names": [], "freqs": []}},
    {"index": {"class": "DatetimeIndex", "name": None, "freq": "7Q"}},
    {"index": {"class": "DatetimeIndex", "name": None, "freq": "no such"}},
    {"index": {}},
    {"index": None},
    {"kind": "pandas.Index"},
    {"kind": "pandas.Series"},
    {"kind": "pandas.Nothing"},
    {"kind": "polars.Series"},
    {"kind": "pyarrow.Array"},
    {"kind": "numpy.ndarray"},
    {"kind": "numpy.MaskedArray", "parts": [{"dtype": "<f8", "shape": [2]}]},
    {"kind": "scipy.sparse.csr_matrix"},
    {"kind": "python.object"},
    {"kind": 4},
    {"attrs": 5},
    {"attrs": {"dict": [[[], 1]]}},
    {"attrs": {"tuple": 3}},
    {"attrs": {"pickle": "AAAA"}},
    {"version": 2},
    {"unique_labels": "yes"},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: json.dumps(lie)[:60])
def test_a_note_that_lies_is_refused_or_describes_what_is_there(lie):
    frame = pd.DataFrame(
        {"a": [1.5, 2.5], "b": [1, 2], "c": ["x", "y"], "d": pd.date_range("2020", periods=2)}
    )
    metadata = dict(decode(*af.to_buffers(frame)).metadata)
    note = {**json.loads(metadata["arrow_frames"]), **lie}
    columns = Columns(list(frame), 2)
    columns.block([0], "g", np.array([[1.5, 2.5]]))
    for place in (1, 2, 3):
        columns.block([place], "l", np.array([[1, 2]]))
    header, frames, _ = columns.encode([("arrow_frames", json.dumps(note))])
    if note["kind"] == "polars.Series":
        pytest.importorskip("polars")
    try:
        found = af.from_buffers(header, frames)
    except af.ArrowFramesError:
        return
    assert len(found) == 2


def mixed() -> pd.DataFrame:
    """A column of each kind that travels differently."""
    columns = {
        "f": [1.5],
        "s": pd.Series(["x"], dtype="string[pyarrow]"),
        "k": pd.Categorical(["a"]),
        "o": [None],
        "z": pd.date_range("2020", periods=1, tz="UTC"),
        "i": pd.array([None], dtype="Int64"),
    }
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples([("a", 1)]))


def table() -> pa.Table:
    """Columns that have buffers of other columns in them."""
    return pa.table({"l": [[1], None], "d": pa.array(["a", None]).dictionary_encode(), "s": [{"x": 1}, None]})


#: Objects whose streams are damaged, how Python is run for it, and what they are loaded into.
DAMAGED = {
    "a dataframe": (mixed, [], []),
    "a dataframe, python -O": (mixed, ["-O"], []),
    "a table": (table, [], []),
    "a table as a dataframe": (table, [], ["pandas"]),
    "an array": (lambda: np.arange(6.0).reshape(2, 3).T, [], []),
    "a masked array": (lambda: np.ma.masked_array([1, 2], [True, False]), [], []),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_no_damage_does_more_than_raise(name, tmp_path):
    make, options, into = DAMAGED[name]
    stream = tmp_path / "stream"
    stream.write_bytes(af.dumps(make()))
    program = Path(__file__).with_name("damage.py")
    command = [sys.executable, *options, "-W", "ignore", "-P", str(program), str(stream), *into]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]


@pytest.mark.parametrize("junk", [b"", b"\0" * 64, b"ARROW1", b"\xff" * 1_000, b"\xff\xff\xff\xff\0\0\0\x7f"])
def test_what_is_no_stream_is_refused(junk, tmp_path):
    path = tmp_path / "junk"
    path.write_bytes(junk)
    for read in (
        lambda: af.loads(junk),
        lambda: af.load(path),
        lambda: af.memory_map(path),
        lambda: af.from_buffers(junk, []),
        lambda: af.unpack(junk),
        lambda: af.inspect(junk),
    ):
        with pytest.raises(af.DecodeError):
            read()
