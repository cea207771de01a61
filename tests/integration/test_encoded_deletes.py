"""DELETE of many rows: Spark's own writer encodes their ids, of which the events are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark import changed_rows, encoded_deletes
from acidsql.orc.reader import read_deletes
from acidsql.session.session import Session
from tests.joining_tasks import let_tasks_join

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS = 3_000
PLACES = [
    pytest.param("", id="one place"),
    pytest.param("CLUSTERED BY (k) INTO 3 BUCKETS", id="buckets"),
    pytest.param("PARTITIONED BY (p string)", id="partitions"),
]


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No row ids are few. The number of parts of each DELETE whose ids were encoded."""
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)
    monkeypatch.setattr("acidsql.engines.spark.update.is_large", lambda _: True)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    monkeypatch.setattr(encoded_deletes, "_BATCH_ROWS", 100)
    calls: list[int] = []
    write = changed_rows.write_encoded_deletes

    def seen(spark: Any, parts: Any, *others: Any) -> Any:
        calls.append(len(parts))
        return write(spark, parts, *others)

    monkeypatch.setattr(changed_rows, "write_encoded_deletes", seen)
    return calls


def insert(session: Session, first: int, last: int) -> None:
    session.execute(
        f"INSERT INTO t SELECT id, concat('v', id), if(id % 3 = 0, 'a', 'b')"
        f" FROM range({first}, {last})"
    )


def keys(session: Session) -> list[int]:
    assert session.execute("CHECK TABLE t").fetchall() == []
    return sorted(k for (k,) in session.execute("SELECT k FROM t").fetchall())


@pytest.mark.parametrize("elsewhere", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("place", PLACES)
def test_rows_are_deleted_once(
    session: Session,
    warehouse: Path,
    many: list[int],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    elsewhere: bool,
) -> None:
    if elsewhere:
        let_tasks_join(monkeypatch)
    columns = "k bigint, v string" + ("" if "PART" in place else ", p string")
    session.execute(f"CREATE TABLE t ({columns}) {place} {ACID}")
    for first in range(0, ROWS, ROWS // 3):
        insert(session, first, first + ROWS // 3)
    assert session.execute("DELETE FROM t WHERE k % 2 = 0").rows_deleted == ROWS // 2
    left = [k for k in range(ROWS) if k % 2]
    assert keys(session) == left
    deletes = list((warehouse / "t").rglob("delete_delta_*/bucket_*"))
    assert sum(read_deletes(str(path)).num_rows for path in deletes) == ROWS // 2
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
    assert list((warehouse / "t").rglob("delta_0000004_*")) == []
    assert session.execute("DELETE FROM t WHERE k % 5 = 1 AND p >= ''").rows_deleted == ROWS // 10
    left = [k for k in left if k % 5 != 1]
    assert keys(session) == left
    if "PART" not in place:
        session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    some = "v IN ('v3', 'v7', 'v9999') AND k + 0 >= 0"
    assert session.execute(f"DELETE FROM t WHERE {some}").rows_deleted == 2
    assert keys(session) == [k for k in left if k not in (3, 7)]
    assert session.execute("DELETE FROM t WHERE k < 0 OR k IS NULL").rows_deleted == 0
    assert len(many) == 3
    assert all(many)


def test_rows_of_the_same_transaction(session: Session, many: list[int]) -> None:
    session.execute(f"CREATE TABLE t (k bigint, v string, p string) {ACID}")
    insert(session, 0, 1000)
    session.execute("BEGIN")
    insert(session, 1000, 1100)
    session.execute("UPDATE t SET v = 'w' WHERE k >= 950")
    assert session.execute("DELETE FROM t WHERE k % 10 = 0").rows_deleted == 110
    assert session.execute("DELETE FROM t WHERE k % 10 = 1 AND v = 'w'").rows_deleted == 15
    session.execute("COMMIT")
    left = [k for k in range(1100) if k % 10 and (k % 10 != 1 or k < 950)]
    assert keys(session) == left
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert keys(session) == left
    assert len(many) == 3


def test_parts_that_are_too_long_are_moved(
    session: Session, many: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_rows, "ROWS_MAX", 10)
    session.execute(f"CREATE TABLE t (k bigint, v string, p string) {ACID}")
    insert(session, 0, 1000)
    assert session.execute("DELETE FROM t WHERE k % 10 = 0").rows_deleted == 100
    assert session.execute("UPDATE t SET v = 'w' WHERE k % 10 = 1").rows_updated == 100
    assert keys(session) == [k for k in range(1000) if k % 10]
    assert many == []
