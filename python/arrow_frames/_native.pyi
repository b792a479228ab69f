"""The codec behind `arrow_frames`, in Rust: frames over the buffer protocol and Arrow's PyCapsules."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol, TypeAlias, final

from typing_extensions import Buffer, CapsuleType

__all__ = [
    "Array",
    "ArrowFramesError",
    "Call",
    "Columns",
    "DecodeError",
    "Decoded",
    "DecodedSparse",
    "DecodedTensor",
    "EncodeError",
    "LimitError",
    "Limits",
    "Memory",
    "Objects",
    "OutOfBand",
    "Stream",
    "__version__",
    "check_hashes",
    "check_steps",
    "check_text",
    "decode",
    "decode_sparse",
    "decode_sparse_stream",
    "decode_stream",
    "decode_tensor",
    "decode_tensor_stream",
    "encode_object",
    "encode_sparse",
    "encode_stream",
    "encode_tensor",
    "kind",
    "merge",
    "pack",
    "pickle",
    "receive",
    "schema",
    "segments",
    "unpack",
]

__version__: str

class ArrowFramesError(ValueError):
    """What the codec cannot do, and why."""

class DecodeError(ArrowFramesError):
    """The input is malformed or not supported."""

class EncodeError(ArrowFramesError):
    """The object cannot be encoded as it is asked for."""

class LimitError(DecodeError):
    """The input asks for more than the limits allow."""

@final
class Limits:
    """What untrusted input may ask for before it is refused with `LimitError`."""

    def __new__(
        cls,
        *,
        max_metadata_bytes: int | None = None,
        max_body_bytes: int | None = None,
        max_stream_bytes: int | None = None,
        max_expanded_bytes: int | None = None,
        max_expansion: int | None = None,
        max_rows_without_bytes: int | None = None,
        max_depth: int | None = None,
    ) -> Limits: ...
    @staticmethod
    def for_service() -> Limits: ...
    @property
    def max_metadata_bytes(self) -> int: ...
    @property
    def max_body_bytes(self) -> int: ...
    @property
    def max_stream_bytes(self) -> int: ...
    @property
    def max_expanded_bytes(self) -> int: ...
    @property
    def max_expansion(self) -> int: ...
    @property
    def max_rows_without_bytes(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Array:
    """An Arrow array of a decoded column, for any library that takes `__arrow_c_array__`."""

    @property
    def type(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def copy_nbytes(self, object_bytes: int) -> int: ...
    def check_hashes(self) -> None: ...
    def to_pyarrow(self, pyarrow: ModuleType) -> Any: ...
    def __len__(self) -> int: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[CapsuleType, CapsuleType]: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...

@final
class Stream:
    """Decoded batches, for any library that takes `__arrow_c_stream__`. They can be asked for again."""

    @property
    def schemas_nbytes(self) -> int: ...
    @property
    def taken_nbytes(self) -> int: ...
    def for_polars(self, polars: ModuleType) -> Stream: ...
    def to_pyarrow(self, pyarrow: ModuleType) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...

@final
class Memory:
    """Memory that a frame is in, which its owner keeps."""

    @property
    def nbytes(self) -> int: ...
    @property
    def owner(self) -> object | None: ...
    def __len__(self) -> int: ...

# What the functions that read take as limits.
_Limits: TypeAlias = Limits | None

# A copy: the column, why, and bytes.
_Copy: TypeAlias = tuple[int, str, int]

# A header, its frames, and what was copied.
_Encoded: TypeAlias = tuple[bytes, list[memoryview], list[_Copy]]

# A field: its name, its format if it is one of numbers, whether it is nullable, its nulls, and its mark if
# it is opaque.
_Field: TypeAlias = tuple[str, str | None, bool, int, str | None]

@final
class Columns:
    """What to encode: columns, each added in one call, in order."""

    def __new__(cls, names: Sequence[str], rows: int) -> Columns: ...
    def block(self, places: Sequence[int], format: str, array: Buffer) -> None: ...
    def masked(self, place: int, format: str, values: Buffer, mask: Buffer) -> None: ...
    def boolean(self, place: int, values: Buffer) -> None: ...
    def arrow(self, place: int, array: Any) -> None: ...
    def opaque(self, place: int, mark: str, type_name: str, buffers: Sequence[Buffer]) -> None: ...
    def copied(self, place: int, reason: str, bytes: int) -> None: ...
    def encode(
        self,
        metadata: Sequence[tuple[str, str]],
        *,
        writable: bool = False,
        compression: str | None = None,
    ) -> _Encoded: ...

@final
class Decoded:
    """A decoded dataframe, whose columns are the frames that it was decoded from."""

    @property
    def rows(self) -> int: ...
    @property
    def batches(self) -> list[int]: ...
    @property
    def metadata(self) -> list[tuple[str, str]]: ...
    @property
    def fields(self) -> list[_Field]: ...
    @property
    def copies(self) -> list[_Copy]: ...
    def blocks(
        self, batch: int, columns: Sequence[int], strict: bool
    ) -> list[tuple[str, list[int], memoryview, int]]: ...
    def masked(self, batch: int, column: int) -> tuple[str, memoryview, memoryview]: ...
    def boolean(self, batch: int, column: int) -> memoryview: ...
    def is_null(self, column: int) -> bool: ...
    def is_text_or_dictionary(self, column: int) -> bool: ...
    def zones(self, column: int) -> list[str]: ...
    def joined(self, column: int) -> Decoded | None: ...
    def array(self, batch: int, column: int) -> Array: ...
    def opaque(self, batch: int, column: int) -> tuple[list[memoryview], str | None, int]: ...
    def resolved(self, batch: int, column: int) -> Array: ...
    def object(self) -> list[memoryview] | None: ...
    def object_refused(self) -> tuple[str | None, int]: ...
    def stream(self) -> Stream: ...

@final
class DecodedTensor:
    """A decoded tensor, whose memory is the frame that it was decoded from."""

    @property
    def format(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def strides(self) -> list[int]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def metadata(self) -> list[tuple[str, str]]: ...
    @property
    def values(self) -> memoryview: ...
    @property
    def copies(self) -> list[_Copy]: ...

@final
class DecodedSparse:
    """A decoded sparse tensor, whose memory is the frames that it was decoded from."""

    @property
    def kind(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def metadata(self) -> list[tuple[str, str]]: ...
    @property
    def values(self) -> memoryview: ...
    @property
    def indptr(self) -> list[tuple[str, memoryview]]: ...
    @property
    def indices(self) -> list[tuple[str, memoryview]]: ...
    @property
    def strides(self) -> list[int] | None: ...
    @property
    def axis_order(self) -> list[int] | None: ...
    @property
    def is_canonical(self) -> bool: ...
    @property
    def copies(self) -> list[_Copy]: ...

@final
class Call:
    """A call of a public constructor. `before` is a name that is only looked up."""

    def __new__(
        cls, module: str, name: str, *arguments: object, before: tuple[str, str] | None = None
    ) -> Call: ...

@final
class OutOfBand:
    """A buffer that stays outside the pickle."""

    def __new__(cls, object: Buffer) -> OutOfBand: ...

@final
class Objects:
    """A numpy array of `object`, of one dimension, given as the list of its values."""

    def __new__(cls, values: list[Any]) -> Objects: ...

class _HasReadinto(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...

class _HasRecvInto(Protocol):
    def recv_into(self, buffer: Any, /) -> int: ...

class _HasRead(Protocol):
    def read(self, size: int, /) -> Buffer: ...

def encode_object(
    buffers: Sequence[Buffer],
    metadata: Sequence[tuple[str, str]],
    *,
    compression: str | None = None,
) -> _Encoded: ...
def encode_stream(
    source: Any,
    metadata: Sequence[tuple[str, str]],
    *,
    target: str,
    writable: bool = False,
    compression: str | None = None,
) -> _Encoded: ...
def decode(
    header: Buffer,
    frames: Sequence[Buffer],
    columns: Sequence[int] | None = None,
    *,
    as_they_lie: bool = False,
    limits: _Limits = None,
) -> Decoded: ...
def decode_stream(
    stream: Buffer, columns: Sequence[int] | None = None, *, limits: _Limits = None
) -> Decoded: ...
def check_text(values: list[str], what: str) -> None: ...
def check_steps(steps: int, count: int, what: str) -> None: ...
def check_hashes(values: Any, format: str, what: str) -> None: ...
def kind(bytes: Buffer) -> str: ...
def encode_tensor(
    values: Buffer,
    format: str,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    offset: int = 0,
    *,
    names: Sequence[str] | None = None,
    metadata: Sequence[tuple[str, str]] | None = None,
    max_copied_bytes: int | None = None,
) -> _Encoded: ...
def encode_sparse(
    kind: str,
    shape: Sequence[int],
    values: tuple[str, Buffer],
    indptr: Sequence[tuple[str, Buffer]],
    indices: Sequence[tuple[str, Buffer]],
    *,
    strides: Sequence[int] | None = None,
    axis_order: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    metadata: Sequence[tuple[str, str]] | None = None,
    max_copied_bytes: int | None = None,
) -> _Encoded: ...
def decode_tensor(
    header: Buffer,
    frames: Sequence[Buffer],
    *,
    max_copied_bytes: int | None = None,
    limits: _Limits = None,
) -> DecodedTensor: ...
def decode_tensor_stream(
    stream: Buffer, *, max_copied_bytes: int | None = None, limits: _Limits = None
) -> DecodedTensor: ...
def decode_sparse(
    header: Buffer,
    frames: Sequence[Buffer],
    *,
    max_copied_bytes: int | None = None,
    limits: _Limits = None,
) -> DecodedSparse: ...
def decode_sparse_stream(
    stream: Buffer, *, max_copied_bytes: int | None = None, limits: _Limits = None
) -> DecodedSparse: ...
def schema(bytes: Buffer) -> tuple[list[_Field], list[tuple[str, str]]]: ...
def pickle(expression: object) -> list[memoryview]: ...
def segments(header: Buffer, frames: Sequence[Buffer]) -> list[memoryview]: ...
def merge(frames: Sequence[Buffer]) -> list[memoryview]: ...
def receive(
    source: _HasReadinto | _HasRecvInto | _HasRead, *, limits: _Limits = None
) -> tuple[bytes, list[memoryview]]: ...
def pack(frames: Sequence[Buffer]) -> bytes: ...
def unpack(packed: Buffer) -> list[memoryview]: ...
