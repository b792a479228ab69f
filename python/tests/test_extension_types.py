"""Extension types that polars takes for addresses, or panics over, are refused before it sees the schema."""

import subprocess
import sys
import types

import arrow_frames as af
import pyarrow as pa
import pytest
from arrow_frames import _native

OBJECT = "POLARS_EXTENSION_TYPE"


def extension(name: str, *, metadata: str = "1;2") -> dict[str, str]:
    return {"ARROW:extension:name": name, "ARROW:extension:metadata": metadata}


#: Where the type may be: a column of it, made of its field.
NESTED = {
    "a column": lambda field: field,
    "a field of a struct": lambda field: pa.field("col", pa.struct([field])),
    "the values of a list": lambda field: pa.field("col", pa.list_(field)),
    "the values of a large list": lambda field: pa.field("col", pa.large_list(field)),
    "the values of a fixed list": lambda field: pa.field("col", pa.list_(field, 1)),
    "the values of a map": lambda field: pa.field("col", pa.map_(pa.int8(), field)),
    "a member of a union": lambda field: pa.field("col", pa.dense_union([field])),
    "a struct in a list in a struct": lambda field: pa.field(
        "col", pa.struct([pa.field("l", pa.list_(pa.field("s", pa.struct([field]))))])
    ),
    "a field of a dictionary's values": lambda field: pa.field(
        "col", pa.dictionary(pa.int8(), pa.struct([field]))
    ),
}


def stream(name: str, place: str = "a column") -> bytes:
    """An Arrow stream, as nothing of ours would write it, which says that it was a dataframe of polars."""
    column = NESTED[place](pa.field("col", pa.int64(), metadata=extension(name)))
    schema = pa.schema([column], metadata={"arrow_frames": '{"version":1,"kind":"polars.DataFrame"}'})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema):
        pass
    return sink.getvalue().to_pybytes()


@pytest.fixture
def old_polars(monkeypatch):
    """A polars of before 1.36, which must not be called."""

    def called(*_):
        raise AssertionError("polars was given the stream")

    polars = types.ModuleType("polars")
    polars.__version__ = "1.35.2"
    polars.DataFrame = type("DataFrame", (), {"__init__": called})
    polars.Series = type("Series", (), {})
    monkeypatch.setitem(sys.modules, "polars", polars)
    return polars


@pytest.mark.parametrize("place", NESTED)
@pytest.mark.parametrize("name", [OBJECT, "arrow.bool8", "arrow.uuid", "made.up", ""])
def test_an_old_polars_is_not_given_one(name, place, old_polars):
    for into in (None, "polars", "polars.Series"):
        with pytest.raises(
            af.DecodeError, match=r'column "col" is of the extension type .* polars 1\.35\.2 '
        ):
            af.loads(stream(name, place), into=into)


@pytest.mark.parametrize(
    ("version", "is_old"),
    [
        ("0.20.31", True), ("1.9.0", True), ("1.35.99", True), ("1.36.0", False), ("1.36.0b1", False),
        ("1.36", False), ("2.1.0", False), ("10.0", False), ("nonsense", True), ("", True),
    ],
)  # fmt: skip
def test_versions_are_compared_as_numbers(version, is_old, old_polars):
    old_polars.__version__ = version
    known = af.loads(stream(OBJECT), into="arrow.Stream")
    if is_old:
        with pytest.raises(af.DecodeError, match=OBJECT):
            known.for_polars(old_polars)
    else:
        assert known.for_polars(old_polars) is known


def test_what_has_no_extension_type_is_given_to_it(old_polars):
    given = []
    old_polars.DataFrame = type("DataFrame", (), {"__init__": lambda _, stream: given.append(stream)})
    af.loads(af.dumps(pa.table({"a": [1], "b": [[1]], "c": [{"x": 1}]})), into="polars")
    assert len(given) == 1


@pytest.mark.parametrize("place", NESTED)
def test_a_stream_that_is_handed_on_is_not_given_to_it_either(place, old_polars):
    """It does not say that it is the one that asks."""
    decoded = _native.decode_stream(stream(OBJECT, place))
    handed = decoded.stream()
    with pytest.raises(af.DecodeError, match=OBJECT):
        handed.__arrow_c_stream__()
    # Others are known to no polars, and harm no other library.
    af.loads(stream("made.up", place), into="arrow.Stream").__arrow_c_stream__()


def test_others_take_the_values(old_polars):
    table = af.loads(stream(OBJECT), into="pyarrow")
    assert table.schema.field("col").type == pa.int64()


POLARS = """
import sys
import arrow_frames as af
import polars as pl
with open(sys.argv[1], "rb") as file:
    stream = file.read()
try:
    print("accepted", af.loads(stream).shape)
except af.DecodeError as error:
    print("refused", error)
"""


@pytest.mark.parametrize("place", NESTED)
def test_the_polars_that_is_installed_survives_it(place, tmp_path):
    """In a process of its own, which it may end."""
    pytest.importorskip("polars")
    column = NESTED[place](pa.field("col", pa.binary(8), metadata=extension(OBJECT)))
    metadata = {"arrow_frames": '{"version":1,"kind":"polars.DataFrame"}'}
    try:
        values = pa.array([None], column.type)
    except pa.ArrowException:
        # pyarrow makes none of Python's objects.
        values = None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([column], metadata=metadata)) as writer:
        if values is not None:
            writer.write_batch(pa.RecordBatch.from_arrays([values], schema=pa.schema([column])))
    (tmp_path / "stream").write_bytes(sink.getvalue().to_pybytes())
    made = subprocess.run(
        [sys.executable, "-P", "-c", POLARS, tmp_path / "stream"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(("accepted", "refused"))
