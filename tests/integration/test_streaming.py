"""Spark reads and changes rows that are streamed, while their batch is open and after."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection, StrictDelimitedInputWriter

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(str(tmp_path / "w"), spark=spark) as session:
        yield session


def connected(session: Session, size: int, table: str = "t") -> StreamingConnection:
    builder = StreamingConnection.builder().table(table).transaction_batch_size(size)
    return builder.record_writer(StrictDelimitedInputWriter()).connect(session)


def add(connection: StreamingConnection, text: str, *, commits: bool = True) -> None:
    connection.begin_transaction()
    connection.write(text)
    connection.commit_transaction() if commits else connection.abort_transaction()


def rows(session: Session, sql: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
    found = sorted(map(tuple, session.execute(sql).fetchall()), key=str)
    assert session.execute("CHECK TABLE t").fetchall() == []
    return found


def test_an_open_batch_through_its_life(session: Session) -> None:
    session.execute(f"CREATE TABLE t (id int, v string) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}")
    session.execute("INSERT INTO t VALUES (100, 'before')")
    with connected(session, 5) as connection:
        add(connection, "1,one\n2,two\n3,three")
        expected = [(1, "one"), (100, "before"), (2, "two"), (3, "three")]
        assert rows(session) == expected
        add(connection, "4,four", commits=False)
        connection.begin_transaction()
        connection.write("5,five")
        connection.flush()
        assert rows(session) == expected
        before = session.table("t")
        connection.commit_transaction()
        assert rows(session, "SELECT id FROM t WHERE id BETWEEN 3 AND 5") == [(3,), (5,)]
        assert before.count() == 4
        ids = rows(session, "SELECT row__id, id FROM t WHERE id IN (1, 5)")
        assert [(key[0], key[2]) for key, _ in ids] == [(2, 0), (4, 0)]
        session.execute("UPDATE t SET v = 'upd' WHERE id IN (1, 5, 100)")
        session.execute("DELETE FROM t WHERE id = 2")
        session.execute(
            "MERGE INTO t USING (SELECT 3 AS id UNION SELECT 6) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm')"
        )
        expected = [(1, "upd"), (100, "upd"), (3, "m"), (5, "upd"), (6, "m")]
        assert rows(session) == expected
        add(connection, "7,seven")
        expected.append((7, "seven"))
        assert rows(session) == expected
        session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
        assert rows(session) == expected
    assert rows(session) == expected
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    assert rows(session) == expected


def test_partitions_and_types(session: Session) -> None:
    session.execute(
        "CREATE TABLE t (id bigint, d decimal(10,2), at timestamp, tags array<string>)"
        f" PARTITIONED BY (day date, k string) {ACID}"
    )
    with connected(session, 3) as connection:
        add(
            connection,
            "1,1.5,1969-12-31 12:00:00.5,a\x02b,2026-01-01,x\n2,\\N,\\N,\\N,1582-10-10,y",
        )
        add(connection, "3,-2.25,2026-01-02 03:04:05,c,2026-01-01,x")
        read = [(r[0], str(r[1]), r[2], r[3], str(r[4]), r[5]) for r in rows(session)]
        assert read == [
            (1, "1.50", datetime(1969, 12, 31, 12, 0, 0, 500_000), ["a", "b"], "2026-01-01", "x"),
            (2, "None", None, None, "1582-10-10", "y"),
            (3, "-2.25", datetime(2026, 1, 2, 3, 4, 5), ["c"], "2026-01-01", "x"),
        ]
        assert rows(session, "SELECT id FROM t WHERE k = 'y'") == [(2,)]
        assert rows(session, "SELECT id FROM t WHERE at > '2000-01-01'") == [(3,)]


def test_stripes_of_a_closed_batch_are_skipped_by_their_statistics(session: Session) -> None:
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    with connected(session, 3) as connection:
        for first in (0, 50_000, 100_000):
            lines = "\n".join(f"{n},v{n}" for n in range(first, first + 20_000))
            add(connection, lines)
    for low, count in ((0, 1), (60_000, 1), (119_999, 1), (30_000, 0)):
        assert len(rows(session, f"SELECT v FROM t WHERE id = {low}")) == count
    assert rows(session, "SELECT count(*), min(id), max(id) FROM t") == [(60_000, 0, 119_999)]
    session.execute("DELETE FROM t WHERE id % 20000 = 19999")
    assert rows(session, "SELECT count(*) FROM t") == [(59_997,)]


def test_a_spark_of_another_session_reads_along(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    with (
        StreamingConnection.builder()
        .table("t")
        .transaction_batch_size(10)
        .connect(warehouse=tmp_path / "w") as connection
    ):
        for n in range(4):
            connection.begin_transaction()
            connection.write([{"id": n, "v": "x"}])
            connection.commit_transaction()
            assert rows(session, "SELECT count(*) FROM t") == [(n + 1,)]
