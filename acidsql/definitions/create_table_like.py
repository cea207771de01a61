"""CREATE TABLE … LIKE."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acidsql.definitions.create_table import (
    create_table,
    make_table,
    new_table_name,
)
from acidsql.definitions.table_defaults import (
    default_kind,
    is_external_by_default,
    transactional_kind,
)
from acidsql.definitions.table_kind import (
    TRANSACTIONAL,
    TRANSACTIONAL_PROPERTIES,
    normal_properties,
    refuse_bad_kind,
)
from acidsql.definitions.table_places import database_location
from acidsql.errors import AnalysisError
from acidsql.execution.places import chosen_path
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.naming import table_path
from acidsql.model.table import HIVE4_NAMES, RESERVED, FileFormat, Table, TableKind
from acidsql.model.view import View
from acidsql.planner.names import find_named_view, find_target
from acidsql.ports.catalog import Database
from acidsql.settings import Settings
from acidsql.statements.create_table import ColumnDefinition, CreateTable, CreateTableLike
from acidsql.statements.fragment import Identifier, TableRef

_OF_EXTERNAL = frozenset({"external", "external.table.purge", "translated_to_external"})
_OF_ACID = frozenset({TRANSACTIONAL, TRANSACTIONAL_PROPERTIES, HIVE4_NAMES})


def create_table_like(statement: CreateTableLike, scope: Scope) -> Result:
    """Create a table with the columns, buckets and properties of another table, without rows.

    With EXTERNAL it is a plain table of the same format. A view has columns only: the table is like
    one whose statement lists them.
    """
    view = find_named_view(statement.source, scope.names)
    if view is not None:
        return create_table(_described(statement, view), scope)
    name = new_table_name(statement.target, scope, is_temporary=statement.is_temporary)
    source = find_target(statement.source, scope.names)
    database = scope.store.database(name.database)
    if is_external_by_default(statement, database.parameters):
        statement = replace(statement, external=True)
    if statement.location is not None:
        statement = replace(statement, location=chosen_path(statement.location, scope))
    given = normal_properties(statement.properties)
    for reserved in RESERVED:
        given.pop(reserved, None)
    stored_as = source.format if statement.stored_as is None else FileFormat(statement.stored_as)
    parameters, comment = split_comment(_inherited(statement, source, given))
    parameters |= _kind(statement, source, stored_as, scope.settings, database)
    parent = database_location(database, scope.warehouse, parameters)
    table = replace(
        source,
        name=name,
        location=statement.location or table_path(parent, name.table),
        parameters=parameters,
        comment=comment,
        owner=scope.user,
        created_s=int(time.time()),
        format=stored_as,
        constraints=(),  # as in Hive
    )
    refuse_bad_kind(table, _place(statement.target))
    version = source.parameters.get("bucketing_version", "2")
    if table.bucketing is not None and given.get("bucketing_version", version) != version:
        raise AnalysisError(
            f"'bucketing_version' of {source.name} is {version}, and LIKE keeps it",
            hint="Leave the property out.",
        )
    return make_table(table, scope, statement=statement)


def _inherited(
    statement: CreateTableLike, source: Table, given: Mapping[str, str]
) -> dict[str, str]:
    """The properties of the other table, but for those that make its kind, and the given ones."""
    left_out = _OF_EXTERNAL | (_OF_ACID if statement.external else frozenset())
    inherited = {k: v for k, v in source.shown.items() if k.lower() not in left_out}
    return {**with_comment(inherited, source.comment), **given}


def _kind(
    statement: CreateTableLike,
    source: Table,
    stored_as: FileFormat,
    settings: Settings,
    database: Database,
) -> Mapping[str, str]:
    """The properties that make the kind where it is not that of the other table."""
    given = normal_properties(statement.properties)
    if statement.external:
        return {"EXTERNAL": "TRUE"}
    if source.kind is not TableKind.PLAIN:
        return {}
    if statement.transactional:
        return transactional_kind(stored_as, given)
    if TRANSACTIONAL in given:
        return {}
    parameters, managed = database.parameters, statement.managed
    return default_kind(settings, parameters, stored_as, says_format=True, managed=managed)


def _described(statement: CreateTableLike, view: View) -> CreateTable:
    """The CREATE TABLE that lists the columns of the view."""
    line, column = statement.source.line, statement.source.column
    columns = tuple(
        ColumnDefinition(Identifier(c.name, line, column), str(c.type), c.comment)
        for c in view.columns
    )
    return CreateTable(
        statement.target,
        columns,
        statement.if_not_exists,
        stored_as=statement.stored_as,
        location=statement.location,
        properties=statement.properties,
        external=statement.external,
        managed=statement.managed,
        transactional=statement.transactional,
        replaces=statement.replaces,
        is_temporary=statement.is_temporary,
    )


def _place(target: TableRef) -> dict[str, Any]:
    return {"line": target.line, "column": target.column}
