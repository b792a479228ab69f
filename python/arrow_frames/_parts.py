"""Arrays of numpy as the parts of an object: the memory that each is in, and a note of how it lies there.

    {"dtype": "<M8[ns]", "shape": [3, 4], "strides": [8, 24], "offset": 16, "readonly": true}

What is left out is as numpy has it: C order, no offset, writable. Any array whose elements fill their memory lies in
it as it is, whatever the order of its axes, and also backwards; of an axis without a stride one element is sent.
"""

import math
import re
from typing import Any

import numpy as np

from arrow_frames import _note
from arrow_frames._native import Call, DecodeError, OutOfBand, encode_object
from arrow_frames._native import pickle as written

#: numpy's kind and width, as the formats of Arrow's C data interface.
FORMATS = {
    "i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l", "u8": "L",
    "f2": "e", "f4": "f", "f8": "g",
    "M8[s]": "tss:", "M8[ms]": "tsm:", "M8[us]": "tsu:", "M8[ns]": "tsn:",
    "m8[s]": "tDs", "m8[ms]": "tDm", "m8[us]": "tDu", "m8[ns]": "tDn",
}  # fmt: skip

#: And these as numpy's dtypes.
DTYPES = {format: np.dtype("<" + code) for code, format in FORMATS.items()}

#: What numpy calls its own dtypes, but that of objects.
DTYPE = re.compile(r"[<>|](?:[biufcSUV]\d+|[mM]8(?:\[\d*[A-Za-z]+\])?)")

#: Bytes of an element: what numpy counts, and more than anybody has.
MAX_ITEMSIZE = 1 << 30

#: Elements of no bytes: none of them is anywhere, so that nothing else bounds them.
MAX_EMPTY_ELEMENTS = 1 << 24

#: What was copied: the part, why, and how many bytes.
Copies = list[tuple[int, str, int]]


class Unsupported(TypeError):
    """No part holds such an array."""


def encode(note: dict, arrays: list, compression: str | None):
    """Header, frames and copies of an object that arrays are the parts of."""
    copies: Copies = []
    parts, memories = [], []
    for number, array in enumerate(arrays):
        part, memory = split(array, number, copies)
        parts.append(part)
        memories.append(memory)
    # For whoever has only pickle: the memory of each, as a flat array.
    flat = [
        Call("numpy", "frombuffer", OutOfBand(memory), array.dtype.str, memory.nbytes // array.itemsize)
        if array.itemsize
        else None
        for array, memory in zip(arrays, memories)
    ]
    buffers = written(flat)
    metadata = [_note.entry({**note, "parts": parts})]
    header, frames, compressed = encode_object(buffers, metadata, compression=compression)
    return header, frames, copies + compressed


def decode(note: dict, buffers: list, writable: bool | None) -> list[np.ndarray]:
    """The arrays that a note's parts are, in these buffers: a pickle that nobody looks at, and theirs."""
    has_memory = [bool(dtype_of(part["dtype"]).itemsize) for part in note["parts"]]
    if len(buffers) != sum(has_memory) + 1:
        raise DecodeError(f"the object has {sum(has_memory)} parts, and {len(buffers) - 1} buffers came")
    memories = iter(buffers[1:])
    return [
        join(part, next(memories) if is_there else b"", writable)
        for part, is_there in zip(note["parts"], has_memory)
    ]


def split(array: np.ndarray, number: int, copies: Copies) -> tuple[dict, memoryview]:
    """The note of an array, and its memory."""
    part: dict[str, Any] = {"dtype": dtype_note(array.dtype), "shape": list(array.shape)}
    if not array.flags.writeable:
        part["readonly"] = True
    if not array.size or not array.itemsize:
        return part, memoryview(b"")
    array = np.asarray(array)
    if array.flags.c_contiguous:
        return part, octets(array)
    dense = forward(array)
    if not dense.flags.c_contiguous:
        # Gaps between the elements: without them, in the order that they have.
        array = without_gaps(array)
        dense = forward(array)
        copies.append((number, "strided", dense.nbytes))
    part["strides"] = list(array.strides)
    offset = sum(-stride * (length - 1) for length, stride in zip(array.shape, array.strides) if stride < 0)
    if offset:
        part["offset"] = offset
    return part, octets(dense)


def join(part: dict, memory: Any, writable: bool | None) -> np.ndarray:
    """The array that a note describes, in its memory."""
    dtype = dtype_of(part["dtype"])
    shape = tuple(map(natural, part["shape"]))
    if not dtype.itemsize and math.prod(shape) > MAX_EMPTY_ELEMENTS:
        raise DecodeError(f"an array of {shape} elements of no bytes")
    if not dtype.itemsize or not math.prod(shape):
        array = np.empty(shape, dtype)
    else:
        strides = part.get("strides")
        if writable and memoryview(memory).readonly:
            memory = bytearray(memory)
        # numpy checks that they do not lead out of the memory.
        array = np.ndarray(
            shape, dtype, memory, part.get("offset", 0), None if strides is None else tuple(strides)
        )
    return protected(array, part, writable)


def protected(array: np.ndarray, noted: dict, writable: bool | None) -> np.ndarray:
    """The array, read-only if that is asked for, or if it was so and nothing is asked for."""
    if writable is False or writable is None and noted.get("readonly"):
        array.flags.writeable = False
    return array


def forward(array: np.ndarray) -> np.ndarray:
    """The same memory with the longest stride first, none of them negative or 0."""
    one = tuple(
        0 if stride == 0 or length == 1 else slice(None, None, -1 if stride < 0 else None)
        for length, stride in zip(array.shape, array.strides)
    )
    # An array also where no axis is left.
    array = array[(*one, ...)]
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def without_gaps(array: np.ndarray) -> np.ndarray:
    """A copy in the order of the elements, whose axes without a stride have none in it either."""
    one = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
    if array.dtype.names is not None:
        # All bytes of an element: what lies between its fields would be anybody's memory.
        one = one.view(f"V{array.itemsize}").copy(order="K").view(array.dtype)
    else:
        one = one.copy(order="K")
    strides = [0 if stride == 0 else own for stride, own in zip(array.strides, one.strides)]
    return np.lib.stride_tricks.as_strided(one, array.shape, strides)


def octets(array: Any) -> memoryview:
    """The memory of an array without gaps, as bytes."""
    return memoryview(array.reshape(-1).view("u1"))


def dtype_note(dtype: np.dtype) -> Any:
    """A dtype as JSON; `Unsupported` if it is of objects, or of somebody's own."""
    if dtype.hasobject or dtype.metadata is not None:
        raise Unsupported(f"no part holds {dtype}")
    if dtype.isbuiltin == 1 and dtype.names is None and DTYPE.fullmatch(dtype.str):
        return dtype.str
    note: Any
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        note = {"base": dtype_note(base), "shape": list(shape)}
    elif dtype.names is not None:
        fields = [dtype.fields[name] for name in dtype.names]  # type: ignore[index]
        note = {
            "names": list(dtype.names),
            "formats": [dtype_note(field[0]) for field in fields],
            "offsets": [field[1] for field in fields],
            "itemsize": dtype.itemsize,
        }
        if any(len(field) > 2 for field in fields):
            note["titles"] = [field[2] if len(field) > 2 else None for field in fields]  # type: ignore[misc]
        if dtype.isalignedstruct:
            note["aligned"] = True
        if dtype.type is np.record:
            note["record"] = True
    else:
        note = dtype.str
    if isinstance(note, str) and not DTYPE.fullmatch(note):
        raise Unsupported(f"no part holds {dtype}")
    again = dtype_of(note)
    if again != dtype or again.type is not dtype.type:
        raise Unsupported(f"no part holds {dtype}")
    return note


def dtype_of(note: Any) -> np.dtype:
    """The dtype that a note describes.

    Every number is checked here: numpy counts the bytes of fields in 32 bits, and believes what overflows.
    """
    if isinstance(note, str):
        # numpy would run a parser of Python's over other text.
        if not DTYPE.fullmatch(note):
            raise DecodeError(f"there is no dtype {note[:50]!r}")
        dtype = np.dtype(note)
    elif "base" in note:
        base, shape = dtype_of(note["base"]), tuple(map(natural, note["shape"]))
        if base.itemsize * math.prod(shape) > MAX_ITEMSIZE:
            raise DecodeError(f"a dtype of {shape} × {base.itemsize} bytes")
        dtype = np.dtype((base, shape))
    else:
        formats = [dtype_of(one) for one in note["formats"]]
        offsets, itemsize = [natural(offset) for offset in note["offsets"]], natural(note["itemsize"])
        ends = [offset + one.itemsize for offset, one in zip(offsets, formats)]
        if itemsize > MAX_ITEMSIZE or len(offsets) != len(formats) or any(end > itemsize for end in ends):
            raise DecodeError(f"a dtype of {itemsize} bytes whose fields end at {ends}")
        known: Any = {key: note[key] for key in ("names", "titles") if key in note}
        known |= {"formats": formats, "offsets": offsets, "itemsize": itemsize}
        dtype = np.dtype(known, align=bool(note.get("aligned")))
        if note.get("record"):
            dtype = np.dtype((np.record, dtype))
    if dtype.hasobject:
        raise DecodeError(f"{dtype} has objects, whose addresses no frame can hold")
    return dtype


def natural(number: Any) -> int:
    """A number of bytes, or of elements."""
    if type(number) is not int or number < 0:
        raise DecodeError(f"{number!r} is no number of bytes or elements")
    return number
