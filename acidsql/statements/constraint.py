"""Constraints, as CREATE TABLE and ALTER TABLE write them."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.constraint import ConstraintKind
from acidsql.statements.fragment import Fragment, Identifier, TableRef


@dataclass(frozen=True, slots=True)
class ConstraintDefinition:
    """[CONSTRAINT ``name``] NOT NULL | DEFAULT ``value`` | CHECK (``value``) | a key.

    ``columns`` are those that it is about; for CHECK those that the expression mentions.
    ``line`` and ``column`` are the place of its first word.
    """

    kind: ConstraintKind
    name: Identifier | None
    columns: tuple[Identifier, ...]
    line: int
    column: int
    value: Fragment | None = None
    parent: TableRef | None = None
    parent_columns: tuple[Identifier, ...] = ()
    enabled: bool = True
    rely: bool = False
