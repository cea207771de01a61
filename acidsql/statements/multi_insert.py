"""FROM … INSERT … INSERT …: several inserts that read the same relations."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment
from acidsql.statements.insert import Insert


@dataclass(frozen=True, slots=True)
class Relation:
    """A subquery or common table expression in the FROM.

    ``rows`` is a query of its rows. ``start`` is the offset at which its name stands in the FROM.
    """

    start: int
    rows: Fragment


@dataclass(frozen=True, slots=True)
class MultiInsert:
    """Several ``legs`` with one FROM. The source of each leg is ``FROM … SELECT …``.

    ``source`` is ``FROM … SELECT *``. Here and in the legs, of each of the ``relations`` only the
    name is left.
    """

    source: Fragment
    relations: tuple[Relation, ...]
    legs: tuple[Insert, ...]
