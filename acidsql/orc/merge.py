"""Compaction of one bucket of one partition: its files are merged into one.

Order and the choice among events of one row follow Hive's OrcRawRecordMerger. Insert files are
sorted and do not overlap in row id, so inserts are concatenated stripe by stripe. Only where an
input breaks this rule are events sorted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array, DataType
from acidsql.model.row_id import RowId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column
from acidsql.orc.belonging import require_columns, require_kind
from acidsql.orc.evolution import current_rows
from acidsql.orc.keys import (
    DeletedRows,
    Longs,
    RowIds,
    UnsortedEventsError,
    longs,
    valid_events,
)
from acidsql.orc.reader import OrcInput, Source, open_orc, read_deletes, require_acid
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    DELETE,
    EVENT_COLUMNS,
    INSERT,
    KEY_COLUMNS,
    KEY_FIELDS,
    OPERATION,
    ROW,
    ROW_ID_COLUMNS,
)
from acidsql.orc.types import file_columns
from acidsql.orc.writer import EventWriter, WrittenFile


@dataclass(frozen=True, slots=True)
class MergeInput:
    """A file to be merged. ``length`` has the meaning it has in `open_orc`.

    ``first`` is given for a file of plain rows, an original or loaded one. It is the row id of the
    first row; the row numbers of the others follow.
    """

    source: Source
    path: str
    length: int | None = None
    first: RowId | None = None


@dataclass(frozen=True, slots=True)
class MergeOutput:
    """Where the merged file goes, its columns and its compression.

    ``by_position`` has the meaning it has in `current_rows`. ``unchanged`` says that the table
    never had other columns: a file of events with other ones belongs to another table.
    """

    path: str
    columns: tuple[Column, ...]
    compression: str = "snappy"
    by_position: bool = True
    unchanged: bool = False


def merge_major(
    inserts: Sequence[MergeInput],
    deletes: Sequence[MergeInput],
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> WrittenFile:
    """Write a base's bucket file: the rows that the list sees and no valid event deletes.

    Row ids and current write ids stay. A file is written even when no row is left.
    """
    row_ids, current = _delete_events(deletes, valid_write_ids)
    del current
    return _write_inserts(inserts, DeletedRows(row_ids), valid_write_ids, output)


def merge_minor_inserts(
    inserts: Sequence[MergeInput],
    deletes: Sequence[MergeInput],
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> WrittenFile | None:
    """Write a delta's bucket file: all rows the list sees, deleted or not. None if there is no row.

    The exception is a row that its own write id deletes: it is left out, its delete event stays.
    """
    row_ids, current = _delete_events(deletes, valid_write_ids)
    own = row_ids.where(current == row_ids.write_ids)
    return _unless_empty(_write_inserts(inserts, DeletedRows(own), valid_write_ids, output))


def merge_minor_deletes(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList, output: MergeOutput
) -> WrittenFile | None:
    """Write a delete delta's bucket file: all valid delete events, sorted. None if there are none.

    Of several deletes of one row the earliest stays: a snapshot that sees a later one sees it, too.
    Two deletes of one row would make Hive's readers miss deletes of other rows.
    """
    return _write_deletes(*_delete_events(deletes, valid_write_ids), output)


def merge_others_deletes(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList, output: MergeOutput
) -> WrittenFile | None:
    """`merge_minor_deletes` without deletes of rows that the same write id inserted.

    Only for files that no other transaction reads yet. `merge_minor_inserts` leaves these rows out;
    a reader that saw the new delete delta but the old delta would see the rows again.
    """
    row_ids, current = _delete_events(deletes, valid_write_ids)
    others = current != row_ids.write_ids
    return _write_deletes(row_ids.where(others), current[others], output)


def write_no_events(output: MergeOutput) -> WrittenFile:
    """Write a file without events, for a directory that must exist."""
    return _write_all(iter(()), output)


def _write_deletes(row_ids: RowIds, current: Longs, output: MergeOutput) -> WrittenFile | None:
    earliest = _first_of_each(row_ids, current)
    row_ids, current = row_ids.where(earliest), current[earliest]
    if not len(row_ids):
        return None
    keys = (np.full(len(row_ids), DELETE), *_parts(row_ids), current)
    with EventWriter(output.path, output.columns, output.compression) as writer:
        writer.write_events(_events(keys, pa.nulls(len(row_ids), _row_type(output))))
    return writer.close()


def _write_inserts(
    inputs: Sequence[MergeInput],
    deleted: DeletedRows,
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> WrittenFile:
    ordered = _in_order(inputs)
    if ordered is not None:
        try:
            return _write_all(_batches(ordered, deleted, valid_write_ids, output), output)
        except UnsortedEventsError:
            # One of the files is not sorted. The writer has removed its output.
            pass
    batches = _batches(inputs, deleted, valid_write_ids, output)
    return _write_all(_sorted(list(batches)), output)


def _write_all(batches: Iterator[pa.RecordBatch], output: MergeOutput) -> WrittenFile:
    with EventWriter(output.path, output.columns, output.compression) as writer:
        for batch in batches:
            writer.write_events(batch)
    return writer.close()


def _batches(
    inputs: Sequence[MergeInput],
    deleted: DeletedRows,
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> Iterator[pa.RecordBatch]:
    """The insert events that stay, one stripe at a time, with the table's columns."""
    for each in inputs:
        for events, columns in _stripes(each, output):
            row_ids = RowIds.of(events)
            keep = valid_events(longs(events.column(CURRENT_TRANSACTION)), valid_write_ids)
            keep &= longs(events.column(OPERATION)) == INSERT
            keep &= ~deleted.find(row_ids)
            kept = events if keep.all() else events.filter(pa.array(keep))
            if kept.num_rows:
                rows = current_rows(
                    kept.column(ROW),
                    columns,
                    output.columns,
                    each.path,
                    by_position=output.by_position,
                )
                keys = [kept.column(name) for name in KEY_COLUMNS]
                yield pa.RecordBatch.from_arrays([*keys, rows], names=list(EVENT_COLUMNS))


def _stripes(
    each: MergeInput, output: MergeOutput
) -> Iterator[tuple[pa.RecordBatch, Sequence[Column]]]:
    """The events of each stripe, and the columns that their rows have in the file."""
    # EXACT timestamps: a copy must not lose a fraction that Hive wrote, and any year is possible.
    with open_orc(each.source, each.path, each.length, exact=True) as opened:
        columns = file_columns(opened.tail, each.path)
        if each.first is None or opened.tail.is_acid:
            require_acid(opened)
            require_kind(opened.tail, each.path, is_delete=False)
            if output.unchanged:
                require_columns(opened.tail, each.path, output.columns)
            yield from ((events, columns) for events in opened.stripes())
            return
        first = each.first
        for batch in opened.stripes():
            yield _plain_events(batch, first), columns
            first = replace(first, row_number=first.row_number + batch.num_rows)


def _plain_events(rows: pa.RecordBatch, first: RowId) -> pa.RecordBatch:
    """Insert events of plain rows, numbered from ``first``."""
    count = rows.num_rows
    row_ids = RowIds.consecutive(first, count)
    keys = (np.full(count, INSERT), *_parts(row_ids), row_ids.write_ids)
    return _events(keys, pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema)))


def _in_order(inputs: Sequence[MergeInput]) -> list[MergeInput] | None:
    """The inputs that have rows, by first row id; None when the row ids of two overlap."""
    bounds = []
    for each in inputs:
        with open_orc(each.source, each.path, each.length) as opened:
            if opened.tail.rows:
                bounds.append((*_bounds(opened, each.first), each))
    bounds.sort(key=lambda bound: bound[0])
    for (_, last, _), (first, _, _) in pairwise(bounds):
        if first <= last:
            return None
    return [each for _, _, each in bounds]


def _bounds(opened: OrcInput, first: RowId | None) -> tuple[RowId, RowId]:
    """The row ids of the first and the last row."""
    if first is not None and not opened.tail.is_acid:
        return first, replace(first, row_number=first.row_number + opened.tail.rows - 1)
    require_acid(opened)
    filled = [at for at, stripe in enumerate(opened.tail.stripes) if stripe.rows]
    begin = RowIds.of(opened.stripe(filled[0], ROW_ID_COLUMNS))
    end = RowIds.of(opened.stripe(filled[-1], ROW_ID_COLUMNS)) if len(filled) > 1 else begin
    return begin[0], end[-1]


def _sorted(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All events as one sorted batch. Of events with one row id the newest write id's stays."""
    if not batches:
        return
    events = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    newest_first = -longs(events.column(CURRENT_TRANSACTION))
    newest = _first_of_each(RowIds.of(events), newest_first)
    yield events.take(pa.array(newest, pa.int64()))


def _first_of_each(row_ids: RowIds, among_equals: Longs) -> NDArray[np.intp]:
    """The positions of the row ids, sorted; of equal row ids only the first by ``among_equals``."""
    order = row_ids.order(among_equals)
    is_new = np.concatenate([np.ones(min(1, len(order)), np.bool_), row_ids.where(order).ascends()])
    result: NDArray[np.intp] = order[is_new]
    return result


def _delete_events(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList
) -> tuple[RowIds, Longs]:
    """Row ids and current write ids of all valid delete events."""
    tables = [read_deletes(d.source, d.path, length=d.length) for d in deletes]
    empty = pa.schema([f for f in KEY_FIELDS if f.name != OPERATION]).empty_table()
    events = pa.concat_tables([empty, *tables])
    current = longs(events.column(CURRENT_TRANSACTION))
    valid = valid_events(current, valid_write_ids)
    return RowIds.of(events).where(valid), current[valid]


def _events(keys: Sequence[Longs], rows: Array) -> pa.RecordBatch:
    arrays = [pa.array(k).cast(f.type) for k, f in zip(keys, KEY_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays([*arrays, rows], names=list(EVENT_COLUMNS))


def _parts(row_ids: RowIds) -> tuple[Longs, ...]:
    return row_ids.write_ids, row_ids.bucket_properties, row_ids.row_numbers


def _row_type(output: MergeOutput) -> DataType:
    return pa.struct([(c.name, pa.null()) for c in output.columns])


def _unless_empty(written: WrittenFile) -> WrittenFile | None:
    if written.rows:
        return written
    os.remove(written.path)
    return None
