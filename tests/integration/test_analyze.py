"""Answers from statistics beside other sessions, transactions, streams and files of others."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import ConfigError, TxnAbortedError
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ASKED = "SELECT count(*), count(k), min(k), max(k) FROM t"
ANALYZE = "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS"


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", spark=spark) as session:
        session.execute(f"CREATE TABLE t (k int, s string) {ACID}")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (NULL, 'c')")
        yield session


@pytest.fixture
def other(session: Session, spark: Any, tmp_path: Path) -> Iterator[Session]:
    """A session of the same store, as of another process."""
    with acidsql.connect(tmp_path / "w", spark=spark.newSession()) as other:
        yield other


def answers(session: Session, sql: str = ASKED) -> bool:
    """Whether statistics answer now, by EXPLAIN."""
    lines = session.execute(f"EXPLAIN {sql}").fetchall()
    return any("answered from the statistics" in line for (line,) in lines)


def asked(session: Session) -> tuple[Any, ...]:
    """The row of ASKED. If statistics have given it, a scan must give the same row."""
    [row] = session.execute(ASKED).fetchall()
    if answers(session):
        assert session.execute(f"{ASKED} WHERE true").fetchall() == [row]
    return row


def lose_files(tmp_path: Path) -> None:
    """Only an answer that reads no file is possible from now on."""
    for directory in (tmp_path / "w" / "t").glob("delta_*"):
        shutil.rmtree(directory)


def test_an_answer_reads_no_file(session: Session, tmp_path: Path) -> None:
    session.execute(ANALYZE)
    wanted = asked(session)
    lose_files(tmp_path)
    assert session.execute(ASKED).fetchall() == [wanted] == [(3, 2, 1, 2)]
    result = session.execute(ASKED)
    assert result.columns == ["count(1)", "count(k)", "min(k)", "max(k)"]
    assert result.df.collect() == [wanted]
    assert result.arrow().to_pylist() == [dict(zip(result.columns, wanted, strict=True))]
    assert list(session.execute(ASKED)) == [wanted]
    assert session.execute(ASKED).pandas().shape == (1, 4)
    with pytest.raises(acidsql.AcidSqlError):
        session.execute(f"{ASKED} WHERE true").fetchall()


ITEMS = [
    "count(*)", "COUNT( * ) AS `a b`, min(K)", "min(`k`) AS m, max(t.k), Max(T.S)",
    "min(s) s, min(s), min(s)", "count(1), count(ALL s)",
]  # fmt: skip


@pytest.mark.parametrize(
    "items",
    [", ".join(ITEMS), *(pytest.param(items, marks=pytest.mark.thorough) for items in ITEMS)],
)
def test_names_and_types_are_those_of_a_scan(session: Session, items: str) -> None:
    query = f"SELECT {items} FROM t"
    scanned = session.execute(query)
    schema, rows = scanned.df.schema, scanned.fetchall()
    session.execute(ANALYZE)
    assert answers(session, query)
    answered = session.execute(query)
    assert (answered.df.schema, answered.fetchall()) == (schema, rows)


def test_other_sessions_are_answered_and_outdate_the_answer(
    session: Session, other: Session
) -> None:
    session.execute(ANALYZE)
    assert answers(other)
    assert asked(other) == (3, 2, 1, 2)
    other.execute("INSERT INTO t VALUES (7, 'x')")
    assert not answers(session)
    assert asked(session) == asked(other) == (4, 3, 1, 7)


def test_a_block_is_answered_by_its_own_snapshot(session: Session, other: Session) -> None:
    session.execute(ANALYZE)
    session.execute("BEGIN")
    other.execute("INSERT INTO t VALUES (7, 'x')")
    assert answers(session)
    assert not answers(other)
    assert asked(session) == (3, 2, 1, 2)
    other.execute(ANALYZE)
    assert answers(other)
    assert not answers(session)
    assert asked(session) == (3, 2, 1, 2)
    session.execute("COMMIT")
    assert answers(session)
    assert asked(session) == (4, 3, 1, 7)


@pytest.mark.thorough
def test_a_block_reads_its_own_rows(session: Session, other: Session) -> None:
    session.execute(ANALYZE)
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (7, 'x')")
    session.execute("DELETE FROM t WHERE k = 1")
    assert not answers(session)
    assert answers(other)
    assert asked(session) == (3, 2, 2, 7)
    assert asked(other) == (3, 2, 1, 2)
    other.execute(ANALYZE)
    assert asked(session) == (3, 2, 2, 7)
    session.execute("COMMIT")
    assert asked(other) == asked(session) == (3, 2, 2, 7)
    assert not answers(other)


def test_a_block_without_rows_of_its_own_in_this_table(session: Session) -> None:
    session.execute(f"CREATE TABLE u (k int) {ACID}")
    session.execute(ANALYZE)
    session.execute("BEGIN")
    session.execute("INSERT INTO u VALUES (1)")
    assert answers(session)
    assert asked(session) == (3, 2, 1, 2)
    session.execute("ROLLBACK")


@pytest.mark.thorough
def test_a_failed_statement_of_a_block(session: Session) -> None:
    session.execute(ANALYZE)
    session.execute("BEGIN")
    with pytest.raises(acidsql.AcidSqlError):
        session.execute("INSERT INTO t SELECT CAST('x' AS int), s FROM t")
    assert asked(session) == (3, 2, 1, 2)
    session.execute("ROLLBACK")
    assert asked(session) == (3, 2, 1, 2)


def test_a_lazy_answer_keeps_its_snapshot(session: Session, other: Session) -> None:
    session.execute(ANALYZE)
    result = session.execute(ASKED)
    other.execute("INSERT INTO t VALUES (7, 'x')")
    other.execute(ANALYZE)
    assert result.fetchall() == [(3, 2, 1, 2)]
    assert asked(session) == (4, 3, 1, 7)


def test_an_open_write_of_another_session(session: Session, other: Session) -> None:
    other.execute("BEGIN")
    other.execute("INSERT INTO t VALUES (7, 'x')")
    session.execute(ANALYZE)
    assert answers(session)
    assert asked(session) == (3, 2, 1, 2)
    assert asked(other) == (4, 3, 1, 7)
    other.execute("COMMIT")
    assert asked(session) == asked(other) == (4, 3, 1, 7)
    assert not answers(session)


def test_aborted_writes_and_their_cleaning(session: Session, other: Session) -> None:
    other.execute("BEGIN")
    other.execute("INSERT INTO t VALUES (7, 'x')")
    session.execute("INSERT INTO t VALUES (8, 'y')")
    session.execute(ANALYZE)
    other.execute("ROLLBACK")
    assert answers(session)
    assert asked(session) == (4, 3, 1, 8)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    session.run_housekeeper()
    assert asked(session) == (4, 3, 1, 8)


@pytest.mark.thorough
def test_a_table_replaced_under_the_same_name(session: Session, other: Session) -> None:
    session.execute(ANALYZE)
    other.execute("DROP TABLE t")
    other.execute(f"CREATE TABLE t (k int, s string) {ACID}")
    assert asked(session) == (0, 0, None, None)
    other.execute("INSERT INTO t VALUES (9, 'x')")
    assert asked(session) == (1, 1, 9, 9)
    assert not answers(session)


@pytest.mark.thorough
def test_two_tables_that_change_their_names(session: Session) -> None:
    session.execute(f"CREATE TABLE u (k int, s string) {ACID}")
    session.execute("INSERT INTO u VALUES (5, 'z')")
    session.execute(ANALYZE)
    session.execute("ANALYZE TABLE u COMPUTE STATISTICS FOR COLUMNS")
    for old, new in (("t", "w"), ("u", "t"), ("w", "u")):
        session.execute(f"ALTER TABLE {old} RENAME TO {new}")
    assert asked(session) == (1, 1, 5, 5)


@pytest.mark.thorough
def test_overwrite_truncate_and_load(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE EXTERNAL TABLE given (k int, s string) STORED AS ORC")
    session.execute("INSERT INTO given VALUES (30, 'x'), (31, 'y')")
    copies = [shutil.copytree(tmp_path / "w" / "given", tmp_path / f"c{n}") for n in range(2)]
    for sql, wanted in (
        (f"LOAD DATA LOCAL INPATH '{copies[0]}' INTO TABLE t", (5, 4, 1, 31)),
        ("INSERT OVERWRITE TABLE t VALUES (40, 'o')", (1, 1, 40, 40)),
        ("TRUNCATE TABLE t", (0, 0, None, None)),
        (f"LOAD DATA LOCAL INPATH '{copies[1]}' OVERWRITE INTO TABLE t", (2, 2, 30, 31)),
        ("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE false", (0, 0, None, None)),
    ):
        session.execute(ANALYZE)
        assert answers(session)
        session.execute(sql)
        assert asked(session) == wanted


def test_a_plain_table_becomes_acid(session: Session) -> None:
    session.execute("DROP TABLE t")
    session.execute("CREATE TABLE t (k int, s string) STORED AS ORC")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    session.execute(ANALYZE)
    session.execute("INSERT INTO t VALUES (2, 'b')")
    assert not answers(session)
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    assert not answers(session)
    assert asked(session) == (2, 2, 1, 2)


@pytest.mark.thorough
def test_streamed_rows(session: Session) -> None:
    session.execute(ANALYZE)
    builder = StreamingConnection.builder().table("t").transaction_batch_size(3)
    with builder.connect(session=session) as connection:
        for number in range(2):
            connection.begin_transaction()
            connection.write([{"k": 100 + number, "s": "s"}])
            assert asked(session)[0] == 3 + number
            connection.commit_transaction()
            assert asked(session) == (4 + number, 3 + number, 1, 100 + number)
            session.execute(ANALYZE)
            assert answers(session)


@pytest.mark.thorough
def test_partitions_that_come_and_go(session: Session, tmp_path: Path) -> None:
    session.execute("DROP TABLE t")
    session.execute(f"CREATE TABLE t (k int, s string) PARTITIONED BY (p int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    old = tmp_path / "old"
    shutil.copytree(tmp_path / "w" / "t" / "p=2", old)
    for sql, wanted in (
        ("ALTER TABLE t DROP PARTITION (p = 2)", (1, 1, 1, 1)),
        ("ALTER TABLE t ADD PARTITION (p = 2)", (1, 1, 1, 1)),
        (f"ALTER TABLE t ADD PARTITION (p = 3) LOCATION '{old}'", (2, 2, 1, 2)),
        ("ALTER TABLE t PARTITION (p = 3) RENAME TO PARTITION (p = 4)", (2, 2, 1, 2)),
    ):
        session.execute(ANALYZE)
        assert answers(session)
        session.execute(sql)
        assert not answers(session)
        assert asked(session) == wanted
    session.execute(ANALYZE)
    shutil.copytree(old, tmp_path / "w" / "t" / "p=9")
    assert answers(session)
    session.execute("MSCK REPAIR TABLE t")
    assert asked(session) == (3, 3, 1, 2)


@pytest.mark.thorough
def test_columns_that_change(session: Session) -> None:
    for sql, wanted in (
        ("ALTER TABLE t CHANGE COLUMN k k bigint", (3, 2, 1, 2)),
        ("ALTER TABLE t RENAME COLUMN k TO old", None),
        ("ALTER TABLE t ADD COLUMNS (k int)", (3, 0, None, None)),
    ):
        session.execute(ANALYZE)
        session.execute(sql)
        if wanted is not None:
            assert not answers(session)
            assert asked(session) == wanted


def session_with(spark: Any, tmp_path: Path, key: str, value: str) -> Session:
    """Another session on the warehouse, which has a property of its own."""
    return acidsql.connect(tmp_path / "w", spark=spark.newSession(), config={key: value})


def test_sessions_that_match_columns_in_other_ways(
    session: Session, spark: Any, tmp_path: Path
) -> None:
    """Both may find other values in older files."""
    session.execute(ANALYZE)
    with session_with(spark, tmp_path, "orc.force.positional.evolution", "false") as by_name:
        assert not answers(by_name)
        assert asked(by_name) == (3, 2, 1, 2)
        by_name.execute(ANALYZE)
        assert answers(by_name)
    assert not answers(session)


def test_a_missing_directory_that_counts_as_empty(
    session: Session, spark: Any, tmp_path: Path
) -> None:
    session.execute(ANALYZE)
    with session_with(spark, tmp_path, "acidsql.missing.directory.is.empty", "true") as lenient:
        shutil.move(tmp_path / "w" / "t", tmp_path / "away")
        assert not answers(lenient)
        assert asked(lenient) == (0, 0, None, None)
        with pytest.raises(ConfigError, match="counts no rows while"):
            lenient.execute(ANALYZE)
    shutil.move(tmp_path / "away", tmp_path / "w" / "t")
    assert asked(session) == (3, 2, 1, 2)


def test_a_function_of_a_user_with_the_same_name(
    session: Session, spark: Any, tmp_path: Path
) -> None:
    """Spark calls its own one, and so statistics may answer."""
    session.execute(ANALYZE)
    own = spark.newSession()
    own.udf.register("min", lambda value: -1, "int")
    with acidsql.connect(tmp_path / "w", spark=own) as other:
        scanned = other.execute("SELECT min(k) FROM t WHERE true").fetchall()
        assert other.execute("SELECT min(k) FROM t").fetchall() == scanned == [(1,)]


def test_a_frame_of_the_name_of_the_table(session: Session, spark: Any) -> None:
    session.execute(ANALYZE)
    session.register("t", spark.createDataFrame([(5, "x")], "k int, s string"))
    assert session.execute(ASKED).fetchall() == [(1, 1, 5, 5)]


def test_texts_that_python_cannot_hold_exactly(session: Session) -> None:
    session.execute("INSERT OVERWRITE TABLE t SELECT 1, CAST(X'ff41' AS STRING)")
    session.execute(ANALYZE)
    assert not answers(session, "SELECT max(s) FROM t")
    assert session.execute("SELECT hex(max(s)) FROM t").fetchall() == [("FF41",)]
    assert answers(session, "SELECT count(s) FROM t")


def test_an_analysis_that_was_aborted_meanwhile(session: Session, other: Session) -> None:
    """It has lost its lock, so its table may be another one by now."""
    engine, ids = session._engine, []
    query = engine.query

    def abort_then_query(plan: Any, context: Any) -> Any:
        frame = query(plan, context)
        ids.extend(other.execute("SHOW TRANSACTIONS").fetchall())
        open_ids = [row[0] for row in ids if row[1] == "OPEN"]
        other.execute(f"ABORT TRANSACTIONS {' '.join(open_ids)}")
        other.execute("DROP TABLE t")
        other.execute(f"CREATE TABLE t (k int, s string) {ACID}")
        return frame

    engine.query = abort_then_query
    try:
        with pytest.raises((TxnAbortedError, acidsql.AcidSqlError)):
            session.execute(ANALYZE)
    finally:
        engine.query = query
    assert not answers(session)
    assert asked(session) == (0, 0, None, None)


def test_a_writer_does_not_wait_for_an_analysis(session: Session, other: Session) -> None:
    """And what it commits meanwhile is not in the statistics, which say so."""
    engine, done = session._engine, threading.Event()
    query = engine.query

    def write_then_query(plan: Any, context: Any) -> Any:
        other.execute("INSERT INTO t VALUES (7, 'x')")
        done.set()
        return query(plan, context)

    engine.query = write_then_query
    try:
        session.execute(ANALYZE)
    finally:
        engine.query = query
    assert done.is_set()
    assert not answers(session)
    assert asked(session) == asked(other) == (4, 3, 1, 7)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"low":"1"', '"low":"one"'),
        ('"low":"1"', '"low":"4294967296"'),
        ('"nulls":1', '"nulls":7'),
        ('"rows":3', '"rows":-3'),
    ],
)
def test_statistics_that_nobody_can_have_found(
    session: Session, tmp_path: Path, old: str, new: str
) -> None:
    """Whatever somebody has written into the store, the rows themselves answer then."""
    session.execute(ANALYZE)
    assert answers(session)
    with closing(sqlite3.connect(tmp_path / "w" / ".acidsql.db")) as store, store:
        replaced = "UPDATE PLACE_STATISTICS SET STATISTICS = replace(STATISTICS, ?, ?)"
        assert store.execute(replaced, (old, new)).rowcount == 1
    assert not answers(session)
    assert asked(session) == (3, 2, 1, 2)
