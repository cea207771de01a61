"""ALTER TABLE … COMPACT, and ABORT COMPACTIONS."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.ids import CompactionId
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class SortItem:
    """``column`` [ASC | DESC] [NULLS FIRST | LAST]. ``nulls_first`` is None if nothing is said."""

    column: Identifier
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Compact:
    """ALTER TABLE ``target`` [PARTITION (…)] COMPACT ``type`` and its clauses.

    ``type`` is "minor", "major" or "rebalance". Every ``partition`` item has a value. ``buckets``
    and ``order`` are given for a rebalance only. ``properties`` stand behind WITH OVERWRITE
    TBLPROPERTIES.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    type: str
    wait: bool
    buckets: int | None = None
    pool: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    order: tuple[SortItem, ...] = ()


@dataclass(frozen=True, slots=True)
class AbortCompactions:
    """ABORT COMPACTIONS ``compaction_ids``, which are those of SHOW COMPACTIONS."""

    compaction_ids: tuple[CompactionId, ...]
