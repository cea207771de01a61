"""The Store port: catalog and transactions in one, so that the two cannot disagree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from acidsql.model.ids import TxnId
from acidsql.ports.catalog import Catalog
from acidsql.txn.entities import Reached, Written
from acidsql.txn.manager import TxnManager


class Store(TxnManager, Catalog, Protocol):
    """The catalog and the transactions of a session.

    ``is_new``: there was no store before, and opening has made this one.
    """

    is_new: bool

    @property
    def commits_in_one_step(self) -> bool:
        """Whether all verbs of `committing` happen together, also if this process dies."""
        ...

    def while_open(self, txn_id: TxnId) -> AbstractContextManager[None]:
        """One step of the store: the catalog's verbs inside the block, if the transaction is open.

        So a session that was taken for dead, and has lost its locks, changes nothing. An error
        inside leaves the store as it was; a Hive Metastore keeps what was done before.
        """
        ...

    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> AbstractContextManager[None]:
        """One step of the store: the catalog's verbs inside the block, then `commit_txn`.

        An error inside, or a transaction that is no longer open, leaves the store as it was.
        Safe to retry: a repetition raises NoSuchTxnError with ``committed`` True.
        """
        ...
