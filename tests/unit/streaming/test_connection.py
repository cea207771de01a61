"""acidsql/streaming/connection.py, on real files; all stores."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

import acidsql
from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import (
    AnalysisError,
    CommitStateUnknownError,
    ConfigError,
    LockTimeoutError,
    MissingFileError,
    NoSuchTxnError,
    SerializationError,
    StorageError,
    StreamingConnectionError,
    StreamingError,
    StreamingStateError,
    TableNotFoundError,
    TxnAbortedError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.model.table import Column
from acidsql.model.types import PrimitiveType
from acidsql.model.view import View
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection, StrictDelimitedInputWriter, single_records
from acidsql.streaming import batches as module
from acidsql.txn.entities import LockComponent, LockType, TxnState
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(
    params=[
        "memory",
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough]),
    ]
)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    url = {"memory": "memory:", "sqlite": None}.get(request.param, "")
    if url == "":
        url = request.getfixturevalue("postgres").fresh()
    with acidsql.connect(tmp_path / "w", metastore=url) as session:
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        yield session


def connected(
    session: Session, size: int = 1, table: str = "t", **more: Any
) -> StreamingConnection:
    builder = StreamingConnection.builder().table(table).transaction_batch_size(size)
    for name, value in more.items():
        builder = getattr(builder, name)(value)
    return builder.connect(session)


def rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    """The rows, after a look at all files and names."""
    return sorted(check_table(session._store, TableName("default", table)), key=str)


def home(session: Session, table: str = "t") -> Path:
    return Path(session._store.table(TableName("default", table)).location)


def names(session: Session, table: str = "t") -> list[str]:
    return sorted(str(p.relative_to(home(session, table))) for p in home(session, table).rglob("*"))


def states(session: Session) -> list[TxnState]:
    return [txn.state for txn in session._store.show_txns()]


def add(connection: StreamingConnection, *ids: int, commits: bool = True) -> None:
    connection.begin_transaction()
    connection.write([{"id": i, "v": f"v{i}"} for i in ids])
    connection.commit_transaction() if commits else connection.abort_transaction()


# -- what is visible when --------------------------------------------------------------------------


def test_a_batch_is_read_after_every_step(session: Session) -> None:
    connection = connected(session, 4)
    connection.begin_transaction()
    assert rows(session) == []
    connection.write([{"id": 1, "v": "a"}])
    connection.flush()
    assert rows(session) == []
    connection.write([{"id": 2, "v": "b"}])
    connection.commit_transaction()
    assert rows(session) == [(1, "a"), (2, "b")]
    add(connection, 3, commits=False)
    assert rows(session) == [(1, "a"), (2, "b")]
    add(connection, 4)
    assert rows(session) == [(1, "a"), (2, "b"), (4, "v4")]
    assert "delta_0000001_0000004/bucket_00000_flush_length" in names(session)
    connection.close()
    assert rows(session) == [(1, "a"), (2, "b"), (4, "v4")]
    assert names(session) == [
        "delta_0000001_0000004",
        "delta_0000001_0000004/_orc_acid_version",
        "delta_0000001_0000004/bucket_00000",
    ]
    assert TxnState.OPEN not in states(session)


def test_row_numbers_begin_anew_with_each_write_id(session: Session) -> None:
    connection = connected(session, 3)
    for first in (0, 10):
        connection.begin_transaction()
        connection.write([{"id": first, "v": "x"}])
        connection.flush()
        connection.write([{"id": first + 1, "v": "x"}])
        connection.commit_transaction()
    directory = home(session) / "delta_0000001_0000003"
    table = pa_orc.ORCFile(str(directory / "bucket_00000")).read()
    keys = zip(
        table.column("originalTransaction").to_pylist(),
        table.column("bucket").to_pylist(),
        table.column("rowId").to_pylist(),
        strict=True,
    )
    assert list(keys) == [(w, 536870912, n) for w in (1, 2) for n in (0, 1)]
    connection.close()


def test_a_batch_of_one_writes_deltas_like_those_of_inserts(session: Session) -> None:
    with connected(session) as connection:
        add(connection, 1)
        add(connection, 2, commits=False)
        connection.begin_transaction()
        for i in (3, 4):
            connection.write({"id": i, "v": "x"})
            connection.flush()
        assert rows(session) == [(1, "v1")]
        connection.commit_transaction()
    assert rows(session) == [(1, "v1"), (3, "x"), (4, "x")]
    assert [n for n in names(session) if "/" not in n] == [
        "delta_0000001_0000001_0000",
        "delta_0000003_0000003_0000",
    ]


def test_the_last_commit_of_a_batch_finishes_its_files(session: Session) -> None:
    connection = connected(session, 2)
    add(connection, 1)
    add(connection, 2)
    assert not list(home(session).rglob("*_flush_length"))
    add(connection, 3)
    assert connection.connection_stats.batches_opened == 2
    connection.close()
    assert rows(session) == [(1, "v1"), (2, "v2"), (3, "v3")]


def test_an_empty_transaction_leaves_nothing(session: Session) -> None:
    with connected(session, 2) as connection:
        add(connection)
        add(connection)
    with connected(session) as connection:
        add(connection)
    assert (rows(session), names(session)) == ([], [])


def test_inserts_between_the_transactions_of_a_batch(session: Session) -> None:
    with connected(session, 3) as connection, connected(session, 2) as other:
        add(connection, 1)
        session.execute("INSERT INTO t VALUES (100, 'insert')")
        add(other, 50)
        add(connection, 2)
        session.execute("INSERT INTO t VALUES (101, 'insert')")
        assert [row[0] for row in rows(session)] == [1, 100, 101, 2, 50]
    assert [row[0] for row in rows(session)] == [1, 100, 101, 2, 50]


def test_threads_with_a_connection_each(session: Session) -> None:
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            with connected(session, 3) as connection:
                for step in range(5):
                    add(connection, number * 100 + step, commits=step != 2)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    expected = {n * 100 + s for n in range(4) for s in (0, 1, 3, 4)}
    assert {row[0] for row in rows(session)} == expected


def test_threads_that_share_a_connection_lose_nothing(session: Session) -> None:
    connection, written, is_over = connected(session, 50), 0, threading.Event()
    connection.begin_transaction()

    def write() -> None:
        nonlocal written
        while not is_over.is_set():
            with suppress(StreamingStateError):  # between a commit and the next begin
                written += connection.write({"id": written, "v": "v"})

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(30):
        connection.commit_transaction()
        connection.begin_transaction()
    is_over.set()
    writer.join()
    connection.commit_transaction()
    connection.close()
    assert sorted(row[0] for row in rows(session)) == list(range(written))


# -- partitions and buckets ------------------------------------------------------------------------


def partitioned(session: Session) -> None:
    session.execute(
        "CREATE TABLE p (id int, v string) PARTITIONED BY (d date, k string)"
        f" CLUSTERED BY (id) INTO 3 BUCKETS {ACID}"
    )


def test_the_last_fields_of_records_are_their_partition(session: Session) -> None:
    partitioned(session)
    writer = StrictDelimitedInputWriter()
    with connected(session, 3, "p", record_writer=writer) as connection:
        connection.begin_transaction()
        connection.write(
            "1,a,2026-01-01,x/y\n2,b,2026-01-02,\\N\n3,c,2026-01-01,x/y\n4,d,2026-01-02,"
        )
        connection.flush()
        found = [str(p.name) for p in session._store.partitions(TableName("default", "p"))]
        assert found == ["d=2026-01-01/k=x%2Fy", "d=2026-01-02/k=__HIVE_DEFAULT_PARTITION__"]
        assert rows(session, "p") == []
        connection.commit_transaction()
        connection.begin_transaction()
        connection.write("5,e,2026-01-03,z")
        connection.commit_transaction()
        expected = [
            (1, "a", "2026-01-01", "x/y"),
            (2, "b", "2026-01-02", None),
            (3, "c", "2026-01-01", "x/y"),
            (4, "d", "2026-01-02", None),
            (5, "e", "2026-01-03", "z"),
        ]
        assert rows(session, "p") == expected
    assert rows(session, "p") == expected


def test_a_record_whose_partition_can_have_no_name_is_rejected(session: Session) -> None:
    session.execute(f"CREATE TABLE q (id int) PARTITIONED BY (k string) {ACID}")
    with connected(session, 2, "q") as connection:
        connection.begin_transaction()
        with pytest.raises(SerializationError) as caught:
            connection.write(
                [
                    {"id": 1, "k": "a"},
                    {"id": "x", "k": "a"},
                    {"id": 3, "k": "b" * 800},
                    {"id": 4, "k": "c"},
                    {"id": 5, "k": "é" * 130},
                ]
            )
        assert [(n, c) for n, c, _ in caught.value.rejected] == [(2, "id"), (3, "k"), (5, "k")]
        with pytest.raises(SerializationError, match="has 302 bytes, 255 are allowed"):
            connection.write({"id": 6, "k": "b" * 300})
        connection.commit_transaction()
    assert rows(session, "q") == [(1, "a"), (4, "c")]


def test_static_values_name_one_partition(session: Session) -> None:
    partitioned(session)
    with connected(session, 2, "p", static_partition_values=[date(2026, 1, 1), "x"]) as connection:
        connection.begin_transaction()
        connection.write({"id": 1, "v": "a"})
        connection.commit_transaction()
    assert rows(session, "p") == [(1, "a", "2026-01-01", "x")]


def test_what_the_partitions_of_a_stream_are_is_recorded(session: Session) -> None:
    partitioned(session)
    store, name = session._store, TableName("default", "p")
    with connected(session, 2, "p") as connection:
        connection.begin_transaction()
        connection.write({"id": 1, "v": "a", "d": date(2026, 1, 1), "k": "x"})
        connection.commit_transaction()
        connection.begin_transaction()
    assert {(w.write_id, w.partition) for w in store.committed_writes(name)} == {
        (1, "d=2026-01-01/k=x")
    }


# -- strict and lenient ----------------------------------------------------------------------------


def test_a_record_that_does_not_fit_loses_nothing_else(session: Session) -> None:
    with connected(session, 2) as connection:
        connection.begin_transaction()
        with pytest.raises(SerializationError, match='record 2, column "id": the type holds') as at:
            connection.write([{"id": 1, "v": "a"}, {"id": 2**31, "v": "b"}, {"id": 3, "v": "c"}])
        assert at.value.rejected == ((2, "id", "the type holds -2147483648 to 2147483647"),)
        connection.write({"id": 4, "v": "d"})
        connection.commit_transaction()
        assert rows(session) == [(1, "a"), (3, "c"), (4, "d")]
        stats = connection.connection_stats
        assert (stats.records_written, stats.records_rejected) == (3, 1)


@pytest.mark.parametrize("lenient", [False, True])
def test_a_null_where_none_may_be_rejects_its_record(session: Session, lenient: bool) -> None:
    session.execute(f"CREATE TABLE n (id int NOT NULL, v string NOT NULL) {ACID}")
    writer = StrictDelimitedInputWriter(lenient=lenient)
    with connected(session, table="n", record_writer=writer) as connection:
        connection.begin_transaction()
        with pytest.raises(SerializationError, match='record 2, column "id": it must not be null'):
            connection.write(b"1,a\n\\N,b\n3,\\N\n\\N,\\N\n5,e\n")
        connection.write(b"6,f")
        with pytest.raises(SerializationError, match='record 1, column "v": it must not be null'):
            connection.write(b"7,\\N")
        connection.commit_transaction()
    assert rows(session, "n") == [(1, "a"), (5, "e"), (6, "f")]


def test_a_lenient_writer_counts_what_it_changes(session: Session) -> None:
    writer = StrictDelimitedInputWriter(lenient=True)
    with connected(session, record_writer=writer) as connection:
        connection.begin_transaction()
        assert connection.write("1,a\nx,b\n3\n4,d,e") == 4
        connection.commit_transaction()
        stats = connection.connection_stats
        assert (stats.values_nulled, stats.fields_dropped, stats.records_rejected) == (2, 1, 0)
    assert rows(session) == [(1, "a"), (3, None), (4, "d"), (None, "b")]


def test_arrow_tables_go_by_name(session: Session) -> None:
    with connected(session) as connection:
        connection.begin_transaction()
        connection.write(pa.table({"V": pa.array(["a"], pa.large_string()), "ID": [1]}))
        connection.write(pa.RecordBatch.from_pydict({"id": [2], "v": ["b"]}))
        connection.commit_transaction()
    assert rows(session) == [(1, "a"), (2, "b")]


def test_rows_are_flushed_when_they_are_many(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_BYTES", 100)
    with connected(session, 2) as connection:
        connection.begin_transaction()
        for i in range(20):
            connection.write([{"id": i, "v": "x" * 10}])
        assert connection.connection_stats.flushes > 1
        assert rows(session) == []
        connection.commit_transaction()
        assert len(rows(session)) == 20


def test_single_records_are_flushed_when_they_are_many(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_BYTES", 100)
    monkeypatch.setattr(single_records, "_ROWS_MAX", 4)
    with connected(session, 2) as connection:
        connection.begin_transaction()
        for i in range(20):
            connection.write({"id": i, "v": "x" * 10})
            assert connection.connection_stats.records_written == i + 1
        assert connection.connection_stats.flushes > 1
        connection.commit_transaction()
    assert len(rows(session)) == 20


def test_single_records_keep_their_place_among_others(session: Session, tmp_path: Path) -> None:
    with connected(session, 2) as connection:
        connection.begin_transaction()
        assert connection.write({"id": 1, "v": "a"}) == 1
        assert connection.write([{"id": 2, "v": "b"}, {"id": 3, "v": "c"}]) == 2
        assert connection.write({"id": 4, "v": None}) == 1
        assert connection.write({"ID": Decimal(5), "V": "e"}) == 1
        assert connection.write({"id": 6, "v": "f"}) == 1
        connection.commit_transaction()
        assert connection.connection_stats.records_written == 6
    (file,) = (tmp_path / "w").rglob("bucket_00000")
    stored = pa_orc.read_table(file)["row"].to_pylist()
    assert [(row["id"], row["v"]) for row in stored] == [
        (1, "a"), (2, "b"), (3, "c"), (4, None), (5, "e"), (6, "f"),
    ]  # fmt: skip


def test_single_records_of_an_aborted_transaction_are_gone(session: Session) -> None:
    with connected(session, 2) as connection:
        connection.begin_transaction()
        connection.write({"id": 1, "v": "a"})
        connection.abort_transaction()
        connection.begin_transaction()
        connection.write({"id": 2, "v": "b"})
        connection.commit_transaction()
        assert connection.connection_stats.records_written == 2
    assert rows(session) == [(2, "b")]


# -- states ----------------------------------------------------------------------------------------


def test_calls_out_of_order(session: Session) -> None:
    connection = connected(session, 2)
    missing = "Transaction batch is null. Missing beginTransaction?"
    for call in (connection.commit_transaction, connection.abort_transaction, connection.flush):
        with pytest.raises(StreamingStateError, match=missing):
            call()
    with pytest.raises(StreamingStateError, match=missing):
        connection.write({"id": 1, "v": "a"})
    connection.begin_transaction()
    with pytest.raises(StreamingStateError, match="another one is open"):
        connection.begin_transaction()
    connection.commit_transaction()
    with pytest.raises(StreamingStateError, match="Transaction state is not OPEN"):
        connection.write({"id": 1, "v": "a"})
    connection.close()
    connection.close()
    with pytest.raises(StreamingStateError, match="closed streaming connection"):
        connection.begin_transaction()
    with pytest.raises(StreamingStateError, match="Streaming connection is closed already"):
        connection.commit_transaction()


def test_closing_aborts_what_has_not_ended(session: Session) -> None:
    with connected(session, 5) as connection:
        add(connection, 1)
        connection.begin_transaction()
        connection.write({"id": 2, "v": "b"})
        connection.flush()
    stats = connection.connection_stats
    assert (stats.committed_transactions, stats.aborted_transactions) == (1, 4)
    assert rows(session) == [(1, "v1")]
    assert TxnState.OPEN not in states(session)


@pytest.mark.sqlite
@pytest.mark.parametrize("has_own_session", [False, True])
def test_a_session_that_is_closed_ends_its_streams(tmp_path: Path, has_own_session: bool) -> None:
    with acidsql.connect(tmp_path / "w") as session:
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        own = acidsql.connect(tmp_path / "w")
        if has_own_session:
            connection = StreamingConnection.builder().table("t").connect(warehouse=tmp_path / "w")
        else:
            connection = connected(own, 3)
        add(connection, 1)
        connection.begin_transaction()
        connection.write({"id": 2, "v": "v2"})
        (connection._on_close or own.close)()
        assert [s for s in states(session) if s is TxnState.OPEN] == []
        with pytest.raises(StreamingStateError, match="closed"):
            connection.commit_transaction()
        connection.close()
        assert rows(session) == [(1, "v1")]
        own.close()


def test_an_error_in_the_with_block_aborts(session: Session) -> None:
    connection = connected(session, 2)

    def fail() -> None:
        with connection:
            connection.begin_transaction()
            connection.write({"id": 1, "v": "a"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert rows(session) == []
    assert TxnState.OPEN not in states(session)


FORKS = """
import os, sys, warnings, acidsql
from acidsql.streaming import StreamingConnection
warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
builder = StreamingConnection.builder().table("t").transaction_batch_size(2)
connection = builder.connect(warehouse=sys.argv[1])
connection.begin_transaction()
connection.write({"id": 1, "v": "a"})
connection.flush()
if os.fork() == 0:
    connection.close()
    for call in (connection.commit_transaction, connection.begin_transaction):
        try:
            call()
        except acidsql.ForkError:
            print("ForkError", flush=True)
    os._exit(0)
os.wait()
connection.commit_transaction()
connection.close()
"""


@pytest.mark.sqlite
def test_a_forked_child_ends_nothing_of_its_parent(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path / "w") as session:
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        command = [sys.executable, "-c", FORKS, str(tmp_path / "w")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("ForkError\nForkError\n", "")
        assert rows(session) == [(1, "a")]


def test_a_lock_is_not_waited_for(session: Session) -> None:
    store = session._store
    rival = store.open_txn("bob", "host")
    exclusive = LockComponent(LockType.EXCLUSIVE, "default", "t")
    store.lock(rival, [exclusive], "bob", "host")
    connection = connected(session, 2)
    with pytest.raises(LockTimeoutError, match="at once"):
        connection.begin_transaction()
    store.abort_txn(rival)
    add(connection, 1)
    assert rows(session) == [(1, "v1")]
    connection.close()


def test_a_failure_kills_the_batch(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connected(session, 3)
    add(connection, 1)

    def refuse(self: LocalStorage, path: str, data: bytes, size: int) -> None:
        with open(path, "ab") as file:
            file.write(data[:7])
        raise StorageError("the disk is full")

    monkeypatch.setattr(LocalStorage, "append", refuse)
    connection.begin_transaction()
    connection.write({"id": 2, "v": "b"})
    with pytest.raises(StorageError, match="disk is full"):
        connection.commit_transaction()
    monkeypatch.undo()
    with pytest.raises(StreamingStateError, match="closed streaming connection") as caught:
        connection.begin_transaction()
    assert "disk is full" in str(caught.value)
    assert TxnState.OPEN not in states(session)
    # The end of the file is unfinished, so the side file is still needed.
    assert list(home(session).rglob("*_flush_length"))
    assert rows(session) == [(1, "v1")]
    session.execute("INSERT INTO t VALUES (5, 'e')")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows(session) == [(1, "v1"), (5, "e")]


def test_a_batch_that_others_aborted_says_so(session: Session) -> None:
    connection = connected(session, 3)
    add(connection, 1)
    connection.begin_transaction()
    connection.write({"id": 2, "v": "b"})
    session._store.abort_txns([t.txn_id for t in session._store.show_txns()])
    with pytest.raises(TxnAbortedError, match="already aborted"):
        connection.commit_transaction()
    with pytest.raises(StreamingStateError):
        connection.begin_transaction()
    assert rows(session) == [(1, "v1")]


class LosesAnswers(MemoryStore):
    """Commits when it is asked for the last time, and says nothing of it."""

    late: Callable[[], None] | None = None

    def commit_txn(self, *args: Any) -> None:
        if self.late is None:
            super().commit_txn(*args)
            return
        self.late = lambda: MemoryStore.commit_txn(self, *args)
        raise StorageError("the answer is lost")

    def abort_txns(self, txn_ids: Any, reason: str = "") -> Any:
        if self.late is not None:
            self.late()
        return super().abort_txns(txn_ids, reason)


@pytest.mark.parametrize("size", [1, 3])
def test_what_may_be_committed_is_not_removed(tmp_path: Path, size: int) -> None:
    store, storage = LosesAnswers(lambda: 1, TxnPolicy(), str(tmp_path)), LocalStorage()
    with Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(tmp_path), user="ann", host="host",
    ) as session:  # fmt: skip
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        connection = connected(session, size)
        connection.begin_transaction()
        connection.write({"id": 1, "v": "a"})
        store.late = lambda: None
        with pytest.raises(CommitStateUnknownError):
            connection.commit_transaction()
        store.late = None
        assert rows(session) == [(1, "a")]


def test_an_abort_removes_no_files_of_another_table(session: Session) -> None:
    connection = connected(session)
    connection.begin_transaction()
    connection.write({"id": 1, "v": "a"})
    connection.flush()
    session._store.abort_txns([connection.txn_id])
    session.execute("DROP TABLE t")
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (2, 'new')")
    assert names(session)[0] == "delta_0000001_0000001_0000"
    connection.abort_transaction()
    assert rows(session) == [(2, "new")]


# -- what others do to the table meanwhile ---------------------------------------------------------


def overwrite(session: Session, table: str = "t") -> None:
    session.execute(f"TRUNCATE TABLE {table}")


def test_an_overwrite_hides_no_later_rows_of_a_batch(session: Session) -> None:
    connection = connected(session, 4)
    add(connection, 1)
    overwrite(session)
    assert rows(session) == []
    add(connection, 2)
    assert rows(session) == [(2, "v2")]
    assert connection.connection_stats.batches_opened == 2
    connection.close()
    assert rows(session) == [(2, "v2")]


def test_an_overwritten_partition_ends_a_dynamic_batch(session: Session) -> None:
    partitioned(session)
    record = {"id": 1, "v": "a", "d": date(2026, 1, 1), "k": "x"}
    connection = connected(session, 4, "p")
    connection.begin_transaction()
    connection.write(record)
    connection.commit_transaction()
    overwrite(session, "p")
    connection.begin_transaction()
    connection.write(record)
    with pytest.raises(WriteConflictError, match="overtaken"):
        connection.commit_transaction()
    assert rows(session, "p") == []
    with connected(session, 4, "p") as connection:
        connection.begin_transaction()
        connection.write(record)
        connection.commit_transaction()
    assert rows(session, "p") == [(1, "a", "2026-01-01", "x")]


@pytest.mark.parametrize("ends", ["begin", "close"])
def test_the_end_of_a_batch_touches_no_files_of_another_table(session: Session, ends: str) -> None:
    """Between its transactions a batch has no lock, so its table may be renamed."""
    connection = connected(session, 3)
    add(connection, 1)
    session.execute("ALTER TABLE t RENAME TO u")
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    other = connected(session, 3)
    add(other, 7)
    [side] = home(session).rglob("*_flush_length")
    if ends == "begin":
        with pytest.raises(StreamingError, match="dropped"):
            connection.begin_transaction()
    else:
        connection.close()
    assert side.exists()
    add(other, 8)
    other.close()
    assert [row[0] for row in rows(session)] == [7, 8]
    assert [row[0] for row in rows(session, "u")] == [1]


def test_a_dropped_partition_begins_anew(session: Session) -> None:
    partitioned(session)
    with connected(session, 3, "p") as connection:
        for key, drops in (("x", False), ("y", True), ("x", False)):
            connection.begin_transaction()
            connection.write({"id": 1, "v": "a", "d": date(2026, 1, 1), "k": key})
            connection.commit_transaction()
            if drops:
                session.execute("ALTER TABLE p DROP PARTITION (d = '2026-01-01', k = 'x')")
                assert rows(session, "p") == [(1, "a", "2026-01-01", "y")]
    assert rows(session, "p") == [(1, "a", "2026-01-01", key) for key in "xy"]


@pytest.mark.parametrize(
    "changes",
    [
        ["ALTER TABLE q PARTITION (p = 1) SET LOCATION '{new}'"],
        ["ALTER TABLE q PARTITION (p = 1) RENAME TO PARTITION (p = 3)", "ADD"],
        ["ALTER TABLE q PARTITION (p = 1) RENAME TO PARTITION (p = 3)", "INSERT"],
    ],
)
def test_a_partition_that_has_moved_ends_the_batch(
    session: Session, tmp_path: Path, changes: list[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    session.execute(f"CREATE TABLE q (id int) PARTITIONED BY (p int) {ACID}")
    session.execute(f"ALTER TABLE q ADD PARTITION (p = 1) LOCATION '{old}'")
    connection = connected(session, 3, "q")
    add_to(connection, 1)
    shutil.copytree(old, new)
    short = {
        "ADD": "ALTER TABLE q ADD PARTITION (p = 1)",
        "INSERT": "INSERT INTO q PARTITION (p = 1) VALUES (9)",
    }
    for sql in changes:
        session.execute(short.get(sql, sql).format(new=new))
    before = rows(session, "q")
    with pytest.raises(StreamingError, match="was moved"):
        add_to(connection, 1)
    assert rows(session, "q") == before
    with connected(session, 3, "q") as again:
        add_to(again, 1)
    assert rows(session, "q") == sorted([*before, (1, "1")], key=str)


def test_side_files_are_removed_wherever_the_partitions_are(
    session: Session, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE q (id int) PARTITIONED BY (p int) {ACID}")
    session.execute(f"ALTER TABLE q ADD PARTITION (p = 1) LOCATION '{tmp_path / 'old'}'")
    with connected(session, 2, "q") as connection:
        add_to(connection, 1)
        add_to(connection, 2)
    assert rows(session, "q") == [(1, "1"), (2, "2")]
    assert not [*tmp_path.rglob("*_flush_length")]


def add_to(connection: StreamingConnection, number: int) -> None:
    """One transaction with one row, which is called as its partition is."""
    connection.begin_transaction()
    connection.write({"id": number, "p": number})
    connection.commit_transaction()


def test_a_file_that_vanished_ends_the_batch(session: Session) -> None:
    connection = connected(session, 3)
    add(connection, 1)
    next(home(session).rglob("bucket_00000")).unlink()
    connection.begin_transaction()
    connection.write({"id": 2, "v": "b"})
    with pytest.raises(MissingFileError):
        connection.commit_transaction()


def test_a_file_that_somebody_changed_ends_the_batch(session: Session) -> None:
    connection = connected(session, 3)
    add(connection, 1)
    with next(home(session).rglob("bucket_00000")).open("ab") as file:
        file.write(b"x")
    connection.begin_transaction()
    connection.write({"id": 2, "v": "b"})
    with pytest.raises(StorageError, match="bytes, not"):
        connection.commit_transaction()
    assert rows(session) == [(1, "v1")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["ALTER TABLE t ADD COLUMNS (more int)"], "was altered"),
        (["ALTER TABLE t SET TBLPROPERTIES ('immutable' = 'true')"], "was altered"),
        (["DROP TABLE t"], "was dropped"),
        (["DROP TABLE t", f"CREATE TABLE t (id int, v string) {ACID}"], "was dropped"),
    ],
)
def test_a_table_that_was_changed_ends_the_batch(
    session: Session, change: list[str], message: str
) -> None:
    connection = connected(session, 3)
    add(connection, 1)
    for statement in change:
        session.execute(statement)
    with pytest.raises((StreamingError, NoSuchTxnError), match=message):
        connection.begin_transaction()
    with pytest.raises(StreamingStateError):
        connection.begin_transaction()
    assert TxnState.OPEN not in states(session)


@pytest.mark.parametrize("change", ["DROP TABLE t", "ALTER TABLE t RENAME TO u"])
@pytest.mark.parametrize("begun", [1, 2])
def test_a_batch_hides_no_rows_of_a_table_made_anew(
    session: Session, change: str, begun: int
) -> None:
    """The new table would give the batch's next transaction the same write id."""
    connection = connected(session, 3)
    for _ in range(begun):
        connection.begin_transaction()
        connection.commit_transaction()
    session.execute(change)
    session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
    for number in range(begun):
        session.execute(f"INSERT INTO t VALUES ({number}, 'theirs')")
    with pytest.raises((StreamingError, NoSuchTxnError), match="was dropped"):
        connection.begin_transaction()
    assert rows(session) == [(number, "theirs") for number in range(begun)]


def test_compaction_and_cleaning_leave_an_open_batch_alone(session: Session) -> None:
    session.execute("INSERT INTO t VALUES (100, 'a')")
    session.execute("INSERT INTO t VALUES (101, 'b')")
    connection = connected(session, 4)
    add(connection, 1)
    add(connection, 2, commits=False)

    def compact() -> None:
        session.execute("INSERT INTO t VALUES (102, 'c')")
        session.execute("ALTER TABLE t COMPACT 'major'")
        session.run_worker()
        session.run_cleaner()

    compact()
    kept = rows(session)
    assert {row[0] for row in kept} == {1, 100, 101, 102}
    assert "delta_0000003_0000006" in names(session)
    assert "base_0000002" in names(session)
    add(connection, 3)
    connection.close()
    compact()
    assert {row[0] for row in rows(session)} == {1, 3, 100, 101, 102}
    assert "delta_0000003_0000006" not in names(session)


def test_an_aborted_transaction_is_not_forgotten_while_its_rows_are_there(
    tmp_path: Path,
) -> None:
    now = [1_000_000]
    store = MemoryStore(lambda: now[0], TxnPolicy(), str(tmp_path))
    storage = LocalStorage()
    with Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(tmp_path), user="ann", host="host",
    ) as session:  # fmt: skip
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        session.execute("INSERT INTO t VALUES (0, 'before')")
        connection = connected(session, 2)
        add(connection, 1)
        add(connection, 2, commits=False)
        for _ in range(3):
            now[0] += 1_000_000
            session.run_cleaner()
            assert [row[0] for row in rows(session)] == [0, 1]
        session.execute("ALTER TABLE t COMPACT 'major'")
        session.run_worker()
        session.run_cleaner()
        now[0] += 1_000_000
        session.run_cleaner()
        assert store.aborted_writes() == []
        assert [row[0] for row in rows(session)] == [0, 1]


class Pausing(LocalStorage):
    """Something happens before the next directory is made."""

    before: Callable[[], None] | None = None

    def make_directory(self, path: str) -> None:
        before, self.before = self.before, None
        if before is not None:
            before()
        super().make_directory(path)


@pytest.mark.parametrize("size", [1, 3])
def test_a_writer_that_overslept_its_time_out_publishes_nothing(tmp_path: Path, size: int) -> None:
    """The store has forgotten its write id, which then counts as committed."""
    now = [1_000_000]
    store, storage = MemoryStore(lambda: now[0], TxnPolicy(), str(tmp_path)), Pausing()
    with Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(tmp_path), user="ann", host="host",
    ) as session:  # fmt: skip
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        session.execute("INSERT INTO t VALUES (0, 'before')")
        connection = connected(session, size)
        connection.begin_transaction()
        connection.write({"id": 1, "v": "late"})

        def sleep() -> None:
            now[0] += 1_000_000
            session.run_housekeeper()
            now[0] += 1_000_000
            session.run_cleaner()
            session.run_housekeeper()
            assert not store.valid_txns().aborted

        storage.before = sleep
        with pytest.raises((TxnAbortedError, NoSuchTxnError)):
            connection.commit_transaction()
        assert rows(session) == [(0, "before")]


# -- what cannot be streamed into ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("'transactional' = 'false'", "not an Acid table"),
        ("'transactional' = 'true', 'immutable' = 'true'", "is immutable"),
        ("'transactional' = 'true', 'transactional_properties' = 'insert_only'", "not an Acid"),
    ],
)
def test_tables_that_take_no_streams(session: Session, properties: str, message: str) -> None:
    session.execute(f"CREATE TABLE u (id int) STORED AS ORC TBLPROPERTIES ({properties})")
    with pytest.raises(StreamingConnectionError, match=message):
        connected(session, table="u")


def test_a_view_takes_no_streams(session: Session) -> None:
    column = Column("id", PrimitiveType("int"))
    view = View(TableName("default", "w"), (column,), "SELECT 1", "SELECT 1 AS id")
    session.stream_scope().store.create_view(view)
    with pytest.raises(StreamingConnectionError, match=r"default\.w is a view"):
        connected(session, table="w")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda b, s: b.connect(s), StreamingConnectionError, "Table cannot be null"),
        (lambda b, s: b.table("no").connect(s), TableNotFoundError, "default.no"),
        (lambda b, s: b.table("t").record_writer(None).connect(s), StreamingConnectionError,
         "Record writer cannot be null"),
        (lambda b, s: b.table("t").transaction_batch_size(0).connect(s), StreamingConnectionError,
         "no size"),
        (lambda b, s: b.table("t").transaction_batch_size(10**6).connect(s),
         StreamingConnectionError, "too large"),
        (lambda b, s: b.table("t").static_partition_values(["x"]).connect(s),
         StreamingConnectionError, "not partitioned"),
        (lambda b, s: b.table("\ud800").connect(s), AnalysisError, "not valid Unicode"),
        (lambda b, s: b.table("t").database("\ud800").connect(s), AnalysisError, "not valid"),
        (lambda b, s: b.table("t").agent_info("\ud800").connect(s), AnalysisError, "not valid"),
        (lambda b, s: b.table("t").agent_info(7).connect(s), ConfigError, "must be a string"),
        (lambda b, s: b.table("t").connect(), StreamingConnectionError, "neither a session"),
        (lambda b, s: b.table("t").connect(s, warehouse="w"), StreamingConnectionError, "either"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(
    session: Session, make: Callable[..., Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(StreamingConnection.builder(), session)


def test_static_values_that_do_not_fit(session: Session) -> None:
    partitioned(session)
    for values, message in ((["2026-01-01"], "1 static"), (["x", "y"], "does not fit type date")):
        with pytest.raises(StreamingConnectionError, match=message):
            connected(session, table="p", static_partition_values=values)


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (b"a", 'partition column "s": it is of type bytes'),
        (["a"], "it is of type list"),
        ("\ud800", "Its value is not Unicode text."),
        ("x" * 300, "The name of its directory has 302 bytes, 255 are allowed."),
        ("é" * 130, "262 bytes"),
    ],
)
def test_static_values_that_name_no_partition(session: Session, value: Any, detail: str) -> None:
    session.execute(f"CREATE TABLE q (id int, v string) PARTITIONED BY (s string) {ACID}")
    with pytest.raises(StreamingConnectionError) as caught:
        connected(session, table="q", static_partition_values=[value])
    assert detail in str(caught.value)


@pytest.mark.sqlite
def test_a_connection_may_have_its_own_session(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path / "w") as session:
        session.execute(f"CREATE TABLE t (id int, v string) {ACID}")
        connection = StreamingConnection.builder().table("t").connect(warehouse=tmp_path / "w")
        with connection:
            add(connection, 1)
        assert rows(session) == [(1, "v1")]
    with pytest.raises(ConfigError):
        StreamingConnection.builder().table("t").connect(
            warehouse=tmp_path / "w", config={"no": "such"}
        )
