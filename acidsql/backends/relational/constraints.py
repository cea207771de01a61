"""Rows of KEY_CONSTRAINTS."""

from __future__ import annotations

import json
from typing import Any

from acidsql.backends.relational.connection import Row
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import TableName


def parameters_of(constraint: Constraint) -> dict[str, Any]:
    """The values that a row of the constraint has."""
    parent = constraint.parent
    return {
        "name": constraint.name,
        "type": constraint.kind.value,
        "columns": json.dumps(constraint.columns),
        "expression": constraint.text,
        "parent_database": parent.database if parent is not None else None,
        "parent_table": parent.table if parent is not None else None,
        "parent_columns": json.dumps(constraint.parent_columns),
        "enabled": int(constraint.enabled),
        "rely": int(constraint.rely),
    }


def constraint_of(row: Row) -> Constraint:
    """The constraint of a row."""
    name, kind, columns, text, database, table, parent_columns, enabled, rely = row
    return Constraint(
        kind=ConstraintKind(kind),
        name=name,
        columns=tuple(json.loads(columns)),
        text=text,
        parent=None if database is None else TableName(database, table),
        parent_columns=tuple(json.loads(parent_columns)),
        enabled=bool(enabled),
        rely=bool(rely),
    )
