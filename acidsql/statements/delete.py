"""DELETE FROM … WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, TableRef


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM ``target`` WHERE …; the WHERE keyword is not part of ``where``."""

    target: TableRef
    where: Fragment | None
