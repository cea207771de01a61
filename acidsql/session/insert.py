"""The INSERT statement of rows that a caller gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acidsql.errors import ConfigError
from acidsql.model.names import TableName
from acidsql.ports.engine import RowSource
from acidsql.session.parameters import require_count, require_mapping_of_names
from acidsql.session.plain_value import plain_value
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.insert import GivenSource, Insert, PartitionValue

_ROWS = "rows"


def insert_of_rows(
    table: TableName, source: RowSource, partition: Mapping[str, Any], *, overwrite: bool
) -> tuple[Insert, dict[str, Any]]:
    """The statement, and its arguments: the rows, and the values of the PARTITION clause."""
    require_mapping_of_names(partition, "partition")
    arguments: dict[str, Any] = {_ROWS: source}
    values = []
    for number, (column, value) in enumerate(partition.items(), 1):
        what = f'the value of partition column "{column}"'
        arguments[f"_{number}"] = plain_value(value, what)
        values.append(PartitionValue(_identifier(column), Fragment.of_parameter(f"_{number}")))
    columns = tuple(map(_identifier, source.columns))
    statement = Insert(
        target=TableRef(table.database, table.table, None, 0, 0, 1, 1),
        partition=tuple(values),
        columns=columns or None,
        source=GivenSource(_ROWS),
        overwrite=overwrite,
    )
    return statement, arguments


def _identifier(name: str) -> Identifier:
    return Identifier(name, 1, 1)


def require_retriable(source: RowSource, retries: int) -> None:
    """ConfigError unless the rows can be read again as often as that."""
    require_count(retries, "retries")
    if retries and source.is_stream:
        raise ConfigError(
            "a stream of rows cannot be inserted again after a conflict",
            detail="It can be read once only.",
            hint="Leave out retries, or pass a table.",
        )
