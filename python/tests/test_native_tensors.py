"""Tensors through the extension module: what goes around, whose memory it is, and what is refused."""

import io

import numpy as np
import pytest
from arrow_frames import _native


def address(memory):
    return np.frombuffer(memory, "u1").ctypes.data


FORMATS = {
    "i1": "c",
    "u2": "S",
    "i4": "i",
    "i8": "l",
    "f2": "e",
    "f4": "f",
    "f8": "g",
}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_tensor_goes_around_in_its_memory(dtype, order):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype, order=order)
    memory = array.reshape(-1, order="A")
    header, frames, copies = _native.encode_tensor(
        memory,
        FORMATS[dtype],
        array.shape,
        array.strides,
        names=["x", "y", ""],
        metadata=[("arrow_frames", "{}"), ("key", "value")],
        max_copied_bytes=0,
    )
    assert copies == []
    assert [address(frame) for frame in frames] == [array.ctypes.data]
    assert len(header) % 64 == 0
    assert _native.kind(header) == "tensor"

    tensor = _native.decode_tensor(header, frames, max_copied_bytes=0)
    assert (tensor.format, tensor.shape, tensor.strides) == (FORMATS[dtype], [2, 3, 4], list(array.strides))
    assert tensor.names == ["x", "y", ""]
    assert tensor.metadata == [("arrow_frames", "{}"), ("key", "value")]
    assert tensor.copies == []
    again = np.ndarray(tensor.shape, dtype, tensor.values, strides=tensor.strides)
    assert again.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(again, array)

    stream = b"".join(_native.segments(header, frames))
    assert _native.kind(stream) == "tensor"
    tensor = _native.decode_tensor_stream(stream)
    np.testing.assert_array_equal(
        np.ndarray(tensor.shape, dtype, tensor.values, strides=tensor.strides), array
    )

    reader = io.BytesIO(stream + b"what follows")
    received, parts = _native.receive(reader)
    assert (received, reader.read()) == (header, b"what follows")
    assert not parts[0].readonly
    np.testing.assert_array_equal(np.frombuffer(parts[0], dtype), memory)


def test_a_view_is_gathered_or_refused():
    base = np.arange(12, dtype="i4").reshape(3, 4)
    view = base[::-1, ::2]
    arguments = (base, "i", view.shape, view.strides, view.ctypes.data - base.ctypes.data)
    header, frames, copies = _native.encode_tensor(*arguments)
    assert copies == [(0, "strided tensor", view.nbytes)]
    tensor = _native.decode_tensor(header, frames)
    np.testing.assert_array_equal(np.frombuffer(tensor.values, "i4").reshape(tensor.shape), view)
    with pytest.raises(_native.LimitError, match="strided tensor"):
        _native.encode_tensor(*arguments, max_copied_bytes=0)


@pytest.mark.parametrize(
    ("format", "shape", "strides", "offset"),
    [
        ("i", [13], None, 0),
        ("i", [3], [-4], 0),
        ("i", [2, 6], [24], 0),
        ("i", [12], None, 4),
        ("u", [1], None, 0),
        ("b", [1], None, 0),
        ("+l", [1], None, 0),
        ("nonsense", [1], None, 0),
        ("", [1], None, 0),
        *(
            (bad, [1], None, 0)
            for bad in ("+", "+w:3", "+ud:0,1", "d:", "d:1", "d:99,1", "w:", "w:-1", "w:0")
        ),
        *((bad, [1], None, 0) for bad in ("t", "ts", "tsn", "tD", "i:", "n", "vu", "\0", "ø")),
        ("i", [2**62, 2**62], None, 0),
    ],
)
def test_what_is_no_tensor_is_refused(format, shape, strides, offset):
    with pytest.raises(ValueError):
        _native.encode_tensor(np.zeros(12, "i4"), format, shape, strides, offset)


@pytest.mark.parametrize("format", ["w:16", "d:38,10", "tsn:UTC", "tdD", "tiM"])
def test_other_formats(format):
    values = np.arange(64, dtype="u1")
    header, frames, _ = _native.encode_tensor(values, format, [2])
    tensor = _native.decode_tensor(header, frames)
    assert (tensor.format, tensor.shape) == (format, [2])
    assert bytes(tensor.values) == values.tobytes()[: len(tensor.values)]


def test_misaligned_frames():
    header, frames, _ = _native.encode_tensor(np.arange(4.0), "g", [4])
    odd = memoryview(b"x" + bytes(frames[0]))[1:]
    tensor = _native.decode_tensor(header, [odd])
    assert sum(bytes for _, _, bytes in tensor.copies) in (0, 32)
    np.testing.assert_array_equal(np.frombuffer(tensor.values, "f8"), np.arange(4.0))


INDICES = {
    "coo": ([], [np.array([[0, 1], [1, 0], [1, 2]], "i8")]),
    "csr": ([np.array([0, 1, 3], "i4")], [np.array([1, 0, 2], "i4")]),
    "csc": ([np.array([0, 1, 2, 3], "i8")], [np.array([1, 0, 1], "u1")]),
    "csf": ([np.array([0, 1, 3], "i2")], [np.array([0, 1], "i2"), np.array([1, 0, 2], "i2")]),
}
CODES = {"i8": "l", "i4": "i", "u1": "C", "i2": "s"}


def coded(arrays):
    return [(CODES[array.dtype.str[1:]], array) for array in arrays]


@pytest.mark.parametrize("kind", INDICES)
def test_a_sparse_tensor_goes_around_in_its_memory(kind):
    values = np.array([1.5, 2.5, 3.5])
    indptr, indices = map(coded, INDICES[kind])
    header, frames, copies = _native.encode_sparse(
        kind, [2, 3], ("g", values), indptr, indices, names=["row", "column"], metadata=[("a", "b")],
        max_copied_bytes=0,
    )  # fmt: skip
    assert copies == []
    expected = [array.ctypes.data for _, array in [*indptr, *indices, ("g", values)]]
    assert [address(frame) for frame in frames] == expected
    assert _native.kind(header) == "sparse"

    stream = b"".join(_native.segments(header, frames))
    received = _native.receive(io.BytesIO(stream))
    for sparse in (
        _native.decode_sparse(header, frames),
        _native.decode_sparse_stream(stream),
        _native.decode_sparse(*received),
    ):
        assert (sparse.kind, sparse.format, sparse.shape) == (kind, "g", [2, 3])
        assert (sparse.names, sparse.metadata) == (["row", "column"], [("a", "b")])
        np.testing.assert_array_equal(np.frombuffer(sparse.values, "f8"), values)
        for found, sent in [(sparse.indptr, indptr), (sparse.indices, indices)]:
            assert [code for code, _ in found] == [code for code, _ in sent]
            assert [bytes(part) for _, part in found] == [array.tobytes() for _, array in sent]
        assert sparse.strides == ([16, 8] if kind == "coo" else None)
        assert sparse.axis_order == ([0, 1] if kind == "csf" else None)
        assert sparse.is_canonical == (kind == "coo")
    assert address(_native.decode_sparse(header, frames).values) == values.ctypes.data


def test_a_wrong_index_is_refused():
    values = ("g", np.array([1.5]))
    with pytest.raises(_native.EncodeError, match="index 1 of the sparse tensor is 3"):
        _native.encode_sparse("coo", [2, 3], values, [], [("l", np.array([1, 3]))])
    with pytest.raises(ValueError, match="no kind of index"):
        _native.encode_sparse("csr", [2, 3], values, [], [("l", np.array([1, 3]))])
    with pytest.raises(ValueError, match="no kind of index"):
        _native.encode_sparse("other", [2, 3], values, [], [])
    with pytest.raises(ValueError, match="no elements of 8"):
        _native.encode_sparse("coo", [2, 3], values, [], [("l", np.zeros(3, "i4"))])


def test_one_is_not_taken_for_another():
    header, frames, _ = _native.encode_tensor(np.arange(4.0), "g", [4])
    for decode in (_native.decode, _native.decode_sparse):
        with pytest.raises(_native.DecodeError, match="starts a tensor, not a"):
            decode(header, frames)
    with pytest.raises(_native.DecodeError):
        _native.kind(b"")
    with pytest.raises(_native.DecodeError):
        _native.decode_tensor(header[:-1], frames)


def test_pyarrow_reads_it_and_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    array = np.asfortranarray(np.arange(6, dtype="i4").reshape(2, 3))
    header, frames, _ = _native.encode_tensor(
        array.ravel(order="K"), "i", array.shape, array.strides, names=["a", "b"]
    )
    tensor = pa.ipc.read_tensor(pa.BufferReader(b"".join(_native.segments(header, frames))))
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    assert tensor.strides == array.strides

    sink = pa.BufferOutputStream()
    pa.ipc.write_tensor(tensor, sink)
    stream = sink.getvalue()
    again = _native.decode_tensor_stream(stream)
    np.testing.assert_array_equal(np.ndarray(again.shape, "i4", again.values, strides=again.strides), array)
