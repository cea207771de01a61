"""A multi-insert leaves what DuckDB has after the same INSERTs one by one, all of one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql import Session
from acidsql.errors import UnsupportedStatementError

ROWS = [
    (1, 10, "a"), (2, 20, "b"), (3, 30, None), (4, None, "a"), (5, 20, "c"), (6, 5, "b"),
]  # fmt: skip
TABLES = {"t": "", "a": "", "p": "PARTITIONED BY (s string)", "i": ""}
SOURCES = [
    "t x",
    "p x",
    "(SELECT k, v + 1 AS v, s FROM p WHERE s = 'a' OR k > 2) x",
    "(SELECT k, sum(v) AS v, max(s) AS s FROM t GROUP BY k) AS x",
    "(SELECT k, v, s FROM t UNION ALL SELECT k + 10, v, s FROM p) x",
    "t x LEFT JOIN (SELECT k, count(*) AS n FROM p GROUP BY k) y ON x.k = y.k + 1",
    "t x JOIN p y ON x.v = y.v",
]


@dataclass(frozen=True)
class Leg:
    """``verb`` INTO or OVERWRITE, and the query behind the FROM."""

    verb: str
    table: str
    query: str

    @property
    def text(self) -> str:
        columns = "PARTITION (s)" if self.table == "p" else ""
        return f"INSERT {self.verb} TABLE {self.table} {columns} {self.query}"


class Pair:
    """The same tables here and in DuckDB. The table i is insert-only."""

    def __init__(self, session: Session) -> None:
        self.session, self.duck = session, duckdb.connect()
        values = ", ".join(str(row).replace("None", "NULL") for row in ROWS)
        for name, partitioned in TABLES.items():
            columns = "k int, v bigint" if partitioned else "k int, v bigint, s string"
            kind = ", 'transactional_properties' = 'insert_only'" if name == "i" else ""
            session.execute(
                f"CREATE TABLE {name} ({columns}) {partitioned} STORED AS ORC"
                f" TBLPROPERTIES ('transactional' = 'true'{kind})"
            )
            self.duck.execute(f"CREATE TABLE {name} (k int, v bigint, s varchar)")
            session.execute(f"INSERT INTO {name} VALUES {values}")
            self.duck.execute(f"INSERT INTO {name} VALUES {values}")

    def one_by_one(self, source: str, legs: list[Leg]) -> bool:
        """Do in DuckDB what the legs say. False if one would replace what another one fills."""
        overwritten: set[tuple[str, Any]] = set()
        filled: set[tuple[str, Any]] = set()
        for number, leg in enumerate(legs):
            query = leg.query.replace(" WHERE", f" FROM {source} WHERE")
            self.duck.execute(f"CREATE OR REPLACE TEMP TABLE leg{number} AS {query}")
            texts = self.duck.execute(f"SELECT DISTINCT s FROM leg{number}").fetchall()
            places = {(leg.table, text) for text in (texts if leg.table == "p" else ["all"])}
            if places & overwritten or (leg.verb == "OVERWRITE" and places & filled):
                return False
            filled |= places
            overwritten |= places if leg.verb == "OVERWRITE" else set()
        for number, leg in enumerate(legs):
            if leg.verb == "OVERWRITE":
                same = f"EXISTS (SELECT 1 FROM leg{number} l WHERE l.s IS NOT DISTINCT FROM p.s)"
                where = f"WHERE {same}" if leg.table == "p" else ""
                self.duck.execute(f"DELETE FROM {leg.table} {where}")
        for number, leg in enumerate(legs):
            self.duck.execute(f"INSERT INTO {leg.table} SELECT * FROM leg{number}")
        return True

    def compare(self) -> None:
        """Both have the same rows in all tables."""
        query = " UNION ALL ".join(f"SELECT '{table}', k, v, s FROM {table}" for table in TABLES)
        found = sorted(map(repr, self.session.execute(query).fetchall()))
        assert found == sorted(map(repr, self.duck.execute(query).fetchall()))


@pytest.fixture(scope="module")
def pair(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with acidsql.connect(tmp_path_factory.mktemp("warehouse"), spark=spark) as session:
        yield Pair(session)


LEGS = st.builds(
    Leg,
    st.sampled_from(["INTO", "INTO", "OVERWRITE"]),
    st.sampled_from(["a", "a", "p", "p", "i", "t"]),
    st.builds(
        "SELECT {} WHERE {}".format,
        st.sampled_from(
            ["x.k, x.v, x.s", "x.k + 100, x.v, 'b' AS s", "x.k, CAST(NULL AS int), x.s"]
        ),
        st.sampled_from(["x.k > 2", "x.s = 'a'", "x.s IS NULL", "true", "false", "x.v >= 20"]),
    ),
)


def check(pair: Pair, source: str, legs: list[Leg]) -> None:
    sql = f"FROM {source} {' '.join(leg.text for leg in legs)}"
    pair.session.execute("BEGIN")
    pair.duck.execute("BEGIN")
    try:
        if pair.one_by_one(source, legs):
            pair.session.execute(sql)
        else:
            with pytest.raises(UnsupportedStatementError, match="one of them overwrites"):
                pair.session.execute(sql)
        pair.compare()
    finally:
        pair.session.execute("ROLLBACK")
        pair.duck.execute("ROLLBACK")


@given(source=st.sampled_from(SOURCES), legs=st.lists(LEGS, min_size=2, max_size=4))
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_are_those_of_single_inserts(pair: Pair, source: str, legs: list[Leg]) -> None:
    check(pair, source, legs)


@pytest.mark.thorough
@given(source=st.sampled_from(SOURCES), legs=st.lists(LEGS, min_size=2, max_size=6))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_are_those_of_single_inserts_at_length(
    pair: Pair, source: str, legs: list[Leg]
) -> None:
    check(pair, source, legs)
