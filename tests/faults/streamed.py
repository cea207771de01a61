"""A process that runs a query of Spark Structured Streaming into a table, and may die on its way.

    python -m tests.faults.streamed WAREHOUSE NOW_MS STEP COUNT

The query takes the files of ``WAREHOUSE/files`` in, one at a time, and ends. The process is killed
after so many steps of that name; the name "any" stands for all of them. It writes its steps down,
one a line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from acidsql import streaming
from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.session.session import Session
from tests.faults.lives import POLICY, Steps, die
from tests.jvm import SPARK_CONF

GIVEN, WRITTEN = "batch given", "batch written"
"""Steps of Spark: it has called the sink, and the sink has come back."""

ANY = "any"
FILES, CHECKPOINT = "files", "checkpoint"


def open_session(warehouse: str, now_ms: int) -> Session:
    """A session whose store goes by a clock that stands still."""
    storage = LocalStorage()
    store = SqliteStore(
        f"{warehouse}/.acidsql.db", warehouse=warehouse, policy=POLICY, clock_ms=lambda: now_ms
    )
    return Session(
        store=store, engine=SparkEngine(storage, None, SPARK_CONF), storage=storage,
        policy=POLICY, warehouse=warehouse, user="u", host="h",
    )  # fmt: skip


class Deadly:
    """Writes each step down, and kills the process after so many of a name."""

    def __init__(self, step: str, left: int) -> None:
        self._step, self._left = step, left

    def __call__(self, step: str) -> None:
        sys.stdout.write(f"{step}\n")
        sys.stdout.flush()
        self._left -= self._step in (step, ANY)
        if self._left == 0:
            die()


def main(warehouse: str, now_ms: int, step: str, count: int) -> None:
    with open_session(warehouse, now_ms) as session:
        session.run_housekeeper()  # what an earlier process left open has timed out by the clock
        reached = Deadly(step, count)
        spark = session._engine._spark.get()  # type: ignore[attr-defined]
        write = streaming.sink(session, "t", query="q")

        def watched(frame: Any, batch_id: int) -> None:
            reached(GIVEN)
            write(frame, batch_id)
            reached(WRITTEN)

        Steps(reached).watch(session)
        stream = (
            spark.readStream.schema("k int, v string")
            .option("maxFilesPerTrigger", 1)
            .json(str(Path(warehouse, FILES)))
            .writeStream.foreachBatch(watched)
            .option("checkpointLocation", str(Path(warehouse, CHECKPOINT)))
            .trigger(availableNow=True)
            .start()
        )
        stream.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
