"""What the package does where no other is installed; `cargo xtask python` runs it in an empty environment."""

import importlib.util
import sys
from pathlib import Path

import arrow_frames as af

GOLDEN = Path(__file__).parents[2] / "testdata/golden"


def raised(kind: type[Exception], call) -> str:
    """What the error says that a call must raise."""
    try:
        returned = call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}, but {returned!r}")


def main() -> None:
    for library in ("numpy", "pandas", "pyarrow", "polars"):
        assert importlib.util.find_spec(library) is None, f"{library} is installed: this is the wrong place"
    assert Path(af.__file__).is_relative_to(sys.prefix), af.__file__

    stream = (GOLDEN / "primitives.arrows").read_bytes()
    inspected = af.inspect(stream)
    assert inspected.rows and inspected.columns and str(inspected)

    arrow = af.loads(stream, into="arrow")
    assert isinstance(arrow, af.Stream)
    again = af.loads(af.dumps(arrow), into="arrow")
    assert repr(again) == repr(arrow), (repr(again), repr(arrow))

    for library in ("pandas", "pyarrow", "polars"):
        said = raised(af.MissingLibraryError, lambda into=library: af.loads(stream, into=into))
        assert f"needs {library}: pip install {library}" in said, said

    pickled = af.dumps([1, b"2", {"three": (4.0, None)}])
    said = raised(af.UntrustedPickleError, lambda: af.loads(pickled))
    assert "allow_pickle=True" in said, said
    assert af.loads(pickled, allow_pickle=True) == [1, b"2", {"three": (4.0, None)}]
    said = raised(af.DecodeError, lambda: af.loads(stream[: len(stream) // 2]))
    assert said


main()
