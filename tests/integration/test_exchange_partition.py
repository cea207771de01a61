"""EXCHANGE PARTITION when something fails, or others write: the rows are in one of the tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    LockTimeoutError,
    StorageError,
    UnsupportedStatementError,
)
from acidsql.session.session import Session

EXCHANGE = "ALTER TABLE b EXCHANGE PARTITION (p = 1) WITH TABLE a"
QUICK = {"hive.lock.numretries": "0"}


@pytest.fixture
def session(tmp_path: Path, spark: Any) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", spark=spark, config=QUICK) as session:
        for name in "ab":
            session.execute(f"CREATE TABLE {name} (v int) PARTITIONED BY (p int)")
        session.execute("INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)")
        session.execute("DELETE FROM a WHERE v = 2")
        yield session


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    assert session.execute(f"CHECK TABLE {name}").fetchall() == []
    return sorted(session.execute(f"SELECT * FROM {name}").fetchall())


@pytest.mark.parametrize("verb", ["add_partitions", "drop_partitions", "commit_txn"])
def test_a_store_that_fails(session: Session, monkeypatch: pytest.MonkeyPatch, verb: str):
    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(session._store, verb, fail)
        with pytest.raises(StorageError):
            session.execute(EXCHANGE)
    assert (rows(session, "a"), rows(session, "b")) == ([(1, 1), (3, 2)], [])
    session.execute(EXCHANGE)
    assert (rows(session, "a"), rows(session, "b")) == ([(3, 2)], [(1, 1)])


def test_beside_an_open_writer(session: Session, tmp_path: Path):
    with acidsql.connect(tmp_path / "w", config=QUICK) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO a VALUES (9, 1)")
        with pytest.raises(LockTimeoutError):
            session.execute(EXCHANGE)
        other.execute("COMMIT")
    session.execute(EXCHANGE)
    assert (rows(session, "a"), rows(session, "b")) == ([(3, 2)], [(1, 1), (9, 1)])


def test_files_in_the_directory_that_the_partition_would_get(session: Session, tmp_path: Path):
    stray = tmp_path / "w" / "b" / "p=1" / "delta_0000001_0000001_0000"
    stray.mkdir(parents=True)
    (stray / "bucket_00000").write_bytes(b"")
    with pytest.raises(AnalysisError, match="is not empty"):
        session.execute(EXCHANGE)
    assert session.execute("SELECT count(*) FROM a").fetchall() == [(2,)]


def test_an_external_table_keeps_its_files(session: Session, tmp_path: Path):
    session.execute(
        "CREATE EXTERNAL TABLE e (v int) PARTITIONED BY (p int) STORED AS PARQUET"
        f" LOCATION '{tmp_path / 'e'}'"
    )
    session.execute("INSERT INTO e VALUES (1, 1)")
    with pytest.raises(UnsupportedStatementError, match="external table"):
        session.execute("ALTER TABLE b EXCHANGE PARTITION (p = 1) WITH TABLE e")
    assert session.execute("SELECT * FROM e").fetchall() == [(1, 1)]


def test_what_an_aborted_writer_left_is_no_obstacle(session: Session, tmp_path: Path):
    left = tmp_path / "left"
    session.execute("BEGIN")
    session.execute("INSERT INTO b VALUES (99, 1)")
    shutil.copytree(tmp_path / "w" / "b" / "p=1", left)
    session.execute("ROLLBACK")
    shutil.rmtree(tmp_path / "w" / "b" / "p=1", ignore_errors=True)
    shutil.copytree(left, tmp_path / "w" / "b" / "p=1")
    session.execute(EXCHANGE)
    assert (rows(session, "a"), rows(session, "b")) == ([(3, 2)], [(1, 1)])


def test_a_crash_behind_the_commit(session: Session, monkeypatch: pytest.MonkeyPatch):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(session._storage), "remove", die)
        with pytest.raises(KeyboardInterrupt):
            session.execute(EXCHANGE)
    assert session.execute("SELECT * FROM a").fetchall() == [(3, 2)]
    assert session.execute("SELECT * FROM b").fetchall() == [(1, 1)]
    with pytest.raises(AnalysisError, match="has rows already"):
        session.execute("INSERT INTO a VALUES (7, 1)")
