"""ALTER TABLE … ADD and DROP CONSTRAINT, ALTER COLUMN."""

from __future__ import annotations

from acidsql.grammar.constraint import parse_column_constraint, parse_table_constraint
from acidsql.grammar.cursor import Cursor
from acidsql.model.constraint import ConstraintKind
from acidsql.statements.alter_table import AddConstraint, DropColumnConstraint, DropConstraint
from acidsql.statements.fragment import TableRef

_ADDED = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK")

ConstraintChange = AddConstraint | DropConstraint | DropColumnConstraint


def sees_constraint_change(cursor: Cursor) -> bool:
    """Whether what is done to the table is something about its constraints."""
    adds = cursor.sees_any("ADD") and cursor.peek(1).word in _ADDED
    return adds or cursor.sees("DROP", "CONSTRAINT") or cursor.sees("ALTER", "COLUMN")


def parse_constraint_change(cursor: Cursor, target: TableRef) -> ConstraintChange:
    """Parse what follows the table's name."""
    if cursor.accept("ADD"):
        return AddConstraint(target, parse_table_constraint(cursor))
    if cursor.accept("DROP", "CONSTRAINT"):
        if_exists = cursor.accept("IF", "EXISTS")
        return DropConstraint(target, cursor.name("a constraint"), if_exists)
    return _alter_column(cursor, target)


def _alter_column(cursor: Cursor, target: TableRef) -> ConstraintChange:
    """Parse ``ALTER COLUMN c SET | DROP NOT NULL | DEFAULT [e]``."""
    start = cursor.offset
    cursor.expect("ALTER", "COLUMN")
    column = cursor.name("a column")
    drops = cursor.accept("DROP")
    if (not drops and not cursor.accept("SET")) or not cursor.sees_any("NOT", "DEFAULT"):
        cursor.source.refuse(
            "this form of ALTER COLUMN is not supported",
            start,
            hint="Write SET NOT NULL, DROP NOT NULL, SET DEFAULT e or DROP DEFAULT; CHANGE COLUMN"
            " name name type gives a column another type.",
        )
    if not drops:
        constraint = parse_column_constraint(cursor, column)
        assert constraint is not None, "NOT or DEFAULT is next"
        return AddConstraint(target, constraint)
    if cursor.accept("DEFAULT"):
        return DropColumnConstraint(target, column, ConstraintKind.DEFAULT)
    cursor.expect("NOT", "NULL")
    return DropColumnConstraint(target, column, ConstraintKind.NOT_NULL)
