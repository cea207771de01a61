"""Who was taken for dead wakes up: what others made meanwhile is not its own to change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import TxnAbortedError
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

CREATE = "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


class Sleepy(LocalStorage):
    """While a file is brought to its place, ``meanwhile`` happens once."""

    meanwhile: Callable[[], None] | None = None

    def put_file(self, source: str, path: str) -> None:
        super().put_file(source, path)
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()


class Stage:
    """One who sleeps, and another one who makes the table anew: its write ids begin at 1 again."""

    def __init__(self, directory: Path) -> None:
        self.store = MemoryStore(lambda: 1_000_000, TxnPolicy(), str(directory))
        self.storage = Sleepy()
        self.sleeper, self.other = (self.connect(directory, s) for s in (self.storage, None))
        self.other.execute(CREATE)

    def connect(self, directory: Path, storage: LocalStorage | None) -> Session:
        storage = storage or LocalStorage()
        return Session(
            store=self.store,
            engine=SparkEngine(storage, None, {}),
            storage=storage,
            policy=TxnPolicy(),
            warehouse=str(directory),
            user="u",
            host="h",
        )

    def meanwhile(self) -> None:
        assert len(self.store.abort_txns([t.txn_id for t in self.store.show_txns()])) == 1
        for sql in ("DROP TABLE t", CREATE, "INSERT INTO t VALUES (2)"):
            self.other.execute(sql)

    def rows(self) -> list[tuple[object, ...]]:
        return check_table(self.store, TableName("default", "t"))


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    stage.sleeper.close()


def test_at_the_commit(stage):
    stage.sleeper.execute("BEGIN")
    stage.sleeper.execute("INSERT INTO t VALUES (1)")
    stage.meanwhile()
    with pytest.raises(TxnAbortedError):
        stage.sleeper.execute("COMMIT")
    assert stage.rows() == [(2,)]


def test_at_the_rollback(stage):
    stage.sleeper.execute("BEGIN")
    stage.sleeper.execute("INSERT INTO t VALUES (1)")
    stage.meanwhile()
    stage.sleeper.execute("ROLLBACK")
    assert stage.rows() == [(2,)]


@pytest.mark.parametrize("block", [False, True])
def test_in_a_job(stage, block):
    if block:
        stage.sleeper.execute("BEGIN")
    stage.storage.meanwhile = stage.meanwhile
    with pytest.raises(TxnAbortedError):
        stage.sleeper.execute("INSERT INTO t VALUES (1)")
    if block:
        stage.sleeper.execute("ROLLBACK")
    assert stage.rows() == [(2,)]


def test_a_compactor(stage):
    stage.sleeper.execute("INSERT INTO t VALUES (1)")
    stage.sleeper.execute("INSERT INTO t VALUES (3)")
    stage.storage.meanwhile = stage.meanwhile
    stage.sleeper.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert stage.rows() == [(2,)]


def test_what_is_still_its_own_goes(stage, tmp_path):
    stage.sleeper.execute("BEGIN")
    stage.sleeper.execute("INSERT INTO t VALUES (1)")
    stage.sleeper.execute("ROLLBACK")
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.parametrize("sql", ["DROP TABLE t", "DROP TABLE IF EXISTS t"])
def test_before_a_drop(stage, monkeypatch, sql):
    """The table of that name is another session's by then."""
    last_step = stage.store.while_open

    def sleeping(txn_id):
        monkeypatch.setattr(stage.store, "while_open", last_step)
        stage.meanwhile()
        return last_step(txn_id)

    monkeypatch.setattr(stage.store, "while_open", sleeping)
    with pytest.raises(TxnAbortedError):
        stage.sleeper.execute(sql)
    assert stage.rows() == [(2,)]


def test_between_a_drop_and_the_removal_of_its_files(stage, monkeypatch):
    last_step = stage.store.drop_table

    def sleeping(name):
        last_step(name)
        monkeypatch.setattr(stage.store, "drop_table", last_step)
        assert len(stage.store.abort_txns([t.txn_id for t in stage.store.show_txns()])) == 1
        for again in (CREATE, "INSERT INTO t VALUES (2)"):
            stage.other.execute(again)

    monkeypatch.setattr(stage.store, "drop_table", sleeping)
    with pytest.raises(TxnAbortedError):
        stage.sleeper.execute("DROP TABLE t")
    assert stage.rows() == [(2,)]
