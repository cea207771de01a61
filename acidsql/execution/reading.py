"""A read: whose snapshot it sees, and the transaction that keeps its files from the cleaner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from acidsql.errors import StoreNotWritableError
from acidsql.execution.snapshots import read_context
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.model.access import Access
from acidsql.model.names import DEFAULT_DATABASE
from acidsql.model.table import Table
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import ReadContext
from acidsql.ports.store import Store
from acidsql.txn.entities import LockComponent, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn, TxnOpener
from acidsql.txn.unrecorded import UnrecordedTxn


@dataclass(frozen=True, slots=True)
class Reading:
    """The two transactions of a read; outside of a block they are one.

    ``txn`` has the locks and the snapshot. ``pin`` is kept for a lazy frame, whose rows may be
    fetched after the end of the block.
    """

    txn: OpenTxn
    pin: OpenTxn
    store: Store
    block: TransactionBlock | None

    @classmethod
    def begin(
        cls,
        accesses: Sequence[Access],
        store: Store,
        block: TransactionBlock | None,
        open_txn: TxnOpener,
    ) -> Reading:
        """Lock what is read, in the block or in a transaction of its own.

        Outside of a block a read goes on without a transaction if the store cannot be written to.
        """
        components = lock_components(accesses)
        try:
            return cls._begin(components, store, block, open_txn)
        except StoreNotWritableError as error:
            if block is not None:
                raise
            pin = UnrecordedTxn(store, open_txn.policy, error)
            return cls(pin, pin, store, block)

    @classmethod
    def _begin(
        cls,
        components: Sequence[LockComponent],
        store: Store,
        block: TransactionBlock | None,
        open_txn: TxnOpener,
    ) -> Reading:
        if block is not None:
            block.txn.lock(components)
        pin = open_txn(TxnType.READ_ONLY, components=components if block is None else ())
        try:
            if block is None:
                pin.lock(components)
            else:
                # The pin's locks are for the time after the block. The pin must not wait for them:
                # the block itself may be in the way, or a transaction that waits for the block.
                pin.try_lock(components)
        except BaseException as error:
            pin.abort_after(error)
            raise
        return cls(pin if block is None else block.txn, pin, store, block)

    def context(
        self,
        tables: Sequence[Table],
        arguments: Mapping[str, Any],
        plan: QueryPlan | None = None,
        database: str = DEFAULT_DATABASE,
    ) -> ReadContext:
        """What the read sees of these tables; partitions that the plan cannot touch may be missing.

        ``database`` is the session's current one.
        """
        own = None if self.block is None else self.block.uncommitted
        return read_context(self.store, self.txn, tables, arguments, own, plan, database)

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Release the files if the block fails, whose error is still the one that is raised."""
        try:
            yield
        except BaseException as error:
            self.pin.abort_after(error)
            raise

    def close(self) -> None:
        """Release the files to the cleaner."""
        self.pin.close()
