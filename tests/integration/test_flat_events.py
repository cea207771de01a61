"""Event files that Spark reads flat: the rows are as from fields of a struct, or it is an error."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark import deletes, flat_events, small_files
from acidsql.engines.spark.gateway import java_classes
from acidsql.errors import ExecutionError
from acidsql.model.ids import BucketId, WriteId
from acidsql.orc.footer import FOOTER_STATISTICS, encode, footer_and_postscript, read_tail
from acidsql.orc.protobuf import fields
from acidsql.orc.writer import EventWriter
from acidsql.session.session import Session
from tests.integration.test_cluster import cluster
from tests.integration.test_small_files import TYPES, insert_each_type
from tests.unit.orc.events import P0, columns, id_batch

ORC = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
CODECS = ("none", "snappy", "zlib", "lz4", "zstd")
MERGED = {"delta_0000001_0000003", "delta_0000002_0000004"}
LOCAL = "org.apache.hadoop.fs.RawLocalFileSystem"


@pytest.fixture(autouse=True)
def reader_of_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark reads all files here, and event files flat unless a test says otherwise."""
    monkeypatch.setattr(small_files, "FILE_BYTES_MAX", 0)
    monkeypatch.setattr(flat_events, "FLAT_BYTES_MIN", 0)


@pytest.fixture
def new_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no scan had made the class yet."""
    monkeypatch.setattr(flat_events, "_known", WeakKeyDictionary())


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
        patch.setattr(flat_events, "FLAT_BYTES_MIN", sys.maxsize)
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


@pytest.mark.parametrize("codec", CODECS)
def test_footers_of_several_chunks(
    session: Session, warehouse: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The footer has the least and the greatest text of each column."""
    session.execute(
        f"CREATE TABLE t (k int, {', '.join(f'c{n} string' for n in range(150))}) {ORC[:-1]},"
        f" 'orc.compress' = '{codec}')"
    )
    texts = ", ".join(f"repeat('{n} ', 250)" for n in range(150))
    session.execute(f"INSERT INTO t SELECT id, {texts} FROM range(3)")
    [path] = warehouse.glob("t/delta_*/bucket_*")
    tail = read_tail(str(path))
    assert len(tail.footer) > tail.block_size
    rows = both_ways(session, "SELECT k, c0, c149 FROM t WHERE k > 0", monkeypatch)
    assert sorted(rows) == [(k, "0 " * 250, "149 " * 250) for k in (1, 2)]


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
    with pytest.raises(ExecutionError, match=r"bucket_00000.* may have events without a row"):
        session.execute("SELECT k FROM t").fetchall()


@pytest.mark.parametrize("rows", [0, 3])
def test_a_footer_without_statistics(session: Session, file_of_t: Path, rows: int) -> None:
    """It says of no column whether it is null: only without rows none is."""
    with EventWriter(str(file_of_t), columns(k="int")) as writer:
        batch = pa.record_batch({"k": pa.array(range(rows), pa.int32())})
        writer.write_inserts(batch, WriteId(1), P0)
    tail = read_tail(str(file_of_t))
    kept = [encode(n, v) for n, v in fields(tail.footer) if n != FOOTER_STATISTICS]
    content = file_of_t.read_bytes()[: tail.footer_start]
    file_of_t.write_bytes(content + footer_and_postscript(tail, b"".join(kept)))
    if rows:
        with pytest.raises(ExecutionError, match=r"bucket_00000.* may have events without a row"):
            session.execute("SELECT k FROM t").fetchall()
    else:
        assert session.execute("SELECT k FROM t").fetchall() == []


def test_a_file_of_plain_rows_is_an_error(session: Session, file_of_t: Path) -> None:
    orc.write_table(pa.table({"k": pa.array([1], pa.int32())}), file_of_t)
    with pytest.raises(ExecutionError, match=r"bucket_00000.* is not an ACID file"):
        session.execute("SELECT k FROM t").fetchall()


def selected(**values: Any) -> SelectedFile:
    given = {"partition": 0, "path": "/t/f", "size": 1 << 30, "bucket_id": BucketId(0)}
    return SelectedFile(**{**given, "row_filter": False, "only_inserts": True, **values})


def test_which_files_are_read_flat(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert flat_events.flat_options(spark, [selected()]) is not None
    for other in (selected(only_inserts=False), selected(length=7)):
        assert flat_events.flat_options(spark, [selected(), other]) is None
    assert flat_events.flat_options(spark, [selected(size=1 << 20)] * 31) is None
    assert flat_events.flat_options(spark, [selected(size=1 << 20)] * 32) is not None


@pytest.mark.usefixtures("file_of_t")
def test_the_file_systems_of_the_session_are_used(spark: Any, session: Session) -> None:
    keys = {"fs.file.impl": LOCAL, "fs.file.impl.disable.cache": "true"}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        options = flat_events.flat_options(spark, [selected(), selected(path="s3a://b/f")])
        assert session.execute("SELECT k FROM t").fetchall() == [(1,)]
    finally:
        for key in keys:
            spark.conf.unset(key)
    own = {"impl": "acidsql.FlatEvents", "impl.disable.cache": "true"}
    there = {f"fs.{scheme}.{key}": own[key] for scheme in ("file", "s3a") for key in own}
    before = {**keys, "fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
    assert options == {**there, **{f"acidsql.{key}": value for key, value in before.items()}}
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for key, value in {**options, "acidsql.read": os.urandom(8).hex()}.items():
        conf.set(key, value)
    files = jvm.acidsql.FlatEvents()
    files.initialize(jvm.java.net.URI("file:///"), conf)
    assert files.getRawFileSystem().getClass().getName() == LOCAL


def test_a_file_system_that_opens_files_of_others(
    spark: Any, file_of_t: Path, session: Session
) -> None:
    """It has the files as they are, also if the scan names FlatEvents for both schemes."""
    assert reads_flat(session, "SELECT k FROM t")
    files = [selected(), selected(path="viewfs://c/d/f")]
    options = flat_events.flat_options(spark, files)
    assert options is not None
    link = {"fs.viewfs.mounttable.c.link./d": file_of_t.parent.as_uri()}
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for key, value in {**options, **link, "acidsql.read": os.urandom(8).hex()}.items():
        conf.set(key, value)
    files = jvm.acidsql.FlatEvents()
    files.initialize(jvm.java.net.URI("viewfs://c/"), conf)
    path = jvm.org.apache.hadoop.fs.Path(f"viewfs://c/d/{file_of_t.name}")
    found = files.getRawFileSystem().getFileStatus(path)
    assert found.getLen() == file_of_t.stat().st_size


def test_the_data_of_a_stripe_is_asked_for_at_once(
    spark: Any, session: Session, file_of_t: Path, tmp_path: Path
) -> None:
    """An object store reads many ranges at once faster than one after the other."""
    java = java_classes(spark)
    assert java is not None
    loader = flat_events._submit_loader(java)
    jar = tmp_path / "counting.jar"
    flat_events._write_jar(jar, flat_events._compiled(java, loader, COUNTING))
    loader.addURL(java("java.net.URI").create(jar.as_uri()).toURL())
    spark.conf.set("fs.file.impl", "tests.Counting")
    spark.conf.set("fs.file.impl.disable.cache", "true")
    try:
        assert reads_flat(session, "SELECT k FROM t WHERE k > 0")
        assert session.execute("SELECT k FROM t").fetchall() == [(1,)]
    finally:
        spark.conf.unset("fs.file.impl")
        spark.conf.unset("fs.file.impl.disable.cache")
    assert loader.loadClass("tests.Counting").getField("COUNT").get(None) == 1
    assert file_of_t.exists()


COUNTING = """
package tests;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

public final class Counting extends RawLocalFileSystem {
  public static final AtomicInteger COUNT = new AtomicInteger();

  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return new Stream(super.open(path, bufferSize));
  }

  private static final class Stream extends FSDataInputStream {
    Stream(InputStream in) {
      super(in);
    }

    public void readVectored(List ranges, IntFunction allocate) throws IOException {
      COUNT.incrementAndGet();
      super.readVectored(ranges, allocate);
    }
  }
}
"""


@pytest.mark.usefixtures("new_context")
@pytest.mark.parametrize("missing", ["class", "compiler", "loader"])
def test_a_spark_that_cannot_have_the_class(
    session: Session, file_of_t: Path, missing: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, flat_events.__name__)
    if missing == "class":
        monkeypatch.setattr(flat_events, "_CLASS", "acidsql.Missing")
    elif missing == "compiler":
        monkeypatch.setattr(flat_events, "_COMPILER", "org.codehaus.Missing")
    else:
        monkeypatch.setattr(flat_events, "_LOADER", "MissingClassLoader")
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
from acidsql.engines.spark import deletes, flat_events, small_files
from tests.integration.test_flat_events import ORC, reads_flat

flat_events.FLAT_BYTES_MIN = small_files.FILE_BYTES_MAX = 0
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
