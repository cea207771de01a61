"""ALTER TABLE … COMPACT."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Compact:
    """ALTER TABLE ``target`` [PARTITION (…)] COMPACT ``type`` [AND WAIT].

    ``type`` is "minor" or "major". Every ``partition`` item has a value.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    type: str
    wait: bool
