"""Files of one write: written under hidden names wherever the rows are, published by the driver.

A task may run twice, so each attempt writes under names of its own. Only what the job's result
names is renamed; the directories belong to one write id, which nobody reads before its commit.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from acidsql.errors import AcidSqlError
from acidsql.layout.dir_names import VERSION_FILE, BaseDir, BucketFile, DeltaDir
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.names import PartitionName
from acidsql.model.row_id import encode_bucket
from acidsql.model.table import Column, Table
from acidsql.orc.writer import VERSION_FILE_CONTENT, EventWriter
from acidsql.plans.engine import TableSnapshot
from acidsql.storage import Storage

_log = logging.getLogger(__name__)

DEFAULT_COMPRESSION = "snappy"
"""Both Hives and Spark read it; as fast as no compression (docs/benchmarks.md)."""

TABLE_ITSELF = ""
"""The partition text of a table without partitions."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a statement writes: enough for a task on another machine, and cheap to send there.

    ``locations`` maps the text of each known partition to its directory; `TABLE_ITSELF` is the key
    of an unpartitioned table. New partitions lie below ``location``.
    """

    columns: tuple[Column, ...]
    location: str
    locations: Mapping[str, str]
    write_id: WriteId
    compression: str
    storage: Storage
    overwrite: bool = False
    hive4_names: bool = False

    @classmethod
    def of(
        cls,
        snapshot: TableSnapshot,
        write_id: WriteId,
        storage: Storage,
        *,
        overwrite: bool = False,
    ) -> Target:
        """The target of a write to a table; a base if it is to ``overwrite`` what is there."""
        table = snapshot.table
        return cls(
            columns=table.columns,
            location=table.location,
            locations={
                TABLE_ITSELF if p.name is None else str(p.name): p.location
                for p in snapshot.partitions
            },
            write_id=write_id,
            compression=compression_of(table),
            storage=storage,
            overwrite=overwrite,
            hive4_names=table.hive4_names,
        )

    def directory(self, partition: str) -> str:
        """The directory of a partition, known or new."""
        return self.locations.get(partition) or f"{self.location}/{partition}"


def compression_of(table: Table) -> str:
    """The codec of a table's files: its ``orc.compress``, else ours."""
    return table.parameters.get("orc.compress", DEFAULT_COMPRESSION).lower()


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One finished file under its attempt's name."""

    partition: str
    directory: str
    attempt: str
    name: str
    statement_id: int
    is_delete: bool
    rows: int

    def to_json(self) -> str:
        """As a task hands it to the driver."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> OutputFile:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


@dataclass(slots=True)
class Output:
    """The files one attempt writes, one open at a time per kind and bucket.

    A context manager: an error removes what it wrote.
    """

    target: Target
    files: list[OutputFile] = field(default_factory=list)
    _open: dict[tuple[str, bool, int, int], tuple[EventWriter, OutputFile, str]] = field(
        default_factory=dict
    )
    _attempt: str = field(default_factory=lambda: uuid.uuid4().hex)

    def insert(
        self, rows: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write new rows into a bucket of a partition's delta."""
        writer = self._writer(partition, False, bucket_id, statement_id)
        bucket_property = encode_bucket(BucketId(bucket_id), statement_id)
        writer.write_inserts(rows, self.target.write_id, bucket_property)

    def delete(
        self, row_ids: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write delete events into a bucket of a partition's delete delta."""
        writer = self._writer(partition, True, bucket_id, statement_id)
        writer.write_deletes(row_ids, self.target.write_id)

    def empty(self, partition: str) -> None:
        """Write a file of no rows: readers see a base only if there is a file in it."""
        self._writer(partition, False, 0, StatementId(0))

    def finish(self) -> None:
        """Close every open file."""
        for key in list(self._open):
            self._finish(key)

    def finish_others(self, partition: str, bucket_id: int) -> None:
        """Close the files of every other bucket: sorted input does not come back to them."""
        for key in list(self._open):
            if (key[0], key[2]) != (partition, bucket_id):
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
            self.target.storage.remove(f"{file.directory}/{file.attempt}")

    def _writer(
        self, partition: str, is_delete: bool, bucket_id: int, statement_id: StatementId
    ) -> EventWriter:
        key = (partition, is_delete, bucket_id, int(statement_id))
        if key not in self._open:
            self._open[key] = self._create(*key)
        return self._open[key][0]

    def _create(
        self, partition: str, is_delete: bool, bucket_id: int, statement_id: int
    ) -> tuple[EventWriter, OutputFile, str]:
        target = self.target
        # Of a job's attempts one is published, so Hive 4's suffix is always that of a first one.
        name = BucketFile(BucketId(bucket_id), 0 if target.hive4_names else None).name
        write_id, statement = target.write_id, StatementId(statement_id)
        delta = DeltaDir(write_id, write_id, statement, is_delete=is_delete)
        written = BaseDir(write_id) if target.overwrite else delta
        directory = f"{target.directory(partition)}/{written.name}"
        attempt = f"_attempt_{self._attempt}_{name}"
        target.storage.make_directory(directory)
        file = OutputFile(partition, directory, attempt, name, statement_id, is_delete, 0)
        local = target.storage.local_path(f"{directory}/{attempt}")
        path = local or os.path.join(tempfile.gettempdir(), attempt)
        return EventWriter(path, target.columns, target.compression), file, path

    def _finish(self, key: tuple[str, bool, int, int]) -> None:
        writer, file, path = self._open.pop(key)
        written = writer.close()
        self.target.storage.put_file(path, f"{file.directory}/{file.attempt}")
        self.files.append(OutputFile(**{**asdict(file), "rows": written.rows}))


def publish(files: Sequence[OutputFile], storage: Storage) -> None:
    """Give the files their names, and each directory its format version."""
    for directory in sorted({f.directory for f in files}):
        storage.write_file(f"{directory}/{VERSION_FILE}", VERSION_FILE_CONTENT)
    for file in files:
        storage.rename(f"{file.directory}/{file.attempt}", f"{file.directory}/{file.name}")


def discard(directories: Sequence[str], storage: Storage) -> None:
    """Remove directories of a write that failed; what cannot be removed stays invisible."""
    for directory in directories:
        try:
            storage.remove(directory)
        except AcidSqlError:  # the first error must win
            _log.warning("could not remove %s of an aborted write", directory, exc_info=True)


def partition_name(text: str) -> PartitionName | None:
    """The partition behind a text, None for the table itself."""
    return None if text == TABLE_ITSELF else PartitionName.parse(text)
