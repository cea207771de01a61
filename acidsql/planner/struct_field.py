"""The field of a column that SET c.f = e names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.near import near_name
from acidsql.model.table import Column, Table
from acidsql.model.types import ArrayType, ColumnType, StructType
from acidsql.statements.fragment import Default, Fragment, Identifier, Value


def find_field(column: Column, path: Sequence[Identifier], value: Value) -> tuple[str, ...]:
    """The names of the path to a field of a column, as its type has them.

    A path through an array leads to the field of every element. AnalysisError if there is no such
    field, or if ``value`` is DEFAULT; UnsupportedStatementError if it is a subquery for a field in
    an array.
    """
    if path and isinstance(value, Default):
        raise AnalysisError(
            f'DEFAULT is no value for "{path[-1].name}", a field',
            hint="Only a whole column has a default.",
            line=value.line,
            column=value.column,
        )
    kind = column.type
    names: list[str] = []
    for part in path:
        if isinstance(kind, ArrayType) and isinstance(value, Fragment):
            _refuse_subquery(value)
        fields = _fields(kind)
        name = part.name.lower()
        if name not in fields:
            raise _no_field((column.name, *names), kind, list(fields), part)
        kind = fields[name]
        names.append(name)
    return tuple(names)


def refuse_ambiguous(name: Identifier, table: Table) -> None:
    """AnalysisError if ``name``, an `Assignment.hidden`, is also a column with fields.

    On the right of the equals sign the name means that column.
    """
    column = table.column(name.name)
    if column is not None and _fields(column.type):
        raise AnalysisError(
            f'"{name.name}" is the name of the target, and of a column with fields',
            hint="Write the alias of the target in front of the column, or its name alone.",
            code=10007,
            line=name.line,
            column=name.column,
        )


def _refuse_subquery(value: Fragment) -> None:
    # Spark has no subqueries in higher-order functions, and it needs one to change each element.
    if value.tree.find(exp.Query):
        raise UnsupportedStatementError(
            "a field inside an array cannot be set to a value with a subquery",
            hint="Join the rows of the subquery by UPDATE … FROM or MERGE.",
            line=value.line,
            column=value.column,
        )


def _fields(kind: ColumnType) -> dict[str, ColumnType]:
    match kind:
        case StructType(fields):
            return dict(fields)
        case ArrayType(element):
            return _fields(element)
    return {}


def _no_field(
    path: Sequence[str], kind: ColumnType, fields: Sequence[str], part: Identifier
) -> AnalysisError:
    near = near_name(part.name, fields)
    hint = f'Did you mean "{near}"?' if near else f"Its fields are {', '.join(fields)}."
    return AnalysisError(
        f'"{".".join(path)}" of type {kind} has no field "{part.name}"',
        hint=hint if fields else "Structs have fields, and arrays of structs.",
        line=part.line,
        column=part.column,
    )
