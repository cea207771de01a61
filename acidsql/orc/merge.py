"""Compaction of one bucket of one partition: its files are merged into one.

Order and the choice among events of one row follow Hive's OrcRawRecordMerger.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.keys import DeletedRows, Longs, RowIds, longs, valid_events
from acidsql.orc.merge_inserts import merge_inserts, write_events
from acidsql.orc.merge_rows import (
    Kept,
    MergeInput,
    MergeOutput,
    require_bucket,
    row_id_columns,
)
from acidsql.orc.reader import read_deletes
from acidsql.orc.schema import CURRENT_TRANSACTION, KEY_FIELDS, OPERATION, ROW_ID_COLUMNS
from acidsql.orc.writer import EventWriter, WrittenFile


def merge_major(
    inserts: Sequence[MergeInput],
    deletes: Sequence[MergeInput],
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> WrittenFile:
    """Write a base's bucket file: the rows that the list sees and no valid event deletes.

    Row ids and current write ids stay. A file is written even when no row is left.
    """
    row_ids, _ = _delete_events(deletes, valid_write_ids, output)
    return merge_inserts(inserts, Kept(valid_write_ids, DeletedRows(row_ids)), output)


def merge_minor_inserts(
    inserts: Sequence[MergeInput],
    deletes: Sequence[MergeInput],
    valid_write_ids: ValidWriteIdList,
    output: MergeOutput,
) -> WrittenFile | None:
    """Write a delta's bucket file: all rows the list sees, deleted or not. None if there is no row.

    The exception is a row that its own write id deletes: it is left out, its delete event stays.
    """
    row_ids, current = _delete_events(deletes, valid_write_ids, output)
    own = row_ids.where(current == row_ids.write_ids)
    kept = Kept(valid_write_ids, DeletedRows(own))
    return _unless_empty(merge_inserts(inserts, kept, output))


def merge_minor_deletes(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList, output: MergeOutput
) -> WrittenFile | None:
    """Write a delete delta's bucket file: all valid delete events, sorted. None if there are none.

    Of several deletes of one row the earliest stays: a snapshot that sees a later one sees it, too.
    Two deletes of one row would make Hive's readers miss deletes of other rows.
    """
    return _write_deletes(*_delete_events(deletes, valid_write_ids, output), output)


def merge_others_deletes(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList, output: MergeOutput
) -> WrittenFile | None:
    """`merge_minor_deletes` without deletes of rows that the same write id inserted.

    Only for files that no other transaction reads yet. `merge_minor_inserts` leaves these rows out;
    a reader that saw the new delete delta but the old delta would see the rows again.
    """
    row_ids, current = _delete_events(deletes, valid_write_ids, output)
    others = current != row_ids.write_ids
    return _write_deletes(row_ids.where(others), current[others], output)


def write_no_events(output: MergeOutput) -> WrittenFile:
    """Write a file without events, for a directory that must exist."""
    return write_events((), output, output.path)


def _write_deletes(row_ids: RowIds, current: Longs, output: MergeOutput) -> WrittenFile | None:
    earliest = row_ids.first_of_each(current)
    row_ids, current = row_ids.where(earliest), current[earliest]
    if not len(row_ids):
        return None
    columns = [pa.array(column) for column in row_id_columns(row_ids)]
    ids = pa.RecordBatch.from_arrays(columns, names=list(ROW_ID_COLUMNS))
    with EventWriter(output.path, output.columns, output.compression) as writer:
        writer.write_deletes(ids, current)
    return writer.close()


def _delete_events(
    deletes: Sequence[MergeInput], valid_write_ids: ValidWriteIdList, output: MergeOutput
) -> tuple[RowIds, Longs]:
    """Row ids and current write ids of all valid delete events.

    CorruptFileError for a file that deletes rows of another bucket: they would come back.
    """
    tables = []
    for each in deletes:
        table = read_deletes(each.source, each.path, length=each.length)
        tables.append(table)
        require_bucket(RowIds.of(table), output.bucket, each.path, "deletes rows")
    empty = pa.schema([f for f in KEY_FIELDS if f.name != OPERATION]).empty_table()
    events = pa.concat_tables([empty, *tables])
    current = longs(events.column(CURRENT_TRANSACTION))
    valid = valid_events(current, valid_write_ids)
    return RowIds.of(events).where(valid), current[valid]


def _unless_empty(written: WrittenFile) -> WrittenFile | None:
    if written.rows:
        return written
    os.remove(written.path)
    return None
