"""EXPORT TABLE and IMPORT TABLE: exports of real Hives, and our own back and forth."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import acidsql
from acidsql.definitions import export_table
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    CorruptFileError,
    MissingFileError,
    PartitionExistsError,
    PartitionNotFoundError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.session.session import Session

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "t": [(2, "y", None), (3, "z", 3)],
    "p": [(1, "x  ", "a b", 1), (2, "y  ", "a b", 1), (3, "z  ", "c/d", 2)],
    "m": [(1, "x"), (2, "y")],
    "mp": [(1, "x", 1), (1, "x", 2)],
    "e": [(1, "x")],
}
KINDS = {"t": TableKind.FULL_ACID, "p": TableKind.FULL_ACID, "e": TableKind.PLAIN}


def rows(session: Session, table: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(f"SELECT * FROM {table}").fetchall(), key=repr)


def kind(session: Session, table: str) -> TableKind:
    found = session._store.find_table(TableName("default", table))
    assert found is not None
    return found.kind


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where exports go: outside of the warehouse."""
    return tmp_path / "exports"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("hive", [3, 4])
def test_what_hive_exported(session: Session, place: Path, hive: int) -> None:
    shutil.copytree(EXPORTS / f"hive{hive}", place)
    for name, expected in ROWS.items():
        session.execute(f"IMPORT TABLE i_{name} FROM '{place / name}'")
        assert rows(session, f"i_{name}") == expected
        assert kind(session, f"i_{name}") is KINDS.get(name, TableKind.INSERT_ONLY)
        assert session.execute(f"CHECK TABLE i_{name}").fetchall() == []
    # Hive calls the exported table p_<UUID>.
    session.execute(f"IMPORT FROM '{place / 'p'}'")
    assert rows(session, "p") == ROWS["p"]
    assert session.execute("UPDATE p SET b = 'new' WHERE a = 1").rows_updated == 1
    assert sorted(p.name for p in (place / "t" / "data").iterdir()) == ["000000_0"]


def test_a_table_comes_back(session: Session, place: Path) -> None:
    session.execute("""CREATE TABLE t (id int COMMENT 'the key', s string, n decimal(10,2), d date,
        ts timestamp, c char(3), a array<struct<x:int,y:string>>) COMMENT 'all'
        TBLPROPERTIES ('k' = 'v')""")
    session.execute("INSERT INTO t (id) VALUES (1), (2)")
    session.execute("""INSERT INTO t SELECT 3, 'ü', 1.25, DATE '1500-01-02',
        TIMESTAMP '2020-01-02 03:04:05.123456', 'ab', array(named_struct('x', 1, 'y', 'z'))""")
    session.execute("DELETE FROM t WHERE id = 1")
    assert session.execute(f"EXPORT TABLE t TO '{place / 't'}'").message == "2 rows exported"
    session.execute(f"IMPORT TABLE u FROM '{place / 't'}'")
    assert rows(session, "u") == rows(session, "t")
    made = session.execute("SHOW CREATE TABLE t").fetchall()
    again = session.execute("SHOW CREATE TABLE u").fetchall()
    assert [line for (line,) in again if "LOCATION" not in line][1:] == [
        line for (line,) in made if "LOCATION" not in line
    ][1:]


KINDS_OF_TABLES = {
    "buckets": "CLUSTERED BY (k) INTO 2 BUCKETS TBLPROPERTIES ('transactional' = 'true')",
    "commas": "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','",
    "avro": "STORED AS AVRO",
    "plain": "STORED AS ORC",
    "parquet": "STORED AS PARQUET TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')",
    "text": "STORED AS TEXTFILE",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", KINDS_OF_TABLES)
def test_other_formats_and_kinds(session: Session, place: Path, name: str) -> None:
    session.execute(f"CREATE TABLE {name} (k int, v string) {KINDS_OF_TABLES[name]}")
    session.execute(f"INSERT INTO {name} SELECT id, concat('v', id) FROM range(20)")
    session.execute(f"EXPORT TABLE {name} TO '{place / name}'")
    session.execute(f"IMPORT TABLE i_{name} FROM '{place / name}'")
    assert len(rows(session, f"i_{name}")) == 20
    assert rows(session, f"i_{name}") == rows(session, name)
    assert kind(session, f"i_{name}") is kind(session, name)
    assert session.execute(f"CHECK TABLE i_{name}").fetchall() == []


def test_partitions_alone_and_together(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE p (a int) PARTITIONED BY (d string, n int)")
    session.execute("INSERT INTO p VALUES (1, 'a b', 1), (2, 'c/d', 2), (3, NULL, 2)")
    session.execute("ALTER TABLE p ADD PARTITION (d = 'none', n = 9)")
    session.execute(f"EXPORT TABLE p TO '{place / 'all'}'")
    session.execute(f"EXPORT TABLE p PARTITION (n = 2) TO '{place / 'some'}'")
    session.execute(f"IMPORT TABLE q PARTITION (d = 'c/d', n = 2) FROM '{place / 'all'}'")
    assert rows(session, "q") == [(2, "c/d", 2)]
    with pytest.raises(PartitionExistsError) as caught:
        session.execute(f"IMPORT TABLE q FROM '{place / 'some'}'")
    assert caught.value.code == 10118
    session.execute(f"IMPORT TABLE q PARTITION (n = 1) FROM '{place / 'all'}'")
    assert rows(session, "q") == [(1, "a b", 1), (2, "c/d", 2)]
    session.execute(f"IMPORT TABLE r FROM '{place / 'some'}'")
    assert rows(session, "r") == [(2, "c/d", 2), (3, None, 2)]
    session.execute(f"IMPORT TABLE s FROM '{place / 'all'}'")
    assert session.execute("SHOW PARTITIONS s").fetchall() == [
        ("d=__HIVE_DEFAULT_PARTITION__/n=2",), ("d=a b/n=1",), ("d=c%2Fd/n=2",),
    ]  # fmt: skip
    for sql in (
        f"EXPORT TABLE p PARTITION (n = 7) TO '{place / 'none'}'",
        f"IMPORT TABLE q PARTITION (n = 7) FROM '{place / 'all'}'",
    ):
        with pytest.raises(PartitionNotFoundError):
            session.execute(sql)
    shutil.rmtree(place / "all" / "d=a b")
    with pytest.raises(MissingFileError, match="d=a b"):
        session.execute(f"IMPORT TABLE lost FROM '{place / 'all'}'")
    assert ("lost",) not in session.execute("SHOW TABLES").fetchall()


def test_a_partition_without_rows_takes_those_of_the_export(session: Session, place: Path) -> None:
    """An IMPORT over a metastore that dies may leave such partitions, and can run again."""
    session.execute("CREATE TABLE p (a int) PARTITIONED BY (n int)")
    session.execute("INSERT INTO p VALUES (1, 7), (2, 8), (3, 9)")
    session.execute(f"EXPORT TABLE p TO '{place}'")
    session.execute("CREATE TABLE q (a int) PARTITIONED BY (n int)")
    session.execute(f"ALTER TABLE q ADD PARTITION (n = 7) LOCATION '{place}_7' PARTITION (n = 8)")
    session.execute(f"IMPORT TABLE q FROM '{place}'")
    assert rows(session, "q") == [(1, 7), (2, 8), (3, 9)]
    assert list(Path(f"{place}_7").rglob("bucket_*"))
    with pytest.raises(PartitionExistsError, match="n="):
        session.execute(f"IMPORT TABLE q PARTITION (n = 8) FROM '{place}'")


def test_tables_without_rows(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE t (a int)")
    session.execute("CREATE TABLE p (a int) PARTITIONED BY (n int)")
    for name in ("t", "p"):
        session.execute(f"EXPORT TABLE {name} TO '{place / name}'")
        session.execute(f"IMPORT TABLE i_{name} FROM '{place / name}'")
        assert rows(session, f"i_{name}") == []


def test_an_external_table_that_is_there(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE p (a int) PARTITIONED BY (n int)")
    session.execute("INSERT INTO p VALUES (1, 7), (2, 8)")
    session.execute(f"EXPORT TABLE p TO '{place}'")
    session.execute("CREATE EXTERNAL TABLE e (a int) PARTITIONED BY (n int) STORED AS ORC")
    session.execute("INSERT INTO e VALUES (9, 9)")
    session.execute(f"IMPORT EXTERNAL TABLE e PARTITION (n = 7) FROM '{place}'")
    assert rows(session, "e") == [(1, 7), (9, 9)]
    for rest, why in (
        (f"EXTERNAL TABLE e PARTITION (n = 7) FROM '{place}'", "already exists"),
        (f"EXTERNAL TABLE p FROM '{place}'", "cannot overwrite existing table"),
        (f"TABLE e FROM '{place}' LOCATION '{place}_2'", "LOCATION of its new partitions"),
    ):
        with pytest.raises(AnalysisError, match=why):
            session.execute(f"IMPORT {rest}")
    assert rows(session, "e") == [(1, 7), (9, 9)]


def test_the_location_of_a_table_that_is_there(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute(f"EXPORT TABLE t TO '{place}'")
    session.execute(f"CREATE TABLE l (a int) LOCATION '{place}_l'")
    with pytest.raises(AnalysisError, match="another location"):
        session.execute(f"IMPORT TABLE l FROM '{place}' LOCATION '{place}_2'")
    session.execute(f"IMPORT TABLE l FROM '{place}' LOCATION '{place}_l'")
    assert rows(session, "l") == [(1,)]


@pytest.mark.parametrize("kind", ["", "EXTERNAL "])
def test_a_new_table_takes_no_directory_with_files(
    session: Session, place: Path, kind: str
) -> None:
    """Its DROP would remove them: those of the export, or others."""
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute(f"EXPORT TABLE t TO '{place / 't'}'")
    session.execute("TRUNCATE TABLE t")
    session.execute(f"EXPORT TABLE t TO '{place / 'no_rows'}'")
    (place / "other").mkdir()
    shutil.copy(place / "t" / "data" / "000000_0", place / "other")
    there = sorted(place.rglob("*"))
    for source, location, why in (
        ("t", "t", "of the export"),
        ("t", "t/data", "of the export"),
        ("t", "t/new", "of the export"),
        ("t", ".", "of the export"),
        ("no_rows", "no_rows", "of the export"),
        ("t", "other", "is not empty"),
        ("no_rows", "other", "is not empty"),
    ):
        with pytest.raises(AnalysisError, match=why):
            session.execute(
                f"IMPORT {kind}TABLE u FROM '{place / source}' LOCATION '{place / location}'"
            )
    assert session.execute("SHOW TABLES").fetchall() == [("t",)]
    assert sorted(place.rglob("*")) == there


def test_a_table_that_is_there(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE t (a int, b string)")
    session.execute("INSERT INTO t VALUES (1, 'x')")
    session.execute(f"EXPORT TABLE t TO '{place}'")
    session.execute("CREATE TABLE same (a int, b string)")
    session.execute(f"IMPORT TABLE same FROM '{place}'")
    assert rows(session, "same") == [(1, "x")]
    with pytest.raises(AnalysisError, match="Table exists and contains data files") as caught:
        session.execute(f"IMPORT TABLE same FROM '{place}'")
    assert caught.value.code == 10119
    session.execute("CREATE TABLE other (a bigint, b string)")
    session.execute("CREATE TABLE text (a int, b string) STORED AS TEXTFILE")
    session.execute("CREATE TABLE empty (a int, b string)")
    for rest in ("TABLE other FROM", "TABLE text FROM", "EXTERNAL TABLE empty FROM"):
        with pytest.raises(AnalysisError, match="not compatible") as caught:
            session.execute(f"IMPORT {rest} '{place}'")
        assert caught.value.code == 10120
    session.execute("CREATE VIEW v AS SELECT 1 AS a")
    for sql in (f"IMPORT TABLE v FROM '{place}'", f"EXPORT TABLE v TO '{place / 'v'}'"):
        with pytest.raises(UnsupportedStatementError):
            session.execute(sql)


@pytest.mark.parametrize("properties", ["", "PARTITIONED BY (n int)"])
def test_two_exports_at_once(
    session: Session,
    spark: Any,
    warehouse: Path,
    place: Path,
    properties: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An export has the rows of one of them."""
    session.execute(f"CREATE TABLE t (a int) {properties}")
    session.execute(f"INSERT INTO t SELECT id{', 1' if properties else ''} FROM range(100)")
    export, looked = f"EXPORT TABLE t TO '{place}'", export_table._location
    ready = Barrier(2)

    def both_look(*what: Any) -> str:
        location = looked(*what)
        ready.wait()
        return location

    def export_rows(_: int) -> str | None:
        with acidsql.connect(warehouse, spark=spark) as own:
            try:
                own.execute(export)
            except WriteConflictError as error:
                return error.message
        return None

    monkeypatch.setattr(export_table, "_location", both_look)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(export_rows, range(2)))
    monkeypatch.undo()
    failed = f"another statement writes into the directory {place}"
    assert set(done) <= {None, failed}
    assert failed in done
    if None not in done:
        session.execute(export)
    session.execute(f"IMPORT TABLE u FROM '{place}'")
    assert rows(session, "u") == rows(session, "t")
    assert not list(place.glob(".*"))


@pytest.mark.parametrize("properties", ["", "STORED AS TEXTFILE", "PARTITIONED BY (n int)"])
def test_two_imports_at_once(
    session: Session, spark: Any, warehouse: Path, place: Path, properties: str
) -> None:
    """One of them writes the rows. The other one finds them."""
    session.execute(f"CREATE TABLE t (a int) {properties}")
    partition = "PARTITION (n = 1)" if "PART" in properties else ""
    session.execute(f"INSERT INTO t {partition} SELECT id FROM range(100)")
    session.execute(f"EXPORT TABLE t TO '{place}'")
    session.execute(f"CREATE TABLE u (a int) {properties}")
    ready = Barrier(2)

    def import_rows(_: int) -> object:
        with acidsql.connect(warehouse, spark=spark) as own:
            ready.wait()
            try:
                own.execute(f"IMPORT TABLE u FROM '{place}'")
            except AnalysisError as error:
                return error.code, error.line, error.column
        return None

    with ThreadPoolExecutor(2) as pool:
        found = set(pool.map(import_rows, range(2)))
    assert found == {None, (10118 if partition else 10119, 1, 14)}
    assert rows(session, "u") == rows(session, "t")


def test_what_a_write_has_left_that_did_not_commit(
    session: Session, warehouse: Path, place: Path
) -> None:
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1), (2)")
    session.execute(f"EXPORT TABLE t TO '{place}'")
    session.execute("CREATE TABLE u (a int)")
    session.execute("BEGIN")
    session.execute("INSERT INTO u VALUES (3)")
    shutil.copytree(warehouse / "u", place.parent / "copy")
    session.execute("ROLLBACK")
    # As after a process that was killed before it could remove its files.
    shutil.copytree(place.parent / "copy", warehouse / "u", dirs_exist_ok=True)
    assert list((warehouse / "u").glob("*/bucket_*"))
    session.execute(f"IMPORT TABLE u FROM '{place}'")
    assert rows(session, "u") == [(1,), (2,)]


def test_an_external_table_has_a_copy_of_the_rows(session: Session, place: Path) -> None:
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute(f"EXPORT TABLE t TO '{place / 'e'}'")
    session.execute(f"IMPORT EXTERNAL TABLE x FROM '{place / 'e'}' LOCATION '{place / 'x'}'")
    assert kind(session, "x") is TableKind.PLAIN
    assert rows(session, "x") == [(1,)]
    session.execute("DROP TABLE x")
    assert [p.name for p in (place / "x").iterdir()] == ["000000_0"]


def test_places_that_are_refused(session: Session, warehouse: Path, place: Path) -> None:
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    place.mkdir()
    (place / "file").write_text("mine")
    for path in (place, warehouse / "t", warehouse / "new", warehouse.parent):
        with pytest.raises(AnalysisError):
            session.execute(f"EXPORT TABLE t TO '{path}'")
    assert [p.name for p in place.iterdir()] == ["file"]
    for path in (place, place / "none", warehouse / "t"):
        with pytest.raises(AnalysisError):
            session.execute(f"IMPORT TABLE u FROM '{path}'")
    for sql in (f"EXPORT TABLE t TO '{place / 'b'}'", f"IMPORT TABLE u FROM '{place}'"):
        session.execute("BEGIN")
        with pytest.raises(UnsupportedStatementError, match="not allowed in a transaction"):
            session.execute(sql)
        session.execute("ROLLBACK")
    assert session.execute("SHOW TABLES").fetchall() == [("t",)]


def test_a_failed_export_leaves_nothing(session: Session, warehouse: Path, place: Path) -> None:
    session.execute(
        "CREATE TABLE t (a string) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES ('1')")
    broken = next((warehouse / "t").rglob("bucket_*"))
    broken.write_bytes(b"ORC" + b"\0" * 100)
    with pytest.raises(AcidSqlError):
        session.execute(f"EXPORT TABLE t TO '{place}'")
    assert [p for p in place.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:50],
        lambda text: "{}",
        lambda text: "[]",
        lambda text: json.dumps({"version": "0.2", "table": "x"}),
        lambda text: text.replace('\\"lst\\":[\\"rec\\",3', '\\"lst\\":[\\"rec\\",4'),
        lambda text: text.replace('\\"str\\":\\"int\\"', '\\"str\\":\\"what\\"'),
        lambda text: text.replace('\\"str\\":\\"a\\"', '\\"str\\":5'),
    ],
)
def test_a_damaged_description(session: Session, place: Path, change: Any) -> None:
    shutil.copytree(EXPORTS / "hive4" / "t", place)
    metadata = place / "_metadata"
    before = metadata.read_text()
    metadata.write_text(change(before))
    assert metadata.read_text() != before
    with pytest.raises((CorruptFileError, UnsupportedStatementError)):
        session.execute(f"IMPORT TABLE u FROM '{place}'")
    assert session.execute("SHOW TABLES").fetchall() == []


def test_a_format_that_is_not_supported(session: Session, place: Path) -> None:
    shutil.copytree(EXPORTS / "hive4" / "t", place)
    text = (place / "_metadata").read_text()
    (place / "_metadata").write_text(text.replace("orc.OrcInputFormat", "RCFileInputFormat"))
    with pytest.raises(UnsupportedStatementError, match="in a format that is not supported"):
        session.execute(f"IMPORT TABLE u FROM '{place}'")
