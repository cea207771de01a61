"""acidsql/service/inline.py: a session that looks after its tables."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.local.compact import compact
from acidsql.errors import ExecutionError, StorageError
from acidsql.service.inline import EVERY
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from acidsql.txn.entities import TxnState
from tests.python_engine import PythonEngine

ACID = "TBLPROPERTIES ('transactional' = 'true')"


def directories(tmp_path: Path) -> int:
    return sum(not p.name.startswith("_") for p in (tmp_path / "w" / "t").iterdir())


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "acidsql inline service"]


def until(holds: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < ends_s
        time.sleep(0.002)


@pytest.mark.parametrize("rows", [60, pytest.param(300, marks=pytest.mark.thorough)])
def test_many_small_inserts_leave_few_directories(
    open_session: Callable[..., Session], tmp_path: Path, rows: int
):
    """Each answer is right meanwhile. The writer is paced, so that the bound holds anywhere."""
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    most = 0
    for number in range(rows):
        session.execute(f"INSERT INTO t VALUES ({number})")
        if number % 7 == 0:
            found = session.execute("SELECT * FROM t").fetchall()
            assert sorted(found) == [(n,) for n in range(number + 1)]
        if number % EVERY == EVERY - 1:
            until(lambda: directories(tmp_path) <= 2 * EVERY)
        most = max(most, directories(tmp_path))
    assert most <= 4 * EVERY
    session.close()
    assert session.failures == {}
    assert threads() == []
    other = open_session()
    assert sorted(other.execute("SELECT * FROM t").fetchall()) == [(n,) for n in range(rows)]
    assert other.execute("CHECK TABLE t").fetchall() == []


def test_a_session_without_it_starts_no_thread_and_keeps_all(
    open_session: Callable[..., Session], tmp_path: Path
):
    session = open_session()
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for number in range(30):
        session.execute(f"INSERT INTO t VALUES ({number})")
    assert directories(tmp_path) == 30
    assert threads() == []


def test_a_session_that_only_reads_starts_no_thread(open_session: Callable[..., Session]):
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for _ in range(2 * EVERY):
        session.execute("SELECT * FROM t").fetchall()
    assert threads() == []


def test_blocks_count_when_they_commit(open_session: Callable[..., Session], tmp_path: Path):
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for number in range(EVERY - 1):
        with session.transaction():
            session.execute(f"INSERT INTO t VALUES ({number})")
            session.execute(f"INSERT INTO t VALUES ({number + 100})")
    assert directories(tmp_path) == 2 * (EVERY - 1)
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (0)")
    session.execute("COMMIT")
    until(lambda: directories(tmp_path) == 1)


def streamed(session: Session, number: int) -> None:
    with StreamingConnection.builder().table("t").connect(session) as connection:
        connection.begin_transaction()
        connection.write({"k": number})
        connection.commit_transaction()


def beside(session: Session, number: int) -> None:
    with session.beside() as own:
        own.execute(f"INSERT INTO t VALUES ({number})")


@pytest.mark.parametrize(
    "write",
    [lambda s, n: s.insert("t", {"k": [n]}), streamed, beside],
    ids=["rows", "stream", "beside"],
)
def test_writes_of_other_kinds_count(
    open_session: Callable[..., Session], tmp_path: Path, write: Callable[[Session, int], object]
):
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for number in range(2 * EVERY):
        write(session, number)
    until(lambda: directories(tmp_path) <= EVERY)
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(n,) for n in range(2 * EVERY)]


def test_a_transaction_that_is_rolled_back_does_not_count(open_session: Callable[..., Session]):
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (0)")
    session.execute("ROLLBACK")
    assert threads() == []


class Blocked(PythonEngine):
    def __init__(self) -> None:
        super().__init__(LocalStorage(), None, {})
        self.began, self.go = threading.Event(), threading.Event()

    def compact(self, plan, snapshot, txns, txn_id):
        self.began.set()
        assert self.go.wait(120)
        return compact(plan, snapshot, txns, LocalStorage(), txn_id)


def test_statements_do_not_wait_and_the_end_waits_for_the_compaction(
    open_session: Callable[..., Session], store
):
    engine = Blocked()
    session = open_session(engine, inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for number in range(2 * EVERY):
        session.execute(f"INSERT INTO t VALUES ({number})")
    assert engine.began.wait(120)
    session.execute("INSERT INTO t VALUES (-1)")
    assert len(session.execute("SELECT * FROM t").fetchall()) == 2 * EVERY + 1
    closing = threading.Thread(target=session.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    engine.go.set()
    closing.join(120)
    assert not closing.is_alive()
    [entry] = store.show_compactions()
    assert entry.state.word == "ready for cleaning"


def test_the_end_does_not_wait_for_ever(
    open_session: Callable[..., Session], monkeypatch, caplog, store
):
    engine = Blocked()
    session = open_session(engine, inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for number in range(2 * EVERY):
        session.execute(f"INSERT INTO t VALUES ({number})")
    assert engine.began.wait(120)
    assert session._inline is not None
    session._inline.close(0)
    assert "was still running" in caplog.text
    engine.go.set()


class Failing(PythonEngine):
    def compact(self, plan, snapshot, txns, txn_id):
        raise StorageError("disk full")


def test_failures_are_logged_and_counted_and_statements_go_on(
    open_session: Callable[..., Session], caplog
):
    session = open_session(Failing(LocalStorage(), None, {}), inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    number = 0
    while session.failures.get("worker", 0) < 2:
        session.execute(f"INSERT INTO t VALUES ({number})")
        number += 1
    assert "disk full" in caplog.text
    assert len(session.execute("SELECT * FROM t").fetchall()) == number


def test_a_system_without_room_for_a_thread_fails_no_statement(
    open_session: Callable[..., Session], monkeypatch
):
    session = open_session(inline=True)
    session.execute(f"CREATE TABLE t (k int) {ACID}")

    def full(*_: object) -> None:
        raise ExecutionError("no thread can be started")

    monkeypatch.setattr("acidsql.service.part.start_thread", full)
    session.execute("INSERT INTO t VALUES (1)")
    assert session.failures == {"inline service": 1}
    assert session.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_a_session_that_nobody_closes_is_collected_and_its_thread_ends(tmp_path: Path, store):
    from acidsql.txn.policy import TxnPolicy

    session = Session(
        store=store, engine=PythonEngine(LocalStorage(), None, {}), storage=LocalStorage(),
        policy=TxnPolicy(), warehouse=str(tmp_path / "w"), user="ann", host="host1", inline=True,
    )  # fmt: skip
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    session.execute("INSERT INTO t VALUES (1)")
    assert threads() != []
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    until(lambda: threads() == [])
    assert [t for t in store.show_txns() if t.state is TxnState.OPEN] == []


def test_dead_transactions_are_timed_out_too(open_session: Callable[..., Session], store, clock):
    from acidsql.service.timetable import ServiceTimes

    session = open_session(inline=True, times=ServiceTimes(reap_start_s=0, reap_s=0.001))
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    dead = store.open_txn("bob", "host2")
    clock.pass_s(301)
    number = 0
    while any(t.txn_id == dead and t.state is TxnState.OPEN for t in store.show_txns()):
        session.execute(f"INSERT INTO t VALUES ({number})")
        number += 1
