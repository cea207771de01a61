"""VACUUM."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Vacuum:
    """VACUUM ``target`` [PARTITION (…)] [DRY RUN]. Every ``partition`` item has a value."""

    target: TableRef
    partition: tuple[PartitionValue, ...] = ()
    dry_run: bool = False
