"""Values that reach a table by way of Spark are those that reach it in this process."""

import pytest

import acidsql
from acidsql.engines.spark.session import SparkHolder


@pytest.fixture(scope="module")
def spark():
    holder = SparkHolder(None, {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    yield holder.get()
    holder.close()


@pytest.fixture
def session(spark, tmp_path):
    with acidsql.connect(str(tmp_path / "warehouse"), spark=spark) as session:
        yield session


def table(session, column):
    session.execute(
        f"CREATE TABLE t (id int, x {column}) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )


def test_braces_in_a_query_without_tables_stay_single(session):
    table(session, "string")
    session.execute("INSERT INTO t SELECT 1, '{x} {{y}}'")
    session.execute("INSERT INTO t SELECT id + 1, '{x} {{y}}' FROM t")
    assert set(session.execute("SELECT x FROM t").fetchall()) == {("{x} {{y}}",)}
    assert session.execute("SELECT '{'").fetchall() == [("{",)]
