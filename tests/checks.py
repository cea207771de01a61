"""What a table must look like after everything a test does to it, and the rows it then has.

What is wrong with names and files is for CHECK TABLE to find. The rows are read apart from the
package's own reading: events are merged in plain Python.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.orc as pa_orc

from acidsql.backends.storage.local import LocalStorage
from acidsql.check.directory import check_directories
from acidsql.check.names import Names, name_problems
from acidsql.engines.selection import directory_state
from acidsql.execution.snapshots import table_directories
from acidsql.layout.acid_state import AcidState
from acidsql.layout.missing import missing_writes
from acidsql.model.ids import WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store

RowKey = tuple[int, int, int]
"""Write id, bucket property, row number."""


@dataclass(frozen=True)
class Event:
    """One event as the file holds it."""

    operation: int
    row_id: RowKey
    write_id: int
    row: Mapping[str, Any] | None


@dataclass
class Contents:
    """What a snapshot sees of one directory: rows by their row ids, and the rows deleted."""

    partition: PartitionName | None
    rows: dict[RowKey, Mapping[str, Any]] = field(default_factory=dict)
    deleted: set[RowKey] = field(default_factory=set)


def check_table(
    store: Store, name: TableName, but: frozenset[ProblemKind] = frozenset()
) -> list[tuple[Any, ...]]:
    """The visible rows of a table, partition values as text behind, if nothing is wrong with it.

    Problems of the kinds ``but`` do not count.
    """
    txns = store.valid_txns()
    assert lost_writes(store, name) == []
    found = check_snapshot(_snapshot(store, name, txns), txns, but)
    return [row for held in found for row in visible_rows(store.table(name), held)]


def _snapshot(store: Store, name: TableName, txns: ValidTxnList) -> TableSnapshot:
    table = store.table(name)
    return TableSnapshot(
        table,
        tuple(table_directories(store, table)),
        store.valid_write_ids([name], txns)[name],
    )


def lost_writes(store: Store, name: TableName) -> list[tuple[str, list[WriteId]]]:
    """The table's places, with the write ids committed there of which no directory is left."""
    txns = store.valid_txns()
    snapshot = _snapshot(store, name, txns)
    storage, committed, lost = LocalStorage(), store.committed_writes(name), []
    for place in snapshot.partitions:
        partition = None if place.name is None else str(place.name)
        ids = [w.write_id for w in committed if w.partition == partition]
        listing = storage.list_files(place.location), storage.list_directories(place.location)
        if found := missing_writes(*listing, ids, snapshot.write_ids, txns):
            lost.append((place.location, found))
    return lost


def visible_rows(table: Table, contents: Contents) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples in the order of the table's columns, which is that of the files.

    What a file has no column for is null: columns only ever come behind the others.
    """
    behind = contents.partition.values if contents.partition else ()
    for row in contents.rows.values():
        lacking = [None] * (len(table.columns) - len(row))
        yield (*row.values(), *lacking, *behind)


def check_snapshot(
    snapshot: TableSnapshot, txns: ValidTxnList, but: frozenset[ProblemKind] = frozenset()
) -> list[Contents]:
    """What the snapshot sees, directory by directory, if nothing is wrong with it."""
    found = [p for p in problems(snapshot, txns) if p.kind not in but]
    assert found == [], found
    return contents(snapshot, txns)


def contents(
    snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage | None = None
) -> list[Contents]:
    """What the snapshot sees, directory by directory, whatever else is there."""
    return read_contents(snapshot, chosen(snapshot, txns, storage))


def chosen(
    snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage | None = None
) -> list[AcidState]:
    """What the snapshot reads of each directory, as it is listed now."""
    there = storage or LocalStorage()
    return [directory_state(snapshot, p, txns, there) for p in snapshot.partitions]


def read_contents(snapshot: TableSnapshot, states: Sequence[AcidState]) -> list[Contents]:
    """`contents`, of what was chosen before."""
    pairs = zip(snapshot.partitions, states, strict=True)
    return [_read_directory(snapshot, place, state) for place, state in pairs]


def problems(snapshot: TableSnapshot, txns: ValidTxnList) -> list[Problem]:
    """What CHECK TABLE finds, without a store."""
    storage, found = LocalStorage(), []
    names = Names(snapshot.table.kind, snapshot.write_ids, snapshot.write_ids.high_watermark)
    for place in snapshot.partitions:
        files = storage.list_files(place.location)
        directories = storage.list_directories(place.location)
        found += name_problems(files, directories, names)
    return [*found, *check_directories(snapshot, txns, storage).problems]


def _read_directory(
    snapshot: TableSnapshot, place: PartitionLocation, state: AcidState
) -> Contents:
    root = Path(place.location)
    assert not state.originals
    valid = snapshot.write_ids.is_valid
    held = Contents(place.name)
    base = [state.base] if state.base else []
    for directory in (*base, *state.deltas):
        for file in directory.files:
            side = None if file.side_file is None else root / file.side_file
            for event in read_events(root / file.path, side):
                if valid(event.write_id):
                    assert event.row is not None
                    held.rows[event.row_id] = event.row
    for directory in state.delete_deltas:
        for file in directory.files:
            for event in read_events(root / file.path):
                if valid(event.write_id):
                    held.deleted.add(event.row_id)
                    held.rows.pop(event.row_id, None)
    return held


def read_events(path: Path, side_file: Path | None = None) -> Iterator[Event]:
    """The events of a file, by pyarrow alone; up to the last length in its side file."""
    length = None if side_file is None else _last_length(side_file)
    data = path.read_bytes()[:length]
    table = pa_orc.ORCFile(io.BytesIO(data)).read()
    for line in table.to_pylist():
        row_id = (line["originalTransaction"], line["bucket"], line["rowId"])
        yield Event(line["operation"], row_id, line["currentTransaction"], line["row"])


def _last_length(side_file: Path) -> int | None:
    """None where the stream has ended since the listing: then all of the file is valid."""
    try:
        lengths = side_file.read_bytes()
    except FileNotFoundError:
        return None
    whole = len(lengths) // 8 * 8
    return int.from_bytes(lengths[whole - 8 : whole], "big")
