"""Checks one file against the names around it: directory, bucket, snapshot and table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from acidsql.check.events import Events, Findings, checked_events
from acidsql.engines.selection import streamed_length
from acidsql.errors import AcidSqlError
from acidsql.layout.arrow import Array
from acidsql.layout.bucketing import bucket_numbers
from acidsql.layout.dir_names import FIRST_BASE_WRITE_ID, BaseDir, DeltaDir
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.row_id import STATEMENT_ID_MAX
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.model.types import PrimitiveType
from acidsql.orc.belonging import misfit
from acidsql.orc.evolution import current_rows
from acidsql.orc.footer import FileTail
from acidsql.orc.keys import Flags, Longs, RowIds, bucket_ids, valid_events
from acidsql.orc.ranges import RowIdRanges
from acidsql.orc.reader import OrcInput, open_orc
from acidsql.orc.schema import DELETE, INSERT
from acidsql.orc.types import file_columns
from acidsql.ports.engine import PartitionLocation
from acidsql.ports.storage import Storage


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The names around a file, which tell what its events must be.

    ``in_own_files`` tells of delete events of other buckets whether the files of their own buckets
    have them, too.
    """

    table: Table
    write_ids: ValidWriteIdList
    directory: BaseDir | DeltaDir
    bucket_id: BucketId
    in_own_files: Callable[[RowIds], Flags]

    @property
    def is_delete(self) -> bool:
        """Whether the file is one of delete events."""
        return isinstance(self.directory, DeltaDir) and self.directory.is_delete


@dataclass(slots=True)
class CheckedFile:
    """The findings of a file, and the row ids that the snapshot sees in it.

    Row ids of an insert file are kept as ranges. Row ids of a delete file are kept one by one, with
    the write ids that deleted them.
    """

    path: str
    events: int = 0
    found: Findings = field(default_factory=Findings)
    unreadable: Problem | None = None
    inserted: list[RowIdRanges] = field(default_factory=list)
    _deleted: list[RowIds] = field(default_factory=list)
    _deleted_by: list[Longs] = field(default_factory=list)

    @property
    def inserted_ranges(self) -> RowIdRanges:
        """The row ids of all stripes."""
        return RowIdRanges.together(self.inserted)

    @property
    def deleted(self) -> RowIds:
        """The deleted row ids of all stripes."""
        return RowIds.together(self._deleted)

    @property
    def deleted_by(self) -> Longs:
        """The write id that deleted each of them."""
        return np.concatenate([np.zeros(0, np.int64), *self._deleted_by])

    def add(self, row_ids: RowIds, current: Longs, *, is_delete: bool) -> None:
        """Note the visible events of a stripe."""
        if is_delete:
            self._deleted.append(row_ids)
            self._deleted_by.append(current)
        else:
            self.inserted.append(RowIdRanges.of(row_ids))


@contextmanager
def open_data(
    storage: Storage, partition: PartitionLocation, file: DataFile
) -> Iterator[tuple[OrcInput, BinaryIO]]:
    """A data file and the stream that it is read from.

    A file with a side file is read up to the length that its streaming writer noted there.
    """
    path, length = f"{partition.location}/{file.path}", None
    if file.side_file is not None:
        side = f"{partition.location}/{file.side_file}"
        length = streamed_length(side, storage)
    with storage.open_input(path) as source, open_orc(source, path, length, exact=True) as opened:
        yield opened, source


def problem_of(error: AcidSqlError, path: str, partition: PartitionLocation) -> Problem:
    """An error of reading a file as a problem of the file."""
    fact = error.message.replace(f'file "{path}"', "it")
    detail = f"{fact}. {error.detail}" if error.detail else fact
    return Problem(path, ProblemKind.UNREADABLE, detail, partition.name)


def check_file(opened: OrcInput, source: BinaryIO, place: FilePlace, checked: CheckedFile) -> None:
    """Read a file from end to end. Findings and visible row ids go into ``checked``."""
    reason = schema_misfit(opened.tail, opened.path, place.table)
    if reason is not None and not place.is_delete:
        checked.found.add(ProblemKind.WRONG_SCHEMA, reason)
        return
    for events in checked_events(opened, source, checked.found):
        checked.events += len(events.row_ids)
        own = _check_places(events, place, checked.found)
        _check_write_ids(events, place, checked.found)
        if not place.is_delete:
            _check_hash(events, place, opened, checked.found)
        visible = own & valid_events(events.current, place.write_ids)
        checked.add(
            events.row_ids.where(visible), events.current[visible], is_delete=place.is_delete
        )


def schema_misfit(tail: FileTail, path: str, table: Table) -> str | None:
    """Why a file cannot belong to this table, judging by its columns; None if it can."""
    if table.is_unchanged and tail.is_acid:
        return misfit(tail, path, table.columns, unchanged=True)
    # Some readers match columns by position, others by name, whatever the table's property says.
    ways = [
        misfit(tail, path, table.columns, unchanged=False, by_position=by_position)
        for by_position in (True, False)
    ]
    return ways[0] if all(ways) else None


def _check_places(events: Events, place: FilePlace, found: Findings) -> Flags:
    """Check operations and bucket properties. Returns which events belong to this file's bucket."""
    ids, operations = events.row_ids, events.operations
    wanted = DELETE if place.is_delete else INSERT
    what = "the event is not a delete" if place.is_delete else "the event is not an insert"
    found.add_events(ProblemKind.WRONG_EVENT, what, operations != wanted, ids)
    if not place.is_delete and events.rows.null_count:
        nulls = np.asarray(events.rows.is_null())
        found.add_events(ProblemKind.WRONG_EVENT, "an insert without a row", nulls, ids)
    version = ids.bucket_properties >> 29
    known = (version == 0) | (version == 1)
    what = "the bucket property has an unknown codec"
    found.add_events(ProblemKind.WRONG_BUCKET, what, ~known, ids)
    buckets, statements = _decoded(ids.bucket_properties)
    own = known & (buckets == place.bucket_id)
    foreign = known & ~own
    if place.is_delete and foreign.any():
        copies = np.zeros(len(ids), np.bool_)
        copies[foreign] = place.in_own_files(ids.where(foreign))
        what = "the file of its own bucket has it too, as after a minor compaction of Hive 3"
        found.add_events(ProblemKind.COPIED_DELETE, what, copies, ids)
        foreign &= ~copies
    what = f"the bucket property is not of bucket {place.bucket_id}"
    found.add_events(ProblemKind.WRONG_BUCKET, what, foreign, ids)
    _check_statements(events, statements, place, found)
    result: Flags = own & (operations == wanted)
    return result


def _decoded(properties: Longs) -> tuple[Longs, Longs]:
    """Bucket and statement of each bucket property, codec 0 or 1."""
    statements = np.where(properties >> 29 == 1, properties & STATEMENT_ID_MAX, 0)
    return bucket_ids(properties), statements


def _check_statements(events: Events, statements: Longs, place: FilePlace, found: Findings) -> None:
    directory = place.directory
    if not isinstance(directory, DeltaDir) or directory.statement_id is None:
        return
    if place.is_delete:
        # Hive 4 orders events of one write id by statement: such a delete does not reach the row.
        wrong = (events.row_ids.write_ids == events.current) & (
            statements >= directory.statement_id
        )
        what = "the deleted row has the same write id, but is not from an earlier statement"
    else:
        wrong = statements != directory.statement_id
        what = f"the bucket property is not of statement {directory.statement_id}"
    found.add_events(ProblemKind.WRONG_STATEMENT_ID, what, wrong, events.row_ids)


def _check_write_ids(events: Events, place: FilePlace, found: Findings) -> None:
    directory, current, ids = place.directory, events.current, events.row_ids
    kind = ProblemKind.WRONG_WRITE_ID
    match directory:
        case BaseDir():
            highest = 0 if directory.write_id == FIRST_BASE_WRITE_ID else directory.write_id
            inside = current <= highest
            # Readers read all of a base: rows that the compaction should have left out come back.
            hidden = ~valid_events(current, place.write_ids)
            found.add_events(kind, "the snapshot must not see this event of a base", hidden, ids)
        case DeltaDir():
            inside = (directory.min_write_id <= current) & (current <= directory.max_write_id)
    found.add_events(kind, "currentTransaction is outside of the directory", ~inside, ids)
    if place.is_delete:
        wrong, what = ids.write_ids > current, "the deleted row has a later write id"
    else:
        wrong, what = ids.write_ids != current, "originalTransaction is not currentTransaction"
    found.add_events(kind, what, wrong, ids)


def _check_hash(events: Events, place: FilePlace, opened: OrcInput, found: Findings) -> None:
    bucketing = place.table.bucketing
    if bucketing is None or not len(events.row_ids):
        return
    wanted = [c for name in bucketing.columns if (c := place.table.column(name)) is not None]
    if bucketing.version == 2 and PrimitiveType("binary") in [c.type for c in wanted]:
        return  # of a binary, Hive also hashes the bytes that happen to follow in memory
    arrays = _bucket_arrays(events.rows, place.table, opened)
    numbers = bucket_numbers(arrays, [c.type for c in wanted], bucketing.count, bucketing.version)
    wrong = numbers.astype(np.int64) != place.bucket_id
    what = f"CLUSTERED BY ({', '.join(bucketing.columns)}) puts it into another bucket"
    found.add_events(ProblemKind.WRONG_HASH, what, wrong, events.row_ids)


def _bucket_arrays(rows: Array, table: Table, opened: OrcInput) -> list[Array]:
    """The values of the bucket columns.

    Columns are found by name, or by position if the file does not have all of the names.
    """
    assert table.bucketing is not None
    names = table.bucketing.columns
    columns = file_columns(opened.tail, opened.path)
    by_position = not {c.name.lower() for c in columns}.issuperset(names)
    current = current_rows(rows, columns, table.columns, opened.path, by_position=by_position)
    return [current.field(name) for name in names]
