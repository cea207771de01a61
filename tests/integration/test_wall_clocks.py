"""A constant of type timestamp is what it says, in a session whose zone skips that time, too.

In Berlin, clocks go from 02:00:00 to 03:00:00 on 2026-03-29. The oracle is a table of texts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import AnalysisError, ConstraintViolationError

SKIPPED = "2026-03-29 02:30:00"
TIMES = {n: f"2026-03-29 {time}" for n, time in enumerate(
    ["01:59:59", "02:00:00", "02:30:00", "02:45:00", "03:00:00", "03:10:00", "03:30:00"]
)}  # fmt: skip
CONSTANTS = [f"TIMESTAMP '{SKIPPED}'", f"CAST('{SKIPPED}' AS timestamp)", f"'{SKIPPED}'::timestamp"]


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[acidsql.Session]:
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with acidsql.connect(tmp_path, spark=elsewhere) as session:
        session.execute("CREATE TABLE t (n int, ts timestamp)")
        rows = ", ".join(f"({n}, '{time}')" for n, time in TIMES.items())
        session.execute(f"INSERT INTO t VALUES {rows}")
        yield session


def times(session: acidsql.Session, table: str = "t") -> dict[int, str]:
    return {n: str(ts) for n, ts in session.execute(f"SELECT n, ts FROM {table}").fetchall()}


@pytest.mark.parametrize("constant", CONSTANTS)
def test_values_are_stored_as_they_are(session: acidsql.Session, constant: str) -> None:
    session.execute("DELETE FROM t")
    session.execute(f"INSERT INTO t VALUES (1, {constant}), (2, NULL)")
    session.execute(f"INSERT INTO t SELECT 3, {constant}")
    session.execute(f"UPDATE t SET ts = {constant} WHERE n = 2")
    session.execute(
        f"MERGE INTO t USING (SELECT 4 AS n, {constant} AS ts) s ON t.n = s.n"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    assert times(session) == dict.fromkeys([1, 2, 3, 4], SKIPPED)


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("operator", ["<", "=", ">", "<=>", "<>"])
def test_conditions_compare_wall_clocks(
    session: acidsql.Session, constant: str, operator: str
) -> None:
    python = {"=": "==", "<=>": "==", "<>": "!="}.get(operator, operator)
    wanted = {n for n, time in TIMES.items() if eval(f"{time!r} {python} {SKIPPED!r}")}
    condition = f"ts {operator} {constant}"
    found = session.execute(f"SELECT n FROM t WHERE {condition}").fetchall()
    assert {n for (n,) in found} == wanted
    session.execute(f"DELETE FROM t WHERE {condition}")
    assert set(times(session)) == TIMES.keys() - wanted


def test_what_a_table_keeps(session: acidsql.Session) -> None:
    session.execute(
        f"CREATE TABLE c (n int, ts timestamp DEFAULT TIMESTAMP '{SKIPPED}',"
        " CHECK (ts < TIMESTAMP '2026-03-29 02:40:00'))"
    )
    session.execute("INSERT INTO c (n) VALUES (1)")
    session.execute("INSERT INTO c (n) SELECT 2")
    with pytest.raises(ConstraintViolationError, match="does not satisfy CHECK"):
        session.execute("INSERT INTO c VALUES (3, '2026-03-29 03:10:00')")
    session.execute(f"CREATE VIEW v AS SELECT n, TIMESTAMP '{SKIPPED}' AS ts FROM c")
    assert times(session, "c") == times(session, "v") == dict.fromkeys([1, 2], SKIPPED)


def test_a_result_shows_what_is_written(session: acidsql.Session) -> None:
    """An instant is shown in UTC."""
    text = "SELECT TIMESTAMP '2026-06-01 12:00:00', TIMESTAMP '2026-06-01 12:00:00+00:00'"
    noon = datetime.datetime(2026, 6, 1, 12)
    assert session.execute(text).fetchall() == [(noon, noon)]


def test_beside_instants(session: acidsql.Session) -> None:
    """A constant that meets an instant is a time in the zone of the session."""
    session.execute("CREATE TABLE i (n int, at timestamp with local time zone)")
    session.execute("INSERT INTO i VALUES (1, TIMESTAMP '2026-06-01 12:00:00')")
    noon = "at = TIMESTAMP '2026-06-01 12:00:00' AND at = TIMESTAMP '2026-06-01 10:00:00Z'"
    assert session.execute(f"SELECT n FROM i WHERE {noon}").fetchall() == [(1,)]


def test_where_spark_wants_an_instant(session: acidsql.Session) -> None:
    noon = "TIMESTAMP '1970-01-01 13:00:00'"
    with pytest.raises(AnalysisError, match="timestamp_ltz") as caught:
        session.execute(f"SELECT CAST({noon} AS bigint)")
    assert caught.value.column == 8
    text = f"SELECT CAST(CAST({noon} AS timestamp_ltz) AS bigint), unix_timestamp({noon})"
    assert session.execute(text).fetchall() == [(12 * 3600, 13 * 3600)]
