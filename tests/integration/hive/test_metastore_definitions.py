"""Definitions of acidsql and of Hive in one metastore: each sees what the other has done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    PartitionExistsError,
    TxnError,
    UnsupportedStatementError,
)
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition
from acidsql.ports.store import Store
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive, HiveError

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
KINDS = {
    "acid": ACID,
    "bucketed": f"CLUSTERED BY (id) INTO 3 BUCKETS {ACID}",
    "insert_only": f"STORED AS ORC {INSERT_ONLY}",
    "insert_only_text": f"STORED AS TEXTFILE {INSERT_ONLY}",
    "orc": "STORED AS ORC",
    "plain_bucketed": "CLUSTERED BY (id) INTO 3 BUCKETS STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "delimited": "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','",
    "number_delimited": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '124'",
}


@pytest.fixture(scope="module")
def session(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    url = hive.metastore_url
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark, user="ann") as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> OneMetastore:
    """A database of the test's own."""
    return OneMetastore(hive, session, database)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_acidsql_made(both: OneMetastore, kind: str) -> None:
    both.acidsql(f"CREATE TABLE t (id int COMMENT 'key', v varchar(9)) COMMENT 'n' {KINDS[kind]}")
    both.theirs("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    both.acidsql("INSERT INTO t VALUES (3, 'c'), (4, NULL)")
    both.theirs("INSERT INTO t VALUES (5, 'e')")
    both.same("t", 5)
    assert both.columns("t") == [("id", "int", "key"), ("v", "varchar(9)", "")]
    told = both.described("t")
    assert (told["comment"], told["Owner"]) == ("n", "ann")
    assert "acidsql.columns" not in told


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_hive_made(both: OneMetastore, kind: str) -> None:
    both.theirs(f"CREATE TABLE t (id int COMMENT 'key', v varchar(9)) COMMENT 'n' {KINDS[kind]}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    both.theirs("INSERT INTO t VALUES (3, 'c'), (4, NULL)")
    both.acidsql("INSERT INTO t VALUES (5, 'e')")
    both.same("t", 5)
    both.acidsql("CREATE TABLE like_it LIKE t")
    both.theirs("INSERT INTO like_it SELECT * FROM t")
    both.same("like_it", 5)


def test_types(both: OneMetastore) -> None:
    kinds = "a tinyint, b decimal(5,2), c char(3), d map<string,array<struct<x:int,y:date>>>"
    both.acidsql(f"CREATE TABLE ours ({kinds}) {ACID}")
    both.theirs(f"CREATE TABLE hives ({kinds}) {ACID}")
    assert both.columns("ours") == both.columns("hives")
    assert both.table("ours").columns == both.table("hives").columns


def test_columns_come_and_change(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'a')")
    both.acidsql("ALTER TABLE t ADD COLUMNS (n int COMMENT 'more')")
    both.theirs("INSERT INTO t VALUES (2, 'b', 20)")
    both.theirs("ALTER TABLE t ADD COLUMNS (w string)")
    both.acidsql("INSERT INTO t VALUES (3, 'c', 30, 'w')")
    both.acidsql("ALTER TABLE t CHANGE COLUMN n n bigint")
    both.theirs("UPDATE t SET n = 200 WHERE id = 2")
    both.same("t", 3)
    assert both.columns("t")[2:] == [("n", "bigint", "more"), ("w", "string", "")]


def test_a_renamed_column(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, v string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'a')")
    both.acidsql("ALTER TABLE t RENAME COLUMN v TO w")
    both.theirs("INSERT INTO t VALUES (2, 'b')")
    if both.hive.version == 4:  # Hive 3 finds columns by their names in the files
        both.same("t", 2)
    assert [row[1] for row in both.acidsql("SELECT * FROM t ORDER BY id")] == ["a", "b"]


def test_an_immutable_table(both: OneMetastore) -> None:
    both.theirs(
        "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES"
        " ('transactional' = 'true', 'immutable' = 'true')"
    )
    both.acidsql("INSERT INTO t VALUES (1)")
    for sql in (
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET id = 3",
        "DELETE FROM t WHERE id = 9",
        "MERGE INTO t USING (SELECT 4 AS id) s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id)",
    ):
        for write in (both.acidsql, both.theirs):
            with pytest.raises((AnalysisError, HiveError), match="a non-empty immutable table"):
                write(sql)
    both.acidsql("INSERT OVERWRITE TABLE t SELECT 5")
    both.same("t", 1)


def test_columns_of_partitions(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    both.acidsql("ALTER TABLE t ADD COLUMNS (n int)")
    both.acidsql("INSERT INTO t VALUES (3, 30, 'x')")
    both.theirs("INSERT INTO t VALUES (4, 40, 'y')")
    both.same("t", 4)


def test_properties(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) SKEWED BY (id) ON (1, 2) {ACID}")
    skew = {k: v for k, v in both.described("t").items() if "Skewed" in k}
    assert bool(skew) == (both.hive.version == 3)  # Hive 4 takes it and forgets it
    both.acidsql("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b', 'comment' = 'new')")
    told = both.described("t")
    assert (told["a"], told["comment"]) == ("b", "new")
    # Nothing we know of the table, and still there.
    assert skew.items() <= told.items()
    both.acidsql("ALTER TABLE t UNSET TBLPROPERTIES ('a')")
    both.theirs("ALTER TABLE t SET TBLPROPERTIES ('c' = 'd')")
    assert "a" not in both.described("t")
    assert ("", "c", "d") in both.acidsql("DESCRIBE FORMATTED t")
    with pytest.raises(
        UnsupportedStatementError, match="only the metastore may set the property 'numRows'"
    ):
        both.acidsql("ALTER TABLE t SET TBLPROPERTIES ('numRows' = '5')")


@pytest.mark.parametrize(
    "kind", ["acid", "insert_only", pytest.param("parquet", marks=pytest.mark.thorough)]
)
def test_partitions(both: OneMetastore, kind: str) -> None:
    both.acidsql(f"CREATE TABLE t (id int) PARTITIONED BY (d date, k string) {KINDS[kind]}")
    both.acidsql("INSERT INTO t VALUES (1, '2024-01-01', 'x/y'), (2, '2024-01-02', NULL)")
    both.theirs("INSERT INTO t VALUES (3, '2024-01-03', 'z %'), (4, '2024-01-01', 'x/y')")
    both.acidsql("ALTER TABLE t ADD PARTITION (d = '2024-01-04', k = 'new')")
    both.theirs("INSERT INTO t VALUES (5, '2024-01-04', 'new')")
    both.same("t", 5)
    both.acidsql(
        "ALTER TABLE t PARTITION (d = '2024-01-01', k = 'x/y')"
        " RENAME TO PARTITION (d = '2024-01-01', k = 'q')"
    )
    both.theirs("INSERT INTO t VALUES (6, '2024-01-01', 'q')")
    both.acidsql("INSERT INTO t VALUES (7, '2024-01-01', 'q')")
    both.same("t", 7)
    both.theirs(
        "ALTER TABLE t PARTITION (d = '2024-01-03', k = 'z %')"
        " RENAME TO PARTITION (d = '2024-01-03', k = 'r')"
    )
    both.same("t", 7)
    both.acidsql("ALTER TABLE t DROP PARTITION (d = '2024-01-03')")
    both.theirs("ALTER TABLE t DROP PARTITION (d = '2024-01-04')")
    both.same("t", 5)
    both.theirs("INSERT INTO t VALUES (8, '2024-01-03', 'r')")
    both.acidsql("INSERT INTO t VALUES (9, '2024-01-04', 'new')")
    both.same("t", 7)
    assert both.acidsql("SHOW PARTITIONS t") == [
        (row["partition"],) for row in both.theirs("SHOW PARTITIONS t")
    ]


def test_rows_find_partitions_that_lie_elsewhere(both: OneMetastore) -> None:
    """A write asks for the partitions of its rows alone; those it is not told of lie in place."""
    elsewhere = both.hive.warehouse.parent / both.database
    values = [("1", "'a'"), ("-2", "'it/s \"x\"'"), ("NULL", "'b'"), ("5", "NULL")]
    both.acidsql(f"CREATE TABLE t (id int) PARTITIONED BY (n int, k string) {ACID}")
    for place, (n, k) in enumerate(values):
        add = f"ALTER TABLE t ADD PARTITION (n = {n}, k = {k}) LOCATION '{elsewhere}/{place}'"
        both.acidsql(add)
    with pytest.raises(AnalysisError, match="belongs to table"):
        both.acidsql(f"ALTER TABLE t ADD PARTITION (n = 8, k = 'x') LOCATION '{elsewhere}/0'")
    rows = ", ".join(f"({i}, {n}, {k})" for i, (n, k) in enumerate(values))
    both.acidsql(f"INSERT INTO t VALUES {rows}, (9, 9, 'new')")
    for n, k in values:
        both.acidsql(f"INSERT INTO t PARTITION (n = {n}, k = {k}) VALUES (7)")
    both.acidsql("INSERT INTO t PARTITION (n = 5, k = '') VALUES (8)")
    both.same("t", 10)
    assert {d.name for d in elsewhere.iterdir()} == {"0", "1", "2", "3"}
    assert [len(list(d.glob("delta_*"))) for d in sorted(elsewhere.iterdir())] == [2, 2, 2, 3]
    doomed = "PARTITION (n = 1, k = 'a'), PARTITION (n = -2)"
    both.acidsql(f"ALTER TABLE t DROP {doomed}")
    both.same("t", 6)


@pytest.mark.parametrize("kind", ["acid", "orc"])
def test_a_client_without_locks_makes_a_partition_elsewhere(
    both: OneMetastore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {KINDS[kind]}")
    name = both.table("t").name
    add = both.store.add_partitions

    def too_late(table: TableName, new: list[Partition]) -> None:
        monkeypatch.undo()
        add(table, [Partition(PartitionName.of({"k": "a"}), str(tmp_path / "a"))])
        add(table, new)

    monkeypatch.setattr(both.store, "add_partitions", too_late)
    with pytest.raises(PartitionExistsError, match=f"has made it in {tmp_path}/a meanwhile"):
        both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    both.acidsql("INSERT INTO t VALUES (3, 'a'), (4, 'c')")
    found = dict(both.acidsql("SELECT id, k FROM t"))
    assert (found[3], found[4], 1 in found) == ("a", "c", False)
    assert str(both.store.partitions(name)[0].name) == "k=a"


def test_writes_go_on_after_a_partition_is_renamed(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'x'), (2, 'x')")
    both.acidsql("ALTER TABLE t PARTITION (k = 'x') RENAME TO PARTITION (k = 'y')")
    both.acidsql("DELETE FROM t WHERE id = 1")
    both.theirs("UPDATE t SET id = 3 WHERE id = 2")
    both.same("t", 1)


def test_directories_become_partitions(both: OneMetastore) -> None:
    both.theirs("CREATE EXTERNAL TABLE t (id int) PARTITIONED BY (k int) STORED AS ORC")
    both.theirs("INSERT INTO t VALUES (1, 1), (2, 2)")
    both.theirs("ALTER TABLE t DROP PARTITION (k = 2)")
    assert len(both.rows("t")) == 1
    both.acidsql("MSCK REPAIR TABLE t")
    both.same("t", 2)


def test_other_directories(both: OneMetastore, tmp_path: Path) -> None:
    both.acidsql(f"CREATE TABLE t (id int) PARTITIONED BY (p int) {ACID}")
    both.theirs("INSERT INTO t PARTITION (p = 1) VALUES (1), (2)")
    both.acidsql("INSERT INTO t VALUES (3, 2)")
    both.theirs("DELETE FROM t WHERE id = 2")
    shutil.copytree(f"{both.table('t').location}/p=1", tmp_path / "one")
    both.acidsql(f"ALTER TABLE t PARTITION (p = 1) SET LOCATION '{tmp_path / 'one'}'")
    both.theirs("INSERT INTO t PARTITION (p = 1) VALUES (4)")
    shutil.copytree(both.table("t").location, tmp_path / "all")
    both.acidsql(f"ALTER TABLE t SET LOCATION '{tmp_path / 'all'}'")
    both.theirs("INSERT INTO t PARTITION (p = 3) VALUES (5)")
    both.theirs("UPDATE t SET id = 30 WHERE id = 3")
    both.acidsql("INSERT INTO t VALUES (6, 3)")
    both.same("t", 5)
    both.acidsql("CREATE TABLE u LIKE t")
    both.acidsql("ALTER TABLE u EXCHANGE PARTITION (p = 3) WITH TABLE t")
    both.same("t", 3)
    both.same("u", 2)


def test_an_empty_table_gets_another_format(both: OneMetastore) -> None:
    both.acidsql("CREATE TABLE t (id int, v string) STORED AS TEXTFILE")
    both.acidsql("ALTER TABLE t SET FILEFORMAT ORC")
    both.theirs("INSERT INTO t VALUES (1, 'a')")
    both.acidsql("INSERT INTO t VALUES (2, 'b')")
    both.same("t", 2)


def test_a_renamed_table(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    both.acidsql("ALTER TABLE t RENAME TO u")
    both.same("u", 2)
    both.acidsql("INSERT INTO u VALUES (3, 'x')")
    both.theirs("INSERT INTO u VALUES (4, 'z')")
    both.same("u", 4)
    assert {row[0] for row in both.same("u", 4)} == {1, 2, 3}  # write ids went on
    both.theirs("ALTER TABLE u RENAME TO w")
    both.acidsql("DELETE FROM w WHERE id = 1")
    both.same("w", 3)
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (7, 'x')")
    assert {row[0] for row in both.same("t", 1)} == {1}


@pytest.mark.parametrize("kind", ["transactional", "insert_only"])
def test_a_plain_table_becomes_transactional(both: OneMetastore, kind: str) -> None:
    both.acidsql("CREATE TABLE t (id int) STORED AS ORC")
    both.theirs("INSERT INTO t VALUES (1), (2)")
    both.acidsql(f"ALTER TABLE t SET {ACID[14:] if kind == 'transactional' else INSERT_ONLY}")
    both.same("t", 2)
    both.theirs("INSERT INTO t VALUES (3)")
    both.acidsql("INSERT INTO t VALUES (4)")
    both.same("t", 4)
    if kind == "transactional":
        both.acidsql("DELETE FROM t WHERE id = 1")
        both.theirs("DELETE FROM t WHERE id = 2")
        assert min(row[0] for row in both.same("t", 2)) > 10_000_000


def test_tables_of_queries(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE s (id int, v string) {ACID}")
    both.theirs("INSERT INTO s VALUES (1, 'a'), (2, 'b')")
    both.acidsql(f"CREATE TABLE t {ACID} AS SELECT * FROM s")
    both.theirs("UPDATE t SET v = 'c' WHERE id = 2")
    both.same("t", 2)
    both.acidsql(f"CREATE TABLE p PARTITIONED BY (v) {ACID} AS SELECT id, v FROM s")
    both.theirs("INSERT INTO p VALUES (3, 'a')")
    both.same("p", 3)
    both.acidsql("CREATE TABLE q STORED AS PARQUET AS SELECT * FROM s")
    both.same("q", 2)
    both.acidsql("CREATE EXTERNAL TABLE x AS SELECT * FROM s")
    both.theirs("INSERT INTO x VALUES (3, 'c')")
    both.same("x", 3)
    assert both.described("x")["Table Type"] == "EXTERNAL_TABLE"


def test_external_tables_like_others(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE s (id int, v string) PARTITIONED BY (k int) {ACID}")
    both.acidsql("CREATE EXTERNAL TABLE ours LIKE s")
    both.theirs("CREATE EXTERNAL TABLE hives LIKE s")
    ours, hives = both.table("ours"), both.table("hives")
    assert (ours.kind, ours.external, ours.format) == (hives.kind, hives.external, hives.format)
    assert ours.all_columns == hives.all_columns
    if both.hive.version == 4:  # LIKE of Hive 3 has another directory for them
        assert ours.location.rpartition("/")[0] == hives.location.rpartition("/")[0]
    both.theirs("INSERT INTO ours VALUES (1, 'a', 1)")
    both.acidsql("INSERT INTO ours VALUES (2, 'b', 2)")
    both.same("ours", 2)


def test_a_transactional_table_of_text(both: OneMetastore) -> None:
    both.acidsql("CREATE TRANSACTIONAL TABLE ours (id int) STORED AS TEXTFILE")
    both.theirs("INSERT INTO ours VALUES (1)")
    both.acidsql("INSERT INTO ours VALUES (2)")
    both.same("ours", 2)
    if both.hive.version == 4:  # Hive 3 does not know the word
        both.theirs("CREATE TRANSACTIONAL TABLE hives (id int) STORED AS TEXTFILE")
        assert both.table("ours").kind == both.table("hives").kind


@pytest.mark.parametrize("kind", ["insert_only", "orc", "delimited"])
def test_rows_that_have_no_row_id(both: OneMetastore, kind: str) -> None:
    """NULL in both, but a vectorised reader of Hive shows zeros for ORC.

    Hive 3 finds no row WHERE row__id IS NULL, even where it shows NULL.
    """
    both.theirs(f"CREATE TABLE t (id int) {KINDS[kind]}")
    both.theirs("INSERT INTO t VALUES (1)")
    sql = "SELECT row__id, id FROM t"
    [told] = both.theirs(sql)
    zeros = {"writeid": 0, "bucketid": 0, "rowid": 0}
    assert told["row__id"] in ([None] if kind == "delimited" else [None, zeros])
    assert both.acidsql(sql) == [(None, 1)]
    assert both.acidsql(f"{sql} WHERE row__id IS NULL") == [(None, 1)]


def test_msck_without_repair(both: OneMetastore) -> None:
    both.theirs("CREATE EXTERNAL TABLE t (id int) PARTITIONED BY (k int) STORED AS ORC")
    both.theirs("INSERT INTO t VALUES (1, 1), (2, 2)")
    both.theirs("ALTER TABLE t DROP PARTITION (k = 2)")
    both.acidsql("ALTER TABLE t ADD PARTITION (k = 3)")
    (both.location("t") / "k=3").rmdir()
    hives = both.theirs("MSCK TABLE t")
    ours = both.session.execute("MSCK TABLE t").message
    assert str(ours).replace(f"{both.database}.", "").splitlines() == hives


def test_what_is_dropped_is_gone(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) {ACID}")
    both.theirs("INSERT INTO t VALUES (1)")
    location = both.location("t")
    both.acidsql("DROP TABLE t")
    assert both.theirs(f"SHOW TABLES IN {both.database}") == []
    assert not location.exists()
    both.theirs(f"CREATE TABLE t (id int) {ACID}")
    both.acidsql("INSERT INTO t VALUES (2)")
    # Hive 4 keeps the write ids of a table whose files it has not been asked to remove.
    assert {row[0] for row in both.same("t", 1)} == {2 if both.hive.version == 4 else 1}
    both.theirs("DROP TABLE t")
    with pytest.raises(AnalysisError, match="not found"):
        both.acidsql("SELECT * FROM t")


def test_databases(both: OneMetastore) -> None:
    name = f"{both.database}_more"
    both.acidsql(f"CREATE DATABASE {name} COMMENT 'two'")
    (row,) = both.theirs(f"DESCRIBE DATABASE {name}")
    assert (row["comment"], row["owner_name"]) == ("two", "ann")
    both.acidsql(f"CREATE TABLE {name}.t (id int) {ACID}")
    both.theirs(f"INSERT INTO {name}.t VALUES (1)")
    both.theirs(f"CREATE VIEW {name}.v AS SELECT 1 AS one")
    with pytest.raises(AnalysisError, match="is not empty"):
        both.acidsql(f"DROP DATABASE {name}")
    both.acidsql(f"DROP DATABASE {name} CASCADE")
    assert name not in [row["database_name"] for row in both.theirs("SHOW DATABASES")]


def test_what_is_listed_but_not_for_us(both: OneMetastore) -> None:
    both.theirs("CREATE TABLE t (id int) STORED AS ORC")
    both.theirs("CREATE TABLE seq (id int) STORED AS SEQUENCEFILE")
    both.theirs("CREATE TABLE u (x uniontype<int,string>) STORED AS ORC")
    both.theirs("CREATE TABLE s (id int) CLUSTERED BY (id) SORTED BY (id) INTO 2 BUCKETS"
                " STORED AS ORC")  # fmt: skip
    assert [name for (name,) in both.acidsql("SHOW TABLES")] == ["s", "seq", "t", "u"]
    for name, reason in {
        "seq": "in a format that is not supported",
        "u": "uniontype columns are not supported",
    }.items():
        with pytest.raises(UnsupportedStatementError, match=reason):
            both.acidsql(f"SELECT * FROM {name}")
    assert both.acidsql("SELECT * FROM s") == []
    with pytest.raises(UnsupportedStatementError, match="cannot be changed, only read") as caught:
        both.acidsql("INSERT INTO s VALUES (1)")
    assert "SORTED BY" in (caught.value.detail or "")


def lose(store: Store, step: Callable[[], None]) -> None:
    """Carry out a step in a transaction that is aborted before its commit."""
    txn_id = store.open_txn("ann", "here")
    with store.committing(txn_id):
        step()
        store.abort_txn(txn_id)


def test_a_definition_whose_commit_fails_is_taken_back(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int) PARTITIONED BY (k string) {ACID}")
    both.theirs("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    store = both.store
    table = both.table("t")
    before = both.described("t"), store.partitions(table.name)
    x, y = before[1]
    elsewhere = Partition(PartitionName.of({"k": "z"}), x.location)
    there = f"{table.location}_u"
    renamed = replace(table, name=TableName(both.database, "u"), location=there)
    moved = [replace(p, location=f"{there}/{p.name}") for p in (x, y)]
    more = (*table.columns, Column("n", parse_type("int")))
    steps = {
        "create": lambda: store.create_table(renamed),
        "alter": lambda: store.alter_table(replace(table, columns=more)),
        "rename": lambda: store.rename_table(table.name, renamed, moved),
        "drop": lambda: store.drop_partitions(table.name, [x.name, y.name]),
        "rename partition": lambda: store.rename_partition(table.name, x.name, elsewhere),
    }
    for name, step in steps.items():
        with pytest.raises(TxnError):
            lose(store, step)
        told = both.described("t")
        for changing in ("transient_lastDdlTime", "last_modified_time", "last_modified_by"):
            told.pop(changing, None)
            before[0].pop(changing, None)
        assert (told, store.partitions(table.name)) == before, name
        assert store.tables(both.database) == ["t"], name
    both.same("t", 2)


@pytest.mark.parametrize("kind", ["acid", "insert_only", "orc"])
def test_a_column_that_hive_renamed(both: OneMetastore, kind: str) -> None:
    """Hive 4 goes on finding it by its position, as each Hive does where the table says so."""
    says_so = both.hive.version == 3 or kind == "orc"
    both.theirs(
        f"CREATE {'EXTERNAL ' if kind == 'orc' else ''}TABLE t (id int, v int) {KINDS[kind]}"
    )
    if says_so:
        both.theirs("ALTER TABLE t SET TBLPROPERTIES ('orc.force.positional.evolution' = 'true')")
    both.theirs("INSERT INTO t VALUES (1, 10), (2, 20)")
    both.theirs("ALTER TABLE t CHANGE COLUMN v w int")
    both.acidsql("INSERT INTO t VALUES (3, 30)")
    rows = [(1, 10), (2, 20), (3, 30)]
    assert both.acidsql("SELECT id, w FROM t ORDER BY id") == rows
    assert both.acidsql("SELECT id FROM t WHERE w = 20") == [(2,)]
    both.same("t", 3)
    if kind != "orc" and both.hive.version == 4:  # Hive 3 lets nobody else compact
        both.acidsql("ALTER TABLE t COMPACT 'major' AND WAIT")
        assert both.acidsql("SELECT id, w FROM t ORDER BY id") == rows
        both.same("t", 3)
