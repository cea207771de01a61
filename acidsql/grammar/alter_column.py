"""ALTER TABLE … ALTER [COLUMN]: the constraints, the type or the comment of one column."""

from __future__ import annotations

from acidsql.grammar.constraint import parse_column_constraint
from acidsql.grammar.create_table import parse_type_text
from acidsql.grammar.cursor import Cursor
from acidsql.model.constraint import ConstraintKind
from acidsql.statements.alter_table import AddConstraint, ChangeColumn, DropColumnConstraint
from acidsql.statements.fragment import Identifier, TableRef


def parse_alter_column(
    cursor: Cursor, target: TableRef
) -> AddConstraint | DropColumnConstraint | ChangeColumn:
    """Parse ``ALTER [COLUMN] c SET | DROP NOT NULL | DEFAULT [e]``, or Spark's other forms."""
    start = cursor.offset
    cursor.expect("ALTER")
    cursor.accept("COLUMN")
    column = cursor.name("a column")
    if cursor.sees_any("TYPE", "COMMENT", "FIRST", "AFTER") or cursor.sees("SET", "DATA", "TYPE"):
        return changed_column(cursor, target, column)
    drops = cursor.accept("DROP")
    if (not drops and not cursor.accept("SET")) or not cursor.sees_any("NOT", "DEFAULT"):
        cursor.source.refuse(
            "this form of ALTER COLUMN is not supported",
            start,
            hint="Write TYPE t, COMMENT s, SET NOT NULL, DROP NOT NULL, SET DEFAULT e or DROP"
            " DEFAULT.",
        )
    if not drops:
        constraint = parse_column_constraint(cursor, column)
        assert constraint is not None, "NOT or DEFAULT is next"
        return AddConstraint(target, constraint)
    if cursor.accept("DEFAULT"):
        return DropColumnConstraint(target, column, ConstraintKind.DEFAULT)
    cursor.expect("NOT", "NULL")
    return DropColumnConstraint(target, column, ConstraintKind.NOT_NULL)


def changed_column(cursor: Cursor, target: TableRef, column: Identifier) -> ChangeColumn:
    """Parse ``[SET DATA] TYPE t``, ``COMMENT s``, ``FIRST`` or ``AFTER c``, which keep the name."""
    if cursor.accept("COMMENT"):
        return ChangeColumn(target, column, column, comment=cursor.string("a comment in quotes"))
    if cursor.accept("FIRST"):
        return ChangeColumn(target, column, column, first=True)
    if cursor.accept("AFTER"):
        return ChangeColumn(target, column, column, after=cursor.name("a column"))
    cursor.accept("SET", "DATA")
    cursor.expect("TYPE")
    return ChangeColumn(target, column, column, parse_type_text(cursor))
