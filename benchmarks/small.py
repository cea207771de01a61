#!/usr/bin/env python3
"""Time small statements, tables of many small files, and tables of many partitions.

Each figure stands beside another one of the same run: a scan by Spark, the compacted table, Spark's
own partitioned write, or the same statement on fewer partitions. Writes docs/benchmarks-small.md.
"""

from __future__ import annotations

import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from own_spark import spark_session
from report import table

import acidsql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.session.session import Session

HERE = Path(__file__).resolve().parent
WORK = HERE / "work" / "small"
DOCUMENT = HERE.parent / "docs" / "benchmarks-small.md"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
WARM_UP = 10
STATEMENTS = {
    "SELECT by key": ("SELECT * FROM small WHERE k = {key}", 1.5),
    "UPDATE of a row": ("UPDATE small SET v = 'new' WHERE k = {key}", 2.5),
    "DELETE of a row": ("DELETE FROM small WHERE k = {key}", 2.5),
    "MERGE of two rows": (
        "MERGE INTO small t USING"
        " (SELECT * FROM VALUES ({key}, 'a'), (-{key}, 'b') AS q(k, v)) s"
        " ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, 1)",
        4.0,
    ),
}
"""Each with its goal, in times of a scan of the same table by Spark."""


@dataclass(frozen=True)
class Ratio:
    """The seconds of one thing and of what it is compared with."""

    what: str
    beside: str
    seconds: float
    beside_seconds: float
    goal: float | None

    def row(self) -> list[str]:
        ratio = self.seconds / self.beside_seconds
        goal = "" if self.goal is None else f"≤ {self.goal:g}"
        met = "" if self.goal is None else "yes" if ratio <= self.goal else "**no**"
        return [
            self.what,
            self.beside,
            f"{self.seconds:.3f}",
            f"{self.beside_seconds:.3f}",
            f"{ratio:.2f}",
            goal,
            met,
        ]


@dataclass
class Clock:
    """Seconds of each thing that was timed."""

    samples: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def time(self, what: str, work: Callable[[], object]) -> None:
        start = time.perf_counter()
        work()
        self.samples[what].append(time.perf_counter() - start)

    def ratio(self, what: str, beside: str, goal: float | None) -> Ratio:
        seconds, beside_seconds = (median(self.samples[name]) for name in (what, beside))
        return Ratio(what, beside, seconds, beside_seconds, goal)


def small_statements(session: Session, spark: SparkSession, runs: int) -> Iterator[Ratio]:
    """A table of 1,000 rows in one file, compacted after each round."""
    session.execute(f"CREATE TABLE small (k bigint, v string, n int) {ACID}")
    rows = "SELECT id AS k, concat('v', id) AS v, int(id % 7) AS n FROM range(1000)"
    session.execute(f"INSERT INTO small {rows}")
    plain = str(WORK / "plain")
    spark.sql(rows).coalesce(1).write.orc(plain)
    for at in range(-WARM_UP, runs):
        if at in (-WARM_UP, 0):
            clock = Clock()
        key = at + 500
        clock.time("a scan by Spark", lambda key=key: plain_scan(spark, plain, key).collect())
        for number, (name, (sql, _)) in enumerate(STATEMENTS.items()):
            text = sql.format(key=key - 100 * number)
            clock.time(name, lambda text=text: session.execute(text).fetchall())
        session.execute("ALTER TABLE small COMPACT 'major' AND WAIT")
        session.execute("VACUUM small")
    for name, (_, goal) in STATEMENTS.items():
        yield clock.ratio(name, "a scan by Spark", goal)


def plain_scan(spark: SparkSession, path: str, key: int) -> DataFrame:
    return spark.read.orc(path).where(f"k = {key}")


def many_deltas(session: Session, runs: int) -> Iterator[Ratio]:
    """A table of one-row INSERTs, and the same table compacted."""
    for count, goal in ((60, None), (300, 1.5)):
        clock = Clock()
        name, twin = f"a count of {count} one-row deltas", "the same table, compacted"
        for known in ("deltas", "compacted"):
            session.execute(f"CREATE TABLE {known} (k bigint) {ACID}")
            for key in range(count):
                session.execute(f"INSERT INTO {known} VALUES ({key})")
        session.execute("ALTER TABLE compacted COMPACT 'major' AND WAIT")
        for _ in range(runs + 2):
            for what, known in ((name, "deltas"), (twin, "compacted")):
                sql = f"SELECT count(*), sum(k) FROM {known}"
                clock.time(what, lambda sql=sql: session.execute(sql).fetchall())
        clock.samples = {what: seconds[2:] for what, seconds in clock.samples.items()}
        yield clock.ratio(name, twin, goal)
        for known in ("deltas", "compacted"):
            session.execute(f"DROP TABLE {known}")


def loads(session: Session, spark: SparkSession, runs: int) -> Iterator[Ratio]:
    """Two million rows into a table without buckets, and into 8 buckets."""
    rows = (
        "SELECT id AS k, id % 200000 AS part, int(id % 7) AS line, decimal(id % 5000) AS price,"
        " double(id) / 7 AS tax, concat('Order ', id) AS note, concat('v', id % 1000) AS kind"
        " FROM range(2000000)"
    )
    plain, bucketed = "Spark's own write", "Spark's own write into 8 buckets"
    places = [str(WORK / name) for name in ("rows", "rows_by_bucket")]
    clock = Clock()
    for run in range(runs + 1):
        frame = spark.sql(rows)
        if run == 1:
            clock = Clock()
        writer = frame.write.mode("overwrite")
        clock.time(plain, lambda writer=writer: writer.orc(places[0]))
        # A table, because Spark writes buckets into tables alone.
        by_bucket = writer.bucketBy(8, "k").format("orc").option("path", places[1])
        clock.time(bucketed, lambda by_bucket=by_bucket: by_bucket.saveAsTable("rows_by_bucket"))
        for buckets in (0, 8):
            by = f"CLUSTERED BY (k) INTO {buckets} BUCKETS" if buckets else ""
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in frame.schema)
            session.execute(f"CREATE TABLE rows_{buckets} ({columns}) {by} {ACID}")
            sql = f"INSERT INTO rows_{buckets} {rows}"
            clock.time(load_name(buckets), lambda sql=sql: session.execute(sql))
            session.execute(f"DROP TABLE rows_{buckets}")
    for buckets in (0, 8):
        yield clock.ratio(load_name(buckets), plain, 1.4)
    yield clock.ratio(load_name(8), bucketed, None)


def load_name(buckets: int) -> str:
    return f"INSERT of 2,000,000 rows, {buckets or 'no'} buckets"


def dynamic_partitions(session: Session, spark: SparkSession, runs: int) -> Iterator[Ratio]:
    """A million rows into 1,000 partitions, as they come and sorted for Spark's writer."""
    rows = "SELECT id AS k, concat('v', id) AS v, int(id % 1000) AS p FROM range(1000000)"
    name = "INSERT into 1,000 partitions"
    by_spark, sorted_by_spark = "Spark's partitioned write", "the same, rows brought together first"
    clock = Clock()
    for _ in range(runs):
        session.execute(f"CREATE TABLE parts (k bigint, v string) PARTITIONED BY (p int) {ACID}")
        clock.time(name, lambda: session.execute(f"INSERT INTO parts {rows}"))
        frame = spark.sql(rows)
        for what, given in ((by_spark, frame), (sorted_by_spark, frame.repartition("p"))):
            writer = given.write.mode("overwrite").partitionBy("p")
            clock.time(what, lambda writer=writer: writer.orc(str(WORK / "plain_parts")))
        session.execute("DROP TABLE parts")
    yield clock.ratio(name, by_spark, 1.2)
    yield clock.ratio(name, sorted_by_spark, 1.2)


OF_PARTITIONS = {
    "INSERT into all": (
        "INSERT INTO {table} SELECT id, concat('v', id), int(id % {count}) FROM range(100000)"
    ),
    "SELECT of one": "SELECT count(*) FROM {table} WHERE p = 7",
    "UPDATE of one": "UPDATE {table} SET v = 'new' WHERE p = 7 AND k = 7",
    "CHECK TABLE": "CHECK TABLE {table}",
}


def many_partitions(session: Session) -> Iterator[Ratio]:
    """The same statements on 2,000 and on 8,000 partitions: linear is 4."""
    few, many = 2000, 8000
    clock = Clock()
    for count in (few, many):
        name = f"wide{count}"
        session.execute(f"CREATE TABLE {name} (k bigint, v string) PARTITIONED BY (p int) {ACID}")
        for what, statement in OF_PARTITIONS.items():
            sql = statement.format(table=name, count=count)
            for _ in range(3 if what.startswith("SELECT") else 1):
                clock.time(
                    f"{what}, {count:,} partitions", lambda sql=sql: session.execute(sql).fetchall()
                )
    for what in OF_PARTITIONS:
        yield clock.ratio(f"{what}, {many:,} partitions", f"{what}, {few:,} partitions", 5)


def measured(options: Namespace) -> Iterator[Ratio]:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    spark = spark_session(options.memory)
    with acidsql.connect(str(WORK / "warehouse"), spark=spark) as session:
        yield from small_statements(session, spark, options.runs)
        yield from many_deltas(session, options.runs)
        yield from loads(session, spark, 3)
        yield from dynamic_partitions(session, spark, 3)
        yield from many_partitions(session)


def document(found: list[Ratio], options: Namespace) -> Iterator[str]:
    yield "# Benchmarks of small things"
    yield ""
    yield "Written by `benchmarks/small.py`; do not edit. Compare figures inside one row only."
    yield ""
    yield "How long does a statement take that changes little, or meets many files or partitions?"
    yield "The scan by Spark reads the same 1,000 rows from one plain ORC file, for one of them."
    yield ""
    head = ["statement", "beside", "seconds", "beside (s)", "ratio", "goal", "met"]
    yield from table(head, (ratio.row() for ratio in found))
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow"))
    yield (
        f"Medians of {options.runs} runs in turn; of writes into partitions, 3 and 1."
        f"\n{datetime.now(UTC):%Y-%m-%d}. Spark runs on two threads with {options.memory} of heap;"
        f" {packages}."
    )


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="runs of a small statement (15)")
    parser.add_argument("--memory", default="2g", help="heap of Spark (2g)")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the report's file")
    options = parser.parse_args()
    found = []
    for ratio in measured(options):
        found.append(ratio)
        print(*ratio.row(), sep="\t", flush=True)
    options.output.write_text("\n".join(document(found, options)).rstrip() + "\n")
    print(f"report: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
