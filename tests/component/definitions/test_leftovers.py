"""What a dead writer left behind never comes back, wherever tables and partitions go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import StorageError
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
POLICY = TxnPolicy(timeout_s=100)
STORES = [
    "memory",
    pytest.param("sqlite", marks=pytest.mark.sqlite),
    pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough]),
]


class Warehouse:
    """A store with a clock, and as many sessions on it as somebody asks for."""

    def __init__(self, directory: Path, make_store: Callable[..., Store]) -> None:
        self.directory = directory
        self.now_ms = 1_000_000
        self.store = make_store(lambda: self.now_ms)
        self.session = self.connect()
        self.dead: list[Session] = []
        """A collected session would roll back; these are only kept."""

    def connect(self) -> Session:
        storage = LocalStorage()
        return Session(
            store=self.store,
            engine=SparkEngine(storage, None, {}),
            storage=storage,
            policy=POLICY,
            warehouse=str(self.directory),
            user="u",
            host="h",
        )

    def die_after(self, *texts: str) -> None:
        """Run statements in a transaction that nobody ends, until it has timed out."""
        writer = self.connect()
        writer.execute("BEGIN")
        for sql in texts:
            writer.execute(sql)
        block = writer._transactions._block
        assert block is not None
        block.txn._heartbeat.stop()
        self.dead.append(writer)
        self.now_ms += 101_000
        assert len(self.store.time_out_txns()) == 1

    def forget_the_dead(self) -> None:
        """The housekeeper's work until nothing more is forgotten."""
        self.now_ms += 1_000_000
        self.store.trim()

    def run(self, *texts: str) -> None:
        for sql in texts:
            self.session.execute(sql)

    def compact(self, place: str) -> None:
        self.run(f"ALTER TABLE {place} COMPACT 'major' AND WAIT")
        assert self.session.run_cleaner() == 1

    def rows(self, table: str = "t") -> list[tuple[Any, ...]]:
        left_behind = frozenset({ProblemKind.LEFT_BEHIND})
        return sorted(check_table(self.store, TableName("default", table), left_behind))


@pytest.fixture(params=STORES)
def warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Warehouse]:
    directory = tmp_path / "w"
    directory.mkdir()

    def make(clock_ms: Callable[[], int]) -> Store:
        given: dict[str, Any] = {"policy": POLICY, "clock_ms": clock_ms}
        given["warehouse"] = str(directory)
        match request.param:
            case "memory":
                return MemoryStore(**given)
            case "sqlite":
                return SqliteStore(f"{directory}/.acidsql.db", **given)
            case _:
                return PostgresStore(request.getfixturevalue("postgres").fresh(), **given)

    warehouse = Warehouse(directory, make)
    warehouse.run(
        f"CREATE TABLE t (id int) PARTITIONED BY (p int) {ACID}", "INSERT INTO t VALUES (1, 1)"
    )
    yield warehouse
    for session in (*warehouse.dead, warehouse.session):
        session.close()


def test_in_the_place_that_a_partition_elsewhere_would_have_had(warehouse, tmp_path):
    warehouse.die_after("INSERT INTO t VALUES (66, 9)")
    warehouse.run(
        f"ALTER TABLE t ADD PARTITION (p = 9) LOCATION '{tmp_path}/elsewhere'",
        "ALTER TABLE t DROP PARTITION (p = 9)",
    )
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO t VALUES (2, 9)")
    assert warehouse.rows() == [(1, "1"), (2, "9")]


def test_a_compaction_of_the_partition_elsewhere(warehouse, tmp_path):
    warehouse.die_after("INSERT INTO t VALUES (66, 9)")
    warehouse.run(
        f"ALTER TABLE t ADD PARTITION (p = 9) LOCATION '{tmp_path}/elsewhere'",
        "INSERT INTO t VALUES (2, 9)",
        "INSERT INTO t VALUES (3, 9)",
    )
    warehouse.compact("t PARTITION (p = 9)")
    warehouse.forget_the_dead()
    warehouse.run("ALTER TABLE t DROP PARTITION (p = 9)", "INSERT INTO t VALUES (4, 9)")
    assert warehouse.rows() == [(1, "1"), (4, "9")]


def test_a_partition_elsewhere_that_gets_the_name(warehouse, tmp_path):
    warehouse.die_after("INSERT INTO t VALUES (66, 9)")
    warehouse.run(
        f"ALTER TABLE t ADD PARTITION (p = 8) LOCATION '{tmp_path}/elsewhere'",
        "ALTER TABLE t PARTITION (p = 8) RENAME TO PARTITION (p = 9)",
        "ALTER TABLE t DROP PARTITION (p = 9)",
    )
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO t VALUES (2, 9)")
    assert warehouse.rows() == [(1, "1"), (2, "9")]


def test_a_partition_that_is_renamed_and_comes_again(warehouse):
    warehouse.die_after("INSERT INTO t VALUES (66, 1)")
    warehouse.run("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 2)")
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO t VALUES (3, 1)")
    assert warehouse.rows() == [(1, "2"), (3, "1")]
    warehouse.compact("t PARTITION (p = 2)")
    warehouse.forget_the_dead()
    assert warehouse.rows() == [(1, "2"), (3, "1")]


def test_a_directory_that_repair_takes_in_and_lets_go(warehouse):
    warehouse.die_after("INSERT INTO t VALUES (66, 9)")
    warehouse.run("MSCK REPAIR TABLE t")
    warehouse.forget_the_dead()
    assert warehouse.rows() == [(1, "1")]
    (warehouse.directory / "t" / "p=9").rename(warehouse.directory / "t" / ".away")
    warehouse.run("MSCK REPAIR TABLE t DROP PARTITIONS")
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO t VALUES (2, 9)")
    assert warehouse.rows() == [(1, "1"), (2, "9")]


def test_a_table_that_is_renamed(warehouse):
    warehouse.die_after("INSERT INTO t VALUES (66, 1), (66, 9)")
    warehouse.run("ALTER TABLE t RENAME TO u")
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO u VALUES (2, 9)")
    assert warehouse.rows("u") == [(1, "1"), (2, "9")]


def test_several_statements_and_kinds_of_directories(warehouse, tmp_path):
    warehouse.die_after(
        "INSERT INTO t VALUES (66, 9)",
        "INSERT INTO t VALUES (66, 8), (67, 9)",
        "INSERT OVERWRITE t PARTITION (p = 7) VALUES (66)",
    )
    for p in (7, 8, 9):
        warehouse.run(
            f"ALTER TABLE t ADD PARTITION (p = {p}) LOCATION '{tmp_path}/{p}'",
            f"ALTER TABLE t DROP PARTITION (p = {p})",
        )
    warehouse.forget_the_dead()
    warehouse.run("INSERT INTO t VALUES (2, 7), (3, 8), (4, 9)")
    assert warehouse.rows() == [(1, "1"), (2, "7"), (3, "8"), (4, "9")]


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_drop_that_fails_half_way_and_a_table_over_what_it_left(
    warehouse, monkeypatch, partitioned
):
    by = "PARTITIONED BY (p int)" if partitioned else ""
    values = "66, 9" if partitioned else "66"
    create = f"CREATE TABLE u (id int) {by} STORED AS ORC"
    warehouse.run(f"{create} TBLPROPERTIES ('transactional' = 'true')")
    warehouse.die_after(f"INSERT INTO u VALUES ({values})")
    storage, location = warehouse.session._storage, f"{warehouse.directory}/u"

    def fail(location: str) -> None:
        raise StorageError("killed", detail=location)

    monkeypatch.setattr(storage, "remove_location", fail)
    assert "stays: killed" in warehouse.session.execute("DROP TABLE u").message
    monkeypatch.undo()
    warehouse.forget_the_dead()
    warehouse.run(f"{create} LOCATION '{location}' TBLPROPERTIES ('transactional' = 'true')")
    if partitioned:
        warehouse.run("MSCK REPAIR TABLE u")
    assert warehouse.rows("u") == []
