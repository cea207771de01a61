"""The store in a Hive Metastore, which Hive shares with us."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.metastore.catalog import MetastoreCatalog
from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.compactions import MetastoreCompactions
from acidsql.backends.metastore.seeding import MetastoreSeeding
from acidsql.backends.metastore.sense import with_telling_verbs
from acidsql.backends.metastore.url import Place
from acidsql.errors import CommitStateUnknownError
from acidsql.model.ids import NO_TXN, TxnId
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.catalog import Catalog
from acidsql.txn.commit import commit
from acidsql.txn.entities import LockComponent, LockType, Reached, Written
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, TxnOpener, transaction

_log = logging.getLogger(__name__)

_DEFINITIONS = "acidsql.definitions"
"""A database that exists only in locks, like Hive's "globallocks". No real name has a dot.

In its locks, the table is the name of a real database and the partition names a real table. A
transaction that holds such a lock never waits for another one, so these locks cause no deadlock.
"""


@with_telling_verbs(TxnManager, Catalog)
class MetastoreStore(MetastoreCompactions, MetastoreSeeding, MetastoreCatalog):
    """Catalog and transaction manager in a running Hive Metastore, of which we are a client.

    ``url`` is one for `Place.of`; the metastore takes us for ``user``. Raises ConfigError if the
    URL is not valid, and StorageError if no server answers. Tests replace ``sleep``, the wait
    before a call is tried again.
    """

    is_new = False
    """Always False: connecting never makes a metastore."""

    commits_in_one_step = False
    """What `committing` has done before its commit stays if this process dies."""

    def __init__(
        self,
        url: str,
        *,
        user: str,
        policy: TxnPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._user = user
        client = MetastoreClient(Place.of(url), user, sleep)
        policy = policy or TxnPolicy()
        MetastoreCompactions.__init__(self, client, policy)
        MetastoreCatalog.__init__(self, client, self._definition_locked_for)
        self._open = TxnOpener(self, user, socket.gethostname(), policy)

    @property
    def place_name(self) -> str:
        """The names of the servers, for errors."""
        return self._client.place.name

    def owner_of(self, table: TableName) -> str:
        known = self.find_table(table)
        return (known.owner if known else "") or self._user

    @contextmanager
    def while_open(self, txn_id: TxnId) -> Iterator[None]:
        """As in the port, but for a moment between the question and the change."""
        self.heartbeat(txn_id)
        yield

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        """The catalog's verbs inside the block, each carried out at once, and then the commit.

        The metastore has no step that does both. So the changes are undone if the commit fails. If
        its answer is lost, the metastore is asked, and CommitStateUnknownError, after which the
        changes stay, means that it has not answered again. Added partitions stay in any case:
        others may have written into them by then.
        """
        if txn_id not in self._unanswered:
            self.heartbeat(txn_id)
        with self._undo.unless_done():
            yield
            commit(txn_id, lambda own: self.commit_txn(own, reached, written))

    @contextmanager
    def _definition_locked_for(self, table: TableName) -> Iterator[None]:
        """Keep every other acidsql from changing the definition of a table.

        A definition is changed by reading it and writing all of it back. The locks of statements do
        not exclude all such changes: an INSERT, which removes statistics, may run beside SET
        TBLPROPERTIES.
        """
        named = str(PartitionName.of({"table": table.table}))
        lock = LockComponent(
            LockType.EXCLUSIVE, _DEFINITIONS, table.database, named, transactional=False
        )
        with self._released(self._open()) as txn:
            txn.lock([lock])
            yield

    @contextmanager
    def _released(self, txn: OpenTxn) -> Iterator[OpenTxn]:
        """`transaction` without CommitStateUnknownError: the definition that was locked is changed.

        The lock ends at the latest when its transaction times out.
        """
        done = False
        try:
            with transaction(txn):
                yield txn
                done = True
        except CommitStateUnknownError:
            if not done:
                raise
            _log.warning("a lock may stay for a while", extra={"txn_id": txn.txn_id}, exc_info=True)

    def oldest_needed(self) -> TxnId:
        """0: Thrift does not tell what open transactions have seen."""
        return NO_TXN

    def take_mutex(self, name: str, owner: str, lease_s: float) -> bool:
        """Always True: Thrift has no such verb. The metastore's services have their own."""
        return True

    def release_mutex(self, name: str, owner: str) -> None:
        """Does nothing."""

    def close(self) -> None:
        self._client.close()
