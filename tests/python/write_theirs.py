"""Writes streams and files in pyarrow's own ways into a folder.

Usage: write_theirs.py OUT. What each holds is known to the test that reads it.
"""

import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

LONG = "longer than the twelve bytes that fit"


def write(path: Path, batches: list, **options) -> None:
    options = ipc.IpcWriteOptions(**options)
    make = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
    with make(path, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def main() -> None:
    out = Path(sys.argv[1])

    # Buffers at multiples of 8: some of 16-byte numbers and views are not at 16.
    wide = pa.record_batch(
        {
            "int8": pa.array([1, None, 3], pa.int8()),
            "decimal128": pa.array([Decimal("1.5"), None, Decimal("-2.25")], pa.decimal128(20, 2)),
            "decimal256": pa.array([Decimal("1.5"), None, Decimal("-2.25")], pa.decimal256(50, 2)),
            "utf8_view": pa.array(["short", None, LONG], pa.string_view()),
            "binary_view": pa.array([b"\xff", None, LONG.encode()], pa.binary_view()),
            "interval": pa.array([(1, 2, 3), None, (-1, -2, -3)], pa.month_day_nano_interval()),
        }
    )
    write(out / "wide.arrows", [wide])
    write(out / "wide.arrow", [wide])
    write(out / "wide_v4.arrows", [wide], metadata_version=ipc.MetadataVersion.V4)
    write(out / "wide_legacy.arrows", [wide], use_legacy_format=True, metadata_version=ipc.MetadataVersion.V4)
    write(out / "wide_lz4.arrows", [wide], compression="lz4")
    write(out / "wide_zstd.arrows", [wide], compression=pa.Codec("zstd", compression_level=9))
    write(out / "wide_zstd.arrow", [wide], compression="zstd")

    # Dictionaries that grow and change from batch to batch.
    def keyed(keys: list, values: list) -> pa.RecordBatch:
        array = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int8()), pa.array(values))
        return pa.record_batch({"word": array})

    growing = [
        keyed([0, 1], ["a", "b"]),
        keyed([2, None], ["a", "b", "c"]),
        keyed([3, 0], ["a", "b", "c", "d"]),
    ]
    write(out / "deltas.arrows", growing, emit_dictionary_deltas=True)
    write(out / "replaced.arrows", growing)
    write(out / "deltas_zstd.arrows", growing, emit_dictionary_deltas=True, compression="zstd")
    unified = pa.Table.from_batches(growing).unify_dictionaries().to_batches()
    write(out / "unified.arrow", unified)

    text = pa.record_batch({"text": ["the same words"] * 5_000, "n": pa.array(range(5_000), pa.int64())})
    for codec in ("lz4", "zstd"):
        write(out / f"text_{codec}.arrows", [text], compression=codec)

    write(out / "sliced.arrows", [text.slice(1_234, 3), text.slice(0, 0), text.slice(4_999)])
    write(out / "no_columns.arrows", [pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))])


if __name__ == "__main__":
    main()
