"""Files that cannot be of their table or directory: exchanged, or emptied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import acidsql
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.selection import select_files
from acidsql.errors import CorruptFileError
from acidsql.execution.snapshots import read_context
from acidsql.model.names import TableName
from acidsql.orc.reader import read_deletes
from acidsql.ports.engine import TableSnapshot
from acidsql.session.session import Session
from acidsql.txn.transaction import transaction
from tests.python_engine import PythonEngine
from tests.unit.engines.tables import EVERYTHING

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
FIRST = "delta_0000001_0000001_0000/bucket_00000"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        engine = PythonEngine(LocalStorage(), None, {})
        session._dispatch = replace(session._dispatch, engine=engine)
        yield session


def problems(session: Session, table: str = "t") -> set[tuple[str, str]]:
    found = session.execute(f"CHECK TABLE {table}").fetchall()
    return {("/".join(Path(path).parts[-2:]), problem) for _, path, problem, _ in found}


def snapshot(session: Session, table: str = "t") -> TableSnapshot:
    name = TableName("default", table)
    with transaction(session._open_txn()) as txn:
        return read_context(session._store, txn, [session._store.table(name)], {}).tables[name]


def compaction(session: Session) -> str:
    session.execute("ALTER TABLE t COMPACT 'major'")
    session.run_worker()
    return str(session.execute("SHOW COMPACTIONS").fetchall()[-1])


@pytest.mark.parametrize(
    ("mine", "others", "value"),
    [
        ("k int, v bigint", "k int, v string", "'a'"),
        ("k int, v bigint", "k int, w bigint", "1"),
        ("k int, v bigint", "k int, v bigint, w int", "1, 2"),
        ("k int, v struct<a: int>", "k int, v struct<a: string>", "NULL"),
    ],
)
def test_another_tables_file(
    session: Session, tmp_path: Path, mine: str, others: str, value: str
) -> None:
    session.execute(f"CREATE TABLE t ({mine}) {ACID}")
    session.execute(f"CREATE TABLE o ({others}) {ACID}")
    session.execute(f"INSERT INTO t VALUES (1, {'NULL' if 'struct' in mine else 1})")
    session.execute("INSERT INTO t VALUES (2, NULL)")
    session.execute(f"INSERT INTO o VALUES (1, {value})")
    shutil.copyfile(tmp_path / "o" / FIRST, tmp_path / "t" / FIRST)
    assert problems(session) == {(FIRST, "wrong schema")}
    assert "failed" in compaction(session)
    of = snapshot(session)
    with pytest.raises(CorruptFileError, match="does not belong to this table"):
        select_files(of, of.partitions, EVERYTHING, LocalStorage(), tails=True)


@pytest.mark.parametrize("kind", ["transactional", "plain"])
def test_check_table_looks_at_files_of_every_kind(
    session: Session, tmp_path: Path, kind: str
) -> None:
    properties = "'transactional' = 'false'"
    if kind == "transactional":
        properties = "'transactional' = 'true', 'transactional_properties' = 'insert_only'"
    for name, columns in (("t", "k int, v date"), ("o", "k int, v array<int>")):
        session.execute(
            f"CREATE TABLE {name} ({columns}) STORED AS ORC TBLPROPERTIES ({properties})"
        )
        session.execute(f"INSERT INTO {name} VALUES (1, NULL)")
    [mine] = (tmp_path / "t").rglob("000000_0")
    [other] = (tmp_path / "o").rglob("000000_0")
    assert problems(session) == set()
    shutil.copyfile(other, mine)
    assert {problem for _, problem in problems(session)} == {"wrong schema"}


def test_columns_that_were_changed_since_are_no_other_tables(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    session.execute("ALTER TABLE t CHANGE COLUMN k k bigint")
    session.execute("ALTER TABLE t CHANGE COLUMN v w string")
    session.execute("ALTER TABLE t ADD COLUMNS (x int)")
    session.execute("INSERT INTO t VALUES (2, 'b', 3)")
    assert problems(session) == set()


def test_inserts_and_deletes_exchanged(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int, v bigint) {ACID}")
    session.execute("INSERT INTO t VALUES (0, 1)")
    session.execute("DELETE FROM t WHERE k = 0")
    inserts = tmp_path / "t" / FIRST
    deletes = tmp_path / "t" / "delete_delta_0000002_0000002_0000/bucket_00000"
    inserts.rename(tmp_path / "x")
    deletes.rename(inserts)
    (tmp_path / "x").rename(deletes)
    with pytest.raises(CorruptFileError, match="holds inserts where deletes belong"):
        read_deletes(str(deletes))
    of = snapshot(session)
    with pytest.raises(CorruptFileError, match="holds deletes where inserts belong"):
        select_files(of, of.partitions, EVERYTHING, LocalStorage(), tails=True)
    assert "failed" in compaction(session)
    assert {p for p, kind in problems(session) if kind == "wrong event"} == {
        FIRST,
        "delete_delta_0000002_0000002_0000/bucket_00000",
    }


def test_a_file_of_events_without_a_byte(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int, v bigint) {ACID}")
    session.execute("INSERT INTO t VALUES (0, 1)")
    session.execute("INSERT INTO t VALUES (1, 1)")
    (tmp_path / "t" / FIRST).write_bytes(b"")
    of = snapshot(session)
    with pytest.raises(CorruptFileError, match="has no bytes"):
        select_files(of, of.partitions, EVERYTHING, LocalStorage())
    assert "failed" in compaction(session)
    assert problems(session) == {(FIRST, "empty file")}


def test_a_base_without_a_byte(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE t (k int, v bigint) {ACID}")
    session.execute("INSERT OVERWRITE t VALUES (0, 1)")
    (tmp_path / "t" / "base_0000001" / "bucket_00000").write_bytes(b"")
    of = snapshot(session)
    with pytest.raises(CorruptFileError, match="has no bytes"):
        select_files(of, of.partitions, EVERYTHING, LocalStorage())
    assert problems(session) == {("base_0000001/bucket_00000", "empty file")}
