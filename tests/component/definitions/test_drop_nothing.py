"""DROP of what is not there is a note, as in Hive, or an error where that is wanted."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    DatabaseNotFoundError,
    PartitionNotFoundError,
    TableNotFoundError,
)
from acidsql.session.session import Session

WANTED = "SET hive.exec.drop.ignorenonexistent=false"


def message(session: Session, sql: str) -> str | None:
    return session.execute(sql).message


def test_a_table(session: Session) -> None:
    session.execute("CREATE TABLE orders (k int)")
    assert message(session, "DROP TABLE ordrs") == (
        'OK\ntable "default.ordrs" not found: nothing was dropped. Did you mean "orders"?'
    )
    assert message(session, "DROP TABLE no.t PURGE") == (
        'OK\ntable "no.t" not found: nothing was dropped. SHOW TABLES lists the tables.'
    )
    assert message(session, "DROP TABLE IF EXISTS ordrs") == "table default.ordrs does not exist"
    assert session.execute("EXPLAIN LOCKS DROP TABLE ordrs").fetchall() == []
    assert session.execute("SHOW TABLES").fetchall() == [("orders",)]

    session.execute(WANTED)
    for sql in ("DROP TABLE ordrs", "EXPLAIN LOCKS DROP TABLE ordrs"):
        with pytest.raises(TableNotFoundError, match=r'"default\.ordrs" not found'):
            session.execute(sql)
    assert message(session, "DROP TABLE IF EXISTS ordrs") == "table default.ordrs does not exist"


def test_a_partition(session: Session) -> None:
    session.execute("CREATE TABLE t (k int) PARTITIONED BY (p int)")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    assert message(session, "ALTER TABLE t DROP PARTITION (p = 3)") == "no partition was dropped"
    drop = "ALTER TABLE t DROP PARTITION (p = 3), PARTITION (p = 2), PARTITION (p > 5)"
    assert message(session, drop) == (
        "Dropped the partition p=2\n"
        "No partition meets PARTITION (…) number 1\n"
        "No partition meets PARTITION (…) number 3"
    )
    session.execute(WANTED)
    with pytest.raises(PartitionNotFoundError):
        session.execute("ALTER TABLE t DROP PARTITION (p = 1), PARTITION (p = 3)")
    assert session.execute("SHOW PARTITIONS t").fetchall() == [("p=1",)]


def test_what_stays_an_error(session: Session) -> None:
    with pytest.raises(DatabaseNotFoundError):
        session.execute("DROP DATABASE no")
    with pytest.raises(TableNotFoundError):
        session.execute("ALTER TABLE no DROP PARTITION (p = 1)")
    with pytest.raises(AnalysisError):
        session.execute("DROP TABLE `../precious`")


def test_a_table_that_another_session_drops_meanwhile(tmp_path: Path) -> None:
    """Both have found the table, and wait for its reader."""
    with (
        acidsql.connect(tmp_path / "w") as reader,
        acidsql.connect(tmp_path / "w") as first,
        acidsql.connect(tmp_path / "w") as second,
        ThreadPoolExecutor(2) as pool,
    ):
        reader.execute("CREATE TABLE t (k int)")
        reader.execute("BEGIN")
        reader.execute("INSERT INTO t VALUES (1)")
        drops = [pool.submit(s.execute, "DROP TABLE t") for s in (first, second)]
        while len(reader.execute("SHOW LOCKS").fetchall()) < 3:
            time.sleep(0.01)
        reader.execute("ROLLBACK")
        messages = sorted(str(drop.result(60).message) for drop in drops)
        assert messages[0] == "OK"
        assert messages[1].startswith('OK\ntable "default.t" not found: nothing was dropped.')
