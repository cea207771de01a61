"""Transactions of several statements: what they promise beside tests/logic and tests/isolation."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.errors import (
    ConfigError,
    LockTimeoutError,
    StorageError,
    TxnAbortedError,
    TxnError,
)

if TYPE_CHECKING:
    from acidsql.ports.storage import Storage
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def table(session: Session) -> Session:
    session.execute(f"CREATE TABLE t (id int, v int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    return session


@pytest.fixture
def other(warehouse: Path, spark: Any) -> Iterator[Session]:
    with acidsql.connect(warehouse, spark=spark, user="other") as session:
        yield session


@pytest.fixture
def impatient(warehouse: Path, spark: Any) -> Iterator[Session]:
    config = {"hive.lock.numretries": "2", "hive.lock.sleep.between.retries": "50ms"}
    with acidsql.connect(warehouse, spark=spark, config=config) as session:
        yield session


def rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(session.execute(f"SELECT * FROM {table}").fetchall())


def open_txns(session: Session) -> list[Any]:
    return [row for row in session.execute("SHOW TRANSACTIONS") if row[1] == "OPEN"]


def test_leaving_the_block_commits(table: Session, other: Session) -> None:
    with table.transaction() as session:
        session.execute("INSERT INTO t VALUES (3, 30)")
        assert len(rows(session)) == 3
        assert len(rows(other)) == 2
    assert len(rows(other)) == 3
    assert not table.in_transaction


def test_an_error_rolls_back(table: Session) -> None:
    def work() -> None:
        with table.transaction():
            table.execute("DELETE FROM t")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert len(rows(table)) == 2
    assert not open_txns(table)


def test_the_block_may_end_its_transaction_itself(table: Session) -> None:
    with table.transaction():
        table.execute("INSERT INTO t VALUES (3, 30)")
        table.execute("COMMIT")
        table.execute("INSERT INTO t VALUES (4, 40)")
    assert len(rows(table)) == 4


def test_transactions_do_not_nest(table: Session) -> None:
    with table.transaction():
        with pytest.raises(TxnError, match="is open already"), table.transaction():
            pytest.fail("not reached")
        table.execute("INSERT INTO t VALUES (3, 30)")
    assert len(rows(table)) == 3


def test_the_commit_says_what_was_written(table: Session) -> None:
    table.execute(f"CREATE TABLE u (id int) {ACID}")
    begun = table.execute("BEGIN")
    table.execute("INSERT INTO t VALUES (3, 30)")
    table.execute("INSERT INTO u VALUES (3)")
    done = table.execute("COMMIT")
    assert done.txn_id == begun.txn_id
    assert done.write_ids == {"default.t": 2, "default.u": 1}


def test_a_script_in_one_transaction(table: Session) -> None:
    script = "INSERT INTO t VALUES (3, 30); INSERT INTO t SELECT id + 10, v FROM t;"
    counts = [r.rows_inserted for r in table.execute_script(script, single_transaction=True)]
    assert counts == [1, 3]
    with pytest.raises(acidsql.TableNotFoundError):
        list(table.execute_script("DELETE FROM t; DELETE FROM u", single_transaction=True))
    assert len(rows(table)) == 6


def test_a_lazy_frame_outlives_its_transaction(table: Session) -> None:
    with table.transaction():
        table.execute("UPDATE t SET v = v + 1")
        result = table.execute("SELECT * FROM t")
        frame = table.table("t")
        table.execute("UPDATE t SET v = v + 1")
    table.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert table.run_cleaner() == 0
    assert sorted(result.fetchall()) == [(1, 11), (2, 21)]
    assert sorted(map(tuple, frame.collect())) == [(1, 11), (2, 21)]
    assert rows(table) == [(1, 12), (2, 22)]


def test_a_lazy_frame_outlives_an_overwrite_of_its_transaction_that_failed(table: Session) -> None:
    with table.transaction():
        table.execute("INSERT INTO t VALUES (3, 30)")
        table.execute("UPDATE t SET v = v + 1")
        result = table.execute("SELECT * FROM t")
        with pytest.raises(acidsql.AcidSqlError, match="DIVIDE_BY_ZERO"):
            table.execute("INSERT OVERWRITE t SELECT id, v / (id - id) FROM t")
    assert sorted(result.fetchall()) == [(1, 11), (2, 21), (3, 31)]
    assert rows(table) == [(1, 11), (2, 21), (3, 31)]


def test_a_lazy_frame_keeps_others_from_its_table_after_its_transaction(
    table: Session, impatient: Session
) -> None:
    with table.transaction():
        result = table.execute("SELECT * FROM t")
    with pytest.raises(LockTimeoutError):
        impatient.execute("DROP TABLE t")
    with pytest.raises(LockTimeoutError):
        impatient.execute("TRUNCATE TABLE t")
    assert len(result.fetchall()) == 2
    impatient.execute("DROP TABLE t")


def test_a_lazy_frame_that_the_transactions_own_overwrite_left_without_a_lock(
    table: Session, impatient: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    with table.transaction():
        table.execute("INSERT OVERWRITE t VALUES (5, 50)")
        read, unread = table.execute("SELECT * FROM t"), table.execute("SELECT * FROM t")
        assert read.fetchall() == [(5, 50)]
    impatient.execute("DROP TABLE t")
    with pytest.raises(acidsql.SnapshotExpiredError, match="is gone"):
        unread.fetchall()


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE t", f"CREATE TABLE t (id int, v int) {ACID}"],
        ["ALTER TABLE t RENAME TO moved", f"CREATE TABLE t (id int, v int) {ACID}"],
        [f"CREATE OR REPLACE TABLE t (id int, v int) {ACID}"],
        [
            f"CREATE OR REPLACE TABLE t {ACID} AS SELECT 1 AS id, 1 AS v",
            "DROP TABLE t",
            f"CREATE TABLE t (id int, v int) {ACID}",
        ],
    ],
    ids=["drop", "rename", "replace", "replace and drop"],
)
def test_a_lazy_frame_shows_no_rows_of_another_table(
    table: Session, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    unread = [table.execute("SELECT * FROM t") for _ in range(3)]
    read = table.execute("SELECT * FROM t")
    read.fetchone()
    for statement in [*statements, "INSERT INTO t VALUES (1, 1), (2, 2)"]:
        table.execute(statement)
    for result, fetch in zip(unread, ("fetchall", "fetchone", "arrow"), strict=True):
        with pytest.raises(acidsql.SnapshotExpiredError, match="gone"):
            getattr(result, fetch)()
    assert read.fetchall() == [(2, 20)]


def test_closing_the_session_rolls_back(warehouse: Path, spark: Any, table: Session) -> None:
    with acidsql.connect(warehouse, spark=spark) as session:
        session.execute("BEGIN")
        session.execute("DELETE FROM t")
    assert len(rows(table)) == 2
    assert not open_txns(table)


def test_a_transaction_that_was_aborted_by_others(table: Session, other: Session) -> None:
    txn_id = table.execute("BEGIN").txn_id
    table.execute("INSERT INTO t VALUES (3, 30)")
    other.execute(f"ABORT TRANSACTIONS {txn_id}")
    with pytest.raises(TxnAbortedError, match=f"txnid:{txn_id} already aborted"):
        table.execute("INSERT INTO t VALUES (4, 40)")
    # Nothing runs by mistake in a transaction of its own.
    with pytest.raises(TxnAbortedError, match="was rolled back"):
        table.execute("INSERT INTO t VALUES (5, 50)")
    with pytest.raises(TxnAbortedError, match="was rolled back"):
        table.execute("COMMIT")
    assert len(rows(table)) == 2
    table.execute("INSERT INTO t VALUES (6, 60)")
    assert len(rows(table)) == 3
    assert not table.execute("CHECK TABLE t").fetchall()


def test_aborting_unknown_transactions_is_noted(table: Session) -> None:
    """Hive 3 and 4 log them only."""
    ended = table.execute("INSERT INTO t VALUES (3, 30)").txn_id
    txn_id = table.execute("BEGIN").txn_id
    answer = table.execute(f"ABORT TRANSACTIONS 999 {ended} {txn_id}")
    assert answer.message == (
        "OK\nNo such transaction txnid:999. Nothing was aborted for this id.\n"
        f"Transaction txnid:{ended} is already committed. Nothing was aborted for this id."
    )
    with pytest.raises(TxnAbortedError):
        table.execute("SELECT * FROM t")
    table.execute("ROLLBACK")


def lose_answers(broken: pytest.MonkeyPatch, storage: Storage) -> None:
    """Have each rename of the storage done, and fail after that."""
    rename = storage.rename

    def rename_and_fail(source: str, target: str) -> None:
        rename(source, target)
        raise StorageError(f"no answer after {target}")

    broken.setattr(storage, "rename", rename_and_fail)


def test_what_cannot_be_undone_loses_the_transaction(
    table: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a failed statement must not come to light with the commit of the others."""
    storage = table._storage
    table.execute("BEGIN")
    table.execute("INSERT INTO t VALUES (3, 30)")
    with monkeypatch.context() as broken:

        def fail(path: str) -> None:
            raise StorageError(f"cannot remove {path}")

        lose_answers(broken, storage)
        broken.setattr(storage, "remove", fail)
        with pytest.raises(StorageError, match="no answer"):
            table.execute("INSERT INTO t VALUES (4, 40)")
    with pytest.raises(TxnAbortedError, match="was rolled back"):
        table.execute("COMMIT")
    assert len(rows(table)) == 2


def test_a_statement_that_fails_half_published_is_undone(
    table: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = table._storage
    table.execute("BEGIN")
    table.execute("INSERT INTO t VALUES (3, 30)")
    with monkeypatch.context() as broken:
        lose_answers(broken, storage)
        with pytest.raises(StorageError, match="no answer"):
            table.execute("INSERT INTO t VALUES (4, 40)")
    table.execute("INSERT INTO t VALUES (5, 50)")
    table.execute("COMMIT")
    assert [row[0] for row in rows(table)] == [1, 2, 3, 5]


def test_retries_lose_no_update(warehouse: Path, spark: Any, table: Session) -> None:
    """Two writers that do not wait for each other: one of each pair loses, and tries again."""

    def increment(user: str) -> None:
        config = {"hive.txn.write.xlock": "false"}
        with acidsql.connect(warehouse, spark=spark, user=user, config=config) as session:
            for _ in range(2):
                session.execute("UPDATE t SET v = v + 1", retries=100)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(increment, ["ann", "bob"]))
    assert rows(table) == [(1, 14), (2, 24)]


def test_a_statement_of_a_transaction_cannot_be_retried(table: Session) -> None:
    with table.transaction(), pytest.raises(ConfigError, match="cannot be retried"):
        table.execute("UPDATE t SET v = v + 1", retries=1)


def test_a_write_id_does_not_outlive_its_table(
    warehouse: Path, spark: Any, table: Session, other: Session
) -> None:
    config = {"hive.lock.numretries": "0"}
    with acidsql.connect(warehouse, spark=spark, config=config) as session:
        session.execute("BEGIN")
        other.execute("BEGIN")
        other.execute("TRUNCATE TABLE t")
        with pytest.raises(acidsql.LockTimeoutError):
            session.execute("INSERT INTO t VALUES (3, 30)")
        other.execute("ROLLBACK")
        other.execute("DROP TABLE t")
        other.execute(f"CREATE TABLE t (id int, v int) {ACID}")
        with pytest.raises(acidsql.AnalysisError, match="was altered"):
            session.execute("INSERT INTO t VALUES (3, 30)")
        with pytest.raises(TxnAbortedError, match="was rolled back"):
            session.execute("COMMIT")
        session.execute("INSERT INTO t VALUES (4, 40)")
    assert rows(table) == [(4, 40)]


def test_threads_without_autocommit_share_one_transaction(table: Session) -> None:
    table.execute("SET AUTOCOMMIT FALSE")
    with ThreadPoolExecutor(4) as pool:
        sql = [f"INSERT INTO t VALUES ({n}, 0)" for n in range(3, 11)]
        txns = {result.txn_id for result in pool.map(table.execute, sql)}
    assert len(txns) == 1
    table.execute("COMMIT")
    assert len(rows(table)) == 10
    table.execute("ROLLBACK")
    assert not open_txns(table)


# -- interrupts --------------------------------------------------------------------------------


def interrupt_when(condition: Any) -> threading.Thread:
    """Ctrl-C as soon as something is so."""

    def watch() -> None:
        while not condition():
            threading.Event().wait(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.fixture
def slow(table: Session, warehouse: Path, spark: Any) -> Iterator[Session]:
    """A session whose statements may sleep."""
    config = {"acidsql.allow.reflection": "true"}
    with acidsql.connect(warehouse, spark=spark, config=config) as session:
        yield session


SLOW = "UPDATE t SET v = v + cast(java_method('java.lang.Thread', 'sleep', 600000L) as int)"


@pytest.mark.parametrize("explicit", [False, True], ids=["statement", "block"])
def test_ctrl_c_cancels_the_job(slow: Session, other: Session, spark: Any, explicit: bool) -> None:
    tracker = spark.sparkContext.statusTracker()
    if explicit:
        slow.execute("BEGIN")
        slow.execute("INSERT INTO t VALUES (3, 30)")
    watcher = interrupt_when(tracker.getActiveJobsIds)
    with pytest.raises(KeyboardInterrupt):
        slow.execute(SLOW)
    watcher.join()
    while tracker.getActiveJobsIds():
        threading.Event().wait(0.01)
    assert not open_txns(other)
    assert not other.execute("SHOW LOCKS").fetchall()
    if explicit:
        with pytest.raises(TxnAbortedError, match="was rolled back"):
            slow.execute("SELECT * FROM t")
        slow.execute("ROLLBACK")
    assert rows(slow) == [(1, 10), (2, 20)]


def test_ctrl_c_while_waiting_for_a_lock(table: Session, other: Session) -> None:
    other.execute("BEGIN")
    other.execute("UPDATE t SET v = v + 1")
    waiting = lambda: any(row[4] == "WAITING" for row in other.execute("SHOW LOCKS"))  # noqa: E731
    watcher = interrupt_when(waiting)
    with pytest.raises(KeyboardInterrupt):
        table.execute("UPDATE t SET v = v + 100")
    watcher.join()
    assert not waiting()
    other.execute("COMMIT")
    assert rows(table) == [(1, 11), (2, 21)]
    assert not open_txns(table)


@pytest.mark.parametrize("verb", ["commit_txn", "add_partitions"])
def test_ctrl_c_before_the_store_has_committed(
    table: Session, other: Session, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    table.execute(f"CREATE TABLE p (v int) PARTITIONED BY (d int) {ACID}")
    table.execute("BEGIN")
    table.execute("INSERT INTO p VALUES (1, 1)" if verb == "add_partitions" else "DELETE FROM t")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(table._store, verb, interrupted)
        with pytest.raises(KeyboardInterrupt):
            table.execute("COMMIT")
    assert not table.in_transaction
    assert not open_txns(other)
    assert not other.execute("SHOW LOCKS").fetchall()
    assert (rows(other), rows(other, "p")) == ([(1, 10), (2, 20)], [])
