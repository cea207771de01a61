"""A process is killed in the middle of a write: nothing of it is ever seen, all is cleaned up."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import LockTimeoutError, UnsupportedStatementError
from acidsql.layout.dir_names import parse_directory
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table
from tests.jvm import SPARK_CONF
from tests.processes import PROCESSES

POLICY = TxnPolicy(timeout_s=100, lock_retries=0)
ROWS = [(1, "a"), (2, "b")]


def run_and_die(warehouse: str, verb: str, sql: str) -> None:
    """What a process does that is killed when it first calls the verb."""

    def mortal(kind: type) -> Any:
        def look_up(self: object, name: str) -> Any:
            if name == verb:
                os.kill(os.getpid(), signal.SIGKILL)
            return kind.__getattribute__(self, name)

        return type("Mortal", (kind,), {"__getattribute__": look_up})

    storage = mortal(LocalStorage)()
    path = f"{warehouse}/.acidsql.db"
    store = mortal(SqliteStore)(path, policy=POLICY, clock_ms=lambda: 1_000_000)
    session_over(store, storage, warehouse).execute(sql)


def session_over(store: Any, storage: LocalStorage, warehouse: str) -> Session:
    return Session(
        store=store, engine=SparkEngine(storage, None, SPARK_CONF), storage=storage, policy=POLICY,
        warehouse=warehouse, user="u", host="h",
    )  # fmt: skip


class Warehouse:
    """A table of two rows in two deltas, and the clock that all processes go by."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.table = directory, directory / "t"
        self.now_ms = 1_000_000
        self.store = SqliteStore(
            f"{directory}/.acidsql.db",
            warehouse=str(directory),
            policy=POLICY,
            clock_ms=lambda: self.now_ms,
        )
        self.session = session_over(self.store, LocalStorage(), str(directory))
        self.session.execute(
            "CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')"
        )
        for row in ROWS:
            self.session.execute("INSERT INTO t VALUES (?, ?)", row)

    def kill_at(self, verb: str, sql: str) -> None:
        """Run the statement in a process that is killed when it first calls the verb."""
        process = PROCESSES.Process(target=run_and_die, args=(str(self.directory), verb, sql))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL

    def rows(self) -> list[tuple[Any, ...]]:
        left_behind = frozenset({ProblemKind.LEFT_BEHIND})
        return sorted(check_table(self.store, TableName("default", "t"), left_behind))

    def let_it_time_out(self) -> None:
        self.now_ms += 101_000
        assert len(self.session.run_housekeeper()) == 1

    def directories(self) -> list[str]:
        return sorted(d.name for d in self.table.iterdir())


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    warehouse = Warehouse(tmp_path)
    yield warehouse
    warehouse.session.close()


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("INSERT OVERWRITE t VALUES (3, 'c')", "rename"),
        ("INSERT OVERWRITE t VALUES (3, 'c')", "commit_txn"),
        ("TRUNCATE TABLE t", "commit_txn"),
    ],
)
def test_an_overwrite(warehouse: Warehouse, sql: str, verb: str) -> None:
    warehouse.kill_at(verb, sql)
    assert warehouse.rows() == ROWS
    # Its lock stays until it is known to be dead.
    with pytest.raises(LockTimeoutError):
        warehouse.session.execute("INSERT INTO t VALUES (4, 'd')")
    warehouse.let_it_time_out()
    assert warehouse.rows() == ROWS
    warehouse.session.execute("INSERT INTO t VALUES (4, 'd')")
    assert warehouse.rows() == [*ROWS, (4, "d")]
    warehouse.session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    warehouse.session.run_cleaner()
    assert warehouse.rows() == [*ROWS, (4, "d")]
    assert warehouse.session.execute("CHECK TABLE t").fetchall() == []
    assert [d for d in warehouse.directories() if parse_directory(d)] == ["base_0000005"]


@pytest.mark.parametrize(
    ("kind", "verb", "left"),
    [
        ("major", "rename", "base_0000003"),
        ("minor", "mark_compacted", "delta_0000001_0000003"),
        ("major", "mark_compacted", "base_0000003"),
    ],
)
def test_a_compaction(warehouse: Warehouse, kind: str, verb: str, left: str) -> None:
    warehouse.kill_at(verb, f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
    assert warehouse.rows() == ROWS
    warehouse.now_ms += 101_000
    warehouse.session.run_housekeeper()
    warehouse.session.execute("INSERT INTO t VALUES (4, 'd')")
    warehouse.session.run_worker()
    warehouse.session.run_cleaner()
    assert warehouse.rows() == [*ROWS, (4, "d")]
    warehouse.session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    warehouse.session.run_cleaner()
    assert warehouse.rows() == [*ROWS, (4, "d")]
    assert warehouse.directories() == [left]


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("CREATE OR REPLACE TABLE t (x int)", "drop_table"),
        ("CREATE OR REPLACE TABLE t (x int)", "commit_txn"),
        pytest.param(
            "CREATE OR REPLACE TABLE t AS SELECT k + 1 AS k FROM t",
            "create_table",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "CREATE OR REPLACE TABLE t AS SELECT k + 1 AS k FROM t",
            "commit_txn",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_table_that_was_to_be_replaced(warehouse: Warehouse, sql: str, verb: str) -> None:
    warehouse.kill_at(verb, sql)
    assert warehouse.rows() == ROWS
    warehouse.let_it_time_out()
    warehouse.session.execute("INSERT INTO t VALUES (4, 'd')")
    assert warehouse.rows() == [*ROWS, (4, "d")]
    warehouse.session.execute("CREATE OR REPLACE TABLE t (k int, v string)")
    warehouse.session.execute("INSERT INTO t VALUES (5, 'e')")
    assert warehouse.rows() == [(5, "e")]
    assert not warehouse.table.exists()


@pytest.mark.parametrize("sql", ["CREATE OR REPLACE TABLE t (k int, v string)"])
def test_the_files_of_a_replaced_table_are_of_no_other(warehouse: Warehouse, sql: str) -> None:
    warehouse.kill_at("remove_location", sql)
    assert warehouse.rows() == []
    assert warehouse.directories() == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]
    warehouse.session.execute("INSERT INTO t VALUES (5, 'e')")
    assert warehouse.rows() == [(5, "e")]
    warehouse.session.execute("DROP TABLE t")
    with pytest.raises(UnsupportedStatementError, match="is not empty"):
        warehouse.session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")


@pytest.mark.thorough
@pytest.mark.usefixtures("spark")
def test_a_create_table_as(warehouse: Warehouse) -> None:
    """No table remembers its rows as aborted, so the directory itself has to."""
    acid = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    warehouse.kill_at("create_table", f"CREATE TABLE u {acid} AS SELECT 1 AS k")
    warehouse.let_it_time_out()
    warehouse.now_ms += 1_000_000
    warehouse.session.run_housekeeper()  # nothing is known of it any more
    place = warehouse.directory / "u"
    assert [d.name for d in place.iterdir() if d.is_dir()] == ["delta_0000001_0000001_0000"]
    chosen = f"LOCATION '{place}' TBLPROPERTIES ('transactional' = 'true')"
    with pytest.raises(UnsupportedStatementError, match="that did not finish"):
        warehouse.session.execute(f"CREATE TABLE other (k int) {chosen}")
    shutil.rmtree(place)
    warehouse.session.execute(f"CREATE TABLE u {acid} AS SELECT 2 AS k")
    assert warehouse.session.execute("SELECT * FROM u").fetchall() == [(2,)]
    assert warehouse.session.execute("CHECK TABLE u").fetchall() == []
