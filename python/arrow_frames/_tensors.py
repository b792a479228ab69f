"""Tensor and SparseTensor messages of Arrow ↔ arrays of numpy and sparse arrays of scipy.

Source: the Arrow columnar format, "Tensor (Multi-dimensional Array)" and "Sparse Tensor".
"""

from typing import Any

import numpy as np

from arrow_frames import _native, _note, _parts
from arrow_frames._errors import needed
from arrow_frames._limits import Budget
from arrow_frames._native import DecodeError

#: numpy's numbers as the formats of Arrow's C data interface.
FORMATS = {dtype: format for dtype, format in _parts.FORMATS.items() if dtype[0] in "iuf"}


def format_of(array: np.ndarray) -> str | None:
    """The format of an array's numbers, if Arrow has them and they lie where it wants them."""
    if not array.dtype.isnative or not array.flags.aligned:
        return None
    return FORMATS.get(array.dtype.str[1:])


def encode(array: np.ndarray, note: dict):
    """Header, frames and copies of an array of numbers; none if a Tensor message cannot say how it lies."""
    format = format_of(array)
    if format is None or not array.size or not array.ndim:
        return None
    if any(stride <= 0 for length, stride in zip(array.shape, array.strides) if length > 1):
        return None
    copies: _parts.Copies = []
    part, memory = _parts.split(array, 0, copies)
    if part.get("readonly"):
        note = {**note, "readonly": True}
    header, frames, copied = _native.encode_tensor(
        memory, format, part["shape"], part.get("strides"), metadata=[_note.entry(note)]
    )
    return header, frames, copies + copied


def encode_sparse(obj, note: dict):
    """Header, frames and copies of a sparse array of rows or columns; none if a message has no such one."""
    parts = (obj.data, obj.indptr, obj.indices)
    formats = [format_of(part) for part in parts]
    if None in formats or len(obj.shape) != 2 or not all(part.flags.c_contiguous for part in parts):
        return None
    if not len(obj.indptr) or obj.indptr[-1] != len(obj.indices):
        # Room that is not used yet.
        return None
    readonly = [not part.flags.writeable for part in parts]
    if any(readonly):
        note = {**note, "readonly": readonly}
    data, indptr, indices = ((str(format), part) for format, part in zip(formats, parts))
    return _native.encode_sparse(
        obj.format, obj.shape, data, [indptr], [indices], metadata=[_note.entry(note)]
    )


def decode(kind: str, decode_tensor, decode_sparse, writable: bool | None, budget: Budget) -> Any:
    """The array that a message of that kind is."""
    if kind == "sparse":
        return sparse(decode_sparse(), writable, budget)
    needed("numpy", "a tensor")
    decoded = decode_tensor()
    budget.count(decoded)
    note = _note.of(dict(decoded.metadata))
    part = {"dtype": dtype(decoded.format).str, "shape": decoded.shape, "strides": decoded.strides}
    part["readonly"] = _parts.flag(note, "readonly")
    array = _parts.join(part, decoded.values, writable, budget, is_exact=False)
    from arrow_frames import _numpy

    known = _numpy.KINDS.get(note.get("kind", "numpy.ndarray"))
    if known is None or known is np.ma.MaskedArray:
        raise DecodeError(f"a tensor that says that it is a {note['kind']!r}")
    return array if known is np.ndarray else array.view(known)


def sparse(decoded, writable: bool | None, budget: Budget):
    """A sparse array or matrix of scipy."""
    from arrow_frames import _scipy

    budget.count(decoded)
    note = _note.of(dict(decoded.metadata))
    if decoded.kind == "csf":
        raise DecodeError("scipy has no array of a tree of indices (CSF)")
    values = vector(decoded.format, decoded.values)
    if decoded.kind == "coo":
        rank = len(decoded.shape)
        format, memory = decoded.indices[0]
        part = {"dtype": dtype(format).str, "shape": [len(values), rank], "strides": decoded.strides}
        matrix = _parts.join(part, memory, None, budget, is_exact=False)
        places = [np.ascontiguousarray(matrix[:, axis]) for axis in range(rank)]
    else:
        places = [vector(*decoded.indices[0]), vector(*decoded.indptr[0])]
    parts = [values, *places]
    # Of data, pointers and indices, in the message's order.
    readonly = _parts.items(note.get("readonly", [False] * 3), "what is read-only", 3)
    if len(readonly) != 3 or any(type(one) is not bool for one in readonly):
        raise DecodeError(f"what is read-only: {str(readonly)[:50]}")
    if writable is None:
        for array, kept in zip((parts[0], parts[2], parts[1]), readonly):
            array.flags.writeable = array.flags.writeable and not kept
    elif writable is False:
        for array in parts:
            array.flags.writeable = False
    else:
        parts = [array if array.flags.writeable else array.copy() for array in parts]
    if "kind" not in note:
        note = {"kind": f"scipy.{decoded.kind}_array"}
    return _scipy.made({**note, "shape": decoded.shape}, parts, budget)


def vector(format: str, memory) -> np.ndarray:
    """Elements one behind the other."""
    return np.frombuffer(memory, dtype(format)) if memory.nbytes else np.empty(0, dtype(format))


def dtype(format: str) -> np.dtype:
    """numpy's dtype of a format."""
    if format not in _parts.DTYPES:
        raise DecodeError(f"numpy has no numbers of Arrow's format {format!r}")
    return _parts.DTYPES[format]
