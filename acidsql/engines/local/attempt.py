"""The hidden directories of one compaction, published when they are whole."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping

from acidsql.errors import StorageError
from acidsql.layout.dir_names import METADATA_FILE, compaction_attempt
from acidsql.model.ids import TxnId
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage

_COMPACTED = b'{"thisFileVersion":"0","dataFormat":"compacted"}'
"""The contents of METADATA_FILE, as Hive 3 writes them."""


class Attempt:
    """Directories below ``location``, under hidden names that hold the compactor's txn id.

    The cleaner removes the hidden directories of transactions that have ended. So a compactor that
    overslept its time-out may find its files gone. It must publish nothing then, since a base that
    lacks rows would hide them.
    """

    def __init__(
        self,
        location: str,
        storage: Storage,
        txn_id: TxnId,
        require_open: Callable[[], None] | None = None,
    ) -> None:
        self._location, self._storage = location, storage
        self._require_open = require_open
        self.name = compaction_attempt(txn_id, uuid.uuid4().hex)
        """Unique to this attempt, in every directory."""

    def hidden(self, name: str) -> str:
        """The path of the directory ``name`` before it is published."""
        return f"{self._location}/{self.name}_{name}"

    def mark_compacted(self, name: str) -> str:
        """Mark the base ``name`` as compacted. The name of the file that does so.

        By this file Hive 3 tells a compacted base from a base of INSERT OVERWRITE.
        """
        self._storage.write_file(f"{self.hidden(name)}/{METADATA_FILE}", _COMPACTED)
        return METADATA_FILE

    def publish(self, written: Mapping[str, Collection[str]]) -> None:
        """Rename the directories to their names, the keys of ``written``.

        StorageError if one of their files is missing. What ``require_open`` raises, if the
        compactor's transaction has ended: another table may stand in the place of the compacted
        one. All directories are checked before the first is renamed. The cleaner renames a
        directory before it removes it, so a directory that it takes after the check cannot be
        renamed here.
        """
        if self._require_open is not None:
            self._require_open()
        for name, files in written.items():
            there = {file.path for file in self._storage.list_files(self.hidden(name))}
            if not there.issuperset(files):
                raise StorageError(
                    f"files of {self.hidden(name)} were removed while the compaction wrote it",
                    hint="The compaction had timed out. Another one will do its work.",
                )
        for name in written:
            self._storage.rename(self.hidden(name), f"{self._location}/{name}")

    def discard(self, names: Collection[str]) -> None:
        """Remove the directories that are still hidden."""
        for name in names:
            self._storage.remove(OwnPath.of(self._location, self.hidden(name)))
