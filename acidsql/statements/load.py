"""LOAD DATA."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD DATA [LOCAL] INPATH ``path`` [OVERWRITE] INTO TABLE ``target`` [PARTITION (…)].

    Every ``partition`` item has a value. ``line`` and ``column`` are the place of the path.
    """

    target: TableRef
    path: str
    local: bool
    overwrite: bool
    partition: tuple[PartitionValue, ...]
    line: int
    column: int
