"""When the initiator asks for a compaction, and what becomes of it in worker and cleaner."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from acidsql.txn.compaction_need import Thresholds
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine
from tests.unit.backends.conftest import Clock

ACID = "'transactional' = 'true'"
KINDS = [ACID, f"{ACID}, 'transactional_properties' = 'insert_only'"]
FEW = Thresholds(delta_count=2)


class Engine(PythonEngine):
    """Compacting fails while ``fails`` is set."""

    fails = False

    def compact(self, plan, snapshot, txns, txn_id):
        if self.fails:
            raise OSError("no space")
        return super().compact(plan, snapshot, txns, txn_id)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine() -> Engine:
    return Engine(LocalStorage(), None, {})


@pytest.fixture
def session(tmp_path: Path, engine: Engine, clock: Clock) -> Iterator[Session]:
    warehouse = str(tmp_path / "w")
    with Session(
        store=MemoryStore(clock, TxnPolicy(), warehouse), engine=engine, storage=LocalStorage(),
        policy=TxnPolicy(), warehouse=warehouse, user="ann", host="host1", thresholds=FEW,
        heartbeats=Heartbeats(1),
    ) as session:  # fmt: skip
        yield session


def insert(session: Session, count: int, table: str = "t") -> None:
    for number in range(count):
        session.execute(f"INSERT INTO {table} VALUES ({number})")


def asked(session: Session) -> list[tuple[str, str | None, str]]:
    """The requests that wait for a worker."""
    entries = reversed(session._store.show_compactions())
    return [(e.table, e.partition, e.type.name) for e in entries if e.state.name == "INITIATED"]


def names(tmp_path: Path, table: str = "t") -> set[str]:
    return {p.name for p in (tmp_path / "w" / table).iterdir()}


@pytest.mark.parametrize("properties", KINDS)
def test_many_deltas(session: Session, tmp_path: Path, properties: str) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({properties})")
    insert(session, 2)
    assert session.run_initiator() == 0
    insert(session, 1)
    assert session.run_initiator() == 1
    assert asked(session) == [("t", None, "MAJOR")]
    [entry] = session._store.show_compactions()
    assert (entry.initiator, entry.initiator_host) == ("acidsql-initiator", "host1")
    assert session.run_initiator() == 0
    assert (session.run_worker(), session.run_cleaner()) == (1, 1)
    assert names(tmp_path) == {"base_0000003"}
    assert session.run_initiator() == 0
    assert session.failures == {}


def test_the_pool_of_the_table(session: Session) -> None:
    session.execute(
        f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID}, 'hive.compactor.worker.pool' = 'fast')"
    )
    insert(session, 3)
    assert session.run_initiator() == 1
    assert session.run_worker() == 0
    assert session.run_worker("fast") == 1


def test_the_pool_of_the_database(session: Session) -> None:
    session.execute("ALTER DATABASE default SET DBPROPERTIES ('hive.compactor.worker.pool' = 'd')")
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    assert session.run_initiator() == 1
    assert session.run_worker("d") == 1


def test_what_was_aborted_is_no_failure(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    for number in (1, 2, 3):
        assert session.run_initiator() == 1
        session.execute(f"ABORT COMPACTIONS {number}")
    assert session.run_initiator() == 1


def test_small_deltas_beside_a_base_are_put_together(session: Session, tmp_path: Path) -> None:
    session.execute(
        f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID},"
        " 'compactorthreshold.hive.compactor.delta.pct.threshold' = '100')"
    )
    insert(session, 2)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    insert(session, 3)
    assert session.run_initiator() == 1
    assert asked(session) == [("t", None, "MINOR")]
    assert (session.run_worker(), session.run_cleaner()) == (1, 2)
    assert names(tmp_path) == {"base_0000002", "delta_0000003_0000005"}


def test_a_base_that_was_overwritten_goes(session: Session, tmp_path: Path) -> None:
    """There is nothing to compact, only to clean."""
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    for number in range(2):
        session.execute(f"INSERT OVERWRITE TABLE t VALUES ({number})")
    assert names(tmp_path) == {"base_0000001", "base_0000002"}
    assert session.run_initiator() == 1
    assert (session.run_worker(), session.run_cleaner()) == (1, 1)
    assert names(tmp_path) == {"base_0000002"}
    assert session.run_initiator() == 0


@pytest.mark.parametrize("properties", KINDS)
def test_overwrites_between_small_writes_pile_nothing_up(
    session: Session, tmp_path: Path, properties: str
) -> None:
    session.execute(
        f"CREATE TABLE t (k int) TBLPROPERTIES ({properties},"
        " 'compactorthreshold.hive.compactor.delta.pct.threshold' = '100')"
    )
    most = 0
    for number in range(10):
        session.execute(f"INSERT OVERWRITE TABLE t VALUES ({number})")
        insert(session, 1)
        session.run_initiator()
        session.run_worker()
        session.run_cleaner()
        most = max(most, len(names(tmp_path)))
    # Beside a base and a delta, as many as the threshold for deltas says.
    assert most <= 2 + FEW.delta_count
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert {"base_0000019", "delta_0000020_0000020_0000"} <= names(tmp_path)


@pytest.mark.parametrize("deltas", [0, 1])
def test_what_a_reader_keeps_is_not_asked_for_again_and_again(
    session: Session, tmp_path: Path, deltas: int
) -> None:
    """One entry waits for the reader. What comes meanwhile is asked for when it has gone."""
    session.execute(
        f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID},"
        " 'compactorthreshold.hive.compactor.delta.pct.threshold' = '100')"
    )
    reader = session._store.open_txn("ann", "host1")
    for number in range(4):
        session.execute(f"INSERT OVERWRITE TABLE t VALUES ({number})")
        insert(session, deltas)
    for _ in range(3):
        session.run_initiator()
        session.run_worker()
        assert session.run_cleaner() == 0
        session.execute("INSERT OVERWRITE TABLE t VALUES (5)")
        insert(session, deltas)
    assert [e.state.name for e in session._store.show_compactions()] == ["READY_FOR_CLEANING"]
    session._store.commit_txn(reader)
    assert session.run_cleaner() == 1
    assert session.run_initiator() == 1
    assert (session.run_worker(), session.run_cleaner()) == (1, 1)
    assert len(names(tmp_path)) == 1 + deltas


def test_each_partition_by_itself(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p int) TBLPROPERTIES ({ACID})")
    for number in range(3):
        session.execute(f"INSERT INTO t PARTITION (p = 1) VALUES ({number})")
    session.execute("INSERT INTO t PARTITION (p = 2) VALUES (1)")
    assert session.run_initiator() == 1
    assert asked(session) == [("t", "p=1", "MAJOR")]


@pytest.mark.parametrize("name", ["no_auto_compaction", "NO_AUTO_COMPACTION"])
def test_a_table_may_ask_to_be_left_alone(session: Session, name: str) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID}, '{name}' = 'TRUE')")
    insert(session, 5)
    assert session.run_initiator() == 0


def test_a_week_after_two_failures_it_asks_again(
    session: Session, engine: Engine, clock: Clock
) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    engine.fails = True
    for _ in range(2):
        assert session.run_initiator() == 1
        session.run_worker()
    clock.pass_s(7 * 86400)
    assert session.run_initiator() == 0
    clock.pass_s(1)
    assert session.run_initiator() == 1
    session.run_worker()
    assert session.run_initiator() == 0


def test_after_two_failures_in_a_row_it_asks_no_more(session: Session, engine: Engine) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    engine.fails = True
    for _ in range(2):
        assert session.run_initiator() == 1
        assert session.run_worker() == 0
    insert(session, 1)
    assert session.run_initiator() == 0
    engine.fails = False
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert session.run_cleaner() == 1
    insert(session, 3)
    assert session.run_initiator() == 1


def test_what_a_worker_refused_is_asked_for_again_after_a_write(
    session: Session, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    assert session.run_initiator() == 1
    with monkeypatch.context() as patched:
        patched.setattr(engine, "compact", lambda *_: False)
        assert session.run_worker() == 0
    assert session.run_initiator() == 0
    insert(session, 1)
    assert session.run_initiator() == 1


@pytest.mark.parametrize("end", ["commit_txn", "abort_txn"])
def test_the_end_of_an_older_transaction_is_a_reason_to_look_again(
    session: Session, end: str
) -> None:
    """A compaction ends below the lowest open write id, whatever was committed above it."""
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    store = session._store
    older = store.open_txn("bob", "host2")
    assert store.allocate_write_id(older, TableName("default", "t")) == 1
    insert(session, 3)
    assert (session.run_initiator(), session.run_initiator()) == (0, 0)
    getattr(store, end)(older)
    assert session.run_initiator() == 1


def test_a_write_in_one_partition_is_no_reason_to_look_at_another(
    session: Session, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p int) TBLPROPERTIES ({ACID})")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    assert session.run_initiator() == 0
    shutil.rmtree(tmp_path / "w" / "t" / "p=1")
    session.execute("INSERT INTO t VALUES (3, 2)")
    assert session.run_initiator() == 0
    # A look at the first partition would have failed.
    assert session.failures == {}


def test_aborted_transactions(session: Session, clock: Clock) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 1)
    session.execute("BEGIN")
    insert(session, 1)
    session.execute("ROLLBACK")
    assert session.run_initiator() == 0
    clock.pass_s(12 * 3600 + 1)
    assert session.run_initiator() == 1
    assert asked(session) == [("t", None, "MINOR")]


def test_an_aborted_write_within_a_delta_goes_with_a_major_compaction(
    session: Session, clock: Clock, tmp_path: Path
) -> None:
    """There is nothing that a minor compaction could merge the delta with."""
    session.execute(
        f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID},"
        " 'compactorthreshold.hive.compactor.delta.pct.threshold' = '100')"
    )
    insert(session, 2)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    insert(session, 1)
    session.execute("BEGIN")
    insert(session, 1)
    session.execute("ROLLBACK")
    insert(session, 1)
    session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    clock.pass_s(12 * 3600 + 1)
    session.run_cleaner()
    assert names(tmp_path) == {"base_0000002", "delta_0000003_0000005"}
    assert session._store.aborted_writes()
    assert (session.run_initiator(), session.run_worker()) == (1, 0)
    assert (session.run_initiator(), session.run_worker()) == (1, 1)
    session.run_cleaner()
    session.run_cleaner()
    assert session._store.aborted_writes() == []
    assert names(tmp_path) == {"base_0000005"}
    assert session.run_initiator() == 0


def test_an_aborted_write_within_the_only_delta_goes_too(
    session: Session, clock: Clock, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    with StreamingConnection.builder().table("t").transaction_batch_size(2).connect(session) as to:
        for number in range(2):
            to.begin_transaction()
            to.write([{"k": number}])
            to.flush()
            if number:
                to.abort_transaction()
            else:
                to.commit_transaction()
    clock.pass_s(12 * 3600 + 1)
    session.run_cleaner()
    assert names(tmp_path) == {"delta_0000001_0000002"}
    assert [w.write_id for w in session._store.aborted_writes()] == [2]
    assert (session.run_initiator(), session.run_worker()) == (1, 0)
    assert (session.run_initiator(), session.run_worker()) == (1, 1)
    session.run_cleaner()
    session.run_cleaner()
    assert session._store.aborted_writes() == []
    assert len(names(tmp_path)) == 1
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_one_bad_table_keeps_no_other_waiting(session: Session, tmp_path: Path) -> None:
    for table in ("bad", "missing", "t"):
        session.execute(f"CREATE TABLE {table} (k int) TBLPROPERTIES ({ACID})")
        insert(session, 3, table)
    session.execute(
        "ALTER TABLE bad SET TBLPROPERTIES"
        " ('compactorthreshold.hive.compactor.delta.num.threshold' = 'few')"
    )
    (tmp_path / "w" / "missing").rename(tmp_path / "elsewhere")
    assert session.run_initiator() == 1
    assert asked(session) == [("t", None, "MAJOR")]
    assert session.failures == {"initiator": 2}


def test_a_table_that_is_gone_is_forgotten(session: Session) -> None:
    for _ in range(2):
        session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
        insert(session, 2)
        assert session.run_initiator() == 0
        session.execute("DROP TABLE t")
        assert session.run_initiator() == 0
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    assert session.run_initiator() == 1


def test_a_database_says_for_all_of_its_tables(session: Session) -> None:
    """Its no_auto_compaction counts more than that of a table, its thresholds count less."""
    session.execute(f"CREATE TABLE t (k int) TBLPROPERTIES ({ACID})")
    insert(session, 3)
    session.execute("ALTER DATABASE default SET DBPROPERTIES ('NO_AUTO_COMPACTION' = 'true')")
    assert session.run_initiator() == 0
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('no_auto_compaction' = 'false')")
    insert(session, 1)
    assert session.run_initiator() == 0
    session.execute("ALTER DATABASE default SET DBPROPERTIES ('NO_AUTO_COMPACTION' = 'false')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('no_auto_compaction' = 'true')")
    insert(session, 1)
    assert session.run_initiator() == 1


def test_thresholds_of_a_database(session: Session) -> None:
    count = "compactorthreshold.hive.compactor.delta.num.threshold"
    session.execute(f"CREATE DATABASE d WITH DBPROPERTIES ('{count}' = '5')")
    session.execute(f"CREATE TABLE d.t (k int) TBLPROPERTIES ({ACID})")
    session.execute(f"CREATE TABLE d.u (k int) TBLPROPERTIES ({ACID}, '{count}' = '1')")
    insert(session, 5, "d.t")
    insert(session, 2, "d.u")
    assert session.run_initiator() == 1
    assert asked(session) == [("u", None, "MAJOR")]
    insert(session, 1, "d.t")
    assert session.run_initiator() == 1
