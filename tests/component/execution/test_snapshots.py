"""Which one partition a change locks: the catalog's, if the text leaves one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.catalog import Partition
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
MERGE = "MERGE INTO p USING (SELECT 1 AS v) s ON"
WHOLE = ["p -> EXCL_WRITE"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        yield session


def table(session: Session, columns: str, *partitions: str) -> None:
    session.execute(f"CREATE TABLE p (v int) PARTITIONED BY ({columns}) {ACID}")
    names = [PartitionName.parse(text) for text in partitions]
    store = session._store
    places = [
        Partition(name, f"{store.table(TableName('default', 'p')).location}/{name}")
        for name in names
    ]
    store.add_partitions(TableName("default", "p"), places)


def locked(session: Session, sql: str, args: dict[str, object] | None = None) -> list[str]:
    rows = session.execute(f"EXPLAIN LOCKS {sql}", args).fetchall()
    return [row[0].removeprefix("default.") for row in rows]


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("d = 1", "p.d=1"),
        ("1 = d AND v = 2", "p.d=1"),
        ("(v = 2 AND (p.d = -2))", "p.d=-2"),
        ("d IN (1)", "p.d=1"),
        ("d = 1 AND d IN (1, 3)", "p.d=1"),
        ("d = 01", "p.d=1"),
        ("d = -02", "p.d=-2"),
        ("d = 7", "p.d=07"),
        ("d = 3", "p"),
        ("d = 9", "p"),
        ("d BETWEEN 1 AND 1", "p"),
        ("d IN (1, -2)", "p"),
        ("d >= 7", "p"),
        ("d = 1 OR v = 2", "p"),
        ("NOT d = 1", "p"),
        ("d = v", "p"),
        ("d IS NULL", "p"),
        ("d = (SELECT 1)", "p"),
        ("v = 1", "p"),
    ],
)
def test_update_and_delete(session: Session, where: str, place: str) -> None:
    table(session, "d int", "d=1", "d=-2", "d=3", "d=03", "d=07", "d=__HIVE_DEFAULT_PARTITION__")
    for sql in (f"UPDATE p SET v = 1 WHERE {where}", f"DELETE FROM p WHERE {where}"):
        assert locked(session, sql) == [f"{place} -> EXCL_WRITE"]


def test_every_partition_column_has_a_value(session: Session) -> None:
    table(session, "d date, k string", "d=2026-01-31/k=a%2Fb", "d=2026-01-31/k=c")
    both = "d = DATE '2026-01-31' AND k = :k"
    lock = "p.d=2026-01-31/k=a%2Fb -> EXCL_WRITE"
    assert locked(session, f"DELETE FROM p WHERE {both}", {"k": "a/b"}) == [lock]
    for k in ("", "A/B", "\0", "x" * 9000):
        assert locked(session, f"DELETE FROM p WHERE {both}", {"k": k}) == WHOLE
    assert locked(session, "DELETE FROM p WHERE k = 'a/b'") == WHOLE


def test_merge_changes_one_and_inserts_anywhere(session: Session) -> None:
    table(session, "d int", "d=1", "d=2")
    sql = f"{MERGE} p.v = s.v AND p.d = 1 WHEN MATCHED THEN DELETE"
    assert locked(session, sql) == ["p.d=1 -> EXCL_WRITE"]
    both = f"{sql} WHEN NOT MATCHED THEN INSERT VALUES (s.v, 1)"
    assert locked(session, both) == ["p -> SHARED_READ", "p.d=1 -> EXCL_WRITE"]


def test_merge_where_the_source_names_the_partition(session: Session) -> None:
    table(session, "d int", "d=1", "d=2")
    sql = f"{MERGE} p.v = s.v AND p.d = s.v WHEN MATCHED THEN UPDATE SET v = 2"
    assert locked(session, sql) == WHOLE
    sql = f"{MERGE} p.v = s.v AND s.v = 1 WHEN MATCHED AND p.d = 1 THEN UPDATE SET v = 2"
    assert locked(session, sql) == WHOLE
