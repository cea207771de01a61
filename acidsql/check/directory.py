"""CHECK TABLE reads every visible file by itself, then compares the files of each bucket.

Files are read stripe by stripe. Of a bucket only ranges of row ids and its delete events are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from acidsql.check.checked_bucket import CheckedBucket
from acidsql.check.checked_file import open_data, problem_of, schema_misfit
from acidsql.check.result import CheckResult
from acidsql.engines.avro_reader import row_count
from acidsql.engines.row_selection import row_files
from acidsql.engines.selection import directory_state, plain_row_ids
from acidsql.errors import AcidSqlError, CorruptFileError
from acidsql.layout.acid_state import AcidState, SelectedDir
from acidsql.layout.dir_names import VERSION_FILE
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import FileFormat, TableKind
from acidsql.orc.ranges import RowIdRanges
from acidsql.orc.writer import VERSION_FILE_CONTENT
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage
from acidsql.process.threads import in_threads


def check_directories(snapshot: TableSnapshot, txns: ValidTxnList, storage: Storage) -> CheckResult:
    """Read the files that the snapshot selects in each directory, and collect their problems."""
    results = [_Directory(snapshot, p, txns, storage).check() for p in snapshot.partitions]
    return CheckResult(
        tuple(p for r in results for p in r.problems),
        sum(r.files for r in results),
        sum(r.events for r in results),
    )


@dataclass(slots=True)
class _Directory:
    """One table or partition directory."""

    snapshot: TableSnapshot
    partition: PartitionLocation
    txns: ValidTxnList
    storage: Storage
    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    events: int = 0

    def check(self) -> CheckResult:
        try:
            if self.snapshot.table.kind is TableKind.FULL_ACID:
                self._check_acid(self._state())
            else:
                self._check_readable()
        except AcidSqlError as error:
            self._unreadable(self.partition.location, error)
        return CheckResult(tuple(self.problems), self.files, self.events)

    def _state(self) -> AcidState:
        snapshot = self._without_written()
        return directory_state(snapshot, self.partition, self.txns, self.storage)

    def _without_written(self) -> TableSnapshot:
        """The snapshot without `written`: missing writes are reported by the check of names."""
        write_ids = replace(self.snapshot.write_ids, written=frozenset())
        return replace(self.snapshot, write_ids=write_ids)

    # -- insert-only and plain tables --------------------------------------------------------------

    def _check_readable(self) -> None:
        """Check that every file can be read from end to end."""
        snapshot = self._without_written()
        for file in row_files(snapshot, self.partition, self.txns, self.storage):
            rows = self._row_count(file)
            self.events += rows or 0

    def _row_count(self, file: DataFile) -> int | None:
        """The number of rows of a plain file, all of which are read; None if it cannot be read."""
        path = f"{self.partition.location}/{file.path}"
        self.files += 1
        try:
            if self.snapshot.table.format is not FileFormat.ORC:
                return self._row_count_of_other(path)
            with open_data(self.storage, self.partition, file) as (opened, _):
                reason = schema_misfit(opened.tail, path, self.snapshot.table)
                if reason is not None:
                    self._add(path, ProblemKind.WRONG_SCHEMA, reason)
                return sum(batch.num_rows for batch in opened.stripes())
        except AcidSqlError as error:
            self._unreadable(path, error)
            return None

    def _row_count_of_other(self, path: str) -> int:
        """The number of rows of a Parquet or Avro file, or of line feeds of a text file."""
        with self.storage.open_input(path) as stream:
            if self.snapshot.table.format is FileFormat.TEXT:
                return sum(chunk.count(b"\n") for chunk in iter(partial(stream.read, 1 << 20), b""))
            if self.snapshot.table.format is FileFormat.AVRO:
                return row_count(stream, path, self.snapshot.table.columns)
            try:
                with pq.ParquetFile(stream) as parquet:
                    return sum(batch.num_rows for batch in parquet.iter_batches())
            except (pa.ArrowException, OSError) as error:
                raise CorruptFileError(
                    f'file "{path}" is not a whole Parquet file', detail=str(error).splitlines()[0]
                ) from error

    # -- full-ACID tables --------------------------------------------------------------------------

    def _check_acid(self, state: AcidState) -> None:
        inserts = [d for d in (state.base, *state.deltas) if d is not None]
        plain = dict(self._plain_ranges(state, [d for d in inserts if d.raw]))
        acid = [d for d in inserts if not d.raw]
        buckets = {f.bucket_id for d in (*acid, *state.delete_deltas) for f in d.files}
        work = sorted({b for b in buckets if b is not None} | set(plain))
        bucket = CheckedBucket(self.snapshot, self.partition, self.storage, state, acid)
        for result in in_threads(lambda b: bucket.check(b, plain.get(b, [])), work, None):
            self.problems += result.problems
            self.files += result.files
            self.events += result.events
        for directory in (*acid, *state.delete_deltas):
            self._check_format_version(directory)

    def _plain_ranges(
        self, state: AcidState, raw: Sequence[SelectedDir]
    ) -> Iterator[tuple[BucketId, list[RowIdRanges]]]:
        """The row ids in original and loaded files, which follow from the order of the files."""
        found: dict[BucketId, list[RowIdRanges]] = {}
        sources = [(WriteId(0), StatementId(0), state.originals)]
        sources += [(*plain_row_ids(d), d.files) for d in raw]
        for write_id, statement_id, files in sources:
            next_row: dict[BucketId, int] = {}
            for file in files:
                rows = self._row_count(file)
                if file.bucket_id is None or rows is None:
                    continue
                first = next_row.get(file.bucket_id, 0)
                next_row[file.bucket_id] = first + rows
                self.events += rows
                row_id = RowId(write_id, encode_bucket(file.bucket_id, statement_id), first)
                found.setdefault(file.bucket_id, []).append(RowIdRanges.stretch(row_id, rows))
        yield from found.items()

    def _check_format_version(self, directory: SelectedDir) -> None:
        path = f"{self.partition.location}/{directory.path}"
        file = f"{path}/{VERSION_FILE}"
        if not self.storage.exists(file):
            if any(self._needs_version_file(f) for f in directory.files):
                self._add(path, ProblemKind.NO_FORMAT_VERSION, f"{VERSION_FILE} is missing")
            return
        with self.storage.open_input(file) as stream:
            content = stream.read()
        if content != VERSION_FILE_CONTENT:
            self._add(file, ProblemKind.NO_FORMAT_VERSION, f"the file has {content[:20]!r}, not 2")

    def _needs_version_file(self, file: DataFile) -> bool:
        """Whether readers need the version file beside a file.

        Hive 4 leaves it out beside files without rows, and beside those of a rebalance. Those name
        the version themselves.
        """
        try:
            with open_data(self.storage, self.partition, file) as (opened, _):
                return opened.tail.rows > 0 and not opened.tail.by_query
        except AcidSqlError:
            return True

    def _add(self, path: str, kind: ProblemKind, what: str) -> None:
        self.problems.append(Problem(path, kind, what, self.partition.name))

    def _unreadable(self, path: str, error: AcidSqlError) -> None:
        self.problems.append(problem_of(error, path, self.partition))
