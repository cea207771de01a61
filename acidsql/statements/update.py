"""UPDATE … SET … WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef, Value


@dataclass(frozen=True, slots=True)
class Assignment:
    """``column`` = ``value``: an expression over the old row, or DEFAULT."""

    column: Identifier
    value: Value


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE ``target`` SET … WHERE …; the WHERE keyword is not part of ``where``.

    ``assignments`` set no column twice.
    """

    target: TableRef
    assignments: tuple[Assignment, ...]
    where: Fragment | None
