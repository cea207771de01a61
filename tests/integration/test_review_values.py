"""Values that reach a table by way of Spark are those that reach it in this process."""

import datetime
import os
import time
import uuid
from decimal import Decimal

import numpy as np
import pytest

import acidsql


@pytest.fixture
def session(spark, tmp_path):
    with acidsql.connect(str(tmp_path / "warehouse"), spark=spark) as session:
        yield session


@pytest.fixture
def new_york():
    """Python's own time zone is not the session's."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


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


@pytest.mark.usefixtures("new_york")
def test_a_naive_datetime_is_wall_clock_time_everywhere(session):
    moments = [
        datetime.datetime(2020, 1, 1, 12, 0, 0, 123456),
        datetime.datetime(2020, 3, 8, 2, 30),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]
    names = {f"m{n}": moment for n, moment in enumerate(moments)}
    table(session, "timestamp")
    for n, moment in enumerate(moments):
        session.execute("INSERT INTO t VALUES (?, ?), (?, NULL)", [n, moment, 20 + n])
    selected = " UNION ALL ".join(f"SELECT {10 + n}, :m{n}" for n in range(4))
    session.execute(f"INSERT INTO t {selected}", names)
    values = " ".join(f"WHEN {20 + n} THEN :m{n}" for n in range(4))
    session.execute(f"UPDATE t SET x = CASE id {values} END WHERE id >= 20", names)
    found = session.execute("SELECT id, x FROM t").fetchall()
    assert sorted(found) == [(k + n, m) for k in (0, 10, 20) for n, m in enumerate(moments)]
    marks = ", ".join("?" for _ in moments)
    assert session.execute(f"DELETE FROM t WHERE x IN ({marks})", moments).rows_deleted == 12


def test_an_aware_datetime_is_an_instant(session):
    table(session, "timestamp")
    east = datetime.timezone(datetime.timedelta(hours=5))
    session.execute("INSERT INTO t VALUES (1, ?)", [datetime.datetime(2020, 1, 1, 5, tzinfo=east)])
    assert session.execute("SELECT x FROM t").fetchall() == [(datetime.datetime(2020, 1, 1),)]


def test_old_dates_keep_their_day(session):
    table(session, "array<date>")
    days = [datetime.date(1, 1, 1), datetime.date(1582, 10, 4)]
    session.execute("INSERT INTO t SELECT 1, ?", [days])
    session.execute("INSERT INTO t SELECT 2, array(?, ?)", days)
    assert session.execute("SELECT x FROM t").fetchall() == [(days,)] * 2


@pytest.mark.parametrize(
    ("column", "value"),
    [("int", np.int64(3)), ("float", np.float32(1.5)), ("string", np.str_("x"))],
)
def test_numpy_scalars_are_values(session, column, value):
    table(session, column)
    session.execute("INSERT INTO t VALUES (1, ?)", [value])
    assert session.execute("SELECT x FROM t WHERE x = ?", [value]).fetchall() == [(value.item(),)]


@pytest.mark.parametrize("value", [2**63, -(10**38 - 1), Decimal("1E37"), Decimal("1E-38")])
def test_a_number_of_up_to_38_digits_is_a_value(session, value):
    assert session.execute("SELECT :v AS v", {"v": value}).fetchall() == [(Decimal(value),)]


@pytest.mark.parametrize("value", [uuid.UUID(int=3), object(), "\ud800", Decimal("NaN"), 2**63])
def test_a_value_without_a_sql_literal_is_refused(session, value):
    table(session, "decimal(10,2)")
    for statement in ("INSERT INTO t VALUES (1, ?)", "INSERT INTO t SELECT 1, ?"):
        with pytest.raises(acidsql.AcidSqlError):
            session.execute(statement, [value])
    assert all(row[1] != "OPEN" for row in session.execute("SHOW TRANSACTIONS").fetchall())


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5000, "'\u0663'"])
def test_a_number_no_column_holds_is_refused(session, value):
    session.execute(
        "CREATE TABLE n (i int, f double) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    with pytest.raises(acidsql.AcidSqlError):
        session.execute(f"INSERT INTO n (i) VALUES ({value})")
    if value.isdigit():
        with pytest.raises(acidsql.AcidSqlError):
            session.execute(f"INSERT INTO n (f) VALUES ({value})")
