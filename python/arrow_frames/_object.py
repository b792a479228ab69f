"""Any object of Python → one pickle, whose arrays and dataframes travel as frames beside it.

What the pickler meets of ours it leaves to these: a dataframe becomes a header and frames of its own, which anybody
may look at; an array its memory, and how it lies there.
"""

import functools
import io
import pickle
from typing import Any

from arrow_frames import _note
from arrow_frames._errors import UntrustedPickleError, optional
from arrow_frames._limits import Budget
from arrow_frames._native import ArrowFramesError, DecodeError, encode_object

KIND = "python.object"


def encode(obj: Any, compression: str | None):
    """Header, frames and copies of an object."""
    buffers, copies = dumps(obj)
    header, frames, compressed = encode_object(
        buffers, [_note.entry(_note.new(KIND))], compression=compression
    )
    return header, frames, [(0, "pickled", memoryview(buffers[0]).nbytes), *copies, *compressed]


def dumps(obj: Any) -> tuple[list, list]:
    """The pickle and its buffers, and what was copied."""
    file = io.BytesIO()
    beside: list[pickle.PickleBuffer] = []
    pickler = pickler_class()(file, protocol=5, buffer_callback=beside.append)
    pickler.copies = []
    pickler.dump(obj)
    return [file.getbuffer(), *(buffer.raw() for buffer in beside)], pickler.copies


def loaded(decoded, allow_pickle: bool, writable: bool | None, budget: Budget) -> Any:
    """What the pickle of an object is, if it is a form of ours or may be loaded anyway."""
    buffers = buffers_of(decoded)
    if allow_pickle:
        return unpickled(buffers, writable)
    refused, size = decoded.object_refused()
    budget.claim(size, "the pickle of the object")
    if refused is not None:
        raise UntrustedPickleError("the object", refused)
    try:
        return unpickled(buffers, writable)
    except MemoryError:
        raise
    except Exception as error:
        raise DecodeError(f"the object cannot be made: {type(error).__name__}: {error}") from error


def unpickled(buffers: list, writable: bool | None) -> Any:
    """What a pickle and its buffers are. What the buffers are when they are not as they were."""
    if writable:
        buffers = [bytearray(buffer) if buffer.readonly else buffer for buffer in buffers]
    elif writable is False:
        buffers = [buffer.toreadonly() for buffer in buffers]
    return pickle.loads(buffers[0], buffers=buffers[1:])


def buffers_of(decoded) -> list[memoryview]:
    """The pickle of an object and its buffers."""
    buffers = decoded.object()
    if buffers is None:
        raise DecodeError("the object was lost: something rewrote the stream without what it does not know")
    return buffers


@functools.cache
def pickler_class() -> type:
    """The pickler: cloudpickle's, where there is one, which knows functions and classes of `__main__`."""
    base: Any = getattr(optional("cloudpickle"), "Pickler", pickle.Pickler)
    otherwise = getattr(base, "reducer_override", lambda *_: NotImplemented)

    def reducer_override(self, obj):
        library = type(obj).__module__.partition(".")[0]
        made = NotImplemented
        if library == "numpy":
            made = array_parts(self, obj)
        elif library in ("pandas", "pyarrow", "polars", "scipy"):
            made = frames_of(self, obj)
        return otherwise(self, obj) if made is NotImplemented else made

    return type("Pickler", (base,), {"reducer_override": reducer_override})


def array_parts(pickler, array):
    """How an array of numpy is made of its memory."""
    from arrow_frames import _numpy, _parts

    if _numpy.kind_of(array) != "numpy.ndarray":
        return NotImplemented
    flags = array.flags
    if array.nbytes < SMALL and flags.forc and flags.writeable and array.dtype.isnative:
        return NotImplemented
    try:
        part, memory = _parts.split(array, 0, pickler.copies)
    except _parts.Unsupported:
        return NotImplemented
    return array_again, (part, pickle.PickleBuffer(memory))


#: Bytes below which numpy's own pickle is smaller, and exact for what is laid out simply.
SMALL = 4096


def array_again(part: dict, memory: Any):
    """The array of a part: what a pickle calls."""
    from arrow_frames import _parts
    from arrow_frames._limits import NONE, Budget

    # Whoever lets any pickle run has no use for limits.
    return _parts.join(part, memory, None, Budget(NONE))


def frames_of(pickler, obj):
    """How a dataframe, a table or a sparse array is made of its header and frames."""
    from arrow_frames._codec import encode_known

    try:
        encoded = encode_known(obj)
    except (ArrowFramesError, TypeError, ValueError, AttributeError, pickle.PicklingError):
        return NotImplemented
    if encoded is None:
        return NotImplemented
    header, frames, copies = encoded
    pickler.copies += copies
    return object_again, (pickle.PickleBuffer(header), *map(pickle.PickleBuffer, frames))


# Pickles name them where they will be, whatever the files are called.
array_again.__module__ = "arrow_frames"


def object_again(header: Any, *frames: Any):
    """The object of a header and frames inside a pickle that was allowed: what it calls."""
    from arrow_frames._codec import from_buffers
    from arrow_frames._limits import NONE

    return from_buffers(header, frames, allow_pickle=True, limits=NONE)


object_again.__module__ = "arrow_frames"
