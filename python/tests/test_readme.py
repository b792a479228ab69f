"""The README's section on Python, run against the service that it names, and the example of docs/OBJECTS.md."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]

#: Where the README has the service listen.
ADDRESS = '("127.0.0.1", 8080)'


@pytest.fixture
def service():
    """A real service on a free port; how to connect to it."""
    built = REPOSITORY / "target/debug/examples/tcp_service"
    program = os.environ.get("ARROW_FRAMES_TCP_SERVICE", built)
    with subprocess.Popen([program, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        host, _, port = process.stdout.readline().strip().rpartition(":")
        yield host, int(port)
        process.terminate()
        # It completes what has begun, and says that all went well.
        assert process.wait(timeout=60) == 0


def example() -> str:
    """The first block of Python in the section."""
    _, section = (REPOSITORY / "README.md").read_text().split("\n## In Python\n")
    return section.split("```python\n", 1)[1].split("```", 1)[0]


def test_a_dataframe_goes_to_the_rust_service_and_back(service):
    code = example()
    assert len(code.splitlines()) == 5
    assert code.count(ADDRESS) == 1
    names = {}
    exec(code.replace(ADDRESS, repr(service)), names)
    sent, numbered = names["df"], names["numbered"]
    assert list(numbered.columns) == ["city", "price", "row"]
    assert numbered[["city", "price"]].equals(sent)
    assert numbered["city"].dtype == sent["city"].dtype
    assert numbered["row"].dtype == np.dtype("u8")
    assert numbered["row"].tolist() == [0, 1]


def test_the_example_of_arrays_runs():
    blocks = (REPOSITORY / "docs/OBJECTS.md").read_text().split("```python\n")[1:]
    assert len(blocks) == 1
    names = {}
    exec(blocks[0].split("```", 1)[0], names)
    assert np.array_equal(names["again"], names["weights"])
