"""A directory that the catalog names and the storage lacks is an error, not an empty table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.row_selection import select_row_files
from acidsql.engines.selection import select_files
from acidsql.errors import MissingFileError
from acidsql.model.table import Table
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine
from tests.unit.engines.tables import EVERYTHING, snapshot, table

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES"
    " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
)
PLAIN = "STORED AS ORC TBLPROPERTIES ('transactional' = 'false')"
KINDS = [
    pytest.param(ACID, id="acid"),
    pytest.param(INSERT_ONLY, id="insert_only"),
    pytest.param(PLAIN, id="plain"),
]


def connect(directory: Path, *, missing_is_empty: bool = False) -> Session:
    storage = LocalStorage(missing_is_empty=missing_is_empty)
    return Session(
        store=MemoryStore(lambda: 1_000_000, TxnPolicy(), str(directory)),
        engine=PythonEngine(storage, None, {}),
        storage=storage,
        policy=TxnPolicy(),
        warehouse=str(directory),
        user="u",
        host="h",
    )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with connect(tmp_path) as session:
        yield session


def rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(session.execute(f"SELECT * FROM {table}").fetchall())


def problems(session: Session, table: str = "t") -> list[tuple[str, str]]:
    found = session.execute(f"CHECK TABLE {table}").fetchall()
    return [(Path(path).name, problem) for _, path, problem, _ in found]


def move_away(directory: Path) -> Path:
    return Path(shutil.move(directory, directory.with_name(f"{directory.name}.away")))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "INSERT INTO t VALUES (2, 'b')",
        "INSERT OVERWRITE t VALUES (2, 'b')",
        "UPDATE t SET v = 'c' WHERE k = 1",
        "DELETE FROM t WHERE k = 1",
        "TRUNCATE TABLE t",
    ],
)
def test_a_missing_table_is_neither_read_nor_written(
    session: Session, tmp_path: Path, sql: str
) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    away = move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=f"directory {tmp_path}/t of table"):
        session.execute(sql)
    assert not (tmp_path / "t").exists()
    assert problems(session) == [("t", "missing directory")]
    away.rename(tmp_path / "t")
    assert rows(session) == [(1, "a")]
    assert problems(session) == []


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_nor_is_one_of_other_kinds_written(
    session: Session, tmp_path: Path, kind: str, verb: str
) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) {kind}")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=r"of table default\.t does not exist"):
        session.execute(f"INSERT {verb} t VALUES (2, 'b')")
    assert not (tmp_path / "t").exists()


def test_a_missing_partition_is_an_error_where_it_is_reached(
    session: Session, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) PARTITIONED BY (d string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    move_away(tmp_path / "t" / "d=1").rename(tmp_path / "away")
    for sql in (
        "SELECT * FROM t",
        "INSERT INTO t PARTITION (d = 1) VALUES (3, 'c')",
        "DELETE FROM t WHERE k = 1 AND d = 1",
        "TRUNCATE TABLE t PARTITION (d = 1)",
    ):
        with pytest.raises(MissingFileError, match=r"t/d=1 of table default\.t does not"):
            session.execute(sql)
    assert not (tmp_path / "t" / "d=1").exists()
    session.execute("INSERT INTO t VALUES (3, 'c', 2), (4, 'd', 3)")
    assert problems(session) == [("d=1", "missing directory")]
    session.execute("MSCK REPAIR TABLE t DROP PARTITIONS")
    assert rows(session) == [(2, "b", "2"), (3, "c", "2"), (4, "d", "3")]
    assert problems(session) == []


def test_msck_without_repair_reports(session: Session, tmp_path: Path) -> None:
    """In the words of Hive 3 and 4, whichever of ADD, DROP and SYNC is asked for."""
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    assert session.execute("MSCK TABLE t").message == "nothing to repair"
    (tmp_path / "t" / "d=1").rename(tmp_path / "d=1")
    (tmp_path / "t" / "d=3").mkdir()
    said = (
        "Partitions not in metastore:\tdefault.t:d=3\n"
        "Partitions missing from filesystem:\tdefault.t:d=1"
    )
    for clause in ("", " ADD PARTITIONS", " DROP PARTITIONS", " SYNC PARTITIONS"):
        assert session.execute(f"MSCK TABLE t{clause}").message == said
    assert session.execute("SHOW PARTITIONS t").fetchall() == [("d=1",), ("d=2",)]
    move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=f"{tmp_path}/t of table"):
        session.execute("MSCK TABLE t")


def test_a_new_partition_needs_the_directory_of_its_table(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d string) {ACID}")
    move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=f"{tmp_path}/t of table"):
        session.execute("INSERT INTO t VALUES (1, 1)")
    assert not (tmp_path / "t").exists()


def test_no_partition_is_dropped_because_the_table_is_gone(
    session: Session, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    away = move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=f"{tmp_path}/t of table"):
        session.execute("MSCK REPAIR TABLE t DROP PARTITIONS")
    away.rename(tmp_path / "t")
    assert rows(session) == [(1, "1"), (2, "2")]


@pytest.mark.parametrize(
    ("made", "sql"),
    [
        (f"(k int) {ACID}", "ALTER TABLE t RENAME TO u"),
        (f"(k int) {PLAIN}", "ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')"),
        (
            f"(k int) {PLAIN}",
            "ALTER TABLE t SET TBLPROPERTIES"
            " ('transactional' = 'true', 'transactional_properties' = 'insert_only')",
        ),
        (f"(k int) PARTITIONED BY (d int) {ACID}", "ALTER TABLE t ADD PARTITION (d = 5)"),
        (f"(k int) PARTITIONED BY (d int) {ACID}", "MSCK REPAIR TABLE t"),
        (f"(k int) {ACID}", "MSCK REPAIR TABLE t"),
    ],
)
def test_a_definition_does_not_take_it_for_empty_either(
    session: Session, tmp_path: Path, made: str, sql: str
) -> None:
    session.execute(f"CREATE TABLE t {made}")
    before = session.execute("DESCRIBE FORMATTED t").fetchall()
    move_away(tmp_path / "t")
    with pytest.raises(MissingFileError, match=f"directory {tmp_path}/t of table"):
        session.execute(sql)
    assert not (tmp_path / "t").exists()
    assert session.execute("SHOW TABLES").fetchall() == [("t",)]
    assert session.execute("DESCRIBE FORMATTED t").fetchall() == before


def test_nor_does_one_of_a_missing_partition(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    away = move_away(tmp_path / "t" / "d=1")
    with pytest.raises(MissingFileError, match=f"directory {tmp_path}/t/d=1 of table"):
        session.execute("ALTER TABLE t PARTITION (d = 1) RENAME TO PARTITION (d = 3)")
    assert session.execute("SHOW PARTITIONS t").fetchall() == [("d=1",), ("d=2",)]
    away.rename(tmp_path / "t" / "d=1")
    session.execute("ALTER TABLE t PARTITION (d = 1) RENAME TO PARTITION (d = 3)")
    assert rows(session) == [(1, "3"), (2, "2")]


def test_what_is_missing_can_be_dropped(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    move_away(tmp_path / "t" / "d=1").rename(tmp_path / "away")
    session.execute("ALTER TABLE t DROP PARTITION (d = 1)")
    assert session.execute("SHOW PARTITIONS t").fetchall() == [("d=2",)]
    move_away(tmp_path / "t")
    session.execute("DROP TABLE t")
    assert session.execute("SHOW TABLES").fetchall() == []


def test_a_compaction_of_what_is_missing_fails(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute("ALTER TABLE t COMPACT 'major'")
    away = move_away(tmp_path / "t")
    session.run_worker()
    [row] = session.execute("SHOW COMPACTIONS").fetchall()
    assert "failed" in row
    assert not (tmp_path / "t").exists()
    away.rename(tmp_path / "t")
    assert rows(session) == [(1,)]


def test_what_may_be_empty_is_no_error(session: Session, tmp_path: Path) -> None:
    """A table and a partition without a write, what was truncated, what an open block has made."""
    place = tmp_path / "still" / "to" / "be" / "made"
    session.execute(f"CREATE EXTERNAL TABLE e (k int) STORED AS ORC LOCATION '{place}'")
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d string) {ACID}")
    assert rows(session, "e") == rows(session) == []
    session.execute("ALTER TABLE t ADD PARTITION (d = 1)")
    assert rows(session) == []
    session.execute("INSERT INTO t VALUES (1, 1)")
    session.execute("TRUNCATE TABLE t")
    assert rows(session) == []
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (2, 2)")
    session.execute("INSERT INTO t VALUES (3, 2)")
    assert rows(session) == [(2, "2"), (3, "2")]
    session.execute("COMMIT")
    session.execute("INSERT INTO e VALUES (1)")
    assert rows(session) == [(2, "2"), (3, "2")]


def test_a_property_lets_a_missing_directory_count_as_empty(tmp_path: Path) -> None:
    with connect(tmp_path, missing_is_empty=True) as session:
        session.execute(f"CREATE TABLE t (k int) {ACID}")
        session.execute("INSERT INTO t VALUES (1)")
        move_away(tmp_path / "t")
        of = snapshot(table(tmp_path / "t", "k int"), 1)
        lenient = LocalStorage(missing_is_empty=True)
        assert select_files(of, of.partitions, EVERYTHING, lenient).inserts == ()
        session.execute("INSERT INTO t VALUES (2)")
        assert rows(session) == [(2,)]


def test_plain_files_are_not_looked_for_in_a_directory_that_is_missing(tmp_path: Path) -> None:
    of = snapshot(plain(table(tmp_path / "t", "k int")), 0)
    with pytest.raises(MissingFileError, match=r"of table default\.t does not exist"):
        select_row_files(of, of.partitions, EVERYTHING, LocalStorage())
    (tmp_path / "t").mkdir()
    assert select_row_files(of, of.partitions, EVERYTHING, LocalStorage()).inserts == ()


class Prefixes(LocalStorage):
    """An object store: a directory is there as long as an object lies below it."""

    has_directories = False

    def exists(self, path: str) -> bool:
        return bool(self.list_files(path)) or Path(path).is_file()


def test_a_prefix_without_objects_is_missing_once_a_write_was_committed(tmp_path: Path) -> None:
    never, once = (snapshot(table(tmp_path / "t", "k int"), mark) for mark in (0, 1))
    aborted = snapshot(table(tmp_path / "t", "k int"), 1, aborted=[1])
    (tmp_path / "t").mkdir()
    for of in (never, aborted):
        assert select_files(of, of.partitions, EVERYTHING, Prefixes()).inserts == ()
    with pytest.raises(MissingFileError, match=r"of table default\.t does not exist"):
        select_files(once, once.partitions, EVERYTHING, Prefixes())
    of = replace(never, table=plain(never.table))
    assert select_row_files(of, of.partitions, EVERYTHING, Prefixes()).inserts == ()


def plain(of: Table) -> Table:
    return replace(of, parameters={})
