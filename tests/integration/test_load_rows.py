"""LOAD DATA whose rows are read: from files of any name, in transactions, of old days."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest

from acidsql.errors import AcidSqlError, InvalidValueError, StorageError
from acidsql.session.session import Session

LINES = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"


def test_texts_of_any_name(session: Session, tmp_path: Path) -> None:
    given = tmp_path / "given {1}"
    given.mkdir()
    (given / "a.gz").write_bytes(gzip.compress(b"1,x,p\n2,y,q\n"))
    (given / "we{i}rd [x]*.txt").write_text("3,z,r\n4,z\n,\\N,r\n")
    (given / "_hidden").write_text("9,9,9\n")
    session.execute(f"CREATE TABLE t (id int, v string) PARTITIONED BY (p string) {LINES}")
    loaded = session.execute(f"LOAD DATA LOCAL INPATH '{given}' INTO TABLE t")
    assert loaded.rows_inserted == 5
    rows = session.execute("SELECT * FROM t").fetchall()
    assert sorted(rows, key=str) == [
        (1, "x", "p"), (2, "y", "q"), (3, "z", "r"), (4, "z", None), (None, None, "r"),
    ]  # fmt: skip
    assert len(list(given.iterdir())) == 3


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_rows_into_buckets_in_a_transaction(session: Session, tmp_path: Path, ends: str) -> None:
    # A day that Spark's ORC reader takes for another one: no such day in the Julian calendar.
    days = [datetime.date(1582, 10, 15), datetime.date(1, 1, 1), datetime.date(2026, 11, 27), None]
    columns = {"id": pa.array([1, 2, 3, 4], pa.int32()), "day": pa.array(days, pa.date32())}
    given = tmp_path / "given.orc"
    pa_orc.write_table(pa.table(columns), str(given))
    session.execute(
        "CREATE TABLE t (id int, day date) CLUSTERED BY (id) INTO 3 BUCKETS"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES (9, NULL)")
    session.execute("BEGIN")
    session.execute(f"LOAD DATA INPATH '{given}' INTO TABLE t")
    session.execute("DELETE FROM t WHERE id IN (4, 9)")
    session.execute(ends)
    found = sorted(session.execute("SELECT id, day FROM t").fetchall())
    loaded = list(zip([1, 2, 3], days, strict=False))
    assert found == (loaded if ends == "COMMIT" else [(9, None)])
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert given.exists()


def test_nothing_is_loaded_if_one_row_is_forbidden(session: Session, tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("1,a\n,b\n")
    session.execute(f"CREATE TABLE t (id int NOT NULL, v string) {LINES}")
    with pytest.raises(AcidSqlError, match=r'"id" of default\.t cannot be null'):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / 'given.txt'}' INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize("name", ["_data.txt", ".data.txt", "data.txt._COPYING_"])
def test_a_file_that_spark_passes_over_is_refused(
    session: Session, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("1,a\n")
    session.execute(f"CREATE TABLE t (id int NOT NULL, v string) {LINES}")
    session.execute("INSERT INTO t VALUES (9, 'z')")
    with pytest.raises(StorageError, match="Spark does not read the file"):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / name}' OVERWRITE INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == [(9, "z")]


def test_a_relative_path_is_that_of_this_process(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "given.txt").write_text("1,a\n")
    monkeypatch.chdir(tmp_path)
    session.execute(f"CREATE TABLE t (id int NOT NULL, v string) {LINES}")
    session.execute("LOAD DATA LOCAL INPATH 'given.txt' INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == [(1, "a")]


def test_values_are_those_of_an_external_table(session: Session, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "1.txt").write_text("1,abcdef,abcdef\n300,a,b\n")
    columns = "id tinyint, v varchar(3)"
    session.execute(f"CREATE EXTERNAL TABLE e ({columns}, p varchar(3)) {LINES} LOCATION '{given}'")
    session.execute(f"CREATE TABLE t ({columns}) PARTITIONED BY (p varchar(3)) {LINES}")
    session.execute(f"LOAD DATA LOCAL INPATH '{given}' INTO TABLE t")
    rows = sorted(session.execute("SELECT * FROM t").fetchall(), key=str)
    assert rows == [(1, "abc", "abc"), (None, "a", "b")]
    assert rows == sorted(session.execute("SELECT * FROM e").fetchall(), key=str)


def test_more_partitions_than_allowed(session: Session, tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("1,a\n2,b\n")
    session.execute(f"CREATE TRANSACTIONAL TABLE t (id int) PARTITIONED BY (p string) {LINES}")
    session.execute("SET hive.exec.max.dynamic.partitions = 1")
    with pytest.raises(AcidSqlError, match="Number of dynamic partitions created is 2"):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / 'given.txt'}' INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == []


def test_parquet_in_nanoseconds_is_refused(session: Session, tmp_path: Path) -> None:
    moments = pa.array([datetime.datetime(2026, 11, 27)], pa.timestamp("ns"))
    pq.write_table(pa.table({"at": moments}), tmp_path / "given.parquet")
    session.execute("CREATE TABLE t (at timestamp) STORED AS PARQUET")
    with pytest.raises(InvalidValueError, match="has timestamps in nanoseconds"):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / 'given.parquet'}' INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == []


def test_orc_files_without_rows(session: Session, tmp_path: Path) -> None:
    """For the day, Spark's reader would do; where each file is looked at, none is left."""
    given = tmp_path / "given.orc"
    schema = pa.schema([("id", pa.int32()), ("day", pa.date32())])
    pa_orc.write_table(schema.empty_table(), str(given))
    session.execute("CREATE TABLE t (id int, day date) CLUSTERED BY (id) INTO 3 BUCKETS")
    assert session.execute(f"LOAD DATA LOCAL INPATH '{given}' INTO TABLE t").rows_inserted == 0
    assert session.execute("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize("day", [datetime.date(1582, 10, 10), datetime.date(2026, 11, 30)])
@pytest.mark.parametrize(
    "properties", ["", "TBLPROPERTIES ('orc.force.positional.evolution'='true')"]
)
def test_longer_texts_are_cut_at_any_depth(
    session: Session, tmp_path: Path, day: datetime.date, properties: str
) -> None:
    """pyarrow reads the earlier day, which Spark's ORC reader takes for another one."""
    place = tmp_path / "files"
    place.mkdir()
    columns = {
        "v": pa.array(["abcd"]),
        "c": pa.array(["a"]),
        "vs": pa.array([["abcd", None, ""]]),
        "day": pa.array([day], pa.date32()),
    }
    pa_orc.write_table(pa.table(columns), str(place / "000000_0"))
    session.execute(
        "CREATE EXTERNAL TABLE t (v varchar(2), c char(3), vs array<varchar(3)>, day date)"
        f" STORED AS ORC LOCATION '{place}' {properties}"
    )
    found = session.execute("SELECT v, c, vs, day FROM t").fetchall()
    assert found == [("ab", "a  ", ["abc", None, ""], day)]
