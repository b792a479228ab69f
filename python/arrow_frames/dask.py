"""dask.distributed carries dataframes as our frames: between workers and in their spill files.

    [arrow header] [frame] [frame] …        what `to_buffers` makes
    [arrow header] [frame + frame] …        neighbours in one memory as one: what distributed is given
    {"arrow-frames": 1, "lengths": […], "access": […]}

`access` is runs of a mark and a count: true and false for the memory of numpy arrays that were writable or not, none
for what nobody assigns to. However distributed splits, merges, compresses and copies the frames, one behind the other
they are the same bytes, which `lengths` cuts again.
"""

import base64
import itertools
import pickle
import re
import sys
from typing import Any

from arrow_frames import _native
from arrow_frames._codec import encode, rebuild
from arrow_frames._errors import needed
from arrow_frames._limits import NONE, Budget
from arrow_frames._native import ArrowFramesError, DecodeError

#: The key, and the version, of what the header of distributed says of ours.
KEY, VERSION = "arrow-frames", 1


#: A name, an attribute or a label in the note that is a pickle.
PICKLED = re.compile(rb'\{"pickle": "([A-Za-z0-9+/=]*)"\}')


def register() -> None:
    """Has distributed carry DataFrames, Series and Indexes of pandas, Tables and RecordBatches of pyarrow, and those
    arrays of numpy that it would copy or pickle.

    It is needed in every process that sends or receives them: in the client and, by the configuration
    `distributed.worker.preload: [arrow_frames.dask]`, in the workers. Subclasses go as they did before, and so does
    what our frames cannot hold. Whoever may connect to a worker may run code in it anyway, so that pickled columns
    are unpickled without further ado.

    >>> import pandas as pd
    >>> from distributed.protocol import deserialize, serialize
    >>> register()
    >>> header, frames = serialize(pd.DataFrame({"price": [1.5, 2.5]}))
    >>> header["sub-header"]["arrow-frames"]
    1
    >>> deserialize(header, frames)
       price
    0    1.5
    1    2.5
    """
    needed("distributed", "arrow_frames.dask")
    from distributed.protocol import dask_deserialize, dask_serialize

    for dispatch in (dask_serialize, dask_deserialize):
        # No library is loaded for this: when the first object of it comes is early enough.
        libraries = (("pandas", _register_pandas), ("pyarrow", _register_pyarrow), ("numpy", _register_numpy))
        for library, of_library in libraries:
            dispatch.register_lazy(library, of_library)
            if library in sys.modules:
                of_library()


def dask_setup(_: Any) -> None:
    """What distributed calls in a worker or a scheduler that preloads this module."""
    register()


def dumps(obj: Any) -> tuple[dict, list]:
    """What distributed calls to serialize one object: a header and frames."""
    if not _is_exact(type(obj)):
        # Passes it on to pickle. A subclass would come back as what it is not.
        raise NotImplementedError(f"{type(obj).__name__} is no class of ours")
    try:
        header, frames, copies = encode(obj, None, False, None)
    except (ArrowFramesError, TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
        # Objects that only cloudpickle can pickle, for one.
        raise NotImplementedError(f"{type(obj).__name__}: {error}") from error
    is_pickled = any(reason == "pickled" for _, reason, _ in copies)
    if is_pickled and any(map(_needs_cloudpickle, frames)) or any(map(_names_main, PICKLED.findall(header))):
        raise NotImplementedError(f"{type(obj).__name__} has objects whose class is in __main__")
    return _sent(header, frames)


def _sent(header: bytes, frames: list[memoryview]) -> tuple[dict, list]:
    """What distributed is given: its header, and the frames."""
    lengths = [len(header), *(frame.nbytes for frame in frames)]
    runs = [(mark, len(list(run))) for mark, run in itertools.groupby([None, *map(_access, frames)])]
    access = [part for run in runs for part in run]
    return {KEY: VERSION, "lengths": lengths, "access": access}, [memoryview(header), *_native.merge(frames)]


def loads(header: dict, wire_frames: list) -> Any:
    """What distributed calls to make the object again, with whatever it has made of the frames."""
    if header.get(KEY) != VERSION:
        raise DecodeError(f"these are frames of version {header.get(KEY)!r}, and not {VERSION}")
    pieces = cut(wire_frames, header["lengths"])
    access = header["access"]
    marks = [mark for mark, run in zip(access[::2], access[1::2]) for _ in range(run)]
    if len(marks) != len(pieces):
        raise DecodeError(
            f"the header has the access of {len(marks):,} frames, and the lengths of {len(pieces):,}"
        )
    first, *frames = map(_with_access, pieces, marks)

    # At whatever addresses distributed has put them, as arrays of numpy may be.
    def decode(_):
        # Whoever may connect to a worker may run code in it anyway.
        return _native.decode(first, frames, as_they_lie=True, limits=NONE)

    return rebuild(decode, first, None, True, None, None, Budget(NONE))


def cut(wire_frames: list, lengths: list[int]) -> list[memoryview]:
    """The pieces of these lengths that the wire frames are one behind the other.

    A piece is copied only if it is of several wire frames that are not neighbours in one memory.
    """
    wire_frames = _native.merge([frame for frame in wire_frames if memoryview(frame).nbytes])
    found = sum(frame.nbytes for frame in wire_frames)
    if any(length < 0 for length in lengths) or sum(lengths) != found:
        raise DecodeError(f"the header names {sum(lengths):,} bytes of frames, and {found:,} bytes came")
    pieces, rest = [], iter(wire_frames)
    frame = memoryview(b"")
    for length in lengths:
        parts, missing = [], length
        while missing:
            if not frame.nbytes:
                frame = next(rest)
            parts.append(frame[:missing])
            missing -= parts[-1].nbytes
            frame = frame[parts[-1].nbytes :]
        pieces.append(parts[0] if len(parts) == 1 else memoryview(bytearray().join(parts)))
    return pieces


def _register_pandas() -> None:
    import pandas as pd

    _register(pd.DataFrame, pd.Series, pd.Index)


def _register_pyarrow() -> None:
    # It registers its own functions when it is imported, which would replace ours if that were later.
    import distributed.protocol.arrow  # noqa: F401
    import pyarrow as pa

    _register(pa.Table, pa.RecordBatch)


def _register_numpy() -> None:
    # It registers its own functions when it is imported: ours hand on to them what they do best.
    import numpy as np
    from distributed.protocol import dask_deserialize, dask_serialize
    from distributed.protocol.numpy import deserialize_numpy_ndarray, serialize_numpy_ndarray

    def dumps_array(array: Any, context: Any = None) -> tuple[dict, list]:
        return _dumps_array(array) or serialize_numpy_ndarray(array, context)

    def loads_array(header: dict, frames: list) -> Any:
        return loads(header, frames) if KEY in header else deserialize_numpy_ndarray(header, frames)

    dask_serialize.register(np.ndarray, dumps_array)
    dask_deserialize.register(np.ndarray, loads_array)


def _dumps_array(array: Any) -> tuple[dict, list] | None:
    """An array that distributed would pickle, or copy since its axes lie in another order; none of any other."""
    from arrow_frames import _note, _numpy, _parts

    is_object = array.dtype == object
    if _numpy.kind_of(array) != "numpy.ndarray" or not is_object and (array.flags.forc or 0 in array.strides):
        return None
    note = _note.new("numpy.ndarray")
    try:
        # No Tensor message: its numbers would have to be aligned where they arrive.
        encoded = _numpy.objects(array, note, None) if is_object else _parts.encode(note, [array], None)
    except _parts.Unsupported:
        return None
    header, frames, _ = encoded
    return _sent(header, frames)


def _register(*classes: type) -> None:
    from distributed.protocol import dask_deserialize, dask_serialize

    for known in classes:
        for dispatch, function in ((dask_serialize, dumps), (dask_deserialize, loads)):
            dispatch.register(known, function)


def _is_exact(kind: type) -> bool:
    """Whether it is a class of pandas or pyarrow itself."""
    return kind.__module__.partition(".")[0] in ("pandas", "pyarrow")


def _access(frame: memoryview) -> bool | None:
    """Whether an array in this memory may be assigned to; none if nobody would, which is so of Arrow's memory."""
    lender: Any = frame.obj
    owner, is_array = lender.owner, False
    np, pa = sys.modules.get("numpy"), sys.modules.get("pyarrow")
    while owner is not None:
        if pa is not None and isinstance(owner, pa.Buffer):
            return None
        is_array = is_array or np is not None and isinstance(owner, np.ndarray)
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return not frame.readonly if is_array else None


def _with_access(frame: memoryview, writable: bool | None) -> memoryview:
    """The frame as writable as it was: copied only where that matters and distributed made it read-only."""
    if writable is None or writable != frame.readonly:
        return frame
    return memoryview(bytearray(frame)) if writable else frame.toreadonly()


def _needs_cloudpickle(frame: memoryview) -> bool:
    """Whether a frame is a pickle that names what no other process can import."""
    is_pickle = frame.nbytes > 2 and frame[0] == 0x80 and frame[-1] == ord(".")
    return is_pickle and re.search(b"__main__", frame) is not None


def _names_main(base64_text: bytes) -> bool:
    """The same of a pickle in the note."""
    return b"__main__" in base64.b64decode(base64_text)
