"""ALTER TABLE … ADD, DROP and RENAME PARTITION, and MSCK REPAIR TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class NewPartition:
    """``PARTITION (…) [LOCATION s]``; every item has a value."""

    values: tuple[PartitionValue, ...]
    location: str | None


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """ALTER TABLE ``target`` ADD [IF NOT EXISTS] PARTITION (…) [LOCATION s] …."""

    target: TableRef
    if_not_exists: bool
    partitions: tuple[NewPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionCondition:
    """``column operator value``; the operator is one of =, !=, <, <=, >, >=."""

    column: Identifier
    operator: str
    value: Fragment


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """ALTER TABLE ``target`` DROP [IF EXISTS] PARTITION (…), ….

    Each item of ``partitions`` is one PARTITION (…). It drops the partitions that meet all of its
    conditions.
    """

    target: TableRef
    if_exists: bool
    partitions: tuple[tuple[PartitionCondition, ...], ...]


@dataclass(frozen=True, slots=True)
class RenamePartition:
    """ALTER TABLE ``target`` PARTITION (…) RENAME TO PARTITION (…); every item has a value."""

    target: TableRef
    partition: tuple[PartitionValue, ...]
    renamed: tuple[PartitionValue, ...]


@dataclass(frozen=True, slots=True)
class RepairTable:
    """MSCK [REPAIR] TABLE ``target`` [ADD | DROP | SYNC PARTITIONS].

    Without REPAIR it changes nothing.
    """

    target: TableRef
    add: bool
    drop: bool
    repair: bool = True
