"""ALTER TABLE … SET FILEFORMAT, SET SERDE and SET SERDEPROPERTIES."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acidsql.definitions.partition import altering
from acidsql.definitions.table_kind import refuse_bad_kind
from acidsql.errors import UnsupportedStatementError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.table import FileFormat, Table, TableKind
from acidsql.planner.names import ViewRefusal, find_target
from acidsql.statements.alter_table import SetFormat


def set_format(statement: SetFormat, scope: Scope) -> Result:
    """Change how the files of a table are read and written.

    Files stay as they are. So the format may only change while a plain table has neither files nor
    partitions. The delimiter of a plain table's texts may change at any time, as in Hive.
    """
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    with altering(table, scope) as (txn, now):
        changed = _changed(statement, now, place)
        if changed == now:
            return Result("alter", message=_nothing(statement, now))
        if changed.format is not now.format or now.kind is not TableKind.PLAIN:
            _refuse_files(now, changed, scope, place)
        refuse_bad_kind(changed, place)
        with scope.committing(txn):
            scope.store.alter_table(replace(changed, parameters=now.noted))
    return Result("alter", message="OK")


def _changed(statement: SetFormat, table: Table, place: dict[str, Any]) -> Table:
    form = table.format if statement.stored_as is None else FileFormat(statement.stored_as)
    if form is not FileFormat.TEXT:
        return replace(table, format=form)
    if statement.unread:
        raise UnsupportedStatementError(
            f"SERDEPROPERTIES ('{statement.unread[0]}' = …) is not supported",
            hint="'field.delim' says which character stands between the fields.",
            **place,
        )
    delimiter = statement.field_delimiter or table.field_delimiter
    return replace(table, format=form, field_delimiter=delimiter)


def _nothing(statement: SetFormat, table: Table) -> str:
    if statement.stored_as is not None:
        return f"OK: the files of {table.name} are {table.format.value} already"
    if table.format is FileFormat.TEXT:
        return "OK"
    return f"OK, but nothing goes by SERDEPROPERTIES of {table.format.value} files"


def _refuse_files(table: Table, changed: Table, scope: Scope, place: dict[str, Any]) -> None:
    """UnsupportedStatementError if there are files that would be read otherwise."""
    if changed.format is not table.format and table.kind is not TableKind.PLAIN:
        why = "is transactional"
    elif scope.store.partition_names(table.name) or scope.storage.list_files(table.location):
        why = "has files or partitions"
    else:
        return
    raise UnsupportedStatementError(
        f"the files of {table.name} stay as they are: {table.format.value}",
        detail=f"The table {why}, and no file is written anew.",
        hint=f"CREATE TABLE … STORED AS {changed.format.value} AS SELECT copies the rows.",
        **place,
    )
