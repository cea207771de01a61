"""DELETE FROM … WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, TableRef
from acidsql.statements.with_clause import CommonTable


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM ``target`` WHERE …; the WHERE keyword is not part of ``where``.

    ``common`` is the WITH in front.
    """

    target: TableRef
    where: Fragment | None
    common: tuple[CommonTable, ...] = ()
