"""Reads tensors from one folder with pyarrow, says what they are, and writes them to another."""

import sys
from pathlib import Path

import numpy
import pyarrow as pa


def said(tensor):
    """The type, the shape, the strides, the names and the elements in row-major order."""
    array = tensor.to_numpy()
    strides = list(tensor.strides) if array.size else []
    names = [name.decode() if isinstance(name, bytes) else name for name in tensor.dim_names]
    elements = numpy.ascontiguousarray(array).tobytes().hex()
    return f"{tensor.type}|{list(tensor.shape)}|{strides}|{','.join(names)}|{elements}"


def write(tensor, path):
    with pa.OSFile(str(path), "wb") as sink:
        pa.ipc.write_tensor(tensor, sink)


sent, written = map(Path, sys.argv[1:])
for path in sorted(sent.glob("*.arrows")):
    with pa.memory_map(str(path)) as source:
        tensor = pa.ipc.read_tensor(source)
        # Exactly the stream, and nothing behind it, was read.
        assert source.tell() <= path.stat().st_size, path
        print(f"{path.stem}|{said(tensor)}")
        write(tensor, written / path.name)

# Views, which pyarrow has as they are and writes without their gaps.
numbers = numpy.arange(120, dtype="int32").reshape(4, 5, 6)
views = {
    "every_second": numbers[:, ::2],
    "transposed": numbers.transpose(2, 0, 1),
    "one_row": numbers[1:2],
    "float16": numbers.astype("float16"),
}
for name, view in views.items():
    write(pa.Tensor.from_numpy(view, dim_names=["x", "y", "z"]), written / f"view_{name}.arrows")
