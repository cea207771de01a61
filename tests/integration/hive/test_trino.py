"""Trino as a third one at the metastore of Hive 4: it reads what acidsql writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.model.names import TableName
from tests.integration.hive.conftest import BUILD, free_port
from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.process import Hive
from tests.integration.hive.trino import Trino

pytestmark = pytest.mark.trino

TABLES = {
    "t": "CREATE TABLE t (id int, v string, n decimal(10,2), d date) STORED AS ORC",
    "b": "CREATE TABLE b (id int, v string, n decimal(10,2), d date)"
    " CLUSTERED BY (id) INTO 3 BUCKETS STORED AS ORC",
    "p": "CREATE TABLE p (id int, v string, n decimal(10,2)) PARTITIONED BY (d date) STORED AS ORC",
}
TURNS = [
    "INSERT INTO {t} VALUES (1, 'a', 1.50, date '0001-01-01'), (2, 'b', NULL, date '2024-02-29')",
    "INSERT INTO {t} SELECT CAST(id AS int), 'x', id, date '1582-10-04' FROM range(3, 9)",
    "UPDATE {t} SET v = 'y' WHERE id % 2 = 0",
    "DELETE FROM {t} WHERE id IN (1, 5)",
    "MERGE INTO {t} USING (SELECT 2 AS id UNION ALL SELECT 20) s ON {t}.id = s.id"
    " WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm', 0, date '2024-02-29')",
    "INSERT INTO {t} VALUES (30, 'a', 1.50, date '1582-10-04'), (31, 'b', 0, date '1582-10-04'),"
    " (32, 'c', 0, date '2024-02-29'); DELETE FROM {t} WHERE id IN (3, 31);"
    " UPDATE {t} SET v = 'own' WHERE id IN (4, 30)",
    "INSERT INTO {t} VALUES (40, 'a', 1.50, date '1582-10-04'); DELETE FROM {t} WHERE id = 40",
    "INSERT INTO {t} VALUES (40, 'a', 1.50, date '1582-10-04');"
    " DELETE FROM {t} WHERE id IN (6, 40)",
]
EMPTIED = [
    "DELETE FROM {t}",
    "INSERT INTO {t} VALUES (50, 'a', 1.50, date '1582-10-04')",
    "DELETE FROM {t} WHERE id = 50",
    "INSERT INTO {t} VALUES (51, 'b', NULL, date '1582-10-04')",
]
"""A DELETE of all rows writes a base without rows, not one event for each."""
MANY = "INSERT INTO m SELECT CAST(id AS int), repeat(CAST(id AS string), 4) FROM range({}, {})"


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    return free_port(), free_port()


@pytest.fixture(scope="module")
def three(
    ports: tuple[int, int], spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Turns, Trino]]:
    """A database of acidsql and Hive, and Trino beside them."""
    with (
        Hive(4, BUILD, tmp_path_factory.mktemp("hive"), ports[0]) as hive,
        acidsql.connect(
            str(hive.warehouse), metastore=f"thrift://127.0.0.1:{ports[0]}", spark=spark
        ) as session,
        Trino(
            BUILD.parent / "trino",
            tmp_path_factory.mktemp("trino"),
            metastore_port=ports[0],
            port=ports[1],
        ) as trino,
    ):
        yield Turns(hive, session, "trino"), trino


@pytest.mark.parametrize("name", TABLES)
def test_trino_reads_what_acidsql_wrote(three: tuple[Turns, Trino], name: str) -> None:
    shared, trino = three
    shared.both(f"{TABLES[name]} TBLPROPERTIES ('transactional' = 'true')")
    for sql in TURNS:
        shared.acidsql(sql.replace("{t}", name))
        same(shared, trino, name)
    for kind in ("minor", "major"):
        where = " PARTITION (d = '1582-10-04')" if name == "p" else ""
        shared.acidsql(f"ALTER TABLE {name}{where} COMPACT '{kind}'")
        shared.acidsql("clean")
        same(shared, trino, name)

    for sql in EMPTIED:
        shared.acidsql(sql.replace("{t}", name))
        same(shared, trino, name)


def test_trino_reads_an_insert_only_table(three: tuple[Turns, Trino]) -> None:
    shared, trino = three
    shared.both(
        "CREATE TABLE i (id int, v string, n decimal(10,2), d date) STORED AS ORC TBLPROPERTIES"
        " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
    )
    insert = TURNS[0].replace("{t}", "i")
    for sql in (
        insert,
        insert,
        "ALTER TABLE i COMPACT 'minor'",
        insert,
        "ALTER TABLE i COMPACT 'major'",
        "clean",
        insert.replace("INSERT INTO", "INSERT OVERWRITE TABLE"),
        insert,
    ):
        shared.acidsql(sql)
        same(shared, trino, "i")


def test_trino_reads_copied_stripes(three: tuple[Turns, Trino]) -> None:
    """A compaction copies a stripe that loses no row, and joins small stripes."""
    shared, trino = three
    shared.both("CREATE TABLE m (id int, v string) TBLPROPERTIES ('transactional' = 'true')")
    shared.acidsql(MANY.format(0, 30_000))
    shared.acidsql(MANY.format(30_000, 60_000))
    for key in range(60_000, 60_006):
        shared.acidsql(MANY.format(key, key + 1))
    shared.acidsql("DELETE FROM m WHERE id BETWEEN 100 AND 200")
    for kind in ("minor", "major"):
        shared.acidsql(f"ALTER TABLE m COMPACT '{kind}'")
        shared.acidsql("clean")
        copied(shared, trino)
        shared.acidsql("UPDATE m SET v = 'new' WHERE id % 10000 = 7")
        copied(shared, trino)


def copied(shared: Turns, trino: Trino) -> None:
    """Trino's rows are acidsql's: a few of them, and what they come to."""
    sums = f"SELECT count(*), sum(id), sum(length(v)), min(v), max(v) FROM {shared.database}.m"
    assert trino.run(sums) == [list(row) for row in shared.session.execute(sums).fetchall()]
    some = f"SELECT id, v FROM {shared.database}.m WHERE id < 250 OR id > 59900 ORDER BY id"
    assert trino.run(some) == [list(row) for row in shared.session.execute(some).fetchall()]


def same(shared: Turns, trino: Trino, name: str) -> None:
    """Trino's rows are acidsql's, which are Hive's."""
    table = shared.store.table(TableName(shared.database, name))
    theirs = trino.run(f"SELECT id, v, n, d FROM {table.name}")
    ours = sorted(row[-4:] for row in shared.rows_of_hive(name))
    assert sorted(shared.row(table, (), row) for row in theirs) == ours
