"""Definitions whose commit is carried out, and whose answer is lost: they end as if it had come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import CommitStateUnknownError, StorageError
from acidsql.model.names import TableName
from acidsql.model.table import Column, TableKind
from acidsql.model.types import parse_type
from acidsql.model.view import View
from acidsql.session.session import Session
from tests.checks import check_table

ACID = "TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "'transactional' = 'true', 'transactional_properties' = 'insert_only'"
AFTER = {
    "ALTER TABLE p PARTITION (k = 1) RENAME TO PARTITION (k = 9)": ("p", [(1, "9"), (2, "2")]),
    "ALTER TABLE p DROP PARTITION (k = 1)": ("p", [(2, "2")]),
    "ALTER TABLE t RENAME TO u": ("u", [(1,)]),
    "ALTER TABLE t ADD COLUMNS (more int)": ("t", [(1, None)]),
    "CREATE TABLE u (a int)": ("u", []),
}


@pytest.fixture
def tables(session: Session) -> Session:
    session.execute(f"CREATE TABLE p (a int) PARTITIONED BY (k int) {ACID}")
    session.execute("INSERT INTO p VALUES (1, 1), (2, 2)")
    session.execute(f"CREATE TABLE t (a int) {ACID}")
    session.execute("INSERT INTO t VALUES (1)")
    return session


def lose_the_answer(session: Session, patch: pytest.MonkeyPatch) -> None:
    """The store commits once, and seems not to answer."""
    answered = session._store.committing

    @contextmanager
    def committing(*args: Any) -> Iterator[None]:
        patch.setattr(session._store, "committing", answered)
        with answered(*args):
            yield
        raise StorageError("the connection is lost")

    patch.setattr(session._store, "committing", committing)


@pytest.mark.parametrize("sql", list(AFTER))
def test_the_store_is_asked_what_it_did(tables: Session, sql: str, monkeypatch: pytest.MonkeyPatch):
    lose_the_answer(tables, monkeypatch)
    tables.execute(sql)
    name, rows = AFTER[sql]
    assert sorted(check_table(tables._store, TableName("default", name))) == rows


@pytest.mark.parametrize("sql", list(AFTER))
def test_no_directory_is_moved_back_if_nobody_knows(
    tables: Session, sql: str, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise StorageError("the connection is lost")

    with monkeypatch.context() as patch:
        lose_the_answer(tables, patch)
        patch.setattr(tables._store, "heartbeat", fail)
        with pytest.raises(CommitStateUnknownError):
            tables.execute(sql)
    name, rows = AFTER[sql]
    assert sorted(check_table(tables._store, TableName("default", name))) == rows


@pytest.mark.parametrize(
    ("verb", "sql", "name"),
    [
        ("rename_table", "ALTER TABLE t RENAME TO u", "t"),
        ("drop_partitions", "ALTER TABLE p DROP PARTITION (k = 1)", "p"),
    ],
)
def test_what_fails_before_the_commit_is_not_committed(
    tables: Session, verb: str, sql: str, name: str, monkeypatch: pytest.MonkeyPatch
):
    """Nobody needs to be asked, and nobody answers."""

    def fail(*_: object) -> None:
        raise StorageError("the connection is lost")

    before = sorted(check_table(tables._store, TableName("default", name)))
    with monkeypatch.context() as patch:
        patch.setattr(tables._store, verb, fail)
        patch.setattr(tables._store, "heartbeat", fail)
        with pytest.raises(StorageError, match="the connection is lost") as raised:
            tables.execute(sql)
    assert not isinstance(raised.value, CommitStateUnknownError)
    assert sorted(check_table(tables._store, TableName("default", name))) == before


def test_the_files_of_a_converted_table(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    session.execute("CREATE TABLE t (a int) TBLPROPERTIES ('transactional' = 'false')")
    session.insert("t", {"a": [1, 2]})
    lose_the_answer(session, monkeypatch)
    session.execute(f"ALTER TABLE t SET TBLPROPERTIES ({INSERT_ONLY})")
    table = session._store.table(TableName("default", "t"))
    assert table.kind is TableKind.INSERT_ONLY
    files = [path.parent.name for path in (tmp_path / "w" / "t").rglob("0*")]
    assert files == ["delta_0000001_0000001_0000"]


@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE t", "CREATE DATABASE d", "DROP DATABASE one", "DROP DATABASE one CASCADE"],
)
def test_a_step_of_its_own_is_looked_at(
    tables: Session, sql: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    store: Any = tables._store
    tables.execute("CREATE DATABASE one")
    if "CASCADE" in sql:
        column = Column("a", parse_type("int"))
        store.create_view(View(TableName("one", "v"), (column,), "SELECT 1 AS a", "SELECT 1 AS a"))
    create, while_open = store.create_database, store.while_open

    def created(*args: Any) -> None:
        create(*args)
        raise StorageError("the connection is lost")

    @contextmanager
    def opened(*args: Any) -> Iterator[None]:
        with while_open(*args):
            yield
        raise StorageError("the connection is lost")

    monkeypatch.setattr(store, "create_database", created)
    monkeypatch.setattr(store, "while_open", opened)
    tables.execute(sql)
    directory = {"DROP TABLE t": "t", "CREATE DATABASE d": "d.db"}.get(sql, "one.db")
    assert (tmp_path / "w" / directory).exists() == sql.startswith("CREATE")


def test_a_database_that_was_there_before_was_not_made_now(
    tables: Session, monkeypatch: pytest.MonkeyPatch
):
    tables.execute("CREATE DATABASE d COMMENT 'the first one'")

    def fail(*_: object) -> None:
        raise StorageError("the connection is lost")

    monkeypatch.setattr(tables._store, "create_database", fail)
    with pytest.raises(StorageError, match="the connection is lost"):
        tables.execute("CREATE DATABASE d")


def keep_the_change(session: Session, patch: pytest.MonkeyPatch) -> None:
    """The store does not commit in one step, and fails to take back what it has done."""

    @contextmanager
    def committing(*_: Any) -> Iterator[None]:
        yield
        raise StorageError("the store is gone")

    patch.setattr(session._store, "commits_in_one_step", False)
    patch.setattr(session._store, "committing", committing)


@pytest.mark.parametrize("sql", [sql for sql in AFTER if "RENAME" in sql])
def test_a_directory_stays_where_the_catalog_says(
    tables: Session, sql: str, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        keep_the_change(tables, patch)
        with pytest.raises(StorageError, match="the store is gone"):
            tables.execute(sql)
    name, rows = AFTER[sql]
    assert sorted(check_table(tables._store, TableName("default", name))) == rows


def test_a_conversion_that_stays_without_a_commit_keeps_the_rows(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    session.execute("CREATE TABLE t (a int) TBLPROPERTIES ('transactional' = 'false')")
    session.insert("t", {"a": [1, 2]})
    with monkeypatch.context() as patch:
        keep_the_change(session, patch)
        with pytest.raises(StorageError, match="the store is gone"):
            session.execute(f"ALTER TABLE t SET TBLPROPERTIES ({INSERT_ONLY})")
    store, name = session._store, TableName("default", "t")
    assert store.table(name).kind is TableKind.INSERT_ONLY
    files = [path.parent.name for path in (tmp_path / "w" / "t").rglob("0*")]
    assert files == ["delta_0000001_0000001_0000"]
    session.run_cleaner()
    write_ids = store.valid_write_ids([name], store.valid_txns())[name]
    assert (write_ids.high_watermark, *write_ids.open, *write_ids.aborted) == (1,)


def test_what_the_store_has_not_carried_out_is_undone(
    tables: Session, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(tables._store, "commit_txn", fail)
        with pytest.raises(StorageError, match="the disk is full"):
            tables.execute("ALTER TABLE p DROP PARTITION (k = 1)")
    assert sorted(check_table(tables._store, TableName("default", "p"))) == [(1, "1"), (2, "2")]
