"""How the sources of a query get into Spark's plan: as plans, or as temporary views."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acidsql.engines.spark import sql
from acidsql.errors import ColumnNotFoundError
from acidsql.session.session import Session
from tests.integration.test_statement_jobs import executed_plans

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(params=["plans", pytest.param("views", marks=pytest.mark.thorough)])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "views":
        monkeypatch.setattr(sql, "_WITH", re.compile(""))
    return str(request.param)


@pytest.fixture
def tables(session: Session, spark: Any) -> Session:
    session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
    session.insert("t", [{"k": k, "v": f"v{k}"} for k in range(20)])
    session.execute("CREATE TABLE u (k int)")
    session.execute("INSERT INTO u VALUES (1), (3), (5)")
    session.register("s", spark.range(4).selectExpr("int(id) AS k", "'{x}' AS w"))
    return session


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT a.k, b.v FROM t a JOIN t b ON a.k = b.k + 1 WHERE a.k < 2", [(1, "v0")]),
        ("SELECT k FROM t x WHERE EXISTS (SELECT * FROM u WHERE u.k = x.k AND u.k IN"
         " (SELECT k FROM s WHERE w = '{x}' AND '{}' <> (SELECT max(v) FROM t)))", [(1,), (3,)]),
        ("SELECT t.k, (SELECT count(*) FROM u WHERE u.k < t.k) AS n FROM t WHERE k = 4", [(4, 2)]),
        ("SELECT k FROM t WHERE k > 17 UNION ALL SELECT k FROM u WHERE k = 5 ORDER BY k",
         [(5,), (18,), (19,)]),
        ("WITH c AS (SELECT k FROM t WHERE k > 18) SELECT c.k FROM c, t WHERE c.k = t.k", [(19,)]),
        ("SELECT k, x FROM u, LATERAL (SELECT max(t.k) AS x FROM t WHERE t.k < u.k) WHERE k = 3",
         [(3, 2)]),
        ("SELECT * FROM (SELECT k FROM t) PIVOT (count(*) FOR k IN (1 AS a, 99 AS b))",
         [(1, None)]),
        ("SELECT count(*) FROM t TABLESAMPLE (100 PERCENT) NATURAL JOIN u", [(3,)]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("way")
def test_a_source_may_stand_anywhere_in_a_query(
    tables: Session, query: str, rows: list[tuple[Any, ...]]
) -> None:
    assert tables.execute(query).fetchall() == rows


@pytest.mark.usefixtures("way")
def test_what_spark_knows_of_files_is_no_column(tables: Session) -> None:
    for name in ("_metadata", "t._metadata.file_path"):
        with pytest.raises(ColumnNotFoundError) as caught:
            tables.execute(f"SELECT {name} FROM t")
        assert "__acidsql" not in str(caught.value)


def test_a_query_makes_no_view(tables: Session, spark: Any, way: str) -> None:
    def made() -> int:
        return sum("CreateViewCommand" in plan for plan in executed_plans(spark).values())

    tables.execute("SELECT * FROM t").fetchall()
    before = made()
    tables.execute("UPDATE t SET v = 'x' WHERE k = 3")
    tables.execute("MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE")
    assert (made() > before) == (way == "views")
    assert tables.execute("SELECT count(*) FROM t").fetchall() == [(17,)]
