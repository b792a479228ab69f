"""Arrays of numpy come back as they went: dtype, shape, strides, class and flags, on the same memory."""

import concurrent.futures
import io
import itertools
import socket

import arrow_frames as af
import numpy as np
import pyarrow as pa
import pytest
from arrow_frames import _native
from conftest import in_frames, in_stream

UNITS = ("Y", "D", "s", "ms", "us", "ns", "25s")

DTYPES = [
    *(order + kind for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")),
    "?", "i1", "u1", "g", "G", "S3", "U4", ">U4", "V5", "S0",
    *(f"<{kind}8[{unit}]" for kind in "Mm" for unit in UNITS), "<M8", ">M8[ns]",
]  # fmt: skip

STRUCTURED = {
    "packed": np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "S3")]),
    "aligned": np.dtype([("a", "i1"), ("b", "<f8")], align=True),
    "nested": np.dtype([("a", [("x", "<i2"), ("y", "<M8[s]")]), ("b", "<U2", (2, 3))]),
    "gaps": np.dtype({"names": ["a", "b"], "formats": ["<i2", ">i4"], "offsets": [6, 1], "itemsize": 11}),
    "titles": np.dtype({"names": ["a"], "formats": ["<i2"], "titles": ["A title"]}),
}


def filled(dtype, shape) -> np.ndarray:
    """An array of some bytes that differ: numbers for text, whose code points have a range."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind in "U?S":
        return np.arange(count).astype(dtype).reshape(shape)
    octets = (np.arange(count * dtype.itemsize) * 7 % 61).astype("u1")
    if dtype.names is not None and any(field.base.kind == "U" for field, *_ in dtype.fields.values()):
        # Text has characters only: no more than the two lower bytes of each.
        for at in range(dtype.fields["b"][1], dtype.itemsize, 4):
            octets.reshape(count, dtype.itemsize)[:, at + 2 : at + 4] = 0
    return (
        octets.tobytes() and np.frombuffer(octets.tobytes(), dtype).copy().reshape(shape)
        if count
        else np.empty(shape, dtype)
    )


def layouts(dtype) -> dict[str, np.ndarray]:
    """An array of three axes in every way to lie in memory."""
    full = filled(dtype, (4, 3, 2))
    layouts = {f"axes {axes}": full.transpose(axes) for axes in itertools.permutations(range(3))}
    return layouts | {
        "F": np.asfortranarray(full),
        "backwards": full[::-1],
        "backwards, all": full[::-1, ::-1, ::-1].T,
        "one row": full[1],
        "every other row": full[::2],
        "every other column": full[:, ::2],
        "a column": full[:, 1],
        "steps back": full[::-2, 1:],
        "broadcast": np.broadcast_to(full[:1], (1000, 3, 2)),
        "broadcast inside": np.broadcast_to(full[:, :1], (4, 50, 2)),
        "broadcast scalar": np.broadcast_to(full[0, 0, 0], (7, 5)),
        "broadcast of steps": np.broadcast_to(full[::2, :1], (2, 50, 2)),
        "windows": np.lib.stride_tricks.sliding_window_view(full.reshape(-1), 5),
        "0-d": full[0, 0, :1].reshape(()),
        "no rows": full[:0],
        "no columns": full[:, :0],
        "one element": full[:1, :1, :1],
        "new axes": full[:, None, :, None],
        "at an odd address": odd(full),
    }  # fmt: skip


#: The layouts whose elements do not fill their memory.
GAPS = {
    "every other row", "every other column", "a column", "steps back", "broadcast inside", "broadcast of steps",
    "windows",
}  # fmt: skip


def odd(array: np.ndarray) -> np.ndarray:
    """The same numbers one byte further on."""
    octets = np.empty(array.nbytes + 1, "u1")
    octets[1:] = np.ascontiguousarray(array).reshape(-1).view("u1")
    return octets[1:].view(array.dtype).reshape(array.shape)


def assert_same(expected, found) -> None:
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype and found.dtype.type is expected.dtype.type
    assert found.dtype.isalignedstruct == expected.dtype.isalignedstruct
    assert found.shape == expected.shape
    assert found.flags.writeable == expected.flags.writeable
    if expected.flags.forc:
        assert found.flags.c_contiguous == expected.flags.c_contiguous
        assert found.flags.f_contiguous == expected.flags.f_contiguous
    if expected.dtype.names is None:
        assert found.tobytes() == expected.tobytes()
    else:
        # Not what lies between the fields.
        assert repr(found.tolist()) == repr(expected.tolist())


@pytest.mark.parametrize("dtype", DTYPES + list(STRUCTURED))
def test_every_layout_of_every_dtype_comes_back(dtype):
    dtype = STRUCTURED.get(dtype, dtype)
    for name, array in layouts(dtype).items():
        for exchanged in (in_frames, in_stream):
            try:
                found = exchanged(array)
                if exchanged is in_stream:
                    assert not found.flags.writeable or not found.nbytes
                    found = exchanged(array, writable=True)
                    found.flags.writeable = array.flags.writeable
                assert_same(array, found)
            except Exception as error:
                error.add_note(f"{name}, {exchanged.__name__}")
                raise


@pytest.mark.parametrize("dtype", DTYPES + list(STRUCTURED))
def test_what_fills_its_memory_is_shared_and_keeps_its_strides(dtype):
    dtype = np.dtype(STRUCTURED.get(dtype, dtype))
    if not dtype.itemsize:
        return
    for name, array in layouts(dtype).items():
        if name in ("no rows", "no columns"):
            continue
        has_gaps = name in GAPS
        found = in_frames(array)
        assert np.shares_memory(found, array) != has_gaps, name
        assert (sum(size for _, _, size in af.copies(array)) > 0) == has_gaps, name
        if not has_gaps:
            lengths = [length for length in zip(array.shape, array.strides) if length[0] > 1]
            assert lengths == [length for length in zip(found.shape, found.strides) if length[0] > 1], name


def test_a_broadcast_view_sends_one_element():
    for array in (np.broadcast_to(np.float64(2.5), (1_000_000,)), np.broadcast_to(np.arange(3), (10_000, 3))):
        _, frames = af.to_buffers(array)
        assert sum(frame.nbytes for frame in frames) < 1000
        assert in_frames(array).strides == array.strides


def test_a_copy_of_a_view_with_gaps_is_counted_once_and_as_large_as_what_it_shows():
    array = np.arange(24.0).reshape(4, 6)[:, ::2]
    assert af.copies(array) == [(0, "strided", 96)]


CLASSES = {
    "memmap": lambda folder: np.memmap(folder / "m", "<f8", "w+", shape=(3, 4)),
    "recarray": lambda _: np.rec.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", "<f8")]),
    "matrix": lambda _: np.matrix([[1, 2], [3, 4]]),
    "chararray": lambda _: np.char.array(["ab", "c"]),
    "record dtype": lambda _: np.zeros(2, np.dtype((np.record, [("a", "<i4")]))),
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_class_comes_back(name, tmp_path, exchanged):
    array = CLASSES[name](tmp_path)
    found = exchanged(array, writable=True)
    assert_same(array, found)


MASKED = {
    "mask": np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
    "no mask": np.ma.masked_array([1, 2, 3]),
    "fill value": np.ma.masked_array(["a", "b"], [True, False], fill_value="?"),
    "hard mask": np.ma.masked_array([1, 2], [True, False], hard_mask=True),
    "F": np.ma.masked_array(np.asfortranarray(np.arange(6).reshape(2, 3)), np.eye(2, 3, dtype=bool)),
    "records": np.ma.masked_array([(1, 2.0)], [(True, False)], dtype=[("a", int), ("b", float)]),
    "0-d": np.ma.masked_array(1.0, True),
    "datetimes": np.ma.masked_array(np.arange(3).astype("M8[D]"), [0, 1, 0]),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_arrays_come_back(name, exchanged):
    array = MASKED[name]
    found = exchanged(array)
    assert type(found) is np.ma.MaskedArray and found.dtype == array.dtype
    assert found.data.tobytes() == array.data.tobytes()
    assert (found.mask is np.ma.nomask) == (array.mask is np.ma.nomask)
    assert np.array_equal(found.mask, array.mask) and found.hardmask == array.hardmask
    assert np.array(found.fill_value).tobytes() == np.array(array.fill_value).tobytes()
    assert type(found.fill_value) is type(array.fill_value)


def test_objects_come_back_where_a_form_has_them(exchanged):
    array = np.array([["a", 1, None], [b"x", 2.5, {"k": [1]}]], dtype=object)
    for one in (array, array.T, array[:, 1], array[:0], np.array(None, object)):
        found = exchanged(one)
        assert found.dtype == object and found.shape == one.shape and found.tolist() == one.tolist()
        assert found.flags.f_contiguous == one.flags.f_contiguous or not one.flags.forc


def test_other_objects_need_trust(exchanged):
    array = np.array([{1, 2}, range(3)], dtype=object)
    with pytest.raises(af.UntrustedPickleError, match="allow_pickle=True"):
        exchanged(array)
    assert exchanged(array, allow_pickle=True).tolist() == array.tolist()


def test_subclasses_of_others_come_back_as_objects(exchanged):
    array = np.arange(5.0).view(Named)
    array.name = "five"
    with pytest.raises(af.UntrustedPickleError):
        exchanged(array)
    found = exchanged(array, allow_pickle=True)
    assert type(found) is Named and found.name == "five" and found.tolist() == array.tolist()


class Named(np.ndarray):
    """An array that has a name."""

    name = ""

    def __reduce__(self):
        function, arguments, state = super().__reduce__()
        return function, arguments, (state, self.name)

    def __setstate__(self, state):
        super().__setstate__(state[0])
        self.name = state[1]


NUMBERS = [
    dtype for dtype in DTYPES if np.dtype(dtype).kind in "iuf" and np.dtype(dtype).isnative and dtype != "g"
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_pyarrow_reads_numbers_as_tensors(dtype):
    for name, array in layouts(dtype).items():
        header, _ = af.to_buffers(array)
        axes = [stride for length, stride in zip(array.shape, array.strides) if length > 1]
        is_tensor = bool(array.ndim and array.size) and all(stride > 0 for stride in axes)
        assert (_native.kind(header) == "tensor") == is_tensor or name in ("windows", "at an odd address"), (
            name
        )
        if _native.kind(header) == "tensor":
            tensor = pa.ipc.read_tensor(pa.BufferReader(af.dumps(array)))
            assert tensor.to_numpy().dtype == array.dtype
            assert tensor.to_numpy().tobytes() == array.tobytes(), name


@pytest.mark.parametrize("dtype", NUMBERS)
def test_tensors_of_pyarrow_are_read(dtype):
    full = filled(dtype, (4, 3, 2))
    for array in (
        full,
        np.asfortranarray(full),
        full[0],
        full[:0],
        full.reshape(-1),
        full[0, 0, :1].reshape(()),
    ):
        sink = pa.BufferOutputStream()
        pa.ipc.write_tensor(pa.Tensor.from_numpy(array), sink)
        found = af.loads(sink.getvalue())
        assert (
            found.dtype == array.dtype and found.shape == array.shape and found.tobytes() == array.tobytes()
        )
        again = af.load(io.BytesIO(sink.getvalue()))
        assert again.tobytes() == array.tobytes() and again.flags.writeable


@pytest.mark.parametrize(
    "array", [np.arange(9_000.0), np.arange(12).astype("M8[s]"), np.ma.masked_equal(np.arange(5), 2)]
)
def test_files_sockets_and_maps_hold_arrays_too(array, tmp_path):
    assert af.dump(array, tmp_path / "a") == (tmp_path / "a").stat().st_size
    for found in (af.load(tmp_path / "a"), af.memory_map(tmp_path / "a"), af.unpack(af.pack(array))):
        assert type(found) is type(array) and found.dtype == array.dtype and found.tolist() == array.tolist()
    assert af.load(tmp_path / "a").flags.writeable and not af.memory_map(tmp_path / "a").flags.writeable
    left, right = socket.socketpair()
    with left, right, concurrent.futures.ThreadPoolExecutor(1) as pool:
        sent = pool.submit(af.dump, array, left)
        assert af.load(right).tolist() == array.tolist() and sent.result() > 0


def test_an_array_is_no_dataframe():
    for array in (np.arange(4), np.arange(4).astype("M8[s]")):
        for options in ({"into": "pandas"}, {"columns": ["a"]}):
            with pytest.raises((af.DecodeError, KeyError), match="no column"):
                in_frames(array, **options)


def test_what_is_asked_of_access_is_so():
    array, readonly = np.arange(4), np.arange(4)
    readonly.flags.writeable = False
    assert in_frames(array).flags.writeable and not in_frames(readonly).flags.writeable
    assert not in_frames(array, writable=False).flags.writeable
    assert not in_stream(array).flags.writeable
    again = in_stream(array, writable=True)
    again[0] = 9
    assert again[0] == 9 and array[0] == 0


def test_a_field_of_objects_is_never_made_of_bytes():
    """A dtype of objects over a frame would make the frame's bytes addresses."""
    header, frames = af.to_buffers(np.arange(4).astype("M8[s]"))
    for dtype in ('"|O"', '{"names": ["a"], "formats": ["|O"], "offsets": [0], "itemsize": 8}', '"O"'):
        forged = header.replace(b'"<M8[s]"', dtype.encode())
        with pytest.raises(af.DecodeError):
            af.from_buffers(repaired(header, dtype) or forged, frames)


def repaired(header: bytes, dtype: str) -> bytes:
    """The header of the same object whose note has another dtype."""
    import json

    from arrow_frames import _native

    _, metadata = _native.schema(header)
    note = json.loads(dict(metadata)["arrow_frames"])
    note["parts"][0]["dtype"] = json.loads(dtype)
    return _native.encode_object([b"\x80\x05N.", bytes(32)], [("arrow_frames", json.dumps(note))])[0]
