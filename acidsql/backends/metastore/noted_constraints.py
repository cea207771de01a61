"""A note of a table's constraints beside the table, while the metastore has none.

They are dropped before a column changes, and added afterwards. If this process dies in between, the
note says what is to be added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import SqlError, UnsupportedStatementError
from acidsql.grammar.constraint import constraint_expression
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import TableName
from acidsql.model.table import NOTED_CONSTRAINTS

Struct = Any
"""A struct of the IDL: thriftpy2 makes its class when it loads the IDL."""

_WITH_TEXT = (ConstraintKind.DEFAULT, ConstraintKind.CHECK)


def note(struct: Struct, constraints: Sequence[Constraint]) -> None:
    """Note constraints in a Table."""
    text = json.dumps([_described(constraint) for constraint in constraints])
    struct.parameters = {**(struct.parameters or {}), NOTED_CONSTRAINTS: text}


def forget_note(struct: Struct) -> bool:
    """Remove the note from a Table. Returns whether there was one."""
    return (struct.parameters or {}).pop(NOTED_CONSTRAINTS, None) is not None


def noted(struct: Struct) -> tuple[Constraint, ...] | None:
    """The constraints that are noted in a Table; None if it has no note.

    UnsupportedStatementError for a note that acidsql cannot have written.
    """
    text = (struct.parameters or {}).get(NOTED_CONSTRAINTS)
    if text is None:
        return None
    try:
        described = json.loads(text)
        if not isinstance(described, list):
            raise TypeError("it is no list")
        return tuple(map(_constraint, described))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, SqlError) as error:
        raise UnsupportedStatementError(
            f"the property '{NOTED_CONSTRAINTS}' is no note of acidsql about constraints",
            detail=f"{type(error).__name__}: {error}"[:200],
            hint="It has the constraints that a change of a column was about to add. Add them in"
            " Hive, and unset the property there.",
        ) from error


def _described(constraint: Constraint) -> Mapping[str, Any]:
    parent = constraint.parent
    return {
        "kind": constraint.kind.value,
        "name": constraint.name,
        "columns": constraint.columns,
        "text": constraint.text,
        "parent": None if parent is None else [parent.database, parent.table],
        "parent_columns": constraint.parent_columns,
        "enabled": constraint.enabled,
        "rely": constraint.rely,
    }


def _constraint(found: Mapping[str, Any]) -> Constraint:
    kind, text, parent = ConstraintKind(found["kind"]), found["text"], found["parent"]
    if kind in _WITH_TEXT:
        text = constraint_expression(kind, text).row_text
    return Constraint(
        kind=kind,
        name=_text(found["name"]),
        columns=tuple(map(_text, found["columns"])),
        text=text,
        parent=None if parent is None else TableName.of(*map(_text, parent)),
        parent_columns=tuple(map(_text, found["parent_columns"])),
        enabled=found["enabled"] is True,
        rely=found["rely"] is True,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
