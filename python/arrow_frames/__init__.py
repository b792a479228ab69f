"""Exchange dataframes as an Arrow IPC header and zero-copy frames.

>>> import pandas as pd
>>> import arrow_frames as af
>>> df = pd.DataFrame({"city": ["Oslo", "Lima"], "price": [1.5, 2.5]})
>>> header, frames = af.to_buffers(df)       # the columns' own memory
>>> again = af.from_buffers(header, frames)  # columns on the frames' memory
>>> again.equals(df)
True
"""

from arrow_frames._codec import (
    copies,
    detach,
    dump,
    dumps,
    from_buffers,
    load,
    loads,
    memory_map,
    pack,
    to_buffers,
    unpack,
)
from arrow_frames._errors import MissingLibraryError, UntrustedPickleError
from arrow_frames._inspect import inspect
from arrow_frames._native import (
    Array,
    ArrowFramesError,
    DecodeError,
    EncodeError,
    LimitError,
    Limits,
    Stream,
    __version__,
)
from arrow_frames._object import array_again, object_again  # noqa: F401 - pickles name them

__all__ = [
    "Array",
    "ArrowFramesError",
    "DecodeError",
    "EncodeError",
    "LimitError",
    "Limits",
    "MissingLibraryError",
    "Stream",
    "UntrustedPickleError",
    "__version__",
    "copies",
    "detach",
    "dump",
    "dumps",
    "from_buffers",
    "inspect",
    "load",
    "loads",
    "memory_map",
    "pack",
    "to_buffers",
    "unpack",
]
