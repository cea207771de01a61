"""ANALYZE TABLE over a Hive Metastore: refused, and nothing is written there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.tables import table_to
from acidsql.errors import UnsupportedStatementError
from acidsql.model.names import TableName
from acidsql.model.statistics import Basis, Statistics
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from tests.component.backends.metastore.server import FakeMetastore

T = TableName("default", "t")
TABLE = Table(T, (Column("id", parse_type("int")),), "/w/t", parameters={"transactional": "true"})
FOUND = Statistics(rows=1, columns={}, basis=Basis(write_ids="1", definition="d"))
HANDLERS: dict[str, Any] = {
    "get_config_value": lambda name, default: default,
    "get_all_table_constraints": lambda _: hms.AllTableConstraintsResponse(
        hms.SQLAllTableConstraints()
    ),
    "get_table_req": lambda _: hms.GetTableResult(table=table_to(TABLE)),
}
"""The server knows no method that changes anything."""


@pytest.mark.parametrize("what", ["", " FOR COLUMNS", " NOSCAN"])
def test_the_statement_is_refused(tmp_path: Path, what: str) -> None:
    with (
        FakeMetastore(**HANDLERS) as server,
        acidsql.connect(tmp_path / "w", metastore=server.url) as session,
        pytest.raises(UnsupportedStatementError, match="over a Hive Metastore") as caught,
    ):
        session.execute(f"ANALYZE TABLE t COMPUTE STATISTICS{what}")
    assert (caught.value.line, caught.value.column) == (1, 15)
    assert caught.value.hint is not None
    assert "Run ANALYZE TABLE in Hive" in caught.value.hint


def test_the_store_keeps_nothing() -> None:
    with FakeMetastore(**HANDLERS) as server:
        store = MetastoreStore(server.url, user="ann", sleep=lambda _: None)
        assert not store.keeps_statistics
        assert store.statistics(T) is None
        with pytest.raises(UnsupportedStatementError):
            store.keep_statistics(T, {None: FOUND})
        store.close()
