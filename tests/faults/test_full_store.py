"""A store that has no room left, or may not be written to: reads go on, writes are told why."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from acidsql.backends.postgres import PostgresStore
from acidsql.backends.relational.connection import Mode
from acidsql.backends.sqlite import SqliteStore, log
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import StorageError, StoreNotWritableError
from acidsql.model.ids import TxnId
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.postgres import Postgres
from tests.python_engine import PythonEngine

CREATE = "CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')"
ROWS = [(1, "a"), (2, "b")]
Store = SqliteStore | PostgresStore


def session_over(store: Store, warehouse: Path) -> Session:
    storage = LocalStorage()
    return Session(
        store=store, engine=PythonEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(warehouse), user="ann", host="host1",
    )  # fmt: skip


def until_refused(run: Callable[[], object]) -> None:
    for _ in range(100_000):
        run()


@contextmanager
def no_more_pages(store: SqliteStore) -> Iterator[None]:
    """SQLite may not make the file any larger: it says of that what it says of a full disk."""
    connection = store._sql._connection
    assert connection is not None
    [(pages,)] = connection.execute("PRAGMA page_count").fetchall()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    # What is left of the pages there are.
    opened: list[TxnId] = []
    with pytest.raises(StoreNotWritableError, match="is full"):
        until_refused(lambda: opened.append(store.open_txn("filler", "host1")))
    yield
    connection.execute("PRAGMA max_page_count = 1000000")
    store.abort_txns(opened)


@contextmanager
def no_larger_files(store: SqliteStore) -> Iterator[None]:
    """As with a quota: what would make the log any longer fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = os.stat(store._sql.path + "-wal").st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def not_writable(store: SqliteStore) -> Iterator[None]:
    """As if the file had been opened by somebody who may not write to it."""
    connection = store._sql._connection
    assert connection is not None
    connection.execute("PRAGMA query_only = on")
    yield
    connection.execute("PRAGMA query_only = off")


REFUSALS: dict[str, tuple[Callable[[SqliteStore], AbstractContextManager[None]], str]] = {
    "full": (no_more_pages, r"the disk of the transaction store .*store\.db is full"),
    "quota": (no_larger_files, r"the transaction store .*store\.db cannot be written"),
    "rights": (not_writable, r"the transaction store .*store\.db cannot be written"),
}


def check(session: Session, told: str) -> None:
    """While nothing can be written."""
    for _ in range(20):
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == ROWS
    assert session.execute("SHOW TABLES").fetchall() != []
    assert session.execute("DESCRIBE t").fetchall() != []
    assert session.execute("CHECK TABLE t").fetchall() == []
    for statement in ("INSERT INTO t VALUES (3, 'c')", "DROP TABLE t", "BEGIN"):
        with pytest.raises(StoreNotWritableError, match=told) as caught:
            session.execute(statement)
        assert caught.value.hint
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == ROWS


def check_afterwards(session: Session, warehouse: Path) -> None:
    session.execute("INSERT INTO t VALUES (3, 'c')")
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [*ROWS, (3, "c")]
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert len([p for p in (warehouse / "t").iterdir() if p.name.startswith("delta")]) == 3


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_store_without_room_stops_no_read(tmp_path: Path, kind: str) -> None:
    refuse, told = REFUSALS[kind]
    store = SqliteStore(f"{tmp_path}/store.db", warehouse=str(tmp_path))
    with session_over(store, tmp_path) as session:
        session.execute(CREATE)
        for row in ROWS:
            session.execute("INSERT INTO t VALUES (?, ?)", row)
        with refuse(store):
            check(session, told)
        check_afterwards(session, tmp_path)


def test_a_read_that_began_before_there_was_no_room_keeps_its_rows(tmp_path: Path) -> None:
    store = SqliteStore(f"{tmp_path}/store.db", warehouse=str(tmp_path))
    with session_over(store, tmp_path) as session:
        session.execute(CREATE)
        for row in ROWS:
            session.execute("INSERT INTO t VALUES (?, ?)", row)
        result = session.execute("SELECT * FROM t")
        with not_writable(store):
            assert sorted(result.fetchall()) == ROWS
            result.close()


def test_a_log_that_cannot_be_synced_for_want_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with closing(SqliteStore(f"{tmp_path}/store.db")) as store:
        txn = store.open_txn("ann", "host1")
        monkeypatch.setattr(log, "_sync_data", refuse)
        with pytest.raises(StorageError, match="cannot sync") as caught:
            store.commit_txn(txn)
        assert "No space left on device" in str(caught.value)
        assert "Free some space" in str(caught.value)


FULL = """
CREATE FUNCTION acidsql.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END
$$"""

REFUSE = "CREATE TRIGGER no_room BEFORE INSERT ON acidsql.txns EXECUTE FUNCTION acidsql.no_room()"


@pytest.mark.postgres
def test_a_server_without_room_stops_no_read(tmp_path: Path, postgres: Postgres) -> None:
    store = PostgresStore(postgres.fresh(), warehouse=str(tmp_path))
    with session_over(store, tmp_path) as session:
        session.execute(CREATE)
        for row in ROWS:
            session.execute("INSERT INTO t VALUES (?, ?)", row)
        postgres.execute(FULL)
        postgres.execute(REFUSE)
        try:
            check(session, r"the disk of the transaction store .* is full")
        finally:
            postgres.execute("DROP FUNCTION acidsql.no_room CASCADE")
        check_afterwards(session, tmp_path)


@pytest.mark.postgres
def test_a_server_that_only_reads_is_told(postgres: Postgres) -> None:
    """As a standby does."""
    with closing(PostgresStore(postgres.fresh())) as store:
        with (
            pytest.raises(StoreNotWritableError, match="cannot be written"),
            store._sql.transaction(Mode.READING),
        ):
            store._sql.run("bump_next_txn_id", count=1)
        assert store.open_txn("ann", "host1") == 1
