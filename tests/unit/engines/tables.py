"""Tables, snapshots and targets for tests that write real files without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.changes import LEG, PARTITION
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.target import Target
from acidsql.model.ids import WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import HIVE4_NAMES, Bucketing, Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from tests.checks import Contents, check_snapshot

NAME = TableName("default", "t")
STORAGE = LocalStorage()
EVERYTHING = ValidTxnList.parse("")


def columns(text: str) -> tuple[Column, ...]:
    pairs = (part.split() for part in text.split(", ") if part)
    return tuple(Column(name, parse_type(kind)) for name, kind in pairs)


def table(path: Path, text: str, partitions: str = "", buckets: tuple[str, int] = ("", 0)) -> Table:
    return Table(
        name=NAME,
        columns=columns(text),
        location=str(path),
        partition_columns=columns(partitions),
        bucketing=Bucketing((buckets[0],), buckets[1]) if buckets[1] else None,
        parameters={"transactional": "true"},
    )


def with_hive4_names(of: Table) -> Table:
    return replace(of, parameters={**of.parameters, HIVE4_NAMES: "true"})


def snapshot(
    of: Table, mark: int, aborted: Sequence[int] = (), partitions: Sequence[str] = ()
) -> TableSnapshot:
    places = [PartitionLocation(PartitionName.parse(p), f"{of.location}/{p}") for p in partitions]
    return TableSnapshot(
        of,
        tuple(places) if of.partition_columns else (PartitionLocation(None, of.location),),
        ValidWriteIdList(str(NAME), WriteId(mark), aborted=frozenset(map(WriteId, aborted))),
    )


def target(of: Table, write_id: int) -> Target:
    return Target.of(snapshot(of, write_id), WriteId(write_id), STORAGE)


def contents(of: Table, mark: int, **how: Any) -> list[Contents]:
    """What a reader sees, after every check."""
    return check_snapshot(snapshot(of, mark, **how), EVERYTHING)


def changes(
    rows: Sequence[tuple[int, ...]], values: dict[str, list[Any]] | None = None
) -> pa.Table:
    """Changed rows of (partition, write id, bucket property, row number, leg)."""
    names = (PARTITION, *CHANGED_ROW_ID, LEG)
    kinds = (pa.int32(), pa.int64(), pa.int32(), pa.int64(), pa.int32())
    arrays = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    return pa.table([*arrays, *(values or {}).values()], names=[*names, *(values or {})])
