"""Writing the slices of a stream: vectored where the system can."""

import contextlib
import io
import os
import secrets
import socket
import stat
from typing import Any

from arrow_frames._native import DecodeError

#: How many slices one system call takes: what Linux allows.
SLICES = 1024


def write(segments: list[memoryview], file: Any) -> int:
    """Writes all slices to a path, an open file or a socket; the number of bytes."""
    if isinstance(file, (str, os.PathLike)):
        return write_named(segments, os.fspath(file))
    total = sum(segment.nbytes for segment in segments)
    if isinstance(file, socket.socket):
        if file.gettimeout() == 0:
            raise BlockingIOError("the socket does not block: it would take a part of the stream")
        vectored(segments, file.sendmsg)
    elif is_raw(file):
        descriptor = file.fileno()
        vectored(segments, lambda slices: os.writev(descriptor, slices))
    else:
        for segment in segments:
            write_all(segment, file)
    return total


def write_all(segment: memoryview, file: Any) -> None:
    """Writes a slice to a file that may take only some of its bytes."""
    while segment.nbytes:
        written = file.write(segment)
        if written is None:
            if isinstance(file, io.RawIOBase):
                raise BlockingIOError("the file does not block: it has a part of the stream")
            # One that does not say how much takes all.
            return
        if type(written) is not int or not 0 < written <= segment.nbytes:
            raise OSError(
                f"the file was given {segment.nbytes:,} bytes, and says that it has written {written!r}"
            )
        segment = segment[written:]


def write_named(segments: list[memoryview], path: str) -> int:
    """Writes a file that has its name when it is whole, or not at all.

    It has the permissions, and as far as the system lets it the owner and the group, of a file that
    it replaces. A new one is as any new file: who names it expects that, and can share it.
    """
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    replaced = None
    if os.path.lexists(path):
        replaced = os.stat(path)
        if not stat.S_ISREG(replaced.st_mode):
            # A pipe or a device, which has its name anyway.
            with open(path, "wb", buffering=0) as file:
                return write(segments, file)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # Never open to more than in the end: the umask takes from a new file what it has to.
    mode = 0o600 if replaced else 0o666
    try:
        with open(temporary, "wb", buffering=0, opener=lambda name, _: os.open(name, flags, mode)) as file:
            if replaced:
                hand_on(replaced, file.fileno())
            total = write(segments, file)
        os.replace(temporary, path)
    except BaseException:
        # An interrupt may come before it is there, or when it has its name.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return total


def hand_on(old: os.stat_result, new: int) -> None:
    """Gives an open file the owner, the group and the permissions of another one."""
    if not hasattr(os, "fchown"):
        return
    # Neither execution as its owner nor as its group is for other contents.
    mode = stat.S_IMODE(old.st_mode) & 0o777
    try:
        # The owner is root's to change.
        os.fchown(new, old.st_uid, old.st_gid)
    except OSError:
        try:
            os.fchown(new, -1, old.st_gid)
        except OSError:
            # Of the group that the new file has instead, the old one's owner knew nothing.
            mode &= ~0o070
    os.fchmod(new, mode)


def is_raw(file: Any) -> bool:
    """Whether nothing lies between the file and its descriptor."""
    return isinstance(file, io.FileIO) and hasattr(os, "writev")


def vectored(segments: list[memoryview], call) -> None:
    """Hands slices to a system call that may take only some of their bytes."""
    waiting = [segment for segment in segments if segment.nbytes]
    start = 0
    while start < len(waiting):
        written = call(waiting[start : start + SLICES])
        while start < len(waiting) and written >= waiting[start].nbytes:
            written -= waiting[start].nbytes
            start += 1
        if written:
            waiting[start] = waiting[start][written:]


def whole(file: io.FileIO) -> bytearray:
    """All bytes of a file, in memory that may be written to."""
    memory = bytearray(os.fstat(file.fileno()).st_size)
    rest = memoryview(memory)
    file.seek(0)
    while rest:
        if not (read := file.readinto(rest)):
            raise DecodeError(f"the file ended {len(rest):,} bytes early")
        rest = rest[read:]
    return memory
