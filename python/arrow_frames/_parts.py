"""Arrays of numpy as the parts of an object: the memory that each is in, and a note of how it lies there.

    {"dtype": "<M8[ns]", "shape": [3, 4], "strides": [8, 24], "offset": 16, "readonly": true}

What is left out is as numpy has it: C order, no offset, writable. Any array whose elements fill their memory lies in
it as it is, whatever the order of its axes, and also backwards; of an axis without a stride one element is sent.
"""

import functools
import math
import re
from typing import Any

import numpy as np

from arrow_frames import _note
from arrow_frames._limits import Budget
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

#: Bytes of an array, or of memory: what numpy counts.
MAX_BYTES = 2**63 - 1

#: What a note says of an array, and of a dtype that is not numpy's own.
PART_KEYS = frozenset({"dtype", "shape", "strides", "offset", "readonly"})
DTYPE_KEYS = frozenset(
    {"base", "shape", "names", "formats", "offsets", "itemsize", "titles", "aligned", "record"}
)

#: Axes of an array, in every version of numpy.
MAX_NDIM = 32

#: Levels of a dtype.
MAX_DEPTH = 32

#: The last character of Unicode.
MAX_CHARACTER = 0x10FFFF

#: Characters of the name of a dtype.
MAX_NAME = 64

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


def decode(note: dict, buffers: list, writable: bool | None, budget: Budget) -> list[np.ndarray]:
    """The arrays that a note's parts are, in these buffers: a pickle that nobody looks at, and theirs."""
    parts = [Part(part) for part in items(note.get("parts"), "the parts")]
    has_memory = [bool(part.dtype.itemsize) for part in parts]
    if len(buffers) != sum(has_memory) + 1:
        raise DecodeError(f"the object has {sum(has_memory)} parts, and {len(buffers) - 1} buffers came")
    memories = iter(buffers[1:])
    return [
        part.array(next(memories) if is_there else b"", writable, budget, is_exact=True)
        for part, is_there in zip(parts, has_memory)
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


def join(part: Any, memory: Any, writable: bool | None, budget: Budget, is_exact: bool = True) -> np.ndarray:
    """The array that a note describes, in its memory, which others may have padded if it is not exact."""
    return Part(part).array(memory, writable, budget, is_exact)


class Part:
    """What a note says of an array, every number of it checked.

    numpy checks some of it too, in numbers of 64 bits that wrap: it is only handed what has passed here.
    """

    def __init__(self, noted: Any) -> None:
        if not isinstance(noted, dict):
            raise DecodeError(f"{str(noted)[:50]!r} describes no array")
        only(noted, PART_KEYS, "an array")
        self.dtype = dtype_of(noted.get("dtype"))
        self.shape = naturals(noted.get("shape"), MAX_NDIM)
        strides = noted.get("strides")
        self.strides = None if strides is None else integers(strides, MAX_NDIM)
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise DecodeError(f"an array of {len(self.shape)} axes with {len(self.strides)} strides")
        self.offset = natural(noted.get("offset", 0))
        self.readonly = flag(noted, "readonly")
        self.size = math.prod(self.shape)
        # The size of an array that has an axis of length 0, as if it had none: numpy wants to count that too.
        if math.prod(filter(None, self.shape)) * max(self.dtype.itemsize, 1) > MAX_BYTES:
            raise DecodeError(f"an array of {self.shape} × {self.dtype.itemsize} bytes")
        if not self.dtype.itemsize and self.size > MAX_EMPTY_ELEMENTS:
            raise DecodeError(f"an array of {self.shape} elements of no bytes")

    def array(self, memory: Any, writable: bool | None, budget: Budget, is_exact: bool) -> np.ndarray:
        """The array in this memory, of which every element has all of its bytes there.

        An exact one takes all of the memory, without gaps: so the encoder has written it.
        """
        if not self.dtype.itemsize or not self.size:
            if is_exact and memoryview(memory).nbytes:
                raise DecodeError(
                    f"an array of {self.shape} without a byte, and {memoryview(memory).nbytes:,} came"
                )
            return protected(np.empty(self.shape, self.dtype), self.readonly, writable)
        memory = memoryview(memory)
        if not memory.c_contiguous:
            raise DecodeError("an array in memory with gaps")
        first, end = self.span()
        if first < 0 or end > memory.nbytes:
            raise DecodeError(
                f"an array of {self.shape} × {self.dtype.itemsize} bytes takes bytes {first:,} to {end:,} of the "
                f"{memory.nbytes:,} that are there"
            )
        if is_exact and (first or end != memory.nbytes or self.own_bytes() != memory.nbytes):
            raise DecodeError(
                f"an array of {self.shape} × {self.dtype.itemsize} bytes has {self.own_bytes():,} bytes from byte {first:,} "
                f"to {end:,}, and {memory.nbytes:,} came"
            )
        if (repeated := self.size * self.dtype.itemsize) > memory.nbytes:
            budget.claim(
                repeated,
                f"an array of {self.shape} elements that repeats some of its {memory.nbytes:,} bytes",
            )
        if writable and memory.readonly:
            memory = memoryview(bytearray(memory))
        array = np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)
        check_text(array)
        return protected(array, self.readonly, writable)

    def own_bytes(self) -> int:
        """Bytes of all elements, of which those that an axis without a stride repeats count once."""
        strides = self.strides or (1,) * len(self.shape)
        own = (length for length, stride in zip(self.shape, strides) if stride)
        return math.prod(own) * self.dtype.itemsize

    def span(self) -> tuple[int, int]:
        """Where the first byte of any element is in the memory, and where the last one ends."""
        strides = self.strides
        if strides is None:
            return self.offset, self.offset + self.size * self.dtype.itemsize
        reaches = [stride * (length - 1) for length, stride in zip(self.shape, strides)]
        first = self.offset + sum(reach for reach in reaches if reach < 0)
        end = self.offset + sum(reach for reach in reaches if reach > 0) + self.dtype.itemsize
        return first, end


def protected(array: np.ndarray, readonly: bool, writable: bool | None) -> np.ndarray:
    """The array, read-only if that is asked for, or if it was so and nothing is asked for."""
    if writable is False or writable is None and readonly:
        array.flags.writeable = False
    return array


def check_text(array: np.ndarray) -> None:
    """Refuses text with numbers that are no characters: numpy makes text of Python of them, and Python trusts it."""
    dtype = array.dtype
    if dtype.kind == "U" and array.nbytes:
        if int(np.ascontiguousarray(array).reshape(-1).view(dtype.byteorder + "u4").max()) > MAX_CHARACTER:
            raise DecodeError(
                f"an array of {dtype} has a number beyond {MAX_CHARACTER:#x}, which is no character"
            )
    elif dtype.names is not None:
        for name in dtype.names:
            check_text(np.asarray(array)[name])


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


def dtype_of(note: Any, depth: int = 0) -> np.dtype:
    """The dtype that a note describes.

    Every number is checked here: numpy counts the bytes of fields in 32 bits, and believes what overflows.
    """
    if depth > MAX_DEPTH:
        raise DecodeError(f"a dtype of more than {MAX_DEPTH} levels")
    if isinstance(note, str):
        return plain_dtype(note)
    if not isinstance(note, dict):
        raise DecodeError(f"{str(note)[:50]!r} is no dtype")
    only(note, DTYPE_KEYS, "a dtype")
    if "base" in note:
        base, shape = dtype_of(note["base"], depth + 1), naturals(note.get("shape"), MAX_NDIM)
        if math.prod(filter(None, shape)) * max(base.itemsize, 1) > MAX_ITEMSIZE:
            raise DecodeError(f"a dtype of {shape} × {base.itemsize} bytes")
        return agreed(np.dtype((base, shape)), base.itemsize * math.prod(shape))
    names = [text(name, "a field's name") for name in items(note.get("names"), "the names of fields")]
    formats = [dtype_of(one, depth + 1) for one in items(note.get("formats"), "the formats of fields")]
    offsets, itemsize = naturals(note.get("offsets"), len(formats)), natural(note.get("itemsize"))
    ends = [offset + one.itemsize for offset, one in zip(offsets, formats)]
    if not len(names) == len(offsets) == len(formats):
        raise DecodeError(f"a dtype of {len(names)} names, {len(formats)} formats and {len(offsets)} offsets")
    if itemsize > MAX_ITEMSIZE or any(end > itemsize for end in ends):
        raise DecodeError(f"a dtype of {itemsize} bytes whose fields end at {ends[:10]}")
    known: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize}
    if "titles" in note:
        titles = items(note["titles"], "the titles of fields")
        known["titles"] = [title if title is None else text(title, "a field's title") for title in titles]
    dtype = agreed(np.dtype(known, align=flag(note, "aligned")), itemsize)
    if [dtype.fields[name][1] for name in names] != list(offsets):  # type: ignore[index]
        raise DecodeError(f"numpy has other offsets than {offsets}")
    return np.dtype((np.record, dtype)) if flag(note, "record") else dtype


@functools.lru_cache(256)
def plain_dtype(name: str) -> np.dtype:
    """numpy's own dtype of that name, which is just what numpy calls it."""
    # numpy would run a parser of Python's over other text.
    if len(name) > MAX_NAME or not DTYPE.fullmatch(name):
        raise DecodeError(f"there is no dtype {name[:50]!r}")
    if name[1] in "SUV" and int(name[2:]) > MAX_ITEMSIZE // 4:
        raise DecodeError(f"a dtype of {int(name[2:]):,} characters")
    dtype = np.dtype(name)
    if dtype.str != name or dtype.hasobject:
        raise DecodeError(f"numpy calls the dtype {name!r} otherwise: {dtype.str!r}")
    return dtype


def agreed(dtype: np.dtype, itemsize: int) -> np.dtype:
    """The dtype that numpy has made, if it has the bytes that were counted, and no objects."""
    if dtype.itemsize != itemsize or dtype.hasobject:
        raise DecodeError(f"numpy has a dtype of {dtype.itemsize} bytes instead of {itemsize}")
    return dtype


def natural(number: Any) -> int:
    """A number of bytes, or of elements."""
    if type(number) is not int or not 0 <= number <= MAX_BYTES:
        raise DecodeError(f"{str(number)[:50]} is no number of bytes or elements")
    return number


def naturals(numbers: Any, most: int) -> tuple[int, ...]:
    """As many of these as there may be, as a list."""
    return tuple(map(natural, items(numbers, "a list of numbers", most)))


def integers(numbers: Any, most: int) -> tuple[int, ...]:
    """A list of integers of 64 bits."""
    for number in items(numbers, "a list of numbers", most):
        if type(number) is not int or not -MAX_BYTES - 1 <= number <= MAX_BYTES:
            raise DecodeError(f"{str(number)[:50]} is no integer of 64 bits")
    return tuple(numbers)


def items(value: Any, what: str, most: int | None = None) -> list:
    """A list of the note, of no more than so many items."""
    if not isinstance(value, list) or most is not None and len(value) > most:
        raise DecodeError(f"{what}: {str(value)[:50]!r}")
    return value


def text(value: Any, what: str) -> str:
    """Text of the note."""
    if not isinstance(value, str):
        raise DecodeError(f"{what} is {str(value)[:50]!r}, which is no text")
    return value


def flag(note: dict, key: str) -> bool:
    """What a note says is so or not; it is not if nothing is said."""
    value = note.get(key, False)
    if type(value) is not bool:
        raise DecodeError(f"{key!r} is {str(value)[:50]}, which is neither true nor false")
    return value


def only(note: dict, keys: frozenset[str], what: str) -> None:
    """Refuses keys that are not known: what they say would not be done."""
    if not keys >= note.keys():
        raise DecodeError(f"{what} with {min(note.keys() - keys)[:50]!r}, which is not known")


def numbers(array: Any, what: str, kinds: str = "iu", length: int | None = None) -> np.ndarray:
    """An array that is numpy's, of one dimension, of these kinds of numbers, and as long as it must be."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
        raise DecodeError(f"{what} are no array of numbers of one dimension")
    if length is not None and len(array) != length:
        raise DecodeError(f"{what} are {len(array):,}, and not {length:,}")
    return array
