"""LOAD DATA."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD DATA [LOCAL] INPATH ``path`` [OVERWRITE] INTO TABLE ``target`` [PARTITION (…)].

    Every ``partition`` item has a value. ``line`` and ``column`` are the place of the path.
    ``places`` are set for an IMPORT: the directories below the path, each with the name of its
    partition.
    """

    target: TableRef
    path: str
    local: bool
    overwrite: bool
    partition: tuple[PartitionValue, ...]
    line: int
    column: int
    places: tuple[tuple[str | None, str], ...] = ()
