"""The constraints of a table that is made or altered."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from acidsql.definitions.partition import altering
from acidsql.errors import AnalysisError, SqlError, UnsupportedStatementError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.grammar.called import called
from acidsql.grammar.constraint import constraint_expression
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import is_temporary_database
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table
from acidsql.model.types import (
    ArrayType,
    ColumnType,
    MapType,
    StructType,
    parse_type,
    spark_type,
    walk_types,
)
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import ViewRefusal, find_column, find_target, new_name
from acidsql.plans.sql_text import SqlText
from acidsql.statements.alter_table import AddConstraint, DropColumnConstraint, DropConstraint
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Fragment, Identifier, TableRef

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
_VOID = re.compile(r"(?<=[:<,])void(?=[,>])")
"""The type of a NULL within a type of Spark's, which no column can have."""


def constraints_of_columns(columns: Sequence[ColumnDefinition]) -> Iterator[ConstraintDefinition]:
    """The constraints that stand in the definitions of columns."""
    return (constraint for column in columns for constraint in column.constraints)


def alter_constraints(
    statement: AddConstraint | DropConstraint | DropColumnConstraint, scope: Scope
) -> Result:
    """Add or drop a constraint."""
    match statement:
        case AddConstraint():
            return _add(statement, scope)
        case DropConstraint():
            return _drop(statement, scope)
        case DropColumnConstraint():
            return _drop_of_column(statement, scope)


def _add(statement: AddConstraint, scope: Scope) -> Result:
    """Add a constraint, which later writes keep. Rows that are there are not looked at (Hive)."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    definition = statement.constraint
    with altering(table, scope) as (txn, now):
        is_default = definition.kind is ConstraintKind.DEFAULT
        before = _without(now, definition.columns[0], definition.kind) if is_default else now
        added = replace(before, constraints=constrained(before, [definition], scope))
        with scope.committing(txn):
            scope.store.alter_table(added)
    return Result("alter", message="OK")


def _drop(statement: DropConstraint, scope: Scope) -> Result:
    """Drop a constraint by its name. AnalysisError if the table has none of that name."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    name = statement.name.name.lower()
    with altering(table, scope) as (txn, now):
        left = tuple(c for c in now.constraints if c.name != name)
        if left == now.constraints and not statement.if_exists:
            raise AnalysisError(
                f"The constraint: {name} does not exist for the associated table: {table.name}",
                hint="DESCRIBE FORMATTED shows the names.",
                line=statement.name.line,
                column=statement.name.column,
            )
        with scope.committing(txn):
            scope.store.alter_table(replace(now, constraints=left))
    return Result("alter", message="OK")


def _drop_of_column(statement: DropColumnConstraint, scope: Scope) -> Result:
    """Drop the NOT NULL or the DEFAULT of a column, if it has one."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    find_column(table, statement.column)
    with altering(table, scope) as (txn, now):
        left = _without(now, statement.column, statement.kind)
        with scope.committing(txn):
            scope.store.alter_table(left)
    return Result("alter", message="OK")


def _without(table: Table, column: Identifier, kind: ConstraintKind) -> Table:
    """The table without the constraint of this kind that a column has."""
    about = (column.name.lower(),)
    left = (c for c in table.constraints if c.kind is not kind or c.columns != about)
    return replace(table, constraints=tuple(left))


def renamed(table: Table, old: str, new: str) -> tuple[Constraint, ...]:
    """The constraints after a column has got another name.

    UnsupportedStatementError if a CHECK mentions the column: its text would have to change.
    """
    _refuse_mentioned(table, {old}, "renamed")
    return tuple(
        replace(c, columns=tuple(new if name == old else name for name in c.columns))
        for c in table.constraints
    )


def remaining(table: Table, columns: Sequence[Column]) -> tuple[Constraint, ...]:
    """The constraints after the table has got these columns: those of lost columns are gone.

    UnsupportedStatementError if a CHECK mentions a lost column.
    """
    lost = {c.name for c in table.columns} - {c.name for c in columns}
    _refuse_mentioned(table, lost, "dropped")
    return tuple(c for c in table.constraints if not lost & set(c.columns))


def _refuse_mentioned(table: Table, columns: set[str], what: str) -> None:
    for constraint in table.constraints:
        if constraint.kind is ConstraintKind.CHECK and columns & set(constraint.columns):
            raise UnsupportedStatementError(
                f'a column that the CHECK constraint "{constraint.name}" of {table.name} mentions'
                f" cannot be {what}",
                hint=f"ALTER TABLE … DROP CONSTRAINT {quote(constraint.name)} before.",
            )


def refuse_misfits(table: Table, changed: Set[str], scope: Scope) -> None:
    """AnalysisError if a CHECK or DEFAULT makes no sense for the new type of a ``changed`` column.

    Otherwise no row could be written any more.
    """
    for constraint in table.constraints:
        if not constraint.enabled or not changed & set(constraint.columns):
            continue
        if constraint.kind not in (ConstraintKind.CHECK, ConstraintKind.DEFAULT):
            continue
        try:
            _refuse_misfit(constraint, table, scope)
        except SqlError as error:
            raise AnalysisError(
                f"{constraint.kind.value} ({constraint.text}) does not fit the new type of"
                f' "{next(c for c in constraint.columns if c in changed)}" (constraint'
                f' "{constraint.name}")',
                detail=error.message,
                hint="Drop the constraint before.",
            ) from None


def _refuse_misfit(constraint: Constraint, table: Table, scope: Scope) -> None:
    value = constraint_expression(constraint.kind, constraint.text)
    names = tuple(Identifier(name, value.line, value.column) for name in constraint.columns)
    definition = ConstraintDefinition(constraint.kind, None, names, value.line, value.column, value)
    if constraint.kind is ConstraintKind.CHECK:
        _refuse_bad_check(value, table, scope, definition)
    else:
        _refuse_bad_default(value, find_column(table, names[0]), scope, definition)


def constrained(
    table: Table, definitions: Sequence[ConstraintDefinition], scope: Scope
) -> tuple[Constraint, ...]:
    """The constraints of the table, with those that are defined now behind them.

    It is an error to give a column a second NOT NULL or DEFAULT. Raises AnalysisError and
    ColumnNotFoundError.
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
    if value is not None and value.casts:
        fact = f"{kind.value} has a CAST to {value.casts[0].kind}"
        raise _invalid(fact, definition, hint="Write substr(CAST(… AS string), 1, n).")
    if value is not None and kind is ConstraintKind.DEFAULT:
        _refuse_bad_default(value, columns[0], scope, definition)
    elif value is not None:
        _refuse_bad_check(value, table, scope, definition)
    parent = None
    if definition.parent is not None:
        referred = _referred(definition.parent, table, scope)
        _refuse_temporary(referred, table, definition.parent)
        for identifier in definition.parent_columns:
            find_column(referred, identifier)
        parent = referred.name
    name = definition.name
    return Constraint(
        kind=kind,
        name=f"{_PREFIXES[kind]}_{uuid.uuid4().hex}" if name is None else name.name.lower(),
        columns=tuple(c.name for c in columns),
        text=called(value.text) if value is not None else "",
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


def _refuse_bad_default(
    value: Fragment, column: Column, scope: Scope, definition: ConstraintDefinition
) -> None:
    """Raise InvalidValueError or AnalysisError for a default that is no value of the column."""
    try:
        cell_text(value, column.type, {}, column.name)
        return
    except NotLiteral:
        pass
    # Spark says what the value is. A statement that inserts it casts it in the same way.
    cast = SqlText.of("CAST((", value.text, f"\n) AS {spark_type(column.type)})")
    query = SqlText.of("SELECT ", cast, ", (", value.text, "\n)")
    _, written = _types(query, value, scope)
    if not _has_fields_of(column.type, written):
        # An INSERT would take the fields by position, an UPDATE by name.
        fact = f"DEFAULT is of type {written}, which has other fields than {column.type}"
        raise _invalid(fact, definition)


def _has_fields_of(kind: ColumnType, written: str) -> bool:
    """Whether the structs in Spark's type ``written`` have the fields of ``kind``, in its order."""
    if not any(isinstance(inner, StructType) for inner in walk_types(kind)):
        return True
    return _are_alike(kind, parse_type(_VOID.sub("boolean", written)))


def _are_alike(kind: ColumnType, other: ColumnType) -> bool:
    match kind, other:
        case StructType(fields), StructType(others):
            names = [[name.lower() for name, _ in some] for some in (fields, others)]
            pairs = zip(fields, others, strict=False)
            return names[0] == names[1] and all(_are_alike(k, o) for (_, k), (_, o) in pairs)
        case ArrayType(element), ArrayType(other_element):
            return _are_alike(element, other_element)
        case MapType(key, value), MapType(other_key, other_value):
            return _are_alike(key, other_key) and _are_alike(value, other_value)
        case _:
            return True


def _refuse_bad_check(
    value: Fragment, table: Table, scope: Scope, definition: ConstraintDefinition
) -> None:
    """AnalysisError for an expression that Spark does not understand, or that is no condition."""
    nulls = ", ".join(
        f"CAST(NULL AS {spark_type(c.type)}) AS {quote(c.name)}" for c in table.columns
    )
    query = SqlText.of("SELECT (", called(value.text), f"\n) FROM (SELECT {nulls})")
    [kind] = _types(query, value, scope)
    if kind != "boolean":
        raise _invalid(f"CHECK is of type {kind}, not boolean", definition)


def _types(query: SqlText, value: Fragment, scope: Scope) -> list[str]:
    """The types of the query's columns. What Spark does not like about it is at the value."""
    try:
        return scope.types(query)
    except SqlError as error:
        error.line, error.column, error.piece = value.line, value.column, ""
        raise


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


def _referred(ref: TableRef, table: Table, scope: Scope) -> Table:
    """The table that a key of ``table`` refers to: that one itself, which is perhaps not made yet,
    or another one.
    """
    return table if new_name(ref, scope.names) == table.name else find_target(ref, scope.names)


def _refuse_temporary(referred: Table, table: Table, ref: TableRef) -> None:
    """AnalysisError for a key that other sessions would see, of a table that they do not have."""
    own, other = table.name.database, referred.name.database
    if is_temporary_database(other) and not is_temporary_database(own):
        raise AnalysisError(
            f'a FOREIGN KEY cannot refer to the temporary table "{ref.table}"',
            detail="Other sessions do not have that table.",
            line=ref.line,
            column=ref.column,
        )
