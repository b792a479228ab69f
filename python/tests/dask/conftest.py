"""A cluster of two processes, and what looks over its shoulder."""

import os
import subprocess
import sys
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import arrow_frames.dask
import watching


@pytest.fixture(scope="session", autouse=True)
def registered():
    arrow_frames.dask.register()
    watching.install()


@pytest.fixture(scope="session")
def cluster(registered, tmp_path_factory):
    spilled = tmp_path_factory.mktemp("spilled")
    # Workers are processes that start anew.
    paths = os.pathsep.join(
        [str(HERE), str(Path(arrow_frames.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    settings = {
        "distributed.worker.preload": ["arrow_frames.dask", "watching"],
        "distributed.scheduler.preload": ["arrow_frames.dask"],
        "distributed.nanny.pre-spawn-environ.PYTHONPATH": paths,
        # When a test says so, and not when this machine has other things to do.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": 0.99,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.spill-compression": "lz4",
        # Otherwise dask makes another text dtype of one, before there is anything to send.
        "dataframe.convert-string": False,
    }
    with dask.config.set(settings):
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with LocalCluster(**options, local_directory=str(spilled), memory_limit="4GiB") as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.run(watching.seen)
        watching.seen()
        yield client
        pickled = {
            "client": watching.seen()[0],
            **{worker: seen[0] for worker, seen in client.run(watching.seen).items()},
        }
        assert not any(pickled.values()), f"distributed pickled dataframes: {pickled}"


@pytest.fixture
def program():
    """The program `arrow-frames`: the one of ARROW_FRAMES_PROGRAM, or what cargo built."""
    root = HERE.parents[2]
    built = [root / "target" / profile / "arrow-frames" for profile in ("debug", "release")]
    named = os.environ.get("ARROW_FRAMES_PROGRAM")
    found = [path for path in ([Path(named)] if named else built) if path.exists()]
    assert found, f"there is no program: {named or 'cargo build -p arrow-frames-cli'}"

    def run(*arguments):
        return subprocess.run([found[0], *arguments], check=False, capture_output=True, text=True, timeout=60)

    return run
