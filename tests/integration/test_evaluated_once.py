"""What is random is computed once: rows, counts and files tell one story, whoever writes them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session

ROWS = 300
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


BUCKETS = "CLUSTERED BY (u) INTO 4 BUCKETS"
MODES = {"collected": 96 << 20, "mixed": 20_000, "distributed": 0}


def modes(*short: str) -> Any:
    """Those of the session, the others at length."""
    params = [
        pytest.param(limit, id=mode, marks=[] if mode in short else [pytest.mark.thorough])
        for mode, limit in MODES.items()
    ]
    return pytest.mark.parametrize("session", params, indirect=True)


@pytest.fixture
def session(
    spark: Any, warehouse: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """A table t of ROWS rows where v and w are 0; the driver can hold all, few or no rows."""
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", request.param)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    with acidsql.connect(warehouse, spark=spark) as session:
        session.execute(f"CREATE TABLE t (k int, v double, w double) {ACID}")
        for first in (0, ROWS // 2):  # two files, without Spark
            keys = range(first, first + ROWS // 2)
            session.insert("t", [{"k": k, "v": 0.0, "w": 0.0} for k in keys])
        yield session
        assert session.execute("CHECK TABLE t").fetchall() == []


def rows(session: Session) -> dict[int, tuple[float, float]]:
    found = session.execute("SELECT k, v, w FROM t").fetchall()
    assert max(Counter(k for k, _, _ in found).values(), default=1) == 1
    return {k: (v, w) for k, v, w in found}


@modes("mixed")
def test_each_matched_row_meets_one_clause(session: Session) -> None:
    result = session.execute(
        "MERGE INTO t USING (SELECT k FROM t) s ON t.k = s.k"
        " WHEN MATCHED AND rand() < 0.4 THEN DELETE"
        " WHEN MATCHED AND rand() < 0.5 THEN UPDATE SET v = 1, w = 1"
    )
    left = rows(session)
    changed = [k for k, values in left.items() if values == (1, 1)]
    assert all(values in ((0, 0), (1, 1)) for values in left.values())
    assert result.rows_deleted == ROWS - len(left)
    assert result.rows_updated == len(changed)
    assert 0 < len(changed) < len(left) < ROWS


@modes()  # the short form is test_a_random_condition_is_asked_once in test_review_merge.py
def test_a_change_for_many_rows_by_one_source_row(session: Session) -> None:
    result = session.execute(
        "MERGE INTO t USING (SELECT 0 AS low, -1 AS k) s ON t.k >= s.low"
        " WHEN MATCHED AND (SELECT rand()) < 2 AND rand() < 0.5 THEN UPDATE SET v = 1 + rand()"
        " WHEN MATCHED AND rand() < 0.5 THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, 0, 0)"
    )
    left = rows(session)
    assert result.rows_inserted == 0
    assert result.rows_deleted == ROWS - len(left)
    assert result.rows_updated == sum(1 <= v < 2 for v, _ in left.values())
    assert all(v == 0 or 1 <= v < 2 for v, _ in left.values())


@pytest.mark.parametrize(
    ("session", "registered"),
    [
        pytest.param(MODES["distributed"], True, id="distributed, frame"),
        *(
            pytest.param(MODES[mode], frame, id=f"{mode}, {kind}", marks=pytest.mark.thorough)
            for mode, kind, frame in (
                ("collected", "query", False),
                ("collected", "frame", True),
                ("mixed", "query", False),
                ("mixed", "frame", True),
                ("distributed", "query", False),
            )
        ),
    ],
    indirect=["session"],
)
def test_a_random_source_is_one_source(session: Session, spark: Any, registered: bool) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    query = f"(SELECT CAST(id + {ROWS // 2} AS int) AS k, rand() AS r FROM range({ROWS}))"
    if registered:
        frame = spark.range(ROWS).select((F.col("id") + ROWS // 2).cast("int").alias("k"))
        session.register("f", frame.withColumn("r", F.rand()))
        query = "f"
    result = session.execute(
        f"MERGE INTO t USING {query} s ON t.k = s.k"
        " WHEN MATCHED AND s.r < 0.4 THEN UPDATE SET v = s.r, w = s.r"
        " WHEN MATCHED AND s.r < 0.8 THEN DELETE"
        " WHEN NOT MATCHED AND s.r >= 0.5 THEN INSERT VALUES (s.k, s.r, s.r)"
    )
    left = rows(session)
    assert all(v == w for v, w in left.values())
    assert all(left.get(k) == (0, 0) for k in range(ROWS // 2))
    matched = [left[k][0] for k in range(ROWS // 2, ROWS) if k in left]
    inserted = [v for k, (v, _) in left.items() if k >= ROWS]
    assert all(v < 0.4 for v in matched)
    assert all(v >= 0.5 for v in inserted)
    assert result.rows_updated == sum(v > 0 for v in matched)
    assert result.rows_deleted == ROWS - ROWS // 2 - len(matched)
    assert result.rows_inserted == len(inserted)


@modes()  # the short form is tests/logic/multi_insert.slt
def test_each_row_of_a_random_source_meets_the_legs_that_it_fits(
    session: Session, spark: Any
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    session.execute(f"CREATE TABLE i (k int, x double) {BUCKETS.replace('u', 'k')} {ACID}")
    session.register("f", spark.range(ROWS).withColumn("x", F.rand()))
    query = "(SELECT k, row_number() OVER (ORDER BY v) / 300 AS n FROM t)"
    result = session.execute(
        f"FROM {query} s JOIN f ON f.id = s.k"
        " INSERT INTO i SELECT k, x WHERE n <= 0.5 AND x < 0.3"
        " INSERT INTO i SELECT k, x WHERE n <= 0.5 AND x >= 0.3"
        " INSERT INTO i SELECT k, x WHERE n > 0.5"
    )
    found = session.execute("SELECT k, x FROM i").fetchall()
    assert sorted(k for k, _ in found) == list(range(ROWS))
    assert sum(leg.rows for leg in result.legs) == result.rows_inserted == ROWS
    assert result.legs[2].rows == ROWS // 2
    assert session.execute("CHECK TABLE i").fetchall() == []


@modes()  # the short form is grammar_tests/plan/with_clause.test
def test_all_that_read_a_common_table_expression_see_the_same_rows(
    session: Session, spark: Any
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    # Unlike those of rand(), the values have no seed: each computation gives others.
    other = F.udf(lambda key: random.random(), "double").asNondeterministic()
    session.register("f", spark.range(ROWS).withColumn("x", other("id")))
    result = session.execute(
        "WITH a AS (SELECT id, x FROM f)"
        " UPDATE t SET v = (SELECT max(x) FROM a WHERE a.id = t.k),"
        " w = (SELECT min(x) FROM a WHERE a.id = t.k) WHERE k IN (SELECT id FROM a WHERE x < 0.5)"
    )
    changed = [values for values in rows(session).values() if values != (0, 0)]
    assert 0 < len(changed) == result.rows_updated < ROWS
    assert all(v == w < 0.5 for v, w in changed)


@modes()  # the short form is tests/property/test_merge_peers.py
def test_clauses_may_hold_subqueries_of_every_kind(session: Session) -> None:
    session.execute(f"CREATE TABLE f (k int, x double) {ACID}")
    session.execute("INSERT INTO f VALUES (1, 10), (2, 20), (4, 40)")
    result = session.execute(
        "MERGE INTO t USING (SELECT CAST(id AS int) AS k FROM range(5)) s ON t.k = s.k"
        " WHEN MATCHED AND s.k = 3 AND NOT EXISTS (SELECT 1 FROM f WHERE f.k = s.k) THEN DELETE"
        " WHEN MATCHED AND t.k IN (SELECT k FROM f) THEN UPDATE SET"
        " v = (SELECT max(x) FROM f WHERE f.k = t.k), w = (SELECT sum(x) FROM f)"
    )
    assert (result.rows_updated, result.rows_deleted) == (3, 1)
    left = rows(session)
    assert [left.get(k) for k in range(5)] == [(0, 0), (10, 70), (20, 70), None, (40, 70)]


@modes("distributed")
def test_update_and_delete_count_what_they_changed(session: Session) -> None:
    updated = session.execute("UPDATE t SET v = 1 + rand(), w = 1 WHERE rand() < 0.5").rows_updated
    left = rows(session)
    assert len(left) == ROWS
    assert updated == sum(w == 1 for _, w in left.values())
    assert all((1 <= v < 2) == (w == 1) for v, w in left.values())
    half = f"(SELECT CAST(id AS int) FROM range({ROWS}) WHERE rand() < 0.5)"
    deleted = session.execute(f"DELETE FROM t WHERE k IN {half} AND rand() < 0.9").rows_deleted
    assert len(rows(session)) == ROWS - (deleted or 0)


@pytest.mark.parametrize(
    ("session", "columns"),
    [
        pytest.param(MODES["collected"], "", id="collected"),
        pytest.param(MODES["distributed"], BUCKETS, id="distributed, buckets"),
        *(
            pytest.param(MODES[mode], columns, id=f"{mode}, {kind}", marks=pytest.mark.thorough)
            for mode, kind, columns in (
                ("collected", "buckets", BUCKETS),
                ("mixed", "plain", ""),
                ("mixed", "buckets", BUCKETS),
                ("distributed", "plain", ""),
            )
        ),
    ],
    indirect=["session"],
)
def test_every_row_of_a_random_insert_arrives_once(session: Session, columns: str) -> None:
    session.execute(f"CREATE TABLE i (id bigint, u string) PARTITIONED BY (p int) {columns} {ACID}")
    for kind in ("INTO", "OVERWRITE"):
        result = session.execute(
            f"INSERT {kind} TABLE i PARTITION (p) SELECT id, uuid(), CAST(3 * rand() AS int)"
            f" FROM range({ROWS})"
        )
        found = session.execute("SELECT id, u FROM i").fetchall()
        assert sorted(i for i, _ in found) == list(range(ROWS))
        assert len({u for _, u in found}) == result.rows_inserted == ROWS
        assert session.execute("CHECK TABLE i").fetchall() == []
        session.execute("TRUNCATE TABLE i")


@modes("distributed")
def test_rows_move_as_often_as_they_are_deleted(session: Session) -> None:
    places = "PARTITIONED BY (d int) CLUSTERED BY (k) INTO 2 BUCKETS"
    session.execute(f"CREATE TABLE p (k int, v double) {places} {ACID}")
    session.execute("INSERT INTO p SELECT k, 0, 0 FROM t")
    session.execute("SET acidsql.allow.row.movement = true")
    moved = session.execute("UPDATE p SET d = cast(3 * rand() AS int), v = 1 WHERE rand() < 0.5")
    merged = session.execute(
        "MERGE INTO p USING (SELECT k FROM t) s ON p.k = s.k + 10"
        " WHEN MATCHED AND rand() < 0.3 THEN DELETE"
        " WHEN MATCHED AND rand() < 0.5 THEN UPDATE SET d = cast(3 + 3 * rand() AS int), v = v + 2"
        " WHEN MATCHED AND rand() < 0.5 THEN UPDATE SET v = -1"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k + 1000, 5, 7)"
    )
    left = session.execute("SELECT k, v, d FROM p").fetchall()
    assert len({k for k, _, _ in left}) == len(left)
    assert len(left) == ROWS - merged.rows_deleted + merged.rows_inserted
    assert merged.rows_inserted == sum(k >= 1000 for k, _, _ in left) == 10
    assert merged.rows_updated == sum(v in (2, 3, -1) for _, v, _ in left)
    assert all((v in (2, 3)) == (3 <= d <= 5) for _, v, d in left)
    assert 0 < moved.rows_updated < ROWS
    assert session.execute("CHECK TABLE p").fetchall() == []
