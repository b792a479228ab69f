"""What the scripts of the Python readers share: questions, answers and the form of values.

Each line of stdin is a question, and each is answered at once:

- `version` asks for the reader's name and version. The answer is a line.
- `read<tab>PATH` reads a stream, or a file if the path ends in `.arrow`. The answer is two
  lines: a JSON object with `names`, `types`, `rows` and `ways`, those in which the reader can
  write what it read, or with the `error`; then the values of each column as a JSON array.
- `write<tab>WAY<tab>PATH` writes what was read last. The answer is a line: null or the error.

The form of a value is explained in xtask/src/readers/truth.rs.
"""

import json
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9


@dataclass
class Read:
    """What a reader found."""

    names: list[str]
    types: list[str]
    rows: int
    values: list[list]
    # How it is written again, by the name of the way.
    writers: dict[str, Callable[[Path], object]] = field(default_factory=dict)


class Unhandled(Exception):
    """A type that the script does not know, though the reader does."""


def answer(version: str, read: Callable[[Path], Read]) -> None:
    """Answers questions until there are no more."""
    last = None
    for line in sys.stdin:
        match line.rstrip("\n").split("\t"):
            case ["version"]:
                print(dump(version), flush=True)
            case ["read", path]:
                last, error = attempt(read, Path(path))
                facts = {"error": error}
                if last:
                    facts = {
                        "names": last.names,
                        "types": last.types,
                        "rows": last.rows,
                        "ways": list(last.writers),
                    }
                print(dump(facts), dump(last and last.values), sep="\n", flush=True)
            case ["write", way, path]:
                _, error = attempt(last.writers[way], Path(path))
                print(dump(error), flush=True)


def attempt(action: Callable, path: Path) -> tuple:
    """What an action returns, and the words of what it raises."""
    try:
        return action(path), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic of a reader in Rust is no Exception.
        return None, f"{type(error).__name__}: {error}"


def dump(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---- the form of values


def each(form: Callable, values) -> list:
    return [None if value is None else form(value) for value in values]


def number(value: float) -> str:
    return "nan" if value != value else struct.pack(">d", value).hex()


def decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    return scaled(int("".join(map(str, digits))) * (-1 if sign else 1), -exponent)


def scaled(unscaled: int, scale: int) -> str:
    text = str(unscaled)
    digits = text.rstrip("0")
    return f"{digits}e{len(text) - len(digits) - scale}" if digits else "0"


def times(nanoseconds: int, values) -> list:
    return [None if value is None else str(value * nanoseconds) for value in values]


def durations(nanoseconds: int, values) -> list:
    return [None if value is None else interval(0, 0, value * nanoseconds) for value in values]


def interval(months: int, days: int, nanoseconds: int) -> list:
    return [str(months), str(days), str(nanoseconds)]


def structs(columns: list[list], is_valid) -> list:
    """The rows of a struct; it may have no fields."""
    return [[column[row] for column in columns] if valid else None for row, valid in enumerate(is_valid)]


def meant(values: list, keys) -> list:
    return [None if key is None else values[key] for key in keys]


def runs(values: list, ends: list[int], start: int, rows: int) -> list:
    """The values of rows, of which runs end where `ends` says."""
    run, found = 0, []
    for row in range(start, start + rows):
        while ends[run] <= row:
            run += 1
        found.append(values[run])
    return found
