"""SHOW COLUMNS, SHOW TBLPROPERTIES and DESCRIBE of a column: of a table or a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.definitions.show_statistics import column_statistics_rows
from acidsql.definitions.show_view import DESCRIBE_COLUMNS, column_row
from acidsql.errors import ColumnNotFoundError
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.model.comment import with_comment
from acidsql.model.near import near_name
from acidsql.model.table import Column, Table
from acidsql.model.types import StructType
from acidsql.model.view import View
from acidsql.planner.names import find_named_view, find_target
from acidsql.planner.partition import partition_of
from acidsql.statements import Describe, ShowProperties
from acidsql.statements.fragment import Identifier, TableRef


def find_shown(ref: TableRef, scope: Scope) -> Table | View:
    """The view or table of this name. TableNotFoundError suggests a similar name."""
    return find_named_view(ref, scope.names) or find_target(ref, scope.names)


def columns_of(shown: Table | View) -> Sequence[Column]:
    """The columns, partition columns last."""
    return shown.all_columns if isinstance(shown, Table) else shown.columns


def show_properties(statement: ShowProperties, scope: Scope) -> Result:
    """The TBLPROPERTIES, or one of them. As in Hive, a row says so if there is none so called."""
    shown = find_shown(statement.target, scope)
    parameters: Mapping[str, str] = shown.shown if isinstance(shown, Table) else shown.parameters
    properties, key = with_comment(parameters, shown.comment), statement.key
    rows = [(k, v) for k, v in sorted(properties.items()) if key in (None, k)]
    if key is not None and not rows:
        rows = [(f"Table {shown.name} does not have property: {key}", "")]
    return text_rows("show", ["prpt_name", "prpt_value"], rows)


def describe_column(statement: Describe, scope: Scope) -> Result:
    """A column or a field of one: name, type and comment; of a struct its fields, as in Hive.

    ColumnNotFoundError for a name that is not there.
    """
    described = find_shown(statement.target, scope)
    columns = columns_of(described)
    for identifier in statement.path:
        column = _found(identifier, columns)
        columns = _fields(column)
    shown = columns if columns and not statement.formatted else [column]
    rows = [column_row(c) for c in shown]
    if statement.formatted and len(statement.path) == 1 and isinstance(described, Table):
        items, target = statement.partition, statement.target
        partition = partition_of(items, described, target, scope.arguments)
        rows += column_statistics_rows(column, described, scope, partition)
    return text_rows("describe", DESCRIBE_COLUMNS, rows)


def _fields(column: Column) -> Sequence[Column]:
    """The fields of a struct, as columns."""
    fields = column.type.fields if isinstance(column.type, StructType) else ()
    return [Column(name, kind) for name, kind in fields]


def _found(identifier: Identifier, columns: Sequence[Column]) -> Column:
    names = [c.name for c in columns]
    for column in columns:
        if column.name.lower() == identifier.name.lower():
            return column
    near = near_name(identifier.name, names)
    raise ColumnNotFoundError(
        f'no column or field "{identifier.name}"',
        code=10002,
        hint=f'Did you mean "{near}"?' if near else f"There are {', '.join(names) or 'none'}.",
        line=identifier.line,
        column=identifier.column,
    )
