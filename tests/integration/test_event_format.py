"""Event files that Spark reads flat: the rows are as from fields of a struct, or it is an error."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark import deletes, event_format, small_files
from acidsql.errors import ExecutionError
from acidsql.model.ids import BucketId, WriteId
from acidsql.orc.writer import EventWriter
from acidsql.session.session import Session
from tests.integration.test_cluster import cluster
from tests.integration.test_small_files import INSERT_ONLY, PLAIN, TYPES, insert_each_type
from tests.unit.orc.events import P0, columns, id_batch

ORC = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
MERGED = {"delta_0000001_0000003", "delta_0000002_0000004"}


@pytest.fixture(autouse=True)
def reader_of_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark reads all files here, and event files flat unless a test says otherwise."""
    monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    monkeypatch.setattr(event_format, "FLAT_BYTES_MIN", 0)


@pytest.fixture
def new_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no scan had made the class yet."""
    monkeypatch.setattr(event_format, "_known", WeakKeyDictionary())


def reads_flat(session: Session, query: str) -> bool:
    with session.execute(query) as result:
        plan = result.df._jdf.queryExecution().executedPlan().toString()
    assert "FileScan" in plan
    return "row.k" in plan


def both_ways(session: Session, query: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows of a query, which are the same if the columns are read as fields of ``row``."""
    assert reads_flat(session, query)
    found = session.execute(query).fetchall()
    with monkeypatch.context() as patch:
        patch.setattr(event_format, "FLAT_BYTES_MIN", sys.maxsize)
        assert not reads_flat(session, query)
        nested = session.execute(query).fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, nested))
    return found


def test_values_of_each_type(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    insert_each_type(session, ORC)
    session.execute("INSERT INTO t SELECT 3, * EXCEPT (k) FROM t WHERE k = 1")
    session.execute("DELETE FROM t WHERE k = 3")
    [one, two] = sorted(both_ways(session, "SELECT row__id, * FROM t WHERE k < 9", monkeypatch))
    assert tuple(one[0]) == (1, P0, 0)
    assert [v is None for v in one[1:]] == [False] * (1 + len(TYPES))
    assert two[1:] == (2, *[None] * len(TYPES))


DIGITS = {18: 9, 19: 9, 38: 20, 5: 0, 7: 7}
"""Precisions of decimals, and their scales."""


def test_decimals(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of up to 18 digits come as longs, but for those within other values."""
    kinds = {f"d{p}": f"decimal({p}, {s})" for p, s in DIGITS.items()}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    session.execute(f"CREATE TABLE t (k int, {columns}, a array<decimal(18, 9)>) {ORC}")
    ends = [Decimal((n, (9,) * p, -s)) for n in (0, 1) for p, s in DIGITS.items()]
    rows = [
        (1, *ends[: len(DIGITS)], [ends[0], None]),
        (2, *ends[len(DIGITS) :], [ends[5]]),
        (3, *[Decimal(0)] * len(DIGITS), []),
        (4, *[None] * len(DIGITS), None),
        (5, *(Decimal(7).scaleb(-s) for s in DIGITS.values()), [Decimal("0.5")]),
    ]
    session.insert(
        "t", pa.Table.from_pylist([dict(zip(["k", *kinds, "a"], r, strict=True)) for r in rows])
    )
    assert sorted(both_ways(session, "SELECT * FROM t WHERE k > 0", monkeypatch)) == rows
    for name, p in zip(kinds, DIGITS, strict=True):
        where = f"{name} = {ends[list(DIGITS).index(p)]}"
        found = both_ways(session, f"SELECT max(k) FROM t WHERE k > 0 AND {where}", monkeypatch)
        assert found == [(1,)]


def test_values_of_older_types(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """ORC converts what was written before a column's type was changed."""
    session.execute(
        f"CREATE TABLE t (k int, i int, f float, d decimal(10, 2), s decimal(10, 2)) {ORC}"
    )
    session.execute("INSERT INTO t VALUES (1, 2, 0.5, 12.25, -3.50), (2, NULL, NULL, NULL, NULL)")
    for name, kind in (("i", "bigint"), ("f", "double"), ("d", "decimal(14, 4)"), ("s", "string")):
        session.execute(f"ALTER TABLE t CHANGE COLUMN {name} {name} {kind}")
    session.execute("ALTER TABLE t ADD COLUMNS (n decimal(9, 3))")
    session.execute("INSERT INTO t VALUES (3, 1L << 40, 0.1D, 1.0001, 'x', 7.5)")
    rows = sorted(both_ways(session, "SELECT * FROM t WHERE k > 0", monkeypatch))
    assert rows == [
        (1, 2, 0.5, Decimal("12.2500"), "-3.5", None),
        (2, None, None, None, None, None),
        (3, 1 << 40, 0.1, Decimal("1.0001"), "x", Decimal("7.500")),
    ]


def test_more_columns_than_spark_compiles_code_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it wants rows, not batches."""
    names = [f"c{n}" for n in range(120)]
    columns = ", ".join(f"{n} {('string', 'decimal(9, 2)')[i % 2]}" for i, n in enumerate(names))
    session.execute(f"CREATE TABLE t (k int, {columns}) {ORC}")
    values = ", ".join(f"id + {n}" for n in range(120))
    session.execute(f"INSERT INTO t SELECT id, {values} FROM range(3)")
    session.execute("DELETE FROM t WHERE k = 1")
    rows = sorted(both_ways(session, "SELECT * FROM t WHERE k >= 0", monkeypatch))
    assert [row[:3] for row in rows] == [(k, str(k), k + 1) for k in (0, 2)]


def test_a_file_of_several_stripes_and_tasks(
    session: Session, spark: Any, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stripe is read once, and those are skipped that have no row of the condition."""
    session.execute(f"CREATE TABLE t (k int, v string) {ORC}")
    session.execute("INSERT INTO t VALUES (0, 'v')")
    [path] = warehouse.glob("t/delta_*/bucket_*")
    stripes = {"compression": "none", "stripe_bytes": 1 << 16}
    with EventWriter(str(path), columns(k="int", v="string"), **stripes) as writer:
        for start in range(0, 20000, 1000):
            numbers = range(start, start + 1000)
            texts = [hashlib.sha512(str(n).encode()).hexdigest() for n in numbers]
            batch = pa.record_batch({"k": pa.array(numbers, pa.int32()), "v": texts})
            writer.write_inserts(batch, WriteId(1), P0)
    assert orc.ORCFile(path).nstripes > 4
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    try:
        with session.execute("SELECT k FROM t WHERE k >= 0") as result:
            assert result.df.rdd.getNumPartitions() > 2
        query = "SELECT count(*), sum(k), min(v) IS NULL FROM t WHERE k >= 0"
        assert both_ways(session, query, monkeypatch) == [(20000, sum(range(20000)), False)]
        query = "SELECT k FROM t WHERE k BETWEEN 9990 AND 10010"
        assert sorted(both_ways(session, query, monkeypatch)) == [(k,) for k in range(9990, 10011)]
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


SKIPPING = {
    "orc.sarg.to.filter": "true",
    "orc.filter.use.selected": "true",
    "spark.sql.orc.columnarReaderBatchSize": "16",
}


@pytest.mark.parametrize("flat_from", [0, sys.maxsize], ids=["flat", "nested"])
@pytest.mark.parametrize(
    "kind", [ORC, INSERT_ONLY, PLAIN], ids=["full ACID", "insert-only", "plain"]
)
def test_settings_by_which_orc_leaves_rows_out(
    session: Session, spark: Any, kind: str, flat_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ORC's reader would forget nulls, and leave values of other rows unset."""
    monkeypatch.setattr(event_format, "FLAT_BYTES_MIN", flat_from)
    session.execute(f"CREATE TABLE t (k int, i int, s string) {kind}")
    session.execute(
        "INSERT INTO t SELECT id, if(id DIV 100 % 3 = 0, NULL, id DIV 50), concat('s', id)"
        " FROM range(0, 5000, 1, 1)"
    )
    rows = [(k, f"s{k}") for k in range(5000) if k // 100 % 3 and 3 < k // 50 < 90]
    query = "SELECT k, s FROM t WHERE i < 90 AND i > 3"
    for key, value in SKIPPING.items():
        spark.conf.set(key, value)
    try:
        assert sorted(session.execute(query).fetchall()) == rows
    finally:
        for key in SKIPPING:
            spark.conf.unset(key)


def test_columns_called_like_those_of_events(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("operation", "bucket", "rowid", "`row`", "currenttransaction", "`row.b`", "k")
    declared = ", ".join(f"{name} int" for name in names)
    session.execute(f"CREATE TABLE t ({declared}) {ORC}")
    session.execute("INSERT INTO t VALUES (1, 2, 3, 4, 5, 6, 7), (11, 12, 13, 14, 15, 16, 17)")
    session.execute("DELETE FROM t WHERE rowid = 13 AND `row.b` = 16")
    query = "SELECT row__id.rowid, * FROM t WHERE operation = 1 AND `row` = 4 AND k = 7"
    assert both_ways(session, query, monkeypatch) == [(0, 1, 2, 3, 4, 5, 6, 7)]
    assert session.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_partitions_and_a_snapshot_that_hides_events(
    session: Session, warehouse: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE TABLE t (k int, v string) PARTITIONED BY (d int) {ORC}")
    insert = "INSERT INTO t SELECT id, concat('v', id), id % 2 FROM range({}, 40, 4)"
    for n in range(2):
        session.execute(insert.format(n))
    query = "SELECT k, v, d FROM t WHERE k >= 0"
    with acidsql.connect(warehouse, spark=spark) as other:
        other.execute("BEGIN")
        before = sorted(both_ways(other, query, monkeypatch))
        for n in range(2, 4):
            session.execute(insert.format(n))
        for d in range(2):
            session.execute(f"ALTER TABLE t PARTITION (d = {d}) COMPACT 'minor' AND WAIT")
        session.run_cleaner()
        assert before == [(k, f"v{k}", k % 2) for k in range(40) if k % 4 < 2]
        assert sorted(both_ways(other, query, monkeypatch)) == before
    assert {p.parent.name for p in warehouse.glob("t/*/*/bucket_*")} >= MERGED
    session.execute("UPDATE t SET v = 'u' WHERE k % 5 = 0")
    expected = [(k, "u" if k % 5 == 0 else f"v{k}", k % 2) for k in range(40)]
    assert sorted(both_ways(session, query, monkeypatch)) == expected


def test_event_columns_of_one_value_and_of_several(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that have one value in a file are not decoded."""
    session.execute(f"CREATE TABLE t (k int, v int) {ORC}")
    for first in (0, 10, 20):
        session.execute(f"INSERT INTO t SELECT id, 0 FROM range({first}, {first + 10})")
    query = "SELECT row__id.writeid, row__id.bucketid, row__id.rowid, k, v FROM t WHERE k >= 0"
    rows = [(1 + k // 10, P0, k % 10, k, 0) for k in range(30)]
    assert sorted(both_ways(session, query, monkeypatch)) == rows
    session.execute("UPDATE t SET v = 1 WHERE k % 10 = 3")
    rows = [row for row in rows if row[3] % 10 != 3] + [(4, P0, n, 3 + 10 * n, 1) for n in range(3)]
    assert sorted(both_ways(session, query, monkeypatch)) == rows
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert sorted(both_ways(session, query, monkeypatch)) == rows
    session.execute("DELETE FROM t WHERE k % 10 = 7 OR k = 23")
    session.execute("INSERT INTO t VALUES (30, 2)")
    rows = [row for row in rows if row[3] % 10 != 7 and row[3] != 23] + [(6, P0, 0, 30, 2)]
    assert sorted(both_ways(session, query, monkeypatch)) == rows


def test_a_reader_without_vectors(
    session: Session, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's other reader of ORC files opens them in another way."""
    insert_each_type(session, ORC)
    spark.conf.set("spark.sql.orc.enableVectorizedReader", "false")
    try:
        assert len(both_ways(session, "SELECT row__id, * FROM t WHERE k < 9", monkeypatch)) == 2
    finally:
        spark.conf.unset("spark.sql.orc.enableVectorizedReader")


@pytest.mark.parametrize("writes", [1, 3])
def test_conditions_come_before_other_columns_are_got(
    session: Session, spark: Any, writes: int
) -> None:
    """Spark gets all columns of a row first if a part of its condition is there twice."""
    session.execute(
        f"CREATE TABLE t (k int, v decimal(15, 2)) CLUSTERED BY (k) INTO 4 BUCKETS {ORC}"
    )
    for _ in range(writes):
        session.execute("INSERT INTO t SELECT id, id FROM range(1000)")
    session.execute("DELETE FROM t WHERE k % 10 = 3")
    with session.execute("SELECT k FROM t WHERE v < 20 AND v > 10") as result:
        plan = result.df._jdf.queryExecution().optimizedPlan()
    while plan.nodeName() != "Filter":
        plan = plan.children().apply(0)
    parts = spark._jvm.org.apache.spark.sql.catalyst.expressions.EquivalentExpressions(False)
    assert "invoke" in plan.condition().toString()
    parts.addExprTree(plan.condition(), getattr(parts, "addExprTree$default$2")())
    assert parts.getCommonSubexpressions().isEmpty()


def test_more_deletes_than_the_driver_holds(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark pushes down that the row ids of a join are not null, in place of our conditions."""
    session.execute(f"CREATE TABLE t (k int, v string) {ORC}")
    session.execute("INSERT INTO t SELECT id, concat('v', id) FROM range(100)")
    session.execute("DELETE FROM t WHERE k % 10 = 3")
    monkeypatch.setattr(deletes, "BROADCAST_BYTES_MAX", 0)
    rows = both_ways(session, "SELECT k, v FROM t WHERE k < 50", monkeypatch)
    assert sorted(rows) == [(k, f"v{k}") for k in range(50) if k % 10 != 3]


@pytest.fixture
def file_of_t(session: Session, warehouse: Path) -> Path:
    """The one file of a table t (k int)."""
    session.execute(f"CREATE TABLE t (k int) {ORC}")
    session.execute("INSERT INTO t VALUES (1)")
    [path] = warehouse.glob("t/delta_*/bucket_*")
    return path


def test_an_event_without_a_row_is_an_error(session: Session, file_of_t: Path) -> None:
    """The values of the others would come out in rows that they do not belong to."""
    with EventWriter(str(file_of_t), columns(k="int")) as writer:
        writer.write_deletes(id_batch([(1, P0, 0)]), WriteId(1))
    with pytest.raises(ExecutionError, match=r"bucket_00000.* has events without a row"):
        session.execute("SELECT k FROM t").fetchall()


def test_a_file_of_plain_rows_is_an_error(session: Session, file_of_t: Path) -> None:
    orc.write_table(pa.table({"k": pa.array([1], pa.int32())}), file_of_t)
    with pytest.raises(ExecutionError, match=r"bucket_00000.* is not an ACID file"):
        session.execute("SELECT k FROM t").fetchall()


def selected(**values: Any) -> SelectedFile:
    given = {"partition": 0, "path": "/t/f", "size": 1 << 30, "bucket_id": BucketId(0)}
    return SelectedFile(**{**given, "row_filter": False, "only_inserts": True, **values})


def test_which_files_are_read_flat(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert event_format.event_format(spark, [selected()]) is not None
    for other in (selected(only_inserts=False), selected(length=7)):
        assert event_format.event_format(spark, [selected(), other]) is None
    assert event_format.event_format(spark, [selected(size=1 << 20)] * 31) is None
    assert event_format.event_format(spark, [selected(size=1 << 20)] * 32) is not None


@pytest.mark.usefixtures("new_context")
@pytest.mark.parametrize("missing", ["class", "compiler", "loader"])
def test_a_spark_that_cannot_have_the_class(
    session: Session, file_of_t: Path, missing: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, event_format.__name__)
    if missing == "class":
        monkeypatch.setattr(event_format, "_CLASS", "acidsql.Missing")
    elif missing == "compiler":
        monkeypatch.setattr(event_format, "_COMPILER", "org.codehaus.Missing")
    else:
        monkeypatch.setattr(event_format, "_LOADER", "MissingClassLoader")
    for _ in range(2):
        assert not reads_flat(session, "SELECT k FROM t WHERE k > 0")
        assert session.execute("SELECT k FROM t").fetchall() == [(1,)]
    said = [r for r in caplog.records if "as fields of a struct" in r.getMessage()]
    assert len(said) == 1
    assert file_of_t.exists()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.mark.thorough
def test_executors_get_the_class(two_workers: str, tmp_path: Path) -> None:
    code = ON_A_CLUSTER.format(url=two_workers)
    command = [sys.executable, "-c", code, str(tmp_path / "warehouse")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"True [(999, {sum(range(1000)) - 500})]"]


ON_A_CLUSTER = """
import sys
import acidsql
from acidsql.engines.spark import deletes, event_format, small_files
from tests.integration.test_event_format import ORC, reads_flat

event_format.FLAT_BYTES_MIN = small_files.FILE_BYTES_MAX = 0
conf = {{
    "spark.master": "{url}", "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g", "spark.executor.memory": "700m",
}}
with acidsql.connect(sys.argv[1], config=conf) as session:
    session.execute(f"CREATE TABLE t (k int) {{ORC}}")
    session.execute("INSERT INTO t SELECT CAST(id AS int) FROM range(0, 1000, 1, 4)")
    session.execute("DELETE FROM t WHERE k = 500")
    query = "SELECT count(*), sum(k) FROM t WHERE k >= 0"
    print(reads_flat(session, query), session.execute(query).fetchall())
"""
