"""What must hold of the files of a full-ACID table, whoever wrote them.

`check_table` walks the directories of a table, checks each file by itself and the visible ones
together, and yields the rows a reader must see: it merges events in plain Python and shares no
reading code with the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.engines.selection import directory_state
from acidsql.filesystems import LocalStorage
from acidsql.layout.bucketing import bucket_numbers
from acidsql.layout.dir_names import BaseDir, DeltaDir, parse_directory
from acidsql.model.names import PartitionName, TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table
from acidsql.orc.footer import ACID_VERSION, KEY_INDEX, STATS, read_tail
from acidsql.plans.engine import TableSnapshot
from acidsql.services.snapshots import table_directories
from acidsql.store import Store

RowKey = tuple[int, int, int]
"""Write id, bucket property, row number."""

_COLUMNS = ["operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"]
_SIDE_FILES = {"_orc_acid_version": b"2", "_metadata_acid": None}


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


def check_table(store: Store, name: TableName) -> list[tuple[Any, ...]]:
    """The visible rows of a table, partition values as text behind, if every invariant holds."""
    txns = store.valid_txns()
    table = store.table(name)
    snapshot = TableSnapshot(
        table,
        tuple(table_directories(store, table)),
        store.valid_write_ids([name], txns)[name],
    )
    found = check_snapshot(snapshot, txns)
    return [row for contents in found for row in visible_rows(table, contents)]


def visible_rows(table: Table, contents: Contents) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples in the order of the table's columns."""
    behind = contents.partition.values if contents.partition else ()
    for row in contents.rows.values():
        yield (*(row[c.name] for c in table.columns), *behind)


def check_snapshot(snapshot: TableSnapshot, txns: ValidTxnList) -> list[Contents]:
    """What the snapshot sees, directory by directory."""
    return [_check_directory(snapshot, p, txns) for p in snapshot.partitions]


def _check_directory(snapshot: TableSnapshot, place: Any, txns: ValidTxnList) -> Contents:
    root = Path(place.location)
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        _check_place(snapshot.table, root, path)
    state = directory_state(snapshot, place, txns, LocalStorage())
    assert not state.originals
    valid = snapshot.write_ids.is_valid
    contents = Contents(place.name)
    base = [state.base] if state.base else []
    for directory in (*base, *state.deltas):
        for file in directory.files:
            for event in read_events(root / file.path):
                if valid(event.write_id):
                    assert event.row_id not in contents.rows, f"{event.row_id} is there twice"
                    assert event.row is not None
                    contents.rows[event.row_id] = event.row
    inserted = set(contents.rows)
    for directory in state.delete_deltas:
        for file in directory.files:
            for event in read_events(root / file.path):
                if valid(event.write_id):
                    assert event.row_id not in contents.deleted, f"{event.row_id} is deleted twice"
                    contents.deleted.add(event.row_id)
                    contents.rows.pop(event.row_id, None)
    # A base leaves deleted rows out, while a delete delta that reaches beyond it may name them.
    assert state.base is not None or contents.deleted <= inserted, "deleted, but never inserted"
    return contents


def _check_place(table: Table, root: Path, path: Path) -> None:
    """One file: nothing unknown, nothing left behind, and its contents as its names say."""
    inside = path.relative_to(root).parts
    if table.partition_columns and path.parent == root:
        raise AssertionError(f"a loose file: {path}")
    directory = parse_directory(inside[0])
    assert directory is not None, f"neither base nor delta: {path}"
    assert len(inside) == 2, f"too deep: {path}"
    assert (path.parent / "_orc_acid_version").read_bytes() == b"2"
    name = inside[1]
    if name in _SIDE_FILES:
        return
    assert name == f"bucket_{int(name[7:]):05d}", f"left behind: {path}"
    check_file(table, directory, int(name[7:]), path)


def check_file(table: Table, directory: BaseDir | DeltaDir, bucket: int, path: Path) -> None:
    """One bucket file against its directory's and its own name, and its footer."""
    events = list(read_events(path))
    keys = [e.row_id for e in events]
    assert keys == sorted(set(keys)), f"not sorted: {path}"
    is_delete = isinstance(directory, DeltaDir) and directory.is_delete
    for event in events:
        version, number, statement = _decoded(event.row_id[1])
        assert (version, number) == (1, bucket), f"bucket {number} in {path}"
        assert event.operation == (2 if is_delete else 0), path
        assert (event.row is None) == is_delete, path
        if is_delete:
            assert event.row_id[0] < event.write_id, f"a row of its own write id: {path}"
        else:
            assert event.row_id[0] == event.write_id, path
        if isinstance(directory, BaseDir):
            assert event.write_id <= directory.write_id, path
        else:
            assert directory.min_write_id <= event.write_id <= directory.max_write_id, path
            if directory.statement_id is not None and not is_delete:
                assert statement == directory.statement_id, path
    if isinstance(directory, DeltaDir) and directory.statement_id is not None and not is_delete:
        assert [k[2] for k in keys] == list(range(len(keys))), f"row numbers: {path}"
        assert events, f"an empty file: {path}"
    _check_footer(path, events)
    _check_hash(table, bucket, [e.row for e in events if e.row is not None])


def _check_footer(path: Path, events: list[Event]) -> None:
    tail = read_tail(str(path))
    assert list(tail.column_names) == _COLUMNS, path
    assert tail.row_index_stride > 0, path
    counts = Counter(e.operation for e in events)
    assert tail.metadata[STATS] == f"{counts[0]},0,{counts[2]}", path
    assert tail.metadata[ACID_VERSION] == "2", path
    last, index = -1, ""
    for stripe in tail.stripes:
        last += stripe.rows
        index += ",".join(map(str, events[last].row_id)) + ";"
    assert last == len(events) - 1, path
    assert tail.metadata[KEY_INDEX] == index, path


def _check_hash(table: Table, bucket: int, rows: list[Mapping[str, Any]]) -> None:
    bucketing = table.bucketing
    if bucketing is None or not rows:
        return
    columns = [c for name in bucketing.columns if (c := table.column(name)) is not None]
    arrays = [pa.array([row[c.name] for row in rows]) for c in columns]
    typed = [a.cast(_hashed(c.type)) for a, c in zip(arrays, columns, strict=True)]
    kinds = [c.type for c in columns]
    numbers = bucket_numbers(typed, kinds, bucketing.count, bucketing.version)
    assert set(numbers.tolist()) == {bucket}, f"rows of other buckets in bucket {bucket}"


def _hashed(kind: Any) -> pa.DataType:
    from acidsql.orc.schema import arrow_type

    return arrow_type(kind)


def read_events(path: Path) -> Iterator[Event]:
    """The events of a file, by pyarrow alone."""
    table = pa_orc.ORCFile(str(path)).read()
    for line in table.to_pylist():
        row_id = (line["originalTransaction"], line["bucket"], line["rowId"])
        yield Event(line["operation"], row_id, line["currentTransaction"], line["row"])


def _decoded(bucket_property: int) -> tuple[int, int, int]:
    return bucket_property >> 29, bucket_property >> 16 & 0xFFF, bucket_property & 0xFFF
