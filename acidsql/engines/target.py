"""Where a statement writes, and the files that it has finished there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from acidsql.engines.required import Required
from acidsql.engines.row_files import RowFormat
from acidsql.engines.selection import must_exist
from acidsql.layout.dir_names import (
    VERSION_FILE,
    BaseDir,
    BucketFile,
    DeltaDir,
    OriginalFile,
)
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.naming import partition_path, refuse_partition
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind
from acidsql.orc.writer import VERSION_FILE_CONTENT
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage, missing_directory, require_inside

DEFAULT_COMPRESSION = "snappy"
"""Hive 3, Hive 4 and Spark read it. It is as fast as no compression (docs/benchmarks.md)."""

ATTEMPT = "_attempt_"
"""How the names of files and directories begin that are not published yet."""

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
        return f"{ATTEMPT}{self.token}_{name}"

    def own(self, partition: str, path: str) -> OwnPath:
        """A path in the directory of a partition, known or new, as one that may be removed."""
        return OwnPath.of(self.home(partition), path)

    def home(self, partition: str) -> str:
        """The directory of a known partition; of a new one, that of the table, which it lies in."""
        return self.locations.get(partition, self.location)

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


def partition_text(name: PartitionName | None) -> str:
    """The text of a partition; None is the table itself."""
    return TABLE_ITSELF if name is None else str(name)


def partition_name(text: str) -> PartitionName | None:
    """The partition of a text; None for the table itself."""
    return None if text == TABLE_ITSELF else PartitionName.parse(text)
