"""CREATE OR REPLACE TABLE when something fails, beside others, and the files that it removes."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.errors import AnalysisError, LockTimeoutError, StorageError
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from tests.checks import check_table

T = TableName("default", "t")
SQL = "CREATE OR REPLACE TABLE t (b string)"


@pytest.fixture
def filled(session: Session) -> Session:
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    return session


@pytest.mark.parametrize("verb", ["drop_table", "create_table", "commit_txn"])
def test_a_store_that_fails(filled: Session, monkeypatch: pytest.MonkeyPatch, verb: str):
    def fail(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(filled._store, verb, fail)
        with pytest.raises(StorageError):
            filled.execute(SQL)
    assert check_table(filled._store, T) == [(1,)]
    filled.execute(SQL)
    filled.execute("INSERT INTO t VALUES ('x')")
    assert check_table(filled._store, T) == [("x",)]


def test_the_directories_take_turns(filled: Session, tmp_path: Path):
    home = tmp_path / "w"
    for _ in range(3):
        filled.execute(SQL)
        filled.execute("INSERT INTO t VALUES ('x')")
        location = Path(filled._store.table(T).location)
        assert [p for p in home.iterdir() if p.name.startswith("t")] == [location]
    assert location.name.startswith("t_")


def test_files_of_others_stay(session: Session, tmp_path: Path):
    given = tmp_path / "given"
    given.mkdir()
    (given / "notes.txt").write_text("mine")
    session.execute(f"CREATE EXTERNAL TABLE t (a string) LOCATION '{given}'")
    session.execute("CREATE OR REPLACE TABLE t (a int)")
    assert (given / "notes.txt").read_text() == "mine"


def test_a_place_of_the_old_table_is_refused(filled: Session, tmp_path: Path):
    for place in (tmp_path / "w" / "t", tmp_path / "w" / "t" / "inside"):
        with pytest.raises(AnalysisError, match="belongs to table"):
            filled.execute(f"CREATE OR REPLACE TABLE t (b int) LOCATION '{place}'")
    assert check_table(filled._store, T) == [(1,)]


@pytest.mark.sqlite
def test_beside_a_writer_and_a_stream(tmp_path: Path):
    config = {"hive.lock.numretries": "0"}
    with (
        acidsql.connect(tmp_path / "w", config=config) as one,
        acidsql.connect(tmp_path / "w", config=config) as other,
    ):
        one.execute("CREATE TABLE t (a int)")
        stream = StreamingConnection.builder().table("t").transaction_batch_size(3).connect(other)
        with stream:
            stream.begin_transaction()
            stream.write([{"a": 1}])
            with pytest.raises(LockTimeoutError):
                one.execute("CREATE OR REPLACE TABLE t (a int)")
            stream.commit_transaction()
            one.execute("CREATE OR REPLACE TABLE t (a int)")
            one.execute("INSERT INTO t VALUES (2)")
            # Its write ids are of the old table.
            with pytest.raises(acidsql.StreamingError):
                stream.begin_transaction()
        assert check_table(one._store, T) == [(2,)]
