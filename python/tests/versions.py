"""What one version of pandas loads of what another wrote.

`versions.py table FOLDER PYTHON…` prints the table of docs/PYTHON.md. It has each interpreter run
`versions.py write FOLDER`, which writes every kind of column that its pandas has and that needs no trust, and then
`versions.py read FOLDER…`, which loads what is there and says what became of it. It fails if a value is another.
"""

import datetime
import json
import subprocess
import sys
import warnings
from pathlib import Path

import arrow_frames as af
import kinds
import pandas as pd


def write(folder: Path) -> None:
    """A stream per kind, and what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = {}
    for number, kind in enumerate(kinds.kinds().values()):
        if kind.is_safe:
            column = kind.column()
            af.dump(column.to_frame("x"), folder / f"{number}.arrows")
            truth[kind.name] = [number, dtype_of(column), [plain(value) for value in column]]
    (folder / "truth.json").write_text(json.dumps([pd.__version__, truth]))


def read(folders: list[Path]) -> list[dict]:
    """What becomes of each kind of each writer: the dtype here and there, or that it is refused."""
    found = []
    for folder in folders:
        writer, truth = json.loads((folder / "truth.json").read_text())
        for kind, (number, dtype, values) in truth.items():
            row = {"writer": writer, "reader": pd.__version__, "kind": kind, "dtype": dtype}
            try:
                column = af.load(folder / f"{number}.arrows")["x"]
            except af.ArrowFramesError as error:
                found.append({**row, "refused": str(error)})
                continue
            loaded = json.loads(json.dumps([plain(value) for value in column]))
            differs = None if loaded == values else f"{loaded} instead of {values}"
            found.append({**row, "found": dtype_of(column), "differs": differs})
    return found


def dtype_of(column: pd.Series) -> str:
    """The name of a dtype: of categoricals, with that of the categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return f"category of {column.cat.categories.dtype}"
    return str(column.dtype)


def plain(value):
    """A value as JSON, the same of every pandas."""
    if value is None or value is pd.NA or value is pd.NaT or isinstance(value, float) and value != value:
        return None
    if isinstance(value, datetime.datetime):
        return str(value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None))
    if isinstance(value, datetime.timedelta):
        return str(pd.Timedelta(value))
    if isinstance(value, pd.Interval):
        return [plain(value.left), plain(value.right), value.closed]
    if hasattr(value, "tolist") and not isinstance(value, pd.Period):
        value = value.tolist()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def table(folder: Path, interpreters: list[str]) -> str:
    """A row for each kind whose dtype is another somewhere, and a column for each pair of versions."""
    folders = [folder / str(number) for number in range(len(interpreters))]
    for interpreter, own in zip(interpreters, folders):
        run(interpreter, "write", own)
    found = [row for interpreter in interpreters for row in json.loads(run(interpreter, "read", *folders))]
    wrong = [row for row in found if row.get("differs")]
    if wrong:
        sys.exit(
            "\n".join(f"{row['kind']}, {row['writer']} to {row['reader']}: {row['differs']}" for row in wrong)
        )
    versions = list(dict.fromkeys(row["reader"] for row in found))
    pairs = [(writer, reader) for writer in versions for reader in versions if writer != reader]
    cells: dict[str, dict] = {}
    for row in found:
        cells.setdefault(row["kind"], {})[row["writer"], row["reader"]] = cell(row)
    # Kinds of which the same becomes are one row.
    alike: dict[tuple, list[str]] = {}
    for kind, of in cells.items():
        alike.setdefault(tuple(of.get(pair, "—") for pair in pairs), []).append(kind)
    same = [kind for row, some in alike.items() for kind in some if set(row) <= {"same", "—"}]
    lines = [
        f"Of {len(cells)} kinds of columns, {len(same)} have the same dtype wherever they are loaded. These have not:",
        "",
        "| kind | " + " | ".join(f"{writer} → {reader}" for writer, reader in pairs) + " |",
        "|---|" + "---|" * len(pairs),
    ]
    for row, some in alike.items():
        if not set(row) <= {"same", "—"}:
            lines.append(f"| {'<br>'.join(some)} | {' | '.join(row)} |")
    return "\n".join(lines)


def cell(row: dict) -> str:
    """What became of a kind: the same dtype, which other one, or nothing."""
    if "refused" in row:
        return "refused"
    return "same" if row["found"] == row["dtype"] else f"`{row['found']}`"


def run(interpreter: str, mode: str, *folders: Path) -> str:
    """What another interpreter prints in a mode."""
    command = [interpreter, "-P", __file__, mode, *map(str, folders)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    warnings.simplefilter("ignore")
    mode, folder, *others = sys.argv[1:]
    if mode == "write":
        write(Path(folder))
    elif mode == "read":
        print(json.dumps(read([Path(folder), *map(Path, others)])))
    else:
        print(table(Path(folder), others))


if __name__ == "__main__":
    main()
