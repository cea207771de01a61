"""What only the SQLite store has: a file, other processes, a schema, a clock."""

import errno
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from acidsql.backends.relational.queries import load_migrations, load_queries, parse_queries
from acidsql.backends.sqlite import SqliteStore, log
from acidsql.errors import CommitStateUnknownError, NoSuchTxnError, StorageError
from acidsql.model.names import TableName
from acidsql.txn.entities import CompactionType, LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, transaction

pytestmark = pytest.mark.sqlite

DIALECT = "acidsql.backends.sqlite"
T = TableName("default", "t")
UPDATE_T = [LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)]
INSERT_T = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)]
READ_T = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.SELECT)]

INCREMENT = """
import sys
from acidsql.backends.sqlite import SqliteStore
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockType, WriteOperation
from acidsql.txn.transaction import OpenTxn, transaction

path, rounds = sys.argv[1], int(sys.argv[2])
lock = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)]
store = SqliteStore(path)
for _ in range(rounds):
    with transaction(OpenTxn(store, user="ann", host="host1")) as txn:
        write_id = txn.write_id(TableName("default", "t"))
        txn.lock(lock)
    print(txn.txn_id, write_id)
store.close()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "store.db")


def increments(path, counter, count):
    """Each round reads and writes the counter under an exclusive lock."""
    policy = TxnPolicy(lock_start_s=0.0005, lock_sleep_s=0.002, lock_retries=10_000)
    with closing(SqliteStore(path)) as store:
        for _ in range(count):
            with transaction(OpenTxn(store, user="ann", host="host1", policy=policy)) as txn:
                txn.lock([LockComponent(LockType.EXCLUSIVE, "default", "t")])
                seen = counter["value"]
                store.heartbeat(txn.txn_id)
                counter["value"] = seen + 1
                counter["ids"].append((txn.txn_id, txn.write_id(T)))


def test_threads_exclude_each_other_and_share_no_ids(path):
    SqliteStore(path).close()
    counter = {"value": 0, "ids": []}
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(increments, path, counter, 5) for _ in range(4)]:
            done.result()
    assert counter["value"] == 20
    assert sorted(t for t, _ in counter["ids"]) == list(range(1, 21))
    # Allocated under the lock, so they are in its order.
    assert [w for _, w in counter["ids"]] == list(range(1, 21))


def test_one_store_serves_many_threads(path):
    def work(store):
        with transaction(OpenTxn(store, user="ann", host="host1")) as txn:
            return txn.txn_id, txn.write_id(T)

    with closing(SqliteStore(path)) as store, ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, [store] * 40))
        assert store.show_txns() == []
        assert store.valid_txns().high_watermark == 40
    assert sorted(t for t, _ in done) == sorted(w for _, w in done) == list(range(1, 41))


def test_processes_lose_and_repeat_no_ids(path):
    """They also create the file together."""
    command = [sys.executable, "-c", INCREMENT, path, "10"]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], answers
    lines = [line.split() for out, _ in answers for line in out.splitlines()]
    assert sorted(int(t) for t, _ in lines) == list(range(1, 31))
    assert sorted(int(w) for _, w in lines) == list(range(1, 31))
    with closing(SqliteStore(path)) as store:
        assert store.show_txns() == []
        assert store.show_locks() == []


def test_everything_is_there_after_a_restart(path):
    with closing(SqliteStore(path, warehouse="/warehouse")) as store:
        txn = store.open_txn("ann", "host1")
        store.allocate_write_id(txn, T)
        store.lock(txn, UPDATE_T, "ann", "host1")
        locks, txns = store.show_locks(), store.show_txns()
    with closing(SqliteStore(path, warehouse="/elsewhere")) as store:
        assert store.show_locks() == locks
        assert store.show_txns() == txns
        assert store.database("default").location == "/warehouse"
        assert store.open_txn("ann", "host1") == 2


def test_a_warehouse_may_be_told_later(path):
    SqliteStore(path).close()
    with closing(SqliteStore(path, warehouse="/warehouse")) as store:
        assert store.database("default").location == "/warehouse"


def test_a_file_kept_locked_is_an_error_in_our_words(path):
    with closing(SqliteStore(path, busy_timeout_s=0.01)) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match=r"store\.db is busy") as caught:
                store.open_txn("ann", "host1")
            assert caught.value.hint is not None
            assert store.show_txns() == []
            other.execute("ROLLBACK")
        assert store.open_txn("ann", "host1") == 1


def test_a_lock_held_for_a_moment_is_waited_for(path):
    with closing(SqliteStore(path)) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.05, lambda: other.execute("ROLLBACK"))
        release.start()
        assert store.open_txn("ann", "host1") == 1
        release.join()
        other.close()


@pytest.mark.parametrize("kind", ["missing directory", "a directory", "another file"])
def test_paths_that_are_no_store(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "missing directory":
        path = path / "store.db"
    elif kind == "a directory":
        path.mkdir()
    else:
        path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(StorageError) as caught:
        SqliteStore(str(path))
    assert str(path) in caught.value.message
    assert caught.value.hint is not None


def test_a_newer_schema_is_refused(path):
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="schema version 99"):
        SqliteStore(path)


def test_a_closed_store_says_so(path):
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(StorageError, match="is closed"):
        store.open_txn("ann", "host1")


def test_a_verb_that_fails_changes_nothing(path):
    with closing(SqliteStore(path)) as store:
        txn = store.open_txn("ann", "host1")
        with closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE TXN_COMPONENTS")
        with pytest.raises(StorageError, match="cannot use the transaction store"):
            store.lock(txn, UPDATE_T, "ann", "host1")
        assert store.show_locks() == []


def test_the_clock_is_the_stores_own(path):
    with closing(SqliteStore(path)) as store:
        store.open_txn("ann", "host1")
        (txn,) = store.show_txns()
        with closing(sqlite3.connect(path)) as other:
            (now_s,) = other.execute("SELECT strftime('%s', 'now')").fetchone()
        assert abs(txn.started_ms / 1000 - int(now_s)) < 60


def test_commits_are_durable_and_logged_ahead(path):
    with closing(SqliteStore(path)), closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_committed_components_are_kept_for_compaction(path):
    with closing(SqliteStore(path, clock_ms=lambda: 5)) as store:
        txn = store.open_txn("ann", "host1")
        store.allocate_write_id(txn, T)
        store.lock(txn, UPDATE_T, "ann", "host1")
        store.commit_txn(txn)
        query = "SELECT * FROM COMPLETED_TXN_COMPONENTS"
        with closing(sqlite3.connect(path)) as other:
            rows = other.execute(query).fetchall()
            assert rows == [(1, 1, "default", "t", None, 5, 1, "Y", "N")]
            compaction_id = store.compact(T, None, CompactionType.MAJOR)
            store.next_compaction("w")
            worker = store.open_txn("ann", "host1", TxnType.COMPACTION)
            store.compaction_started(compaction_id, worker, 1)
            store.mark_compacted(compaction_id)
            store.mark_cleaned(compaction_id)
            assert other.execute(query).fetchall() == []


# -- the .sql files ---------------------------------------------------------------------------


def test_every_named_statement_is_valid_and_alone(path):
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for name, statement in load_queries(DIALECT).items():
            assert sqlite3.complete_statement(statement), name
            query = without_comments(statement)
            parameters = dict.fromkeys(re.findall(r":(\w+)", query))
            connection.execute(f"EXPLAIN {query}", parameters)


def without_comments(statement):
    lines = (line for line in statement.splitlines() if not line.startswith("--"))
    return "\n".join(lines)


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="two statements are named a"):
        parse_queries("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n")


def test_migrations_are_numbered_from_one_without_gaps():
    numbers = [number for number, _ in load_migrations(DIALECT)]
    assert numbers == list(range(1, len(numbers) + 1))


def many(path, count):
    """A store with so many transactions that have written, one in the middle of them still open."""
    store = SqliteStore(str(path))
    for number in range(1, count + 1):
        txn = store.open_txn("ann", "host1")
        store.allocate_write_id(txn, T)
        if number != count // 2:
            store.commit_txn(txn)
    return store


def steps_of(store, verb):
    """How many instructions SQLite carries out for a verb, in hundreds."""
    ticks = []
    connection = store._sql._connection
    connection.set_progress_handler(lambda: ticks.append(1), 100)
    verb(store)
    connection.set_progress_handler(None, 100)
    return len(ticks)


@pytest.mark.parametrize(
    ("verb", "times"),
    [
        (lambda store: store.trim(), 2),
        (lambda store: store.valid_write_ids([T], store.valid_txns()), 1),
        (lambda store: store.commit_txn(store.open_txn("ann", "host1")), 1),
    ],
    ids=["trim", "valid_write_ids", "open and commit"],
)
def test_twice_the_transactions_take_no_more_than_twice_the_work(tmp_path, verb, times):
    few, lot = many(tmp_path / "few.db", 400), many(tmp_path / "lot.db", 800)
    with closing(few), closing(lot):
        assert steps_of(lot, verb) <= 1.2 * times * steps_of(few, verb) + 2


class Disk:
    """What the loss of power would leave: the files as they were at the last sync of the log."""

    def __init__(self, path, directory):
        self._path, self._directory = path, directory
        self.syncs = 0

    def sync(self, descriptor):
        if os.path.samestat(os.fstat(descriptor), os.stat(self._path + "-wal")):
            self.syncs += 1
            self._copy(self._path, f"{self._directory}/{self.syncs}")

    def lose_power(self):
        last, left = f"{self._directory}/{self.syncs}", f"{self._directory}/left"
        return closing(SqliteStore(self._copy(last, left)))

    @staticmethod
    def _copy(path, target):
        for end in ("", "-wal"):
            shutil.copyfile(path + end, target + end)
        return target


@pytest.fixture
def disk(path, tmp_path, monkeypatch):
    disk = Disk(path, tmp_path)
    monkeypatch.setattr(log, "_sync_data", disk.sync)
    return disk


def test_what_files_rest_on_is_synced(path, disk):
    """Before the verb answers, with everything that came before."""
    with closing(SqliteStore(path)) as store:

        def syncs(verb, *arguments):
            before = disk.syncs
            answer = getattr(store, verb)(*arguments)
            return answer, disk.syncs > before

        writer, is_synced = syncs("open_txn", "ann", "host1")
        assert not is_synced
        write_id, is_synced = syncs("allocate_write_id", writer, T)
        assert is_synced
        assert syncs("heartbeat", writer) == (None, False)
        assert syncs("lock", writer, UPDATE_T, "ann", "host1")[1]
        reached = (writer, write_id, T, ["p=1"], WriteOperation.UPDATE)
        assert syncs("add_dynamic_partitions", *reached) == (None, False)
        assert syncs("commit_txn", writer) == (None, True)
        with disk.lose_power() as left:
            assert left.valid_txns().is_valid(writer)
            assert left.show_locks() == []
        before = disk.syncs
        with pytest.raises(NoSuchTxnError, match="already committed"):
            store.abort_txn(writer)
        assert disk.syncs > before
        assert not syncs("open_locked", "ann", "host1", TxnType.READ_ONLY, [], READ_T)[1]
        opened, is_synced = syncs("open_locked", "ann", "host1", TxnType.DEFAULT, [T], INSERT_T)
        assert is_synced
        with disk.lose_power() as left:
            assert opened.txn_id in {lock.txn_id for lock in left.show_locks()}
            assert left.allocate_write_id(opened.txn_id, T) == opened.write_ids[T]
        compactor = store.open_txn("ann", "host1", TxnType.COMPACTION)
        compaction_id = store.compact(T, None, CompactionType.MAJOR)
        assert store.next_compaction("w") is not None
        store.heartbeat(compactor)
        assert syncs("compaction_started", compaction_id, compactor, write_id)[1]


def test_nobody_is_shown_what_may_be_lost(path, disk):
    """Who reads what another one has committed, and not synced yet, syncs it."""
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as reader:
        assert (store.show_txns(), reader.show_txns()) == ([], [])
        txn, before = store.open_txn("ann", "host1"), disk.syncs
        assert [t.txn_id for t in reader.show_txns()] == [txn]
        with disk.lose_power() as left:
            assert [t.txn_id for t in left.show_txns()] == [txn]
        assert disk.syncs == before + 1
        assert reader.valid_txns().open == {txn}
        assert disk.syncs == before + 1
        # Whose own it is goes with it.
        assert store.valid_txns().open == {txn}
        assert disk.syncs == before + 1


def test_a_log_that_was_emptied_meanwhile_is_no_loss(path, disk):
    """A checkpoint syncs by itself what it moves out of the log."""
    with closing(SqliteStore(path)) as store, closing(sqlite3.connect(path)) as other:
        txn = store.open_txn("ann", "host1")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        store.allocate_write_id(txn, T)
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.commit_txn(txn)
        with disk.lose_power() as left:
            assert left.valid_txns().is_valid(txn)


def test_a_sync_that_failed_stays_failed(path, monkeypatch):
    """The system tells of lost pages once."""
    errors = [OSError(errno.EIO, os.strerror(errno.EIO))]

    def fail_once(_):
        if errors:
            raise errors.pop()

    with closing(SqliteStore(path)) as store:
        txn = OpenTxn(store, user="ann", host="host1")
        monkeypatch.setattr(log, "_sync_data", fail_once)
        with pytest.raises(CommitStateUnknownError):
            txn.commit()
        assert errors == []
        with pytest.raises(StorageError, match="cannot sync the transaction store"):
            store.abort_txn(store.open_txn("ann", "host1"))
