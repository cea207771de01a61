"""VACUUM: what it shows, what it removes, and what it must leave."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import LockTimeoutError, StorageError
from acidsql.layout.dir_names import compaction_attempt
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.txn.entities import LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine
from tests.unit.backends.conftest import Clock

ACID = "TBLPROPERTIES ('transactional' = 'true')"
T = TableName("default", "t")
INSERT = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)]
COMPACTED = "replaced by a compaction"
OVERWRITTEN = "replaced by an overwrite"
ABORTED = "written by an aborted transaction"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def policy() -> TxnPolicy:
    return TxnPolicy(lock_retries=0)


@pytest.fixture
def session(tmp_path: Path, clock: Clock, policy: TxnPolicy) -> Iterator[Session]:
    warehouse = str(tmp_path / "w")
    with Session(
        store=MemoryStore(clock, policy, warehouse), engine=PythonEngine(LocalStorage(), None, {}),
        storage=LocalStorage(), policy=policy, warehouse=warehouse, user="ann", host="host1",
        heartbeats=Heartbeats(1),
    ) as session:  # fmt: skip
        session.execute(f"CREATE TABLE t (k int) {ACID}")
        for number in (1, 2):
            session.execute(f"INSERT INTO t VALUES ({number})")
        yield session


def names(tmp_path: Path) -> set[str]:
    return {p.name for p in (tmp_path / "w" / "t").iterdir()}


def vacuum(session: Session, more: str = "") -> list[tuple[str, str]]:
    rows = session.execute(f"VACUUM t {more}").fetchall()
    return [(path.rpartition("/")[2], why) for path, _, why in rows]


def delta(number: int) -> str:
    return f"delta_{number:07d}_{number:07d}_0000"


def test_a_dry_run_shows_what_a_run_removes(session, tmp_path):
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    before = names(tmp_path)
    expected = [(delta(1), COMPACTED), (delta(2), COMPACTED)]
    assert vacuum(session, "DRY RUN") == expected
    assert names(tmp_path) == before
    result = session.execute("VACUUM t DRY RUN")
    assert result.columns == ["path", "bytes", "why"]
    paths = [(path, size) for path, size, _ in result.fetchall()]
    sizes = {
        str(d): sum(f.stat().st_size for f in d.iterdir())
        for d in (tmp_path / "w" / "t").glob("delta_*")
    }
    assert dict(paths) == sizes
    assert result.message == f"2 paths would be removed, {sum(sizes.values())} bytes"
    assert vacuum(session) == expected
    assert names(tmp_path) == {"base_0000002"}
    [entry] = session._store.show_compactions()
    assert entry.state.word == "succeeded"
    assert vacuum(session) == []
    assert session.run_cleaner() == 0
    assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.parametrize("kind", [TxnType.READ_ONLY, TxnType.DEFAULT])
def test_what_an_open_reader_may_read_stays(session, tmp_path, kind):
    store = session._store
    reader = store.open_txn("bob", "host2", kind)
    session.execute("INSERT OVERWRITE t VALUES (3)")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    before = names(tmp_path)
    assert vacuum(session) == []
    assert names(tmp_path) == before
    assert session.execute("VACUUM t").message == (
        "0 paths removed, 0 bytes\nwhat 1 compaction replaced stays: an open transaction may still"
        " read it (SHOW TRANSACTIONS), or the cleaner's retention time has not passed"
        "\nwhat an overwrite replaced stays, 2 paths: an open transaction may still read it"
        " (SHOW TRANSACTIONS)"
    )
    store.commit_txn(reader)
    assert dict(vacuum(session)) == {delta(1): COMPACTED, delta(2): COMPACTED}
    assert session.execute("VACUUM t").message == "0 paths removed, 0 bytes"
    assert names(tmp_path) == {"base_0000003"}


def test_the_message_tells_what_a_reader_keeps_of_an_overwrite(session):
    reader = session._store.open_txn("bob", "host2", TxnType.READ_ONLY)
    session.execute("TRUNCATE TABLE t")
    kept = (
        "\nwhat an overwrite replaced stays, 2 paths: an open transaction may still read it"
        " (SHOW TRANSACTIONS)"
    )
    assert session.execute("VACUUM t").message == f"0 paths removed, 0 bytes{kept}"
    dry_run = session.execute("VACUUM t DRY RUN").message
    assert dry_run == f"0 paths would be removed, 0 bytes{kept}"
    session._store.commit_txn(reader)
    [*_, (_, of_second, _)] = session.execute("VACUUM t DRY RUN").fetchall()
    assert int(of_second) > 0
    assert session.execute("VACUUM t DRY RUN").message.startswith("2 paths would be removed, ")
    assert "\n" not in session.execute("VACUUM t").message


def test_what_a_reader_beside_an_older_writer_may_read_stays(session, tmp_path):
    """The overwrite was not committed when the reader began, though it has the lower txn id."""
    store = session._store
    writer = session._open_txn()
    writer.lock([LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)])
    write_id = store.allocate_write_id(writer.txn_id, T)
    reader = store.open_txn("bob", "host2", TxnType.READ_ONLY)
    base = tmp_path / "w" / "t" / f"base_{write_id:07d}"
    shutil.copytree(tmp_path / "w" / "t" / delta(1), base)
    writer.commit()
    assert vacuum(session) == []
    store.commit_txn(reader)
    assert vacuum(session) == [(delta(1), OVERWRITTEN), (delta(2), OVERWRITTEN)]


def test_a_base_of_a_compaction_is_no_overwrite(session, tmp_path):
    """A reader that has listed the directory before the base was there may still read the rest.

    Its snapshot sees everything that the base holds.
    """
    store = session._store
    reader = store.open_txn("bob", "host2", TxnType.READ_ONLY)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert vacuum(session) == []
    store.commit_txn(reader)
    assert vacuum(session) == [(delta(1), COMPACTED), (delta(2), COMPACTED)]


def test_what_came_after_an_overwrite_stays(session, tmp_path):
    session.execute("INSERT OVERWRITE t VALUES (3)")
    session.execute("INSERT INTO t VALUES (4)")
    with session.transaction():
        session.execute("INSERT OVERWRITE t VALUES (5)")
    session.execute("INSERT INTO t VALUES (6)")
    session.execute("INSERT INTO t VALUES (7)")
    gone = [("base_0000003", OVERWRITTEN), (delta(1), OVERWRITTEN), (delta(2), OVERWRITTEN)]
    assert vacuum(session) == [*gone, (delta(4), OVERWRITTEN)]
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(5,), (6,), (7,)]
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_an_open_writer_below_an_overwrite_keeps_its_files(session, tmp_path):
    store = session._store
    writer = store.open_txn("bob", "host2")
    assert store.allocate_write_id(writer, T) == 3
    shutil.copytree(tmp_path / "w" / "t" / delta(1), tmp_path / "w" / "t" / delta(3))
    session.execute("INSERT OVERWRITE t VALUES (3)")
    assert vacuum(session) == []
    assert delta(3) in names(tmp_path)
    store.abort_txn(writer)
    assert vacuum(session) == [(delta(1), OVERWRITTEN), (delta(2), OVERWRITTEN)]


def test_files_of_aborted_writes_go_when_their_writer_is_surely_dead(session, tmp_path, clock):
    store = session._store
    dead = store.open_locked("bob", "host2", TxnType.DEFAULT, [T], INSERT)
    left = tmp_path / "w" / "t" / delta(3)
    shutil.copytree(tmp_path / "w" / "t" / delta(1), left)
    (left / "_attempt_1").write_bytes(b"half a file")
    store.abort_txn(dead.txn_id)
    assert vacuum(session) == []
    clock.pass_s(301)
    assert vacuum(session, "DRY RUN") == [(delta(3), ABORTED)]
    assert len(store.aborted_writes()) == 1
    assert vacuum(session) == [(delta(3), ABORTED)]
    assert names(tmp_path) == {delta(1), delta(2)}
    assert store.aborted_writes() == []


def test_a_compaction_that_did_not_end_leaves_nothing(session, tmp_path):
    store = session._store
    dead = store.open_txn("bob", "host2", TxnType.COMPACTION)
    hidden = compaction_attempt(dead, 32 * "a")
    (tmp_path / "w" / "t" / hidden).mkdir()
    (tmp_path / "w" / "t" / hidden / "bucket_00000").write_bytes(b"half")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert vacuum(session) == []  # it may still be at work
    store.abort_txn(dead)
    found = dict(vacuum(session))
    assert found[hidden] == "left by a compaction that did not end"
    assert names(tmp_path) == {"base_0000002"}


def test_no_cleanup_counts_for_a_vacuum(session, tmp_path):
    session.execute("INSERT OVERWRITE t VALUES (3)")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('NO_CLEANUP' = 'true')")
    result = session.execute("VACUUM t")
    assert (result.fetchall(), delta(1) in names(tmp_path)) == ([], True)
    assert "default.t has NO_CLEANUP" in (result.message or "")


class TestDelayed:
    @pytest.fixture
    def policy(self) -> TxnPolicy:
        return TxnPolicy(delayed_cleanup=True, retention_s=60)

    def test_what_the_cleaner_puts_off_a_vacuum_leaves(self, session, tmp_path, clock):
        session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
        session.execute("INSERT OVERWRITE t VALUES (3)")
        clock.pass_s(59)
        assert vacuum(session) == []
        clock.pass_s(1)
        assert vacuum(session) == [(delta(1), COMPACTED), (delta(2), COMPACTED)]


def test_it_waits_for_a_definition(session, tmp_path):
    """With no retries the wait is over at once."""
    other = session._open_txn()
    other.lock([LockComponent(LockType.EXCLUSIVE, "default", "t")])
    with pytest.raises(LockTimeoutError):
        session.execute("VACUUM t")
    other.abort("")


def test_the_directories_are_those_of_the_table_that_is_locked(tmp_path, clock):
    """A table that stays in its place gets another name, and another table gets its old one.

    The write id that was aborted in the one is committed in the other.
    """

    class Overtaken(MemoryStore):
        before = staticmethod(lambda: None)

        def open_locked(self, *args, **more):
            before, self.before = self.before, lambda: None
            before()
            return super().open_locked(*args, **more)

    warehouse, place, policy = str(tmp_path / "w"), tmp_path / "place", TxnPolicy(lock_retries=0)
    store = Overtaken(clock, policy, warehouse)
    with Session(
        store=store, engine=PythonEngine(LocalStorage(), None, {}), storage=LocalStorage(),
        policy=policy, warehouse=warehouse, user="ann", host="host1", heartbeats=Heartbeats(1),
    ) as session:  # fmt: skip
        session.execute(f"CREATE TABLE t (k int) LOCATION '{place}' {ACID}")
        session.execute("INSERT INTO t VALUES (1)")
        dead = store.open_txn("bob", "host2")
        assert store.allocate_write_id(dead, T) == 2
        shutil.copytree(place / delta(1), place / "base_0000002")
        store.abort_txn(dead)

        def rename() -> None:
            session.execute("ALTER TABLE t RENAME TO u")
            session.execute(f"CREATE TABLE t (k int) {ACID}")
            session.execute("INSERT INTO t VALUES (7)")
            session.execute("INSERT INTO t VALUES (8)")

        store.before = rename
        assert vacuum(session) == []
        assert session.execute("SELECT * FROM u").fetchall() == [(1,)]


def test_a_removal_that_fails_leaves_the_entry_for_the_next_time(session, tmp_path, monkeypatch):
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")

    def full(own) -> None:
        raise StorageError(f"cannot remove {own}")

    with monkeypatch.context() as patched:
        patched.setattr(session._storage, "remove", full)
        with pytest.raises(StorageError, match="cannot remove"):
            session.execute("VACUUM t")
    [entry] = session._store.show_compactions()
    assert entry.state.word == "ready for cleaning"
    assert len(vacuum(session)) == 2


def test_a_missing_directory_is_left_to_come_back(session, tmp_path):
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    (tmp_path / "w" / "t").rename(tmp_path / "away")
    assert vacuum(session) == []
    (tmp_path / "away").rename(tmp_path / "w" / "t")
    assert len(vacuum(session)) == 2


def test_explain_names_the_lock_that_a_vacuum_waits_for(session):
    told = [("default.t -> SHARED_READ",)]
    assert session.execute("EXPLAIN LOCKS VACUUM t").fetchall() == told
    assert session.execute("EXPLAIN LOCKS VACUUM t DRY RUN").fetchall() == told
