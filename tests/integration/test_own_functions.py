"""A session that has functions of its own under the names of Spark's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.own_functions import (
    OWN_FUNCTIONS,
    _hidden_in_catalog,
    require_own_functions,
)
from acidsql.errors import ConfigError
from acidsql.session.session import Session

ORDER = "spark.sql.functionResolution.sessionOrder"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
WIDE = {
    "k": "int", "s": "string", "v": "varchar(5)", "c": "char(3)", "d": "date", "t": "timestamp",
    "x": "decimal(12,2)", "f": "double", "a": "array<int>", "m": "map<string,int>",
    "r": "struct<n:int,w:string>", "b": "boolean", "y": "binary",
}  # fmt: skip
ROW = (
    "{k}, 's{k}', 'v', 'c', DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', {k}.5, 0.5D,"
    " ARRAY({k}, NULL), MAP('k', {k}), NAMED_STRUCT('n', {k}, 'w', 'w'), true, X'00'"
)
DAY, NEW_DAY = dt.date(2020, 1, 1), dt.date(2021, 1, 1)
BIG = [
    ("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0),
    ("acidsql.orc.set_columns.SMALL_BYTES", 0),
    ("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1),
    ("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0),
]


def calling(name: str) -> Callable[..., None]:
    def call(*_: object) -> None:
        raise AssertionError(f"the session's {name} was called")

    return call


@pytest.fixture
def order(request: pytest.FixtureRequest) -> str | None:
    """A value of the setting, or None for Spark's default."""
    return request.param


@pytest.fixture
def own(spark: Any, order: str | None) -> Any:
    """A session without functions of its own yet."""
    session = spark.newSession()
    if order is not None:
        session.conf.set(ORDER, order)
    return session


@pytest.fixture
def session(own: Any, tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", spark=own) as session:
        session.execute(f"CREATE TABLE t (k int, s string) {ACID}")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        yield session


@pytest.mark.parametrize("order", ["first"], indirect=True)
@pytest.mark.parametrize("name", ["hash", "shiftright", "spark_partition_id", "COALESCE"])
def test_a_function_that_our_sql_calls(
    session: Session, own: Any, name: str, tmp_path: Path
) -> None:
    own.udf.register(name, calling(name), "int")
    if name == "hash":  # ours calls another one
        assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, "a"), (2, "b")]
        return
    for statement in (
        "SELECT k FROM t",
        "DELETE FROM t WHERE s LIKE '%'",
        "UPDATE t SET s = s || s",
        "MERGE INTO t USING (SELECT 1 AS k) AS n ON t.k = n.k WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(ConfigError, match=f"in the place of Spark's {name.lower()}") as told:
            session.execute(statement)
        assert "spark.newSession()" in str(told.value.hint)
    with acidsql.connect(tmp_path / "w", spark=own.newSession()) as fresh:
        assert fresh.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("order", [None, "second", "last"], indirect=True)
def test_spark_calls_its_own_function(session: Session, own: Any) -> None:
    for name in sorted(OWN_FUNCTIONS):
        own.udf.register(name, calling(name), "int")
    session.execute("UPDATE t SET s = s || s WHERE k + 1 = 2")
    assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, "aa"), (2, "b")]


@pytest.mark.parametrize(
    ("order", "hidden"), [("first", {"left"}), ("last", set())], indirect=["order"]
)
def test_each_name_is_asked_for_where_the_registry_is_out_of_reach(
    own: Any, hidden: set[str]
) -> None:
    """As over Spark Connect."""
    for name in ("left", "hash"):
        own.udf.register(name, calling(name), "int")
    assert _hidden_in_catalog(own) == hidden


def hide_all_others(own: Any) -> None:
    """Replace each of Spark's functions that our SQL does not call."""
    java = java_classes(own)
    assert java is not None
    registry = java("org.apache.spark.sql.catalyst.analysis.FunctionRegistry").builtin()
    known = java("scala.jdk.javaapi.CollectionConverters").asJava(registry.listFunction())
    for name in {str(known.get(n).funcName()) for n in range(known.size())} - OWN_FUNCTIONS:
        own.udf.register(name, calling(name), "int")
    require_own_functions(own)


@pytest.mark.parametrize("order", ["first"], indirect=True)
@pytest.mark.parametrize(
    ("place", "limits"),
    [("", BIG), ("PARTITIONED BY (p string) CLUSTERED BY (k, t, b) INTO 2 BUCKETS", [])],
    ids=["one place", "partitions and buckets"],
)
def test_no_other_function_is_called(
    session: Session, own: Any, monkeypatch: pytest.MonkeyPatch, limits: list[Any], place: str
) -> None:
    hide_all_others(own)
    for name, value in limits:
        monkeypatch.setattr(name, value)
    columns = ", ".join(f"{name} {kind}" for name, kind in WIDE.items())
    rows = ", ".join(f"({ROW.format(k=k)})" for k in range(9))
    session.execute(f"CREATE TABLE one ({columns}) {ACID}")
    session.execute(f"INSERT INTO one VALUES {rows}")
    session.execute(f"CREATE TABLE w ({columns}, CHECK (k >= 0)) {place} {ACID}")
    kept = ", ".join(WIDE) + (", if(k < 5, 'p', 'q')" if place else "")
    for statement, changed in {
        f"INSERT INTO w SELECT {kept} FROM one": 9,
        "DELETE FROM w WHERE k IN (2, 7) AND x > 1": 2,
        "UPDATE w SET v = s, c = 'd', d = DATE '2021-01-01' WHERE k < 4 AND k > 0": 2,
        "UPDATE w SET f = f + k, r.n = k, y = X'01'": 7,
        """MERGE INTO w USING (SELECT k + 4 AS k, s FROM one) AS n ON w.k = n.k
           WHEN MATCHED AND w.k = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET s = n.s
           WHEN NOT MATCHED BY SOURCE AND w.k = 0 THEN UPDATE SET s = 'gone'""": 5,
        """MERGE INTO w USING one AS n ON w.k = n.k AND w.s = n.s
           WHEN MATCHED THEN UPDATE SET x = w.x + n.x WHEN NOT MATCHED AND n.k = 2 THEN INSERT
           VALUES (n.k, n.s, n.v, n.c, n.d, n.t, n.x, n.f, n.a, n.m, n.r, n.b, n.y"""
        + (", 'p')" if place else ")"): 3,
    }.items():
        done = session.execute(statement)
        counts = (done.rows_inserted, done.rows_updated, done.rows_deleted)
        assert sum(n or 0 for n in counts) == changed, statement
    session.execute("ALTER TABLE w ADD COLUMNS (n int)")
    session.execute("ALTER TABLE w CHANGE v v string")
    session.execute("ANALYZE TABLE w COMPUTE STATISTICS FOR COLUMNS")
    assert session.execute("SELECT count(*), max(k) FROM w").fetchall() == [(7, 6)]
    found = session.execute("SELECT k, s, v, c, d, x, f, r.n, n FROM w ORDER BY k").fetchall()
    assert found == [
        (0, "gone", "v", "c  ", DAY, Decimal("0.50"), 0.5, 0, None),
        (1, "s1", "s1", "d  ", NEW_DAY, Decimal("3.00"), 1.5, 1, None),
        (2, "s2", "v", "c  ", DAY, Decimal("2.50"), 0.5, 2, None),
        (3, "s3", "s3", "d  ", NEW_DAY, Decimal("7.00"), 3.5, 3, None),
        (4, "s0", "v", "c  ", DAY, Decimal("4.50"), 4.5, 4, None),
        (5, "s1", "v", "c  ", DAY, Decimal("5.50"), 5.5, 5, None),
        (6, "s2", "v", "c  ", DAY, Decimal("6.50"), 6.5, 6, None),
    ]


@pytest.mark.parametrize("order", ["first"], indirect=True)
@pytest.mark.parametrize("stored", ["TEXTFILE", "ORC", "PARQUET", "AVRO"])
def test_no_other_function_is_called_by_plain_tables(
    session: Session, own: Any, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    hide_all_others(own)
    session.execute(f"CREATE TABLE p (k int, c char(3), y binary, d date) STORED AS {stored}")
    session.execute("INSERT INTO p SELECT k, s, X'01', DATE '2020-01-01' FROM t")
    expected = [(1, "a  ", b"\1", DAY), (2, "b  ", b"\1", DAY)]
    assert session.execute("SELECT * FROM p ORDER BY k").fetchall() == expected
