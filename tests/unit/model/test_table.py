"""What a table says of its files."""

from __future__ import annotations

import pytest

from acidsql.model.names import TableName
from acidsql.model.table import POSITIONAL_EVOLUTION, Column, Table, TableKind
from acidsql.model.types import parse_type

FULL_ACID = {"transactional": "true"}
INSERT_ONLY = {**FULL_ACID, "transactional_properties": "insert_only"}


@pytest.mark.parametrize(
    ("parameters", "kind", "matches"),
    [
        (FULL_ACID, TableKind.FULL_ACID, True),
        (INSERT_ONLY, TableKind.INSERT_ONLY, True),
        ({}, TableKind.PLAIN, False),
    ],
)
def test_whose_columns_are_matched_by_position(
    parameters: dict[str, str], kind: TableKind, matches: bool
) -> None:
    """ACID tables as in Hive 4; the table comes first, and then the setting."""
    columns = (Column("id", parse_type("int")),)
    table = Table(TableName("default", "t"), columns, "/t", parameters=parameters)
    assert table.kind is kind
    assert table.matches_by_position(default=True) is matches
    assert table.matches_by_position(default=False) is False
    for said in (True, False):
        text = {**parameters, POSITIONAL_EVOLUTION: str(said).upper()}
        told = Table(TableName("default", "t"), columns, "/t", parameters=text)
        assert told.matches_by_position(default=not said) is said
