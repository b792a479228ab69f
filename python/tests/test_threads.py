"""Several threads encode and decode at once, the same objects and others."""

import sys
import threading

import arrow_frames as af
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from same import assert_same

THREADS, TURNS, ROWS = 8, 20, 1_000


@pytest.fixture(autouse=True)
def often():
    """Has the interpreter switch threads wherever it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def frame(seed: int = 0) -> pd.DataFrame:
    """Another one for each seed, of columns that travel in every way."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "random": rng.random(ROWS),
            "seed": seed,
            "zoned": pd.date_range("2020", periods=ROWS, freq=f"{seed + 1}s", tz="UTC"),
            "text": pd.array([f"{seed}", None] * (ROWS // 2), dtype="string[pyarrow]"),
            "object": pd.Series([f"{seed}", seed] * (ROWS // 2), dtype=object),
            "category": pd.Categorical([f"of {seed}", "b"] * (ROWS // 2)),
            "nullable": pd.array([seed, None] * (ROWS // 2), dtype="Int64"),
            "flag": rng.random(ROWS) < 0.5,
        }
    )


def at_once(*work) -> None:
    """Runs each in a thread of its own, all of them from one moment on, and raises what any of them raised."""
    failures, start = [], threading.Barrier(len(work))

    def run(job) -> None:
        try:
            start.wait()
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def repeatedly(check):
    """That many turns of a check."""
    return lambda: [check() for _ in range(TURNS)]


def test_the_same_dataframe_is_encoded_by_all():
    sent = frame()
    stream = af.dumps(sent)

    def check():
        assert af.dumps(sent) == stream
        assert_same(sent, af.from_buffers(*af.to_buffers(sent)))

    at_once(*[repeatedly(check)] * THREADS)


def test_the_same_stream_is_decoded_by_all():
    sent = frame()
    stream = af.dumps(sent)
    header, frames = af.to_buffers(sent)

    def check():
        assert_same(sent, af.loads(stream))
        assert_same(sent, af.from_buffers(header, frames))

    at_once(*[repeatedly(check)] * THREADS)


def test_each_has_a_dataframe_of_its_own(exchanged):
    def work(seed: int):
        sent = frame(seed)
        return repeatedly(lambda: assert_same(sent, exchanged(sent)))

    at_once(*map(work, range(THREADS)))


def test_some_encode_while_others_load(tmp_path):
    sent, path = frame(3), tmp_path / "stream"
    af.dump(sent, path)

    def write():
        # Another has its name only when it is whole.
        af.dump(sent, path)

    def read():
        assert_same(sent, af.load(path))
        assert_same(sent, af.memory_map(path))

    at_once(*[repeatedly(write)] * 2, *[repeatedly(read)] * 6)


def test_tables_are_encoded_and_decoded_by_all():
    table = pa.table({"n": range(ROWS), "text": ["a", None] * (ROWS // 2), "list": [[1], []] * (ROWS // 2)})
    stream = af.dumps(table)

    def check():
        assert af.loads(af.dumps(table)).equals(table)
        assert af.loads(stream, into="pandas")["n"].tolist() == list(range(ROWS))

    at_once(*[repeatedly(check)] * THREADS)


def test_one_decoded_stream_is_taken_by_all():
    decoded = af.loads(af.dumps(pa.table({"n": range(ROWS)})), into="arrow.Stream")
    count = lambda: af.loads(af.dumps(decoded), into="pyarrow").num_rows

    def check():
        assert count() == ROWS

    at_once(*[repeatedly(check)] * THREADS)


def test_errors_are_those_of_each_thread():
    stream = af.dumps(frame())

    def cut():
        with pytest.raises(af.DecodeError):
            af.loads(stream[:-100])

    def whole():
        assert len(af.loads(stream)) == ROWS

    at_once(*[repeatedly(cut), repeatedly(whole)] * (THREADS // 2))
