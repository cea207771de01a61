"""Queries that read one table several times answer as DuckDB's, whatever Spark makes of them.

Spark takes such queries apart, and merges, copies and prunes the scans anew. Its ORC reader can
read ACID files only if a scan wants all six of their columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql import Session

ROWS = [
    (1, 10, "a"), (2, 20, "b"), (3, 30, None), (4, None, "a"), (5, 20, "c"), (6, 5, "b"),
    (None, 7, "a"), (8, 40, None), (9, 15, "c"), (10, 20, "a"),
]  # fmt: skip
GONE = (6, 9)
"""The keys of the rows that are deleted again."""


class Pair:
    """The same tables here and in DuckDB: ``t``, ``p`` in partitions, ``w`` in a base."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.duck = duckdb.connect()
        values = ", ".join(
            f"({', '.join('NULL' if v is None else repr(v) for v in row)})" for row in ROWS
        )
        for name, columns, partitioned in (
            ("t", "k int, v int, s string", ""),
            ("p", "k int, v int", "PARTITIONED BY (s string)"),
            ("w", "k int, v int, s string", ""),
        ):
            session.execute(
                f"CREATE TABLE {name} ({columns}) {partitioned} STORED AS ORC"
                " TBLPROPERTIES ('transactional' = 'true')"
            )
            self.duck.execute(f"CREATE TABLE {name} (k int, v int, s varchar)")
            self.both(f"INSERT INTO {name} VALUES {values}")
            self.both(f"DELETE FROM {name} WHERE k IN {GONE}")
            self.both(f"UPDATE {name} SET v = v + 1 WHERE k = 5")
        session.execute("ALTER TABLE w COMPACT 'major'")
        session.run_worker()
        session.run_cleaner()

    def both(self, sql: str) -> None:
        self.session.execute(sql)
        self.duck.execute(sql)

    def compare(self, query: str) -> None:
        """Both answer with the same rows."""
        expected = self.duck.execute(query).fetchall()
        assert plain(self.session.execute(query).fetchall()) == plain(expected), query

    def compare_write(self, sql: str, table: str) -> None:
        """Both leave the same rows; then both forget them."""
        self.both("BEGIN TRANSACTION")
        try:
            self.both(sql)
            self.compare(f"SELECT * FROM {table}")
        finally:
            self.both("ROLLBACK")


def plain(rows: list[Any]) -> list[str]:
    """The rows as texts, sorted; averages rounded, as both add in an order of their own."""
    return sorted(
        repr([round(float(v), 6) if isinstance(v, (int, float)) else v for v in row])
        for row in (tuple(r) for r in rows)
    )


@pytest.fixture(scope="module")
def pair(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    path = tmp_path_factory.mktemp("warehouse")
    with acidsql.connect(str(path), spark=spark) as session:
        yield Pair(session)


BELOW_THE_OTHERS = "x.v < (SELECT avg(y.v) FROM {inner} y WHERE y.k <> x.k)"

BELOW = f"SELECT * FROM {{outer}} x WHERE {BELOW_THE_OTHERS}"
IN_A_CLAUSE = (
    f"WITH c AS (SELECT * FROM {{outer}} x WHERE {BELOW_THE_OTHERS})"
    " SELECT a.k, b.v FROM c a JOIN c b ON a.k = b.k"
)
COUNTED = (
    "SELECT x.k, (SELECT count(y.v) FROM {inner} y WHERE y.k <> x.k AND y.s = x.s) FROM {outer} x"
)

SHAPES = [  # tests/logic/query.slt has more
    BELOW,
    f"SELECT count(*) FROM {{outer}} x WHERE {BELOW_THE_OTHERS}",
    f"SELECT x.k FROM {{outer}} x JOIN {{inner}} z ON x.k = z.k WHERE {BELOW_THE_OTHERS}",
    IN_A_CLAUSE,
    "SELECT x.k, (SELECT max(y.v) FROM {inner} y WHERE y.k <> x.k) FROM {outer} x",
    "SELECT x.k FROM {outer} x WHERE EXISTS"
    " (SELECT 1 FROM {inner} y WHERE y.k <> x.k AND y.v = x.v)",
    "SELECT x.k FROM {outer} x WHERE x.v IN (SELECT y.v FROM {inner} y WHERE y.k <> x.k)",
    "SELECT x.k FROM {outer} x WHERE x.v NOT IN"
    " (SELECT y.v FROM {inner} y WHERE y.k <> x.k AND y.v IS NOT NULL)",
    "SELECT (SELECT count(*) FROM {outer}), (SELECT max(v) FROM {inner}),"
    " (SELECT min(k) FROM {outer} WHERE v > 10)",
    "SELECT a.k, b.v FROM {outer} a JOIN {inner} b ON a.k = b.k",
    "SELECT a.s, count(*) FROM {outer} a FULL JOIN {inner} b ON a.v = b.v GROUP BY a.s",
    "SELECT count(DISTINCT v), count(DISTINCT s), sum(DISTINCT k), count(*) FROM {outer}",
    "SELECT k FROM {outer} WHERE k IS NOT NULL ORDER BY k LIMIT 3",
    "SELECT x.k, q.n FROM {outer} x, LATERAL"
    " (SELECT count(*) AS n FROM {inner} y WHERE y.k < x.k) q",
    "SELECT x.k FROM {outer} x WHERE x.v > (SELECT avg(y.v) FROM {inner} y WHERE y.k <> x.k"
    " AND y.v > (SELECT min(z.v) FROM {outer} z WHERE z.k <> y.k))",
]
MORE_SHAPES = [
    f"SELECT x.k FROM {{outer}} x WHERE {BELOW_THE_OTHERS} UNION ALL SELECT k FROM {{inner}}",
    COUNTED,
    "SELECT k, sum(v) OVER (PARTITION BY s ORDER BY k NULLS FIRST),"
    " (SELECT max(k) FROM {inner}) FROM {outer}",
    "SELECT k, v FROM {outer} EXCEPT SELECT k, v FROM {inner} WHERE v > 10",
    f"SELECT x.s, count(*) FROM {{outer}} x WHERE {BELOW_THE_OTHERS} GROUP BY x.s",
    f"SELECT x.k FROM {{outer}} x WHERE {BELOW_THE_OTHERS} AND x.k IN (SELECT k FROM {{inner}})",
    f"SELECT x.k FROM {{outer}} x WHERE NOT ({BELOW_THE_OTHERS}) OR x.s = 'a'",
    f"SELECT x.k FROM {{outer}} x LEFT JOIN {{inner}} z ON x.k = z.k + 1 WHERE {BELOW_THE_OTHERS}",
    f"SELECT k FROM (SELECT * FROM {{outer}} x WHERE {BELOW_THE_OTHERS}) q WHERE q.v > 5",
    f"SELECT k FROM {{outer}} WHERE k IN (SELECT x.k FROM {{inner}} x WHERE {BELOW_THE_OTHERS})",
    "SELECT x.s, sum(x.v) FROM {outer} x GROUP BY x.s"
    " HAVING sum(x.v) > (SELECT min(y.v) FROM {inner} y)",
    "SELECT x.k FROM {outer} x WHERE NOT EXISTS"
    " (SELECT 1 FROM {inner} y WHERE y.k <> x.k AND y.v < x.v)",
    "SELECT (SELECT avg(v) FROM {outer} WHERE s = 'a'), (SELECT avg(k) FROM {outer} WHERE s = 'b')",
    "SELECT count(*) FROM {outer} WHERE (SELECT count(*) FROM {inner}) > 3",
    "SELECT a.k, b.s FROM {outer} a LEFT JOIN {inner} b ON a.k = b.k - 1 AND b.v > 10",
    "SELECT s, count(DISTINCT v) FILTER (WHERE k > 2), sum(k) FROM {outer} GROUP BY s",
    "SELECT DISTINCT s FROM {outer} WHERE v > (SELECT min(v) FROM {inner})",
    "SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY s ORDER BY k NULLS FIRST) n"
    f" FROM {{outer}} x WHERE {BELOW_THE_OTHERS}) q WHERE n = 1",
    f"SELECT x.k FROM {{outer}} x WHERE {BELOW_THE_OTHERS} ORDER BY x.k LIMIT 2",
    "SELECT v FROM {outer} INTERSECT SELECT k * 10 FROM {inner}",
]
LONG = pytest.mark.thorough


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "shape", [*SHAPES, *(pytest.param(shape, marks=LONG) for shape in MORE_SHAPES)]
)
def test_a_query_over_scans_of_one_table_answers_as_duckdb(pair: Pair, shape: str) -> None:
    pair.compare(shape.format(outer="t", inner="t"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("p", "p"),
        ("w", "w"),
        pytest.param("p", "t", marks=LONG),
        pytest.param("t", "w", marks=LONG),
    ],
)
def test_whatever_the_files_of_the_tables_are(pair: Pair, outer: str, inner: str) -> None:
    for shape in (BELOW, IN_A_CLAUSE, COUNTED):
        pair.compare(shape.format(outer=outer, inner=inner))


UPDATE = "UPDATE {t} AS x SET v = 0 WHERE x.v < (SELECT avg(y.v) FROM {t} y WHERE y.k <> x.k)"
MERGE = (
    "MERGE INTO {t} AS x USING (SELECT z.k, z.v FROM {t} z"
    " WHERE z.v < (SELECT avg(y.v) FROM {t} y WHERE y.k <> z.k)) q ON x.k = q.k"
    " WHEN MATCHED THEN UPDATE SET v = q.v + 100"
)
OTHER_CHANGES = [
    "UPDATE {t} AS x SET v = (SELECT max(y.v) FROM {t} y WHERE y.k <> x.k)",
    "DELETE FROM {t} AS x WHERE x.v < (SELECT avg(y.v) FROM {t} y WHERE y.k <> x.k)",
    "INSERT INTO {t} SELECT x.k, x.v + 1, x.s FROM {t} x"
    " WHERE x.v < (SELECT avg(y.v) FROM {t} y WHERE y.k <> x.k)",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("statement", "table"),
    [
        *((statement, table) for statement in (UPDATE, MERGE) for table in "tp"),
        *((statement, "t") for statement in OTHER_CHANGES),
        *(pytest.param(statement, "p", marks=LONG) for statement in OTHER_CHANGES),
    ],
)
def test_a_change_by_a_correlated_subquery_is_duckdbs(
    pair: Pair, statement: str, table: str
) -> None:
    pair.compare_write(statement.format(t=table), table)


def test_a_new_table_of_such_a_query_is_duckdbs(pair: Pair) -> None:
    query = BELOW.format(outer="t", inner="t")
    properties = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    pair.session.execute(f"CREATE TABLE made {properties} AS {query}")
    pair.duck.execute(f"CREATE TABLE made AS {query}")
    pair.compare("SELECT * FROM made")
    pair.both("DROP TABLE made")


def test_a_frame_that_a_caller_goes_on_with_is_read_in_the_same_way(pair: Pair, spark: Any) -> None:
    pair.session.table("t").createOrReplaceTempView("of_t")
    query = BELOW.format(outer="{t}", inner="{t}")
    found = spark.sql(query.format(t="of_t")).collect()
    assert plain(found) == plain(pair.duck.execute(query.format(t="t")).fetchall())


COMPARISONS = st.sampled_from(["=", "<>", "<", ">="])
AGGREGATES = st.sampled_from(
    ["avg(y.v)", "max(y.v)", "min(y.k)", "count(*)", "count(DISTINCT y.s)"]
)
COLUMNS = st.sampled_from(["k", "v"])


@st.composite
def subqueries(draw: st.DrawFn) -> str:
    """A scalar subquery over a table, correlated with the query's x or not."""
    where = [
        f"y.{draw(COLUMNS)} {draw(COMPARISONS)} x.{draw(COLUMNS)}"
        for _ in range(draw(st.integers(0, 2)))
    ]
    where += draw(st.sampled_from([[], ["y.v > 10"], ["y.s = 'a'"]]))
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"(SELECT {draw(AGGREGATES)} FROM {draw(st.sampled_from('tpw'))} y{condition})"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query whose conditions and columns hold such subqueries."""
    conditions = [
        f"x.{draw(COLUMNS)} {draw(COMPARISONS)} {draw(subqueries())}"
        for _ in range(draw(st.integers(1, 2)))
    ]
    where = draw(st.sampled_from([" AND ", " OR "])).join(conditions)
    columns = draw(
        st.sampled_from(["x.*", "count(*)", "x.s", "count(DISTINCT x.v)", "max(x.k), sum(x.v)"])
    )
    if draw(st.booleans()) and columns in ("x.*", "x.s"):
        columns += f", {draw(subqueries())}"
    source = draw(
        st.sampled_from(["{t} x", "{t} x JOIN {t} z ON x.k = z.k", "(SELECT * FROM {t}) x"])
    ).format(t=draw(st.sampled_from("tpw")))
    return f"SELECT {columns} FROM {source} WHERE {where}"


QUIET = [HealthCheck.function_scoped_fixture]


@given(query=queries())
@settings(max_examples=2, suppress_health_check=QUIET)
def test_any_such_query_answers_as_duckdb(pair: Pair, query: str) -> None:
    pair.compare(query)


@LONG
@given(query=queries())
@settings(max_examples=40, suppress_health_check=QUIET)
def test_so_do_more(pair: Pair, query: str) -> None:
    pair.compare(query)
