#!/usr/bin/env python3
"""A feed of changes (inserts, updates, deletes) into a Hive ACID table, each change exactly once.

The feed is a directory of JSON files, as a tool for change data capture leaves them. Spark
Structured Streaming reads it, and acidsql's sink merges each micro-batch into the table. In the
middle the query "crashes": Spark forgets that the last micro-batch was done, and gives it to the
sink again. The exit status is 1 if the table then differs from a plain Python dict to which the
same changes were applied.

    python examples/cdc.py [new directory]
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import acidsql
from acidsql import streaming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE = "CREATE TABLE stock (id int, qty int)"

# A micro-batch may change a row several times: the change with the highest number counts.
MERGE = """
MERGE INTO stock AS t
USING (
  SELECT id, qty, op
  FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY seq DESC) AS latest FROM batch)
  WHERE latest = 1
) AS s ON t.id = s.id
WHEN MATCHED AND s.op = 'delete' THEN DELETE
WHEN MATCHED THEN UPDATE SET qty = s.qty
WHEN NOT MATCHED AND s.op <> 'delete' THEN INSERT (id, qty) VALUES (s.id, s.qty)
"""

FILES, CHANGES_OF_A_FILE, IDS = 3, 200, 100
Change = dict[str, Any]


def changes(count: int) -> Iterator[Change]:
    """A feed: what is not there is inserted, what is there is updated or deleted."""
    chosen = random.Random(7)  # noqa: S311 - the same feed each time
    there: set[int] = set()
    for seq in range(count):
        row = chosen.randrange(IDS)
        op = "insert" if row not in there else chosen.choice(["update", "update", "delete"])
        there = there - {row} if op == "delete" else there | {row}
        qty = None if op == "delete" else chosen.randrange(1000)
        yield {"seq": seq, "op": op, "id": row, "qty": qty}


def apply(feed: list[Change]) -> dict[int, int]:
    """The rows that the feed leaves, by plain Python."""
    rows: dict[int, int] = {}
    for change in feed:
        if change["op"] == "delete":
            del rows[change["id"]]
        else:
            rows[change["id"]] = change["qty"]
    return rows


def add_file(feed: Path, number: int, part: list[Change]) -> None:
    """A file of changes, which the query sees whole or not at all."""
    hidden = feed / f".{number}"
    hidden.write_text("".join(json.dumps(change) + "\n" for change in part))
    os.utime(hidden, (number, number))  # Spark takes the files in the order of these times
    hidden.rename(feed / f"{number}.json")


def take_in(spark: SparkSession, session: acidsql.Session, directory: Path) -> None:
    """Run the query until it has taken in every file that is there."""
    (
        spark.readStream.schema("seq long, op string, id int, qty int")
        .option("maxFilesPerTrigger", 1)
        .json(str(directory / "feed"))
        .writeStream.foreachBatch(streaming.sink(session, "stock", query="stock", merge=MERGE))
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


def crash(checkpoint: Path) -> int:
    """Make Spark forget that it has done the last micro-batch. The number of that one."""
    last = max(int(p.name) for p in (checkpoint / "commits").iterdir() if p.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    return last


def run(directory: Path, spark: SparkSession, out: TextIO = sys.stdout) -> bool:
    """Take the feed in. Whether the table has the rows that Python has."""
    feed = list(changes(FILES * CHANGES_OF_A_FILE))
    parts = [feed[at : at + CHANGES_OF_A_FILE] for at in range(0, len(feed), CHANGES_OF_A_FILE)]
    (directory / "feed").mkdir(parents=True)
    equal = True
    with acidsql.connect(directory / "warehouse", spark=spark) as session:
        session.execute(CREATE)
        for number, part in enumerate(parts, 1):
            add_file(directory / "feed", number, part)
            take_in(spark, session, directory)
            rows = dict(session.execute("SELECT id, qty FROM stock").fetchall())
            same = rows == apply(feed[: number * CHANGES_OF_A_FILE])
            equal &= same
            what = f"{len(part)} changes → {len(rows)} rows"
            out.write(f"file {number}: {what}, {'as in Python' if same else 'NOT as in Python'}\n")
            if number == len(parts) // 2:
                batch = crash(directory / "checkpoint")
                out.write(f"crash: Spark will give micro-batch {batch} to the sink once more\n")
        marks = "SELECT query, target, batch_id FROM default.acidsql_streaming_batches"
        for query, target, batch in session.execute(marks):
            out.write(f"query {query} has written {target} up to micro-batch {batch}\n")
    return equal


def main() -> int:
    """Run with a Spark of its own."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it takes a second

    with ExitStack() as cleanup:
        if len(sys.argv) > 1:
            directory = Path(sys.argv[1])
        else:
            directory = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        cleanup.callback(spark.stop)
        return 0 if run(directory, spark) else 1


if __name__ == "__main__":
    sys.exit(main())
