"""DELETE FROM … WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, TableRef
from acidsql.statements.with_clause import CommonTable


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM ``target`` USING … WHERE …; the WHERE keyword is not part of ``where``.

    ``relations`` are the items of USING if they are several or have joins; with one table or query,
    the statement is a Merge. ``common`` is the WITH in front.
    """

    target: TableRef
    where: Fragment | None
    relations: tuple[Fragment, ...] = ()
    common: tuple[CommonTable, ...] = ()
