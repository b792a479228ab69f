"""Arrays of numpy, of its own classes, → frames and back."""

from typing import Any

import numpy as np

from arrow_frames import _note, _parts, _tensors
from arrow_frames._native import DecodeError, Objects, encode_object
from arrow_frames._native import pickle as written

#: The classes that come back as they went.
CLASSES = {
    np.ndarray: "numpy.ndarray",
    np.memmap: "numpy.memmap",
    np.recarray: "numpy.recarray",
    np.matrix: "numpy.matrix",
    np.char.chararray: "numpy.chararray",
    np.ma.MaskedArray: "numpy.MaskedArray",
}
KINDS = {kind: known for known, kind in CLASSES.items()}


def kind_of(obj) -> str | None:
    """The kind of an array, if no class of anybody else's has made it more than that."""
    return CLASSES.get(type(obj))


def encode(array: np.ndarray, compression: str | None):
    """Header, frames and copies; `Unsupported` if the array is of objects that are no scalars."""
    note = _note.new(CLASSES[type(array)])
    if isinstance(array, np.ma.MaskedArray):
        return masked(array, note, compression)
    if array.dtype == object:
        return objects(array, note, compression)
    # A Tensor message, which others can read too, says nothing of compression.
    encoded = None if compression else _tensors.encode(array, note)
    return encoded or _parts.encode(note, [array], compression)


def masked(array: Any, note: dict, compression: str | None):
    """A masked array: its values, its mask and what it shows for a value that is masked."""
    # Not `data`, which is a view of the class that the values had.
    parts = [np.asarray(array.data)]
    if array.mask is not np.ma.nomask:
        parts.append(np.asarray(array.mask))
        note["mask"] = True
    if array._fill_value is not None:
        parts.append(np.asarray(array._fill_value))
        note["fill"] = True
    if array.hardmask:
        note["hard"] = True
    if array._baseclass is not np.ndarray:
        raise _parts.Unsupported(f"no part holds a masked {array._baseclass.__name__}")
    return _parts.encode(note, parts, compression)


def objects(array: np.ndarray, note: dict, compression: str | None):
    """An array of Python objects: as scalars, one behind the other."""
    array, kept = np.asarray(array), array.flags.writeable
    order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    note |= {"shape": list(array.shape), "order": order, **({} if kept else {"readonly": True})}
    try:
        buffers = written(Objects(array.ravel(order).tolist()))
    except TypeError as error:
        raise _parts.Unsupported(f"no form holds the objects: {error}") from error
    header, frames, copies = encode_object(buffers, [_note.entry(note)], compression=compression)
    return header, frames, [(0, "pickled", buffers[0].nbytes), *copies]


def decode(note: dict, buffers: list, loaded, writable: bool | None) -> np.ndarray:
    """The array of a note. `loaded` unpickles the buffers, if they may be."""
    known = KINDS[note["kind"]]
    if "order" in note:
        array: Any = loaded().reshape(tuple(note["shape"]), order=note["order"]).view(known)
        return _parts.protected(array, note, writable)
    arrays = _parts.decode(note, buffers, writable)
    if known is np.ma.MaskedArray:
        rest = iter(arrays[1:])
        mask = next(rest) if note.get("mask") else np.ma.nomask
        if mask is not np.ma.nomask and mask.shape != arrays[0].shape:
            raise DecodeError(f"a mask of the shape {mask.shape}, of values of the shape {arrays[0].shape}")
        array = np.ma.MaskedArray(arrays[0], mask, copy=False, hard_mask=bool(note.get("hard")))
        if note.get("fill"):
            array._fill_value = next(rest)
        return array
    return arrays[0] if known is np.ndarray else arrays[0].view(known)
