"""A MERGE does the same whether or not the driver can hold its source."""

import pytest

import acidsql


@pytest.fixture(params=[96 << 20, 1], ids=["collected", "large"])
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
