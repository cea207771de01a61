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


def same(shared: Turns, trino: Trino, name: str) -> None:
    """Trino's rows are acidsql's, which are Hive's."""
    table = shared.store.table(TableName(shared.database, name))
    theirs = trino.run(f"SELECT id, v, n, d FROM {table.name}")
    ours = sorted(row[3:] for row in shared.rows_of_hive(name))
    assert sorted(shared.row(table, (), row) for row in theirs) == ours
