"""What the cleaner removes of compactions that never came to their end, and what it leaves."""

import shutil
from pathlib import Path

import pytest

import acidsql
from acidsql.engines.local.compact import compact
from acidsql.errors import StorageError
from acidsql.filesystems import LocalStorage
from acidsql.layout.dir_names import compaction_attempt, parse_compaction_attempt
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.plans.compact import CompactPlan
from acidsql.plans.engine import TableSnapshot
from acidsql.services.snapshots import table_directories
from acidsql.txn.entities import TxnType

T = TableName("default", "t")
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
    with pytest.raises(StorageError, match="was taken away"):
        compact(plan, snapshot, store.valid_txns(), Storage(take_away), TxnId(9))
    assert {p.name for p in (tmp_path / "w" / "t").iterdir()} == before
