"""The files of one write. Tasks or the driver write them under hidden names (attempts).

Spark may run a task twice, so each attempt writes under names of its own. Only files that the job's
result names are renamed. Their directories belong to one write id, which no snapshot sees before
its commit.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

import pyarrow as pa

from acidsql.engines.row_files import RowWriter
from acidsql.engines.target import OutputFile, Target
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket
from acidsql.model.table import TableKind
from acidsql.orc.keys import longs
from acidsql.orc.schema import ORIGINAL_TRANSACTION
from acidsql.orc.writer import EventWriter
from acidsql.ports.storage import local_draft

Writer = EventWriter | RowWriter


@dataclass(slots=True)
class Output:
    """The files that one attempt writes; one is open for each bucket, statement and kind of event.

    With ``stripe_bytes``, the rows of an ACID table go into parts of files, with stripes of this
    size. A part is to be joined with others, and may be lost on power failure.

    A context manager: an error removes the files. Threads may write different buckets, and finish
    them, at the same time.
    """

    target: Target
    stripe_bytes: int | None = None
    files: list[OutputFile] = field(default_factory=list)
    _open: dict[tuple[str, bool, int, int], tuple[Writer, OutputFile, str]] = field(
        default_factory=dict
    )
    _own_deletes: set[tuple[str, int, int]] = field(default_factory=set)
    _attempt: str = field(default_factory=lambda: uuid.uuid4().hex)

    def insert(
        self, rows: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write new rows into a bucket of a partition's delta.

        ConstraintViolationError for a null in a column that may have none.
        """
        self.target.required.check(rows)
        writer = self._writer(partition, False, bucket_id, statement_id)
        if isinstance(writer, RowWriter):
            writer.write_rows(rows)
            return
        bucket_property = encode_bucket(BucketId(bucket_id), statement_id)
        writer.write_inserts(rows, self.target.write_id, bucket_property)

    def delete(
        self, row_ids: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write delete events into a bucket of a partition's delete delta."""
        writer = self._writer(partition, True, bucket_id, statement_id)
        assert isinstance(writer, EventWriter), "only a full-ACID table has deletes"
        writer.write_deletes(row_ids, self.target.write_id)
        if (longs(row_ids.column(ORIGINAL_TRANSACTION)) == self.target.write_id).any():
            self._own_deletes.add((partition, bucket_id, int(statement_id)))

    def empty(self, partition: str) -> None:
        """Write a file without rows: readers see a base only if it holds a file."""
        self._writer(partition, False, 0, StatementId(0))

    def finish(self) -> None:
        """Close every open file."""
        for key in list(self._open):
            self._finish(key)

    def finish_others(self, partition: str, bucket_id: int) -> None:
        """Close the files of every other bucket: sorted rows do not come back to them."""
        for key in list(self._open):
            if (key[0], key[2]) != (partition, bucket_id):
                self._finish(key)

    def finish_bucket(self, partition: str, bucket_id: int) -> None:
        """Close the files of a bucket."""
        for key in list(self._open):
            if (key[0], key[2]) == (partition, bucket_id):
                self._finish(key)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            self.finish()
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        for writer, _, _ in self._open.values():
            writer.discard()
        for file in self.files:
            self.target.remove_attempt(file)

    def _writer(
        self, partition: str, is_delete: bool, bucket_id: int, statement_id: StatementId
    ) -> Writer:
        key = (partition, is_delete, bucket_id, int(statement_id))
        if key not in self._open:
            self._open[key] = self._create(*key)
        return self._open[key][0]

    def _create(
        self, partition: str, is_delete: bool, bucket_id: int, statement_id: int
    ) -> tuple[Writer, OutputFile, str]:
        target = self.target
        name = target.file_name(BucketId(bucket_id))
        directory = target.directory_written(partition, statement_id, is_delete=is_delete)
        attempt = target.attempt_name(f"{self._attempt}_{name}")
        target.make_directory(partition, directory)
        file = OutputFile(partition, directory, attempt, name, statement_id, is_delete, 0)
        path = local_draft(f"{directory}/{attempt}", target.storage)
        if target.kind is not TableKind.FULL_ACID:
            return RowWriter(path, target.format), file, path
        if self.stripe_bytes is not None:
            return RowWriter(path, target.format, stripe_bytes=self.stripe_bytes), file, path
        columns, compression = target.format.columns, target.format.compression
        return EventWriter(path, columns, compression), file, path

    def _finish(self, key: tuple[str, bool, int, int]) -> None:
        writer, file, path = self._open.pop(key)
        written = writer.close()
        attempt = f"{file.directory}/{file.attempt}"
        if self.stripe_bytes is None or path != self.target.storage.local_path(attempt):
            self.target.storage.put_file(path, attempt)
        partition, is_delete, bucket_id, statement_id = key
        own = is_delete and (partition, bucket_id, statement_id) in self._own_deletes
        self.files.append(replace(file, rows=written.rows, own_deletes=own))
