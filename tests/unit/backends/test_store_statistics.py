"""What ANALYZE TABLE has found: kept with the table until its definition or partitions change."""

from dataclasses import replace

import pytest

from acidsql.errors import TableNotFoundError, TxnAbortedError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.statistics import Basis, ColumnStatistics, Statistics
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition

T, U = TableName("default", "t"), TableName("default", "u")
P1, P2, P3 = (PartitionName.of({"p": value}) for value in ("1", None, "a/b"))
TABLE = Table(T, (Column("a", parse_type("int")),), "/w/t", (Column("p", parse_type("string")),))
PLACES = [Partition(name, f"/w/t/{name}") for name in (P1, P2)]
OTHER = replace(TABLE, name=U, location="/w/u")


def found(rows):
    return Statistics(
        rows=rows,
        columns={
            "a": ColumnStatistics(nulls=1, distinct=2, low="-1", high="ü'\0\n"),
            "m": ColumnStatistics(nulls=0),
        },
        basis=Basis(write_ids="7 without 1 abc", definition="def"),
    )


@pytest.fixture
def tables(store):
    """Two tables of the same partitions, each with statistics."""
    for table in (TABLE, OTHER):
        store.create_table(table)
        store.add_partitions(table.name, PLACES)
        assert store.statistics(table.name) is None
        store.keep_statistics(table.name, {None: found(3), P1: found(1), P2: found(2)})
    return store


def kept(store, name=T):
    return [store.statistics(name, place) for place in (None, P1, P2, P3)]


ALL = [found(3), found(1), found(2), None]
NONE = [None] * 4


def test_each_place_has_its_own(tables):
    assert tables.keeps_statistics
    assert kept(tables) == kept(tables, U) == ALL
    tables.keep_statistics(TableName("DEFAULT", "T"), {P1: found(9), P3: found(0)})
    assert kept(tables) == [found(3), found(9), found(2), found(0)]
    assert kept(tables, U) == ALL


CHANGES = {
    "alter_table": lambda s: s.alter_table(replace(TABLE, comment="c")),
    "the same definition again": lambda s: s.alter_table(TABLE),
    "add_partitions": lambda s: s.add_partitions(T, [Partition(P3, "/w/t/p3")]),
    "a partition that is there": lambda s: s.add_partitions(T, PLACES[:1]),
    "drop_partitions": lambda s: s.drop_partitions(T, [P2]),
    "rename_partition": lambda s: s.rename_partition(T, P1, Partition(P3, "/w/t/p3")),
}
"""Also where nothing changes: that costs no more than another ANALYZE TABLE."""


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_the_table_forgets_them(tables, change):
    change(tables)
    assert kept(tables) == NONE
    assert kept(tables, U) == ALL


def test_no_partition_changes_nothing(tables):
    tables.add_partitions(T, [])
    assert kept(tables) == ALL


def test_a_table_of_the_same_name_has_none(tables):
    tables.drop_table(T)
    with pytest.raises(TableNotFoundError):
        tables.statistics(T)
    with pytest.raises(TableNotFoundError):
        tables.keep_statistics(T, {None: found(3)})
    tables.create_table(TABLE)
    tables.add_partitions(T, PLACES)
    assert kept(tables) == NONE
    assert kept(tables, U) == ALL


def test_a_renamed_table_has_none_whichever_name_it_gets(tables):
    moved = TableName("default", "moved")
    tables.rename_table(T, replace(TABLE, name=moved), PLACES)
    assert kept(tables, moved) == NONE
    tables.rename_table(U, replace(OTHER, name=T), PLACES)
    assert kept(tables) == NONE
    tables.rename_table(moved, replace(TABLE, name=U), PLACES)
    assert kept(tables, U) == NONE


def keep_in(store, txn):
    with store.committing(txn):
        store.keep_statistics(T, {None: found(9)})


def test_they_are_kept_with_the_commit_or_not_at_all(tables):
    keep_in(tables, tables.open_txn("ann", "host1"))
    assert tables.statistics(T) == found(9)
    aborted = tables.open_txn("ann", "host1")
    tables.keep_statistics(T, {None: found(3)})
    tables.abort_txn(aborted)
    with pytest.raises(TxnAbortedError):
        keep_in(tables, aborted)
    assert tables.statistics(T) == found(3)
