"""The hidden directories of one compaction, published when they are whole."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping

from acidsql.errors import StorageError
from acidsql.layout.dir_names import compaction_attempt
from acidsql.model.ids import TxnId
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage


class Attempt:
    """Directories below ``location``, under names that say whose they are.

    The cleaner removes those of transactions that have ended. So a compactor which slept through
    its time-out may find files of its own gone: it must publish nothing then, since a base with
    less than all rows hides the others.
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
        """Of this attempt alone, in this or any other directory."""

    def hidden(self, name: str) -> str:
        """Where the directory ``name`` is until it is published."""
        return f"{self._location}/{self.name}_{name}"

    def publish(self, written: Mapping[str, Collection[str]]) -> None:
        """Give directories their names, if all the files ``written`` are there; else StorageError.

        What ``require_open`` raises, if the compactor's transaction has ended: another table may
        have taken the place of the one that was compacted.
        None is renamed before all of them are known to be whole. The cleaner renames before it
        removes, so what it takes away after that cannot be renamed here.
        """
        if self._require_open is not None:
            self._require_open()
        for name, files in written.items():
            there = {file.path for file in self._storage.list_files(self.hidden(name))}
            if not there.issuperset(files):
                raise StorageError(
                    f"{self.hidden(name)} was taken away while it was written",
                    hint="The compaction had timed out; another one will do its work.",
                )
        for name in written:
            self._storage.rename(self.hidden(name), f"{self._location}/{name}")

    def discard(self, names: Collection[str]) -> None:
        """Remove what is still hidden."""
        for name in names:
            self._storage.remove(OwnPath.of(self._location, self.hidden(name)))
