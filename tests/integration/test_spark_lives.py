"""A Spark that others started, that was stopped, or whose Java process has died."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.engines.spark.errors import clear_errors
from acidsql.session.session import Session

FOREIGN = """
import sys, threading
import acidsql
from pyspark.sql import SparkSession

found = []
def start():
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    found.append(builder.config("spark.sql.shuffle.partitions", "7").getOrCreate())
thread = threading.Thread(target=start)
thread.start()
thread.join()
with acidsql.connect(sys.argv[1]) as session:
    assert session.execute("SELECT 1").fetchall() == [(1,)]
assert found[0].range(3).count() == 3, "somebody else's session was stopped"
assert found[0].conf.get("spark.sql.shuffle.partitions") == "7", "its settings were changed"
session = acidsql.connect(sys.argv[1], spark=found[0])
found[0].stop()
try:
    session.execute("SELECT 1")
except acidsql.ExecutionError as error:
    assert "stopped" in error.message, error
else:
    raise AssertionError("a stopped session")
session.close()
"""
KILLED = """
import os, signal, subprocess, sys
import acidsql
from pyspark import SparkContext

def kill():
    gateway = SparkContext._gateway
    os.kill(gateway.jvm.ProcessHandle.current().pid(), signal.SIGKILL)
    gateway.proc.wait()

conf = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
with acidsql.connect(sys.argv[1], config=conf) as session:
    session.execute(
        "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES (1), (2)")
    session.execute("DELETE FROM t WHERE id = 2")
    open_result = session.execute("SELECT * FROM t")
    kill()
    try:
        open_result.fetchall()
    except acidsql.ExecutionError as error:
        assert "Spark is gone" in error.message, error
        assert "starts a new one" in error.hint
    else:
        raise AssertionError("rows of a dead Spark")
    assert session.execute("SELECT * FROM t").fetchall() == [(1,)]
    assert session.execute("INSERT INTO t SELECT id + 1 FROM t").rows_inserted == 1
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(1,), (2,)]
    kill()
"""


@pytest.mark.parametrize("script", [FOREIGN, KILLED], ids=["foreign", "killed"])
def test_another_process(script: str, tmp_path: Path) -> None:
    """Its own process, as there is one Spark in each."""
    command = [sys.executable, "-c", script, str(tmp_path / "warehouse")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_is_no_session_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(acidsql.ConfigError, match="takes a SparkSession, not a str"):
        acidsql.connect(str(tmp_path), spark="sc://localhost:15002")


def test_a_temporary_view_is_found_by_its_name_alone(session: Session, spark: Any) -> None:
    """No other table of Spark's catalog is looked at."""
    for name in ("seen", "a.b", "c`d"):
        spark.range(2).createOrReplaceTempView(f"`{name.replace('`', '``')}`")
        quoted = name.replace("`", "``")
        assert len(session.execute(f"SELECT * FROM `{quoted}`").fetchall()) == 2
        spark.catalog.dropTempView(name)
    with pytest.raises(acidsql.TableNotFoundError):
        session.execute("SELECT * FROM seen")


@pytest.mark.parametrize(
    "text", ["order does not exist", "[FAILED_READ_FILE] Malformed ORC file", "Python worker"]
)
def test_a_value_that_does_not_fit_is_judged_by_that_alone(session: Session, text: str) -> None:
    session.execute(
        "CREATE TABLE t (v string) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    session.execute("INSERT INTO t VALUES (?)", [text])
    with pytest.raises(acidsql.InvalidValueError, match="CAST_INVALID_INPUT"):
        session.execute("SELECT CAST(v AS int) FROM t").fetchall()


def test_a_sound_file_that_the_reader_cannot_read_is_not_called_corrupt(
    session: Session, spark: Any, warehouse: Path
) -> None:
    """Spark's ORC reader cannot read ACID files by some of their columns."""
    session.execute("CREATE TABLE t (k int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (1)")
    [file] = warehouse.glob("t/*/bucket_*")
    events = "operation int, originalTransaction bigint, bucket int, rowId bigint"
    schema = f"{events}, currentTransaction bigint, row struct<k: int>"
    with pytest.raises(acidsql.AcidSqlError) as caught, clear_errors():
        spark.read.schema(schema).orc(str(file)).select("row.k").collect()
    assert type(caught.value) is acidsql.ExecutionError
    assert "bucket_00000" in caught.value.message
