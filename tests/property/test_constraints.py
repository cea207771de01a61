"""A statement keeps constraints exactly where DuckDB keeps them, and leaves the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql import Session
from acidsql.errors import ConstraintViolationError

COLUMNS = (
    "k int NOT NULL, v int DEFAULT 7 CHECK (v > 0), s {text} DEFAULT 'none' NOT NULL,"
    " CHECK (k < v OR s = 'x')"
)
VALUES = st.sampled_from(["NULL", "-1", "0", "1", "2", "3", "5", "9"])
TEXTS = st.sampled_from(["NULL", "'a'", "'x'", "upper('x')"])
ROWS = "(VALUES (1, 2, 'a'), (2, 9, 'x'), (3, 0, 'x'), (4, 5, NULL), (9, NULL, 'b'))"
WHERE = st.sampled_from(["k = 1", "k > 2", "v > 4", "s = 'x'", "true", "false"])


def _or_default(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(values, values, st.just("DEFAULT"))


STATEMENTS = st.one_of(
    st.builds(
        "INSERT INTO t VALUES ({}, {}, {}), (1, 5, 'x')".format,
        VALUES,
        _or_default(VALUES),
        _or_default(TEXTS),
    ),
    st.builds("INSERT INTO t (k, v) VALUES ({}, {})".format, VALUES, VALUES),
    st.builds("INSERT INTO t (v, k) SELECT b, a FROM r WHERE {}".format, st.sampled_from(
        ["a = 1", "a < 3", "b > 4", "b IS NULL", "c = 'x'", "true"])),
    st.builds("INSERT INTO t (k) SELECT a + {} FROM r".format, VALUES),
    st.builds("UPDATE t SET v = v + {} WHERE {}".format, VALUES, WHERE),
    st.builds("UPDATE t SET k = {}, s = {} WHERE {}".format, VALUES, _or_default(TEXTS), WHERE),
    st.builds("DELETE FROM t WHERE {}".format, WHERE),
    st.builds(
        "MERGE INTO t USING (SELECT * FROM r WHERE a <> {}) r ON t.k = r.a"
        " WHEN MATCHED AND r.b > {} THEN UPDATE SET v = r.b, s = {}"
        " WHEN MATCHED AND r.b = 0 THEN DELETE"
        " WHEN NOT MATCHED AND r.a <> {} THEN INSERT (k, v) VALUES (r.a, r.b)".format,
        VALUES.filter(lambda v: v != "NULL"), VALUES, TEXTS, VALUES,
    ),
)  # fmt: skip


class Pair:
    """The same table here and in DuckDB."""

    def __init__(self, session: Session) -> None:
        self.session, self.duck = session, duckdb.connect()
        session.execute(f"CREATE TABLE t ({COLUMNS.format(text='string')})")
        session.execute(f"CREATE TABLE r AS SELECT * FROM {ROWS} AS r (a, b, c)")
        self.duck.execute(f"CREATE TABLE t ({COLUMNS.format(text='varchar')})")
        self.duck.execute(f"CREATE TABLE r AS SELECT * FROM {ROWS} AS r (a, b, c)")

    def run(self, statement: str) -> None:
        """Both refuse the statement, or both have the same rows afterwards."""
        try:
            self.duck.execute(statement)
        except duckdb.ConstraintException:
            with pytest.raises(ConstraintViolationError):
                self.session.execute(statement)
        else:
            self.session.execute(statement)
        rows = "SELECT k, v, s FROM t"
        found = sorted(map(repr, self.session.execute(rows).fetchall()))
        assert found == sorted(map(repr, self.duck.execute(rows).fetchall())), statement


@pytest.fixture(scope="module")
def pair(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with acidsql.connect(tmp_path_factory.mktemp("warehouse"), spark=spark) as session:
        yield Pair(session)


def check(pair: Pair, statements: list[str]) -> None:
    for sides in (pair.session, pair.duck):
        sides.execute("DELETE FROM t")
    for statement in statements:
        pair.run(statement)


@given(statements=st.lists(STATEMENTS, min_size=4, max_size=8))
@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_constraints_are_those_of_duckdb(pair: Pair, statements: list[str]) -> None:
    check(pair, statements)


@pytest.mark.thorough
@given(statements=st.lists(STATEMENTS, min_size=8, max_size=20))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_constraints_are_those_of_duckdb_at_length(pair: Pair, statements: list[str]) -> None:
    check(pair, statements)
