"""A Spark that others started, that was stopped, or whose Java process has died."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

import acidsql
from acidsql.engines.spark.errors import clear_errors
from acidsql.session.session import Session
from tests.jvm import with_archive

FOREIGN = """
import sys, threading
import acidsql
from pyspark.sql import SparkSession

found = []
def start():
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.shuffle.partitions", "7").config("spark.ui.enabled", "false")
    )
    found.append(builder.getOrCreate())
thread = threading.Thread(target=start)
thread.start()
thread.join()
with acidsql.connect(sys.argv[1]) as session:
    assert session.execute("SELECT 1").fetchall() == [(1,)]
assert found[0].range(3).count() == 3, "somebody else's session was stopped"
assert found[0].conf.get("spark.sql.shuffle.partitions") == "7", "its settings were changed"
session = acidsql.connect(sys.argv[1], spark=found[0])
unread, read = session.execute("SELECT 1"), session.execute("SELECT id FROM range(100000)")
read.fetchone()
found[0].stop()
for ask in [
    lambda: session.execute("SELECT 1"), unread.fetchall, unread.fetchone, unread.arrow,
    unread.pandas, read.fetchall,
]:
    try:
        ask()
    except acidsql.AcidSqlError as error:
        assert "stopped" in error.message or "was closed, or failed" in error.message, error
    else:
        raise AssertionError("a stopped session")
session.close()
"""
OWN = """
import os, signal, sys
import acidsql
from pyspark import SparkContext
from pyspark.sql import SparkSession

def kill():
    gateway = SparkContext._gateway
    os.kill(gateway.jvm.ProcessHandle.current().pid(), signal.SIGKILL)
    gateway.proc.wait()

def assert_gone(result):
    try:
        result.fetchall()
    except acidsql.ExecutionError as error:
        assert "Spark is gone" in error.message, error
        assert "starts a new one" in error.hint
    else:
        raise AssertionError("rows of a dead Spark")

os.environ["SPARK_BUFFER_SIZE"] = "4096"  # so that little is read ahead
conf = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
with acidsql.connect(sys.argv[1], config=conf) as session:
    assert session.execute("SELECT 6 * 7").fetchall() == [(42,)]
assert SparkSession.getActiveSession() is None, "it is stopped with its session"
with acidsql.connect(sys.argv[1], config=conf) as session:
    session.execute(
        "CREATE TABLE o (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO o VALUES (1), (2)")
    session.execute("DELETE FROM o WHERE id = 2")
    assert session.execute("SELECT id + 1 FROM o").fetchall() == [(2,)]
    open_result = session.execute("SELECT * FROM o")
    # 20 MB are served through a socket that holds much less, when their server is killed.
    many_rows = session.execute("SELECT rpad('', 1000, 'x') FROM range(0, 20000, 1, 1)")
    assert many_rows.fetchone() == ("x" * 1000,)
    kill()
    assert_gone(open_result)
    assert_gone(many_rows)
    assert session.execute("SELECT * FROM o").fetchall() == [(1,)]
    assert session.execute("INSERT INTO o SELECT id + 1 FROM o").rows_inserted == 1
    assert sorted(session.execute("SELECT * FROM o").fetchall()) == [(1,), (2,)]
    kill()
"""
IN_BERLIN = """
import sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=Europe/Berlin")
    .config("spark.sql.session.timeZone", "America/New_York")
    .config("spark.sql.shuffle.partitions", "1").config("spark.ui.enabled", "false")
    .getOrCreate()
)
from tests.outside_utc import assert_times_stay
assert_times_stay(sys.argv[1], spark)
"""
EXECUTOR_BEHIND_UTC = """
import sys
import acidsql
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local-cluster[1,1,512]")
    .config("spark.executor.memory", "512m")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
    .config("spark.executor.extraJavaOptions", "-Duser.timezone=America/Los_Angeles " + sys.argv[2])
    .config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")  # of what the cluster says as it ends
with acidsql.connect(sys.argv[1], spark=spark) as session:
    times = ["0001-01-01 00:00:00", "2026-03-08 02:30:00"]
    for name, kind in (("c", "TBLPROPERTIES ('transactional' = 'true')"), ("d", "")):
        session.execute(f"CREATE TABLE {name} (ts timestamp) STORED AS ORC {kind}")
        for time in times:  # one file with both may hold days that the hybrid calendar skips
            session.execute(f"INSERT INTO {name} VALUES (?)", [time])
        rows = session.execute(f"SELECT cast(ts AS string) FROM {name} ORDER BY 1").fetchall()
        assert rows == [(time,) for time in times], rows
    # Java hands a day to the executor as an instant, and there it is the day before.
    for name, kind in (("c2", "TBLPROPERTIES ('transactional' = 'true')"), ("d2", "")):
        session.execute(f"CREATE TABLE {name} (k int, d date) STORED AS ORC {kind}")
        days = "id, date'2000-01-01' + int(id div 10) FROM range(0, 24000, 1, 1)"
        session.execute(f"INSERT INTO {name} SELECT {days}")
        for sign, expected in (("=", 10), ("<=", 10010), (">", 13990), ("IN", 10)):
            query = f"SELECT count(*) FROM {name} WHERE d {sign} (date'2002-09-27')"
            assert session.execute(query).fetchall() == [(expected,)], (name, sign)
    source = "(SELECT date'2002-09-27' AS d)"
    merge = f"MERGE INTO c2 USING {source} s ON c2.d = s.d WHEN MATCHED THEN UPDATE SET k = 0"
    assert session.execute(merge).rows_updated == 10
"""
TWO_EXECUTORS = """
import datetime, sys
from decimal import Decimal
import acidsql
import acidsql.engines.spark.insert as insert
import acidsql.engines.spark.job
from pyspark.sql import SparkSession

def other_way(*_):
    raise AssertionError("the rows went to Python")

insert.run_writers = insert.write_by_parts = other_way
acidsql.engines.spark.job.DRIVER_BYTES_MAX = 1  # nothing is small
spark = (
    SparkSession.builder.master("local-cluster[2,1,512]")
    .config("spark.executor.memory", "512m")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
    .config("spark.executor.extraJavaOptions", "-Duser.timezone=Europe/Berlin " + sys.argv[2])
    .config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
SOURCE = "id, date'1582-10-01' + int(id % 30), id / 4, if(id % 7 = 0, NULL, concat('v', id))"

def row(k, changed=0, v=None):
    day = datetime.date(1582, 10, 1) + datetime.timedelta(k % 30 + changed)
    return k, day, Decimal(k * 25).scaleb(-2) + changed, v or (f"v{k}" if k % 7 else None)

def rows():
    for k in range(8000):
        if k >= 6000 or (k >= 4000 and k % 5 == 1):
            yield row(k)  # inserted by the MERGE
        elif k < 4000 and k % 5 != 1:
            yield row(k, changed=k % 3 == 0)
        elif k >= 4000 and k % 2 == 1:
            yield row(k, changed=k % 3 == 0, v="merged")

with acidsql.connect(sys.argv[1], spark=spark) as session:
    for name, buckets in (("t", ""), ("b", "CLUSTERED BY (k) INTO 3 BUCKETS")):
        session.execute(
            f"CREATE TABLE {name} (k bigint, d date, x decimal(12,2), v string) {buckets}"
            " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        )
        session.execute(f"INSERT INTO {name} SELECT {SOURCE} FROM range(6000)")
        session.execute(f"UPDATE {name} SET x = x + 1, d = d + 1 WHERE k % 3 = 0")
        session.execute(f"DELETE FROM {name} WHERE k % 5 = 1")
        session.execute(
            f"MERGE INTO {name} t USING (SELECT {SOURCE} FROM range(4000, 8000)) s (k, d, x, v)"
            " ON t.k = s.k WHEN MATCHED AND t.k % 2 = 0 THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT *"
        )
        assert session.execute(f"SELECT * FROM {name} ORDER BY k").fetchall() == list(rows())
        assert session.execute(f"CHECK TABLE {name}").fetchall() == []
"""


LETTERS = """
import os, sys
import acidsql

place = sys.argv[1] + "/wär"
table = "(v string) PARTITIONED BY (p string) STORED AS TEXTFILE"
with acidsql.connect(place, config={"spark.master": "local[1]"}) as session:
    session.execute("CREATE TABLE t " + table)
    session.execute("INSERT INTO t VALUES ('a', 'ü'), ('€', '日本')")
    rows = session.execute("SELECT p, v FROM t ORDER BY p").fetchall()
    assert rows == [("ü", "a"), ("日本", "€")], rows
    assert os.environ["LC_ALL"] == "C"
"""
NO_LETTERS = """
import sys
import acidsql
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
with acidsql.connect(sys.argv[1] + "/wär", spark=spark) as session:
    session.execute("CREATE TABLE t (v string) STORED AS TEXTFILE")
    session.execute("INSERT INTO t VALUES ('a')")
    try:
        session.execute("SELECT * FROM t").fetchall()
    except acidsql.ConfigError as error:
        assert "LC_ALL=C.UTF-8" in error.hint, error
    else:
        raise AssertionError("a name that Java cannot find")
"""


def executor_options() -> str:
    """Those of the other JVMs: Spark forbids settings of its own among them."""
    return " ".join(o for o in with_archive().split(" ") if not o.startswith("-Dspark."))


def run(script: str, tmp_path: Path, **variables: str) -> None:
    """In its own process, as there is one Spark in each."""
    command = [sys.executable, "-c", script, str(tmp_path / "warehouse"), executor_options()]
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": root, **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=env
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_spark_of_others(tmp_path: Path) -> None:
    """It is used, and left as it is."""
    run(FOREIGN, tmp_path)


@pytest.mark.thorough
def test_a_spark_of_its_own(tmp_path: Path) -> None:
    """It is stopped with the session, and started again after its Java process was killed."""
    run(OWN, tmp_path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("script", [LETTERS, NO_LETTERS], ids=["own", "given"])
def test_file_names_in_a_locale_without_letters(tmp_path: Path, script: str) -> None:
    run(script, tmp_path, LC_ALL="C")


@pytest.mark.thorough
def test_a_jvm_outside_utc(tmp_path: Path) -> None:
    """At length what `test_types.py` shows in a JVM whose zone is changed."""
    run(IN_BERLIN, tmp_path)


@pytest.mark.thorough
def test_executors_outside_utc(tmp_path: Path) -> None:
    """The driver runs in UTC.

    At length what `unit/engines/spark/test_timestamps.py` shows of executors that tell their zone.
    """
    run(EXECUTOR_BEHIND_UTC, tmp_path, SPARK_HOME=home_of_workers(tmp_path))


@pytest.mark.thorough
def test_two_executors_encode_rows(tmp_path: Path) -> None:
    """The driver finds the files that the other processes write."""
    run(TWO_EXECUTORS, tmp_path, SPARK_HOME=home_of_workers(tmp_path))


def home_of_workers(tmp_path: Path) -> str:
    """A home of Spark's, below which the directory of its workers is made."""
    home = tmp_path / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return str(home)


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
