"""One moment for a statement: in all legs, jobs and reads, also where a frame asks for the time."""

from __future__ import annotations

from typing import Any

import pytest

from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(
    params=[pytest.param(96 << 20, marks=pytest.mark.thorough), 0],
    ids=["collected", "distributed"],
)
def driver_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", request.param)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)


@pytest.mark.usefixtures("driver_bytes")
def test_all_legs_of_a_merge_and_its_source_have_one_moment(session: Session, spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    session.execute(f"CREATE TABLE t (k int, a timestamp, b timestamp, c timestamp) {ACID}")
    session.execute("INSERT INTO t VALUES (1, NULL, NULL, NULL), (2, NULL, NULL, NULL)")
    frame = spark.range(4).select(
        F.col("id").cast("int").alias("k"), F.current_timestamp().alias("at")
    )
    session.register("f", frame)
    session.execute(
        "MERGE INTO t USING (SELECT k, at, current_timestamp() AS here FROM f) s ON t.k = s.k"
        " WHEN MATCHED AND s.at <> now() THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET a = s.at, b = s.here, c = localtimestamp()"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.at, s.here, (SELECT current_timestamp()))"
    )
    found = session.execute("SELECT * FROM t").fetchall()
    assert sorted(row[0] for row in found) == [0, 1, 2, 3]
    assert len({moment for row in found for moment in row[1:]}) == 1


def test_two_reads_of_a_result_agree(session: Session) -> None:
    asked = (
        "current_timestamp()",
        "now()",
        "localtimestamp()",
        "(SELECT max(current_timestamp()) FROM range(3))",
        "date_format(current_timestamp(), 'yyyy-MM-dd HH:mm:ss.SSSSSS')",
        "to_timestamp(concat(current_date(), ' ', current_time()))",
    )
    texts = ", ".join(f"CAST(CAST({text} AS timestamp) AS string)" for text in asked)
    result = session.execute(f"SELECT {texts}, unix_timestamp() = unix_timestamp(now()), curdate()")
    first = tuple(result.df.collect()[0])
    assert tuple(result.df.collect()[0]) == first
    assert tuple(column[0].as_py() for column in result.arrow().columns) == first
    assert len(set(first[: len(asked)])) == 1
    assert first[-2] is True


def test_a_name_that_is_a_column_stays_one(session: Session) -> None:
    session.execute(f"CREATE TABLE t (`current_date` int, `user` string, `now` int) {ACID}")
    session.execute("INSERT INTO t VALUES (7, 'me', 1)")
    session.execute("UPDATE t SET `now` = current_date + 1, user = concat(user, '!') WHERE now = 1")
    found = session.execute("SELECT current_date, user, now, t.`current_date` FROM t").fetchall()
    assert found == [(7, "me!", 8, 7)]
    rows = session.execute("SELECT current_user() = session_user(), user() FROM t").fetchall()
    assert rows == [(True, session.execute("SELECT current_user").fetchall()[0][0])]


def test_the_moment_is_taken_anew_for_each_statement(session: Session) -> None:
    moments = [session.execute("SELECT current_timestamp()").fetchall() for _ in range(2)]
    assert moments[0] < moments[1]


@pytest.mark.thorough
@pytest.mark.usefixtures("driver_bytes")
def test_the_current_database_is_the_sessions(session: Session, spark: Any) -> None:
    """In queries, writes, CREATE TABLE AS and registered frames; the name may need escapes."""
    asked = "current_database(), current_schema()"
    assert session.execute(f"SELECT {asked}").fetchall() == [("default", "default")]
    session.execute("CREATE DATABASE `other one`")
    session.execute("USE `other one`")
    session.register("f", spark.sql("SELECT current_database() AS d"))
    found = ("other one", "other one")
    assert session.execute(f"SELECT {asked}").fetchall() == [found]
    assert session.execute("SELECT (SELECT max(d) FROM f), current_schema()").fetchall() == [found]
    session.execute(f"CREATE TABLE t (a string, b string) {ACID}")
    session.execute(f"INSERT INTO t SELECT {asked} FROM range(2)")
    session.execute(f"INSERT INTO t VALUES ({asked})")
    session.execute("UPDATE t SET b = concat(current_database(), '!')")
    assert session.execute("SELECT * FROM t").fetchall() == [("other one", "other one!")] * 3
    session.execute(
        "CREATE TABLE u STORED AS ORC"
        " AS SELECT current_database() AS a, current_schema() AS s, b FROM t LIMIT 1"
    )
    assert session.execute("SELECT * FROM u").fetchall() == [(*found, "other one!")]
    session.execute("USE default")
    assert session.execute(f"SELECT {asked}").fetchall() == [("default", "default")]
