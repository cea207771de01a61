"""SET LOCATION: no row is lost, doubled or made anew, whatever lies in the new directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import (
    AnalysisError,
    PartitionNotFoundError,
    StorageError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from tests.checks import check_table

ACID = "TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
T = TableName("default", "t")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tmp_path / "w" / "t"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


def rows(session: Session) -> list[tuple[Any, ...]]:
    return sorted(check_table(session._store, T))


def rows_but_unknown(session: Session) -> list[tuple[Any, ...]]:
    """The rows, where a directory of a partition lies there that the catalog does not know."""
    return sorted(check_table(session._store, T, frozenset({ProblemKind.UNKNOWN_PARTITION})))


def move_to(session: Session, place: Path, partition: str = "") -> str:
    return session.execute(f"ALTER TABLE t {partition} SET LOCATION '{place}'").message


def make(session: Session, clauses: str = ACID) -> None:
    session.execute(f"CREATE TABLE t (a int) {clauses}")
    session.execute("INSERT INTO t VALUES (1), (2)")
    session.execute("INSERT INTO t VALUES (3)")


def make_parts(session: Session) -> None:
    session.execute(f"CREATE TABLE t (a int) PARTITIONED BY (p int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")


@pytest.mark.parametrize("clauses", [ACID, f"CLUSTERED BY (a) INTO 2 BUCKETS {ACID}"])
def test_a_copy(session: Session, old: Path, new: Path, clauses: str):
    make(session, clauses)
    shutil.copytree(old, new)
    assert move_to(session, new) == f"OK\n{old} stays as it is."
    session.execute("INSERT INTO t VALUES (4)")
    assert rows(session) == [(1,), (2,), (3,), (4,)]
    assert not list(old.glob("*_0000003_*"))
    assert list(new.glob("*_0000003_*"))
    assert move_to(session, new) == f"OK\n{new} is its directory already."


def test_a_copy_of_an_insert_only_table(session: Session, old: Path, new: Path):
    make(session, INSERT_ONLY)
    shutil.copytree(old, new)
    move_to(session, new)
    session.execute("INSERT INTO t VALUES (4)")
    files = new.rglob("0000*_0")
    assert sorted(a for f in files for a in pa_orc.read_table(f)["a"].to_pylist()) == [1, 2, 3, 4]
    assert session.execute("CHECK TABLE t").fetchall() == []


def lack(place: Path) -> None:
    shutil.rmtree(next(place.glob("delta_0000002*")))


def add(place: Path) -> None:
    shutil.copytree(next(place.glob("delta_0000002*")), place / "delta_0000009_0000009_0000")


def bend(place: Path) -> None:
    [file] = next(place.glob("delta_0000002*")).glob("bucket_*")
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)


def cut(place: Path) -> None:
    [file] = next(place.glob("delta_0000002*")).glob("bucket_*")
    file.write_bytes(file.read_bytes()[:-1])


def empty(place: Path) -> None:
    shutil.rmtree(place)
    place.mkdir()


@pytest.mark.parametrize("spoil", [lack, add, bend, cut, empty, shutil.rmtree])
def test_a_copy_that_differs_is_refused(
    session: Session, old: Path, new: Path, spoil: Callable[[Path], None]
):
    make(session)
    shutil.copytree(old, new)
    spoil(new)
    with pytest.raises(UnsupportedStatementError, match="does not hold the files of"):
        move_to(session, new)
    assert rows(session) == [(1,), (2,), (3,)]
    assert session._store.table(T).location == str(old)


def test_without_the_old_directory_nothing_can_be_compared(session: Session, old: Path, new: Path):
    """The store forgets in time which writes there were: a copy of another day could pass."""
    make(session)
    shutil.copytree(old, new)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    session.run_housekeeper()
    kept = old.with_name("kept")
    old.rename(kept)
    for place in (new, old.with_name("empty")):
        with pytest.raises(UnsupportedStatementError, match="no files that could be compared"):
            move_to(session, place)
    old.mkdir()
    with pytest.raises(UnsupportedStatementError, match="no files that could be compared"):
        move_to(session, new)
    old.rmdir()
    kept.rename(old)
    assert rows(session) == [(1,), (2,), (3,)]


@pytest.mark.parametrize("deep", [False, True])
def test_links_are_no_copy(session: Session, old: Path, new: Path, deep: bool):
    make_parts(session)
    new.mkdir()
    for delta in (old / "p=1").iterdir():
        if not deep:
            (new / delta.name).symlink_to(delta)
            continue
        (new / delta.name).mkdir()
        for file in delta.iterdir():
            (new / delta.name / file.name).symlink_to(file)
    with pytest.raises(UnsupportedStatementError, match="does not hold the files of"):
        move_to(session, new, "PARTITION (p = 1)")
    assert rows(session) == [(1, "1"), (2, "2")]


def test_a_table_without_writes_adopts(session: Session, tmp_path: Path, new: Path):
    session.execute(f"CREATE TABLE other (a int) {ACID}")
    session.execute("INSERT INTO other VALUES (7)")
    session.execute("INSERT INTO other VALUES (8)")
    shutil.copytree(tmp_path / "w" / "other", new)
    session.execute(f"CREATE TABLE t (a int) {ACID}")
    move_to(session, new)
    session.execute("INSERT INTO t VALUES (9)")
    assert rows(session) == [(7,), (8,), (9,)]


def test_files_of_aborted_writes_do_not_come_back(session: Session, old: Path, new: Path):
    make(session)
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (99)")
    shutil.copytree(old, new)
    session.execute("ROLLBACK")
    # As if the one who was to remove them had died.
    shutil.rmtree(old)
    shutil.copytree(new, old)
    move_to(session, new)
    assert not list(old.glob("delta_0000003*"))
    session.run_cleaner()
    session.execute("INSERT INTO t VALUES (4)")
    assert rows(session) == [(1,), (2,), (3,), (4,)]


def test_partitions_go_along(session: Session, old: Path, new: Path, tmp_path: Path):
    make_parts(session)
    session.execute(f"ALTER TABLE t ADD PARTITION (p = 3) LOCATION '{tmp_path / 'three'}'")
    shutil.copytree(old, new)
    move_to(session, new)
    session.execute("INSERT INTO t VALUES (3, 1), (4, 3), (5, 5)")
    assert rows(session) == [(1, "1"), (2, "2"), (3, "1"), (4, "3"), (5, "5")]
    places = {str(p.name): p.location for p in session._store.partitions(T)}
    assert places == {f"p={n}": f"{new}/p={n}" for n in (1, 2, 5)} | {"p=3": f"{tmp_path}/three"}


def test_partitions_stay_if_nothing_is_there(session: Session, old: Path, new: Path):
    make_parts(session)
    move_to(session, new)
    session.execute("INSERT INTO t VALUES (3, 1), (4, 4)")
    assert rows(session) == [(1, "1"), (2, "2"), (3, "1"), (4, "4")]
    places = {str(p.name): p.location for p in session._store.partitions(T)}
    assert places == {"p=1": f"{old}/p=1", "p=2": f"{old}/p=2", "p=4": f"{new}/p=4"}


def test_a_partition(session: Session, old: Path, new: Path):
    make_parts(session)
    shutil.copytree(old / "p=1", new)
    assert move_to(session, new, "PARTITION (p = 1)") == "OK"
    session.execute("INSERT INTO t VALUES (3, 1)")
    assert rows(session) == [(1, "1"), (2, "2"), (3, "1")]
    # The old directory would be that of a new partition p=1, with its rows.
    session.execute("ALTER TABLE t DROP PARTITION (p = 1)")
    session.execute("INSERT INTO t VALUES (4, 1)")
    assert rows(session) == [(2, "2"), (4, "1")]
    assert sorted(p.name for p in old.iterdir()) == ["p=1", "p=2"]
    with pytest.raises(PartitionNotFoundError):
        move_to(session, new, "PARTITION (p = 9)")


def test_a_partition_without_files_adopts_none(session: Session, tmp_path: Path, new: Path):
    make_parts(session)
    session.execute("ALTER TABLE t ADD PARTITION (p = 7)")
    shutil.copytree(tmp_path / "w" / "t" / "p=1", new)
    with pytest.raises(UnsupportedStatementError, match="no files that could be compared"):
        move_to(session, new, "PARTITION (p = 7)")


def test_what_a_crash_leaves_in_the_old_directory_does_not_come_back(
    session: Session, old: Path, new: Path, tmp_path: Path
):
    make_parts(session)
    shutil.copytree(old / "p=1", new)
    shutil.copytree(old / "p=1", tmp_path / "left")
    move_to(session, new, "PARTITION (p = 1)")
    shutil.move(tmp_path / "left", old / "p=1")  # as if nobody had removed it
    assert rows_but_unknown(session) == [(1, "1"), (2, "2")]
    session.execute("ALTER TABLE t DROP PARTITION (p = 1)")
    for sql in ("INSERT INTO t VALUES (4, 1)", "INSERT INTO t PARTITION (p = 1) VALUES (4)"):
        with pytest.raises(AnalysisError, match="has rows already"):
            session.execute(sql)
    with pytest.raises(AnalysisError, match="has rows already"):
        session.insert("t", {"a": [4], "p": [1]})
    with StreamingConnection.builder().table("t").connect(session) as stream:
        stream.begin_transaction()
        stream.write([{"a": 4, "p": 1}])
        with pytest.raises(AnalysisError, match="has rows already"):
            stream.commit_transaction()
    assert rows_but_unknown(session) == [(2, "2")]
    session.execute("INSERT OVERWRITE t PARTITION (p = 1) VALUES (5)")
    assert rows(session) == [(2, "2"), (5, "1")]


def test_a_store_that_fails_leaves_all_as_it_was(
    session: Session, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
):
    make_parts(session)
    shutil.copytree(old / "p=1", new)

    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(session._store, "rename_partition", fail)
        with pytest.raises(StorageError):
            move_to(session, new, "PARTITION (p = 1)")
    assert rows(session) == [(1, "1"), (2, "2")]
    assert session._store.partitions(T)[0].location == f"{old}/p=1"


@pytest.mark.parametrize("place", ["w", "w/t/inner", "w/other", "w/t/p=2", "w/t/p=7"])
def test_a_place_of_others_is_refused(session: Session, tmp_path: Path, place: str):
    make_parts(session)
    session.execute(f"CREATE TABLE other (a int) {ACID}")
    for partition in ("", "PARTITION (p = 1)"):
        with pytest.raises((AnalysisError, UnsupportedStatementError)):
            move_to(session, tmp_path / place, partition)
    assert rows(session) == [(1, "1"), (2, "2")]


def test_a_link_to_the_old_directory_is_refused(session: Session, old: Path, new: Path):
    make(session)
    new.symlink_to(old)
    with pytest.raises(AnalysisError, match="belongs to table"):
        move_to(session, new)


@pytest.mark.parametrize("kind", ["EXTERNAL TABLE", "TABLE"])
def test_a_plain_table_takes_what_is_there(session: Session, new: Path, kind: str):
    session.execute(f"CREATE {kind} t (a string) STORED AS TEXTFILE")
    new.mkdir()
    (new / "file").write_text("hello\n")
    move_to(session, new)
    assert session._store.table(T).location == str(new)
    session.execute("DROP TABLE t")
    assert (new / "file").exists()
