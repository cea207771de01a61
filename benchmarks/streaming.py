#!/usr/bin/env python3
"""Time streaming ingest beside what else could write the same rows, in one run.

    python benchmarks/streaming.py [--rows 1000000] [--rounds 3] [--directory DIR]

Each line is the best of the rounds, which alternate between all ways. Beside the time by the clock
stands that of the processor, which other work on the machine changes less. No Spark is started.
"""

from __future__ import annotations

import os
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc

import acidsql
from acidsql.streaming import StreamingConnection

TABLE = "TBLPROPERTIES ('transactional' = 'true')"
BATCH_SIZE = 10


def some_rows(count: int) -> pa.Table:
    """An int, a bigint, a double, a short text of many and one of few values."""
    random = np.random.default_rng(7)
    return pa.table(
        {
            "id": pa.array(np.arange(count, dtype=np.int32)),
            "amount": pa.array(random.integers(0, 10**12, count)),
            "price": pa.array(random.random(count)),
            "name": pa.array([f"name {n}" for n in random.integers(0, 10**6, count)]),
            "kind": pa.array(random.choice(["red", "green", "blue"], count)),
        }
    )


COLUMNS = "id int, amount bigint, price double, name string, kind string"


def streamed(session: acidsql.Session, rows: pa.Table, batch: int) -> None:
    builder = StreamingConnection.builder().table("t").transaction_batch_size(BATCH_SIZE)
    with builder.connect(session) as connection:
        for start in range(0, rows.num_rows, batch):
            connection.begin_transaction()
            connection.write(rows.slice(start, batch))
            connection.commit_transaction()


def one_file(directory: Path, rows: pa.Table, batch: int) -> None:
    """All batches into one ORC file, which is whole and durable at the end."""
    path = directory / "plain.orc"
    with path.open("wb") as file:
        with pa_orc.ORCWriter(file, compression="SNAPPY") as writer:
            for start in range(0, rows.num_rows, batch):
                writer.write(rows.slice(start, batch))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def file_each(directory: Path, rows: pa.Table, batch: int) -> None:
    """An ORC file for each batch, durable before the next one."""
    for start in range(0, rows.num_rows, batch):
        path = directory / f"{start}.orc"
        with path.open("wb") as file:
            with pa_orc.ORCWriter(file, compression="SNAPPY") as writer:
                writer.write(rows.slice(start, batch))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()


@dataclass
class Best:
    """The least seconds of all rounds, by the clock and of the processor."""

    clock: float = float("inf")
    processor: float = float("inf")

    def time(self, work: Callable[[], object]) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        self.clock = min(self.clock, time.perf_counter() - clock)
        self.processor = min(self.processor, time.process_time() - processor)

    def share_of(self, other: Best) -> str:
        return f"{other.clock / self.clock:.2f} ({other.processor / self.processor:.2f})"


def best(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, Best]:
    found = {name: Best() for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            found[name].time(work)
    return found


def sustained(session: acidsql.Session, directory: Path, rows: pa.Table, rounds: int) -> None:
    for batch in (10_000, 100_000):
        times = best(
            {
                "streamed": lambda: streamed(session, rows, batch),  # noqa: B023 - called at once
                "one ORC file": lambda: one_file(directory, rows, batch),  # noqa: B023
                "an ORC file each": lambda: file_each(directory, rows, batch),  # noqa: B023
            },
            rounds,
        )
        print(f"{rows.num_rows:,} rows in transactions of {batch:,}")
        for name, seconds in times.items():
            print(
                f"  {name:18} {rows.num_rows / seconds.clock:12,.0f} rows/s,"
                f" {seconds.processor:.2f} s of the processor"
            )
        for name in ("one ORC file", "an ORC file each"):
            print(f"  streamed, of {name}: {times['streamed'].share_of(times[name])}")


def small_commits(session: acidsql.Session, rows: pa.Table, rounds: int) -> None:
    few = rows.slice(0, 1000)
    builder = StreamingConnection.builder().table("t").transaction_batch_size(BATCH_SIZE)
    counts = 20

    def stream() -> None:
        with builder.connect(session) as connection:
            for _ in range(counts):
                connection.begin_transaction()
                connection.write(few)
                connection.commit_transaction()

    def insert() -> None:
        for _ in range(counts):
            session.execute("INSERT INTO t VALUES (1, 2, 3, 'a', 'b')")

    times = best({"stream": stream, "insert": insert}, rounds)
    print("one commit")
    print(f"  1,000 rows streamed {times['stream'].clock / counts * 1000:8.2f} ms")
    print(f"  INSERT of one row   {times['insert'].clock / counts * 1000:8.2f} ms")
    print(f"  ratio               {times['stream'].clock / times['insert'].clock:8.2f}")


def arguments(doc: str) -> Namespace:
    """What the command line says: rows, rounds, directory."""
    parser = ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="where to write; by default a temporary directory")
    return parser.parse_args()


def main() -> None:
    given = arguments(__doc__)
    rows = some_rows(given.rows)
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        home = Path(directory)
        with acidsql.connect(home / "w") as session:
            session.execute(f"CREATE TABLE t ({COLUMNS}) STORED AS ORC {TABLE}")
            sustained(session, home, rows, given.rounds)
            small_commits(session, rows, given.rounds)


if __name__ == "__main__":
    main()
