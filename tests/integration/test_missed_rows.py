"""Conditions by which files and row groups are left out, where Spark or Java compare otherwise.

The same condition on an expression, by which nothing is left out, says what is expected.
"""

from __future__ import annotations

import pytest

from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
KINDS = {
    "acid": ACID,
    "insert-only": f"{ACID[:-1]}, 'transactional_properties' = 'insert_only')",
    "plain": "STORED AS ORC",
    "converted": "STORED AS ORC",
}
TEXTS = {
    # In the order of bytes, the second is behind the first; in the order of UTF-16, before it.
    "two orders": "concat(CASE WHEN id % 2 = 0 THEN 'ｶ' ELSE '😀' END, id)",
    # A text that is not UTF-8 is a bound, which Java takes for U+FFFD.
    "not UTF-8": "CASE WHEN id % 2 = 0 THEN cast(X'80616263' AS string) ELSE concat('é', id) END",
}
CONDITIONS = {
    "two orders": ["= 'ｶ1000'", "= '😀1001'", "IN ('ｶ2000', 'ｶ2002')", ">= 'ｶ'", "< '😀'", "> 'z'"],
    "not UTF-8": ["= 'é1001'", "IN ('é2001', 'é2003')", "BETWEEN 'é1' AND 'é2'", "> 'z'"],
}
ROWS = 24_000


def make(session: Session, kind: str, text: str) -> None:
    session.execute(f"CREATE TABLE t (k int, s string, n struct<s:string>) {KINDS[kind]}")
    session.execute(
        f"INSERT INTO t SELECT id, {TEXTS[text]}, named_struct('s', {TEXTS[text]})"
        f" FROM range({ROWS})"
    )
    if kind == "converted":
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")


FLOATS = ["= 0", "= -0.0D", "<= -0.0D", "IN (0, 5)", "<=> 0", "BETWEEN 0 AND 0", "> 1e9D"]


def count(session: Session, condition: str) -> int:
    [[found]] = session.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
    return int(found)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_java_has_in_another_order(session: Session, kind: str, text: str) -> None:
    make(session, kind, text)
    for condition in CONDITIONS[text]:
        expected = count(session, f"concat(s, '') {condition}")
        assert expected
        assert count(session, f"s {condition}") == expected, condition
        assert count(session, f"n.s {condition}") == expected, condition


@pytest.mark.parametrize("kind", [*KINDS, "parquet"])
def test_zeros_of_either_sign(session: Session, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    stored = KINDS.get(kind, "STORED AS PARQUET")
    session.execute(f"CREATE TABLE t (d double, f float, n struct<d:double>) {stored}")
    for value in ("-0.0", "0.0", "NaN"):
        session.execute(
            f"INSERT INTO t SELECT v, v, named_struct('d', v) FROM (SELECT double('{value}') v)"
        )
    if kind == "converted":
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    assert count(session, "string(d) = '-0.0'") == 1
    for condition in FLOATS:
        expected = count(session, f"coalesce(d, 1) {condition}")
        for column in ("d", "f", "n.d"):
            assert count(session, f"{column} {condition}") == expected, (column, condition)


@pytest.mark.parametrize("kind", [*KINDS, "parquet"])
def test_days_that_the_hybrid_calendar_skips(
    session: Session, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    stored = KINDS.get(kind, "STORED AS PARQUET")
    session.execute(f"CREATE TABLE t (d date, n struct<d:date>) {stored}")
    for day in ("1582-10-10", "1582-10-15", "1582-10-20"):
        session.execute(f"INSERT INTO t SELECT DATE '{day}', named_struct('d', DATE '{day}')")
    if kind == "converted":
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    for column in ("d", "n.d"):
        for operator, expected in (("=", 1), ("<>", 2), ("<=", 1), (">", 2)):
            condition = f"{column} {operator} DATE '1582-10-10'"
            assert count(session, condition) == expected, condition


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_times_before_1582(session: Session, kind: str) -> None:
    session.execute(f"CREATE TABLE t (k int, ts timestamp, at timestamplocaltz) {KINDS[kind]}")
    time = "timestampadd(MINUTE, 2 * id, TIMESTAMP '1500-02-20 00:00:00')"
    session.execute(f"INSERT INTO t SELECT id, {time}, {time} FROM range({ROWS})")
    if kind == "converted":
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    for operator in ["=", ">", ">=", "<"]:
        for name in ["ts", "at"]:
            condition = f"{operator} TIMESTAMP '1500-03-12 20:32:00'"
            expected = count(session, f"timestampadd(MICROSECOND, 0, {name}) {condition}")
            assert expected
            assert count(session, f"{name} {condition}") == expected, condition


def test_row_groups_of_other_days_are_skipped(session: Session) -> None:
    session.execute("CREATE TABLE t (d date) STORED AS PARQUET")
    session.execute("INSERT INTO t SELECT date_add(DATE '2024-01-01', int(id)) FROM range(9)")
    for condition, pushed, expected in (
        ("= DATE '2024-01-03'", "In(d, [2024-01-01,2024-01-02,2024-01-03,", 1),
        ("> DATE '2024-01-03'", "GreaterThan(d,2024-01-01)", 6),
        ("<= DATE '2024-01-03'", "LessThanOrEqual(d,2024-01-05)", 3),
        ("< DATE '1582-12-31'", "[IsNotNull(d)]", 0),
    ):
        result = session.execute(f"SELECT count(*) FROM t WHERE d {condition}")
        assert pushed in result.df._jdf.queryExecution().toString(), condition
        assert result.fetchall() == [(expected,)], condition


@pytest.mark.parametrize("text", TEXTS)
def test_changes_of_rows_with_such_texts(session: Session, text: str) -> None:
    make(session, "acid", text)
    if text == "not UTF-8":
        session.execute("DELETE FROM t WHERE k % 1000 = 7")
        session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    one, few = CONDITIONS[text][:2] if text == "not UTF-8" else CONDITIONS[text][::2][:2]
    rows = session.execute("SELECT count(*) FROM t").fetchall()
    assert session.execute(f"UPDATE t SET k = -1 WHERE s {one}").rows_updated == 1
    merged = session.execute(
        f"MERGE INTO t USING (SELECT s FROM t WHERE concat(s, '') {few}) x ON t.s = x.s"
        " WHEN MATCHED THEN UPDATE SET k = -2 WHEN NOT MATCHED THEN INSERT (s) VALUES (x.s)"
    )
    assert (merged.rows_updated, merged.rows_inserted) == (2, 0)
    assert session.execute("SELECT count(*) FROM t").fetchall() == rows
    assert session.execute(f"DELETE FROM t WHERE s {one}").rows_deleted == 1


@pytest.mark.parametrize("files", ["a large one", "a small one", "partitions"])
def test_decimals_that_spark_rounds_before_it_compares_them(session: Session, files: str) -> None:
    rows = ROWS if files == "a large one" else 4
    if files == "partitions":
        session.execute(f"CREATE TABLE t (v int) PARTITIONED BY (k decimal(38,0)) {ACID}")
    else:
        session.execute(f"CREATE TABLE t (v int, k decimal(38,0)) {ACID}")
    session.execute(f"INSERT INTO t SELECT 0, id FROM range({rows})")
    # decimal(38,0) and decimal(2,1) are compared as decimal(38,0): 1.5 is 2 then.
    assert session.execute("SELECT k FROM t WHERE k = 1.5").fetchall() == [(2,)]
    assert session.execute("SELECT k FROM t WHERE k IN (1.5, 100.5)").fetchall()[0] == (2,)
    assert count(session, "k BETWEEN 1.5 AND 3") == 2
    source = "(SELECT cast(1.5 AS decimal(38,20)) AS k)"
    joined = f"SELECT count(*) FROM (SELECT k FROM t WHERE v = 0) a JOIN {source} s ON a.k = s.k"
    [[matches]] = session.execute(joined).fetchall()
    merged = session.execute(
        f"MERGE INTO t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 1"
    )
    assert merged.rows_updated == matches == 1
    assert session.execute("DELETE FROM t WHERE k = 1.5").rows_deleted == 1


@pytest.mark.parametrize("join", ["ANTI", "SEMI"])
def test_a_table_whose_rows_the_condition_does_not_see(session: Session, join: str) -> None:
    """In ``c LEFT ANTI JOIN t … WHERE t.x = 5``, t is a table around the subquery."""
    for name in ("t", "c", "u"):
        session.execute(f"CREATE TABLE {name} (id int, x int) {ACID}")
    session.execute(f"INSERT INTO t SELECT id, id div 2000 FROM range({ROWS})")
    session.execute("INSERT INTO c VALUES (2, 0)")
    session.execute("INSERT INTO u VALUES (2, 5)")
    inner = f"SELECT c.id FROM c LEFT {join} JOIN t ON c.id = t.id WHERE t.x {{}} 5"
    joined = f"SELECT * FROM c LEFT {join} JOIN t ON c.id = t.id JOIN u AS t ON t.id = c.id"
    for query in (
        f"SELECT count(*) FROM t WHERE EXISTS ({inner})",
        f"SELECT count(*) FROM t, LATERAL ({inner})",
        f"SELECT count(*) FROM ({joined} WHERE t.x {{}} 5)",
    ):
        expected = session.execute(query.format("+ 0 =")).fetchall()
        assert session.execute(query.format("=")).fetchall() == expected, query
    found = session.execute(f"DELETE FROM t WHERE EXISTS ({inner.format('=')})").rows_deleted
    assert found == (2000 if join == "SEMI" else 0)


def test_a_column_of_a_view_that_is_no_column_of_the_table_beside(session: Session) -> None:
    session.execute(f"CREATE TABLE a (id int, u struct<x:int>) {ACID}")
    session.execute(f"CREATE TABLE u (id int, x int) {ACID}")
    session.execute("INSERT INTO a SELECT 2, named_struct('x', 5)")
    session.execute(f"INSERT INTO u SELECT id, id div 2000 FROM range({ROWS})")
    session.execute("CREATE VIEW v AS SELECT u.x FROM a LEFT ANTI JOIN u ON a.id = u.id")
    assert session.execute("SELECT * FROM v").fetchall() == []
    assert session.execute("SELECT * FROM v WHERE x = 5").fetchall() == []
