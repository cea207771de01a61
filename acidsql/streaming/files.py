"""The files of one batch of transactions: a file per bucket and partition.

A batch of one transaction writes a delta as an INSERT does. A batch of several has one delta for
all of them, whose files grow with each transaction (Hive OrcRecordUpdater). A side file says how
many bytes of such a file are valid.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from acidsql.engines.publish import discard, publish
from acidsql.engines.rows import Placement, write_rows
from acidsql.engines.target import OutputFile, Target, partition_name
from acidsql.errors import StreamingError
from acidsql.layout.dir_names import FLUSH_LENGTH_SUFFIX, VERSION_FILE, BucketFile, DeltaDir
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.own_path import OwnPath
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Table
from acidsql.orc.appended import AppendedFile
from acidsql.orc.writer import VERSION_FILE_CONTENT, EventWriter
from acidsql.ports.catalog import Catalog, Partition
from acidsql.ports.storage import Storage, local_draft, without_login

_STATEMENT = StatementId(0)
_LENGTH = struct.Struct(">q")

Key = tuple[str, int]
"""The text of a partition, and a bucket."""


@dataclass(slots=True)
class _File:
    """A file of the batch. ``last`` is its last row id, ``sides`` the bytes of its side file.

    ``home`` is the table's directory or the partition's, in which its ``directory`` lies. While it
    is hidden, ``draft`` is the local path at which it grows.
    """

    partition: str
    home: str
    directory: str
    name: str
    appended: AppendedFile
    last: RowId | None
    attempt: str = ""
    draft: str = ""
    sides: int = 0
    is_whole: bool = True

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"

    @property
    def side_file(self) -> str:
        return f"{self.path}{FLUSH_LENGTH_SUFFIX}"

    def own(self, path: str) -> OwnPath:
        """A path of this file, as one that may be removed."""
        return OwnPath.of(self.home, path)


class BatchFiles:
    """Writes the rows of a batch's transactions, whose write ids are ``write_ids``.

    ``require_open`` asks the store, and raises unless the current transaction is still open. A
    writer that overslept its time-out must give no file its name: the store may have forgotten its
    write ids, and a write id that the store does not know counts as committed.
    """

    def __init__(
        self,
        table: Table,
        write_ids: Sequence[WriteId],
        catalog: Catalog,
        storage: Storage,
        require_open: Callable[[], None],
    ) -> None:
        self._table, self._catalog, self._storage = table, catalog, storage
        self._require_open = require_open
        self._first, self._last = write_ids[0], write_ids[-1]
        self._placement = Placement.of(table)
        self._files: dict[Key, _File] = {}
        self._target: Target | None = None

    @property
    def grows(self) -> bool:
        """Whether files are visible from their first rows on, and grow."""
        return self._first != self._last

    def write(self, rows: pa.Table, codes: np.ndarray, names: Sequence[str], to: Target) -> None:
        """Write rows durably, into the partitions of these texts; new ones enter the catalog.

        ``to`` has the write id of the rows. If files grow, readers that see this write id see the
        rows.
        """
        self._target = to
        self._forget_dropped(names, to)
        self._require_places(names, to)
        part = _Part(self, to)
        try:
            stored = rows.select([c.name for c in self._table.columns])
            write_rows(part, stored, codes, names, self._placement, _STATEMENT)
            part.finish()
        except BaseException:
            part.discard()
            raise
        if self._table.partition_columns:
            self._add_partitions(names, to)

    def _forget_dropped(self, names: Sequence[str], to: Target) -> None:
        """Forget the files of partitions that were dropped since an earlier transaction."""
        dropped = set(names) - set(to.locations)
        for key, file in list(self._files.items()):
            is_earlier = file.last is not None and file.last.write_id != to.write_id
            if self.grows and key[0] in dropped and is_earlier:
                del self._files[key]

    def _require_places(self, names: Sequence[str], to: Target) -> None:
        """StreamingError if a partition has got another directory since an earlier transaction.

        The batch's files lie in the old one, where nobody would read them.
        """
        for (partition, _), file in self._files.items():
            if partition in names and file.directory != self.directory(partition, to):
                raise StreamingError(
                    f"partition {partition} of table {self._table.name} was moved",
                    detail=f"The files of the batch are in {without_login(file.directory)}.",
                    hint="Make a new connection.",
                )

    def _add_partitions(self, names: Sequence[str], to: Target) -> None:
        new = [name for name in names if name not in to.locations]
        found = [Partition(p, to.directory(n)) for n in new if (p := partition_name(n)) is not None]
        if found:
            self._catalog.add_partitions(self._table.name, found)

    def publish(self) -> None:
        """Give hidden files their names, before the commit of the only transaction."""
        if self.grows or self._target is None:
            return
        for file in self._files.values():
            self._storage.put_file(file.draft, f"{file.directory}/{file.attempt}")
        self._require_open()
        publish([_output(file) for file in self._files.values()], self._target)

    def discard(self) -> None:
        """Remove the files of the only transaction, which is about to be aborted. Never raises.

        Files that grow stay: they may hold rows of transactions that were committed.
        """
        if self.grows:
            return
        for file in self._files.values():
            with suppress(OSError):
                os.remove(file.draft)
        owned = {file.own(file.directory) for file in self._files.values()}
        discard(sorted(owned), self._storage)
        self._files.clear()

    def discard_hidden(self) -> None:
        """Remove the files that have no name yet; nobody else has their hidden names. Never raises.

        For a transaction that has ended: what has a name may be somebody else's.
        """
        for file in self._files.values():
            with suppress(OSError):
                os.remove(file.draft)
            discard([file.own(f"{file.directory}/{file.attempt}")], self._storage)

    def close(self) -> None:
        """Remove the side files: no more will be written. Only while a transaction is still open.

        The side file of a file with an unfinished end stays, since its readers need it.
        """
        if not self.grows:
            return
        for file in self._files.values():
            if file.is_whole and file.sides:
                self._storage.remove(file.own(file.side_file))
                file.sides = 0

    # -- one part of one file -------------------------------------------------------------------

    def last_of(self, key: Key) -> RowId | None:
        """The last row id of a file of the batch."""
        file = self._files.get(key)
        return None if file is None else file.last

    def directory(self, partition: str, to: Target) -> str:
        """The directory of the batch in a partition."""
        if not self.grows:
            return to.directory_written(partition, _STATEMENT, is_delete=False)
        return f"{to.directory(partition)}/{DeltaDir(self._first, self._last).name}"

    def add(self, key: Key, part: EventWriter, attempt: str, to: Target) -> None:
        """Add a finished part to the file of a bucket. The part's file is gone afterwards.

        ``attempt`` is a hidden name for a file that is not there yet.
        """
        file, draft, last = self._files.get(key), part.path, part.last
        if file is None:
            with open(draft, "rb") as source:
                appended = AppendedFile.begin(source, draft)
            partition, bucket = key
            home, directory = to.home(partition), self.directory(partition, to)
            name = BucketFile(BucketId(bucket)).name
            file = _File(partition, home, directory, name, appended, last, attempt, draft)
            self._files[key] = file
            if self.grows:
                self._show(file)
            return
        with open(draft, "rb") as source:
            size, file.is_whole = file.appended.length, False
            data = file.appended.append(source, draft)
        os.remove(draft)
        self._grow(file, data, size)
        file.last, file.is_whole = last, True

    def _show(self, file: _File) -> None:
        """Publish a file that will grow.

        The side file is there before the file, and both appear whole. So no reader takes a part of
        the file for all of it.
        """
        file.is_whole = False
        storage, directory = self._storage, file.directory
        if not any(f.directory == directory and f.sides for f in self._files.values()):
            storage.write_file(f"{directory}/{VERSION_FILE}", VERSION_FILE_CONTENT)
        storage.put_file(file.draft, f"{directory}/{file.attempt}")
        hidden = f"{directory}/{file.attempt}{FLUSH_LENGTH_SUFFIX}"
        storage.write_file(hidden, _LENGTH.pack(file.appended.length))
        storage.rename(hidden, file.side_file)
        file.sides = _LENGTH.size
        self._require_open()
        storage.rename(f"{directory}/{file.attempt}", file.path)
        file.is_whole = True

    def _grow(self, file: _File, data: bytes, size: int) -> None:
        if not self.grows:
            with open(file.draft, "ab") as stream:
                stream.write(data)
            return
        self._storage.append(file.path, data, size)
        self._storage.append(file.side_file, _LENGTH.pack(file.appended.length), file.sides)
        file.sides += _LENGTH.size


class _Part:
    """What one write adds to the files: rows come bucket by bucket, each into a part of a file."""

    def __init__(self, files: BatchFiles, to: Target) -> None:
        self._files, self._to = files, to
        self._open: dict[Key, tuple[EventWriter, str]] = {}

    def insert(
        self, rows: pa.RecordBatch, partition: str, bucket_id: int, statement_id: StatementId
    ) -> None:
        """Write rows of a bucket. Their row numbers go on from the transaction's earlier rows."""
        self._to.required.check(rows)
        key = (partition, bucket_id)
        if key not in self._open:
            self._open[key] = self._create(key)
        writer, _ = self._open[key]
        bucket_property = encode_bucket(BucketId(bucket_id), statement_id)
        writer.write_inserts(rows, self._to.write_id, bucket_property)

    def finish_others(self, partition: str, bucket_id: int) -> None:
        """Finish the parts of every other bucket: rows do not come back to them."""
        for key in list(self._open):
            if key != (partition, bucket_id):
                self._finish(key)

    def finish(self) -> None:
        """Finish all parts."""
        for key in list(self._open):
            self._finish(key)

    def discard(self) -> None:
        """Remove the parts that are not finished."""
        for writer, _ in self._open.values():
            writer.discard()
        self._open.clear()

    def _create(self, key: Key) -> tuple[EventWriter, str]:
        to, partition = self._to, key[0]
        directory = self._files.directory(partition, to)
        to.make_directory(partition, directory)
        attempt = to.attempt_name(BucketFile(BucketId(key[1])).name)
        path = local_draft(f"{directory}/{attempt}", to.storage)
        columns, compression = to.format.columns, to.format.compression
        writer = EventWriter(path, columns, compression, after=self._files.last_of(key))
        return writer, attempt

    def _finish(self, key: Key) -> None:
        writer, attempt = self._open.pop(key)
        writer.close()
        self._files.add(key, writer, attempt, self._to)


def _output(file: _File) -> OutputFile:
    return OutputFile(file.partition, file.directory, file.attempt, file.name, _STATEMENT, False, 0)
