"""acidsql/streaming/batch_sink.py: what is refused before a query begins, and what a MERGE is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql import streaming
from acidsql.errors import ConfigError, SqlSyntaxError
from acidsql.grammar.parse import parse
from acidsql.model.names import TableName
from acidsql.session.session import Session
from acidsql.statements.merge import Merge, MergeInsert, MergeUpdate
from acidsql.streaming.batch_sink import _merge_of

MERGE = "MERGE INTO t USING batch AS s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        yield session


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "append"},
        {"mode": "upsert", "keys": ["k"]},
        {"mode": "upsert", "keys": ["k"], "order_by": "v"},
        {"merge": MERGE},
        {"mode": "merge", "merge": MERGE},
        {"merge": MERGE.replace("INTO t", "INTO default.T").replace("batch", "`Batch`")},
        {"merge": MERGE.replace("batch", "(SELECT * FROM batch)")},
    ],
)
def test_what_makes_sense(session: Session, options: dict[str, Any]) -> None:
    assert callable(streaming.sink(session, "t", query="q", **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": ""}, "needs a name"),
        ({"query": "__HIVE_DEFAULT_PARTITION__"}, "needs a name"),
        ({"query": 5}, "query must be a string"),
        ({"mode": "update"}, "mode='update'"),
        ({"mode": "upsert"}, "keys="),
        ({"keys": ["k"]}, "keys="),
        ({"order_by": "v"}, "keys="),
        ({"mode": "append", "merge": MERGE}, "mode='append'"),
        ({"mode": "merge"}, "mode='merge'"),
        ({"merge": MERGE, "keys": ["k"]}, "keys="),
        ({"merge": "SELECT 1"}, "takes a MERGE"),
        ({"merge": MERGE.replace("INTO t", "INTO u")}, "changes table default.u"),
        ({"merge": MERGE.replace("batch", "news")}, "does not read the micro-batch"),
        ({"merge": MERGE.replace("batch", "db.batch")}, "does not read the micro-batch"),
        ({"retries": -1}, "retries"),
    ],
)
def test_what_does_not(session: Session, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        streaming.sink(session, "t", **{"query": "q", **options})


def test_a_merge_that_does_not_parse(session: Session) -> None:
    with pytest.raises(SqlSyntaxError):
        streaming.sink(session, "t", query="q", merge="MERGE INTO t USING")


def test_the_merge_of_an_upsert() -> None:
    table = TableName("default", "odd`name")
    text = _merge_of(table, "SELECT `K`, `a b` FROM batch", ["K", "a b"], ["k"])
    merge = parse(text)
    assert isinstance(merge, Merge)
    assert (merge.target.table, merge.on.text) == ("odd`name", "t.`k` = s.`k`")
    update, insert = merge.clauses
    assert isinstance(update, MergeUpdate)
    assert isinstance(insert, MergeInsert)
    assert update.assignments is not None
    assert [a.column.name for a in update.assignments] == ["a b"]
    assert insert.columns is not None
    assert [c.name for c in insert.columns] == ["K", "a b"]


def test_keys_alone_update_nothing() -> None:
    merge = parse(_merge_of(TableName("d", "t"), "SELECT `k` FROM batch", ["k"], ["K"]))
    assert isinstance(merge, Merge)
    assert [type(clause) for clause in merge.clauses] == [MergeInsert]


def test_public_names() -> None:
    assert all(callable(getattr(streaming, name)) for name in streaming.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = streaming.nonsense
