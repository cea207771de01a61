"""Partitions by predicate: what a real metastore is told of them, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.partition_filters import filter_text
from acidsql.backends.metastore.partitions import PartitionCalls
from acidsql.backends.metastore.url import Place
from acidsql.model.names import TableName
from acidsql.model.predicate import Operator, Predicate
from acidsql.model.prune import prune_partitions
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

T = TableName("default", "filtered")
PARTITIONS = [
    ("a", -10, "2026-01-01"),
    ("a", 9, "2026-01-02"),
    ("b", 10, "2026-02-01"),
    ("B", 10, "2026-02-01"),
    ("eu west/1", 100, "1999-12-31"),
    ("9", 9, "2026-01-01"),
]
ASKED: list[tuple[str, Operator, tuple[str, ...]]] = [
    ("s", "=", ("a",)),
    ("s", "=", ("b",)),
    ("s", "=", ("9",)),
    ("s", "in", ("b", "eu west/1")),
    ("n", "=", ("9",)),
    ("n", "<", ("10",)),
    ("n", "<=", ("-10",)),
    ("n", ">", ("9",)),
    ("n", ">=", ("100",)),
    ("n", "in", ("-10", "100", "7")),
    ("n", "=", ("12345678901",)),
]


@pytest.fixture(scope="module")
def store(hive: Hive) -> Iterator[MetastoreStore]:
    hive.run(
        f"CREATE TABLE {T} (a int) PARTITIONED BY (s string, n bigint, d date) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    added = " ".join(f"PARTITION (s = '{s}', n = '{n}', d = '{d}')" for s, n, d in PARTITIONS)
    hive.run(f"ALTER TABLE {T} ADD {added}")
    hive.run("SET hive.exec.dynamic.partition.mode=nonstrict")
    hive.run(f"INSERT INTO {T} VALUES (1, NULL, NULL, NULL), (2, 'a', NULL, DATE '2026-01-01')")
    store = MetastoreStore(hive.metastore_url, user="ann")
    yield store
    store.close()


@pytest.mark.parametrize(("column", "operator", "values"), ASKED)
def test_the_server_finds_the_partitions(
    hive: Hive, store: MetastoreStore, column: str, operator: Operator, values: tuple[str, ...]
) -> None:
    predicate, table = Predicate(column, operator, values), store.table(T)
    every = store.partitions(T)
    assert len(every) == len(PARTITIONS) + 2
    expected = prune_partitions(table, every, [predicate])
    assert store.partitions_for(table, [predicate]) == expected
    client = MetastoreClient(Place.of(hive.metastore_url), "ann")
    try:
        told = PartitionCalls(client).filtered(
            hms.Table(dbName=T.database, tableName=T.table), filter_text(table, [predicate])
        )
    finally:
        client.close()
    assert told is not None
    assert len(told) == len(expected)


def test_names_are_those_of_the_partitions(store: MetastoreStore) -> None:
    assert store.partition_names(T) == [p.name for p in store.partitions(T)]


@pytest.mark.parametrize("text", ["2026-01-01", "2027-01-01"])
def test_dates_are_found_by_name(store: MetastoreStore, text: str) -> None:
    predicates = [Predicate("d", "=", (text,)), Predicate("s", "in", ("a", "9"))]
    expected = [(s, str(n), d) for s, n, d in PARTITIONS if d == text and s in "a9"]
    found = store.partitions_for(store.table(T), predicates)
    assert {p.name.values for p in found if None not in p.name.values} == set(expected)
