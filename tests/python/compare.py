"""Compares pairs of Arrow IPC files or streams, for `cargo xtask conformance`.

Reads lines `ORIGINAL<tab>OURS` from stdin. Prints pyarrow's version, then for each pair one
line: `same`, `unable` if pyarrow cannot read the original, or `differs<tab>REASON`.
"""

import sys
from pathlib import Path

import pyarrow as pa
from read_ours import batches, compare


def verdict(original: Path, ours: Path) -> str:
    try:
        schema, read = batches(original)
        # Types that the bindings do not know show here.
        [batch.columns for batch, _ in read]
    except Exception:
        return "unable"
    try:
        compare(schema, read, *batches(ours))
    except Exception as error:  # Whatever it is, the task names the file.
        return f"differs\t{type(error).__name__}: {error}".replace("\n", " ")
    return "same"


def main() -> None:
    print(pa.__version__)
    for line in sys.stdin.read().splitlines():
        print(verdict(*map(Path, line.split("\t"))))


if __name__ == "__main__":
    main()
