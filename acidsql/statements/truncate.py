"""TRUNCATE TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE [TABLE] ``target`` [PARTITION (…)]. At least one ``partition`` item has a value."""

    target: TableRef
    partition: tuple[PartitionValue, ...]
