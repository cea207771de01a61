"""A session without ANSI rules: a write stores what its query would show, cast by ANSI rules.

Spark's own INSERT says what that is: under these settings, it stores into a Parquet table by ANSI
rules what a query has computed without them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from acidsql.engines.spark.settings import ansi, by_own_rules
from acidsql.errors import InvalidValueError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ANSI = "spark.sql.ansi.enabled"
ROWS = (
    "SELECT 1 AS id, CAST(NULL AS array<int>) AS ar, '007' AS s UNION ALL SELECT 2, array(1), 'x'"
)
VALUES = [
    "{0}s",
    "'1' + 1",
    "size({0}ar)",
    "coalesce(CAST(NULL AS int), {0}s)",
    "IF({0}id = 1, {0}s, 5)",
    "CASE WHEN {0}id = 1 THEN 9 ELSE {0}s END",
    "CAST({0}s AS int)",
    "{0}id / 0",
    "{0}id % 0",
    "{0}ar[5]",
    "element_at({0}ar, 5)",
    "elt(9, {0}s)",
    "2147483647 + {0}id",
    "CAST('x' AS double) + 1",
    "to_date('x', 'yyyy')",
    "(SELECT max(i) FROM (SELECT '08' AS i UNION SELECT 7))",
    "size(transform({0}ar, a -> a / 0))",
]
"""Expressions of the columns of src, before whose names may stand a table's."""

QUERIES = [
    "SELECT id, s FROM src UNION ALL SELECT 3, 9",
    "SELECT id, e FROM src LATERAL VIEW explode(array(s, 1)) x AS e",
    "SELECT 1, avg(s) FROM src WHERE s > '1' + 1 OR size(ar) = -1",
    "WITH c AS (SELECT id, s FROM src UNION ALL SELECT 3, 9) SELECT * FROM c",
    "SELECT id, sum(CAST(s AS int)) OVER (ORDER BY id) / 0 FROM src",
]
NAMES = [f"a{number}" for number in range(len(VALUES))]
COLUMNS = ", ".join(f"{name} string" for name in NAMES)


def values(table: str = "") -> str:
    return ", ".join(value.format(table) for value in VALUES)


def assignments(table: str = "") -> str:
    pairs = zip(NAMES, VALUES, strict=True)
    return ", ".join(f"{name} = {value.format(table)}" for name, value in pairs)


@pytest.fixture
def plain(session: Session, spark: Any) -> Iterator[Session]:
    """A session whose Spark has the rules from before ANSI, and a table ``src`` in both."""
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, "false")
    session.execute(f"CREATE TABLE src (id int, ar array<int>, s string) {ACID}")
    session.execute(f"INSERT INTO src {ROWS}")
    spark.sql(ROWS).createOrReplaceTempView("src")
    session.execute(f"CREATE TABLE t (id int, a string, n int DEFAULT 4) {ACID}")
    yield session
    spark.catalog.dropTempView("src")
    spark.conf.set(ANSI, before)


def stored_by_spark(spark: Any, columns: str, query: str) -> list[Any]:
    spark.sql(f"CREATE TABLE by_spark (id int, {columns}) USING parquet")
    try:
        spark.sql(f"INSERT INTO by_spark {query}")
        return sorted(map(tuple, spark.table("by_spark").collect()), key=str)
    finally:
        spark.sql("DROP TABLE by_spark")


def rows_of(session: Session, query: str) -> list[Any]:
    return sorted(session.execute(query).fetchall(), key=str)


def test_queries_are_stored_as_by_spark(plain: Session, spark: Any) -> None:
    for query in QUERIES:
        expected = stored_by_spark(spark, "a string", query)
        plain.execute(f"INSERT OVERWRITE TABLE t (id, a) {query}")
        assert rows_of(plain, "SELECT id, a FROM t") == expected, query
        plain.execute("TRUNCATE TABLE t")
        plain.execute(
            f"MERGE INTO t USING ({query}) AS q (k, v) ON t.id = q.k AND false"
            " WHEN NOT MATCHED THEN INSERT (id, a) VALUES (k, v)"
        )
        assert rows_of(plain, "SELECT id, a FROM t") == expected, query


def test_other_ways_to_store_a_query(plain: Session) -> None:
    query = "SELECT id, s AS a FROM src UNION ALL SELECT 3, 9"
    expected = [(1, "007"), (2, "x"), (3, "9")]
    plain.execute(f"CREATE TABLE made {ACID} AS {query}")
    plain.execute(f"CREATE VIEW v AS {query}")
    plain.execute("INSERT INTO t (id, a) SELECT * FROM v")
    plain.execute(f"CREATE MATERIALIZED VIEW m AS {query}")
    plain.execute(f"CREATE TABLE first (id int, a string) {ACID}")
    plain.execute(f"FROM ({query}) q INSERT INTO first SELECT * INSERT INTO t (id, a) SELECT id, a")
    assert rows_of(plain, "SELECT * FROM made") == expected
    assert rows_of(plain, "SELECT id, a FROM t") == sorted([*expected, *expected])
    assert rows_of(plain, "SELECT * FROM m") == expected
    assert rows_of(plain, "SELECT * FROM first") == expected
    plain.execute("INSERT INTO src VALUES (4, NULL, '04')")
    plain.execute("ALTER MATERIALIZED VIEW m REBUILD")
    assert rows_of(plain, "SELECT * FROM m") == [*expected, (4, "04")]


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and sources of either size."""
    if request.param == "large":
        monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)
        monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda source: None)


@pytest.mark.usefixtures("size")
def test_values_are_stored_as_by_spark(plain: Session, spark: Any) -> None:
    plain.execute(f"CREATE TABLE u (id int, {COLUMNS}, ar array<int>, s string) {ACID}")
    expected = stored_by_spark(spark, COLUMNS, f"SELECT id, {values()} FROM src")
    rest = (None,) * len(NAMES)
    by_source = sorted([(1, *rest), expected[1]], key=str)
    source = "(SELECT 1 AS k)"
    for statement, rows in (
        (f"UPDATE u SET {assignments()}", expected),
        (f"UPDATE u SET {assignments()} WHERE id < 5", expected),
        (
            "MERGE INTO u USING src q ON u.id = q.id"
            f" WHEN MATCHED THEN UPDATE SET {assignments('q.')}",
            expected,
        ),
        (
            f"MERGE INTO u USING {source} q ON u.id = q.k WHEN MATCHED THEN UPDATE SET s = q.k"
            f" WHEN NOT MATCHED BY SOURCE THEN UPDATE SET {assignments()}",
            by_source,
        ),
        (
            "MERGE INTO u USING src q ON u.id = q.id + 5"
            f" WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN"
            f" INSERT (id, {', '.join(NAMES)}) VALUES (id, {values()})",
            expected,
        ),
        (
            "MERGE INTO u USING (SELECT *, id + 5 AS k FROM src) q ON u.id = q.k"
            " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN"
            f" INSERT (id, {', '.join(NAMES)}) VALUES (k, {values()})",
            sorted([(1, *rest), (2, *rest), *((k + 5, *row) for k, *row in expected)], key=str),
        ),
    ):
        plain.execute("INSERT OVERWRITE TABLE u (id, ar, s) SELECT * FROM src")
        plain.execute(statement)
        assert rows_of(plain, f"SELECT id, {', '.join(NAMES)} FROM u") == rows, statement
    plain.execute(
        f"INSERT OVERWRITE TABLE u (id, {', '.join(NAMES)}) SELECT id, {values()} FROM src"
    )
    assert rows_of(plain, f"SELECT id, {', '.join(NAMES)} FROM u") == expected


@pytest.mark.usefixtures("size")
def test_clauses_of_a_merge_have_rules_of_the_session(plain: Session) -> None:
    plain.execute("INSERT INTO t (id, a) SELECT id, s FROM src")
    source = "(SELECT 1 AS k, CAST(NULL AS array<int>) AS e UNION ALL SELECT 3, NULL)"
    plain.execute(
        f"MERGE INTO t USING {source} q ON t.id = q.k + '0'"
        " WHEN MATCHED AND size(q.e) = -1 AND t.a = '007' THEN UPDATE SET a = IF(true, a, 1), n = 5"
        " WHEN NOT MATCHED AND size(q.e) = -1 THEN INSERT (id, a, n)"
        " VALUES (k, '1' + 1, CAST('x' AS int))"
    )
    assert rows_of(plain, "SELECT * FROM t") == [(1, "007", 5), (2, "x", 4), (3, "2.0", None)]


def test_defaults_are_the_same_in_all_statements(plain: Session) -> None:
    plain.execute(f"CREATE TABLE d (id int, x string DEFAULT '1' + 1, y int) {ACID}")
    plain.execute("INSERT INTO d (id, y) VALUES (1, 1)")
    plain.execute("INSERT INTO d (y, id) SELECT 1, 2")
    plain.execute("INSERT INTO d VALUES (3, DEFAULT, 1)")
    merge = "MERGE INTO d USING src q ON d.id = q.id + 2 WHEN MATCHED THEN UPDATE SET x = DEFAULT"
    plain.execute(f"{merge} WHEN NOT MATCHED THEN INSERT (id, y) VALUES (id + 2, 1)")
    assert rows_of(plain, "SELECT * FROM d") == [(i, "2.0", 1) for i in (1, 2, 3, 4)]


def test_conditions_are_those_of_a_query(plain: Session) -> None:
    for condition in ("size(ar) = -1", "IF(id = 1, s, 5) = '007'", "id / 0 IS NULL"):
        found = plain.execute(f"SELECT count(*) FROM src WHERE {condition}").fetchall()
        plain.execute("BEGIN")
        assert [(plain.execute(f"DELETE FROM src WHERE {condition}").rows_deleted,)] == found
        plain.execute("ROLLBACK")


@pytest.mark.usefixtures("size")
def test_a_value_that_does_not_fit_is_an_error(plain: Session) -> None:
    plain.execute("INSERT INTO t (id, a) VALUES (1, 'x')")
    for statement in (
        "INSERT INTO t (id, n) SELECT id, s FROM src",
        "INSERT INTO t (id, n) SELECT id, id * 3000000000 FROM src",
        "INSERT INTO t (id, n) VALUES (2, 1), (3, concat('x', ''))",
        "INSERT INTO t (id, n) VALUES (2, 1), (3 + 0, 3000000000)",
        "UPDATE t SET n = a",
        "UPDATE t SET n = a WHERE id = 1",
        "MERGE INTO t USING src q ON t.id = q.id WHEN MATCHED THEN UPDATE SET n = concat(q.s, 'y')",
        "MERGE INTO t USING src q ON false WHEN NOT MATCHED THEN INSERT (id, n) VALUES (9, s)",
        "MERGE INTO t USING src q ON false WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = a",
    ):
        with pytest.raises(InvalidValueError):
            plain.execute(statement)
    assert rows_of(plain, "SELECT * FROM t") == [(1, "x", 4)]


def test_each_value_of_several_rows_is_stored_by_itself(plain: Session) -> None:
    """In VALUES, Spark gives those of a column one type."""
    numbers = range(200)  # more than are computed side by side
    rows = [f"({n}, {VALUES[n % 2 + 1].format('')}, 1 / {n})" for n in numbers]
    rows = [row.replace("size(ar)", "size(CAST(NULL AS array<int>))") for row in rows]
    plain.execute(f"INSERT INTO t (id, a, n) VALUES {', '.join(rows)}, (200, DEFAULT, DEFAULT)")
    expected = [(n, "2.0" if n % 2 == 0 else "-1", {0: None, 1: 1}.get(n, 0)) for n in numbers]
    assert rows_of(plain, "SELECT * FROM t") == sorted([*expected, (200, None, 4)], key=str)


@pytest.mark.usefixtures("size")
def test_each_nested_value_of_several_rows_is_stored_by_itself(plain: Session) -> None:
    kinds = "ar array<string>, st struct<p:int,q:string>, m map<string,int>"
    plain.execute(f"CREATE TABLE n (id int, {kinds}) {ACID}")
    plain.execute(
        "INSERT INTO n VALUES (abs(-1), array(1), struct('1', 2), map('a', 1)),"
        " (2, array(NULL, 2.5), NULL, NULL), (3, NULL, struct(3, NULL), map())"
    )
    assert [tuple(row) for row in plain.execute("SELECT * FROM n ORDER BY id").fetchall()] == [
        (1, ["1"], (1, "2"), {"a": 1}),
        (2, [None, "2.5"], None, None),
        (3, None, (3, None), {}),
    ]


def test_only_the_acting_clause_is_evaluated(plain: Session) -> None:
    plain.execute("INSERT INTO t (id, a) SELECT id, s FROM src")
    plain.execute(
        "MERGE INTO t USING src q ON t.id = q.id"
        " WHEN MATCHED AND t.a = '007' THEN UPDATE SET n = t.a"
        " WHEN MATCHED THEN UPDATE SET n = q.id"
    )
    assert rows_of(plain, "SELECT * FROM t") == [(1, "007", 7), (2, "x", 2)]


def test_a_check_has_the_rules_of_the_table(plain: Session) -> None:
    """By those of the session, the size of NULL would be -1."""
    plain.execute(f"CREATE TABLE c (id int, ar array<int>, CHECK (size(ar) >= 0)) {ACID}")
    plain.execute("INSERT INTO c SELECT id, ar FROM src")
    assert plain.execute("UPDATE c SET id = size(ar)").rows_updated == 2
    assert rows_of(plain, "SELECT id FROM c") == [(-1,), (1,)]


def test_a_thread_with_ansi_rules_leaves_others_alone(plain: Session, spark: Any) -> None:
    """The rules belong to a session, not to a thread."""
    entered = threading.Event()

    def cast() -> None:
        with ansi(spark):
            entered.set()
            time.sleep(0.5)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(cast)
        entered.wait()
        plain.execute("INSERT INTO t (id, a) SELECT id / 0, IF(id = 1, s, 5) FROM src")
        done.result()
    assert rows_of(plain, "SELECT id, a FROM t") == [(None, "007"), (None, "5")]


def test_ansi_rules_wait_for_threads_with_others(spark: Any, plain: Session) -> None:
    del plain
    seen = []
    entered = threading.Event()

    def analyse() -> None:
        with by_own_rules(spark):
            entered.set()
            time.sleep(0.5)
            seen.append(spark.conf.get(ANSI))

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(analyse)
        entered.wait()
        with ansi(spark), by_own_rules(spark):
            seen.append(spark.conf.get(ANSI))
        done.result()
    assert seen == ["false", "true"]
