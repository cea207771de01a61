"""What the cleaner removes of compactions that never came to their end, and what it leaves."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import acidsql
from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.background.cleaner import run_cleaner
from acidsql.background.scope import BackgroundScope
from acidsql.engines.local.compact import compact
from acidsql.errors import StorageError, TxnError
from acidsql.execution.snapshots import table_directories
from acidsql.layout.dir_names import METADATA_FILE, compaction_attempt, parse_compaction_attempt
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.model.table import HIVE4_NAMES
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import TableSnapshot
from acidsql.process.supervisor import Supervisor
from acidsql.session.session import Session
from acidsql.txn.entities import LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from tests.property.hooked_store import HookedStore
from tests.python_engine import PythonEngine
from tests.unit.backends.conftest import Clock

T = TableName("default", "t")
INSERT = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)]
KINDS = {
    "full-ACID": "'transactional' = 'true'",
    "insert-only": "'transactional' = 'true', 'transactional_properties' = 'insert_only'",
}


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def session(request, tmp_path):
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute(f"CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ({request.param})")
        for number in (1, 2):
            session.execute(f"INSERT INTO t VALUES ({number})")
        yield session


def hidden(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "w" / "t").iterdir() if p.name.startswith("_"))


def test_only_hidden_directories_of_ended_compactors_go(session, tmp_path):
    store = session._store
    dead, alive = (store.open_txn("ann", "host1", TxnType.COMPACTION) for _ in range(2))
    store.abort_txn(dead)
    kept = [
        compaction_attempt(alive, 32 * "a") + "_base_0000002",
        compaction_attempt(TxnId(1000), 32 * "b") + "_base_0000002",  # of a later one, or of nobody
        compaction_attempt(TxnId(0), 32 * "c") + "_base_0000002",
        f"_tmp_{32 * '1'}_base_0000002",
        "_tmp.-ext-10000",
        "_tmp_0000001",
    ]
    for name in (*kept, compaction_attempt(dead, 32 * "d") + "_delete_delta_0000001_0000002"):
        directory = tmp_path / "w" / "t" / name
        directory.mkdir()
        (directory / "bucket_00000").write_bytes(b"ORC")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    store.commit_txn(alive)  # the cleaner waits for it
    kept.remove(compaction_attempt(alive, 32 * "a") + "_base_0000002")
    assert session.run_cleaner() == 1
    assert hidden(tmp_path) == sorted(kept)
    assert session.execute("SHOW TRANSACTIONS").fetchall() != []


@pytest.mark.sqlite
@pytest.mark.parametrize("hive4_names", ["false", "true"])
@pytest.mark.parametrize("type", [TxnType.DEFAULT, TxnType.READ_ONLY])
def test_a_reader_keeps_what_a_compaction_makes_obsolete_that_it_does_not_see(
    tmp_path, type, hive4_names
):
    """The one before it is due for cleaning, and covers the same write ids."""
    warehouse, storage = tmp_path / "w", LocalStorage()
    store = HookedStore(f"{tmp_path}/store.db", warehouse=str(warehouse), policy=TxnPolicy())
    with Session(
        store=store, engine=PythonEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(warehouse), user="ann", host="host1",
    ) as session:  # fmt: skip
        session.execute(
            "CREATE TABLE t (k int, v int) TBLPROPERTIES"
            f" ('transactional' = 'true', '{HIVE4_NAMES}' = '{hive4_names}')"
        )
        for number in (0, 1):
            session.execute(f"INSERT INTO t VALUES ({number}, 9)")
        session.execute("DELETE FROM t WHERE k = 0")
        session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
        compacted = {p.name for p in (warehouse / "t").glob("*delta_0000001_0000003*")}
        assert len(compacted) == 2
        readers = []
        store.before = (
            ("mark_compacted",),
            lambda: readers.append(store.open_txn("bob", "host2", type)),
        )
        session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
        [base] = [p.name for p in (warehouse / "t").glob("base_0000003*")]
        if hive4_names == "true":
            # Hive's own compactor leaves no such file beside these names.
            (warehouse / "t" / base / METADATA_FILE).unlink()
        assert session.run_cleaner() == 1
        assert {p.name for p in (warehouse / "t").iterdir()} == {base, *compacted}
        for reader in readers:
            store.commit_txn(reader)
        assert session.run_cleaner() == 1
        assert {p.name for p in (warehouse / "t").iterdir()} == {base}


def test_an_older_reader_keeps_what_it_reads_even_where_the_store_would_clean(
    session, tmp_path, monkeypatch
):
    """Under Hive 4's names a directory says which transaction compacted it."""
    store = session._store
    session.execute(f"ALTER TABLE t SET TBLPROPERTIES ('{HIVE4_NAMES}' = 'true')")
    before = {p.name for p in (tmp_path / "w" / "t").iterdir()}
    reader = store.open_txn("bob", "host2")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert store.ready_to_clean() == []
    with monkeypatch.context() as patched:
        patched.setattr(store, "ready_to_clean", store.show_compactions)
        session.run_cleaner()
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} > before
    store.commit_txn(reader)


@pytest.fixture
def aborted(session, tmp_path):
    """A compaction is due for cleaning, and the store to forget an aborted write with its files."""
    dead = session._store.open_locked("ann", "host1", TxnType.DEFAULT, [T], INSERT)
    first = tmp_path / "w" / "t" / "delta_0000001_0000001_0000"
    shutil.copytree(first, tmp_path / "w" / "t" / "delta_0000003_0000003_0000")
    session._store.abort_txn(dead.txn_id)
    session.execute("INSERT INTO t VALUES (4)")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")


def test_a_table_on_its_way_elsewhere_is_left_to_the_next_round(
    session, aborted, tmp_path, monkeypatch
):
    """Its directory is moved before the store knows."""
    storage, cleaned = session._storage, []
    move = storage.rename

    def clean_after(source, target):
        move(source, target)
        cleaned.append(session.run_cleaner())

    with monkeypatch.context() as patched:
        patched.setattr(storage, "rename", clean_after)
        session.execute("ALTER TABLE t RENAME TO u")
    assert cleaned == [0]
    assert session.run_cleaner() == 1
    assert {p.name for p in (tmp_path / "w" / "u").iterdir()} == {"base_0000004"}
    assert session.failures == {}


@pytest.mark.parametrize("again", [True, False])
def test_a_table_renamed_since_the_cleaner_looked_is_left_to_the_next_round(
    session, aborted, tmp_path, again
):
    """There is nothing under its old name, or another table."""
    store, open_txn = session._store, session._open_txn
    create = session.execute("SHOW CREATE TABLE t").fetchall()

    def open_late(*args, **kwargs):
        session.execute("ALTER TABLE t RENAME TO u")
        if again:
            session.execute("\n".join(line for (line,) in create))
        return open_txn(*args, **kwargs)

    assert (
        run_cleaner(BackgroundScope(store, store, session._storage, open_late, Supervisor())) == 0
    )
    assert session.run_cleaner() == 1
    assert {p.name for p in (tmp_path / "w" / "u").iterdir()} == {"base_0000004"}


def test_what_is_missing_is_not_clean(session, tmp_path):
    """With the table's directory away for a while, nobody can say what is in it."""
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    shutil.move(tmp_path / "w" / "t", tmp_path / "away")
    assert session.run_cleaner() == 0
    shutil.move(tmp_path / "away", tmp_path / "w" / "t")
    assert session.run_cleaner() == 1
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == {"base_0000002"}


def test_a_directory_that_came_after_its_write_was_forgotten(session, tmp_path):
    """As of a stopped writer that wakes up: it makes its directory before it asks the store."""
    home = tmp_path / "w" / "t"
    for late in ("delete_delta_0000001_0000001_0000", "delta_0000002_0000002_0001"):
        (home / late).mkdir()
    for kept in ("delta_0000003_0000003_0000", "delta_0000001_0000003", "base_0000001"):
        (home / kept).mkdir()
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert session.run_cleaner() == 1
    assert {p.name for p in home.iterdir() if list(p.iterdir())} == {"base_0000002"}
    assert {p.name for p in home.iterdir() if not list(p.iterdir())} == {
        "delta_0000003_0000003_0000", "delta_0000001_0000003", "base_0000001",
    }  # fmt: skip


class Storage(LocalStorage):
    """The cleaner comes while a compactor that was taken for dead is about to rename."""

    def __init__(self, take_away):
        self.take_away = take_away

    def list_files(self, directory):
        name = directory.rpartition("/")[2]
        if parse_compaction_attempt(name) is not None:
            self.take_away(Path(directory))
        return super().list_files(directory)


@pytest.mark.parametrize("type", ["minor", "major"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_compactor_publishes_nothing_that_was_taken_away(session, tmp_path, type, whole):
    store = session._store

    def take_away(directory):
        if whole:
            shutil.rmtree(directory)
        else:
            next(directory.iterdir()).unlink()

    table = store.table(T)
    write_ids = store.valid_write_ids([T], store.valid_txns())[T]
    snapshot = TableSnapshot(table, tuple(table_directories(store, table)), write_ids)
    before = {p.name for p in (tmp_path / "w" / "t").iterdir()}
    plan = CompactPlan(table=T, partition=None, type=type)
    with pytest.raises(StorageError, match="were removed while the compaction wrote it"):
        compact(plan, snapshot, store.valid_txns(), Storage(take_away), TxnId(9))
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == before


@pytest.mark.parametrize("key", ["NO_CLEANUP", "no_cleanup"])
def test_a_table_is_not_cleaned_until_it_may_be(session, aborted, tmp_path, key):
    """The cleaning is not forgotten meanwhile."""
    store = session._store
    before = {p.name for p in (tmp_path / "w" / "t").iterdir()}
    session.execute(f"ALTER TABLE t SET TBLPROPERTIES ('{key}' = 'true')")
    assert session.run_cleaner() == 0
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == before
    [entry] = store.show_compactions()
    assert entry.state.word == "ready for cleaning"
    assert store.valid_write_ids([T], store.valid_txns())[T].aborted == {3}
    session.execute(f"ALTER TABLE t SET TBLPROPERTIES ('{key}' = 'false')")
    assert session.run_cleaner() == 1
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == {"base_0000004"}


@pytest.mark.parametrize("verb", ["remove", "rename"])
def test_two_cleaners_at_once_do_no_harm(session, aborted, tmp_path, monkeypatch, verb):
    """The second one goes through its whole round before the first one removes anything."""
    storage, store = session._storage, session._store
    gone = store.open_txn("bob", "host2", TxnType.COMPACTION)
    hidden = tmp_path / "w" / "t" / compaction_attempt(gone, 32 * "a")
    hidden.mkdir()
    store.abort_txn(gone)
    works, inside = getattr(storage, verb), []

    def after_another(*paths):
        if not inside:
            inside.append(True)
            assert session.run_cleaner() == 1
        works(*paths)

    monkeypatch.setattr(storage, verb, after_another)
    assert session.run_cleaner() == 1
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == {"base_0000004"}
    assert session.failures == {}
    [entry] = store.show_compactions()
    assert entry.state.word == "succeeded"


class Pausing(LocalStorage):
    """Something happens after each directory was listed."""

    after: Callable[[], None] = staticmethod(lambda: None)

    def list_directories(self, path):
        found = super().list_directories(path)
        after, self.after = self.after, lambda: None
        after()
        return found


@pytest.mark.parametrize("clean", ["cleaner", "vacuum"])
def test_a_cleaner_that_overslept_its_time_out_removes_nothing(tmp_path, clean):
    """Without its lock the table was dropped, and another one was made in its place."""
    clock, warehouse, storage = Clock(), str(tmp_path / "w"), Pausing()
    policy = TxnPolicy()
    with Session(
        store=MemoryStore(clock, policy, warehouse), engine=PythonEngine(storage, None, {}),
        storage=storage, policy=policy, warehouse=warehouse, user="ann", host="host1",
        heartbeats=Heartbeats(1),
    ) as session:  # fmt: skip

        def make() -> None:
            session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
            session.execute("INSERT INTO t VALUES (1)")
            session.execute("INSERT INTO t VALUES (2)")

        def sleep() -> None:
            clock.pass_s(1000)
            session.run_housekeeper()
            session.execute("DROP TABLE t")
            make()

        make()
        session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
        storage.after = sleep
        if clean == "cleaner":
            assert session.run_cleaner() == 0
        else:
            with pytest.raises(TxnError):
                session.execute("VACUUM t")
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(1,), (2,)]
