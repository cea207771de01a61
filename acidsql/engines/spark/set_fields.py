"""SET c.f = e: new values of some fields → the new value of the whole column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.table import Table
from acidsql.model.types import ArrayType, ColumnType, StructType
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn

_NEW = "__acidsql_new"
"""The variable of a lambda that has the old array and the new values."""


@dataclass(frozen=True, slots=True)
class _FieldValue:
    path: tuple[str, ...]
    value: SqlText


def whole_values(assignments: Iterable[SetColumn], alias: str, table: Table) -> dict[str, SqlText]:
    """The new value of each column that is set, wholly or in some fields.

    ``alias`` is the name of the target, whose rows have the old values. The new struct of a null
    one has null in its other fields, as in PostgreSQL. In an array each element is changed; a null
    array stays null.
    """
    values: dict[str, SqlText] = {}
    fields: dict[str, list[_FieldValue]] = {}
    for one in assignments:
        if one.fields:
            fields.setdefault(one.column, []).append(_FieldValue(one.fields, one.value))
        else:
            values[one.column] = one.value
    for column in table.all_columns:
        if column.name in fields:
            old = f"{quote(alias)}.{quote(column.name)}"
            values[column.name] = _changed(old, column.type, 0, fields[column.name])
    return values


def _changed(old: str, kind: ColumnType, depth: int, values: Sequence[_FieldValue]) -> SqlText:
    """The value ``old`` with other values of some fields, inside ``depth`` arrays."""
    match kind:
        case StructType(fields):
            return _changed_struct(old, fields, depth, values)
        case ArrayType(element) if depth:
            name = f"x{depth}"
            changed = _changed(name, element, depth + 1, values)
            return SqlText.of(f"transform({old}, {name} -> ", changed, ")")
        case ArrayType():
            return _changed_array(old, kind, values)
    raise AssertionError(f"{kind} has no fields; the planner has refused it")


def _changed_array(old: str, kind: ArrayType, values: Sequence[_FieldValue]) -> SqlText:
    # A lambda computes what stands in it for each element. So the values are computed outside. A
    # lambda around the one for the elements hands them in, and knows no name of the user's.
    given, bound = [SqlText.of(f"'old', {old}")], []
    for number, value in enumerate(values):
        given.append(SqlText.of(f"'v{number}', ", _enclosed(value.value)))
        bound.append(_FieldValue(value.path, SqlText.of(f"{_NEW}.v{number}")))
    return SqlText.of(
        "get(transform(array(named_struct(", SqlText.join(", ", given), f")), {_NEW} -> ",
        _changed(f"{_NEW}.old", kind, 1, bound), "), 0)",
    )  # fmt: skip


def _changed_struct(
    old: str, fields: Iterable[tuple[str, ColumnType]], depth: int, values: Sequence[_FieldValue]
) -> SqlText:
    parts = []
    for name, kind in fields:
        field = f"{old}.{quote(name)}"
        inside = [_FieldValue(v.path[1:], v.value) for v in values if v.path[0] == name]
        if not inside:
            new = SqlText.of(field)
        elif inside[0].path:
            new = _changed(field, kind, depth, inside)
        else:
            new = _enclosed(inside[0].value)
        parts.append(SqlText.of(f"{literal(name)}, ", new))
    return SqlText.of("named_struct(", SqlText.join(", ", parts), ")")


def _enclosed(value: SqlText) -> SqlText:
    """The value in parentheses. The newline ends a comment that the value may end in."""
    return SqlText.of("(", value, "\n)")
