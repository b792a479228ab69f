"""What the benchmarks share: peaks of memory in fresh processes, times in turn, and tables in documents."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Peaks below it, in MiB, are none: the kernel counts pages of each processor in batches of 32.
RESOLUTION = 0.25


def in_fresh_process(script: str, *arguments: str) -> Any:
    """What a script, run with these arguments, prints as JSON in its last line."""
    command = [sys.executable, script, *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def peak(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work returns, and the most memory that the process had, in MiB beyond what it had before."""
    before = reset_peak()
    done = work()
    return done, (status("VmHWM") - before) / 1024


def reset_peak() -> int:
    """Starts the peak anew: from here on it is what is used now, in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def in_turn(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each work in each round: what else the machine does meets neighbours alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(timed(work))
    return times


def timed(work: Callable[[], Any]) -> float:
    """The milliseconds of some work, without those of dropping what it returns."""
    start = time.perf_counter()
    done = work()
    end = time.perf_counter()
    del done
    return (end - start) * 1e3


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios of neighbouring rounds."""
    return statistics.median(own / other for own, other in zip(ours, theirs))


def of_time(milliseconds: float) -> str:
    if milliseconds < 1:
        return f"{milliseconds * 1e3:.0f} µs"
    return f"{milliseconds:.3g} ms" if milliseconds < 100 else f"{milliseconds:,.0f} ms"


def of_ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def of_memory(mib: float) -> str:
    """A peak, or that there was none."""
    if mib < RESOLUTION:
        return "0"
    return f"{mib:.1f} MiB" if mib < 100 else f"{mib:,.0f} MiB"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown: numbers to the right, and what they are of to the left."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def replace(document: Path, name: str, text: str) -> None:
    """Puts text between the markers of that name."""
    start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    head, rest = document.read_text(encoding="utf-8").split(start)
    # A document may have nothing between them yet.
    _, tail = ("\n" + rest).split(end)
    document.write_text(f"{head}{start}{text}{end}{tail}", encoding="utf-8")
