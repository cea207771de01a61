"""Names of struct fields with capital letters: Hive keeps them, and finds fields in files so."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.errors import InvalidValueError
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

TYPE = "struct<Aa:int,b:string,Cc:array<struct<Dd:string>>>"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
KINDS = {
    "full-ACID": ACID,
    "partitioned": f"PARTITIONED BY (p int) {ACID}",
    "insert-only": f"STORED AS ORC {INSERT_ONLY}",
    "insert-only Parquet": f"STORED AS PARQUET {INSERT_ONLY}",
    "plain ORC": "STORED AS ORC",
    "Avro": "STORED AS AVRO",
    "Parquet": "STORED AS PARQUET",
}
ASKED = "SELECT id, s.Aa, s.b, s.Cc[0].Dd FROM t ORDER BY id"


@pytest.fixture
def both(hive: Hive, client: acidsql.Session, database: str) -> OneMetastore:
    """A database of the test's own."""
    return OneMetastore(hive, client, database)


def row(number: int) -> str:
    """The values of a row, of which Spark and Hive make the same."""
    return (
        f"{number}, named_struct('Aa', {number}, 'b', 'x{number}',"
        f" 'Cc', array(named_struct('Dd', 'y{number}')))"
    )


def rows(*numbers: int) -> str:
    """A query of these rows."""
    return " UNION ALL ".join(f"SELECT {row(number)}" for number in numbers)


def read(both: OneMetastore, *numbers: int) -> None:
    """Both find these rows. One with a number above 100 has had its field Aa raised by 100."""
    expected = [(n % 100, n, f"x{n % 100}", f"y{n % 100}") for n in numbers]
    assert both.acidsql(ASKED) == expected
    for reader in ("row by row", "vectorised"):
        both._set_reader(reader)
        assert [tuple(r.values()) for r in both.theirs(ASKED)] == expected, reader


def compact(both: OneMetastore, kind: str, table: str = "t") -> None:
    """Compact the table; Hive 3.1 lets nobody else do it."""
    both.acidsql(f"ALTER TABLE {table} COMPACT '{kind}'")
    if both.hive.version == 3:
        both.hive.work()
    else:
        assert both.session.run_worker() == 1
    (newest, *_) = both.session.execute("SHOW COMPACTIONS").fetchall()
    assert "ready for cleaning" in newest or "succeeded" in newest, newest


@pytest.mark.parametrize("kind", KINDS)
def test_both_write_and_read(both: OneMetastore, kind: str) -> None:
    both.theirs(f"CREATE TABLE t (id int, s {TYPE}) {KINDS[kind]}")
    fixed = " PARTITION (p = 1)" if kind == "partitioned" else ""
    both.theirs(f"INSERT INTO t{fixed} SELECT {row(1)}")
    both.acidsql(f"INSERT INTO t{fixed} SELECT {row(2)}")
    both.theirs(f"INSERT INTO t{fixed} SELECT {row(3)}")
    both.acidsql(f"INSERT INTO t{fixed} {rows(4, 5)}")
    read(both, 1, 2, 3, 4, 5)
    shown = {r[0]: r[1] for r in both.acidsql("DESCRIBE t")}
    assert shown["s"] == TYPE
    # Hive asks the SerDe of Avro, which makes them small.
    assert ("s", TYPE.lower() if kind == "Avro" else TYPE, "") in both.columns("t")
    chosen = "id, s" if fixed else "*"
    both.acidsql(f"INSERT OVERWRITE t{fixed} SELECT {chosen} FROM t WHERE id <> 3")
    read(both, 1, 2, 4, 5)


@pytest.mark.parametrize("compaction", ["minor", "major"])
def test_changes_and_compactions(both: OneMetastore, compaction: str) -> None:
    both.theirs(f"CREATE TABLE t (id int, s {TYPE}) {ACID}")
    both.theirs(f"INSERT INTO t {rows(1, 2, 3)}")
    both.acidsql(f"INSERT INTO t {rows(4, 5, 6)}")
    both.acidsql("UPDATE t SET s.aa = s.aA + 100 WHERE id IN (1, 4)")
    both.theirs("DELETE FROM t WHERE id = 5")
    both.acidsql("DELETE FROM t WHERE id = 2")
    both.acidsql(
        "MERGE INTO t USING (SELECT 3 id UNION ALL SELECT 7) n ON t.id = n.id"
        " WHEN MATCHED THEN UPDATE SET s.aa = 103"
        f" WHEN NOT MATCHED THEN INSERT VALUES ({row(7)})"
    )
    numbers = (101, 103, 104, 6, 7)
    read(both, *numbers)
    compact(both, compaction)
    read(both, *numbers)
    both.acidsql("UPDATE t SET id = id WHERE id = 6")
    both.theirs(f"INSERT INTO t SELECT {row(8)}")
    both.theirs("UPDATE t SET id = 7 WHERE id = 7")
    read(both, *numbers, 8)
    both.theirs(f"ALTER TABLE t COMPACT '{compaction}'")
    both.hive.work()
    read(both, *numbers, 8)
    assert both.acidsql("CHECK TABLE t") == []


@pytest.mark.parametrize("versions", [[4]])  # Hive 3 has none
def test_a_rebalance(both: OneMetastore, versions: list[int]) -> None:
    both.theirs(f"CREATE TABLE t (id int, s {TYPE}) {ACID}")
    both.theirs(f"INSERT INTO t {rows(1, 2)}")
    both.acidsql(f"INSERT INTO t {rows(3, 4)}")
    compact(both, "rebalance")
    read(both, 1, 2, 3, 4)


def test_definitions(both: OneMetastore) -> None:
    both.acidsql(f"CREATE TABLE t (id int, s {TYPE} NOT NULL DISABLE) {ACID}")
    assert ("s", TYPE, "") in both.columns("t")
    both.theirs(f"INSERT INTO t SELECT {row(1)}")
    both.acidsql(f"INSERT INTO t SELECT {row(2)}")
    both.acidsql("ALTER TABLE t ADD COLUMNS (e struct<Ff:int>)")
    both.acidsql(f"ALTER TABLE t CHANGE COLUMN s s {TYPE.lower()} COMMENT 'n'")
    assert both.columns("t") == [("id", "int", ""), ("s", TYPE, "n"), ("e", "struct<Ff:int>", "")]
    both.acidsql(f"INSERT INTO t SELECT {row(3)}, named_struct('ff', 3)")
    both.acidsql("UPDATE t SET e = named_struct('ff', 1) WHERE id = 1")
    read(both, 1, 2, 3)
    asked = "SELECT id, e.ff FROM t ORDER BY id"
    assert both.acidsql(asked) == [(1, 1), (2, None), (3, 3)]
    assert [tuple(r.values()) for r in both.theirs(asked)] == [(1, 1), (2, None), (3, 3)]
    if both.hive.version == 4:  # Hive 3 finds no column under its old name
        both.acidsql(f"ALTER TABLE t CHANGE COLUMN s z {TYPE.lower()}")
        asked = "SELECT id, z.aa, z.cc[0].dd FROM t ORDER BY id"
        expected = [(n, n, f"y{n}") for n in (1, 2, 3)]
        assert both.acidsql(asked) == expected
        assert [tuple(r.values()) for r in both.theirs(asked)] == expected


@pytest.mark.parametrize("kind", ["full-ACID", "plain ORC", "Avro"])
def test_copies(both: OneMetastore, kind: str, tmp_path: Path) -> None:
    both.theirs(f"CREATE TABLE o (id int, s {TYPE}) {KINDS[kind]}")
    both.theirs(f"INSERT INTO o SELECT {row(1)}")
    both.acidsql(f"INSERT INTO o SELECT {row(2)}")
    both.acidsql(f"EXPORT TABLE o TO '{tmp_path}'")
    both.acidsql(f"IMPORT TABLE t FROM '{tmp_path}'")
    read(both, 1, 2)
    both.acidsql("DROP TABLE t")
    both.theirs(f"IMPORT TABLE t FROM '{tmp_path}'")
    read(both, 1, 2)
    both.acidsql("DROP TABLE t")
    both.acidsql("CREATE TABLE t LIKE o")
    both.acidsql("INSERT INTO t SELECT * FROM o")
    read(both, 1, 2)
    both.acidsql("DROP TABLE t")
    both.acidsql(f"CREATE TABLE t {KINDS[kind]} AS SELECT * FROM o")
    read(both, 1, 2)


@pytest.mark.parametrize("kind", ["full-ACID", "plain ORC", "Avro"])
@pytest.mark.parametrize(
    ("written", "wanted"), [(TYPE, TYPE.lower()), (TYPE.lower(), TYPE)], ids=["small", "capital"]
)
def test_files_of_other_letters(
    both: OneMetastore, kind: str, written: str, wanted: str, tmp_path: Path
) -> None:
    plain = "STORED AS AVRO" if kind == "Avro" else "STORED AS ORC"
    both.theirs(f"CREATE EXTERNAL TABLE o (id int, s {written}) {plain} LOCATION '{tmp_path}/o'")
    both.theirs(f"INSERT INTO o SELECT {row(1)}")
    both.theirs("DROP TABLE o")  # its files stay
    both.theirs(f"CREATE TABLE t (id int, s {wanted}) {KINDS[kind]}")
    with pytest.raises(InvalidValueError, match="other capital letters"):
        both.acidsql(f"LOAD DATA INPATH '{tmp_path}/o' INTO TABLE t")
    both.theirs("DROP TABLE t")
    # Its rows are read and written anew.
    bucketed = KINDS[kind] if kind == "full-ACID" else f"{plain} {INSERT_ONLY}"
    both.theirs(f"CREATE TABLE t (id int, s {wanted}) CLUSTERED BY (id) INTO 2 BUCKETS {bucketed}")
    both.acidsql(f"LOAD DATA INPATH '{tmp_path}/o' INTO TABLE t")
    read(both, 1)
