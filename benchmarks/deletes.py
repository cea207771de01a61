#!/usr/bin/env python3
"""Time a count of tables whose rows were deleted, beside their twins without deletes.

The tables have different numbers of buckets and of inserts, and different shares of their rows are
deleted, then updated, then merged, at random. The twins get the same inserts. Both are read in
turn. Writes docs/benchmarks-deletes.md.
"""

from __future__ import annotations

import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import product, starmap
from pathlib import Path
from statistics import median

from own_spark import spark_session
from report import table

import acidsql
from acidsql.backends.storage.locations import storage_for
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.deleted_words import read_deleted_words
from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.row_bitmap import RowBitmap
from acidsql.model.ids import WriteId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.session.session import Session

HERE = Path(__file__).resolve().parent
WORK = HERE / "work" / "deletes"
DOCUMENT = HERE.parent / "docs" / "benchmarks-deletes.md"
BUCKETS, INSERTS, SHARES = (0, 8, 32), (1, 3, 12), (1, 10, 30)
GOAL = 1.6
STEPS = ("DELETE", "UPDATE", "MERGE")
EXPLANATION = """\
How long does a count take, if rows of the table are deleted? Each figure is the time of the count
of a table divided by the time of the same count of its twin. The table's rows are deleted, then
updated, then merged, each time the share of the rows that stands in the third column, at random.
Nothing of the twin is deleted: instead of an UPDATE and a MERGE, INSERTs give it the rows that
these insert.

It does not matter how many rows are deleted. The driver reads the delete files and keeps a bit for
each row number. The scan looks up the bit of each row: some 10 to 20 nanoseconds. Buckets, inserts
and statements do not change that. What grows with them is the number of delete files, each of which
takes about a millisecond to open. The last column is the memory that the bits take in the driver
and in each executor after the MERGE. [architecture.md](architecture.md) says more (How are deleted
rows left out?)."""


@dataclass(frozen=True)
class Case:
    """A table of the matrix. ``share`` is in percent."""

    buckets: int
    inserts: int
    share: int


@dataclass
class Figures:
    """The seconds of a table and of its twin after each step, and what the bits take in the end."""

    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    deleted: int = 0
    bitmap_bytes: int = 0


def load(session: Session, name: str, case: Case, rows: int) -> None:
    by = f"CLUSTERED BY (id) INTO {case.buckets} BUCKETS" if case.buckets else ""
    session.execute(
        f"CREATE TABLE {name} (id bigint, v bigint, s string) {by} STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    for at in range(case.inserts):
        first, last = rows * at // case.inserts, rows * (at + 1) // case.inserts
        session.execute(
            f"INSERT INTO {name} SELECT id, id * 3, concat('s', id % 97)"
            f" FROM range({first}, {last})"
        )


def chosen(step: str, share: int) -> str:
    """True of this share of the rows: of others in each step."""
    return f"pmod(xxhash64(id, {STEPS.index(step)}), 100) < {share}"


def change(session: Session, step: str, case: Case, rows: int) -> None:
    """The statement on the table; on its twin, INSERTs of the rows that the statement inserts."""
    hit, deleted = chosen(step, case.share), chosen("DELETE", case.share)
    if step == "DELETE":
        session.execute(f"DELETE FROM t WHERE {hit}")
        return
    if step == "UPDATE":
        session.execute(f"UPDATE t SET v = v + 1 WHERE {hit}")
    else:
        session.execute(
            f"MERGE INTO t USING (SELECT id, id * 5 AS v FROM range({rows}) WHERE {hit}) AS s"
            " ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
            " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, 'new')"
        )
    for condition in (f"NOT {deleted}", deleted) if step == "MERGE" else (f"NOT {deleted}",):
        session.execute(
            "INSERT INTO twin SELECT id, id * 5, concat('s', id % 97)"
            f" FROM range({rows}) WHERE {hit} AND {condition}"
        )


def read(session: Session, name: str) -> float:
    start = time.perf_counter()
    session.execute(f"SELECT count(*), sum(v) FROM {name}").fetchall()
    return time.perf_counter() - start


def in_turn(session: Session, runs: int) -> tuple[float, float]:
    """The medians of both tables. The first read after a change is the warm-up."""
    samples = [(read(session, "t"), read(session, "twin")) for _ in range(runs + 1)][1:]
    changed, twin = zip(*samples, strict=True)
    return median(changed), median(twin)


def bits(warehouse: Path) -> tuple[int, int]:
    """How many rows of the changed table are deleted, and the bytes of their bits."""
    paths = sorted(map(str, (warehouse / "t").glob("delete_delta_*/bucket_?????")))
    files = [SelectedFile(0, path, Path(path).stat().st_size, None, False) for path in paths]
    everything = ValidWriteIdList("default.t", WriteId(1 << 40))
    storage = storage_for(str(warehouse))
    packed = read_deleted_words(files, everything, storage, FileContents())
    assert packed is not None
    deleted = sum(word.bit_count() for word in packed.words.bits.tolist())
    return deleted, RowBitmap.of(packed).size


def measure(session: Session, case: Case, options: Namespace) -> Figures:
    figures = Figures()
    for name in ("t", "twin"):
        load(session, name, case, options.rows)
    for step in STEPS:
        change(session, step, case, options.rows)
        figures.seconds[step] = in_turn(session, options.runs)
    figures.deleted, figures.bitmap_bytes = bits(WORK / "warehouse")
    for name in ("t", "twin"):
        session.execute(f"DROP TABLE {name}")
    return figures


def run(options: Namespace) -> dict[Case, Figures]:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    found = {}
    spark = spark_session(options.memory)
    with acidsql.connect(str(WORK / "warehouse"), spark=spark) as session:
        measure(session, Case(0, 1, 1), options)  # Java compiles its code in the first reads
        for case in starmap(Case, product(options.buckets, options.inserts, options.shares)):
            found[case] = measure(session, case, options)
            print(*row(case, found[case]), sep="\t", flush=True)
    return found


def row(case: Case, figures: Figures) -> list[str]:
    ratios = [f"{changed / twin:.2f}" for changed, twin in figures.seconds.values()]
    return [
        str(case.buckets or "none"),
        str(case.inserts),
        f"{case.share} %",
        *ratios,
        f"{figures.seconds[STEPS[-1]][1]:.2f}",
        f"{figures.deleted:,}",
        f"{figures.bitmap_bytes / 1024:,.0f}",
    ]


def document(found: dict[Case, Figures], options: Namespace) -> Iterator[str]:
    yield "# Benchmarks of deletes"
    yield ""
    yield "Written by `benchmarks/deletes.py`; do not edit. Compare figures inside one row only."
    yield ""
    yield EXPLANATION
    yield ""
    worst = max(a / b for figures in found.values() for a, b in figures.seconds.values())
    met = "met" if worst <= GOAL else "**not met**"
    yield f"The goal is {GOAL} in every row. The highest figure is {worst:.2f}: {met}."
    yield ""
    head = ["buckets", "inserts", "share", *(f"after {step}" for step in STEPS)]
    head += ["twin (s)", "deleted rows", "bits (KiB)"]
    yield from table(head, (row(case, figures) for case, figures in found.items()))
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "numpy"))
    yield (
        f"Tables of {options.rows:,} rows. Medians of {options.runs} reads, in turn with the twin."
        f"\n{datetime.now(UTC):%Y-%m-%d}. Spark runs on two threads with {options.memory} of heap;"
        f" {packages}."
    )


def main() -> int:
    def numbers(text: str) -> list[int]:
        return [int(number) for number in text.split(",")]

    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a table (1000000)")
    parser.add_argument("--runs", type=int, default=3, help="reads of each table (3)")
    parser.add_argument("--memory", default="2g", help="heap of Spark (2g)")
    for name, known in (("buckets", BUCKETS), ("inserts", INSERTS), ("shares", SHARES)):
        said = ",".join(map(str, known))
        parser.add_argument(f"--{name}", type=numbers, default=list(known), help=f"({said})")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the report's file")
    options = parser.parse_args()
    found = run(options)
    options.output.write_text("\n".join(document(found, options)).rstrip() + "\n")
    print(f"report: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
