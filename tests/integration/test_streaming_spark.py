"""The sink of Spark Structured Streaming: each micro-batch counts once."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acidsql import streaming
from acidsql.errors import (
    AcidSqlError,
    CardinalityError,
    ColumnNotFoundError,
    CommitStateUnknownError,
    ConfigError,
    StreamingQueryError,
    WriteConflictError,
)

MARKS = "default.acidsql_streaming_batches"
QUERY_ID = "sql.streaming.queryId"


@pytest.fixture
def table(session: Any) -> Any:
    session.execute("CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
    return session


@pytest.fixture
def as_stream(spark: Any) -> Iterator[Callable[[str], None]]:
    """Sets Spark's id of the query for this thread, as Spark does in a query's own thread."""
    yield lambda stream: spark.sparkContext.setLocalProperty(QUERY_ID, stream)
    spark.sparkContext.setLocalProperty(QUERY_ID, None)


TYPES = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string()}


def frame(session: Any, *rows: tuple[Any, ...], columns: str = "k int, v string") -> Any:
    """Rows that Spark has without a Python worker."""
    fields = [(name, TYPES[kind]) for name, kind in map(str.split, columns.split(", "))]
    cells = [dict(zip(dict(fields), row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(cells, schema=pa.schema(fields))
    return session._engine._spark.get().createDataFrame(table)


def rows(session: Any, name: str = "t") -> list[tuple[Any, ...]]:
    return sorted(session.execute(f"SELECT * FROM {name}").fetchall())


class Source:
    """A directory of JSON files as a stream, one micro-batch for each file."""

    def __init__(self, spark: Any, directory: Path) -> None:
        self.spark, self.directory = spark, directory
        self.files, self.checkpoint = directory / "files", directory / "checkpoint"
        self.files.mkdir(parents=True)

    def add(self, *added: dict[str, Any]) -> None:
        number = len(list(self.files.glob("*.json")))
        hidden = self.files / f".{number}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in added))
        os.utime(hidden, (1_000_000 + number, 1_000_000 + number))  # Spark goes by these times
        hidden.rename(self.files / f"{number:03d}.json")

    def run(self, write: Callable[[Any, int], None]) -> None:
        """Take in everything that is there."""
        stream = (
            self.spark.readStream.schema("k int, v string, op string")
            .option("maxFilesPerTrigger", 1)
            .json(str(self.files))
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            stream.awaitTermination()
        finally:
            stream.stop()

    def forget_last_commit(self) -> None:
        """As if Spark had been killed before it noted that the last micro-batch is done."""
        commits = self.checkpoint / "commits"
        last = max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)


def test_a_query_of_spark(table: Any, spark: Any, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "source")
    for number in range(2):
        source.add({"k": number, "v": "a"}, {"k": number, "v": "b"})
    threads, counts = [], []
    write = streaming.sink(table, "t", query="q")

    def without_op(batch: Any, batch_id: int) -> None:
        threads.append(threading.current_thread())
        assert not batch.sparkSession._jsparkSession.equals(spark._jsparkSession), "a clone"
        table.register("batch", batch)  # in the session of the caller, too
        counts.extend(table.execute("SELECT count(*) FROM batch").fetchall())
        write(batch.drop("op"), batch_id)

    source.run(without_op)
    expected = [(k, v) for k in range(2) for v in "ab"]
    assert rows(table) == expected
    assert threading.main_thread() not in threads
    assert counts == [(2,)] * 2
    source.forget_last_commit()
    source.add({"k": 2, "v": "c"})
    write = streaming.sink(table, "t", query="q")  # that of a new process
    source.run(without_op)
    assert rows(table) == [*expected, (2, "c")]
    assert table.execute(f"SELECT batch_id FROM {MARKS}").fetchall() == [(2,)]
    # A new checkpoint counts from 0 again: its batches must not be taken for replays.
    shutil.rmtree(source.checkpoint)
    with pytest.raises(Exception, match="another stream writes to table") as failed:
        source.run(without_op)
    assert "StreamingQueryError" in str(failed.value)
    assert rows(table) == [*expected, (2, "c")]


def test_batches_come_again_and_are_left_out(table: Any) -> None:
    write = streaming.sink(table, "t", query="q")
    write(frame(table, (1, "a")), 0)
    write(frame(table, (1, "a")), 0)
    assert rows(table) == [(1, "a")]
    write(frame(table, (2, "b")), 7)  # a gap
    write(frame(table, (9, "x")), 3)  # older than the last
    again = streaming.sink(table, "t", query="q")
    again(frame(table, (2, "b")), 7)
    again(frame(table), 8)
    again(frame(table, (9, "x")), 8)
    assert rows(table) == [(1, "a"), (2, "b")]


@pytest.mark.thorough
def test_queries_and_tables_have_marks_of_their_own(table: Any) -> None:
    table.execute("CREATE TABLE u (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
    for name, query in (("t", "q"), ("t", "it's /=%"), ("u", "q")):
        write = streaming.sink(table, name, query=query)
        for _ in range(2):
            write(frame(table, (1, query)), 0)
    assert rows(table) == [(1, "it's /=%"), (1, "q")]
    assert rows(table, "u") == [(1, "q")]


@pytest.mark.thorough
def test_a_name_that_two_streams_use(table: Any, as_stream: Callable[[str], None]) -> None:
    as_stream("one")
    one = streaming.sink(table, "t", query="q")
    one(frame(table, (1, "a")), 0)
    as_stream("two")
    two = streaming.sink(table, "t", query="q")
    with pytest.raises(StreamingQueryError, match="another stream") as failed:
        two(frame(table, (2, "b")), 0)
    assert "one" in str(failed.value)
    assert "DELETE FROM default.acidsql_streaming_batches" in str(failed.value)
    as_stream("one")
    one(frame(table, (3, "c")), 1)
    assert rows(table) == [(1, "a"), (3, "c")]
    # What the hint says: the new stream takes the name over.
    table.execute(f"DELETE FROM {MARKS} WHERE query = 'q' AND target = 'default.t'")
    with pytest.raises(StreamingQueryError, match="is gone"):
        one(frame(table, (4, "d")), 2)
    as_stream("two")
    two(frame(table, (2, "b")), 0)
    assert rows(table) == [(1, "a"), (2, "b"), (3, "c")]
    as_stream("one")
    with pytest.raises(StreamingQueryError, match="another stream"):
        one(frame(table, (4, "d")), 2)


@pytest.mark.thorough
def test_two_streams_that_begin_at_once(
    table: Any, as_stream: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find no mark; the second to add one sees the other's, and takes its own back."""
    from acidsql.streaming.batch_marks import BatchMarks

    look, looked = BatchMarks._streams, []

    def racing(marks: Any, session: Any) -> set[str]:
        found = look(marks, session)
        if not looked:
            looked.append(found)
            as_stream("two")
            streaming.sink(table, "t", query="q")(frame(table, (2, "b")), 0)
            as_stream("one")
        return found

    monkeypatch.setattr(BatchMarks, "_streams", racing)
    as_stream("one")
    one = streaming.sink(table, "t", query="q")
    with pytest.raises(StreamingQueryError, match="another stream"):
        one(frame(table, (1, "a")), 0)
    assert looked == [set()]
    assert rows(table) == [(2, "b")]
    assert table.execute(f"SELECT stream FROM {MARKS}").fetchall() == [("two",)]


def test_two_runs_of_a_query_at_once(table: Any) -> None:
    """Both write the same micro-batch: the first to commit wins, the other finds it done."""
    writes = [streaming.sink(table, "t", query="q", sleep=lambda _: None) for _ in range(2)]
    writes[0](frame(table, (0, "z")), 0)
    writes[1](frame(table, (0, "z")), 0)
    batch = frame(table, (1, "a"))
    failed: list[BaseException] = []

    def run(write: Any) -> None:
        try:
            write(batch, 1)
        except AcidSqlError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(write,)) for write in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert rows(table) == [(0, "z"), (1, "a")]


def test_what_fails_is_not_marked(table: Any) -> None:
    write = streaming.sink(table, "t", query="q")
    with pytest.raises(ColumnNotFoundError, match='no column "w"'):
        write(frame(table, (1, "a"), columns="k int, w string"), 0)
    with pytest.raises(AcidSqlError, match="overflow"):
        write(frame(table, (2**40, "a"), columns="k bigint, v string"), 0)
    assert rows(table) == []
    write(frame(table, (1, "a")), 0)
    assert rows(table) == [(1, "a")]


def test_a_conflict_is_tried_again(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody changes the row between the snapshot of the micro-batch and its MERGE."""
    from acidsql.streaming.batch_marks import BatchMarks

    table.execute("INSERT INTO t VALUES (1, 'old')")
    advance, beaten = BatchMarks.advance, []

    def after_another(marks: Any, session: Any, stream: str, batch_id: int) -> bool:
        if len(beaten) < 2:
            beaten.append(batch_id)
            table.execute("UPDATE t SET v = 'other' WHERE k = 1")
        return advance(marks, session, stream, batch_id)

    monkeypatch.setattr(BatchMarks, "advance", after_another)
    options: dict[str, Any] = {"query": "q", "mode": "upsert", "keys": ["k"]}
    with pytest.raises(WriteConflictError):
        streaming.sink(table, "t", **options, retries=0)(frame(table, (1, "new")), 0)
    assert rows(table) == [(1, "other")]
    write = streaming.sink(table, "t", **options, retries=1, sleep=lambda _: None)
    write(frame(table, (1, "new")), 0)
    assert rows(table) == [(1, "new")]


def test_a_commit_without_an_answer(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was committed, and nobody knows: the query ends, and Spark gives the batch again."""
    from acidsql.session.transaction_control import TransactionControl

    commit_if = TransactionControl.commit_if

    def unanswered(control: Any, block: Any) -> None:
        commit_if(control, block)
        raise CommitStateUnknownError("the answer was lost")

    write = streaming.sink(table, "t", query="q")
    with monkeypatch.context() as patched:
        patched.setattr(TransactionControl, "commit_if", unanswered)
        with pytest.raises(CommitStateUnknownError):
            write(frame(table, (1, "a")), 0)
    write(frame(table, (1, "a")), 0)
    write(frame(table, (2, "b")), 1)
    assert rows(table) == [(1, "a"), (2, "b")]


@pytest.mark.thorough
def test_upsert(table: Any) -> None:
    table.execute("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    write = streaming.sink(table, "t", query="q", mode="upsert", keys=["K"])
    write(frame(table, (1, "new"), (3, "new")), 0)
    write(frame(table, (3, "newer")), 1)
    write(frame(table, (3, "replayed")), 1)
    assert rows(table) == [(1, "new"), (2, "old"), (3, "newer")]
    with pytest.raises(CardinalityError, match="2 rows of the micro-batch"):
        write(frame(table, (1, "a"), (1, "b"), (4, "c")), 2)
    with pytest.raises(CardinalityError, match="a null among its keys"):
        write(frame(table, (None, "a")), 2)
    with pytest.raises(ConfigError, match="no column 'K'"):
        write(frame(table, ("a",), columns="v string"), 2)
    assert rows(table) == [(1, "new"), (2, "old"), (3, "newer")]


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("char(3)", "'a'", "'a '"),
        ("varchar(3)", "'abc'", "'abc '"),
        ("int", "'1'", "'01'"),
        ("int", "1.2D", "1.7D"),
        ("float", "0.1D", "0.10000000001D"),
        ("decimal(5,1)", "1.01BD", "1.04BD"),
        ("timestamp", "'2020-01-01'", "TIMESTAMP_NTZ '2020-01-01 00:00:00'"),
    ],
)
def test_keys_are_the_same_if_the_table_holds_them_as_the_same(
    session: Any, kind: str, first: str, second: str
) -> None:
    spark = session._engine._spark.get()
    one, two = (
        spark.sql(f"SELECT {key} AS K, '{v}' AS v") for key, v in ((first, "a"), (second, "b"))
    )
    session.execute(
        f"CREATE TABLE kt (k {kind}, v string) TBLPROPERTIES ('transactional' = 'true')"
    )
    write = streaming.sink(session, "kt", query="q", mode="upsert", keys=["k"])
    write(one, 0)
    write(two, 1)
    assert session.execute("SELECT v FROM kt").fetchall() == [("b",)]
    if first.startswith("'") != second.startswith("'"):
        return  # a union would make one type of both
    with pytest.raises(CardinalityError, match="2 rows of the micro-batch have the same keys"):
        write(one.union(two), 2)


def test_a_key_that_names_the_partition_of_null_is_no_key(session: Any) -> None:
    spark = session._engine._spark.get()
    session.execute(
        "CREATE TABLE kt (v int) PARTITIONED BY (p string) TBLPROPERTIES ('transactional' = 'true')"
    )
    write = streaming.sink(session, "kt", query="q", mode="upsert", keys=["p"])
    for number, text in enumerate(("", "__HIVE_DEFAULT_PARTITION__")):
        with pytest.raises(CardinalityError, match="a null among its keys"):
            write(spark.sql(f"SELECT 1 AS v, '{text}' AS p"), number)
    assert session.execute("SELECT v FROM kt").fetchall() == []


@pytest.mark.thorough
def test_upsert_of_the_latest(table: Any) -> None:
    write = streaming.sink(table, "t", query="q", mode="upsert", keys=["k"], order_by="v")
    write(frame(table, (1, "b"), (1, "a"), (2, None), (2, "c")), 0)
    assert rows(table) == [(1, "b"), (2, "c")]
    with pytest.raises(CardinalityError, match="the same keys and the same v"):
        write(frame(table, (1, "d"), (1, "d")), 1)


MERGE = """
MERGE INTO t USING (SELECT * FROM batch) AS s ON t.k = s.k
WHEN MATCHED AND s.op = 'd' THEN DELETE
WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT (k, v) VALUES (s.k, s.v)
"""


@pytest.mark.thorough  # the short form is test_cdc.py
def test_a_merge_of_changes(table: Any) -> None:
    batches: list[list[tuple[Any, ...]]] = [
        [(1, "a", "i"), (2, "b", "i")],
        [(1, None, "d"), (2, "B", "u"), (3, "c", "i")],
        [(3, None, "d"), (4, None, "d")],
    ]
    for number in (0, 1, 2, 2):
        write = streaming.sink(table, "t", query="changes", merge=MERGE)
        write(frame(table, *batches[number], columns="k int, v string, op string"), number)
    assert rows(table) == [(2, "B")]


def test_an_open_transaction_of_the_session_stays_apart(table: Any) -> None:
    table.execute("BEGIN")
    table.execute("INSERT INTO t VALUES (5, 'own')")
    streaming.sink(table, "t", query="q")(frame(table, (1, "a")), 0)
    table.execute("ROLLBACK")
    assert rows(table) == [(1, "a")]


@pytest.mark.thorough
def test_a_registered_frame_of_another_session_of_the_same_spark(table: Any, spark: Any) -> None:
    other = spark.newSession()
    other.createDataFrame([(1, "a"), (2, "b")], "k int, v string").createOrReplaceTempView("seen")
    table.register("news", other.sql("SELECT k, upper(v) AS v FROM seen"))
    table.execute("INSERT INTO t SELECT * FROM news WHERE k < 2")
    merged = table.execute("MERGE INTO t USING news s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")
    assert merged.rows_inserted == 1
    assert rows(table) == [(1, "A"), (2, "B")]
