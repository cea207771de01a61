"""REFRESH, CACHE, UNCACHE and CLEAR CACHE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef


@dataclass(frozen=True, slots=True)
class Cache:
    """A statement of Spark about its cache, which is not used.

    ``target`` is the table that it names. It must be there, unless ``if_exists``. ``note`` says why
    nothing is done.
    """

    target: TableRef | None
    note: str
    if_exists: bool = False
