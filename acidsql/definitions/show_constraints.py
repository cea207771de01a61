"""The constraints of a table, as SHOW CREATE TABLE and DESCRIBE FORMATTED print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidsql.grammar.hive_words import hive_words
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table

_OF_COLUMN = (ConstraintKind.NOT_NULL, ConstraintKind.DEFAULT)
_GENERATED = re.compile(r"[a-z]{2}_([0-9a-f]{32}|\d+_\d+_\d+)")
"""The names of constraints that acidsql or Hive has named."""
_SECTIONS = {
    ConstraintKind.PRIMARY_KEY: "# Primary Key",
    ConstraintKind.FOREIGN_KEY: "# Foreign Keys",
    ConstraintKind.UNIQUE: "# Unique Constraints",
    ConstraintKind.NOT_NULL: "# Not Null Constraints",
    ConstraintKind.DEFAULT: "# Default Constraints",
    ConstraintKind.CHECK: "# Check Constraints",
}
"""The sections of Hive's DESCRIBE FORMATTED, in its order."""
_BLANK = ("", "", "")

_DescribeRow = tuple[str, str, str]


def column_clauses(table: Table, column: Column) -> str:
    """What stands behind the type of a column in CREATE TABLE, with a space before it."""
    return "".join(
        f" {_clause(c)}"
        for c in table.constraints
        if c.kind in _OF_COLUMN and c.columns == (column.name,)
    )


def constraint_clauses(table: Table) -> list[str]:
    """What stands beside the columns in CREATE TABLE."""
    return [_clause(c) for c in table.constraints if c.kind not in _OF_COLUMN]


def _clause(constraint: Constraint) -> str:
    named = not _GENERATED.fullmatch(constraint.name)
    parts = [f"CONSTRAINT {quote(constraint.name)}"] if named else []
    parts.append(constraint.kind.value)
    match constraint.kind:
        case ConstraintKind.NOT_NULL:
            pass
        case ConstraintKind.DEFAULT:
            parts.append(hive_words(constraint.text))
        case ConstraintKind.CHECK:
            parts.append(f"({hive_words(constraint.text)})")
        case _:
            parts.append(_names(constraint.columns))
    if constraint.parent is not None:
        database, table = quote(constraint.parent.database), quote(constraint.parent.table)
        parts.append(f"REFERENCES {database}.{table} {_names(constraint.parent_columns)}")
    if not constraint.enabled:
        parts.append("DISABLE NOVALIDATE")
    if constraint.rely != constraint.enabled:
        parts.append("RELY" if constraint.rely else "NORELY")
    return " ".join(parts)


def _names(columns: Sequence[str]) -> str:
    return f"({', '.join(map(quote, columns))})"


def constraint_rows(table: Table) -> Iterator[_DescribeRow]:
    """The rows of DESCRIBE FORMATTED, in Hive's sections; none without constraints."""
    if not table.constraints:
        return
    yield from (_BLANK, ("# Constraints", "", ""))
    for kind, title in _SECTIONS.items():
        found = sorted((c for c in table.constraints if c.kind is kind), key=lambda c: c.name)
        if not found:
            continue
        yield from (_BLANK, (title, "", ""), ("Table:", str(table.name), ""))
        for constraint in found:
            yield "Constraint Name:", constraint.name, ""
            yield from _details(constraint)
            yield _BLANK


def _details(constraint: Constraint) -> Iterator[_DescribeRow]:
    columns = constraint.columns
    match constraint.kind:
        case ConstraintKind.NOT_NULL:
            yield "Column Name:", columns[0], ""
        case ConstraintKind.PRIMARY_KEY:
            yield from (("Column Name:", column, "") for column in columns)
        case ConstraintKind.DEFAULT:
            yield f"Column Name:{columns[0]}", f"Default Value:{hive_words(constraint.text)}", ""
        case ConstraintKind.CHECK:
            text = hive_words(constraint.text)
            yield f"Column Name:{', '.join(columns)}", f"Check Value:{text}", ""
        case ConstraintKind.UNIQUE:
            for number, column in enumerate(columns, 1):
                yield f"Column Name:{column}", f"Key Sequence:{number}", ""
        case ConstraintKind.FOREIGN_KEY:
            pairs = zip(constraint.parent_columns, columns, strict=True)
            for number, (parent, column) in enumerate(pairs, 1):
                yield (
                    f"Parent Column Name:{constraint.parent}.{parent}",
                    f"Column Name:{column}",
                    f"Key Sequence:{number}",
                )
