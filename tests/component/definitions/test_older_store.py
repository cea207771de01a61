"""A store that was brought back from a backup, beside directories that are newer."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import StorageError, TxnAbortedError
from acidsql.model.names import TableName
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table
from tests.python_engine import PythonEngine

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
STORES = [
    "memory",
    pytest.param("sqlite", marks=pytest.mark.sqlite),
    pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough]),
]
CREATE = f"CREATE TABLE t (k int, v string) {ACID}"
PARTITIONED = f"CREATE TABLE t (k int, v string) PARTITIONED BY (p int) {ACID}"


class Side:
    """A warehouse with a store of its own."""

    def __init__(self, directory: Path, store: Store) -> None:
        self.directory, self.store = directory, store
        self.sessions: list[Session] = []

    def session(self, storage: LocalStorage | None = None) -> Session:
        storage = storage or LocalStorage()
        session = Session(
            store=self.store,
            engine=PythonEngine(storage, None, {}),
            storage=storage,
            policy=TxnPolicy(),
            warehouse=str(self.directory),
            user="u",
            host="h",
        )
        self.sessions.append(session)
        return session

    def run(self, *texts: str) -> None:
        session = self.session()
        for sql in texts:
            session.execute(sql)
            session.run_worker()
            session.run_cleaner()

    def files(self) -> dict[str, bytes]:
        table = self.directory / "t"
        found = (p for p in table.rglob("*") if p.is_file())
        return {str(p.relative_to(table)): p.read_bytes() for p in found}

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(check_table(self.store, TableName("default", "t")))


@pytest.fixture(params=STORES)
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Side]]:
    made: list[Side] = []

    def make(name: str) -> Side:
        directory = tmp_path / name
        directory.mkdir()
        given: dict[str, Any] = {"policy": TxnPolicy(), "warehouse": str(directory)}
        match request.param:
            case "memory":
                store: Store = MemoryStore(lambda: 1_000_000, **given)
            case "sqlite":
                store = SqliteStore(f"{directory}/.acidsql.db", **given)
            case _:
                server = request.getfixturevalue("postgres")
                store = PostgresStore(server.create_database(f"w{uuid.uuid4().hex}"), **given)
        made.append(Side(directory, store))
        return made[-1]

    yield make
    for side in made:
        for session in side.sessions:
            session.close()


def brought_back(
    sides: Callable[[str], Side], before: list[str], after: list[str]
) -> tuple[Side, list[tuple[Any, ...]]]:
    """The store as it was ``before``, the files as they are ``after``; and the rows they hold."""
    newer, older = sides("newer"), sides("older")
    newer.run(*before, *after)
    older.run(*before)
    shutil.rmtree(older.directory / "t")
    shutil.copytree(newer.directory / "t", older.directory / "t")
    return older, newer.rows()


BEFORE = [CREATE, "INSERT INTO t VALUES (1, 'a')"]
MORE = ["INSERT INTO t VALUES (2, 'b')", "INSERT INTO t VALUES (3, 'c')"]
AFTER = [
    pytest.param(MORE, id="inserts"),
    pytest.param([*MORE, "UPDATE t SET v = 'x' WHERE k = 0"], id="update"),
    pytest.param([*MORE, "INSERT OVERWRITE t VALUES (9, 'z')"], id="overwrite"),
    pytest.param([*MORE, "ALTER TABLE t COMPACT 'minor'"], id="minor"),
    pytest.param([*MORE, "ALTER TABLE t COMPACT 'major'"], id="major"),
]


@pytest.mark.parametrize("after", AFTER)
def test_what_lies_there_is_taken_in_before_anything_is_written(
    sides: Callable[[str], Side], after: list[str]
) -> None:
    older, newer_rows = brought_back(sides, BEFORE, after)
    files = older.files()
    for sql in (
        "INSERT INTO t VALUES (4, 'd')",
        "INSERT INTO t VALUES (4, 'd')",
        "INSERT INTO t VALUES (4, 'd')",
        "INSERT OVERWRITE t VALUES (4, 'd')",
        "DELETE FROM t WHERE k = 0",
        "TRUNCATE TABLE t",
    ):
        with pytest.raises(StorageError, match="does not know") as refused:
            older.session().execute(sql)
        assert "MSCK REPAIR TABLE default.t" in str(refused.value)
    session = older.session()
    session.execute("BEGIN")
    with pytest.raises(StorageError, match="does not know"):
        session.execute("INSERT INTO t VALUES (4, 'd')")
    session.execute("COMMIT")
    assert older.files() == files
    assert session.execute("MSCK TABLE t").message == "Write ids not in metastore:\tdefault.t"
    [said] = [session.execute("MSCK REPAIR TABLE t").message]
    assert "Took in write ids up to" in str(said)
    assert older.rows() == newer_rows
    assert session.execute("MSCK REPAIR TABLE t").message == "nothing to repair"
    older.run("INSERT INTO t VALUES (4, 'd')", "INSERT INTO t VALUES (5, 'e')")
    assert older.rows() == sorted([*newer_rows, (4, "d"), (5, "e")])


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_what_was_compacted_since_is_not_read_as_no_rows(
    sides: Callable[[str], Side], kind: str
) -> None:
    create = CREATE.replace("'true')", "'true', 'acidsql.hive4.names' = 'true')")
    before = [create, "INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (2, 'b')"]
    others = [CREATE.replace("TABLE t", "TABLE o"), *(5 * ["INSERT INTO o VALUES (1, 'a')"])]
    after = [*others, f"ALTER TABLE t COMPACT '{kind}'"]
    older, newer_rows = brought_back(sides, before, after)
    session = older.session()
    with pytest.raises(StorageError, match="that were compacted are gone"):
        session.execute("SELECT * FROM t")
    assert [p[2] for p in session.execute("CHECK TABLE t").fetchall()] == ["unreadable"]
    session.execute("MSCK REPAIR TABLE t")
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == newer_rows


def test_a_compaction_hides_nothing_from_who_began_before(sides: Callable[[str], Side]) -> None:
    side = sides("w")
    side.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    reader = side.session()
    reader.execute("BEGIN")
    seen = reader.execute("SELECT * FROM t").fetchall()
    side.run("INSERT INTO t VALUES (2, 'b')", "ALTER TABLE t COMPACT 'major'")
    assert reader.execute("SELECT * FROM t").fetchall() == seen == [(1, "a")]
    reader.execute("COMMIT")


def test_partitions_are_taken_in_too(sides: Callable[[str], Side]) -> None:
    before = [PARTITIONED, "INSERT INTO t VALUES (1, 'a', 1)"]
    after = ["INSERT INTO t VALUES (2, 'b', 2)", "INSERT INTO t VALUES (3, 'c', 1)"]
    older, newer_rows = brought_back(sides, before, after)
    for place in ("", "PARTITION (p = 1)", "PARTITION (p = 2)"):
        row = "(4, 'd')" if place else "(4, 'd', 2)"
        with pytest.raises(StorageError, match="does not know"):
            older.session().execute(f"INSERT INTO t {place} VALUES {row}")
    older.run("MSCK REPAIR TABLE t")
    assert older.rows() == newer_rows
    older.run("INSERT INTO t VALUES (4, 'd', 2)")
    assert older.rows() == sorted([*newer_rows, (4, "d", "2")])


def test_what_an_aborted_write_left_is_not_unknown(sides: Callable[[str], Side]) -> None:
    side = sides("w")
    side.run(CREATE)
    session = side.session()
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    [txn] = [t.txn_id for t in side.store.show_txns()]
    side.store.abort_txns([txn])
    with pytest.raises(TxnAbortedError):
        session.execute("COMMIT")
    left = side.directory / "t" / "delta_0000001_0000001_0000"
    left.mkdir(exist_ok=True)
    (left / "bucket_00000").write_bytes(b"of an aborted write")
    side.run("INSERT INTO t VALUES (2, 'b')")
    assert side.session().execute("MSCK REPAIR TABLE t").message == "nothing to repair"


@pytest.mark.parametrize("columns", ["", "PARTITIONED BY (p int) "])
def test_what_was_open_at_the_backup_is_not_taken_in(
    sides: Callable[[str], Side], columns: str
) -> None:
    """It may have been committed later: by the files alone, nobody can tell."""
    create = CREATE.replace("STORED", f"{columns}STORED")
    newer, older = sides("newer"), sides("older")
    values = [f"VALUES ({k}, 'a'{', 1' if columns else ''})" for k in range(4)]
    for side in newer, older:
        side.run(create, f"INSERT INTO t {values[0]}")
        session = side.session()
        session.execute("BEGIN")
        session.execute(f"INSERT INTO t {values[1]}")
    newer.sessions[-1].execute("COMMIT")
    newer.run(f"INSERT INTO t {values[2]}")
    older.store.abort_txns([t.txn_id for t in older.store.show_txns()])
    shutil.rmtree(older.directory / "t")
    shutil.copytree(newer.directory / "t", older.directory / "t")
    said = older.session().execute("MSCK REPAIR TABLE t").message
    assert said == "Repair: Took in write ids up to 3 of default.t"
    assert [row[0] for row in older.rows()] == [0, 2]
    older.run(f"INSERT INTO t {values[3]}")
    assert [row[0] for row in older.rows()] == [0, 2, 3]


class Counting(LocalStorage):
    """Notes which directories are listed by name."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[str] = []

    def list_directories(self, directory: str) -> list[str]:
        self.listed.append(directory)
        return super().list_directories(directory)


def test_a_session_looks_at_a_place_once(sides: Callable[[str], Side]) -> None:
    """What others write meanwhile has ids that the store knows."""
    side = sides("w")
    side.run(CREATE, PARTITIONED.replace("TABLE t", "TABLE u"))
    storage = Counting()
    first, second = side.session(storage), side.session()
    for k in range(3):
        first.execute(f"INSERT INTO t VALUES ({k}, 'a')")
        second.execute(f"INSERT INTO t VALUES ({k}, 'b')")
        first.execute(f"INSERT INTO u VALUES ({k}, 'a', 1)")
    assert len(side.rows()) == 6
    made = f"{side.directory}/u/p=1"  # looked at once more as it is made, for rows of others
    assert storage.listed == [f"{side.directory}/t", made, made]
