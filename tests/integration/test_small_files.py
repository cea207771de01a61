"""Many small files, read by the driver or by Spark: the rows are the same."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.engines.spark import small_files
from acidsql.errors import AcidSqlError, StorageError
from acidsql.session.session import Session

ORC = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
TYPES = {
    "bo": ("boolean", "true"),
    "ti": ("tinyint", "-128"),
    "si": ("smallint", "32767"),
    "i": ("int", "-2147483648"),
    "bi": ("bigint", "9223372036854775807"),
    "f": ("float", "float(0.1)"),
    "d": ("double", "double('NaN')"),
    "de": ("decimal(38, 10)", "-1234567890123456789012345678.0123456789BD"),
    "da": ("date", "DATE '0001-01-01'"),
    "ts": ("timestamp", "TIMESTAMP '1677-01-02 03:04:05.123456'"),
    "s": ("string", "'é🎉 '"),
    "c": ("char(5)", "'ab'"),
    "vc": ("varchar(5)", "'abcde'"),
    "b": ("binary", "X'00ff'"),
    "a": ("array<timestamp>", "array(TIMESTAMP '1582-10-04 00:00:00', null)"),
    "m": ("map<string, date>", "map('k', DATE '1582-10-15')"),
    "st": ("struct<x: int, y: char(3)>", "named_struct('x', 1, 'y', 'q')"),
}
TYPES_AT = {name: at for at, name in enumerate(TYPES, 1)}
INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')"
)
PLAIN = "STORED AS ORC"


@pytest.fixture(autouse=True)
def reader_of_small_files() -> None:
    """The driver reads small files in every test here, unless a test says otherwise."""


def scans_of_files(session: Session, query: str) -> int:
    """How many scans of files Spark's plan of the query has; some are by pyarrow in tasks."""
    with session.execute(query) as result:
        plan: str = result.df._jdf.queryExecution().executedPlan().toString()
        return plan.count("FileScan") + len(re.findall(r"MapIn\w*Arrow", plan))


def both_ways(session: Session, query: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows of a query, which are the same if Spark reads the files."""
    assert scans_of_files(session, query) == 0
    found = session.execute(query).fetchall()
    with monkeypatch.context() as patch:
        patch.setattr(small_files, "FILE_BYTES_MAX", 0)
        assert scans_of_files(session, query) > 0
        by_spark = session.execute(query).fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, by_spark))
    return found


def insert_each_type(session: Session, kind: str) -> None:
    """Make a table t with a column of each type; row 1 has values, row 2 has none."""
    declared = ", ".join(f"{name} {of_type}" for name, (of_type, _) in TYPES.items())
    session.execute(f"CREATE TABLE t (k int, {declared}) {kind}")
    values = ", ".join(text for _, text in TYPES.values())
    session.execute(f"INSERT INTO t SELECT 1, {values}")
    session.execute(f"INSERT INTO t SELECT 2, {', '.join('null' for _ in TYPES)}")


def test_values_of_each_type(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    insert_each_type(session, ORC)
    session.execute("INSERT INTO t SELECT 3, * EXCEPT (k) FROM t WHERE k = 1")
    session.execute("DELETE FROM t WHERE k = 3")
    [one, two] = sorted(both_ways(session, "SELECT row__id, * FROM t", monkeypatch))
    assert tuple(one[0]) == (1, 536870912, 0)
    assert one[1] == 1
    assert [v is None for v in one[2:]] == [False] * len(TYPES)
    assert two[1:] == (2, *[None] * len(TYPES))


@pytest.mark.thorough  # the short form is test_every_type in test_insert_rows.py
@pytest.mark.parametrize("kind", [INSERT_ONLY, PLAIN], ids=["insert-only", "plain"])
def test_values_of_each_type_without_row_ids(
    session: Session, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    insert_each_type(session, kind)
    [one, two] = sorted(both_ways(session, "SELECT * FROM t", monkeypatch), key=lambda r: r[0])
    assert [v is None for v in one[1:]] == [False] * len(TYPES)
    assert two == (2, *[None] * len(TYPES))
    assert (one[TYPES_AT["c"]], one[TYPES_AT["vc"]]) == ("ab   ", "abcde")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [INSERT_ONLY, PLAIN], ids=["insert-only", "plain"])
def test_partitions_without_row_ids(
    session: Session, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    session.execute(f"CREATE TABLE p (k int, v string) PARTITIONED BY (d string) {kind}")
    for k, d in enumerate(("a", "b/c", "a", None)):
        session.insert("p", [{"k": k, "v": f"v{k}", "d": d}])
    rows = both_ways(session, "SELECT k, v, d FROM p", monkeypatch)
    assert sorted(rows) == [(0, "v0", "a"), (1, "v1", "b/c"), (2, "v2", "a"), (3, "v3", None)]
    assert both_ways(session, "SELECT k FROM p WHERE d = 'b/c'", monkeypatch) == [(1,)]
    monkeypatch.setattr(small_files, "FILES_MIN", 3)
    session.execute("INSERT INTO p SELECT id, uuid(), if(id % 2 = 0, 'a', 'n') FROM range(9000)")
    query = "SELECT d, count(*), sum(k) FROM p GROUP BY d ORDER BY d"
    assert scans_of_files(session, query) == 1
    expected = [(None, 1, 3), ("a", 4502, 20245502), ("b/c", 1, 1), ("n", 4500, 20250000)]
    assert session.execute(query).fetchall() == expected


def test_longer_texts_are_cut_and_files_of_others_read(
    session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that others brought may have longer texts, other columns, or none of their names."""
    session.execute(f"CREATE TABLE t (k int, v varchar(2), c char(3)) {PLAIN}")
    session.execute("INSERT INTO t VALUES (1, 'ab', 'c')")
    orc.write_table(
        pa.table({"C": ["longer"], "other": [1.5], "K": pa.array([2], pa.int32()), "v": ["abc"]}),
        warehouse / "t" / "000007_0",
    )
    orc.write_table(
        pa.table({"_col0": pa.array([3], pa.int32()), "_col1": ["xyz"]}),
        warehouse / "t" / "000008_0",
    )
    rows = both_ways(session, "SELECT * FROM t", monkeypatch)
    assert sorted(rows) == [(1, "ab", "c  "), (2, "ab", "lon"), (3, "xy", None)]


def both_failures(session: Session, query: str, monkeypatch: pytest.MonkeyPatch) -> AcidSqlError:
    """The error of a query, which is the same if Spark reads the files."""
    with pytest.raises(AcidSqlError) as found:
        session.execute(query).fetchall()
    monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    with pytest.raises(AcidSqlError) as by_spark:
        session.execute(query).fetchall()
    assert (found.value.message, found.value.detail) == (
        by_spark.value.message, by_spark.value.detail,
    )  # fmt: skip
    return found.value


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"k": [1], "K": [2]}, 'Found duplicate field(s) "k"'),
        ({"_col0": [1], "_col1": ["x"], "_col2": [2]}, "has fewer 1 fields than the actual ORC"),
    ],
)
def test_columns_that_spark_does_not_match(
    session: Session,
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: dict[str, list[Any]],
    reason: str,
) -> None:
    session.execute(f"CREATE TABLE t (k bigint, v string) {PLAIN}")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    orc.write_table(pa.table(columns), warehouse / "t" / "000007_0")
    error = both_failures(session, "SELECT * FROM t", monkeypatch)
    assert error.detail is not None
    assert reason in error.detail


def test_values_that_only_spark_can_read(session: Session, warehouse: Path) -> None:
    """Texts in another encoding, and times that nobody reads, in a column that nobody asks for."""
    session.execute(f"CREATE TABLE t (k int, c char(2), t timestamp) {PLAIN}")
    session.execute("INSERT INTO t VALUES (1, 'a', null)")
    offsets, texts = pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"\xffab")
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, texts])
    k = pa.array([2], pa.int32())
    orc.write_table(pa.table({"k": k, "c": text}), warehouse / "t" / "000007_0")
    query = "SELECT k, c FROM t"
    assert sorted(session.execute(query).fetchall()) == [(1, "a "), (2, "\ufffda")]
    time = pa.array([-4_500_000], pa.timestamp("us"))
    orc.write_table(pa.table({"k": k, "t": time}), warehouse / "t" / "000007_0")
    assert sorted(session.execute(query).fetchall()) == [(1, "a "), (2, None)]
    with pytest.raises(AcidSqlError, match="nanos > 999999999 or < 0"):
        session.execute("SELECT t FROM t").fetchall()


@pytest.mark.parametrize("small", [True, False], ids=["driver", "spark"])
@pytest.mark.parametrize("kind", [PLAIN, ORC], ids=["plain", "full-ACID"])
def test_longer_texts_are_cut_inside_other_types(
    session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, kind: str, small: bool
) -> None:
    if not small:
        monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    session.execute(
        "CREATE TABLE t (a array<varchar(2)>, s struct<x: varchar(1), y: char(3)>,"
        f" m map<varchar(1), array<varchar(2)>>) {kind}"
    )
    nested = pa.map_(pa.string(), pa.list_(pa.string()))
    orc.write_table(
        pa.table(
            {
                "a": [["abc", None, "d"]],
                "s": [{"x": "xy", "y": "long"}],
                "m": pa.array([[("key", ["abc"])]], nested),
            }
        ),
        warehouse / "new.orc",
    )
    session.execute(f"LOAD DATA INPATH '{warehouse}/new.orc' INTO TABLE t")
    [(a, s, m)] = session.execute("SELECT * FROM t").fetchall()
    assert (a, tuple(s), m) == (["ab", None, "d"], ("x", "lon"), {"k": ["ab"]})


def test_rows_from_before_a_table_became_acid(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) CLUSTERED BY (k) INTO 2 BUCKETS {PLAIN}")
    for k in range(0, 6, 2):
        session.execute(f"INSERT INTO t VALUES ({k}, 'v{k}'), ({k + 1}, 'v{k + 1}')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (6, 'v6')")
    session.execute("DELETE FROM t WHERE k = 3")
    session.execute("UPDATE t SET v = 'new' WHERE k IN (0, 6)")
    query = "SELECT row__id, * FROM t"
    found = sorted(session.execute(query).fetchall())
    monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    assert found == sorted(session.execute(query).fetchall())
    assert len({row[0] for row in found}) == 6
    assert sorted(row[1:] for row in found) == [
        (0, "new"), (1, "v1"), (2, "v2"), (4, "v4"), (5, "v5"), (6, "new"),
    ]  # fmt: skip


def test_a_file_of_events_among_plain_rows(session: Session, warehouse: Path) -> None:
    session.execute(f"CREATE TABLE a (k int) {ORC}")
    session.execute("INSERT INTO a VALUES (1)")
    session.execute(f"CREATE TABLE t (k int) {PLAIN}")
    session.execute("INSERT INTO t VALUES (1)")
    [events] = (warehouse / "a").glob("delta_*/bucket_00000")
    shutil.copy(events, warehouse / "t" / "000009_0")
    with pytest.raises(StorageError, match=r"000009_0. is an ACID file"):
        session.execute("SELECT * FROM t")


def test_conditions_joins_and_subqueries(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute(f"CREATE TABLE p (k int, v string) PARTITIONED BY (d int) {ORC}")
    for d in range(3):
        session.execute(f"INSERT INTO p PARTITION (d = {d}) VALUES ({d}, 'a'), ({d + 10}, 'b')")
    session.execute("UPDATE p SET v = 'c' WHERE k = 11")
    session.execute("DELETE FROM p WHERE k = 2")
    rows = both_ways(session, "SELECT * FROM p", monkeypatch)
    assert sorted(rows) == [(0, "a", 0), (1, "a", 1), (10, "b", 0), (11, "c", 1), (12, "b", 2)]
    query = (
        "SELECT k, d, (SELECT max(k) FROM p q WHERE q.d = p.d) m FROM p"
        " WHERE d > 0 AND EXISTS (SELECT 1 FROM p r WHERE r.k > p.k AND r.d = p.d)"
    )
    assert both_ways(session, query, monkeypatch) == [(1, 1, 11)]


@pytest.mark.parametrize("transactional", ["true", "false"])
def test_subqueries_in_a_select_list_over_files_of_two_kinds(
    session: Session, monkeypatch: pytest.MonkeyPatch, transactional: str
) -> None:
    """Spark reads one file, and the driver another."""
    monkeypatch.setattr(small_files, "FILES_MIN", 1)
    kind = f"STORED AS ORC TBLPROPERTIES ('transactional' = '{transactional}')"
    for name in "tu":
        session.execute(f"CREATE TABLE {name} (k bigint, v string) {kind}")
    session.execute("INSERT INTO t SELECT id, uuid() FROM range(2000)")
    session.execute("INSERT INTO t VALUES (-1, 'small')")
    session.execute("INSERT INTO u SELECT k, v FROM t WHERE k = 7 OR k < 0")
    exists = "EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"
    for value, rows in (
        (exists, [(False, 1999), (True, 2)]),
        ("k IN (SELECT k FROM u WHERE u.v = t.v)", [(False, 1999), (True, 2)]),
        ("(SELECT max(k) FROM u WHERE u.v = t.v)", [(None, 1999), (-1, 1), (7, 1)]),
    ):
        query = f"SELECT {value} AS a, count(*) FROM t GROUP BY 1 ORDER BY 1"
        assert session.execute(query).fetchall() == rows
    session.execute(f"INSERT INTO u SELECT -2, IF({exists}, 'a', 'b') FROM t")
    assert session.execute("SELECT count(*) FROM u WHERE v = 'a'").fetchall() == [(2,)]


def test_columns_that_came_and_went(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute(f"CREATE TABLE t (a int, b string) {ORC}")
    session.execute("INSERT INTO t VALUES (1, 'x')")
    session.execute("ALTER TABLE t ADD COLUMNS (c varchar(3))")
    session.execute("INSERT INTO t VALUES (2, 'y', 'new')")
    session.execute("ALTER TABLE t CHANGE COLUMN b B2 string")
    session.execute("INSERT INTO t VALUES (3, 'z', null)")
    rows = both_ways(session, "SELECT a, b2, c FROM t", monkeypatch)
    assert sorted(rows) == [(1, "x", None), (2, "y", "new"), (3, "z", None)]


@pytest.mark.thorough
def test_small_files_beside_a_large_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute(f"CREATE TABLE t (k bigint, v string) {ORC}")
    session.execute("INSERT INTO t SELECT id, uuid() FROM range(2000)")
    monkeypatch.setattr(small_files, "FILES_MIN", 3)
    for k in (-1, -2, -3):
        session.execute(f"INSERT INTO t VALUES ({k}, 'small')")
    query = "SELECT count(*), sum(k), count(DISTINCT row__id) FROM t"
    assert scans_of_files(session, query) == 1
    assert session.execute(query).fetchall() == [(2003, 1998994, 2003)]
    session.execute("UPDATE t SET k = k * 2 WHERE k < 0 OR k > 1997")
    session.execute("DELETE FROM t WHERE k IN (-2, 0)")
    assert session.execute(query).fetchall() == [(2001, 2002987, 2001)]
    monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    assert session.execute(query).fetchall() == [(2001, 2002987, 2001)]


def test_a_small_file_of_many_rows_is_read_by_spark(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int) {ORC}")
    session.execute("INSERT INTO t SELECT /*+ REPARTITION(1) */ 7 FROM range(30000)")
    assert scans_of_files(session, "SELECT sum(k) FROM t") == 1
    assert session.execute("SELECT sum(k) FROM t").fetchall() == [(210000,)]


def test_a_table_made_again_under_the_same_name(session: Session) -> None:
    for v in ("a", "b"):
        session.execute(f"CREATE TABLE t (v string) {ORC}")
        session.execute(f"INSERT INTO t VALUES ('{v}')")
        assert session.execute("SELECT v FROM t").fetchall() == [(v,)]
        session.execute("DROP TABLE t")


def test_rows_that_a_query_does_not_ask_for_are_not_computed(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int) {ORC}")
    session.execute("INSERT INTO t VALUES (1), (0)")
    query = "SELECT if(k = 0, raise_error('asked for'), k) FROM t"
    result = session.execute(query)
    with pytest.raises(AcidSqlError, match="asked for"):
        result.fetchall()
    assert session.execute(f"{query} WHERE k = 1").fetchall() == [(1,)]
    assert session.execute(f"{query} LIMIT 1").fetchall() == [(1,)]


def test_an_open_transactions_rows_are_its_own(
    session: Session, warehouse: Path, spark: Any
) -> None:
    session.execute(f"CREATE TABLE t (k int) {ORC}")
    session.execute("INSERT INTO t VALUES (1)")
    with acidsql.connect(warehouse, spark=spark) as other:
        session.execute("BEGIN")
        session.execute("INSERT INTO t VALUES (2)")
        session.execute("UPDATE t SET k = 5 WHERE k = 1")
        assert sorted(session.execute("SELECT k FROM t").fetchall()) == [(2,), (5,)]
        assert other.execute("SELECT k FROM t").fetchall() == [(1,)]
        session.execute("ROLLBACK")
    assert session.execute("SELECT k FROM t").fetchall() == [(1,)]


def test_a_file_that_is_damaged(session: Session, warehouse: Path) -> None:
    session.execute(f"CREATE TABLE t (k int) {ORC}")
    session.execute("INSERT INTO t VALUES (1)")
    planned = session.execute("SELECT k FROM t")
    [path] = (warehouse / "t").glob("delta_*/bucket_00000")
    path.write_bytes(b"not an ORC file")
    assert planned.fetchall() == [(1,)]
    for query in ("SELECT k FROM t", "UPDATE t SET k = 2", "DELETE FROM t"):
        with pytest.raises(acidsql.CorruptFileError, match="delta_0000001_0000001_0000/bucket"):
            session.execute(query)


def test_values_to_convert_are_read_by_spark(session: Session) -> None:
    session.execute(f"CREATE TABLE t (a int, b string) {ORC}")
    session.execute("INSERT INTO t VALUES (12, 'x')")
    session.execute("ALTER TABLE t CHANGE COLUMN a a bigint")
    assert scans_of_files(session, "SELECT * FROM t") == 1
    session.execute("INSERT INTO t VALUES (30000000000, 'y')")
    assert scans_of_files(session, "SELECT * FROM t") == 1
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(12, "x"), (30000000000, "y")]


def test_files_that_a_query_or_a_caller_asks_for(session: Session, warehouse: Path) -> None:
    session.execute(f"CREATE TABLE t (k int, file string) {ORC}")
    session.execute("INSERT INTO t VALUES (1, null)")
    session.execute("CREATE VIEW v AS SELECT k, Input_File_Name() AS file FROM t")
    path = f"file://{warehouse}/t/delta_0000001_0000001_0000/bucket_00000"
    assert session.execute("SELECT `input_file_name`() FROM t").fetchall() == [(path,)]
    assert session.execute("SELECT file FROM v").fetchall() == [(path,)]
    assert session.execute("SELECT input_file_name() FROM v").fetchall() == [(path,)]
    assert session.table("t").inputFiles() == [path]
    session.execute("UPDATE t SET file = input_file_name()")
    assert session.execute("SELECT file FROM t").fetchall() == [(path,)]
    for kind in (INSERT_ONLY, PLAIN):
        session.execute(f"CREATE TABLE o (k int) {kind}")
        session.execute("INSERT INTO o VALUES (1)")
        [path] = session.table("o").inputFiles()
        assert session.execute("SELECT input_file_name() FROM o").fetchall() == [(path,)]
        session.execute("DROP TABLE o")
