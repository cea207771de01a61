"""Over a Hive Metastore: the sink of Structured Streaming, and rows that session.insert writes."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

from acidsql import streaming
from acidsql.errors import AcidSqlError
from tests.integration.hive.one_metastore import Turns

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


def frame(live: Turns, *rows: tuple[Any, ...]) -> Any:
    return live.session._engine._spark.get().createDataFrame(list(rows), "id int, v string")


def test_each_batch_once(live: Turns) -> None:
    live.acidsql(f"CREATE TABLE t (id int, v string) {ACID}")
    marks = f"{live.database}.marks"
    options: dict[str, Any] = {"query": "q", "marks": marks, "sleep": lambda _: None}
    write = streaming.sink(live.session, f"{live.database}.t", **options)
    for batch_id in (0, 0, 1, 0, 1):
        write(frame(live, (batch_id, "a")), batch_id)
    upsert = streaming.sink(
        live.session, f"{live.database}.t", mode="upsert", keys=["id"], **options | {"query": "u"}
    )
    for _ in range(2):
        upsert(frame(live, (1, "b"), (2, "c")), 0)
    assert sorted((r["id"], r["v"]) for r in live.theirs("SELECT * FROM t")) == [
        (0, "a"), (1, "b"), (2, "c"),
    ]  # fmt: skip
    live.same("t", 3)
    told = live.theirs("SELECT `query`, batch_id FROM marks")
    assert sorted((r["query"], r["batch_id"]) for r in told) == [("q", 1), ("u", 0)]


def test_two_runs_at_once(live: Turns) -> None:
    live.acidsql(f"CREATE TABLE t (id int, v string) {ACID}")
    writes = [
        streaming.sink(
            live.session, f"{live.database}.t", query="q", marks=f"{live.database}.marks",
            sleep=lambda _: None,
        )
        for _ in range(2)
    ]  # fmt: skip
    for write in writes:
        write(frame(live, (0, "z")), 0)
    batch = frame(live, (1, "a"))
    failed: list[AcidSqlError] = []

    def run(write: Any) -> None:
        try:
            write(batch, 1)
        except AcidSqlError as error:  # it may have waited too long for the other one's lock
            failed.append(error)

    threads = [threading.Thread(target=run, args=(write,)) for write in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failed) < 2, failed
    live.same("t", 2)


def test_rows_of_python(live: Turns) -> None:
    live.acidsql(
        f"CREATE TABLE t (id int, v varchar(5)) PARTITIONED BY (d date)"
        f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    rows = pa.table({"id": range(6), "v": list("abcdef"), "d": ["2020-01-01", None] * 3})
    live.session.insert(f"{live.database}.t", rows)
    with live.session.transaction():
        live.session.insert(f"{live.database}.t", [{"id": 6}], partition={"d": None})
    live.same("t", 7)
    live.theirs("UPDATE t SET v = 'x' WHERE id > 3")
    live.same("t", 7)
