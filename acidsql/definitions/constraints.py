"""The constraints of a table that is made or altered."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from acidsql.errors import AnalysisError
from acidsql.execution.scope import Scope
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table
from acidsql.model.types import spark_type
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import find_column, find_target
from acidsql.plans.sql_text import SqlText
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Fragment

_PREFIXES = {
    ConstraintKind.NOT_NULL: "nn",
    ConstraintKind.DEFAULT: "dc",
    ConstraintKind.CHECK: "ck",
    ConstraintKind.PRIMARY_KEY: "pk",
    ConstraintKind.UNIQUE: "uk",
    ConstraintKind.FOREIGN_KEY: "fk",
}
_ONCE_IN_A_COLUMN = (ConstraintKind.NOT_NULL, ConstraintKind.DEFAULT)
_INVALID = 10326
"""Hive's INVALID_CONSTRAINT."""


def constraints_of_columns(columns: Sequence[ColumnDefinition]) -> Iterator[ConstraintDefinition]:
    """The constraints that stand in the definitions of columns."""
    return (constraint for column in columns for constraint in column.constraints)


def constrained(
    table: Table, definitions: Sequence[ConstraintDefinition], scope: Scope
) -> tuple[Constraint, ...]:
    """The constraints of the table, with those that are defined now behind them.

    A column that may not be null, or has a default, loses no constraint: it is an error to give it
    a second one. Raises AnalysisError and ColumnNotFoundError.
    """
    found = list(table.constraints)
    for definition in definitions:
        constraint = _made(definition, table, scope)
        _refuse_second(constraint, found, definition)
        found.append(constraint)
    return tuple(found)


def _made(definition: ConstraintDefinition, table: Table, scope: Scope) -> Constraint:
    if definition.enabled and table.external:
        raise _invalid(
            "Constraints are disallowed with External tables. Only RELY is allowed.",
            definition,
            hint="Write DISABLE NOVALIDATE behind it.",
        )
    columns = [find_column(table, identifier) for identifier in definition.columns]
    _refuse_partition_columns(definition, columns, table)
    kind, value = definition.kind, definition.value
    if value is not None and kind is ConstraintKind.DEFAULT:
        _refuse_bad_default(value, columns[0], scope)
    elif value is not None:
        _refuse_bad_check(value, table, scope, definition)
    parent = None
    if definition.parent is not None:
        referred = find_target(definition.parent, scope.names)
        for identifier in definition.parent_columns:
            find_column(referred, identifier)
        parent = referred.name
    name = definition.name
    return Constraint(
        kind=kind,
        name=f"{_PREFIXES[kind]}_{uuid.uuid4().hex}" if name is None else name.name.lower(),
        columns=tuple(c.name for c in columns),
        text=value.text if value is not None else "",
        parent=parent,
        parent_columns=tuple(i.name.lower() for i in definition.parent_columns),
        enabled=definition.enabled,
        rely=definition.rely,
    )


def _refuse_partition_columns(
    definition: ConstraintDefinition, columns: Sequence[Column], table: Table
) -> None:
    if definition.enabled and any(c in table.partition_columns for c in columns):
        raise _invalid(
            "NOT NULL,DEFAULT and CHECK Constraints are not allowed with partition columns.",
            definition,
        )


def _refuse_bad_default(value: Fragment, column: Column, scope: Scope) -> None:
    """Raise InvalidValueError or AnalysisError for a default that is no value of the column."""
    try:
        cell_text(value, column.type, {}, column.name)
    except NotLiteral:
        # Spark says what the value is. A statement that inserts it casts it in the same way.
        scope.types(SqlText.of("SELECT CAST((", value.text, f"\n) AS {spark_type(column.type)})"))


def _refuse_bad_check(
    value: Fragment, table: Table, scope: Scope, definition: ConstraintDefinition
) -> None:
    """AnalysisError for an expression that Spark does not understand, or that is no condition."""
    nulls = ", ".join(
        f"CAST(NULL AS {spark_type(c.type)}) AS {quote(c.name)}" for c in table.columns
    )
    [kind] = scope.types(SqlText.of("SELECT (", value.text, f"\n) FROM (SELECT {nulls})"))
    if kind != "boolean":
        raise _invalid(f"CHECK is of type {kind}, not boolean", definition)


def _refuse_second(
    constraint: Constraint, others: Sequence[Constraint], definition: ConstraintDefinition
) -> None:
    for other in others:
        if other.name == constraint.name:
            raise _invalid(f'the name "{constraint.name}" is taken', definition)
        if other.kind is not constraint.kind:
            continue
        if other.kind is ConstraintKind.PRIMARY_KEY:
            raise _invalid("a table has one PRIMARY KEY at most", definition)
        if other.kind in _ONCE_IN_A_COLUMN and other.columns == constraint.columns:
            raise _invalid(
                f'column "{constraint.columns[0]}" has {other.kind.value} already', definition
            )


def _invalid(fact: str, definition: ConstraintDefinition, **more: Any) -> AnalysisError:
    return AnalysisError(
        f"Invalid Constraint syntax: {fact}",
        code=_INVALID,
        line=definition.line,
        column=definition.column,
        **more,
    )
