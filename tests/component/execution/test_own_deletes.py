"""What a transaction inserts and deletes itself leaves nothing in its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import StorageError, TxnAbortedError
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table, read_events
from tests.python_engine import PythonEngine

T = TableName("default", "t")
CREATE = "CREATE TABLE t (k int, v string) {} TBLPROPERTIES ('transactional' = 'true'{})"


class Watched(LocalStorage):
    """Before something is renamed, ``meanwhile`` happens."""

    meanwhile: Callable[[str], None] = staticmethod(lambda target: None)

    def rename(self, source: str, target: str) -> None:
        self.meanwhile(target)
        super().rename(source, target)


class Stage:
    def __init__(self, directory: Path, create: str = CREATE.format("", "")) -> None:
        self.store = MemoryStore(lambda: 1_000_000, TxnPolicy(), str(directory))
        self.storage = Watched()
        self.engine = PythonEngine(self.storage, None, {})
        self.session = Session(
            store=self.store, engine=self.engine, storage=self.storage, policy=TxnPolicy(),
            warehouse=str(directory), user="u", host="h",
        )  # fmt: skip
        self.session.execute(create)
        self.location = Path(self.store.table(T).location)

    def update(self, key: int, value: str) -> Any:
        self.engine.key, self.engine.change = key, lambda _: value
        return self.session.execute(f"UPDATE t SET v = '{value}' WHERE k = {key}")

    def delete(self, key: int) -> Any:
        self.engine.key = key
        return self.session.execute(f"DELETE FROM t WHERE k = {key}")

    def rows(self) -> list[Any]:
        """Those that everybody sees, if CHECK TABLE finds nothing."""
        return sorted(check_table(self.store, T))

    def directories(self) -> list[str]:
        found = {p.parent for p in self.location.rglob("bucket_*")}
        return sorted(str(p.relative_to(self.location)) for p in found)

    def own_deletes(self) -> list[Any]:
        """Delete events that aim at a row of their own write id, wherever they lie."""
        files = [p for p in self.location.rglob("bucket_*") if "delete_delta" in str(p)]
        events = [e for p in files for e in read_events(p)]
        return [e for e in events if e.row_id[0] == e.write_id]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    stage.session.execute("INSERT INTO t VALUES (8, 'x'), (9, 'y')")
    yield stage
    stage.session.close()


def own_changes(stage: Stage) -> None:
    stage.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    assert stage.delete(2).rows_deleted == 1
    assert stage.update(3, "z").rows_updated == 1
    assert stage.update(8, "new").rows_updated == 1


AFTER = [(1, "a"), (3, "z"), (8, "new"), (9, "y")]


def test_what_is_committed(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.session.execute("COMMIT")
    assert stage.rows() == AFTER
    assert stage.own_deletes() == []
    assert stage.directories() == [
        "delete_delta_0000002_0000002", "delta_0000001_0000001_0000", "delta_0000002_0000002",
    ]  # fmt: skip


def test_what_needs_nothing_of_it_stays_as_it_is(stage):
    stage.session.execute("BEGIN")
    stage.session.execute("INSERT INTO t VALUES (1, 'a')")
    stage.update(8, "new")
    stage.session.execute("COMMIT")
    assert stage.directories() == [
        "delete_delta_0000002_0000002_0001", "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000", "delta_0000002_0000002_0001",
    ]  # fmt: skip


def test_nothing_is_left(stage):
    stage.session.execute("BEGIN")
    stage.session.execute("INSERT INTO t VALUES (1, 'a')")
    stage.update(1, "b")
    stage.delete(1)
    stage.session.execute("COMMIT")
    assert stage.rows() == [(8, "x"), (9, "y")]
    assert stage.own_deletes() == []


def test_a_lazy_result_keeps_what_it_reads(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    with stage.session.execute("SELECT * FROM t") as result:
        before = set(stage.directories())
        stage.session.execute("COMMIT")
        assert before < set(stage.directories())
        assert stage.rows() == AFTER
        assert result.fetchall() != []
    assert stage.rows() == AFTER
    stage.session.execute("ALTER TABLE t COMPACT 'minor'")
    stage.session.run_worker()
    assert stage.rows() == AFTER
    stage.session.run_cleaner()
    assert stage.rows() == AFTER
    assert stage.directories() == ["delete_delta_0000001_0000002", "delta_0000001_0000002"]
    assert stage.own_deletes() == []


@pytest.mark.parametrize("kind", ["minor", "major"])
@pytest.mark.parametrize("more", [[], ["INSERT INTO t VALUES (5, 'e')"]])
def test_a_compaction_where_nothing_is_left_but_what_a_result_keeps(stage, kind, more):
    """The old directories must not come to light beside new ones that hold no event."""
    stage.session.execute("BEGIN")
    stage.session.execute("INSERT INTO t VALUES (1, 'a')")
    stage.delete(1)
    with stage.session.execute("SELECT * FROM t"):
        stage.session.execute("COMMIT")
    rows = stage.rows()
    assert rows == [(8, "x"), (9, "y")]
    for statement in more:
        stage.session.execute(statement)
    rows = stage.rows()
    stage.session.execute(f"ALTER TABLE t COMPACT '{kind}'")
    stage.session.run_worker()
    assert stage.rows() == rows
    stage.session.run_cleaner()
    assert stage.rows() == rows


def test_a_rollback(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.session.execute("ROLLBACK")
    assert stage.rows() == [(8, "x"), (9, "y")]
    assert stage.directories() == ["delta_0000001_0000001_0000"]


def test_a_statement_that_fails_between(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.storage.meanwhile = fail
    with pytest.raises(StorageError):
        stage.delete(1)
    stage.storage.meanwhile = lambda target: None
    stage.session.execute("COMMIT")
    assert stage.rows() == AFTER
    assert stage.own_deletes() == []


def test_own_rows_only_a_failed_statement_deleted(stage):
    stage.session.execute("BEGIN")
    stage.session.execute("INSERT INTO t VALUES (1, 'a')")
    stage.storage.meanwhile = fail
    with pytest.raises(StorageError):
        stage.delete(1)
    stage.storage.meanwhile = lambda target: None
    stage.session.execute("COMMIT")
    assert stage.rows() == [(1, "a"), (8, "x"), (9, "y")]
    assert stage.directories() == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]


def fail(target: str) -> None:
    raise StorageError("no room left", detail=target)


@pytest.mark.parametrize("name", ["delta_0000002_0000002", "delete_delta_0000002_0000002"])
def test_a_commit_that_cannot_write(stage, name):
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.storage.meanwhile = lambda target: fail(target) if target.endswith(f"/{name}") else None
    with pytest.raises(StorageError):
        stage.session.execute("COMMIT")
    assert stage.rows() == [(8, "x"), (9, "y")]
    assert [p.name for p in stage.location.iterdir()] == ["delta_0000001_0000001_0000"]
    stage.session.execute("BEGIN")
    stage.storage.meanwhile = lambda target: None
    own_changes(stage)
    stage.session.execute("COMMIT")
    assert stage.rows() == AFTER


def test_a_commit_that_was_taken_for_dead(stage):
    """It removes nothing by a name that may be another's by now, and publishes nothing."""
    stage.session.execute("BEGIN")
    own_changes(stage)

    def forget(target: str) -> None:
        stage.store.abort_txns([t.txn_id for t in stage.store.show_txns()])

    put_file = stage.storage.put_file

    def put(source: str, path: str) -> None:
        forget(path)
        put_file(source, path)

    stage.storage.put_file = put
    with pytest.raises(TxnAbortedError):
        stage.session.execute("COMMIT")
    assert not (stage.location / "delta_0000002_0000002").exists()
    assert sorted(stage.rows()) == [(8, "x"), (9, "y")]


def test_an_overwrite_afterwards(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.session.execute("INSERT OVERWRITE t VALUES (7, 'o')")
    stage.session.execute("COMMIT")
    assert stage.rows() == [(7, "o")]


def test_a_lazy_result_outlives_an_overwrite_that_failed(stage):
    """The overwrite has let go of the result, and is not what the table has in the end."""
    stage.session.execute("BEGIN")
    own_changes(stage)
    with stage.session.execute("SELECT * FROM t") as result:
        stage.storage.meanwhile = fail
        with pytest.raises(StorageError):
            stage.session.execute("INSERT OVERWRITE t VALUES (7, 'o')")
        stage.storage.meanwhile = lambda target: None
        before = set(stage.directories())
        stage.session.execute("COMMIT")
        assert before < set(stage.directories())
        assert result.fetchall() != []
    assert stage.rows() == AFTER


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Stage]:
    create = CREATE.format("PARTITIONED BY (d int) CLUSTERED BY (k) INTO 3 BUCKETS", "")
    stage = Stage(tmp_path, create)
    stage.session.execute("INSERT INTO t VALUES (8, 'x', 1), (9, 'y', 2)")
    yield stage
    stage.session.close()


def test_partitions_and_buckets(parts):
    """Of the partitions only that where it was needed is written anew; a new one is among them."""
    parts.session.execute("BEGIN")
    parts.session.execute(
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 3), (5, 'e', 3)"
    )
    assert parts.update(3, "z").rows_updated == 1
    assert parts.delete(4).rows_deleted == 1
    assert parts.update(8, "new").rows_updated == 1
    parts.session.execute("COMMIT")
    assert parts.rows() == [
        (1, "a", "1"), (2, "b", "2"), (3, "z", "3"), (5, "e", "3"), (8, "new", "1"), (9, "y", "2"),
    ]  # fmt: skip
    assert parts.own_deletes() == []
    assert [d for d in parts.directories() if d.startswith(("d=3", "d=2"))] == [
        "d=2/delta_0000001_0000001_0000", "d=2/delta_0000002_0000002_0000",
        "d=3/delete_delta_0000002_0000002", "d=3/delta_0000002_0000002",
    ]  # fmt: skip


def test_two_tables(parts):
    parts.session.execute(CREATE.format("", "").replace("TABLE t", "TABLE s"))
    parts.session.execute("BEGIN")
    for table in ("t", "s"):
        values = "(1, 'a', 1)" if table == "t" else "(1, 'a')"
        parts.session.execute(f"INSERT INTO {table} VALUES {values}")
        parts.engine.key = 1
        parts.session.execute(f"DELETE FROM {table} WHERE k = 1")
    parts.session.execute("COMMIT")
    assert parts.rows() == [(8, "x", "1"), (9, "y", "2")]
    assert check_table(parts.store, TableName("default", "s")) == []


def test_names_of_hive_4(tmp_path):
    stage = Stage(tmp_path, CREATE.format("", ", 'acidsql.hive4.names' = 'true'"))
    stage.session.execute("BEGIN")
    own_changes_of_an_empty_table(stage)
    stage.session.execute("COMMIT")
    assert stage.rows() == [(1, "a"), (3, "z")]
    assert stage.own_deletes() == []
    stage.session.close()


def own_changes_of_an_empty_table(stage: Stage) -> None:
    stage.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    stage.delete(2)
    stage.update(3, "z")


def test_check_table_within_the_transaction_finds_nothing(stage):
    stage.session.execute("BEGIN")
    own_changes(stage)
    assert stage.own_deletes() != []
    assert stage.session.execute("CHECK TABLE t").fetchall() == []
    stage.session.execute("COMMIT")
    assert stage.session.execute("CHECK TABLE t").fetchall() == []


class EarlierEngine(PythonEngine):
    """Commits as the release before did: what a transaction deletes of its own rows stays."""

    def fold(self, *args: Any, **kwargs: Any) -> list[str]:
        return []


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Stage]:
    """A base, and what such a transaction left beside it."""
    stage = Stage(tmp_path)
    for values in ("(8, 'x')", "(9, 'y')"):
        stage.session.execute(f"INSERT INTO t VALUES {values}")
    compact(stage, "major")
    stage.engine.__class__ = EarlierEngine
    stage.session.execute("BEGIN")
    own_changes(stage)
    stage.session.execute("COMMIT")
    stage.engine.__class__ = PythonEngine
    yield stage
    stage.session.close()


def compact(stage: Stage, kind: str) -> None:
    stage.session.execute(f"ALTER TABLE t COMPACT '{kind}'")
    stage.session.run_worker()
    stage.session.run_cleaner()


def test_check_table_names_what_an_earlier_release_left(earlier):
    found = earlier.session.execute("CHECK TABLE t").fetchall()
    assert {kind for _, _, kind, _ in found} == {"own delete"}
    assert {Path(path).parent.name for _, path, _, _ in found} == {
        "delete_delta_0000003_0000003_0001", "delete_delta_0000003_0000003_0002",
    }  # fmt: skip
    assert all("COMPACT 'major'" in detail for *_, detail in found)


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_a_compaction_puts_right_what_an_earlier_release_left(earlier, kind):
    """The rows go; a delete event may stay, which then aims at nothing."""
    compact(earlier, kind)
    assert earlier.rows() == AFTER
    inserts = [p for p in earlier.location.rglob("bucket_*") if "delete_" not in str(p)]
    there = {e.row_id for p in inserts for e in read_events(p)}
    assert [e for e in earlier.own_deletes() if e.row_id in there] == []
