"""Two workers in processes of their own exchange, keep, spill and unspill dataframes."""

import json
import os

import dask.dataframe as dd
import pandas as pd
import pytest
import watching
from distributed import wait
from frames import mixed, table


def test_a_shuffle_gives_every_row_to_one_partition(client):
    df = mixed(4000)
    shuffled = dd.from_pandas(df, npartitions=8).persist().shuffle("key", shuffle_method="tasks").persist()
    wait(shuffled)
    pd.testing.assert_frame_equal(shuffled.compute().sort_index(), df)
    keys = [set(part.compute()) for part in shuffled["key"].partitions]
    assert sum(map(len, keys)) == df["key"].nunique()
    assert carried(client)["DataFrame"] > 8


def test_persisted_partitions_are_equal(client):
    df = mixed(3000)
    persisted = dd.from_pandas(df, npartitions=6).persist()
    wait(persisted)
    pd.testing.assert_frame_equal(persisted.compute(), df)
    assert carried(client)["DataFrame"] > 0


@pytest.mark.parametrize(
    "of",
    [
        lambda: mixed(),
        lambda: mixed()["first"],
        lambda: mixed()["text"],
        table,
        lambda: table().to_batches()[0],
    ],
)
def test_a_result_moves_between_workers_and_to_the_client(client, of):
    here, there = client.scheduler_info()["workers"]
    made = client.submit(of, workers=[here], pure=False)
    moved = client.submit(lambda made: made, made, workers=[there], pure=False)
    result, expected = moved.result(), of()
    assert type(result) is type(expected)
    assert result.equals(expected)
    counted = client.run(watching.seen)
    assert all(type(expected).__name__ in counted[worker][1] for worker in (here, there)), counted
    assert not any(pickled for pickled, _ in counted.values()), counted


def test_scattered_and_gathered_collections_are_frames(client):
    df = mixed()
    for sent in ([df, df[:10]], (df["first"], df), {"a": df, "b": df[:0]}, {1: df}):
        result = client.submit(same, client.scatter([sent])[0], pure=False).result()
        assert type(result) is type(sent)
        before, after = (list(one.values() if isinstance(one, dict) else one) for one in (sent, result))
        assert all(one.equals(other) for one, other in zip(before, after, strict=True))
    assert watching.seen()[1]["DataFrame"] >= 5


def test_a_spilled_dataframe_comes_back_equal(client, program):
    here, _ = client.scheduler_info()["workers"]
    made = client.submit(mixed, 20_000, key="spilled", workers=[here])
    wait(made)
    files = client.run(spill, "spilled", workers=[here])[here]
    assert len(files) == 1
    # The real program reads the real file.
    done = program("inspect", "--json", files[0])
    spilled = json.loads(done.stdout)["spill"]
    compressed = [
        number for number, frame in enumerate(spilled["wire_frames"]) if frame["compression"] == "lz4"
    ]
    assert compressed and spilled["type"] == "pandas.DataFrame"
    named = ", ".join(f"{number} (lz4)" for number in compressed)
    assert f"compressed {len(compressed)} of its {len(spilled['wire_frames'])} wire frames" in done.stderr
    assert named in done.stderr
    pd.testing.assert_frame_equal(made.result(), mixed(20_000))
    counted = client.run(watching.seen)
    assert counted[here][1]["DataFrame"] >= 1 and not counted[here][0], counted


def test_what_a_task_was_given_can_be_assigned_to(client):
    here, there = client.scheduler_info()["workers"]
    made = client.submit(mixed, workers=[here], pure=False)
    changed = client.submit(assigned, made, workers=[there], pure=False).result()
    pd.testing.assert_frame_equal(changed, assigned(mixed()))
    # And once more, by the client.
    pd.testing.assert_frame_equal(assigned(changed), assigned(mixed()))


def test_a_dataframe_that_is_pickled_is_noticed(client):
    """What the other tests rely on."""
    here, _ = client.scheduler_info()["workers"]
    client.submit(subclassed, workers=[here], pure=False).result()
    [pickled] = [pickled for pickled, _ in client.run(watching.seen).values() if pickled]
    assert pickled == ["Subclass of (3, 1)"]


def same(x):
    return x


def assigned(df: pd.DataFrame) -> pd.DataFrame:
    """In place, with the last row's values in the first row too."""
    for place in range(df.shape[1]):
        df.iloc[0, place] = df.iloc[-1, place]
    return df


def subclassed():
    from subclass import Subclass

    return Subclass({"a": [1, 2, 3]})


def carried(client):
    from collections import Counter

    return sum((counted for _, counted in client.run(watching.seen).values()), Counter())


def spill(key, dask_worker):
    """Spills one key, and names its file."""
    data = dask_worker.data
    while key in data.fast:
        assert data.evict() >= 0
    directory = data._slow_uncached.d.directory
    return [os.path.join(directory, name) for name in os.listdir(directory) if name.startswith(key)]
