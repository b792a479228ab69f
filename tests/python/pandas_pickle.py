"""pandas' own pickles, for comparison.

Usage: pandas_pickle.py dump STREAM PICKLE: reads a stream with examples/consume.py and pickles the
DataFrame with `DataFrame.to_pickle`. pandas_pickle.py load STREAM PICKLE...: loads each with
`pandas.read_pickle`, and prints a line of JSON: whether it is the DataFrame of the stream, or why not.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from consume import consume


def outcome(path: str, expected: pd.DataFrame) -> str:
    try:
        frame = pd.read_pickle(path)
        differing = [n for n, (a, b) in enumerate(zip(frame.dtypes, expected.dtypes)) if str(a) != str(b)]
        if differing:
            return f"{len(differing)} columns have another dtype"
        return "equal" if frame.equals(expected) else "other values"
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:60]


def main() -> None:
    warnings.simplefilter("ignore")
    task, stream, *paths = sys.argv[1:]
    frame = consume(Path(stream).read_bytes())
    if task == "dump":
        frame.to_pickle(paths[0])
    else:
        for path in paths:
            print(json.dumps(outcome(path, frame)))


if __name__ == "__main__":
    main()
