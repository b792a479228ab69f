"""What one load may allocate beyond its input: counted before it is allocated, nested streams included."""

from typing import Any

from arrow_frames._native import Decoded, LimitError, Limits

#: Copies whose size the input decides, and not the number of its bytes.
EXPANDED = ("decompression", "dictionary", "pickled values")

#: No limits, for what this process or this cluster has made itself.
NONE = Limits(
    max_metadata_bytes=2**64 - 1,
    max_body_bytes=2**64 - 1,
    max_expanded_bytes=2**64 - 1,
    max_rows_without_bytes=2**64 - 1,
)


#: Those of whoever names none.
DEFAULT = Limits()


def of(limits: Limits | dict | None) -> Limits:
    """The limits that a caller gave."""
    if limits is None:
        return DEFAULT
    if isinstance(limits, dict):
        return Limits(**limits)
    if not isinstance(limits, Limits):
        raise TypeError(f"limits are Limits or a dict, not {type(limits).__name__}")
    return limits


class Budget:
    """The bytes that one load may still allocate."""

    def __init__(self, limits: Limits | dict | None, *buffers: Any) -> None:
        #: Those that the codec itself keeps.
        self.limits = limits = of(limits)
        self.used = 0
        # The bytes of the input are counted when more than a fixed number is asked for, which is seldom.
        self.allowed, self.buffers = limits.max_expanded_bytes, buffers

    def claim(self, count: int, what: str) -> None:
        """Counts bytes before they are allocated, or refuses them."""
        self.used += count
        if self.used > self.allowed:
            self.add_input()
        if self.used > self.allowed:
            raise LimitError(
                f"{what} would take {count:,} bytes, {self.used:,} in all, where the limits allow {self.allowed:,}: "
                "pass limits with a larger max_expanded_bytes if you trust whoever made it"
            )

    def add_input(self) -> None:
        """What the bytes of the input allow."""
        self.allowed += self.limits.max_expansion * nbytes(*self.buffers)
        self.buffers = ()

    def count(self, decoded: Decoded) -> None:
        """Counts what the codec has allocated."""
        if copies := decoded.copies:
            self.claim(sum(size for _, reason, size in copies if reason in EXPANDED), "what was decoded")

    def rest(self) -> Limits:
        """The codec's limits for a stream inside the one that is being loaded."""
        own = self.limits
        self.add_input()
        return Limits(
            max_metadata_bytes=own.max_metadata_bytes,
            max_body_bytes=own.max_body_bytes,
            max_stream_bytes=own.max_stream_bytes,
            max_expanded_bytes=min(self.allowed - self.used, 2**64 - 1),
            max_expansion=0,
            max_rows_without_bytes=own.max_rows_without_bytes,
            max_depth=own.max_depth,
        )


def nbytes(*buffers: Any) -> int:
    """Bytes of all buffers; those that are none are an error elsewhere."""
    total = 0
    for buffer in buffers:
        try:
            total += memoryview(buffer).nbytes
        except TypeError:
            continue
    return total
