"""Waiting for a lock: whoever waits is woken when it may be granted.

Each wait may last for ten minutes, longer than a test may: nothing here depends on a shorter time.
"""

import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from acidsql.backends.postgres import PostgresStore, listening
from acidsql.backends.sqlite import SqliteStore
from acidsql.backends.sqlite.watch import Watch
from acidsql.errors import NoSuchLockError, StorageError
from acidsql.model.ids import LockId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockState, LockType, TxnType, WriteOperation
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn

LONG_S = 600
T = TableName("default", "t")
UPDATE_T = [LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)]
DROP_T = [LockComponent(LockType.EXCLUSIVE, "default", "t")]
READ_T = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.SELECT)]

WAITER = """
import sys
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.txn.entities import LockComponent, LockType, WriteOperation
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn

lock = [LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)]
store = (PostgresStore if "://" in sys.argv[1] else SqliteStore)(sys.argv[1])
policy = TxnPolicy(lock_start_s=300, lock_sleep_s=600)
txn = OpenTxn(store, user="ann", host="host1", policy=policy)
txn.lock(lock)
txn.abort()
store.close()
"""


def ask(store, components):
    txn = store.open_txn("ann", "host1")
    return txn, store.lock(txn, components, "ann", "host1").lock_id


@pytest.fixture
def waits():
    """Calls `await_lock` in a thread."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda store, lock: pool.submit(store.await_lock, lock, LONG_S)


def test_a_lock_that_nothing_keeps_waiting_is_worth_a_look(store):
    holder, held = ask(store, UPDATE_T)
    waiter, waiting = ask(store, UPDATE_T)
    assert store.await_lock(held, LONG_S)
    assert not store.await_lock(waiting, 0.0)
    assert not store.await_lock(waiting, 0.01)
    store.commit_txn(holder)
    assert store.await_lock(waiting, LONG_S)
    store.abort_txn(waiter)
    assert store.await_lock(waiting, LONG_S)


@pytest.mark.parametrize("end", ["commit_txn", "abort_txn"])
def test_the_end_of_a_transaction_wakes(store, waits, end):
    holder, _ = ask(store, UPDATE_T)
    _, waiting = ask(store, UPDATE_T)
    woken = waits(store, waiting)
    getattr(store, end)(holder)
    assert woken.result()
    assert store.check_lock(waiting).state is LockState.ACQUIRED


def test_a_request_that_is_withdrawn_wakes(store, waits):
    ask(store, READ_T)
    _, withdrawn = ask(store, DROP_T)
    _, waiting = ask(store, READ_T)
    woken = waits(store, waiting)
    store.unlock(withdrawn)
    assert woken.result()
    assert store.check_lock(waiting).state is LockState.ACQUIRED


def test_an_exclusive_lock_waits_for_readers(store, waits):
    reader, _ = ask(store, READ_T)
    _, waiting = ask(store, DROP_T)
    woken = waits(store, waiting)
    store.commit_txn(reader)
    assert woken.result()


def test_a_chain_is_woken_link_by_link(store):
    """Each waits for the one before: sixteen threads add up under one lock at a time."""
    policy = TxnPolicy(lock_start_s=LONG_S / 2, lock_sleep_s=LONG_S)
    inside, most = [], []

    def work(_):
        txn = OpenTxn(store, user="ann", host="host1", policy=policy)
        txn.lock(UPDATE_T)
        inside.append(txn.txn_id)
        most.append(len(inside))
        inside.remove(txn.txn_id)
        txn.abort()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert most == [1] * 16
    assert store.show_locks() == []


# -- an heir ----------------------------------------------------------------------------------


def heir(store, txn, components=UPDATE_T):
    return store.open_locked("bob", "host2", TxnType.DEFAULT, [T], components, "query 2", txn)


def test_an_heir_comes_before_those_who_wait(store):
    first = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T)
    _, waiting = ask(store, UPDATE_T)
    opened = heir(store, first.txn_id)
    assert (opened.response.lock_id, opened.response.state) == (
        first.response.lock_id,
        LockState.ACQUIRED,
    )
    assert opened.in_one_step
    assert opened.write_ids == {T: 2}
    [lock, waiter] = store.show_locks()
    assert (lock.txn_id, lock.user, lock.host) == (opened.txn_id, "bob", "host2")
    assert store.check_lock(waiting).state is LockState.WAITING
    assert [(t.txn_id, t.state.name) for t in store.show_txns()] == [
        (first.txn_id, "ABORTED"),
        (waiter.txn_id, "OPEN"),
        (opened.txn_id, "OPEN"),
    ]
    store.commit_txn(opened.txn_id)
    assert store.check_lock(waiting).state is LockState.ACQUIRED


def test_nothing_is_inherited_of_what_has_ended(store):
    first, _ = ask(store, UPDATE_T)
    store.abort_txn(first)
    _, lock_id = ask(store, UPDATE_T)
    opened = heir(store, first)
    assert opened.response.state is LockState.WAITING
    assert opened.response.lock_id == lock_id + 1


def test_a_request_that_waits_keeps_its_place(store):
    holder, held = ask(store, UPDATE_T)
    waiter, waiting = ask(store, UPDATE_T)
    _, behind = ask(store, UPDATE_T)
    opened = heir(store, waiter)
    assert opened.response.state is LockState.WAITING
    assert opened.response.lock_id == waiting
    assert opened.response.blocked_by
    assert [lock.lock_id for lock in store.show_locks()] == [held, waiting, behind]
    store.commit_txn(holder)
    assert store.check_lock(behind).state is LockState.WAITING
    assert store.check_lock(waiting).state is LockState.ACQUIRED


def test_a_transaction_does_not_inherit_from_itself(store):
    """The id is that of the transaction which the verb opens: it was not open before."""
    opened = heir(store, store.open_txn("ann", "host1") + 1)
    assert opened.response.state is LockState.ACQUIRED
    assert opened.txn_id in store.valid_txns().open


def test_a_request_that_waits_no_longer_is_granted_to_the_heir(store):
    holder, _ = ask(store, UPDATE_T)
    waiter, waiting = ask(store, UPDATE_T)
    store.commit_txn(holder)
    opened = heir(store, waiter)
    assert (opened.response.lock_id, opened.response.state) == (waiting, LockState.ACQUIRED)
    assert opened.in_one_step
    [lock] = store.show_locks()
    assert (lock.txn_id, lock.state) == (opened.txn_id, LockState.ACQUIRED)
    assert store.latest_txn_in_conflict(opened.txn_id) is None
    assert [(t.txn_id, t.state.name) for t in store.show_txns()] == [
        (waiter, "ABORTED"),
        (opened.txn_id, "OPEN"),
    ]


# -- processes --------------------------------------------------------------------------------


def wait_until(holds):
    until_s = time.monotonic() + LONG_S / 2
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgres", marks=pytest.mark.postgres),
    ]
)
def shared(request, tmp_path):
    """A store that processes share, and where it is."""
    if request.param == "sqlite":
        url, make = str(tmp_path / "store.db"), SqliteStore
    else:
        url, make = request.getfixturevalue("postgres").fresh(), PostgresStore
    with closing(make(url)) as store:
        yield store, url


def test_another_process_is_woken(shared):
    store, url = shared
    holder, held = ask(store, UPDATE_T)
    waiters = [subprocess.Popen([sys.executable, "-c", WAITER, url]) for _ in range(2)]
    wait_until(lambda: len(store.show_locks()) == 3)
    assert store.show_locks()[0].lock_id == held
    store.abort_txn(holder)
    # Far less than the first pause of theirs, which is ten minutes.
    assert [waiter.wait(timeout=LONG_S / 2) for waiter in waiters] == [0, 0]
    assert store.show_locks() == []


def test_closing_ends_the_wait(shared, waits):
    store, _ = shared
    ask(store, UPDATE_T)
    _, waiting = ask(store, UPDATE_T)
    woken = waits(store, waiting)
    store.close()
    # Before the wait, while the store is asked, or within.
    error = woken.exception()
    assert isinstance(error, StorageError) if error is not None else not woken.result()


@pytest.mark.sqlite
def test_a_watch_that_is_closed_between_its_two_looks_wakes_nobody(tmp_path):
    path = str(tmp_path / "store.db")
    with closing(SqliteStore(path)):
        watch = Watch(path)

        class ClosesBeforeTheSecond:
            looks = 0

            def __enter__(self):
                self.looks += 1
                if self.looks == 2:
                    watch._closed = True

            def __exit__(self, *error):
                pass

        with closing(watch):
            watch._guard = ClosesBeforeTheSecond()
            assert not watch.await_release(LockId(1), "SELECT NULL WHERE :lock_id < 0", LONG_S)
            assert watch._guard.looks == 2


# -- PostgreSQL -------------------------------------------------------------------------------


@pytest.fixture
def server(postgres):
    with closing(PostgresStore(postgres.fresh())) as store:
        yield store


def is_listening(postgres):
    """Whether somebody waits who has looked at the lock."""
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE query LIKE 'SELECT HL_TXNID, HL_LOCK_STATE FROM HIVE_LOCKS%' AND state = 'idle'"
    )
    return postgres.execute(query) == [(1,)]


@pytest.mark.postgres
def test_postgres_tells(postgres, server, waits, monkeypatch):
    """Nobody looks at the lock twice."""
    monkeypatch.setattr(listening, "_FIRST_LOOK_S", LONG_S)
    holder, _ = ask(server, UPDATE_T)
    _, waiting = ask(server, UPDATE_T)
    woken = waits(server, waiting)
    wait_until(lambda: is_listening(postgres))
    server.commit_txn(holder)
    assert woken.result()


@pytest.mark.postgres
def test_what_is_prepared_outlives_waits_and_a_rollback(server):
    # After a few waits the driver prepares statements of its own, and drops all at a ROLLBACK.
    ask(server, UPDATE_T)
    _, waiting = ask(server, UPDATE_T)
    for _ in range(8):
        assert not server.await_lock(waiting, 0.01)
    with pytest.raises(NoSuchLockError):
        server.check_lock(LockId(4711))
    assert not server.await_lock(waiting, 0.01)
    assert server.check_lock(waiting).state is LockState.WAITING
    assert len(server.show_locks()) == 2


@pytest.mark.postgres
def test_what_is_not_heard_is_seen(postgres, server, waits, monkeypatch):
    """As behind a pooler, where the one who listens is somebody else."""
    holder, _ = ask(server, UPDATE_T)
    _, waiting = ask(server, UPDATE_T)
    monkeypatch.setattr(listening, "_listening", lambda connection, _: closing(Deaf()))
    woken = waits(server, waiting)
    server.commit_txn(holder)
    assert woken.result()


class Deaf:
    def close(self):
        pass


@pytest.mark.postgres
def test_nobody_is_told_where_nobody_waits(postgres, server):
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("LISTEN acidsql")
        reader, _ = ask(server, READ_T)
        writer, _ = ask(server, UPDATE_T)
        ask(server, UPDATE_T)
        server.commit_txn(reader)
        server.commit_txn(writer)
        [told] = connection.notifies(timeout=LONG_S, stop_after=1)
    assert told.payload == "2"


@pytest.mark.postgres
def test_a_server_that_lets_nobody_listen_is_waited_out(server, monkeypatch, caplog):
    ask(server, UPDATE_T)
    _, waiting = ask(server, UPDATE_T)

    def refuse(connection, schema):
        raise psycopg.errors.FeatureNotSupported("no LISTEN here")

    monkeypatch.setattr(listening, "_listening", refuse)
    with caplog.at_level(logging.WARNING):
        assert not server.await_lock(waiting, 0.02)
    assert "no LISTEN here" in caplog.text


@pytest.mark.postgres
def test_a_connection_that_is_lost_while_it_listens(postgres, server):
    holder, _ = ask(server, UPDATE_T)
    _, waiting = ask(server, UPDATE_T)
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(server.await_lock(waiting, 1.0)))
    waiter.start()
    wait_until(lambda: is_listening(postgres))
    postgres.disconnect()
    waiter.join()
    assert answers == [False]
    server.commit_txn(holder)
    assert server.await_lock(waiting, LONG_S)
