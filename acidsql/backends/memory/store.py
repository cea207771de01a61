"""The store: both ports over one state."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.memory.catalog import MemoryCatalog
from acidsql.backends.memory.compactions import MemoryCompactions
from acidsql.backends.memory.mutexes import MemoryMutexes
from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.txn.entities import Reached, Written

_NOT_STATE = ("guard", "released", "now_ms", "policy")


class MemoryStore(MemoryCompactions, MemoryMutexes, MemoryCatalog):
    """Catalog and transaction manager of one process, which end with the process.

    This store is the model. Every other store must answer alike: tests/property/test_txn_stores.py
    compares them.
    """

    is_new = False
    """Never true: no older store can have been meant, so there is nothing to tell the user."""

    def close(self) -> None:
        """There is nothing to release."""

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        with self.guard:
            self.require_open(txn_id)
            state = {k: v for k, v in vars(self).items() if k not in _NOT_STATE}
            before = copy.deepcopy(state)
            try:
                yield
                self.commit_txn(txn_id, reached, written)
            except BaseException as error:
                vars(self).update(before)
                if isinstance(error, WriteConflictError):
                    self.abort_txn(txn_id, error.message)
                raise
