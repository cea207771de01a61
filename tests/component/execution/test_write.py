"""What a statement is told whose transaction has lost before it could write."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import (
    LockTimeoutError,
    StorageError,
    TxnAbortedError,
    WriteConflictError,
)
from acidsql.model.ids import LockId, TxnId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList
from acidsql.ports.catalog import Partition
from acidsql.session.session import Session
from acidsql.settings import Settings
from acidsql.txn.entities import LockComponent, LockResponse, LockType, Opened, TxnState
from acidsql.txn.state import BEGUN_ANEW
from tests.python_engine import PythonEngine

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


class Stage:
    """Two sessions over one store, as its settings have it; an UPDATE changes the row of 1."""

    def __init__(self, directory: Path, config: Mapping[str, str], exits: ExitStack) -> None:
        self.policy = Settings.of(str(directory), config=config).policy
        self.store = MemoryStore(lambda: 1_000_000, self.policy, str(directory))
        self.directory, self.exits = directory, exits
        self.waits_s: list[float] = []
        self.ann, self.bob = self.connect("ann"), self.connect("bob")
        for sql in (
            f"CREATE TABLE t (k int, v int) {ACID}",
            f"CREATE TABLE p (k int, v int) PARTITIONED BY (d int) {ACID}",
            "INSERT INTO t VALUES (1, 10)",
            "INSERT INTO p VALUES (1, 10, 5)",
        ):
            self.ann.execute(sql)

    def connect(self, user: str) -> Session:
        engine = PythonEngine(LocalStorage(), None, {})
        engine.key, engine.change = 1, lambda value: value + 1
        session = Session(
            store=self.store, engine=engine, storage=LocalStorage(), policy=self.policy,
            warehouse=str(self.directory), user=user, host=f"{user}s",
            sleep=self.waits_s.append,
        )  # fmt: skip
        return self.exits.enter_context(session)


@pytest.fixture
def stage(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    with ExitStack() as exits:
        yield Stage(tmp_path, {"hive.lock.numretries": "0", **getattr(request, "param", {})}, exits)


@pytest.mark.parametrize(("table", "partition"), [("t", None), ("p", "d=5")])
def test_a_statement_that_has_lost_names_the_winner_and_the_place(
    stage: Stage, table: str, partition: str | None
) -> None:
    begun = stage.ann.execute("BEGIN")
    winner = stage.bob.execute(f"UPDATE {table} SET v = v + 1 WHERE k = 1")
    with pytest.raises(WriteConflictError) as caught:
        stage.ann.execute(f"UPDATE {table} SET v = v + 1 WHERE k = 1")
    error = caught.value
    assert (error.table, error.partition) == (f"default.{table}", partition)
    assert (error.txn_id, error.other_txn_id) == (begun.txn_id, winner.txn_id)
    assert (error.other_user, error.other_host) == ("bob", "bobs")
    place = f"default.{table}" + (f"/{partition}" if partition else "")
    assert (
        error.detail
        == f"Transaction {winner.txn_id} by bob@bobs committed a change of {place} first."
    )


@pytest.mark.parametrize("table", ["t", "p"])
def test_who_would_hide_rows_is_told_whose(stage: Stage, table: str) -> None:
    begun = stage.ann.execute("BEGIN")
    row = "(2, 20)" if table == "t" else "(2, 20, 6)"
    winner = stage.bob.execute(f"INSERT INTO {table} VALUES {row}")
    with pytest.raises(WriteConflictError, match="overtaken by later writes") as caught:
        stage.ann.execute(f"TRUNCATE TABLE {table}")
    error = caught.value
    assert (error.table, error.partition) == (f"default.{table}", None)
    assert (error.txn_id, error.other_txn_id) == (begun.txn_id, winner.txn_id)
    assert (error.other_user, error.other_host) == ("bob", "bobs")
    assert error.detail == (
        f"Transaction {winner.txn_id} by bob@bobs committed write id 2 of default.{table} first."
    )


def test_an_overwrite_that_would_hide_a_later_write_fails(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute("INSERT INTO p PARTITION (d = 6) VALUES (2, 20)")
    stage.bob.execute("INSERT INTO p PARTITION (d = 5) VALUES (3, 30)")
    with pytest.raises(WriteConflictError, match="overtaken by later writes"):
        stage.ann.execute("TRUNCATE TABLE p PARTITION (d = 5)")
    stage.ann.execute("ROLLBACK")
    assert sorted(stage.ann.execute("SELECT * FROM p").fetchall()) == [(1, 10, "5"), (3, 30, "5")]


def test_a_statement_whose_rows_a_base_would_hide_fails(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute("INSERT INTO p PARTITION (d = 6) VALUES (2, 20)")
    stage.bob.execute("TRUNCATE TABLE p PARTITION (d = 5)")
    with pytest.raises(WriteConflictError, match="overtaken by later writes") as caught:
        stage.ann.execute("INSERT INTO p PARTITION (d = 5) VALUES (3, 30)")
    assert (caught.value.partition, caught.value.other_user) == ("d=5", "bob")


def test_each_leg_of_a_merge_takes_a_statement_id_of_its_block(stage: Stage) -> None:
    stage.ann._engine.merged = (2, 20)
    stage.ann.execute("BEGIN")
    stage.ann.execute(
        "MERGE INTO t USING (SELECT 2 AS k) AS s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 20)"
    )
    stage.ann.execute("INSERT INTO t VALUES (3, 30)")
    stage.ann.execute("COMMIT")
    table = Path(stage.store.table(TableName("default", "t")).location)
    assert sorted(p.name for p in table.iterdir()) == [
        "delete_delta_0000002_0000002_0001",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
        "delta_0000002_0000002_0001",
        "delta_0000002_0000002_0002",
    ]


@pytest.mark.parametrize("stage", [{"hive.txn.write.xlock": "false"}], indirect=True)
def test_the_table_of_an_earlier_statement_is_the_one_named(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute("UPDATE t SET v = v + 1 WHERE k = 1")
    stage.bob.execute("UPDATE t SET v = v + 1 WHERE k = 1")
    with pytest.raises(WriteConflictError, match=r"cannot write to table default\.p") as caught:
        stage.ann.execute("INSERT INTO p VALUES (2, 20, 6)")
    assert (caught.value.table, caught.value.partition) == ("default.t", None)


def test_a_partition_is_locked_by_its_name_however_its_value_is_written(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute("UPDATE p SET v = v + 1 WHERE k = 1 AND d = 05")
    for statement in (
        "UPDATE p SET v = v + 1 WHERE k = 1 AND d = 5",
        "ALTER TABLE p DROP PARTITION (d = 5)",
    ):
        with pytest.raises(LockTimeoutError):
            stage.bob.execute(statement)
    stage.bob.execute("INSERT INTO p VALUES (2, 20, 6)")
    stage.bob.execute("UPDATE p SET v = v + 1 WHERE k = 1 AND d = 6")
    stage.ann.execute("COMMIT")
    assert sorted(stage.ann.execute("SELECT * FROM p").fetchall()) == [(1, 11, "5"), (2, 20, "6")]


def test_a_partition_that_comes_before_the_lock_is_locked_too(stage: Stage) -> None:
    """Of two names of one value: d=05, which an older Hive has left, and d=5."""
    table, locks = TableName("default", "p"), []
    place = Path(stage.store.table(table).location) / "d=05"
    place.mkdir()
    again = Partition(PartitionName.of({"d": "05"}), str(place))
    asked = stage.store.open_locked

    def open_locked(*args: Any, **kwargs: Any) -> Opened:
        stage.store.add_partitions(table, [again])
        return asked(*args, **kwargs)

    def change(value: int) -> int:
        locks.extend(lock.partition for lock in stage.store.show_locks())
        return value + 1

    stage.store.open_locked = open_locked  # type: ignore[method-assign]
    stage.ann._engine.change = change  # type: ignore[attr-defined]
    stage.ann.execute("UPDATE p SET v = v + 1 WHERE k = 1 AND d = 5")
    assert locks == [None]


def test_an_aborted_base_is_in_nobodys_way(stage: Stage) -> None:
    table = TableName("default", "p")
    stage.ann.execute("BEGIN")
    stage.ann.execute("INSERT INTO p VALUES (2, 20, 5)")
    dead = stage.store.open_txn("dan", "there")
    write_id = stage.store.allocate_write_id(dead, table)
    (Path(stage.store.table(table).location) / "d=5" / f"base_{write_id:07d}").mkdir()
    stage.store.abort_txn(dead)
    stage.bob.execute("INSERT INTO p VALUES (3, 30, 7)")
    stage.ann.execute("INSERT INTO p VALUES (4, 40, 5)")
    stage.ann.execute("COMMIT")
    assert len(stage.ann.execute("SELECT * FROM p").fetchall()) == 4


@pytest.mark.parametrize("stage", [{"hive.lock.numretries": "1"}], indirect=True)
def test_a_table_made_again_meanwhile_is_written_under_its_own_write_id(stage: Stage) -> None:
    """A write id of the former table would be beyond every snapshot of the new one."""
    name = TableName("default", "t")
    table = stage.store.table(name)
    holder = stage.store.open_txn("dan", "there")
    exclusive = LockComponent(LockType.EXCLUSIVE, "default", "t")
    stage.store.lock(holder, [exclusive], "dan", "there")

    look = stage.store.check_lock

    def check_lock(lock_id: LockId) -> LockResponse:
        shutil.rmtree(table.location)
        stage.store.drop_table(name)
        stage.store.create_table(table)
        Path(table.location).mkdir()
        stage.store.commit_txn(holder)
        return look(lock_id)

    stage.store.check_lock = check_lock  # type: ignore[method-assign]
    stage.ann.execute("INSERT INTO t VALUES (2, 20)")
    assert stage.ann.execute("SELECT * FROM t").fetchall() == [(2, 20)]


def test_a_failed_statement_whose_files_stay_loses_its_block(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are published when the store fails, and cannot be removed when the disk does."""

    def fail(*_: object) -> None:
        raise StorageError("no room")

    stage.ann.execute("BEGIN")
    with monkeypatch.context() as patched:
        patched.setattr(stage.store, "add_dynamic_partitions", fail)
        patched.setattr(LocalStorage, "remove", fail)
        with pytest.raises(StorageError):
            stage.ann.execute("INSERT INTO p PARTITION (d = 5) VALUES (2, 20)")
    with pytest.raises(TxnAbortedError, match="was rolled back"):
        stage.ann.execute("COMMIT")
    assert stage.ann.execute("SELECT * FROM p").fetchall() == [(1, 10, "5")]


def test_the_files_of_a_failed_statement_are_gone_before_its_block_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At first they cannot be removed."""
    failures = ["no room"]
    remove = LocalStorage.remove

    def fail(*_: object) -> None:
        raise StorageError("no room")

    def fail_once(storage: LocalStorage, path: OwnPath) -> None:
        if failures:
            raise StorageError(failures.pop())
        remove(storage, path)

    stage.ann.execute("BEGIN")
    with monkeypatch.context() as patched:
        patched.setattr(stage.store, "add_dynamic_partitions", fail)
        patched.setattr(LocalStorage, "remove", fail_once)
        with pytest.raises(StorageError):
            stage.ann.execute("INSERT INTO p PARTITION (d = 5) VALUES (2, 20)")
    stage.ann.execute("INSERT INTO p PARTITION (d = 5) VALUES (3, 30)")
    stage.ann.execute("COMMIT")
    assert failures == []
    assert sorted(stage.ann.execute("SELECT * FROM p").fetchall()) == [(1, 10, "5"), (3, 30, "5")]


def test_who_waited_in_vain_wins_over_nobody(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.bob.execute("BEGIN")
    stage.ann.execute("UPDATE t SET v = v + 1 WHERE k = 1")
    with pytest.raises(LockTimeoutError):
        stage.bob.execute("UPDATE t SET v = v + 1 WHERE k = 1")
    stage.bob.execute("INSERT INTO p VALUES (3, 30, 7)")
    stage.bob.execute("COMMIT")
    stage.ann.execute("INSERT INTO p VALUES (4, 40, 8)")
    stage.ann.execute("COMMIT")
    assert stage.ann.execute("SELECT * FROM t").fetchall() == [(1, 11)]


@pytest.mark.parametrize("stage", [{"hive.lock.numretries": "20"}], indirect=True)
def test_a_statement_that_begins_anew_keeps_its_place(stage: Stage) -> None:
    """Each of those who wait begins anew once, not once for each that comes before it."""
    update = "UPDATE t SET v = v + 1 WHERE k = 1"
    waiting = [stage.connect(f"waiter{number}") for number in range(4)]
    stage.ann.execute("BEGIN")
    stage.ann.execute(update)
    with ThreadPoolExecutor(len(waiting)) as pool:
        done = []
        for number, session in enumerate(waiting, 2):
            done.append(pool.submit(session.execute, update))
            while len(stage.store.show_locks()) < number:
                pass
        stage.ann.execute("COMMIT")
        for one in done:
            one.result()
    assert stage.ann.execute("SELECT * FROM t").fetchall() == [(1, 15)]
    lost = [t for t in stage.store.show_txns() if t.state is TxnState.ABORTED]
    assert [t.meta_info for t in lost] == [BEGUN_ANEW] * len(waiting)


@pytest.mark.parametrize("stage", [{"hive.txn.write.xlock": "false"}], indirect=True)
def test_who_loses_is_run_again_as_often_as_said(stage: Stage) -> None:
    update, losses = "UPDATE t SET v = v + 1 WHERE k = 1", [1, 2, 3]

    def change(value: int) -> int:
        """While ann is at work bob commits a change."""
        if losses:
            losses.pop()
            stage.bob.execute(update)
        return value + 1

    stage.ann._engine.change = change
    with pytest.raises(WriteConflictError):
        stage.ann.execute(update, retries=1)
    assert (len(losses), len(stage.waits_s)) == (1, 1)
    stage.ann.execute(update, retries=1)
    assert stage.ann.execute("SELECT * FROM t").fetchall() == [(1, 14)]
    assert len(stage.waits_s) == 2


def directories(stage: Stage, place: str = "p/d=5") -> list[str]:
    return sorted(path.name for path in (stage.directory / place).iterdir() if path.is_dir())


def rows(session: Session, table: str = "p") -> list[tuple[Any, ...]]:
    return sorted(session.execute(f"SELECT * FROM {table}").fetchall())


FIRST = "delta_0000001_0000001_0000"


def test_a_delete_of_a_whole_partition_writes_a_base(stage: Stage) -> None:
    stage.ann.execute("INSERT INTO p VALUES (1, 10, 5), (1, 30, 6)")
    assert stage.ann.execute("DELETE FROM p WHERE d = 5").rows_deleted == 2
    assert directories(stage) == ["base_0000003", FIRST, "delta_0000002_0000002_0000"]
    assert directories(stage, "p/d=6") == ["delta_0000002_0000002_0000"]
    assert rows(stage.bob) == [(1, 30, "6")]
    stage.bob.execute("INSERT INTO p VALUES (4, 40, 5)")
    assert rows(stage.ann) == [(1, 30, "6"), (4, 40, "5")]
    assert stage.ann.execute("DELETE FROM p WHERE d = 7").rows_deleted == 0


def test_a_delete_of_all_rows_of_a_table_writes_a_base(stage: Stage) -> None:
    assert stage.ann.execute("DELETE FROM t").rows_deleted == 1
    assert directories(stage, "t") == ["base_0000002", FIRST]
    assert stage.ann.execute("DELETE FROM t").rows_deleted == 0
    assert directories(stage, "t") == ["base_0000002", FIRST]


def test_no_base_hides_rows_of_a_lower_write_id_that_is_open(stage: Stage) -> None:
    stage.bob.execute("BEGIN")
    stage.bob.execute("INSERT INTO p VALUES (2, 20, 5)")
    assert stage.ann.execute("DELETE FROM p WHERE d = 5").rows_deleted == 1
    assert "base_0000003" not in directories(stage)
    stage.bob.execute("COMMIT")
    assert rows(stage.ann) == [(2, 20, "5")]


def test_a_base_may_hide_rows_of_an_aborted_write_id(stage: Stage) -> None:
    stage.bob.execute("BEGIN")
    stage.bob.execute("INSERT INTO p VALUES (2, 20, 5)")
    stage.bob.execute("ROLLBACK")
    assert stage.ann.execute("DELETE FROM p WHERE d = 5").rows_deleted == 1
    assert "base_0000003" in directories(stage)
    assert rows(stage.ann) == []


def test_rows_of_a_higher_write_id_stay(stage: Stage) -> None:
    begun = stage.bob.execute("BEGIN")
    stage.ann.execute("DELETE FROM p WHERE d = 5")
    stage.bob.execute("INSERT INTO p VALUES (2, 20, 5)")
    assert rows(stage.bob) == [(1, 10, "5"), (2, 20, "5")]
    assert stage.bob.execute("COMMIT").txn_id == begun.txn_id
    assert rows(stage.ann) == [(2, 20, "5")]


def test_a_delete_in_a_block_hides_no_other_rows_of_the_block(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute("DELETE FROM p WHERE d = 5")
    stage.ann.execute("INSERT INTO p VALUES (2, 20, 5)")
    stage.ann.execute("COMMIT")
    assert directories(stage)[0].startswith("delete_delta_")
    assert rows(stage.bob) == [(2, 20, "5")]


def test_a_delete_of_a_whole_partition_that_fails_leaves_nothing(stage: Stage) -> None:
    stage.ann.execute("ALTER TABLE p ADD PARTITION (d = 6)")
    shutil.rmtree(stage.directory / "p/d=6")
    with pytest.raises(StorageError):
        stage.ann.execute("DELETE FROM p")
    assert directories(stage) == [FIRST]
    assert rows(stage.ann, "p WHERE d = 5") == [(1, 10, "5")]


def test_the_winner_of_two_deletes_of_a_partition_is_one(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.bob.execute("DELETE FROM p WHERE d = 5")
    with pytest.raises(WriteConflictError):
        stage.ann.execute("UPDATE p SET v = 0 WHERE k = 1")
    stage.ann.execute("ROLLBACK")
    assert rows(stage.ann) == []


@pytest.mark.parametrize("condition", ["d = 5", "d = 5 AND k = 1"])
def test_a_statement_deletes_no_row_of_a_higher_write_id(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """Bob's INSERT comes between Ann's write id and her snapshot, which sees it."""
    stage.bob.execute("BEGIN")
    snapshots = iter([True])
    take_snapshot = stage.store.valid_txns

    def valid_txns(txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        if txn_id is not None and next(snapshots, False):
            stage.bob.execute("INSERT INTO p VALUES (1, 20, 5)")
            stage.bob.execute("COMMIT")
        return take_snapshot(txn_id, writes=writes)

    monkeypatch.setattr(stage.store, "valid_txns", valid_txns)
    deleted = stage.ann.execute(f"DELETE FROM p WHERE {condition}")
    assert deleted.rows_deleted == 2
    assert deleted.write_ids == {"default.p": 4}
    assert rows(stage.ann) == []
    assert stage.ann.execute("CHECK TABLE p").fetchall() == []
