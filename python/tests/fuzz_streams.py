"""Mutated streams, loaded without `allow_pickle` and then used: `fuzz_streams.py --seconds 60 --seed 1`.

What must hold of each input is on the list below. Inputs are made and loaded by worker processes, so that a crash is
a finding too. The same seed makes the same inputs on the same versions of the libraries. Each kind of finding
is saved once, with its smallest input.

1. `loads` and the other reading functions raise nothing but `ArrowFramesError`, or `ImportError` for a library.
2. Nothing that is done with what was loaded ends the process, or raises what is no `Exception`.
3. Loading takes no longer than `SECONDS`, and no more memory than `MEMORY` and `FACTOR` times the input.
4. Every array lies inside the input's memory, or inside memory of its own.
5. No writable array lies on memory of another array, or on bytes that must not change.
6. What pyarrow is given passes its full validation.
7. Loading opens no file but those of Python, its libraries and the time zones, starts nothing, and unpickles no name
   but those of the libraries.
"""

import argparse
import collections
import contextlib
import faulthandler
import hashlib
import io
import json
import os
import pickle
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

import arrow_frames as af
import fuzz_inputs
import fuzz_memory
import kinds  # noqa: F401 (what is imported before an input is loaded is not counted as its own)
import numpy as np
import pandas as pd
import pyarrow as pa

#: Rows of pyarrow's and polars' objects that are used.
ROWS = 2_000_000

#: Processor time that loading an input of a few KB may take.
SECONDS = 2.0

#: Time after which a worker is stuck.
STUCK = 20

#: Bytes that loading may use beyond FACTOR times the input: what the default limits allow, and some for the libraries.
MEMORY = (256 + 64) << 20
FACTOR = 32

#: Bytes that a worker may reserve beyond what the libraries have.
RESERVED = 4 << 30

#: Inputs after which a worker starts anew, so that damage of one does not last.
INPUTS = 3_000

#: Elements of what is used in ways that take more memory than it has itself.
MOST = 100_000


def made(seed: int, index: int, streams: dict[str, bytes]) -> tuple[bytes, dict, list[str]]:
    """An input: a stream, how it is loaded, and how it was made."""
    rng = random.Random(f"{seed}-{index}")
    name = fuzz_inputs.chosen(streams, rng)
    stream, mutations = fuzz_inputs.mutated(streams[name], rng, list(streams.values()))
    how = {
        "memory": rng.choice(("bytes", "bytes", "bytearray", "bytearray", "reader", "frames", "frames")),
        "writable": rng.choice((None, None, None, True, False)),
        "into": rng.choice((None, None, None, None, "pandas", "pandas", "pyarrow", "polars")),
        "columns": rng.choice((None,) * 12 + (["v"], ["n", "v"], ["v", "v"])),
    }
    return stream, how, [name, *mutations]


#: Events of the interpreter while an input was loaded.
OPENED = []

#: Where Python, its libraries and the time zones are.
KNOWN = tuple(
    {
        sys.prefix,
        sys.base_prefix,
        *sys.path,
        "/usr/share/zoneinfo",
        "/usr/lib",
        "/proc/self",
        "/etc/localtime",
    }
    - {""}
)


#: Whose names a pickle has that is loaded without `allow_pickle`.
LIBRARIES = {"arrow_frames", "numpy", "pandas", "pyarrow", "datetime", "decimal", "uuid", "zoneinfo", "pytz"}


def audit(event: str, arguments: tuple) -> None:
    if event in ("open", "pickle.find_class") or event.startswith(
        ("os.", "subprocess.", "socket.", "shutil.", "ctypes.dlopen", "pty.")
    ):
        OPENED.append((event, " ".join(map(str, arguments[:2]))))


def is_known(what: tuple[str, str]) -> bool:
    event, path = what
    if event == "pickle.find_class":
        return path.partition(" ")[0].partition(".")[0] in LIBRARIES
    # Modules are looked for in folders.
    return event in ("open", "os.listdir", "os.scandir", "ctypes.dlopen") and path.startswith(KNOWN)


class Finding(Exception):
    """A property that does not hold: its kind, and what was seen."""


def run(stream: bytes, how: dict) -> str:
    """Loads and uses an input. Raises `Finding`."""
    options = {key: how[key] for key in ("writable", "into", "columns") if how[key] is not None}
    memory = bytearray(stream) if how["memory"] == "bytearray" else stream
    lent = [(*fuzz_memory.span(memory), how["memory"] == "bytearray")] if stream else []
    if how["memory"] == "reader":
        load = lambda: af.load(io.BytesIO(stream), **options)
    elif how["memory"] == "frames":
        # Each frame in memory of its own: half of them read-only.
        header, frames = in_frames(stream)
        memory = [header, frames]
        lent = [(*fuzz_memory.span(frame), not memoryview(frame).readonly) for frame in frames if len(frame)]
        load = lambda: af.from_buffers(header, frames, **options)
    else:
        load = lambda: af.loads(memory, **options)

    OPENED.clear()
    before, started = fuzz_memory.reset_peak(), time.process_time()
    faulthandler.dump_traceback_later(STUCK, exit=True)
    obj, answer = None, "refused"
    try:
        obj = load()
        answer = "loaded"
    except (af.ArrowFramesError, ImportError) as error:
        if not str(error):
            raise Finding(f"an error without a text: {type(error).__name__}") from error
    except (KeyError, ValueError) as error:
        # A column that was asked for is not there, or is asked for twice.
        if how["columns"] is None or not where(error).endswith(" in _codec.py:_places"):
            raise Finding(f"loads raises {where(error)}") from error
    except BaseException as error:
        raise Finding(f"loads raises {where(error)}") from error
    opened = [what for what in OPENED if not is_known(what)]
    took, used = time.process_time() - started, fuzz_memory.peak() - before
    if took > SECONDS:
        raise Finding(f"slow: {answer} in more than {SECONDS} s") from TimeoutError(
            f"{took:.1f} s for {len(stream)} bytes"
        )
    if opened:
        raise Finding(f"opened: {opened[0][0]}") from PermissionError(str(opened))
    if used > MEMORY + FACTOR * len(stream):
        raise Finding(f"large: {answer}, {type(obj).__name__}") from MemoryError(
            f"{used} bytes for {len(stream)}"
        )
    with contextlib.suppress(af.ArrowFramesError, ImportError):
        try:
            af.inspect(stream)
        except (af.ArrowFramesError, ImportError):
            raise
        except BaseException as error:
            raise Finding(f"inspect raises {where(error)}") from error
    if answer == "loaded":
        try:
            fuzz_memory.check(obj, lent, how["writable"])
        except fuzz_memory.Broken as error:
            kind = re.sub(r"[-\d]+", "N", str(error).partition(":")[0])
            raise Finding(f"memory: {kind} ({type(obj).__name__})") from error
        use(obj, int(hashlib.sha256(stream).hexdigest()[:8], 16))
    faulthandler.cancel_dump_traceback_later()
    return answer


def in_frames(stream: bytes) -> tuple[bytes, list]:
    """The header of a stream, and its frames in separate allocations; the stream's own if it cannot be split."""
    try:
        header, frames = af._native.receive(io.BytesIO(stream))
    except (af.ArrowFramesError, OSError, ValueError, TypeError):
        return stream, []
    copies = [bytearray(frame) if index % 2 else bytes(frame) for index, frame in enumerate(frames)]
    return bytes(header), copies


def where(error: BaseException) -> str:
    """The class of an error, and where in the package it left."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "arrow_frames" in frame.filename
    ]
    last = frames[-1] if frames else None
    place = f" in {Path(last.filename).name}:{last.name}" if last else ""
    return f"{type(error).__name__}{place}"


def use(obj, number: int) -> None:
    """Uses what was loaded as a program would; what the library raises is its own answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        try:
            calls = uses(obj)
        except Exception:
            # Not even its size can be told.
            calls = []
        for name, call in calls:
            try:
                call()
            except SystemError as error:
                # numpy does not look at the characters of its text, and Python does.
                if "invalid maximum character" not in str(error):
                    raise Finding(f"{name} of {type(obj).__name__} raises SystemError") from error
            except Exception:  # noqa: S110
                # Text has no sum.
                pass
            except BaseException as error:
                # polars panics where it shows a moment beyond its years.
                if type(obj).__module__.startswith("polars") and type(error).__name__ == "PanicException":
                    continue
                raise Finding(f"{name} of {type(obj).__name__} raises {where(error)}") from error
        again(obj)


def again(obj) -> None:
    """What was loaded can be sent, or is refused with an error of ours."""
    try:
        stream = af.dumps(obj)
    except (af.ArrowFramesError, ImportError, TypeError, pa.ArrowException):
        return
    except BaseException as error:
        raise Finding(f"dumps again raises {where(error)}") from error
    try:
        af.loads(stream)
    except (af.ArrowFramesError, ImportError):
        return
    except BaseException as error:
        raise Finding(f"loads again raises {where(error)}") from error


def uses(obj) -> list:
    """What is done with an object, by name."""
    kind = type(obj).__module__.partition(".")[0]
    if kind in ("pyarrow", "polars") and hasattr(obj, "__len__") and len(obj) > ROWS:
        # Rows without bytes cost nothing there, until each is asked for.
        return []
    if isinstance(obj, np.ndarray):
        return of_array(obj)
    if isinstance(obj, (pd.DataFrame, pd.Series, pd.Index)):
        return of_pandas(obj)
    if kind == "scipy":
        return of_sparse(obj)
    if kind == "pyarrow":
        return [
            (name, lambda n=name: getattr(obj, n)())
            for name in ("to_pylist", "to_pandas", "__repr__", "__str__", "read_all")
        ]
    if kind == "polars":
        return [
            (name, lambda n=name: getattr(obj, n)())
            for name in ("__repr__", "sum", "to_dicts", "to_list", "estimated_size")
        ]
    if isinstance(obj, pd.api.extensions.ExtensionArray):
        return of_pandas(pd.Series(obj)) if len(obj) < MOST else []
    return [("repr", lambda: repr(obj))]


def of_array(array: np.ndarray) -> list:
    done = [("repr", lambda: repr(array))]
    if array.size > MOST or array.nbytes > MOST * 16:
        return done
    fill = np.ma.filled if isinstance(array, np.ma.MaskedArray) else np.asarray
    return [
        *done,
        ("sum", lambda: fill(array).sum()),
        ("copy", lambda: array.copy().sort()),
        ("take", lambda: array.take([0, -1])),
        ("tolist", lambda: array.tolist()),
        ("bytes", lambda: array.tobytes()),
        ("equal", lambda: np.array_equal(array, array.copy())),
        ("min", lambda: array.min()),
        ("write", lambda: array.flags.writeable and array.fill(array.ravel()[0])),
    ]


def of_pandas(obj) -> list:
    done = [("repr", lambda: repr(obj)), ("dtypes", lambda: str(getattr(obj, "dtypes", None)))]
    index = obj if isinstance(obj, pd.Index) else obj.index
    if max(len(obj), len(index)) > MOST:
        return done
    done += [
        ("to_numpy", lambda: obj.to_numpy()),
        ("take", lambda: obj.take([0, len(obj) - 1])),
        ("slice", lambda: obj[1:3]),
        ("equals", lambda: obj.equals(obj.copy())),
        ("isna", lambda: obj.isna()),
        ("memory_usage", lambda: obj.memory_usage(deep=True)),
        (
            "index",
            lambda: (
                index.to_numpy(),
                list(index[:50]),
                index.sort_values(),
                index.unique(),
                index.argsort(),
            ),
        ),
        ("reprs of levels", lambda: [repr(level) for level in getattr(index, "levels", ())]),
        ("isin", lambda: index.isin(list(index[:3]))),
    ]
    if isinstance(obj, pd.Index):
        return [*done, ("factorize", lambda: obj.factorize()), ("append", lambda: obj.append(obj))]
    done += [
        ("sort_index", lambda: obj.sort_index()),
        ("groupby", lambda: obj.groupby(level=0).sum()),
        ("size", lambda: obj.groupby(level=-1).size()),
        ("reset_index", lambda: obj.reset_index()),
        ("sum", lambda: obj.sum(numeric_only=True) if isinstance(obj, pd.DataFrame) else obj.sum()),
        ("loc", lambda: obj.loc[index[0]]),
        ("concat", lambda: pd.concat([obj, obj])),
    ]
    if isinstance(obj, pd.DataFrame):
        columns = [obj.iloc[:, place] for place in range(min(obj.shape[1], 6))]
        done += [("columns", lambda: (repr(obj.columns), obj.T, obj.columns.to_numpy()))]
    else:
        columns = [obj]
    for column in columns:
        done += [
            ("values", lambda c=column: (c.to_numpy(), c.tolist())),
            ("unique", lambda c=column: c.unique()),
            ("sort_values", lambda c=column: c.sort_values()),
            ("column sum", lambda c=column: c.sum()),
            ("to object", lambda c=column: c.astype(object)),
            ("codes", lambda c=column: c.cat.categories.take(c.cat.codes.clip(0))),
            ("text", lambda c=column: c.str.upper()),
            ("compare", lambda c=column: c == c.iloc[0]),
        ]
    return done


def of_sparse(matrix) -> list:
    done = [("repr", lambda: repr(matrix)), ("str", lambda: str(matrix))]
    if max(matrix.shape, default=0) > MOST or matrix.nnz > MOST:
        return done
    done += [
        ("matvec", lambda: matrix @ np.ones(matrix.shape[-1])),
        ("sum", lambda: matrix.sum()),
        ("add", lambda: matrix + matrix),
        ("transposed", lambda: matrix.T.tocsr()),
        ("tocsr", lambda: matrix.tocsr()),
        ("tocsc", lambda: matrix.tocsc()),
        ("tocoo", lambda: matrix.tocoo()),
        ("diagonal", lambda: matrix.diagonal()),
        ("row", lambda: matrix[0]),
        ("copy", lambda: matrix.copy().sort_indices()),
        ("duplicates", lambda: matrix.copy().sum_duplicates()),
    ]
    if int(np.prod([int(size) for size in matrix.shape], dtype=object)) < MOST:
        done.append(("toarray", lambda: matrix.toarray()))
    return done


# Workers.


def work(folder: Path, seed: int, first: int, step: int, until: float) -> None:
    """Runs every `step`-th input, until some time, and reports each by a line."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(folder / "corpus", "rb") as file:
        streams = pickle.load(file)
    # What a library does when it is loaded is not what an input does.
    for name in fuzz_inputs.FIRST:
        with contextlib.suppress(af.ArrowFramesError, ImportError, KeyError):
            run(streams[name], {"memory": "bytes", "writable": None, "into": None, "columns": None})
    sys.addaudithook(audit)
    reserved = fuzz_memory.status("VmSize") + RESERVED if sys.platform == "linux" else resource.RLIM_INFINITY
    # What opens a file by an input's word finds few.
    resource.setrlimit(resource.RLIMIT_AS, (reserved, reserved))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    current = folder / f"current-{first % step}"
    for index in range(first, first + INPUTS * step, step):
        if time.time() > until:
            print("done", flush=True)
            return
        stream, how, made_by = made(seed, index, streams)
        current.write_bytes(json.dumps([index, how, made_by]).encode() + b"\n" + stream)
        answer, text = "", ""
        try:
            answer = run(stream, how)
        except Finding as error:
            answer, text = f"finding {error}", "".join(traceback.format_exception(error))
            faulthandler.cancel_dump_traceback_later()
            shutil.copyfile(current, folder / f"found-{index}")
        print(json.dumps([index, answer, text]), flush=True)
    print("next", flush=True)


class Findings:
    """The smallest input of each kind of finding."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kinds = {}

    def add(self, kind: str, saved: bytes, text: str) -> None:
        head, _, stream = saved.partition(b"\n")
        count, old = self.kinds.get(kind, (0, None))
        self.kinds[kind] = (count + 1, len(stream) if old is None else min(old, len(stream)))
        if old is None or len(stream) < old:
            self.folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", kind)[:80].strip("-")
            (self.folder / name).write_bytes(saved)
            (self.folder / f"{name}.txt").write_text(f"{kind}\n{head.decode()}\n{text}")


def fuzz(seed: int, seconds: float, workers: int, folder: Path) -> int:
    """Runs workers for some time; the number of kinds of findings."""
    scratch = Path(tempfile.mkdtemp())
    started = time.time()
    streams = fuzz_inputs.corpus()
    (scratch / "corpus").write_bytes(pickle.dumps(streams))
    until = time.time() + seconds
    findings, counts = Findings(folder), collections.Counter()

    def start(number: int, first: int):
        command = [
            sys.executable,
            "-P",
            __file__,
            "--work",
            str(scratch),
            str(seed),
            str(first),
            str(workers),
            str(until),
        ]
        errors = open(scratch / f"errors-{number}", "w+b")  # noqa: SIM115
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()
        ), errors

    def results(number: int):
        """The lines of one worker after another, and what a crash leaves."""
        first = number
        while time.time() < until:
            worker, errors = start(number, first)
            last = first - workers
            for line in worker.stdout:
                if line.strip() in ("done", "next"):
                    continue
                last, answer, text = json.loads(line)
                saved = (scratch / f"found-{last}").read_bytes() if text else b""
                yield answer, saved, text
            code = worker.wait()
            errors.seek(0)
            log = errors.read().decode(errors="replace")
            errors.close()
            if code:
                current = scratch / f"current-{number}"
                if not current.exists():
                    raise RuntimeError(f"a worker does not start: {log}")
                yield f"finding crash: {crash(code, log)}", current.read_bytes(), log[-8000:]
                last += workers
            first = last + workers

    lines = queue.Queue()

    def follow(number: int) -> None:
        try:
            for result in results(number):
                lines.put(result)
        except BaseException:
            traceback.print_exc()
        lines.put(None)

    threads = [threading.Thread(target=follow, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    left = workers
    while left:
        result = lines.get()
        if result is None:
            left -= 1
            continue
        answer, saved, text = result
        counts["inputs"] += 1
        counts[answer.partition(" ")[0]] += 1
        if answer.startswith("finding "):
            findings.add(answer.removeprefix("finding "), saved, text)
    shutil.rmtree(scratch, ignore_errors=True)
    print(
        f"pandas {pd.__version__}, numpy {np.__version__}, pyarrow {pa.__version__}: {counts['inputs']} inputs of "
        f"{len(streams)} streams, {counts['loaded']} loaded, {counts['refused']} refused, {counts['finding']} findings of "
        f"{len(findings.kinds)} kinds; seed {seed}, {time.time() - started:.0f} s"
    )
    for kind, (count, size) in sorted(findings.kinds.items()):
        print(f"  {count} × {kind} ({size} bytes)")
    if findings.kinds:
        print(f"  inputs are in {folder}")
    if counts["loaded"] < counts["inputs"] // 50:
        print("  too few inputs were loaded")
        return len(findings.kinds) + 1
    return len(findings.kinds)


def crash(code: int, log: str) -> str:
    """How a worker ended, and in which function of a library or ours."""
    name = f"exit code {code}"
    if code < 0:
        name = signal.Signals(-code).name
    elif "Timeout" in log:
        name = "stuck"
    frames = re.findall(r'File "[^"]*/(\S+)", line \d+ in (\w+)', log)
    places = [f"{file}:{call}" for file, call in frames if file != Path(__file__).name]
    return f"{name} in {places[0] if places else 'no Python function'}"


def environment() -> dict:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONHASHSEED": "0"}


def replay(path: Path) -> None:
    """Runs one saved input here."""
    faulthandler.enable()
    sys.addaudithook(audit)
    head, _, stream = path.read_bytes().partition(b"\n")
    print(head.decode())
    print(run(stream, json.loads(head)[1]))


def natural(step: int = 1) -> list[str]:
    """Runs streams as they are written: they load, and the properties hold. What is wrong, one line each.

    `step` leaves out what is no multiple of it, of the streams in each of twelve ways.
    """
    wrong = []
    ways = [
        (memory, writable)
        for memory in ("bytes", "bytearray", "reader", "frames")
        for writable in (None, True, False)
    ]
    runs = [(name, stream, *way) for name, stream in fuzz_inputs.corpus().items() for way in ways]
    for name, stream, memory, writable in runs[::step]:
        try:
            answer = run(stream, {"memory": memory, "writable": writable, "into": None, "columns": None})
        except Finding as error:
            answer = f"{error}: {error.__cause__}"
        if answer != "loaded":
            wrong.append(f"{name}, {memory}, writable={writable}: {answer}")
    return wrong


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        folder, seed, first, step, until = sys.argv[2:]
        work(Path(folder), int(seed), int(first), int(step), float(until))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--findings", type=Path, default=Path(tempfile.gettempdir()) / "arrow-frames-findings"
    )
    parser.add_argument("--replay", type=Path, help="run one saved input in this process")
    parser.add_argument("--natural", action="store_true", help="run the streams as they are written")
    args = parser.parse_args()
    if args.replay:
        replay(args.replay)
    elif args.natural:
        sys.exit("\n".join(natural()) or 0)
    else:
        sys.exit(bool(fuzz(args.seed, args.seconds, args.workers, args.findings)))


if __name__ == "__main__":
    main()
