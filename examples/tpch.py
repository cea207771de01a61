#!/usr/bin/env python3
"""TPC-H lineitem through its life as a Hive ACID table, with DuckDB beside it as the judge.

Load, delete, update, merge, compact: after each step q1, q6 and the totals must equal those of
DuckDB after the same statements. `make demo-tpch` runs it; the exit status is 1 if an answer
differs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TextIO

import duckdb

import acidsql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = """
  l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int,
  l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2),
  l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date,
  l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string,
  l_comment string"""
CREATE_IN_DUCKDB = f"CREATE TABLE lineitem ({COLUMNS}, l_shipyear int)"
CREATE_IN_HIVE = f"""CREATE TABLE lineitem ({COLUMNS})
PARTITIONED BY (l_shipyear int)
CLUSTERED BY (l_orderkey) INTO 4 BUCKETS"""

# Both engines get the text of these. `source` is lineitem as generated, `changes` see below.
STATEMENTS = {
    "load": "INSERT INTO lineitem SELECT *, year(l_shipdate) AS l_shipyear FROM source",
    "delete": "DELETE FROM lineitem WHERE l_orderkey % 100 = 7",
    "update": (
        "UPDATE lineitem SET l_quantity = l_quantity + 1, l_discount = 0.06 "
        "WHERE l_orderkey % 100 = 1"
    ),
    "merge": (
        "MERGE INTO lineitem AS t USING changes AS s "
        "ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber "
        "WHEN MATCHED AND s.l_quantity = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET l_quantity = s.l_quantity, l_comment = s.l_comment "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.l_orderkey, s.l_partkey, s.l_suppkey, "
        "s.l_linenumber, s.l_quantity, s.l_extendedprice, s.l_discount, s.l_tax, "
        "s.l_returnflag, s.l_linestatus, s.l_shipdate, s.l_commitdate, s.l_receiptdate, "
        "s.l_shipinstruct, s.l_shipmode, s.l_comment, s.l_shipyear)"
    ),
}
COMPACT = "compact"
STEPS = (*STATEMENTS, COMPACT)

# 1 % of the orders change: their first line is cancelled (quantity 0), the others grow.
# As many orders are new.
CHANGES = """
SELECT * REPLACE (
    CAST(CASE WHEN l_linenumber = 1 THEN 0 ELSE l_quantity + 5 END AS decimal(15,2))
      AS l_quantity,
    'changed' AS l_comment),
  year(l_shipdate)::int AS l_shipyear
FROM source WHERE l_orderkey % 100 = 2
UNION ALL
SELECT * REPLACE (l_orderkey + 1_000_000_000 AS l_orderkey), year(l_shipdate)::int AS l_shipyear
FROM source WHERE l_orderkey % 100 = 3
"""

QUERIES = {
    "q1": """
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty,
  sum(l_extendedprice) AS sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
  count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus""",
    "q6": """
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "totals": """
SELECT l_shipyear, count(*), count(DISTINCT l_orderkey), sum(l_orderkey), sum(l_linenumber),
  sum(l_quantity), sum(l_discount), min(l_comment), max(l_comment)
FROM lineitem
GROUP BY l_shipyear
ORDER BY l_shipyear""",
}

# Spark rounds an average to six decimals, DuckDB gives a float.
AVERAGE_TOLERANCE = 0.5e-6 + 1e-9

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Comparison:
    """What both engines answered at one step, and how long each took."""

    step: str
    what: str  # "rows changed" or the name of a query
    ours: Rows
    theirs: Rows
    ours_s: float
    theirs_s: float

    @property
    def equal(self) -> bool:
        return len(self.ours) == len(self.theirs) and all(map(same_row, self.ours, self.theirs))


def same_row(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Exact, averages excepted.

    >>> same_row(("A", 1, 25.513587), ("A", 1, 25.5135867))
    True
    >>> same_row(("A", 1, 25.513587), ("A", 2, 25.5135867))
    False
    """
    return len(ours) == len(theirs) and all(map(same_value, ours, theirs))


def same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, float):
        return ours is not None and abs(float(ours) - theirs) <= AVERAGE_TOLERANCE
    return bool(ours == theirs)


class Hive:
    """The table as Hive ACID directories, through acidsql."""

    def __init__(self, session: acidsql.Session, spark: SparkSession, data: Path) -> None:
        self.session = session
        for name in ("source", "changes"):
            session.register(name, spark.read.parquet(str(data / f"{name}.parquet")))
        self.change(CREATE_IN_HIVE)

    def change(self, statement: str) -> Rows:
        with self.session.execute(statement) as result:
            changed = (result.rows_inserted, result.rows_updated, result.rows_deleted)
        return [(sum(count or 0 for count in changed),)]

    def query(self, statement: str) -> Rows:
        with self.session.execute(statement) as result:
            return [tuple(row) for row in result.fetchall()]

    def compact(self) -> None:
        """Rewrite every partition into one base, and remove what it replaces."""
        for (partition,) in self.query("SHOW PARTITIONS lineitem"):
            year = partition.removeprefix("l_shipyear=")
            self.change(
                f"ALTER TABLE lineitem PARTITION (l_shipyear = {year}) COMPACT 'major' AND WAIT"
            )
        self.session.run_cleaner()


class DuckDb:
    """The same table in DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, data: Path) -> None:
        self.connection = connection
        for name in ("source", "changes"):
            connection.read_parquet(str(data / f"{name}.parquet")).create_view(name)
        connection.execute(CREATE_IN_DUCKDB)

    def change(self, statement: str) -> Rows:
        return self.query(statement)

    def query(self, statement: str) -> Rows:
        return self.connection.execute(statement).fetchall()

    def compact(self) -> None:
        """Nothing to do."""


def make_data(scale: float, directory: Path) -> None:
    """Make source.parquet and changes.parquet in ``directory``, unless they are there."""
    source, changes = directory / "source.parquet", directory / "changes.parquet"
    if source.exists() and changes.exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    beside_python = Path(sys.executable).with_name("tpchgen-cli")
    generator = str(beside_python) if beside_python.exists() else "tpchgen-cli"
    options = ["-s", str(scale), "--tables", "lineitem", "--output-dir", str(directory)]
    subprocess.run([generator, "parquet", "--quiet", "--overwrite", *options], check=True)  # noqa: S603 fixed words
    (directory / "lineitem.parquet").replace(source)
    with duckdb.connect() as connection:
        connection.read_parquet(str(source)).create_view("source")
        connection.sql(CHANGES).write_parquet(str(changes), compression="zstd")


def start_spark() -> SparkSession:
    """The Spark session of this process, started if there is none."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 takes a second

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.master": "local[*]",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.config(map=settings).getOrCreate()


def timed(action: Callable[[], Rows | None]) -> tuple[Rows, float]:
    start = time.perf_counter()
    rows = action()
    return rows or [], time.perf_counter() - start


def compare_step(step: str, hive: Hive, duck: DuckDb) -> Iterator[Comparison]:
    """Do a step in both, then compare the rows it changed and the answers after it."""
    if step == COMPACT:
        (ours, ours_s), (theirs, theirs_s) = timed(hive.compact), timed(duck.compact)
    else:
        statement = STATEMENTS[step]
        ours, ours_s = timed(lambda: hive.change(statement))
        theirs, theirs_s = timed(lambda: duck.change(statement))
    yield Comparison(step, "rows changed", ours, theirs, ours_s, theirs_s)
    for name, query in QUERIES.items():
        text = query.strip()
        ours, ours_s = timed(lambda text=text: hive.query(text))
        theirs, theirs_s = timed(lambda text=text: duck.query(text))
        yield Comparison(step, name, ours, theirs, ours_s, theirs_s)


def show(comparison: Comparison, out: TextIO) -> None:
    """Print both answers side by side; of q1 the columns that fit, of the totals their number."""
    verdict = "equal" if comparison.equal else "DIFFERENT"
    if comparison.what == "rows changed":
        statement = STATEMENTS.get(comparison.step, "major, in every partition, then the cleaner")
        print(f"\n{comparison.step}: {shorten(statement, 88, placeholder=' …')}", file=out)
        print(f"  {'':12} {'acidsql':>34} {'DuckDB':>34}", file=out)
    seconds = [f"{s:.2f} s" for s in (comparison.ours_s, comparison.theirs_s)]
    print(f"  {comparison.what:12} {seconds[0]:>34} {seconds[1]:>34}   {verdict}", file=out)
    if comparison.what == "totals" and comparison.equal:
        return
    for rows in zip(comparison.ours, comparison.theirs, strict=False):
        cells = [" ".join(str(row[i]) for i in shown(row)) for row in rows]
        print(f"  {'':12} {cells[0]:>34} {cells[1]:>34}", file=out)


def shown(row: tuple[Any, ...]) -> list[int]:
    """Which columns of a row are printed: of q1 the group, the charge and the count."""
    return [0, 1, 5, 9] if len(row) == 10 else list(range(len(row)))


def directories(table: Path) -> list[str]:
    """The base and delta directories of all partitions, as partition/directory."""
    return sorted(
        f"{path.parent.name}/{path.name}"
        for path in table.glob("l_shipyear=*/*")
        if path.is_dir() and not path.name.startswith(("_", "."))
    )


def run(scale: float, directory: Path, out: TextIO) -> list[Comparison]:
    """Run all steps in ``directory``, whose warehouse is made anew; all comparisons."""
    data, warehouse = directory / f"data-{scale:g}", directory / "warehouse"
    make_data(scale, data)
    shutil.rmtree(warehouse, ignore_errors=True)
    spark = start_spark()
    comparisons = []
    with ExitStack() as stack:
        session = stack.enter_context(acidsql.connect(str(warehouse), spark=spark))
        hive = Hive(session, spark, data)
        duck = DuckDb(stack.enter_context(duckdb.connect()), data)
        for step in STEPS:
            for comparison in compare_step(step, hive, duck):
                show(comparison, out)
                comparisons.append(comparison)
            found = directories(warehouse / "lineitem")
            print(f"  {len(found)} directories, such as {', '.join(found[:3])}", file=out)
    different = sum(not comparison.equal for comparison in comparisons)
    print(f"\n{len(comparisons)} comparisons, {different} different", file=out)
    return comparisons


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor (0.1)")
    parser.add_argument("--directory", type=Path, default=Path("demo/tpch"))
    options = parser.parse_args()
    comparisons = run(options.scale, options.directory.resolve(), sys.stdout)
    return 0 if all(comparison.equal for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
