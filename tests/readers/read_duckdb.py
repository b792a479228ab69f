"""Reads Arrow IPC with DuckDB; answer.py says how it is asked.

DuckDB reads Arrow through pyarrow: its own extension for Arrow IPC is not part of the package.
What is compared is what a table of DuckDB's own holds afterwards.
"""

from pathlib import Path

import duckdb
import read_pyarrow
from answer import Read, answer, each
from pyarrow import ipc


class Database:
    """A database, which is made anew after an error: some leave it unusable."""

    def __init__(self) -> None:
        # With one thread, so that of several errors always the same one is told.
        self.connection = duckdb.connect(config={"threads": 1})

    def read(self, path: Path) -> Read:
        reader = ipc.open_file(path) if path.suffix == ".arrow" else ipc.open_stream(path)
        try:
            self.connection.execute("DROP TABLE IF EXISTS input")
            self.connection.from_arrow(reader.read_all()).create("input")
            table = self.connection.table("input")
            back = table.to_arrow_table()
        except duckdb.Error:
            self.connection.close()
            self.__init__()
            raise
        found = read_pyarrow.found(back.schema, back.to_batches())
        found.types = [str(column) for column in table.types]
        for number, name in enumerate(found.types):
            if name == "UUID":  # It is text in Arrow.
                found.values[number] = each(lambda text: text.replace("-", ""), found.values[number])
        return found


if __name__ == "__main__":
    answer(f"DuckDB {duckdb.__version__}", Database().read)
