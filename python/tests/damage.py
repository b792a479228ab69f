"""Reads every damaged copy of a stream: `damage.py FILE [INTO]`, where only an error of ours may come of it.

It is a program of its own because a fault may abort the interpreter, and because `python -O` has no assert
statements.
"""

import sys
from pathlib import Path

import arrow_frames as af


def is_refused(stream: bytearray, into: str | None) -> bool:
    """Whether it cannot be loaded; any other exception ends the program."""
    refused = (af.ArrowFramesError, af.MissingLibraryError)
    try:
        af.inspect(stream)
    except refused:
        pass
    try:
        af.loads(stream, into=into)
    except refused:
        return True
    return False


def main() -> None:
    file, into = (*sys.argv[1:], None)[:2]
    stream = bytearray(Path(file).read_bytes())
    if is_refused(stream, into):
        sys.exit("the stream itself is refused")
    for length in range(len(stream)):
        if not is_refused(stream[:length], into):
            sys.exit(f"the first {length} of {len(stream)} bytes are taken for all")
    for place in range(len(stream)):
        # All bits of a large stream would take minutes.
        for bit in range(8) if len(stream) < 2_000 else (place % 8, (place + 3) % 8):
            stream[place] ^= 1 << bit
            is_refused(stream, into)
            stream[place] ^= 1 << bit


main()
