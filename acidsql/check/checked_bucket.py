"""Checks the files of one bucket together: repeated row ids, deletes of rows that are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from acidsql.check.checked_file import (
    CheckedFile,
    FilePlace,
    check_file,
    open_data,
    problem_of,
)
from acidsql.check.events import row_id_text
from acidsql.check.result import CheckResult
from acidsql.errors import AcidSqlError
from acidsql.layout.acid_state import AcidState, SelectedDir
from acidsql.layout.dir_names import BaseDir
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.row_id import decode_bucket
from acidsql.orc.keys import Flags, RowIds
from acidsql.orc.ranges import RowIdRanges
from acidsql.orc.reader import read_deletes
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage


@dataclass(frozen=True, slots=True)
class CheckedBucket:
    """Checks the buckets of one directory. ``inserts`` leaves out original and loaded files."""

    snapshot: TableSnapshot
    partition: PartitionLocation
    storage: Storage
    state: AcidState
    inserts: Sequence[SelectedDir]

    def check(self, bucket: BucketId, plain: Sequence[RowIdRanges]) -> CheckResult:
        """Check every file of the bucket by itself, then all of them together.

        ``plain`` are the row ids in original and loaded files of the bucket.
        """
        deletes = self.state.delete_deltas
        inserted = [self._check_file(d, f) for d in self.inserts for f in _files(d, bucket)]
        deleted = [self._check_file(d, f) for d in deletes for f in _files(d, bucket)]
        parts = [(f.path, f.inserted_ranges) for f in inserted]
        parts += [(self.partition.location, r) for r in plain]
        there = RowIdRanges.together([ranges for _, ranges in parts])
        for file in deleted:
            self._find_orphans(file, there)
            _find_own_deletes(file, there)
        problems = [
            *(self._problem(f.path, *found) for f in (*inserted, *deleted) for found in f.found),
            *(f.unreadable for f in (*inserted, *deleted) if f.unreadable is not None),
            *self._repeated(ProblemKind.DUPLICATE_ROW_ID, parts),
            *self._repeated(
                ProblemKind.DELETED_TWICE, [(f.path, RowIdRanges.of(f.deleted)) for f in deleted]
            ),
        ]
        files = (*inserted, *deleted)
        return CheckResult(tuple(problems), len(files), sum(f.events for f in files))

    def _check_file(self, directory: SelectedDir, file: DataFile) -> CheckedFile:
        assert file.bucket_id is not None
        place = FilePlace(
            self.snapshot.table,
            self.snapshot.write_ids,
            directory.directory,
            file.bucket_id,
            self._own_files(directory),
        )
        checked = CheckedFile(f"{self.partition.location}/{file.path}")
        try:
            with open_data(self.storage, self.partition, file) as (opened, source):
                check_file(opened, source, place, checked)
        except AcidSqlError as error:
            checked.unreadable = problem_of(error, checked.path, self.partition)
        return checked

    def _own_files(self, directory: SelectedDir) -> Callable[[RowIds], Flags]:
        """A function that tells of row ids whether a delete file of their own bucket has them."""

        def found(row_ids: RowIds) -> Flags:
            flags = np.zeros(len(row_ids), np.bool_)
            for (_, bucket_property), start, end in row_ids.groups():
                for file in _files(directory, decode_bucket(bucket_property)):
                    with open_data(self.storage, self.partition, file) as (_, source):
                        own = RowIds.of(read_deletes(source, file.path))
                    at = np.arange(start, end)
                    ranges = RowIdRanges.together([RowIdRanges.of(own)])
                    flags[at] |= ranges.contains(row_ids.where(at))
            return flags

        return found

    def _find_orphans(self, file: CheckedFile, there: RowIdRanges) -> None:
        """Find deletes of rows that are not there.

        Two kinds are in order. A base leaves out the rows that were deleted up to its write id, and
        a delete delta that reaches beyond the base may still have their deletes. And a minor
        compaction leaves out a row that its own write id deleted, but keeps the delete.
        """
        row_ids, current = file.deleted, file.deleted_by
        wrong = ~there.contains(row_ids) & (row_ids.write_ids != current)
        if self.state.base is not None:
            base = self.state.base.directory
            assert isinstance(base, BaseDir)
            wrong &= current > base.write_id
        file.found.add_events(
            ProblemKind.ORPHAN_DELETE, "the deleted row is not there", wrong, row_ids
        )

    def _repeated(
        self, kind: ProblemKind, parts: Sequence[tuple[str, RowIdRanges]]
    ) -> Iterator[Problem]:
        count, least = RowIdRanges.together([ranges for _, ranges in parts]).repeated()
        if least is None:
            return
        only = RowIdRanges.stretch(least, 1).firsts
        paths = [p for p, r in parts if RowIdRanges.together([r]).contains(only)[0]]
        others = f", also in {', '.join(paths[:-1])}" if len(paths) > 1 else ""
        many = "1 row id" if count == 1 else f"{count} row ids"
        yield self._problem(paths[-1], kind, f"{many}, first {row_id_text(least)}{others}")

    def _problem(self, path: str, kind: ProblemKind, detail: str) -> Problem:
        return Problem(path, kind, detail, self.partition.name)


def _find_own_deletes(file: CheckedFile, there: RowIdRanges) -> None:
    """Find deletes of rows of the same write id that are still there.

    A minor compaction of Hive 4 over that write id alone keeps both row and delete, and Hive 4's
    vectorised reader then shows the row. If the row is gone, as after our compactions, the delete
    does no harm.
    """
    row_ids = file.deleted
    wrong = (row_ids.write_ids == file.deleted_by) & there.contains(row_ids)
    detail = "Hive 4 may show the deleted row, which has the same write id; COMPACT 'major' ends it"
    file.found.add_events(ProblemKind.OWN_DELETE, detail, wrong, row_ids)


def _files(directory: SelectedDir, bucket: BucketId) -> list[DataFile]:
    # Empty files are left out. With a side file, a streaming writer has only just opened the file;
    # without one, `name_problems` reports the file.
    return [f for f in directory.files if f.size and f.bucket_id == bucket]
