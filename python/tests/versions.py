"""What one version of pandas loads of what another wrote.

`versions.py write FOLDER` writes every kind of column with the pandas that runs it; `versions.py read FOLDER…` loads
what was written there, prints a row for each kind whose dtype is another here, as `TABLE` has them, and fails
if a value is another or a column is refused.
"""

import json
import sys
import warnings
from pathlib import Path

import arrow_frames as af
import pandas as pd
import samples


def write(folder: Path) -> None:
    """A stream per kind, and what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = {}
    for number, (kind, column) in enumerate(samples.columns().items()):
        af.dump(column.to_frame("x"), folder / f"{number}.arrows")
        truth[kind] = [number, str(column.dtype), [plain(value) for value in column]]
    (folder / "truth.json").write_text(json.dumps([pd.__version__, truth]))


def read(folder: Path) -> list[str]:
    """What is wrong with what was loaded."""
    writer, truth = json.loads((folder / "truth.json").read_text())
    problems = []
    for kind, (number, dtype, values) in truth.items():
        column = af.load(folder / f"{number}.arrows")["x"]
        found = json.loads(json.dumps([plain(value) for value in column]))
        if found != values:
            problems.append(f"pandas {pd.__version__}: {kind} of pandas {writer} has other values: {found}")
        if str(column.dtype) != dtype:
            print(f"| {writer} | {pd.__version__} | {kind} | `{dtype}` | `{column.dtype}` |")
    return problems


def plain(value):
    """A value as JSON, the same of every pandas."""
    if value is None or value is pd.NA or value is pd.NaT or isinstance(value, float) and value != value:
        return None
    if isinstance(value, pd.Timestamp):
        return str(value.tz_localize(None) if value.tz is None else value.tz_convert("UTC"))
    if isinstance(value, pd.Interval):
        return [plain(value.left), plain(value.right), value.closed]
    if hasattr(value, "tolist") and not isinstance(value, pd.Period) and not hasattr(value, "isoformat"):
        value = value.tolist()
    return [plain(item) for item in value] if isinstance(value, list) else str(value)


def main() -> None:
    warnings.simplefilter("ignore")
    mode, *folders = sys.argv[1:]
    if mode == "write":
        write(Path(folders[0]))
        return
    problems = [problem for folder in folders for problem in read(Path(folder))]
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
