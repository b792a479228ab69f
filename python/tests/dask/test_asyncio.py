"""The example for asyncio, over a real socket."""

import asyncio
import socket
import struct
import subprocess
import sys
from pathlib import Path

import arrow_frames as af
import numpy as np
import pytest
from frames import mixed

EXAMPLES = Path(__file__).parents[3] / "examples"
sys.path.insert(0, str(EXAMPLES))

from asyncio_frames import receive, send


async def through_a_socket(*coroutines):
    """Runs each with its end of a connection over TCP."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as here,
    ):
        there, _ = server.accept()
        with there:
            for end in (here, there):
                end.setblocking(False)
            return await asyncio.gather(
                *(run(end) for run, end in zip(coroutines, (here, there), strict=True))
            )


def test_dataframes_come_through_one_after_the_other():
    # Far more than a socket holds, so that both sides have to wait.
    sent = [mixed(200_000), mixed(10)[:0], mixed(3, seed=1)]

    async def sender(sock):
        for one in sent:
            await send(sock, one)

    async def receiver(sock):
        return [await receive(sock) for _ in sent]

    _, received = asyncio.run(through_a_socket(sender, receiver))
    for one, other in zip(sent, received, strict=True):
        assert other.dtypes.equals(one.dtypes)
        assert other.equals(one)
    received[0].iloc[0, 1] = -1.0
    assert received[0].iloc[0, 1] == -1.0


def test_frames_are_sent_from_the_columns_own_memory(monkeypatch):
    df = mixed(1000)
    sent = []

    async def sender(sock):
        loop = asyncio.get_running_loop()
        really = loop.sock_sendall

        async def watched(sock, data):
            sent.append(data)
            await really(sock, data)

        monkeypatch.setattr(loop, "sock_sendall", watched)
        await send(sock, df)

    asyncio.run(through_a_socket(sender, receive))
    _, frames = af.to_buffers(df)
    # The lengths and the header come before them. The first column is the first frame.
    assert np.shares_memory(np.frombuffer(sent[2], "i8"), df["key"].to_numpy())
    assert [memoryview(data).nbytes for data in sent[2:]] == [frame.nbytes for frame in frames]


def test_a_connection_that_ends_early_is_an_error():
    async def sender(sock):
        sock.send(struct.pack("<I2Q", 2, 10, 10) + bytes(15))
        sock.shutdown(socket.SHUT_WR)

    with pytest.raises(EOFError, match="5 bytes early"):
        asyncio.run(through_a_socket(sender, receive))


def test_a_message_of_too_much_is_refused_before_it_is_believed():
    async def sender(sock):
        sock.send(struct.pack("<I2Q", 2, 10, 1 << 60))

    with pytest.raises(ValueError, match="1,152,921,504,606,846,986 bytes"):
        asyncio.run(through_a_socket(sender, receive))


def test_the_example_runs():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "asyncio_frames.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Oslo" in done.stdout
