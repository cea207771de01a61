"""The files of one write: tasks or the driver write them under hidden names, the driver publishes.

Spark may run a task twice, so each attempt writes under names of its own. Only files that the job's
result names are renamed. Their directories belong to one write id, which no snapshot sees before
its commit.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa

from acidsql.engines.required import Required
from acidsql.engines.row_files import RowFormat, RowWriter
from acidsql.engines.selection import must_exist
from acidsql.errors import AcidSqlError, PathExistsError
from acidsql.layout.dir_names import (
    VERSION_FILE,
    BaseDir,
    BucketFile,
    DeltaDir,
    OriginalFile,
    lies_hidden,
    parse_bucket_file,
)
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.naming import partition_path, refuse_partition
from acidsql.model.own_path import OwnPath
from acidsql.model.row_id import encode_bucket
from acidsql.model.table import Table, TableKind
from acidsql.orc.keys import longs
from acidsql.orc.schema import ORIGINAL_TRANSACTION
from acidsql.orc.writer import VERSION_FILE_CONTENT, EventWriter
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage, local_draft, missing_directory, require_inside

_log = logging.getLogger(__name__)

DEFAULT_COMPRESSION = "snappy"
"""Hive 3, Hive 4 and Spark read it. It is as fast as no compression (docs/benchmarks.md)."""

_ATTEMPT = "_attempt_"

TABLE_ITSELF = ""
"""The partition text of a table without partitions."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a statement writes: what a task on another machine needs to know, and no more.

    ``locations`` maps the text of each known partition to its directory; `TABLE_ITSELF` is the key
    of an unpartitioned table. New partitions lie below ``location``. ``token`` is in the name of
    every attempt's files. ``must_exist`` says that the directories of the table and of its known
    partitions must be there before the write.
    """

    name: TableName
    kind: TableKind
    format: RowFormat
    location: str
    locations: Mapping[str, str]
    write_id: WriteId
    storage: Storage
    must_exist: bool
    required: Required
    overwrite: bool = False
    hive4_names: bool = False
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def of(
        cls,
        snapshot: TableSnapshot,
        write_id: WriteId,
        storage: Storage,
        *,
        overwrite: bool = False,
    ) -> Target:
        """The target of a write to a table; with ``overwrite`` one that replaces what is there."""
        table = snapshot.table
        return cls(
            name=table.name,
            kind=table.kind,
            format=RowFormat.of(table, compression_of(table)),
            location=table.location,
            locations={partition_text(p.name): p.location for p in snapshot.partitions},
            write_id=write_id,
            storage=storage,
            must_exist=must_exist(snapshot, storage),
            required=Required.of(table),
            overwrite=overwrite,
            hive4_names=table.hive4_names,
        )

    def directory(self, partition: str) -> str:
        """The directory of a partition, known or new. AnalysisError for a name too long."""
        known = self.locations.get(partition)
        if known is not None:
            return known
        name = partition_name(partition)
        if name is None:
            return self.location
        refuse_partition(name)
        return partition_path(self.location, name)

    def directory_written(self, partition: str, statement_id: int, *, is_delete: bool) -> str:
        """The directory for a statement's files: a base, a delta or, if plain, the place itself."""
        home = self.directory(partition)
        if self.kind is TableKind.PLAIN:
            return home
        if self.overwrite:
            return f"{home}/{BaseDir(self.write_id).name}"
        statement = StatementId(statement_id)
        delta = DeltaDir(self.write_id, self.write_id, statement, is_delete=is_delete)
        return f"{home}/{delta.name}"

    def make_directory(self, partition: str, directory: str) -> None:
        """Make a directory for the write in the directory of a partition.

        MissingFileError if the partition's directory is missing; for a new partition, if the
        table's is. StorageError if a link leads a new partition out of the table's directory.
        """
        home = self.locations.get(partition, self.location)
        if self.must_exist and self.storage.is_missing(home):
            raise missing_directory(home, self.name)
        if partition not in self.locations:
            require_inside(self.location, self.directory(partition), self.storage)
        self.storage.make_directory(directory)

    def make_directory_written(
        self, statement_id: StatementId, partition: str = TABLE_ITSELF
    ) -> str:
        """Make the delta or base of new rows of a partition. Its path.

        It is complete but for files of rows: a directory is found by its files, and if the write
        fails, there may be no other than the one that is made with it.
        """
        home = self.directory_written(partition, statement_id, is_delete=False)
        self.make_directory(partition, home)
        self.storage.write_file(f"{home}/{VERSION_FILE}", VERSION_FILE_CONTENT)
        return home

    def new_file(
        self,
        directory: str,
        bucket_id: BucketId,
        statement_id: StatementId,
        partition: str = TABLE_ITSELF,
    ) -> OutputFile:
        """A bucket's file in a directory of a partition, which has no attempt and no rows yet."""
        name = self.file_name(bucket_id)
        return OutputFile(partition, directory, "", name, statement_id, False, 0)

    def attempt_name(self, name: str) -> str:
        """A hidden name for a file that is not published yet."""
        return f"{_ATTEMPT}{self.token}_{name}"

    def own(self, partition: str, path: str) -> OwnPath:
        """A path in the directory of a partition, known or new, as one that may be removed."""
        return OwnPath.of(self.locations.get(partition, self.location), path)

    def remove_attempt(self, file: OutputFile) -> None:
        """Remove a file that is not published."""
        self.storage.remove(self.own(file.partition, f"{file.directory}/{file.attempt}"))

    def file_name(self, bucket_id: BucketId) -> str:
        """The name of a bucket's file."""
        if self.kind is not TableKind.FULL_ACID:
            return OriginalFile(bucket_id).name
        # One attempt of a job is published, so the attempt's number in Hive 4's names is always 0.
        return BucketFile(bucket_id, 0 if self.hive4_names else None).name


def compression_of(table: Table) -> str:
    """The codec of a table's files: its ``orc.compress``, else ours."""
    return table.parameters.get("orc.compress", DEFAULT_COMPRESSION).lower()


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One finished file under its attempt's name.

    ``source`` is the file of which LOAD DATA made this copy. ``own_deletes`` says that the file
    deletes rows of its own write id.
    """

    partition: str
    directory: str
    attempt: str
    name: str
    statement_id: int
    is_delete: bool
    rows: int
    source: str = ""
    own_deletes: bool = False

    def to_json(self) -> str:
        """The text in which a task hands the file to the driver."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> OutputFile:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


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


def publish(files: Sequence[OutputFile], target: Target) -> list[OwnPath]:
    """Rename the files to their names, and give each ACID directory its format version.

    The paths that a later abort may remove.
    """
    if target.kind is TableKind.PLAIN:
        return _publish_plain(files, target)
    storage = target.storage
    # Files of LOAD DATA have no event columns, so their directory gets no format version.
    for directory in sorted({f.directory for f in files if parse_bucket_file(f.name)}):
        storage.write_file(f"{directory}/{VERSION_FILE}", VERSION_FILE_CONTENT)
    for file in files:
        storage.rename(f"{file.directory}/{file.attempt}", f"{file.directory}/{file.name}")
    return sorted({target.own(f.partition, f.directory) for f in files})


def _publish_plain(files: Sequence[OutputFile], target: Target) -> list[OwnPath]:
    """Publish files beside those of a plain table; an overwrite then removes the old ones.

    In this order readers never find fewer rows than before. The paths that an abort may remove;
    after an overwrite there are none.
    """
    storage = target.storage
    places = {f.directory: f.partition for f in files}
    old = {directory: plain_files(directory, storage) for directory in places}
    published: list[OwnPath] = []
    try:
        for file in files:
            path = _publish_beside(file, old[file.directory], storage)
            published.append(target.own(file.partition, path))
    except BaseException:
        discard(published, storage)
        raise
    if not target.overwrite:
        return published
    for directory, names in old.items():
        for name in names:
            storage.remove(target.own(places[directory], f"{directory}/{name}"))
    return []


def _publish_beside(file: OutputFile, old: Sequence[str], storage: Storage) -> str:
    """Rename a file to the first name that is free. Its path.

    Other writers may publish at the same time: no lock excludes them.
    """
    attempt = f"{file.directory}/{file.attempt}"
    if not storage.renames_exclusively:
        # Its name for tasks ends at the dot (Hive Utilities.FILE_NAME_TO_TASK_ID_REGEX).
        path = f"{file.directory}/{file.name}.{uuid.uuid4().hex}"
        storage.rename(attempt, path)
        return path
    taken = set(old)
    for number in itertools.count():
        # Hive Utilities.COPY_KEYWORD.
        name = file.name if number == 0 else f"{file.name}_copy_{number}"
        if name not in taken:
            with contextlib.suppress(PathExistsError):
                storage.rename(attempt, f"{file.directory}/{name}")
                return f"{file.directory}/{name}"
    raise AssertionError("there is always another number")


def plain_files(directory: str, storage: Storage) -> list[str]:
    """The paths of the files below a directory that are not hidden, relative to it."""
    paths = [f.path for f in storage.list_files(directory)]
    return [p for p in paths if not lies_hidden(p)]


def remove_attempts(target: Target) -> None:
    """Remove the hidden files and directories of a write, which its token names. Never raises."""
    storage = target.storage
    for location in sorted({target.location, *target.locations.values()}):
        try:
            for path in _attempts(storage, location, target.token):
                storage.remove(OwnPath(location, path))
        except AcidSqlError:
            _log.warning("could not remove what a write left in %s", location, exc_info=True)


def _attempts(storage: Storage, location: str, token: str) -> set[str]:
    """The paths below a location, of files and directories, whose names begin with the token's."""
    found = set()
    for file in storage.list_files(location):
        names = file.path.split("/")
        for depth, name in enumerate(names, 1):
            if name.startswith(f"{_ATTEMPT}{token}"):
                found.add("/".join(names[:depth]))
                break
    return found


def discard(paths: Sequence[OwnPath], storage: Storage) -> None:
    """Remove the paths of a failed write. One that stays is logged; no reader sees it."""
    for own in paths:
        try:
            storage.remove(own)
        except AcidSqlError:  # the first error must win
            _log.warning("could not remove %s, which no reader uses", own, exc_info=True)


def discard_moved(paths: Sequence[str], storage: Storage) -> None:
    """Remove files that LOAD DATA has copied into a table. One that cannot be removed is logged."""
    for path in paths:
        try:
            storage.remove_location(path)
        except AcidSqlError:  # the rows are committed
            _log.warning("could not remove %s, which was loaded", path, exc_info=True)


def partition_text(name: PartitionName | None) -> str:
    """The text of a partition; None is the table itself."""
    return TABLE_ITSELF if name is None else str(name)


def partition_name(text: str) -> PartitionName | None:
    """The partition of a text; None for the table itself."""
    return None if text == TABLE_ITSELF else PartitionName.parse(text)
