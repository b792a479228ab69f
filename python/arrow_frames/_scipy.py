"""Sparse arrays and matrices of scipy → frames and back: each is a few arrays of numpy."""

import sys
from typing import Any

import numpy as np

from arrow_frames import _note, _parts, _tensors
from arrow_frames._errors import needed
from arrow_frames._limits import Budget
from arrow_frames._native import DecodeError

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


def kind_of(obj) -> str | None:
    """The kind of a sparse array or matrix, if it is one of scipy's own classes."""
    sparse: Any = sys.modules.get("scipy.sparse")
    if (
        sparse is None
        or not sparse.issparse(obj)
        or type(obj) is not getattr(sparse, type(obj).__name__, None)
    ):
        return None
    return f"scipy.{type(obj).__name__}" if obj.format in FORMATS else None


def encode(obj, compression: str | None):
    """Header, frames and copies."""
    note = {**_note.new(f"scipy.{type(obj).__name__}"), "shape": list(obj.shape)}
    if obj.format in ("csr", "csc", "bsr"):
        parts = [obj.data, obj.indices, obj.indptr]
        # What was found out, so that nobody looks again; what was not, is not known there either.
        flags = {name: vars(obj).get(f"_{name}") for name in ("has_sorted_indices", "has_canonical_format")}
        note |= {name: bool(value) for name, value in flags.items() if value is not None}
        if obj.format != "bsr" and not compression and (encoded := _tensors.encode_sparse(obj, note)):
            return encoded
    elif obj.format == "coo":
        parts = [obj.data, *(obj.coords if hasattr(obj, "coords") else (obj.row, obj.col))]
        note["has_canonical_format"] = bool(obj.has_canonical_format)
    elif obj.format == "dia":
        parts = [obj.data, obj.offsets]
        if not is_inside(obj.offsets, obj.shape):
            raise _parts.Unsupported("diagonals beyond the array")
    elif obj.format == "dok":
        return gathered({**note, "dtype": obj.dtype.str}, of_dok(obj), compression)
    else:
        return gathered({**note, "dtype": obj.dtype.str}, of_lil(obj), compression)
    return _parts.encode(note, parts, compression)


def gathered(note: dict, parts: list, compression: str | None):
    """Header, frames and copies of parts that were made of Python's objects."""
    header, frames, copies = _parts.encode(note, parts, compression)
    return header, frames, [(0, "pickled", sum(part.nbytes for part in parts)), *copies]


def decode(note: dict, buffers: list, writable: bool | None, budget: Budget):
    """The sparse array or matrix of a note."""
    return made(note, _parts.decode(note, buffers, writable, budget), budget)


def made(note: dict, parts: list[np.ndarray], budget: Budget):
    """The sparse array or matrix that a note's parts are of."""
    needed("scipy", "a sparse array")
    from scipy import sparse

    name = note["kind"].partition(".")[2]
    form, _, family = name.partition("_")
    known = getattr(sparse, name, None) if form in FORMATS and family in ("array", "matrix") else None
    if known is None:
        raise DecodeError(f"this scipy has no {name[:50]}")
    shape = _parts.naturals(note.get("shape"), _parts.MAX_NDIM)
    if len(shape) != 2 and (family == "matrix" or form not in ("coo", "csr", "dok") or not shape):
        raise DecodeError(f"a {name} of {len(shape)} axes")
    if len(parts) != (1 + len(shape) if form == "coo" else PARTS[form]):
        raise DecodeError(f"a {name} of {len(parts)} arrays")
    for part in parts:
        if part.dtype.kind not in "biufc":
            raise DecodeError(f"a {name} of {part.dtype}")
    if form == "dok":
        return to_dok(known, shape, _parts.dtype_of(note.get("dtype")), parts, budget)
    if form == "lil":
        return to_lil(known, shape, _parts.dtype_of(note.get("dtype")), parts, budget)
    data, *places = parts
    check(form, shape, data, places)
    # Not by its parts: the constructor would look through them, and narrow the indices.
    blocks = {"blocksize": data.shape[1:]} if form == "bsr" else {}
    obj = known(shape, dtype=data.dtype, **blocks)
    obj.data = data
    if form == "coo" and hasattr(obj, "coords"):
        obj.coords = tuple(places)
    else:
        for attribute, part in zip(ATTRIBUTES[form], places):
            setattr(obj, attribute, part)
    for name in ("has_sorted_indices", "has_canonical_format"):
        # scipy's routines trust them: what is said to be so is found out again, but for coordinates, where it is harmless.
        if name in note and (form == "coo" or not _parts.flag(note, name)):
            setattr(obj, name, _parts.flag(note, name))
    return obj


#: How many arrays each form but `coo` has.
PARTS = {"csr": 3, "csc": 3, "bsr": 3, "dia": 2, "dok": 2, "lil": 3}

#: What holds the places of the values.
ATTRIBUTES = {
    "csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"), "coo": ("row", "col"),
    "dia": ("offsets",),
}  # fmt: skip


def check(form: str, shape: tuple[int, ...], data: np.ndarray, places: list[np.ndarray]) -> None:
    """Refuses values and places that do not fit: scipy's routines look at memory without a check."""
    for place in places:
        _parts.numbers(place, f"the places of a {form} array")
    axes = {"dia": 2, "bsr": 3}.get(form, 1)
    if data.ndim != axes:
        raise DecodeError(f"a {form} array whose values have {data.ndim} axes")
    if form == "dia":
        if len(data) != len(places[0]):
            raise DecodeError(f"a dia array of {len(data)} diagonals, and {len(places[0])} offsets")
        if not is_inside(places[0], shape):
            raise DecodeError(f"a dia array with diagonals beyond {shape[0]} rows and {shape[1]} columns")
        return
    if form == "coo":
        for place, length in zip(places, shape):
            _parts.numbers(place, "the places of a coo array", length=len(data))
            within(form, place, length)
        return
    indices, indptr = places
    major, minor = (shape[-1], shape[0]) if form == "csc" else (shape[0] if len(shape) == 2 else 1, shape[-1])
    if form == "bsr":
        rows, columns = data.shape[1:]
        if not rows or not columns or major % rows or minor % columns:
            raise DecodeError(f"a bsr array of {shape} in blocks of {rows} × {columns}")
        major, minor = major // rows, minor // columns
    if len(indptr) != major + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise DecodeError(f"a {form} array of {major} rows whose starts are others")
    if int(indptr[-1]) > len(indices) or len(indices) != len(data):
        raise DecodeError(
            f"a {form} array of {len(data)} values, {len(indices)} places and {indptr[-1]} in rows"
        )
    within(form, indices, minor)


def is_inside(offsets: np.ndarray, shape: tuple) -> bool:
    """Whether diagonals are in an array, or right beside it."""
    return not len(offsets) or -shape[0] <= int(offsets.min()) <= int(offsets.max()) <= shape[1]


def within(form: str, places: np.ndarray, length: int) -> None:
    if len(places) and not 0 <= places.min() <= places.max() < length:
        raise DecodeError(f"a {form} array with places beyond the {length} that there are")


def of_dok(obj) -> list[np.ndarray]:
    """The places and the values of a dictionary of keys, in its order."""
    items = dict(obj.items())
    places = np.array(list(items), np.int64).reshape(len(items), obj.ndim)
    return [places, np.fromiter(items.values(), obj.dtype, len(items))]


def to_dok(known, shape: tuple, dtype: np.dtype, parts: list, budget: Budget):
    places, values = parts
    _parts.numbers(values, "the values of a dok array", "biufc")
    if places.dtype.kind not in "iu" or places.shape != (len(values), len(shape)) or values.dtype != dtype:
        raise DecodeError(f"a dok array of {len(values)} values, and places of {places.shape}")
    for axis, length in enumerate(shape):
        within("dok", places[:, axis], length)
    budget.claim(DOK_BYTES * len(values), "a dok array")
    made = known(shape, dtype=dtype)
    keys = map(int, places[:, 0]) if made.ndim == 1 else map(tuple, places.tolist())
    # Not by its own assignment, which takes a 0 for nothing.
    own = getattr(made, "_dict", made)
    for key, value in zip(keys, values):
        dict.__setitem__(own, key, value)
    return made


def of_lil(obj) -> list[np.ndarray]:
    """The lengths of the rows of a list of lists, their places and values one behind the other."""
    lengths = np.fromiter(map(len, obj.rows), np.int64, len(obj.rows))
    total = int(lengths.sum())
    places = np.fromiter((place for row in obj.rows for place in row), np.int64, total)
    return [lengths, places, np.fromiter((value for row in obj.data for value in row), obj.dtype, total)]


def to_lil(known, shape: tuple, dtype: np.dtype, parts: list, budget: Budget):
    lengths, places, values = parts
    _parts.numbers(lengths, "the lengths of the rows of a lil array", length=shape[0])
    _parts.numbers(places, "the places of a lil array")
    _parts.numbers(values, "the values of a lil array", "biufc", len(places))
    within("lil", lengths, len(places) + 1)
    # No number of them is more than there are places, so that the sum does not wrap.
    if values.dtype != dtype or int(lengths.sum(dtype=np.int64)) != len(places):
        raise DecodeError(f"a lil array of {len(places)} places, and rows of others")
    within("lil", places, shape[1])
    budget.claim(LIL_ROW_BYTES * len(lengths) + LIL_BYTES * len(places), "a lil array")
    made = known(shape, dtype=dtype)
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    places, values = places.tolist(), values.tolist()
    for row, (start, end) in enumerate(zip([0, *ends], ends)):
        made.rows[row] = places[start:end]
        made.data[row] = values[start:end]
    return made


#: Bytes that an element of a dictionary of keys takes as Python objects: key, value and its place in the dict.
DOK_BYTES = 256

#: The same of a list of lists: of an element, and of a row's two lists.
LIL_BYTES, LIL_ROW_BYTES = 80, 144
