"""Dataframes that the tests send."""

import numpy as np
import pandas as pd
import pyarrow as pa


def mixed(rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """A column of each kind that travels differently."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 20, rows)
    moments = pd.date_range("2020-01-01", periods=rows, freq="min")
    return pd.DataFrame(
        {
            "key": numbers,
            "first": random.random(rows),
            "second": random.random(rows),
            "third": random.random(rows),
            "text": [f"row {number}" for number in range(rows)],
            "object": pd.Series(
                [number if number % 3 else f"{number}" for number in range(rows)], dtype=object
            ),
            "category": pd.Categorical([f"of {number % 7}" for number in numbers]),
            "zoned": moments.tz_localize("Europe/Paris", ambiguous="NaT", nonexistent="NaT"),
            "naive": moments.where(numbers > 2),
            "nullable": pd.array([None if number == 5 else number for number in numbers], dtype="Int64"),
            "flag": numbers > 10,
            "complex": random.random(rows) + 1j,
            "period": moments.to_period("D"),
            "arrow": pd.array(numbers, dtype=pd.ArrowDtype(pa.int32())),
        },
    )


def table(rows: int = 1000) -> pa.Table:
    """A table of several chunks, of which some columns are not numbers."""
    part = pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "text": [None if row % 5 == 0 else f"row {row}" for row in range(rows)],
            "list": [[row] * (row % 3) for row in range(rows)],
            "dictionary": pa.array([f"of {row % 7}" for row in range(rows)]).dictionary_encode(),
        },
        metadata={"of": "the test"},
    )
    return pa.concat_tables([part, part])
