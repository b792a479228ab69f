"""Arrays of numpy, of its own classes, → frames and back."""

import math
from typing import Any

import numpy as np

from arrow_frames import _note, _parts, _tensors
from arrow_frames._limits import Budget
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


def decode(note: dict, buffers: list, loaded, writable: bool | None, budget: Budget) -> np.ndarray:
    """The array of a note. `loaded` unpickles the buffers, if they may be."""
    known = KINDS[note["kind"]]
    if "order" in note:
        return of_objects(note, loaded(), known, writable)
    arrays = _parts.decode(note, buffers, writable, budget)
    if known is np.ma.MaskedArray:
        return of_masked(note, arrays, budget)
    if len(arrays) != 1:
        raise DecodeError(f"a {note['kind']} of {len(arrays)} arrays")
    return arrays[0] if known is np.ndarray else arrays[0].view(known)


def of_objects(note: dict, flat: Any, known: type, writable: bool | None) -> np.ndarray:
    """An array of Python objects, from all of them one behind the other."""
    shape = _parts.naturals(note.get("shape"), _parts.MAX_NDIM)
    order = note["order"]
    if order not in ("C", "F"):
        raise DecodeError(f"there is no order {str(order)[:50]!r} of elements")
    if type(flat) is not np.ndarray or flat.dtype != object or flat.ndim != 1:
        raise DecodeError("the pickle holds no objects of the array")
    if math.prod(shape) != len(flat) or math.prod(filter(None, shape)) > _parts.MAX_BYTES:
        raise DecodeError(f"an array of {shape} objects, and {len(flat):,} came")
    array: Any = flat.reshape(shape, order=order).view(known)
    return _parts.protected(array, _parts.flag(note, "readonly"), writable)


def of_masked(note: dict, arrays: list[np.ndarray], budget: Budget) -> np.ndarray:
    """A masked array of its values, its mask and its fill value, as far as they are there."""
    has_mask, has_fill = _parts.flag(note, "mask"), _parts.flag(note, "fill")
    if len(arrays) != 1 + has_mask + has_fill:
        raise DecodeError(f"a masked array of {len(arrays)} arrays")
    values, rest = arrays[0], iter(arrays[1:])
    mask: Any = next(rest) if has_mask else np.ma.nomask
    if has_mask and (mask.shape != values.shape or mask.dtype != np.ma.make_mask_descr(values.dtype)):
        raise DecodeError(
            f"a mask of {mask.shape} × {mask.dtype}, of values of {values.shape} × {values.dtype}"
        )
    if not has_mask and values.dtype.names is not None:
        # numpy makes one, of a byte for each field.
        budget.claim(values.size * np.ma.make_mask_descr(values.dtype).itemsize, "the mask of a masked array")
    array: Any = np.ma.MaskedArray(values, mask, copy=False, hard_mask=_parts.flag(note, "hard"))
    if has_fill:
        fill = next(rest)
        if fill.shape != () or fill.dtype != values.dtype:
            raise DecodeError(f"a fill value of {fill.shape} × {fill.dtype}, of values of {values.dtype}")
        array._fill_value = fill
    return array
