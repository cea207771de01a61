"""INSERT … SELECT of many rows without buckets: Spark's own writer encodes them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark import encoding
from acidsql.errors import ConstraintViolationError, ExecutionError, InvalidValueError
from acidsql.orc.footer import read_tail
from acidsql.orc.stripe_copy import Form
from acidsql.session.session import Session

ROWS = 12_000
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true'{})"
TYPES = {
    "k": "bigint",
    "v.w x": "string",
    "d": "date",
    "x": "decimal(12,3)",
    "f": "float",
    "g": "double",
    "b": "binary",
    "z": "boolean",
    "y": "tinyint",
    "h": "smallint",
    "i": "int",
}
SELECT = (
    "SELECT id, if(id % 7 = 0, NULL, repeat('ä', int(id % 50))), date'0001-01-01' + int(id * 59),"
    " id / 8 - 300, if(id % 11 = 0, float('nan'), float(id / 4)),"
    " if(id % 13 = 0, double('-infinity'), -id / 7),"
    " if(id % 5 = 0, NULL, binary(char(int(id % 3)))),"
    " if(id % 3 = 0, NULL, id % 2 = 0), int(id % 200) - 100, int(id) - 6000, -int(id)"
)
"""Row 9,792 has a day that the hybrid calendar lacks, and those before it days that it counts
otherwise."""


def row(k: int) -> tuple[Any, ...]:
    return (
        k,
        None if k % 7 == 0 else "ä" * (k % 50),
        dt.date(1, 1, 1) + dt.timedelta(k * 59),
        Decimal(k * 125 - 300_000).scaleb(-3),
        None if k % 11 == 0 else k / 4,
        -math.inf if k % 13 == 0 else -k / 7,
        None if k % 5 == 0 else bytes([k % 3]),
        None if k % 3 == 0 else k % 2 == 0,
        k % 200 - 100,
        k - 6000,
        -k,
    )


def values(session: Session, query: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
    """The rows by their key. None stands for NaN, which is not even equal to itself."""
    found = []
    for value in session.execute(query).fetchall():
        k, v, d, x, f, g, b, *rest = value
        assert (f is not None and math.isnan(f)) == (k % 11 == 0)
        found.append((k, v, d, x, None if math.isnan(f) else f, g, b and bytes(b), *rest))
    return sorted(found)


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)


@pytest.fixture
def table(session: Session) -> Iterator[Session]:
    make(session, "t")
    yield session
    assert session.execute("CHECK TABLE t").fetchall() == []


def make(session: Session, name: str, codec: str = "snappy") -> None:
    names = (f"`{column}` {kind}" for column, kind in TYPES.items())
    properties = ACID.format(f", 'orc.compress' = '{codec}'")
    session.execute(f"CREATE TABLE {name} ({', '.join(names)}) {properties}")


def test_every_type(table: Session, warehouse: Path) -> None:
    assert table.execute(f"INSERT INTO t {SELECT} FROM range({ROWS})").rows_inserted == ROWS
    directory = warehouse / "t" / "delta_0000001_0000001_0000"
    there = sorted(p.name for p in directory.iterdir() if not p.name.endswith(".crc"))
    assert there == ["_orc_acid_version", "bucket_00000", "bucket_00001"]
    assert values(table) == [row(k) for k in range(ROWS)]
    for first, last in ((3_000, 3_720), (9_785, 9_795)):
        start, end = (f"date'0001-01-01' + {k * 59}" for k in (first, last))
        found = values(table, f"SELECT * FROM t WHERE d >= {start} AND d < {end}")
        assert found == [row(k) for k in range(first, last)]
    skipped = row(9_792)[2]
    assert skipped == dt.date(1582, 10, 8)
    query = "SELECT k FROM t WHERE d = date'1582-10-08'"
    assert table.execute(query).fetchall() == [(9_792,)]


@pytest.mark.thorough
def test_the_files_are_of_the_form_of_all_others(table: Session, warehouse: Path) -> None:
    """So a compaction may copy their stripes."""
    table.execute(f"INSERT INTO t {SELECT} FROM range({ROWS})")
    table.insert("t", [dict(zip(TYPES, row(k), strict=True)) for k in (1, 2)])
    encoded, other = (
        read_tail(str(warehouse / "t" / f"delta_{n:07}_{n:07}_0000" / "bucket_00000"))
        for n in (1, 2)
    )
    assert Form.of(encoded) == Form.of(other)


@pytest.mark.thorough
def test_changes_compactions_and_overwrites(table: Session) -> None:
    table.execute(f"INSERT INTO t {SELECT} FROM range({ROWS})")
    assert table.execute("UPDATE t SET i = 5 WHERE k % 4 = 1").rows_updated == ROWS // 4
    assert table.execute("DELETE FROM t WHERE k % 4 = 2").rows_deleted == ROWS // 4
    expected = [(*row(k)[:-1], 5 if k % 4 == 1 else -k) for k in range(ROWS) if k % 4 != 2]
    assert values(table) == expected
    for kind in ("minor", "major"):
        table.execute(f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
        assert values(table) == expected
    assert table.execute(f"INSERT OVERWRITE t {SELECT} FROM range(50)").rows_inserted == 50
    assert values(table) == [row(k) for k in range(50)]


@pytest.mark.parametrize(
    "codec",
    ["none", *(pytest.param(c, marks=pytest.mark.thorough) for c in ("zlib", "lz4", "zstd"))],
)
def test_codecs(session: Session, codec: str) -> None:
    make(session, "t", codec)
    session.execute(f"INSERT INTO t {SELECT} FROM range(300)")
    assert values(session) == [row(k) for k in range(300)]
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_no_rows(table: Session) -> None:
    assert table.execute(f"INSERT INTO t {SELECT} FROM range(10) WHERE id < 0").rows_inserted == 0
    assert values(table) == []


def test_a_row_that_fails_leaves_nothing(table: Session, warehouse: Path) -> None:
    with pytest.raises(InvalidValueError, match="no such row"):
        table.execute("INSERT INTO t (k) SELECT if(id = 900, raise_error('no such row'), id)"
                      " FROM range(1000)")  # fmt: skip
    with pytest.raises(InvalidValueError):
        table.execute("INSERT INTO t (y) SELECT id FROM range(1000)")
    assert values(table) == []
    assert list((warehouse / "t").iterdir()) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("column", ["t timestamp", "a array<int>"])
def test_other_tables_are_written_as_before(session: Session, column: str) -> None:
    name, kind = column.split(" ", 1)
    session.execute(f"CREATE TABLE t ({name} {kind}, n bigint) {ACID.format('')}")
    value = {
        "t": "timestamp'1890-01-01' + make_dt_interval(int(id))",
        "a": "array(int(id), NULL)",
    }[name]
    session.execute(f"INSERT INTO t SELECT {value}, id FROM range(100)")
    found = {n: v for v, n in session.execute("SELECT * FROM t").fetchall()}
    assert found == {
        n: {"t": dt.datetime(1890, 1, 1) + dt.timedelta(n), "a": [n, None]}[name]
        for n in range(100)
    }


@pytest.mark.parametrize("buckets", ["", "CLUSTERED BY (n) INTO 2 BUCKETS"])
def test_a_null_that_may_not_be(session: Session, warehouse: Path, buckets: str) -> None:
    """The footers of Spark's files tell."""
    table = f"CREATE TABLE t (s string, k bigint NOT NULL, n int) {buckets} {ACID.format('')}"
    session.execute(table)
    session.execute("INSERT INTO t SELECT NULL, id, id FROM range(100)")
    before = sorted((warehouse / "t").rglob("*"))
    for value in ("if(id = 50, NULL, id)", "NULL"):
        with pytest.raises(ConstraintViolationError, match=r'"k" of default\.t cannot be null'):
            session.execute(f"INSERT INTO t SELECT 'a', {value}, id FROM range(100)")
        assert sorted((warehouse / "t").rglob("*")) == before
    assert session.execute("SELECT count(k), count(s) FROM t").fetchall() == [(100, 0)]
    session.execute("INSERT INTO t SELECT 'a', id, NULL FROM range(0)")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text",
    [
        "CAST(X'80' AS string)",
        "CAST(unhex(concat(repeat('61', 1020), repeat('f0', 50))) AS string)",
        "repeat('\U0010ffff', 500)",
        "repeat('z', 1025)",
        *(
            pytest.param(text, marks=pytest.mark.thorough)
            for text in (
                "CAST(X'ff61' AS string)",
                "concat('a', CAST(X'80' AS string), repeat('b', 2000))",
                "CAST(unhex(repeat('80', 2000)) AS string)",
                "CAST(unhex(repeat('ff', 3000)) AS string)",
                "repeat('\ud7ff', 500)",
            )
        ),
    ],
)
def test_texts_whose_bounds_java_cannot_say(session: Session, warehouse: Path, text: str) -> None:
    """CHECK TABLE compares the statistics with the rows."""
    session.execute(f"CREATE TABLE t (k bigint, s string) {ACID.format('')}")
    session.execute(f"INSERT INTO t SELECT id, {text} FROM range(20)")
    assert session.execute("CHECK TABLE t").fetchall() == []
    predicates = (f"s = {text}", f"s >= {text}", f"s <= {text}", f"s < concat({text}, 'a')")
    scans = (f"SELECT {n} AS n FROM t WHERE {p}" for n, p in enumerate(predicates))
    found = session.execute(" UNION ALL ".join(scans)).fetchall()
    assert sorted(found) == [(n,) for n in range(len(predicates)) for _ in range(20)]
    assert list(warehouse.rglob("*_attempt_*")) == []


def test_sums_of_decimals_that_java_rounds(session: Session) -> None:
    session.execute(f"CREATE TABLE t (x decimal(38,38)) {ACID.format('')}")
    session.execute(f"INSERT INTO t SELECT 0.{'3' * 38}BD FROM range(20)")
    assert session.execute("CHECK TABLE t").fetchall() == []
    found = session.execute("SELECT DISTINCT x FROM t WHERE x > 0.3").fetchall()
    assert found == [(Decimal(f"0.{'3' * 38}"),)]


def test_hadoop_has_another_default_file_system(
    table: Session, spark: Any, warehouse: Path, tmp_path: Path
) -> None:
    """Files are written into the warehouse, not to the same path there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    spark.conf.set(f"fs.viewfs.mounttable.other.link.{warehouse}", f"file://{elsewhere}")
    spark.conf.set("fs.defaultFS", "viewfs://other/")
    try:
        table.execute(f"INSERT INTO t {SELECT} FROM range(10)")
        assert len(values(table)) == 10
    finally:
        spark.conf.unset("fs.defaultFS")
    assert list(elsewhere.iterdir()) == []


def test_files_that_spark_writes_elsewhere_are_missed(
    table: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another machine, whose directories are not ours: no row must get lost in silence."""
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(encoding, "spark_path", lambda _: f"file://{elsewhere}")
    with pytest.raises(ExecutionError, match="Spark has written no file"):
        table.execute(f"INSERT INTO t {SELECT} FROM range(10)")
    assert list(elsewhere.rglob("*.orc"))
    assert values(table) == []


def test_a_format_of_orc_that_others_cannot_read(table: Session, spark: Any) -> None:
    hadoop = spark._jsc.hadoopConfiguration()
    hadoop.set("orc.write.format", "UNSTABLE-PRE-2.0")
    try:
        table.execute(f"INSERT INTO t {SELECT} FROM range(3000)")
    finally:
        hadoop.unset("orc.write.format")
    assert values(table) == [row(k) for k in range(3000)]


@pytest.mark.thorough
def test_settings_of_spark_do_not_matter(table: Session) -> None:
    for key, value in {
        "spark.sql.orc.compression.codec": "zlib",
        "spark.sql.files.maxRecordsPerFile": "1",
        "orc.encrypt": "pii:c0",
        "orc.mask": "nullify:c0",
    }.items():
        table.execute(f"SET {key} = {value}")
    table.execute(f"INSERT INTO t {SELECT} FROM range(3000)")
    assert values(table) == [row(k) for k in range(3000)]
