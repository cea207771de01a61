"""Constraints of a table: what its rows must keep, and what its author says about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from acidsql.model.names import TableName


class ConstraintKind(Enum):
    """The kinds of constraints; the values are the words of SQL."""

    NOT_NULL = "NOT NULL"
    DEFAULT = "DEFAULT"
    CHECK = "CHECK"
    PRIMARY_KEY = "PRIMARY KEY"
    UNIQUE = "UNIQUE"
    FOREIGN_KEY = "FOREIGN KEY"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint of a table.

    ``name`` is in lower case and unique in its table. ``columns`` are the columns that it is about;
    for CHECK those that ``text`` mentions. ``text`` is the SQL of the value of DEFAULT or of the
    expression of CHECK. ``parent`` and ``parent_columns`` are what a FOREIGN KEY refers to.

    An ``enabled`` constraint is kept by every write. Keys are never enabled: they are shown, and
    nothing else. ``rely`` says that a reader may rely on it.
    """

    kind: ConstraintKind
    name: str
    columns: tuple[str, ...] = ()
    text: str = ""
    parent: TableName | None = None
    parent_columns: tuple[str, ...] = ()
    enabled: bool = True
    rely: bool = False

    def violated(self, table: TableName) -> str:
        """The fact that a row violates the constraint, in one line."""
        if self.kind is ConstraintKind.NOT_NULL:
            fact = f'column "{self.columns[0]}" of {table} cannot be null'
        else:
            text = " ".join(self.text.split())
            fact = f"a row does not satisfy CHECK ({text}) of {table}"
        return f'{fact} (constraint "{self.name}")'


def default_of(constraints: Sequence[Constraint], column: str) -> str | None:
    """The SQL of the value that a row gets in a column that it leaves out; None for NULL."""
    for constraint in _enabled(constraints, ConstraintKind.DEFAULT):
        if constraint.columns == (column,):
            return constraint.text
    return None


def requirements(constraints: Sequence[Constraint]) -> dict[str, Constraint]:
    """The NOT NULL constraints that writes keep, by their columns."""
    return {c.columns[0]: c for c in _enabled(constraints, ConstraintKind.NOT_NULL)}


def checks(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The CHECK constraints that writes keep."""
    return _enabled(constraints, ConstraintKind.CHECK)


def _enabled(constraints: Sequence[Constraint], kind: ConstraintKind) -> list[Constraint]:
    return [c for c in constraints if c.kind is kind and c.enabled]
