"""Which codec should be the default: size and processor time of ACID files of TPC-H lineitem.

Usage: python benchmarks/codecs.py LINEITEM.parquet. Times are of this process's processor, the
least of three, in seconds: written by acidsql's writer, read back whole and key columns alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as pa_orc
import pyarrow.parquet as pa_parquet

from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import encode_bucket
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.writer import EventWriter

BOTH_HIVES_READ = ("none", "zlib", "snappy", "lz4")
KINDS = {"int64": "bigint", "int32": "int", "date32[day]": "date"}
KEYS = ["originalTransaction", "bucket", "rowId"]
RUNS = 3


def main(source: str) -> None:
    rows = plain(pa_parquet.read_table(source))
    columns = [Column(f.name, parse_type(hive_type(f.type))) for f in rows.schema]
    print("codec    MB  written  read  row ids read")
    with tempfile.TemporaryDirectory() as directory:
        for codec in BOTH_HIVES_READ:
            path = os.path.join(directory, codec)
            written = least(lambda: write(path, columns, codec, rows))  # noqa: B023
            read = least(lambda: pa_orc.ORCFile(path).read())  # noqa: B023
            keys = least(lambda: pa_orc.ORCFile(path).read(KEYS))  # noqa: B023
            size = os.path.getsize(path) / 1e6
            print(f"{codec:7} {size:4.0f}  {written:7.2f} {read:5.2f}  {keys:.3f}")


def plain(table: pa.Table) -> pa.Table:
    """Texts as strings, whatever way the generator stores them."""
    views = [
        pc.cast(c, pa.string())
        if not pa.types.is_decimal(c.type) and "string" in str(c.type)
        else c
        for c in table.columns
    ]
    return pa.table(dict(zip(table.column_names, views, strict=True))).combine_chunks()


def hive_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return KINDS.get(str(kind), "string")


def write(path: str, columns: list[Column], codec: str, rows: pa.Table) -> None:
    bucket = encode_bucket(BucketId(0), StatementId(0))
    with EventWriter(path, columns, codec) as writer:
        for batch in rows.to_batches(max_chunksize=100_000):
            writer.write_inserts(batch, WriteId(1), bucket)


def least(job: Callable[[], object]) -> float:
    """The processor time of the cheapest of some runs."""
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        job()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main(sys.argv[1])
