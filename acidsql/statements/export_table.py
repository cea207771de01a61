"""EXPORT TABLE and IMPORT TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class ExportTable:
    """EXPORT TABLE ``target`` [PARTITION (…)] TO ``path``.

    Every ``partition`` item has a value. ``line`` and ``column`` are the place of the path.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ImportTable:
    """IMPORT [[EXTERNAL] TABLE ``target`` [PARTITION (…)]] FROM ``path`` [LOCATION ``location``].

    ``target`` is None if the table is to be called as the exported one was.
    """

    target: TableRef | None
    partition: tuple[PartitionValue, ...]
    path: str
    line: int
    column: int
    external: bool = False
    location: str | None = None
