"""The ways that an object goes: arrow-frames, pickle, cloudpickle, dask.distributed and pyarrow, each its best."""

import pickle
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from measuring import in_turn, ratio

#: At least and at most (ten times as many), and the time in which they should be done.
ROUNDS, SECONDS = 21, 8


class Way(NamedTuple):
    """How an object is taken apart, what arrives of that, and how it is made again."""

    dump: Callable[[], Any]
    load: Callable[[Any], Any]
    #: What a transport makes of what was dumped; it is nobody's time or memory.
    carry: Callable[[Any], Any] = lambda sent: sent
    #: What arrives is in a file, and not yet in memory.
    in_file: bool = False


def ours(obj: Any, **options: Any) -> Way:
    import arrow_frames as af

    return Way(lambda: af.to_buffers(obj), lambda sent: af.from_buffers(*sent, **options))


def ours_from_bytes(obj: Any) -> Way:
    import arrow_frames as af

    return Way(lambda: af.dumps(obj), af.loads)


def ours_in_file(obj: Any, path: str) -> Way:
    import arrow_frames as af

    return Way(lambda: af.dump(obj, path), lambda _: af.load(path), in_file=True)


def pickle4(obj: Any) -> Way:
    return Way(lambda: pickle.dumps(obj, 4), pickle.loads)


def pickle5_in_band(obj: Any) -> Way:
    return Way(lambda: pickle.dumps(obj, 5), pickle.loads)


def pickle5(obj: Any) -> Way:
    return out_of_band(pickle, obj)


def pickle5_in_file(obj: Any, path: str) -> Way:
    def dump():
        # Without a buffer between: what is large is written as it is.
        with open(path, "wb", buffering=0) as file:
            pickle.dump(obj, file, 5)

    def load(_: Any):
        with open(path, "rb") as file:
            return pickle.load(file)

    return Way(dump, load, in_file=True)


def cloudpickle(obj: Any) -> Way:
    import cloudpickle

    return Way(lambda: cloudpickle.dumps(obj), pickle.loads)


def cloudpickle_out_of_band(obj: Any) -> Way:
    import cloudpickle

    return out_of_band(cloudpickle, obj)


def out_of_band(module: Any, obj: Any) -> Way:
    def dump():
        buffers: list[pickle.PickleBuffer] = []
        return module.dumps(obj, 5, buffer_callback=buffers.append), buffers

    return Way(dump, lambda sent: pickle.loads(sent[0], buffers=sent[1]))


def distributed(obj: Any) -> Way:
    from distributed.protocol import deserialize_bytes, serialize_bytelist

    # Read-only memory would be copied for arrays that were writable.
    return Way(lambda: serialize_bytelist(obj), deserialize_bytes, lambda sent: bytearray().join(sent))


def distributed_from_bytes(obj: Any) -> Way:
    from distributed.protocol import deserialize_bytes, serialize_bytes

    return Way(lambda: serialize_bytes(obj), deserialize_bytes, bytearray)


def distributed_from_readonly_bytes(obj: Any) -> Way:
    """As from a file or a socket that gives `bytes`: what was writable is copied."""
    from distributed.protocol import deserialize_bytes, serialize_bytes

    return Way(lambda: serialize_bytes(obj), deserialize_bytes, bytes)


def pyarrow(obj: Any) -> Way:
    import numpy as np

    return arrow_tensor(obj) if isinstance(obj, np.ndarray) else arrow_ipc(obj)


def arrow_tensor(array: Any) -> Way:
    import pyarrow as pa

    def dump():
        tensor = pa.Tensor.from_numpy(array)
        buffer = pa.allocate_buffer(pa.ipc.get_tensor_size(tensor))
        pa.ipc.write_tensor(tensor, pa.FixedSizeBufferWriter(buffer))
        return buffer

    return Way(dump, lambda sent: pa.ipc.read_tensor(pa.BufferReader(sent)).to_numpy())


def arrow_ipc(df: Any) -> Way:
    import pyarrow as pa

    def write(table: Any, sink: Any) -> None:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)

    def dump():
        table = pa.Table.from_pandas(df)
        # A buffer that grows would be twice as large.
        size = pa.MockOutputStream()
        write(table, size)
        buffer = pa.allocate_buffer(size.size())
        write(table, pa.FixedSizeBufferWriter(buffer))
        return buffer

    return Way(dump, lambda sent: pa.ipc.open_stream(sent).read_all().to_pandas())


def arrow_table(df: Any) -> Way:
    import pyarrow as pa

    return Way(lambda: pa.Table.from_pandas(df), lambda sent: sent.to_pandas())


def in_turns(ours: Way, theirs: Way) -> dict[str, float]:
    """The median milliseconds of both, and the median ratios of neighbouring rounds."""
    both = {"ours": ours, "theirs": theirs}
    sent = {side: way.dump() for side, way in both.items()}
    found: dict[str, float] = {}
    for job, works in (
        ("dump", {side: way.dump for side, way in both.items()}),
        ("load", {side: lambda side=side, way=way: way.load(sent[side]) for side, way in both.items()}),
    ):
        in_turn(works, 1)
        # Some seconds of each: what is short varies more.
        round_time = sum(map(sum, in_turn(works, 1).values()))
        taken = in_turn(works, int(min(max(SECONDS * 1e3 / round_time, ROUNDS), 10 * ROUNDS)))
        found |= {f"{side} {job}": statistics.median(times) for side, times in taken.items()}
        found[f"{job} ratio"] = ratio(taken["ours"], taken["theirs"])
    return found
