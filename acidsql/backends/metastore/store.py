"""The store that a Hive shares with us."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.metastore.catalog import MetastoreCatalog
from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.compactions import MetastoreCompactions
from acidsql.backends.metastore.sense import with_telling_verbs
from acidsql.backends.metastore.url import Place
from acidsql.model.ids import TxnId
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.catalog import Catalog
from acidsql.txn.entities import LockComponent, LockType, Reached, Written
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import TxnOpener, transaction

_DEFINITIONS = "acidsql.definitions"
"""A database of locks alone, as Hive has one (globallocks): no name of a real one has a dot.

Its tables are called like databases, their partitions like tables. Nothing waits for another lock
while it has one there, so whatever locks a statement has, it can come to no circle.
"""


@with_telling_verbs(TxnManager, Catalog)
class MetastoreStore(MetastoreCompactions, MetastoreCatalog):
    """Catalog and transaction manager of a running Hive Metastore, as one more of its clients.

    ``url`` is `Place.of`'s, ``user`` is whom the metastore takes us for. ConfigError if the URL is
    none, StorageError if no server answers. ``sleep`` replaces the waits before a call is tried
    again, in tests.
    """

    is_new = False
    """Nobody makes a metastore here."""

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
        MetastoreCatalog.__init__(self, client, self._alone_with)
        self._open = TxnOpener(self, user, socket.gethostname(), policy)

    @property
    def place_name(self) -> str:
        """Its servers, as errors say them."""
        return self._client.place.name

    def owner_of(self, table: TableName) -> str:
        known = self.find_table(table)
        return (known.owner if known else "") or self._user

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        """The catalog's verbs inside the block, each at once, and then the commit.

        The metastore has no step that takes in both, so what was done is taken back if the commit
        fails, or if it is not known. Partitions stay: others may have written into them by then.
        """
        if txn_id not in self._unanswered:
            self.heartbeat(txn_id)
        with self._undo.unless_done():
            yield
            self.commit_txn(txn_id, reached, written)

    @contextmanager
    def _alone_with(self, table: TableName) -> Iterator[None]:
        """Keeps every other acidsql from changing what the metastore has noted of a table.

        A table is changed by reading it and writing all of it back, and the locks of statements let
        some through that do: an INSERT that takes back statistics, beside SET TBLPROPERTIES.
        """
        named = str(PartitionName.of({"table": table.table}))
        lock = LockComponent(
            LockType.EXCLUSIVE, _DEFINITIONS, table.database, named, transactional=False
        )
        with transaction(self._open()) as txn:
            txn.lock([lock])
            yield

    def close(self) -> None:
        self._client.close()
