"""acidsql/streaming/files.py: what readers make of its files, damaged and half-written or not."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest

import acidsql
from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.selection import Selection, select_files
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import CorruptFileError, StorageError, StreamingConnectionError
from acidsql.execution.snapshots import table_directories
from acidsql.model.names import TableName
from acidsql.orc.reader import read_events
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

T = TableName("default", "t")
CREATE = "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute(CREATE)
        yield session


def connected(session: Session, size: int = 4) -> StreamingConnection:
    return StreamingConnection.builder().table("t").transaction_batch_size(size).connect(session)


def add(connection: StreamingConnection, *ids: int) -> None:
    connection.begin_transaction()
    connection.write([{"id": i} for i in ids])
    connection.commit_transaction()


def snapshot_of(session: Session) -> TableSnapshot:
    store = session._store
    table, txns = store.table(T), store.valid_txns()
    write_ids = store.valid_write_ids([T], txns)[T]
    return TableSnapshot(table, tuple(table_directories(store, table)), write_ids)


def selected(session: Session, storage: Storage | None = None) -> Selection:
    of = snapshot_of(session)
    txns = session._store.valid_txns()
    return select_files(of, of.partitions, txns, storage or LocalStorage())


def ids(session: Session, storage: Storage | None = None) -> list[int]:
    """The ids of visible rows, by the package's own reader."""
    valid = snapshot_of(session).write_ids
    found = []
    for file in selected(session, storage).inserts:
        for event in read_events(file.path, length=file.length).to_pylist():
            if valid.is_valid(event["currentTransaction"]):
                found.append(event["row"]["id"])
    return found


def bucket(session: Session) -> Path:
    return next(Path(session._store.table(T).location).rglob("bucket_00000"))


def side(session: Session) -> Path:
    return bucket(session).with_name("bucket_00000_flush_length")


def test_side_files_have_a_length_for_each_flush(session: Session) -> None:
    connection = connected(session)
    lengths = []
    for n in range(3):
        add(connection, n)
        lengths.append(bucket(session).stat().st_size)
    assert side(session).read_bytes() == struct.pack(">3q", *lengths)
    for count, length in enumerate(lengths, 1):
        assert read_events(str(bucket(session)), length=length).num_rows == count
    connection.close()


@pytest.mark.parametrize("cut", [1, 7])
def test_an_unfinished_number_does_not_count(session: Session, cut: int) -> None:
    connection = connected(session)
    add(connection, 1)
    add(connection, 2)
    whole = side(session).read_bytes()
    side(session).write_bytes(whole + whole[:cut])
    assert ids(session) == [1, 2]
    connection.close()


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 7, struct.pack(">q", 10**9), struct.pack(">q", -5), struct.pack(">q", 2**63 - 1),
     struct.pack(">q", 40)],
)  # fmt: skip
def test_a_damaged_side_file_is_an_error(session: Session, content: bytes) -> None:
    connection = connected(session)
    add(connection, 1)
    side(session).write_bytes(content)
    with pytest.raises(CorruptFileError):
        ids(session)
    if len(content) == 8:
        add(connection, 2)  # the last number counts, and it is right again
        assert ids(session) == [1, 2]
        return
    with pytest.raises(StorageError):
        add(connection, 2)


def test_bytes_behind_the_valid_length_are_not_read(session: Session) -> None:
    connection = connected(session)
    add(connection, 1)
    with bucket(session).open("ab") as file:
        file.write(b"half of an append")
    assert ids(session) == [1]
    connection.close()


def test_without_its_side_file_all_of_the_file_counts(session: Session) -> None:
    connection = connected(session)
    add(connection, 1)
    side(session).unlink()
    assert ids(session) == [1]
    with pytest.raises(StorageError):
        add(connection, 2)
    assert ids(session) == [1]


class ListsBefore(LocalStorage):
    """Lists what was there at the first look, although more has happened since."""

    def __init__(self, but: str = "") -> None:
        super().__init__()
        self._but = but
        self._seen: dict[str, list] = {}

    def list_files(self, directory: str) -> list:
        found = super().list_files(directory)
        if self._but:
            found = [f for f in found if not f.path.endswith(self._but)]
        return self._seen.setdefault(directory, found)


def test_a_side_file_that_a_listing_missed_is_found(session: Session) -> None:
    connection = connected(session)
    add(connection, 1)
    with bucket(session).open("ab") as file:
        file.write(b"half of an append")
    assert ids(session, ListsBefore("_flush_length")) == [1]
    connection.close()


def test_a_side_file_may_go_after_the_listing(session: Session) -> None:
    connection = connected(session)
    add(connection, 1)
    storage = ListsBefore()
    assert ids(session, storage) == [1]
    add(connection, 2)
    connection.close()
    assert not side(session).exists()
    assert ids(session, storage) == [1, 2]


def test_a_first_transaction_that_is_aborted_is_no_committed_row(session: Session) -> None:
    connection = connected(session)
    connection.begin_transaction()
    connection.write([{"id": 1}])
    connection.flush()
    assert ids(session) == []
    connection.abort_transaction()
    add(connection, 2)
    assert ids(session) == [2]
    connection.close()
    assert check_table(session._store, T) == [(2,)]


def test_an_aborted_single_transaction_leaves_nothing(session: Session) -> None:
    connection = connected(session, 1)
    connection.begin_transaction()
    connection.write([{"id": 1}])
    connection.flush()
    connection.abort_transaction()
    assert list(Path(session._store.table(T).location).iterdir()) == []
    connection.close()


class Objects(ArrowStorage):
    """An object store: files are replaced whole, and drafts lie elsewhere."""

    has_directories = False
    appends = False


def test_an_object_store_takes_single_transactions(tmp_path: Path) -> None:
    storage = Objects(pafs.LocalFileSystem())
    store = MemoryStore(lambda: 1_000_000, TxnPolicy(), str(tmp_path))
    with Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(tmp_path), user="ann", host="host",
    ) as session:  # fmt: skip
        session.execute(CREATE)
        with pytest.raises(StreamingConnectionError, match="cannot grow"):
            connected(session, 2)
        with connected(session, 1) as connection:
            for n in range(2):
                connection.begin_transaction()
                for _ in range(2):
                    connection.write({"id": n})
                    connection.flush()
                connection.commit_transaction() if n else connection.abort_transaction()
        assert check_table(store, T) == [(1,), (1,)]


def test_the_version_file_of_a_batch_is_written_once(tmp_path: Path) -> None:
    written = []

    class Noting(LocalStorage):
        def write_file(self, path: str, data: bytes) -> None:
            written.append(path.rpartition("/")[2])
            super().write_file(path, data)

    storage, store = Noting(), MemoryStore(lambda: 1_000_000, TxnPolicy(), str(tmp_path))
    with Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=TxnPolicy(),
        warehouse=str(tmp_path), user="ann", host="host",
    ) as session:  # fmt: skip
        session.execute(CREATE.replace(") STORED", ") CLUSTERED BY (id) INTO 3 BUCKETS STORED"))
        with connected(session, 3) as connection:
            add(connection, *range(20))
            add(connection, *range(20))
        assert written.count("_orc_acid_version") == 1
        assert len(check_table(store, T)) == 40
