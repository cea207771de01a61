"""Rows are streamed through a Hive Metastore; Hive reads them in an open batch and a closed one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.streaming import StreamingConnection, StrictDelimitedInputWriter
from tests.integration.hive.one_metastore import OneMetastore, compacting
from tests.integration.hive.process import Hive
from tests.integration.hive.shared import Row

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(scope="module")
def session(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    url = hive.metastore_url
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark) as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> OneMetastore:
    return OneMetastore(hive, session, database)


def streaming(both: OneMetastore, size: int) -> StreamingConnection:
    return (
        StreamingConnection.builder()
        .database(both.database)
        .table("t")
        .record_writer(StrictDelimitedInputWriter())
        .transaction_batch_size(size)
        .connect(both.session)
    )


def stream(connection: StreamingConnection, text: str, *, commits: bool = True) -> None:
    connection.begin_transaction()
    connection.write(text)
    connection.commit_transaction() if commits else connection.abort_transaction()


def same(both: OneMetastore, count: int) -> list[Row]:
    """The rows as they are now, which a stream may have changed since the last turn."""
    both.forget_rows()
    return both.same("t", count)


def directories(both: OneMetastore) -> set[str]:
    return {p.name for p in both.location("t").rglob("*delta_*")}


@pytest.mark.parametrize("buckets", ["", "CLUSTERED BY (id) INTO 2 BUCKETS"], ids=["", "bucketed"])
def test_hive_reads_an_open_batch_and_a_closed_one(both: OneMetastore, buckets: str) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {buckets} {ACID}")
    both.acidsql("INSERT INTO t VALUES (100, 'before')")
    with streaming(both, 4) as connection:
        stream(connection, "1,one\n2,two\n3,three")
        same(both, 4)
        stream(connection, "4,four\n5,five", commits=False)
        same(both, 4)
        connection.begin_transaction()
        connection.write("6,six\n7,seven")
        connection.flush()
        same(both, 4)
        connection.write("8,eight")
        connection.commit_transaction()
        open_rows = same(both, 7)
        both.theirs("UPDATE t SET v = 'upd' WHERE id = 6")
        both.acidsql("DELETE FROM t WHERE id = 1")
        assert len(same(both, 6)) == 6
    closed_rows = same(both, 6)
    assert {row[:3] for row in closed_rows} - {row[:3] for row in open_rows} != set()
    assert not list(both.location("t").rglob("*_flush_length"))
    with compacting(both.hive):
        both.session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert same(both, 6) == closed_rows


def test_partitions_come_with_the_stream(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) PARTITIONED BY (k int, d string) {ACID}")
    with streaming(both, 2) as connection:
        stream(connection, "1,one,1,a\n2,two,2,b\n3,three,1,a")
        same(both, 3)
        stream(connection, "4,four,3,\\N\n5,five,1,a")
    same(both, 5)
    assert [row["partition"] for row in both.theirs("SHOW PARTITIONS t")] == [
        "k=1/d=a", "k=2/d=b", "k=3/d=__HIVE_DEFAULT_PARTITION__",
    ]  # fmt: skip


def test_single_transactions_have_deltas_like_those_of_inserts(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    with streaming(both, 1) as connection:
        for key in range(3):
            stream(connection, f"{key},v", commits=key != 1)
    same(both, 2)
    assert directories(both) == {f"delta_000000{n}_000000{n}_0000" for n in (1, 3)}


def test_an_overwrite_by_hive_makes_the_stream_take_a_new_batch(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    with streaming(both, 3) as connection:
        stream(connection, "1,one")
        both.theirs("INSERT OVERWRITE TABLE t SELECT 9, 'new'")
        stream(connection, "2,two")
        assert connection.connection_stats.batches_opened == 2
        same(both, 2)


def test_threads_with_a_connection_each(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            with streaming(both, 3) as connection:
                for step in range(4):
                    stream(connection, f"{number * 10 + step},v", commits=step != 2)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    same(both, 9)


def test_hive_compacts_around_an_open_batch(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'a')")
    both.theirs("INSERT INTO t VALUES (2, 'b')")
    with streaming(both, 3) as connection:
        stream(connection, "3,c")
        stream(connection, "4,d", commits=False)
        rows = same(both, 3)
        both.theirs("ALTER TABLE t COMPACT 'major'")
        both.hive.work()
        both.hive.run("!cleaner")
        assert same(both, 3) == rows
        stream(connection, "5,e")
    rows = same(both, 4)
    both.theirs("ALTER TABLE t COMPACT 'major'")
    both.hive.work()
    assert same(both, 4) == rows


@pytest.mark.parametrize("versions", [[3]], ids=[""])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("buckets", ["", "CLUSTERED BY (id) INTO 2 BUCKETS"], ids=["", "bucketed"])
def test_a_stream_of_hive_and_one_of_ours_leave_the_same(
    both: OneMetastore, buckets: str, size: int, versions: list[int]
) -> None:
    transactions = [
        ("commit", "1,one|2,two|3,three"),
        ("abort", "4,four|5,five"),
        ("commit", "6,six|7,\\N|8,eight"),
    ]
    columns = f"(id int, v string) {buckets} {ACID}"
    both.theirs(f"CREATE TABLE t {columns}")
    words = " ".join(f"{end} {records}" for end, records in transactions)
    both.hive.run(f"!stream {both.database}.t {size} {words}")
    rows, names = same(both, 6), directories(both)
    both.theirs("DROP TABLE t")
    both.theirs(f"CREATE TABLE t {columns}")
    with streaming(both, size) as connection:
        for end, records in transactions:
            stream(connection, records.replace("|", "\n"), commits=end == "commit")
    assert same(both, 6) == rows
    if size > 1:
        assert directories(both) == names
    both.acidsql("UPDATE t SET v = 'upd' WHERE id > 2")
    both.hive.run(f"!stream {both.database}.t {size} commit 9,nine abort 10,ten")
    same(both, 7)
