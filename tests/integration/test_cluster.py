"""Compactions by Spark tasks, and on a cluster: they write what threads write."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.backends.storage.locations import storage_for
from acidsql.engines.local.bucket_merge import BucketMerge
from acidsql.engines.local.merge import as_threads
from acidsql.engines.local.rows_merge import RowsMerge
from acidsql.engines.row_files import RowFormat
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.compact import as_tasks
from acidsql.model.ids import BucketId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import parse_type
from acidsql.session.session import Session

BUCKETED = """CREATE TABLE t (id int, v string) CLUSTERED BY (id) INTO 4 BUCKETS
    STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"""
WHOLE = "SELECT count(*), sum(id), sum(row__id.rowid), count_if(v = concat('v', id)) FROM t"


def changes(session: Session) -> None:
    session.execute(BUCKETED)
    session.execute("INSERT INTO t SELECT CAST(id AS int), concat('v', id) FROM range(1000)")
    session.execute("INSERT INTO t SELECT CAST(id AS int), concat('v', id) FROM range(1000, 1500)")
    session.execute("DELETE FROM t WHERE id % 7 = 0")


def merges(warehouse: Path, target: Path) -> list[BucketMerge]:
    """The merges of a major compaction of the table, into a directory that is empty."""
    columns = (Column("id", parse_type("int")), Column("v", parse_type("string")))
    table = Table(TableName("default", "t"), columns, str(warehouse / "t"))
    seen = ValidWriteIdList("default.t", WriteId(3))
    target.mkdir()
    return [
        BucketMerge(
            str(target),
            BucketId(bucket),
            "major",
            table,
            seen,
            files(warehouse / "t", "delta_*", bucket),
            files(warehouse / "t", "delete_delta_*", bucket),
            by_position=True,
        )
        for bucket in range(4)
    ]


def files(table: Path, pattern: str, bucket: int) -> tuple[SelectedFile, ...]:
    found = sorted(table.glob(f"{pattern}/bucket_0000{bucket}"))
    return tuple(
        SelectedFile(0, str(path), path.stat().st_size, BucketId(bucket), row_filter=False)
        for path in found
    )


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_tasks_write_the_same_files_as_threads(
    session: Session, warehouse: Path, spark: Any
) -> None:
    changes(session)
    storage = storage_for(str(warehouse))
    by_threads = merges(warehouse, warehouse / "by_threads")
    assert list(as_threads(storage)(by_threads)) == [True] * 4
    by_tasks = merges(warehouse, warehouse / "by_tasks")
    assert list(as_tasks(spark, storage)(by_tasks)) == [True] * 4
    written = contents(warehouse / "by_tasks")
    assert sorted(written) == [f"bucket_0000{bucket}" for bucket in range(4)]
    assert written == contents(warehouse / "by_threads")


def test_a_bucket_without_events_and_a_file_that_is_gone(
    session: Session, warehouse: Path, spark: Any
) -> None:
    changes(session)
    storage = storage_for(str(warehouse))
    first, second, *_ = merges(warehouse, warehouse / "deletes")
    nothing = replace(first, kind="deletes", deletes=())
    deletes = replace(second, kind="deletes")
    assert list(as_tasks(spark, storage)([nothing, deletes])) == [False, True]
    assert sorted(contents(warehouse / "deletes")) == ["bucket_00001"]
    gone = replace(first, inserts=(replace(first.inserts[0], path=f"{warehouse}/t/gone"),))
    with pytest.raises(acidsql.AcidSqlError, match=r"gone.*does not exist"):
        as_tasks(spark, storage)([gone, second])


@pytest.mark.parametrize(
    "stored",
    ["ORC", *(pytest.param(k, marks=pytest.mark.thorough) for k in ("PARQUET", "TEXTFILE"))],
)
def test_tasks_merge_insert_only_files_as_threads_do(
    session: Session, warehouse: Path, spark: Any, stored: str
) -> None:
    session.execute(f"""CREATE TABLE i (id int, v string)
        CLUSTERED BY (id) INTO 2 BUCKETS STORED AS {stored} TBLPROPERTIES
        ('transactional' = 'true', 'transactional_properties' = 'insert_only')""")
    for rows in ("range(1000)", "range(1000, 1500)"):
        session.execute(f"INSERT INTO i SELECT CAST(id AS int), concat('v', id) FROM {rows}")
    storage = storage_for(str(warehouse))
    written = []
    for name, run in (("by_threads", as_threads(storage)), ("by_tasks", as_tasks(spark, storage))):
        (warehouse / name).mkdir()
        merges = row_merges(warehouse / "i", warehouse / name, FileFormat(stored))
        assert list(run(merges)) == [True, True]
        written.append(contents(warehouse / name))
    assert written[0] == written[1]
    assert sorted(written[0]) == ["000000_0", "000001_0"]
    before = sorted(session.execute("SELECT id, v FROM i").fetchall())
    for delta in (warehouse / "i").glob("delta_*"):
        shutil.rmtree(delta)
    (warehouse / "by_tasks").rename(warehouse / "i" / "delta_0000001_0000002")
    assert sorted(session.execute("SELECT id, v FROM i").fetchall()) == before
    assert len(before) == 1500


def row_merges(table: Path, target: Path, stored: FileFormat) -> list[RowsMerge]:
    """The merges of the two files of each insert of the table ``i``, into a directory."""
    columns = (Column("id", parse_type("int")), Column("v", parse_type("string")))
    merges = []
    for bucket in range(2):
        paths = sorted(table.glob(f"delta_*/00000{bucket}_0"))
        assert len(paths) == 2
        size = sum(path.stat().st_size for path in paths)
        names = tuple(map(str, paths))
        row_format = RowFormat(columns, stored, "zstd")
        merges.append(RowsMerge(str(target), BucketId(bucket), row_format, names, size))
    return merges


@pytest.mark.thorough
def test_a_standalone_cluster_of_two_workers(tmp_path: Path) -> None:
    with cluster(tmp_path) as url:
        code = COMPACTIONS.format(url=url, changes=BUCKETED, whole=WHOLE)
        command = [sys.executable, "-c", code, str(tmp_path / "warehouse")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    before, *after = done.stdout.splitlines()
    assert len(after) == 2
    assert after[0].split(" tasks of ")[0] == after[1].split(" tasks of ")[0] == before
    # A major compaction has a task for each of the four buckets, a minor one two.
    assert [line.split(" tasks of ")[1] for line in after] == ["minor: 8", "major: 4"]


@pytest.mark.thorough
@pytest.mark.parametrize("serializer", ["JavaSerializer", "KryoSerializer"])
def test_executors_look_up_deleted_rows(tmp_path: Path, serializer: str) -> None:
    """The bits travel as Spark's serializer writes them: found by a directory, then by a search."""
    with cluster(tmp_path) as url:
        code = LOOK_UPS.format(url=url, serializer=serializer, whole=WHOLE)
        command = [sys.executable, "-c", code, str(tmp_path / "warehouse")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    left = [number for number in range(1500) if number % 7]
    for line in done.stdout.splitlines():
        assert line.startswith(f"{len(left)} {sum(left)} "), done.stdout
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["True", "False"]


LOOK_UPS = """
import sys
import acidsql
from acidsql.engines.spark import row_bitmap
from tests.integration.test_cluster import changes

made = []
of = row_bitmap.RowBitmap.of
row_bitmap.RowBitmap.of = lambda packed: made.append(of(packed)) or made[-1]
conf = {{
    "spark.master": "{url}", "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g", "spark.executor.memory": "700m",
    "spark.serializer": "org.apache.spark.serializer.{serializer}",
    "spark.kryo.registrationRequired": "true",
}}
with acidsql.connect(sys.argv[1], config=conf) as session:
    changes(session)
    for length in (row_bitmap._directory_length, lambda packing, page_bits: 1 << 40):
        row_bitmap._directory_length = length
        print(*session.execute("{whole}").fetchall()[0], made[-1].has_directory)
"""


COMPACTIONS = """
import sys
import acidsql
from pyspark.sql import SparkSession
from tests.integration.test_cluster import changes

conf = {{
    "spark.master": "{url}", "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g", "spark.executor.memory": "700m",
    "acidsql.compactor.cluster.bytes": "0",
}}
with acidsql.connect(sys.argv[1], config=conf) as session:
    changes(session)
    print(session.execute("{whole}").fetchall())
    tracker = SparkSession.active().sparkContext.statusTracker()
    for kind in ("minor", "major"):
        before = set(tracker.getJobIdsForGroup(None))
        session.execute(f"ALTER TABLE t COMPACT '{{kind}}' AND WAIT")
        stages = [
            tracker.getStageInfo(stage)
            for job in set(tracker.getJobIdsForGroup(None)) - before
            for stage in tracker.getJobInfo(job).stageIds
        ]
        session.run_cleaner()
        rows = session.execute("{whole}").fetchall()
        print(rows, "tasks of", kind + ":", sum(s.numTasks for s in stages))
"""


@contextmanager
def cluster(directory: Path) -> Iterator[str]:
    """The URL of a standalone cluster of two workers, each a process of one core."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.getcwd(),
    }
    with ExitStack() as stack:

        def start(name: str, *arguments: str) -> Path:
            """The file that the process logs to."""
            log = directory / f"{len(list(directory.glob('*.log')))}.log"
            stream = stack.enter_context(log.open("w"))
            command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
            process = subprocess.Popen([*command, *arguments], env=environment, stderr=stream)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            return log

        here = ("--host", "127.0.0.1", "--webui-port", "0")
        url = _url(start("master.Master", *here, "--port", "0"))
        for number in range(2):
            work = ("--work-dir", str(directory / f"worker{number}"))
            start("worker.Worker", *here, "--cores", "1", "--memory", "1g", *work, url)
        yield url


def _url(log: Path) -> str:
    """The URL that the master logs once it listens."""
    for _ in range(600):
        if found := re.search(r"spark://[\d.]+:\d+", log.read_text()):
            return found.group()
        time.sleep(0.1)
    raise AssertionError(log.read_text())
