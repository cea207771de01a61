"""INSERT OVERWRITE and TRUNCATE beside other statements: no row is lost, doubled or revived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory.store import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import LockTimeoutError, WriteConflictError
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.txn.entities import Opened
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

NAME = TableName("default", "t")
POLICY = TxnPolicy(lock_retries=1, lock_sleep_s=0.01)


class RacingStore(MemoryStore):
    """The memory store, in as many steps as a metastore needs; before the next lock request
    something else happens.
    """

    before_lock: Callable[[], object] | None = None

    def open_locked(self, *args: Any, **kwargs: Any) -> Opened:
        return replace(super().open_locked(*args, **kwargs), in_one_step=False)

    def lock(self, *args: Any, **kwargs: Any) -> Any:
        race, self.before_lock = self.before_lock, None
        if race is not None:
            race()
        return super().lock(*args, **kwargs)


class Warehouse:
    """A store and the sessions on it."""

    def __init__(self, directory: Path, spark: Any) -> None:
        self.now_ms = 0
        self.directory = directory
        self.store = RacingStore(self._tick, POLICY, str(directory))
        self.spark = spark

    def _tick(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def session(self) -> Session:
        storage = LocalStorage()
        return Session(
            store=self.store,
            engine=SparkEngine(storage, self.spark, {}),
            storage=storage,
            policy=POLICY,
            warehouse=str(self.directory),
            user="u",
            host="h",
        )

    def race(self, statement: str) -> None:
        """Have another session run the statement between a write id and its lock."""
        self.store.before_lock = lambda: self.session().execute(statement)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(check_table(self.store, NAME))


@pytest.fixture
def warehouse(tmp_path: Path, spark: Any) -> Iterator[Warehouse]:
    warehouse = Warehouse(tmp_path, spark)
    with warehouse.session() as session:
        session.execute(
            "CREATE TABLE t (id int, v int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        )
        session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    return warehouse


def test_an_insert_is_not_hidden_by_an_overwrite_that_came_before_its_lock(
    warehouse: Warehouse,
) -> None:
    warehouse.race("INSERT OVERWRITE TABLE t VALUES (7, 7)")
    result = warehouse.session().execute("INSERT INTO t VALUES (3, 3)")
    assert warehouse.rows() == [(3, 3), (7, 7)]
    assert result.write_ids == {"default.t": 4}


def test_in_a_transaction_the_error_says_whose_base_it_is(warehouse: Warehouse) -> None:
    warehouse.session().execute(
        "CREATE TABLE p (id int) PARTITIONED BY (d int) TBLPROPERTIES ('transactional' = 'true')"
    )
    warehouse.session().execute("INSERT INTO p VALUES (1, 5), (2, 6)")
    with warehouse.session() as session:
        begun = session.execute("BEGIN")
        warehouse.race("INSERT OVERWRITE TABLE p PARTITION (d = 5) VALUES (7)")
        with pytest.raises(WriteConflictError, match="was overtaken") as caught:
            session.execute("INSERT INTO p VALUES (3, 5)")
    error = caught.value
    assert (error.table, error.partition, error.txn_id) == ("default.p", "d=5", begun.txn_id)
    assert (error.other_user, error.other_host) == ("u", "h")
    assert error.other_txn_id == int(begun.txn_id or 0) + 1


def test_an_insert_is_not_hidden_by_a_truncate(warehouse: Warehouse) -> None:
    warehouse.race("TRUNCATE TABLE t")
    warehouse.session().execute("INSERT INTO t VALUES (3, 3)")
    assert warehouse.rows() == [(3, 3)]


def test_an_insert_that_came_before_the_lock_of_an_overwrite_is_replaced(
    warehouse: Warehouse,
) -> None:
    warehouse.race("INSERT INTO t VALUES (3, 3)")
    warehouse.session().execute("INSERT OVERWRITE TABLE t SELECT id + 10, v FROM t")
    assert warehouse.rows() == [(11, 1), (12, 2), (13, 3)]


def test_other_inserts_do_not_make_an_insert_start_anew(warehouse: Warehouse) -> None:
    warehouse.race("INSERT INTO t VALUES (3, 3)")
    result = warehouse.session().execute("INSERT INTO t VALUES (4, 4)")
    assert result.write_ids == {"default.t": 2}
    assert warehouse.rows() == [(1, 1), (2, 2), (3, 3), (4, 4)]


@pytest.mark.parametrize("racer", ["TRUNCATE TABLE t", "INSERT OVERWRITE t VALUES (1, 5)"])
def test_an_update_sees_the_overwrite_it_raced(warehouse: Warehouse, racer: str) -> None:
    warehouse.race(racer)
    warehouse.session().execute("UPDATE t SET v = v + 100")
    assert warehouse.rows() == ([] if "TRUNCATE" in racer else [(1, 105)])


def test_an_overwrite_sees_the_update_it_raced(warehouse: Warehouse) -> None:
    warehouse.race("UPDATE t SET v = 50 WHERE id = 1")
    warehouse.session().execute("INSERT OVERWRITE t SELECT id, v + 1 FROM t")
    assert warehouse.rows() == [(1, 51), (2, 3)]


def test_a_table_is_overwritten_with_a_frame_over_itself(warehouse: Warehouse) -> None:
    with warehouse.session() as session:
        session.register("doubled", session.table("t").selectExpr("id", "v * 2 as v"))
        session.execute("INSERT OVERWRITE TABLE t SELECT * FROM doubled")
        session.execute("INSERT INTO t SELECT * FROM doubled")
    assert warehouse.rows() == [(1, 2), (1, 2), (2, 4), (2, 4)]


def test_an_overwrite_waits_for_readers_of_other_sessions(warehouse: Warehouse) -> None:
    with warehouse.session() as reader, warehouse.session() as writer:
        open_result = reader.execute("SELECT * FROM t")
        with pytest.raises(LockTimeoutError):
            writer.execute("INSERT OVERWRITE TABLE t VALUES (9, 9)")
        with pytest.raises(LockTimeoutError):
            writer.execute("TRUNCATE TABLE t")
        assert sorted(open_result.fetchall()) == [(1, 1), (2, 2)]
        writer.execute("TRUNCATE TABLE t")
        assert reader.execute("SELECT * FROM t").fetchall() == []


def test_a_failed_overwrite_leaves_no_base(warehouse: Warehouse) -> None:
    table = Path(warehouse.store.table(NAME).location)
    with warehouse.session() as session, pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        session.execute("INSERT OVERWRITE TABLE t SELECT id / (id - 2), v FROM t")
    assert not list(table.glob("base_*"))
    assert warehouse.rows() == [(1, 1), (2, 2)]
