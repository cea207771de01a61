#!/usr/bin/env python3
"""Time streaming ingest beside Hive 3's own Java client, in one run.

    make hives
    python benchmarks/streaming_hive3.py [--rows 1000000] [--rounds 3] [--directory DIR]

Both write the same lines of delimited text, in the same transactions, to tables of one Hive 3 and
by way of its metastore. Hive's client runs in the process of the metastore, with both of Java's
compilers; the first round warms it up and does not count. Like Hive's, our client gets each record
by a call of its own; beside that stands one call for each transaction. No Spark is started.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import acidsql
from acidsql.streaming import StreamingConnection, StrictDelimitedInputWriter

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from streaming import COLUMNS, arguments, best, some_rows  # noqa: E402

from tests.integration.hive.conftest import BUILD, free_port  # noqa: E402
from tests.integration.hive.process import Hive  # noqa: E402

BATCH_SIZE = 10
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


def written(rows: pa.Table, path: Path) -> list[bytes]:
    lines = [",".join(map(str, row.values())).encode() for row in rows.to_pylist()]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return lines


@contextmanager
def connected(session: acidsql.Session) -> Iterator[StreamingConnection]:
    writer = StrictDelimitedInputWriter()
    builder = StreamingConnection.builder().table("ours").record_writer(writer)
    with builder.transaction_batch_size(BATCH_SIZE).connect(session) as connection:
        yield connection


def record_by_record(session: acidsql.Session, lines: list[bytes], count: int) -> None:
    with connected(session) as connection:
        for start in range(0, len(lines), count):
            connection.begin_transaction()
            for line in lines[start : start + count]:
                connection.write(line)
            connection.commit_transaction()


def at_once(session: acidsql.Session, lines: list[bytes], count: int) -> None:
    with connected(session) as connection:
        for start in range(0, len(lines), count):
            connection.begin_transaction()
            connection.write(b"\n".join(lines[start : start + count]))
            connection.commit_transaction()


def compare(home: Path, rows: pa.Table, rounds: int) -> None:
    with (
        Hive(3, BUILD, home / "hive", free_port(), jvm=("-XX:+UseSerialGC",)) as hive,
        acidsql.connect(str(hive.warehouse), metastore=hive.metastore_url) as session,
    ):
        for table in ("ours", "theirs"):
            session.execute(f"CREATE TABLE {table} ({COLUMNS}) {ACID}")
        # Like ours, Hive's client reaches the metastore by Thrift.
        hive.run(f"!conf hive.metastore.uris {hive.metastore_url}")
        for count in (1000, 10_000, 100_000):
            some = rows.slice(0, min(rows.num_rows, 100 * count))
            time_each(hive, session, some, count, home / "lines.txt", rounds)


def time_each(
    hive: Hive,
    session: acidsql.Session,
    rows: pa.Table,
    count: int,
    path: Path,
    rounds: int,
) -> None:
    """Print what each way takes with so many records in a transaction."""
    lines = written(rows, path)
    theirs = f"!ingest default.theirs {BATCH_SIZE} {count} {path}"
    ways: dict[str, Callable[[], object]] = {
        "Hive 3's client": lambda: hive.run(theirs),
        "ours, record by record": lambda: record_by_record(session, lines, count),
        "ours, a transaction at once": lambda: at_once(session, lines, count),
    }
    best(ways, 1)  # warms Java up
    times = best(ways, rounds)
    print(f"{rows.num_rows:,} rows in transactions of {count:,}")
    for name, spent in times.items():
        faster = times["Hive 3's client"].clock / spent.clock
        print(f"  {name:27} {rows.num_rows / spent.clock:10,.0f} rows/s, {faster:.2f} x Hive's")


def main() -> None:
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        compare(Path(directory), some_rows(given.rows), given.rounds)


if __name__ == "__main__":
    main()
