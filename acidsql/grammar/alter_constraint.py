"""ALTER TABLE … ADD and DROP CONSTRAINT."""

from __future__ import annotations

from acidsql.grammar.constraint import parse_table_constraint
from acidsql.grammar.cursor import Cursor
from acidsql.statements.alter_table import AddConstraint, DropConstraint
from acidsql.statements.fragment import TableRef

_ADDED = ("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK")


def sees_constraint_change(cursor: Cursor) -> bool:
    """Whether what is done to the table is something about its constraints."""
    adds = cursor.sees_any("ADD") and cursor.peek(1).word in _ADDED
    return adds or cursor.sees("DROP", "CONSTRAINT")


def parse_constraint_change(cursor: Cursor, target: TableRef) -> AddConstraint | DropConstraint:
    """Parse what follows the table's name."""
    if cursor.accept("ADD"):
        return AddConstraint(target, parse_table_constraint(cursor))
    cursor.expect("DROP", "CONSTRAINT")
    if_exists = cursor.accept("IF", "EXISTS")
    return DropConstraint(target, cursor.name("a constraint"), if_exists)
