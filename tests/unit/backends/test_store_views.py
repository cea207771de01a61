"""Views."""

from dataclasses import replace

import pytest

from acidsql.errors import (
    AnalysisError,
    DatabaseNotFoundError,
    TableExistsError,
    TableNotFoundError,
    TxnAbortedError,
)
from acidsql.model.names import TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.model.view import View
from acidsql.ports.catalog import Database, names_in

V, W, T = (TableName("default", name) for name in "vwt")
VIEW = View(
    V,
    (Column("id", parse_type("bigint"), "the key"), Column("größe", parse_type("array<char(3)>"))),
    "SELECT *\n  FROM t -- 'all'",
    "SELECT `t`.`id`, `t`.`größe`\n FROM `default`.`t` -- 'all'",
    {"owner's": "ü'\""},
    "a comment",
    "ann",
    1_700_000_000,
)
BARE = View(W, (Column("one", parse_type("int")),), "SELECT 1 AS one", "SELECT 1 AS one")
TABLE = Table(T, (Column("a", parse_type("int")),), "/warehouse/t")


def test_a_view_is_kept_whole(store):
    for view in (VIEW, BARE):
        store.create_view(view)
        assert store.find_view(view.name) == view
    assert store.find_view(TableName("DEFAULT", "V")) == VIEW
    assert store.views("DEFAULT") == ["v", "w"]
    assert store.find_view(T) is None


def test_a_view_is_no_table(store):
    store.create_view(VIEW)
    store.create_table(TABLE)
    assert store.tables("default") == ["t"]
    assert names_in(store, "default") == ["t", "v"]
    assert store.find_table(V) is None
    assert store.find_view(T) is None
    assert [place.table for place in store.places("/warehouse")] == [T]
    for change in (store.table, store.drop_table, store.partitions):
        with pytest.raises(TableNotFoundError):
            change(V)
    with pytest.raises(TableNotFoundError):
        store.alter_table(replace(TABLE, name=V))
    for change in (store.drop_view, lambda name: store.alter_view(replace(VIEW, name=name))):
        with pytest.raises(TableNotFoundError):
            change(T)
    assert (store.find_view(V), store.table(T)) == (VIEW, TABLE)


def test_tables_and_views_share_names(store):
    store.create_view(VIEW)
    store.create_table(TABLE)
    for taken in (V, T):
        with pytest.raises(TableExistsError):
            store.create_view(replace(BARE, name=taken))
        with pytest.raises(TableExistsError):
            store.create_table(replace(TABLE, name=taken))
    with pytest.raises(TableExistsError):
        store.rename_table(T, replace(TABLE, name=V), [])
    with pytest.raises(TableExistsError):
        store.rename_view(V, T)
    with pytest.raises(DatabaseNotFoundError):
        store.create_view(replace(BARE, name=TableName("no", "v")))
    with pytest.raises(AnalysisError, match="other than letters"):
        store.create_view(replace(BARE, name=TableName("default", "../v")))


def test_a_view_is_changed_renamed_and_dropped(store):
    store.create_view(VIEW)
    changed = replace(BARE, name=V, parameters={"a": "b"})
    store.alter_view(changed)
    assert store.find_view(V) == changed
    store.create_database(Database("other", "/warehouse/other.db"))
    moved = TableName("other", "x")
    store.rename_view(V, moved)
    assert store.find_view(V) is None
    assert store.find_view(moved) == replace(changed, name=moved)
    with pytest.raises(AnalysisError, match="is not empty"):
        store.drop_database("other")
    store.drop_view(moved)
    assert store.views("other") == []
    store.drop_database("other")


def test_a_lost_commit_leaves_the_view_as_it_was(store):
    store.create_view(VIEW)
    txn = store.open_txn("ann", "here")
    store.abort_txn(txn, "lost")
    with pytest.raises(TxnAbortedError), store.committing(txn):
        store.alter_view(replace(VIEW, expanded_text="SELECT 1"))
    assert store.find_view(V) == VIEW
