"""Sends a dataframe over a socket with asyncio, frame by frame: neither side joins them.

    python examples/asyncio_frames.py

A message is `u32 count | u64 length[count] | header | frame | frame …`, all numbers little-endian. Every frame goes out of
the column's own memory, and comes into a memory of its own, where the receiver's column stays.
"""

import asyncio
import socket
import struct
from typing import Any

import arrow_frames as af

#: What a receiver is ready to believe of a sender that it does not know.
MOST_FRAMES, MOST_BYTES = 1 << 20, 1 << 36


async def send(sock: socket.socket, obj: Any) -> None:
    """Sends a dataframe; returns when the system has all of it."""
    header, frames = af.to_buffers(obj)
    parts = [memoryview(header), *frames]
    loop = asyncio.get_running_loop()
    lengths = [part.nbytes for part in parts]
    await loop.sock_sendall(sock, struct.pack(f"<I{len(parts)}Q", len(parts), *lengths))
    for part in parts:
        await loop.sock_sendall(sock, part)


async def receive(sock: socket.socket) -> Any:
    """Receives one; the columns are the memory that the frames came into."""
    (count,) = struct.unpack("<I", await exactly(sock, 4))
    if not 0 < count <= MOST_FRAMES:
        raise ValueError(f"a message of {count:,} parts, where 1 to {MOST_FRAMES:,} are taken")
    lengths = struct.unpack(f"<{count}Q", await exactly(sock, 8 * count))
    if sum(lengths) > MOST_BYTES:
        raise ValueError(f"a message of {sum(lengths):,} bytes, where at most {MOST_BYTES:,} are taken")
    header, *frames = [await exactly(sock, length) for length in lengths]
    return af.from_buffers(header, frames)


async def exactly(sock: socket.socket, length: int) -> bytearray:
    """So many bytes, in memory that nobody else has."""
    memory = bytearray(length)
    loop = asyncio.get_running_loop()
    received = 0
    while received < length:
        count = await loop.sock_recv_into(sock, memoryview(memory)[received:])
        if count == 0:
            raise EOFError(f"the connection ended {length - received:,} bytes early")
        received += count
    return memory


async def main() -> None:
    import pandas as pd

    df = pd.DataFrame(
        {"city": ["Oslo", "Lima", None], "price": [1.5, 2.5, 3.5], "kind": pd.Categorical(["a", "b", "a"])}
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        _, received = await asyncio.gather(send(ours, df), receive(theirs))
    assert received.equals(df)
    print(received)


if __name__ == "__main__":
    asyncio.run(main())
