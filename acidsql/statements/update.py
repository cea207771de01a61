"""UPDATE … SET … WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef, Value
from acidsql.statements.with_clause import CommonTable


@dataclass(frozen=True, slots=True)
class Assignment:
    """``column`` = ``value``: an expression over the old row, or DEFAULT.

    With ``fields``, the value is that of a field of the column, which lies at this path.
    ``hidden`` is the first name in front of the column, if expressions do not know the table by it:
    the table's own name beside an alias, or its database.
    """

    column: Identifier
    value: Value
    fields: tuple[Identifier, ...] = ()
    hidden: Identifier | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE ``target`` SET … FROM … WHERE …; the WHERE keyword is not part of ``where``.

    ``assignments`` set no column or field twice. ``relations`` are the items of FROM if they are
    several or have joins; with one table or query, the statement is a Merge. ``common`` is the WITH
    in front.
    """

    target: TableRef
    assignments: tuple[Assignment, ...]
    where: Fragment | None
    relations: tuple[Fragment, ...] = ()
    common: tuple[CommonTable, ...] = ()
