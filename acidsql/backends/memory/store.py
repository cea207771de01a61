"""The store: both ports over one state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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

    commits_in_one_step = True

    def close(self) -> None:
        """There is nothing to release."""

    @contextmanager
    def while_open(self, txn_id: TxnId) -> Iterator[None]:
        with self.guard:
            self.require_open(txn_id)
            before = {k: _copy(v) for k, v in vars(self).items() if k not in _NOT_STATE}
            try:
                yield
            except BaseException:
                vars(self).update(before)
                raise

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        with self.guard:
            try:
                with self.while_open(txn_id):
                    yield
                    self.commit_txn(txn_id, reached, written)
            except WriteConflictError as conflict:
                # The changes of the block are undone, and so is the abort.
                self.abort_txn(txn_id, conflict.message)
                raise


def _copy(state: Any) -> Any:
    """The dicts and lists of the state, copied; the entries in them are frozen values."""
    if isinstance(state, dict):
        return {key: _copy(value) for key, value in state.items()}
    return [_copy(value) for value in state] if isinstance(state, list) else state
