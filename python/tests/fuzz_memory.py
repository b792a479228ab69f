"""The memory of a loaded object: which arrays it is made of, where these lie, and what else lies there."""

import gc
import sys
import types

import numpy as np
import pyarrow as pa

#: Objects that are looked at, at most: an object of a few KB has far fewer.
MOST = 20_000

#: What leads away from the object to the libraries.
BEYOND = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType, types.FrameType,
    np.dtype, property, str, bytes, int, float, complex, bool, type(None),
)  # fmt: skip


#: What pyarrow finds of values that its own writers accept.
VALUES = (
    "whole number of days",
    "within the acceptable range",
    "does not fit in precision",
    "value out of bounds for date",
)


class Broken(Exception):
    """A property of memory that does not hold."""


def reachable(obj) -> tuple[list[np.ndarray], list]:
    """The arrays that an object is made of, and what of it pyarrow holds."""
    arrays, of_arrow = [], []
    seen, left = set(), [obj]
    while left and len(seen) < MOST:
        item = left.pop()
        if id(item) in seen or isinstance(item, BEYOND):
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            arrays.append(item)
            # A subclass has more: a mask, a fill value.
            left.extend(getattr(item, "__dict__", {}).values())
            if item.dtype.hasobject and item.size < 10_000:
                left.extend(item.ravel().tolist() if item.dtype == object else ())
            continue
        if type(item).__module__.partition(".")[0] == "pyarrow":
            of_arrow.append(item)
            continue
        if type(item).__module__.partition(".")[0] in (
            "polars",
            "zoneinfo",
            "pytz",
            "dateutil",
            "_cython_3_1_2",
        ):
            continue
        left.extend(gc.get_referents(item))
    # The list keeps every object alive whose id was seen.
    return arrays, of_arrow


def extent(array: np.ndarray) -> tuple[int, int]:
    """The first byte of an array and the one behind its last, in exact integers."""
    address = array.__array_interface__["data"][0]
    if 0 in array.shape or array.itemsize == 0:
        return address, address
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return address + sum(min(0, r) for r in reach), address + sum(max(0, r) for r in reach) + array.itemsize


def span(memory) -> tuple[int, int]:
    """Where the memory of an object of the buffer protocol lies."""
    view = np.frombuffer(memory, "u1") if memoryview(memory).nbytes else np.zeros(0, "u1")
    address = view.__array_interface__["data"][0]
    return address, address + view.nbytes


def root_of(array: np.ndarray) -> tuple[list[tuple[int, int]], str]:
    """The memory that the root of an array's bases owns or lends, and what the root is."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    base = array.base
    if base is None:
        # Its own allocation has no more than this.
        address = array.__array_interface__["data"][0]
        return [(address, address + array.nbytes)], "ndarray"
    while isinstance(base, memoryview) and isinstance(base.obj, np.ndarray):
        return root_of(base.obj)
    name = type(base).__name__
    if name == "DummyArray":
        # numpy's own, of `as_strided`.
        return root_of(base.base)
    if isinstance(base, pa.Array):
        return [(buffer.address, buffer.address + buffer.size) for buffer in base.buffers() if buffer], name
    try:
        return [span(base)], name
    except (TypeError, ValueError, BufferError):
        return [], name


def check(obj, lent: list[tuple[int, int, bool]], writable: bool | None) -> None:
    """Raises unless every array lies in memory that is lent or its own, and is alone where it is writable.

    `lent` are the spans of the input, and whether each may be written to.
    """
    arrays, of_arrow = reachable(obj)
    places = []
    for array in arrays:
        start, end = extent(array)
        if start == end:
            continue
        what = f"{type(array).__name__} {array.dtype} {array.shape} {array.strides}"
        is_lent = [may_write for first, last, may_write in lent if first <= start and end <= last]
        if not is_lent:
            roots, kind = root_of(array)
            # pyarrow keeps what it converts itself in a capsule.
            if not roots and kind != "PyCapsule":
                raise Broken(f"array on memory of nobody: {kind}; {what}")
            if roots and not any(first <= start and end <= last for first, last in roots):
                far = ", ".join(
                    f"{start - first} to {end - first} of {last - first}" for first, last in roots
                )
                raise Broken(f"array outside of its memory: {what}; bytes {far} of {kind}")
        elif array.flags.writeable and not any(is_lent):
            raise Broken(f"writable array on read-only input: {what}")
        if writable is False and array.flags.writeable and is_lent:
            raise Broken(f"writable array, though none was asked for: {what}")
        places.append((start, end, array))
    apart(places)
    for item in of_arrow:
        arrow(item)


def apart(places: list) -> None:
    """Raises if something can be written by an array that another one holds too."""
    places.sort(key=lambda place: place[:2])
    last = None
    for place in places:
        if last is not None and place[0] < last[1]:
            one, other = last[2], place[2]
            may_write = one.flags.writeable or other.flags.writeable
            # Rows of a block with gaps may have another array's in between.
            if may_write and not of_one_root(one, other) and np.shares_memory(one, other):
                raise Broken(
                    f"writable arrays overlap: {one.dtype} {one.shape} {one.flags.writeable}, "
                    f"{other.dtype} {other.shape} {other.flags.writeable}"
                )
        if last is None or place[1] > last[1]:
            last = place


def of_one_root(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether both are views of one array, or of one object: a library holds its own arrays in several ways.

    Each buffer of a stream is lent by an object of its own, so that buffers that overlap have two roots.
    """
    roots = []
    for array in (one, other):
        while isinstance(array.base, np.ndarray):
            array = array.base
        roots.append(array if array.base is None else array.base)
    return roots[0] is roots[1]


def arrow(item) -> None:
    """Raises unless what pyarrow holds is valid."""
    if not hasattr(item, "validate"):
        return
    try:
        item.validate(full=True)
    except pa.ArrowException as error:
        # Values that are out of a type's range lead nowhere.
        if any(text in str(error) for text in VALUES):
            return
        raise Broken(f"pyarrow finds it invalid: {error}") from error


def peak() -> int:
    """The most memory that was in use since [`reset_peak`], in bytes; 0 where the system does not say."""
    return status("VmHWM") if sys.platform == "linux" else 0


def reset_peak() -> int:
    """Forgets the peak, and returns what is in use."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")


def status(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
