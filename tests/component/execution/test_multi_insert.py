"""A multi-insert over several tables: one transaction, all legs or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import (
    LockTimeoutError,
    StorageError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.execution.result import InsertedLeg, summary
from acidsql.session.session import Session
from acidsql.settings import Settings
from tests.python_engine import PythonEngine

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


class Storage(LocalStorage):
    """Notes the tables in which files are published; fails when it would publish in ``broken``."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[str] = []
        self.broken: str | None = None

    def rename(self, source: str, target: str) -> None:
        table = next(t for t in ("a", "b", "plain") if f"/{t}/" in target)
        if table == self.broken:
            raise StorageError(f"cannot publish in {table}")
        self.published.append(table)
        super().rename(source, target)


class Stage:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.policy = Settings.of(str(directory), config={"hive.lock.numretries": "0"}).policy
        self.store = MemoryStore(lambda: 1_000_000, self.policy, str(directory))
        self.storage = Storage()
        self.ann, self.bob = self.connect("ann"), self.connect("bob")
        for sql in (
            f"CREATE TABLE s (k int, v int) {ACID}",
            f"CREATE TABLE a (k int, v int) {ACID}",
            f"CREATE TABLE b (k int, v int) PARTITIONED BY (d int) {ACID}",
            "CREATE TABLE plain (k int, v int) STORED AS ORC",
        ):
            self.ann.execute(sql)

    def connect(self, user: str) -> Session:
        return Session(
            store=self.store, engine=PythonEngine(self.storage, None, {}), storage=self.storage,
            policy=self.policy, warehouse=str(self.directory), user=user, host=f"{user}s",
            sleep=lambda _: None,
        )  # fmt: skip

    def rows(self, table: str) -> list[tuple[object, ...]]:
        return sorted(self.bob.execute(f"SELECT * FROM {table}").fetchall())

    def files(self, table: str) -> list[str]:
        found = (self.directory / table).rglob("*")
        return sorted(str(p.relative_to(self.directory)) for p in found if p.is_file())


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.ann.close()
    stage.bob.close()


BOTH = "FROM s INSERT INTO a SELECT 1, 10 INSERT INTO b PARTITION (d = 5) SELECT 2, 20"


def test_each_table_has_a_write_id_and_each_leg_a_statement_id(stage: Stage) -> None:
    stage.ann.execute("INSERT INTO a VALUES (0, 0)")
    result = stage.ann.execute(f"{BOTH} INSERT INTO a SELECT 3, 30")
    assert result.write_ids == {"default.a": 2, "default.b": 1}
    assert result.legs == [
        InsertedLeg("default.a", 1),
        InsertedLeg("default.b", 1),
        InsertedLeg("default.a", 1),
    ]
    assert result.rows_inserted == 3
    assert summary(result) == (
        "1 row inserted into default.a, 1 row inserted into default.b, 1 row inserted into"
        f" default.a (txn {result.txn_id}, default.a write id 2, default.b write id 1)"
    )
    assert stage.rows("a") == [(0, 0), (1, 10), (3, 30)]
    assert stage.rows("b") == [(2, 20, "5")]
    directories = {Path(f).parent.as_posix() for f in stage.files("a") + stage.files("b")}
    assert directories == {
        "a/delta_0000001_0000001_0000",
        "a/delta_0000002_0000002_0000",
        "a/delta_0000002_0000002_0002",
        "b/d=5/delta_0000001_0000001_0001",
    }


def test_all_locks_are_asked_for_at_once(stage: Stage) -> None:
    stage.bob.execute("BEGIN")
    stage.bob.execute("INSERT INTO b PARTITION (d = 5) VALUES (9, 90)")
    overwrites = BOTH.replace("INTO b", "OVERWRITE TABLE b")
    with pytest.raises(LockTimeoutError):
        stage.ann.execute(overwrites)
    assert {lock.user for lock in stage.store.show_locks()} == {"bob"}
    assert stage.files("a") == []


@pytest.mark.parametrize("in_block", [False, True])
@pytest.mark.parametrize("broken", ["a", "b"])
def test_a_leg_that_cannot_be_published_takes_the_others_with_it(
    stage: Stage, broken: str, *, in_block: bool
) -> None:
    if in_block:
        stage.ann.execute("BEGIN")
        stage.ann.execute("INSERT INTO a VALUES (0, 0)")
    before = stage.files("a")
    stage.storage.broken = broken
    with pytest.raises(StorageError, match="cannot publish"):
        stage.ann.execute(BOTH)
    assert stage.files("a") == before
    assert stage.files("b") == []
    stage.storage.broken = None
    if in_block:
        stage.ann.execute("COMMIT")
    assert stage.rows("a") == ([(0, 0)] if in_block else [])


def test_a_rollback_removes_what_was_written_to_each_table(stage: Stage) -> None:
    stage.ann.execute("BEGIN")
    stage.ann.execute(BOTH)
    stage.ann.execute("ROLLBACK")
    assert (stage.files("a"), stage.files("b")) == ([], [])


def test_legs_that_meet_in_a_partition_are_refused_before_they_are_published(stage: Stage) -> None:
    stage.ann.execute(BOTH)
    files = stage.files("b")
    sql = (
        "FROM s INSERT INTO a SELECT 1, 10 INSERT INTO b PARTITION (d = 6) SELECT 2, 20"
        " INSERT OVERWRITE TABLE b PARTITION (d) SELECT 3, 30, 7"
    )
    stage.ann.execute(sql)
    assert stage.rows("b") == [(2, 20, "5"), (2, 20, "6"), (3, 30, "7")]
    with pytest.raises(UnsupportedStatementError, match=r"fill default\.b/d=7") as caught:
        stage.ann.execute(sql.replace("d = 6", "d = 7"))
    assert caught.value.code == 10087
    assert set(files) < set(stage.files("b"))
    assert stage.rows("b") == [(2, 20, "5"), (2, 20, "6"), (3, 30, "7")]


@pytest.mark.parametrize(("table", "partition"), [("a", ""), ("b", "PARTITION (d = 5)")])
def test_an_overwrite_by_any_leg_that_would_hide_a_later_write_fails(
    stage: Stage, table: str, partition: str
) -> None:
    stage.ann.execute("BEGIN")
    stage.bob.execute(f"INSERT INTO {table} {partition} VALUES (9, 90)")
    with pytest.raises(WriteConflictError, match="overtaken") as caught:
        stage.ann.execute(BOTH.replace(f"INTO {table}", f"OVERWRITE TABLE {table}"))
    assert caught.value.table == f"default.{table}"
    stage.ann.execute("ROLLBACK")
    assert [row[:2] for row in stage.rows(table)] == [(9, 90)]


def test_plain_tables_are_published_last(stage: Stage) -> None:
    stage.ann.execute("FROM s INSERT OVERWRITE TABLE plain SELECT 1, 10 INSERT INTO a SELECT 2, 20")
    assert stage.storage.published == ["a", "plain"]
    result = stage.ann.execute("FROM s INSERT INTO plain SELECT 3, 30 INSERT INTO a SELECT 4, 40")
    assert result.write_ids == {"default.a": 2}
    stage.storage.broken = "a"
    with pytest.raises(StorageError):
        stage.ann.execute(
            "FROM s INSERT OVERWRITE TABLE plain SELECT 5, 50 INSERT INTO a SELECT 6, 60"
        )
    assert len([f for f in stage.files("plain") if "_attempt" not in f]) == 2
