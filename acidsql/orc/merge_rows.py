"""The insert events of one input of a compaction, with the columns that the table has now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from acidsql.errors import CorruptFileError
from acidsql.layout.arrow import Array
from acidsql.model.ids import BucketId
from acidsql.model.row_id import RowId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column
from acidsql.orc.belonging import require_columns, require_kind
from acidsql.orc.evolution import current_rows
from acidsql.orc.keys import DeletedRows, Flags, Longs, RowIds, bucket_ids, longs, valid_events
from acidsql.orc.reader import OrcInput, Source, open_orc, require_acid
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    EVENT_COLUMNS,
    INSERT,
    KEY_COLUMNS,
    KEY_FIELDS,
    OPERATION,
    ROW,
)
from acidsql.orc.types import file_columns

BATCH_ROWS = 1 << 16
"""How many rows are read, filtered and converted at once."""


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
    never had other columns: a file of events with other ones belongs to another table. Stripes of
    fewer than ``small_bytes`` bytes that follow each other are merged into one. ``bucket`` is that
    of all rows, if they are of one.
    """

    path: str
    columns: tuple[Column, ...]
    compression: str = "snappy"
    by_position: bool = True
    unchanged: bool = False
    small_bytes: int = 1 << 20
    bucket: BucketId | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Which events a merge keeps: inserts that the list sees, without the deleted rows."""

    write_ids: ValidWriteIdList
    deleted: DeletedRows

    def of(self, row_ids: RowIds, current: Longs, operations: Longs | None = None) -> Flags:
        """Whether each event is kept. Without ``operations`` all events are inserts."""
        keep = valid_events(current, self.write_ids) & ~self.deleted.find(row_ids)
        return keep if operations is None else keep & (operations == INSERT)

    def of_events(self, events: pa.RecordBatch) -> Flags:
        """Whether each event of a batch with the key columns is kept."""
        current = longs(events.column(CURRENT_TRANSACTION))
        return self.of(RowIds.of(events), current, longs(events.column(OPERATION)))


def require_bucket(row_ids: RowIds, bucket: BucketId | None, path: str, what: str) -> None:
    """CorruptFileError if one of the row ids is not of the bucket that is merged.

    Deletes are looked for in the files of the same bucket alone. ``what`` says what the file does.
    """
    if bucket is not None and (bucket_ids(row_ids.bucket_properties) != bucket).any():
        raise CorruptFileError(
            f'file "{path}" {what} of another bucket than {bucket}',
            hint="CHECK TABLE shows all such files.",
        )


@contextmanager
def open_input(each: MergeInput, output: MergeOutput, *, exact: bool) -> Iterator[OrcInput]:
    """The opened file. CorruptFileError if it does not belong to the table or its directory."""
    with open_orc(each.source, each.path, each.length, exact=exact) as opened:
        if not is_plain(each, opened):
            require_acid(opened)
            require_kind(opened.tail, each.path, is_delete=False)
            if output.unchanged:
                require_columns(opened.tail, each.path, output.columns)
        yield opened


def is_plain(each: MergeInput, opened: OrcInput) -> bool:
    """Whether the file holds plain rows, to which row ids are given."""
    return each.first is not None and not opened.tail.is_acid


def first_of_stripe(each: MergeInput, opened: OrcInput, number: int) -> RowId:
    """The row id that the first row of a stripe of plain rows gets."""
    assert each.first is not None
    before = sum(stripe.rows for stripe in opened.tail.stripes[:number])
    return replace(each.first, row_number=each.first.row_number + before)


def kept_events(
    each: MergeInput, stripes: Sequence[int], kept: Kept, output: MergeOutput
) -> Iterator[pa.RecordBatch]:
    """The events that stay of these stripes of a file, in their order, in batches."""
    # EXACT timestamps: a copy must not lose a fraction that Hive wrote, and any year is possible.
    with open_input(each, output, exact=True) as opened:
        columns = file_columns(opened.tail, each.path)
        for number in stripes:
            first = first_of_stripe(each, opened, number) if is_plain(each, opened) else None
            for batch in opened.batches(number, BATCH_ROWS):
                events = batch
                if first is not None:
                    events = _plain_events(batch, first)
                    first = replace(first, row_number=first.row_number + batch.num_rows)
                keep = kept.of_events(events)
                events = events if keep.all() else events.filter(pa.array(keep))
                if events.num_rows:
                    yield _current(events, columns, each.path, output)


def _current(
    events: pa.RecordBatch, columns: Sequence[Column], path: str, output: MergeOutput
) -> pa.RecordBatch:
    by_position = output.by_position
    rows = current_rows(events.column(ROW), columns, output.columns, path, by_position=by_position)
    keys = [events.column(name) for name in KEY_COLUMNS]
    return pa.RecordBatch.from_arrays([*keys, rows], names=list(EVENT_COLUMNS))


def _plain_events(rows: pa.RecordBatch, first: RowId) -> pa.RecordBatch:
    """Insert events of plain rows, numbered from ``first``."""
    count = rows.num_rows
    row_ids = RowIds.consecutive(first, count)
    keys = (np.full(count, INSERT), *row_id_columns(row_ids), row_ids.write_ids)
    return events_of(keys, pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema)))


def row_id_columns(row_ids: RowIds) -> tuple[Longs, ...]:
    """The three event columns of row ids, in their order."""
    return row_ids.write_ids, row_ids.bucket_properties, row_ids.row_numbers


def events_of(keys: Sequence[Longs], rows: Array) -> pa.RecordBatch:
    """Events of five key columns and ``row``."""
    arrays = [pa.array(k).cast(f.type) for k, f in zip(keys, KEY_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays([*arrays, rows], names=list(EVENT_COLUMNS))
