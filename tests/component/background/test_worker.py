"""The queue goes on whatever becomes of one compaction in it."""

from __future__ import annotations

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.background.scope import BackgroundScope
from acidsql.background.worker import run_worker
from acidsql.engines.local.compact import compact
from acidsql.errors import StorageError
from acidsql.orc.footer import read_tail
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import TxnOpener
from tests.property.hooked_store import HookedStore
from tests.python_engine import PythonEngine

pytestmark = pytest.mark.sqlite


class Foreign(BaseException):
    """Descends from no Exception."""


UNEXPECTED = [
    StorageError("disk full"),
    Foreign("cancelled"),
    *(
        pytest.param(error, marks=pytest.mark.thorough)
        for error in (OSError("no space"), RuntimeError("odd"), MemoryError("all of it"))
    ),
]


class Engine(PythonEngine):
    """Compacting one table fails."""

    error: BaseException = StorageError("")

    def compact(self, plan, snapshot, txns, txn_id):
        if plan.table.table == "bad":
            raise self.error
        return compact(plan, snapshot, txns, LocalStorage(), txn_id)


@pytest.fixture
def engine():
    return Engine(LocalStorage(), None, {})


@pytest.fixture
def store(tmp_path):
    return HookedStore(f"{tmp_path}/store.db", warehouse=str(tmp_path / "w"), policy=TxnPolicy())


@pytest.fixture
def session(tmp_path, engine, store):
    with Session(
        store=store, engine=engine, storage=LocalStorage(), policy=TxnPolicy(),
        warehouse=str(tmp_path / "w"), user="ann", host="host1",
    ) as session:  # fmt: skip
        for table in ("bad", "good"):
            session.execute(
                f"CREATE TABLE {table} (k int) TBLPROPERTIES ('transactional' = 'true')"
            )
            for number in (1, 2):
                session.execute(f"INSERT INTO {table} VALUES ({number})")
        yield session


def states(store):
    return [(c.table, c.state.word) for c in store.show_compactions()]


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_a_table_that_fails_again_and_again_does_not_starve_the_others(
    session, engine, store, error, tmp_path
):
    engine.error = error
    for _ in range(3):
        session.execute("ALTER TABLE bad COMPACT 'major'")
        session.execute("INSERT INTO good VALUES (3)")
        session.execute("ALTER TABLE good COMPACT 'major'")
        before = session.failures.get("worker", 0)
        assert session.run_worker() == 1
        assert session.failures["worker"] == before + 1
        failed = [c for c in store.show_compactions() if c.table == "bad"]
        assert {c.state.word for c in failed} == {"failed"}
        assert all(str(error) in c.error_message for c in failed)
        assert session.run_cleaner() == 1
    assert not any(row[1] == "OPEN" for row in session.execute("SHOW TRANSACTIONS").fetchall())


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_who_ends_the_process_leaves_a_failed_entry(session, engine, store, error):
    engine.error = error
    for table in ("bad", "good"):
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")
    with pytest.raises(type(error)):
        session.run_worker()
    assert sorted(states(store)) == [("bad", "failed"), ("good", "initiated")]


def test_a_worker_that_cannot_open_its_transaction_goes_on(session, store):
    for table in ("bad", "good"):
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")

    def once():
        store.before = None
        raise StorageError("the store is busy")

    store.before = (("open_txn",), once)
    assert session.run_worker() == 1
    assert sorted(states(store)) == [("bad", "failed"), ("good", "ready for cleaning")]


def test_a_compaction_that_takes_too_long_is_not_published(session, engine, store, tmp_path):
    """hive.compactor.worker.timeout: the entry fails, and the next one goes on."""
    now_s = [0.0]
    real = engine.compact

    def slow(plan, snapshot, txns, txn_id):
        now_s[0] += 61 if plan.table.table == "bad" else 59
        return compact(plan, snapshot, txns, LocalStorage(), txn_id)

    engine.compact = slow
    for table in ("bad", "good"):
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")
    opener = TxnOpener(store, "ann", "host1", TxnPolicy(worker_timeout_s=60))
    scope = BackgroundScope(
        store, store, LocalStorage(), opener, session._supervisor, clock=lambda: now_s[0]
    )
    assert run_worker(scope, engine, "host1") == 1
    assert sorted(states(store)) == [("bad", "failed"), ("good", "ready for cleaning")]
    failed = [c.error_message for c in store.show_compactions() if c.table == "bad"]
    assert failed == ["the compaction took too long"]
    assert not [p for p in (tmp_path / "w" / "bad").iterdir() if "base" in p.name]
    engine.compact = real


def test_workers_of_pools(session, engine, store):
    engine.error = None
    session.execute("ALTER TABLE good COMPACT 'major' POOL 'fast'")
    assert session.run_worker() == 0
    assert session.run_worker("slow") == 0
    assert session.run_worker(pool="fast") == 1


def test_waiting_runs_the_pool_of_the_request(session, store):
    session.execute("ALTER TABLE good SET TBLPROPERTIES ('hive.compactor.worker.pool' = 'own')")
    message = session.execute("ALTER TABLE good COMPACT 'major' AND WAIT").message
    assert message.endswith("finished with status: ready for cleaning")
    assert store.show_compactions()[0].options.pool == "own"


def test_the_pool_of_the_database_counts_for_tables_without_one(session, store):
    session.execute("ALTER DATABASE default SET DBPROPERTIES ('hive.compactor.worker.pool' = 'd')")
    session.execute("ALTER TABLE good SET TBLPROPERTIES ('hive.compactor.worker.pool' = 'own')")
    for table in ("bad", "good"):
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")
    assert {c.table: c.options.pool for c in store.show_compactions()} == {
        "bad": "d",
        "good": "own",
    }


def test_properties_of_the_request_act(session, tmp_path):
    session.execute(
        "ALTER TABLE good COMPACT 'major' AND WAIT"
        " WITH OVERWRITE TBLPROPERTIES ('tblprops.orc.compress' = 'zlib', 'compactor.x' = 'y')"
    )
    [base] = (tmp_path / "w" / "good").glob("base_*/bucket_*")
    assert read_tail(str(base)).compression == "zlib"
