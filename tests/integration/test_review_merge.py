"""A MERGE does the same whether or not the driver can hold its source."""

import pytest

import acidsql


@pytest.fixture(
    params=[
        pytest.param(96 << 20, id="collected", marks=pytest.mark.thorough),
        pytest.param(1, id="large"),
    ]
)
def session(spark, tmp_path, request, monkeypatch):
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", request.param)
    with acidsql.connect(str(tmp_path), spark=spark) as session:
        session.execute(
            "CREATE TABLE t (id int, d date, n int) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        session.execute("INSERT INTO t VALUES (1, '2020-01-01', 1), (2, '2020-01-02', 2)")
        yield session


def rows(session):
    return sorted(session.execute("SELECT id, n FROM t").fetchall())


@pytest.mark.parametrize("condition", ["AND t.n > 0", pytest.param("", marks=pytest.mark.thorough)])
def test_new_values_are_computed_for_matched_rows_only(session, condition):
    result = session.execute(
        "MERGE INTO t USING (SELECT * FROM VALUES (2, '7'), (9, 'x'), (8, '8') AS v(id, n)) s"
        f" ON t.id = s.id WHEN MATCHED {condition} THEN UPDATE SET n = CAST(s.n AS int)"
        " WHEN NOT MATCHED AND s.n <> 'x' THEN INSERT (id, n) VALUES (s.id, CAST(s.n AS int))"
    )
    assert (result.rows_inserted, result.rows_updated) == (1, 1)
    assert rows(session) == [(1, 1), (2, 7), (8, 8)]


def test_a_source_date_beyond_python_is_only_a_date(session):
    result = session.execute(
        "MERGE INTO t USING (SELECT date'+12000-01-01' AS d UNION ALL SELECT date'2020-01-02') s"
        " ON t.d = s.d WHEN MATCHED THEN UPDATE SET n = 5"
    )
    assert result.rows_updated == 1
    assert rows(session) == [(1, 1), (2, 5)]


@pytest.mark.thorough
def test_a_row_to_insert_knows_the_source_alone(session):
    result = session.execute(
        "MERGE INTO t USING (SELECT 9 AS id, 3 AS m) s ON t.id = s.id AND n = m"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND id = 9 THEN INSERT (id, n) VALUES (id, m)"
    )
    assert result.rows_inserted == 1
    assert rows(session) == [(1, 1), (2, 2), (9, 3)]
    with pytest.raises(acidsql.AcidSqlError, match='column "n" not found'):
        session.execute(
            "MERGE INTO t USING (SELECT 8 AS id) s ON t.id = s.id"
            " WHEN NOT MATCHED AND n IS NULL THEN INSERT (id, n) VALUES (id, 0)"
        )


@pytest.mark.thorough
def test_each_row_is_tried_by_its_own_clauses(session):
    """A value or condition is computed only for the rows that its clause is asked for."""
    session.execute("INSERT INTO t VALUES (3, NULL, 3), (4, NULL, 4), (NULL, NULL, 5)")
    result = session.execute(
        "MERGE INTO t USING (VALUES (1, '1'), (2, 'x'), (7, '7'), (8, '8'), (9, 'x')) AS s (id, n)"
        " ON t.id = s.id"
        " WHEN NOT MATCHED BY SOURCE AND n = 3 THEN UPDATE SET n = 10 / (n - 2)"
        " WHEN MATCHED AND t.n = 1 THEN UPDATE SET n = CAST(s.n AS int) + 100"
        " WHEN NOT MATCHED AND s.id = 9 THEN INSERT (id) VALUES (-s.id)"
        " WHEN NOT MATCHED AND CAST(s.n AS int) = 8 THEN INSERT (id, n) VALUES (s.id, s.n)"
        " WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED BY SOURCE AND id IS NULL THEN DELETE"
    )
    assert result.metrics == {
        "numTargetRowsMatchedUpdated": 1,
        "numTargetRowsMatchedDeleted": 1,
        "numTargetRowsNotMatchedBySourceUpdated": 1,
        "numTargetRowsNotMatchedBySourceDeleted": 1,
        "numTargetRowsInserted": 2,
        "numTargetRowsUpdated": 2,
        "numTargetRowsDeleted": 2,
    }
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == (2, 2, 2)
    assert sorted(session.execute("SELECT id, n FROM t").fetchall(), key=str) == [
        (-9, None),
        (1, 101),
        (3, 10),
        (4, 4),
        (8, 8),
    ]


def test_a_random_condition_is_asked_once(session):
    session.execute("INSERT OVERWRITE t SELECT id, NULL, 0 FROM range(0, 1000)")
    result = session.execute(
        "MERGE INTO t USING (SELECT id + 500 AS id FROM range(0, 1000)) s ON t.id = s.id"
        " WHEN MATCHED AND rand() < 0.3 THEN UPDATE SET n = 1"
        " WHEN MATCHED AND rand() < 0.5 THEN UPDATE SET n = 2"
        " WHEN NOT MATCHED BY SOURCE AND rand() < 0.3 THEN UPDATE SET n = 3"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 4"
        " WHEN NOT MATCHED AND rand() < 0.3 THEN INSERT (id, n) VALUES (s.id, 5)"
        " WHEN NOT MATCHED AND rand() < 0.5 THEN INSERT (id, n) VALUES (s.id, 6)"
    )
    counted = dict(session.execute("SELECT n, count(*) FROM t GROUP BY n").fetchall())
    assert sum(counted[n] for n in (0, 1, 2)) == 500
    assert sum(counted[n] for n in (3, 4)) == 500
    assert min(counted.values()) > 50
    assert result.rows_updated == sum(counted[n] for n in (1, 2, 3, 4))
    assert result.rows_inserted == counted[5] + counted[6] < 500
    [(ids, distinct)] = session.execute("SELECT count(id), count(DISTINCT id) FROM t").fetchall()
    assert ids == distinct == 1000 + result.rows_inserted


@pytest.mark.thorough
def test_rows_without_a_match_by_any_condition(session):
    """A source that no equality joins, and one whose columns share a name."""
    result = session.execute(
        "MERGE INTO t USING (SELECT 1 AS a, 2 AS a, 5 AS limit) s ON t.n < s.limit AND t.id > 1"
        " WHEN MATCHED THEN UPDATE SET n = s.limit"
        " WHEN NOT MATCHED THEN INSERT (id) VALUES (s.limit)"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert (result.rows_updated, result.rows_deleted, result.rows_inserted) == (1, 1, 0)
    assert rows(session) == [(2, 5)]
    result = session.execute(
        "MERGE INTO t USING (SELECT 1 AS a, 2 AS a, 5 AS limit) s ON t.n < s.limit"
        " WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.limit, 1)"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert (result.rows_updated, result.rows_deleted, result.rows_inserted) == (0, 1, 1)
    assert rows(session) == [(5, 1)]


VALUES = (
    "make_interval(1)",
    "INTERVAL '1' YEAR",
    "INTERVAL '1' DAY",
    "map()",
    "array(NULL)",
    "parse_json('{}')",
    "named_struct('a', 1, 'a', 2)",
)


@pytest.mark.parametrize(
    "values",
    [VALUES, *(pytest.param((value,), marks=pytest.mark.thorough) for value in VALUES)],
    ids=["all", *VALUES],
)
def test_a_source_may_have_columns_of_any_type(session, values):
    columns = ", ".join(f"{value} AS x{n}" for n, value in enumerate(values))
    known = " AND ".join(f"x{n} IS NOT NULL" for n in range(len(values)))
    result = session.execute(
        f"MERGE INTO t USING (SELECT id, {columns} FROM VALUES (2), (9) AS v(id)) s"
        f" ON t.id = s.id WHEN MATCHED AND {known} THEN UPDATE SET n = 5"
        f" WHEN NOT MATCHED AND {known} THEN INSERT (id, n) VALUES (id, 0)"
    )
    assert (result.rows_inserted, result.rows_updated) == (1, 1)
    assert rows(session) == [(1, 1), (2, 5), (9, 0)]


UPDATE, DELETE = "AND s.o = 'u' THEN UPDATE SET n = s.id * 10", "AND s.o = 'd' THEN DELETE"


@pytest.mark.parametrize("order", [pytest.param("ud", marks=pytest.mark.thorough), "dud"])
def test_a_row_that_one_source_row_updates_and_another_deletes(session, order):
    """In whichever order the clauses stand and the source rows come."""
    source = " UNION ALL ".join(f"SELECT 2 AS id, '{letter}' AS o" for letter in order)
    for clauses in ((UPDATE, DELETE), (DELETE, UPDATE)):
        whens = " ".join(f"WHEN MATCHED {clause}" for clause in clauses)
        with pytest.raises(acidsql.CardinalityError, match="at least one of them by UPDATE"):
            session.execute(f"MERGE INTO t USING ({source}) s ON t.id = s.id {whens}")
    assert rows(session) == [(1, 1), (2, 2)]
