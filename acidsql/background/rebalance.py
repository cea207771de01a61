"""The transaction of a rebalance: it has its lock, and no write with a lower write id is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, takewhile

from acidsql.errors import LockTimeoutError
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.txn.entities import Compaction, LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy, lock_waits
from acidsql.txn.transaction import OpenTxn, TxnOpener

BUCKETED = "Cannot execute rebalancing compaction on bucketed tables."
"""Hive's words."""
PATIENCE_S = 60.0
"""How long a worker waits for a lock or for open writes. The rest of the queue waits meanwhile."""


class BusyError(Exception):
    """A rebalance cannot begin: its base would hide rows, or stand on rows that have changed."""


def open_rebalance(
    compaction: Compaction,
    name: TableName,
    txns: TxnManager,
    open_txn: TxnOpener,
    sleep: Callable[[float], None],
) -> OpenTxn:
    """A transaction with an exclusive write lock on the place, and with a write id.

    All lower write ids have ended, and the transaction sees those that committed. Its base, which
    has its write id, hides nothing else. Inserts may go on: they get higher write ids. A
    transaction that wrote before and is still open would have to wait for our lock, and we for it.
    So the lock is given back meanwhile, for Hive's pauses between two looks at a lock.

    LockTimeoutError after `PATIENCE_S`, for the lock and for the writes.
    """
    patient = replace(open_txn, policy=_patient(open_txn.policy))
    operation = WriteOperation.UPDATE
    place = compaction.database, compaction.table, compaction.partition
    locks = [LockComponent(LockType.EXCL_WRITE, *place, operation)]
    pauses = lock_waits(patient.policy)
    while True:
        txn = patient(TxnType.REBALANCE_COMPACTION, tables=(name,), components=locks)
        try:
            txn.lock(locks)
            _require_alone(txn, name, txns)
            return txn
        except BusyError as error:
            busy = str(error)
            txn.abort(busy)
        except BaseException as error:
            txn.abort_after(error)
            raise
        pause_s = next(pauses, None)
        if pause_s is None:
            raise LockTimeoutError(
                f"the rebalance could not begin in time: {busy}",
                hint="SHOW TRANSACTIONS lists the open transactions.",
            )
        sleep(pause_s)
        txns.time_out_txns()


def rows_below(write_ids: ValidWriteIdList, own: WriteId) -> ValidWriteIdList:
    """The compactor's list of what a base with the write id ``own`` hides, and no more."""
    capped = replace(
        write_ids,
        high_watermark=WriteId(min(write_ids.high_watermark, own)),
        open=frozenset(w for w in write_ids.open if w <= own),
        aborted=frozenset(w for w in write_ids.aborted if w <= own),
    )
    return capped.for_compactor()


def _patient(policy: TxnPolicy) -> TxnPolicy:
    """The policy with as many looks at a lock as there are in `PATIENCE_S`."""
    ends_s = accumulate(lock_waits(policy))
    return replace(policy, lock_retries=sum(1 for _ in takewhile(lambda s: s < PATIENCE_S, ends_s)))


def _require_alone(txn: OpenTxn, name: TableName, txns: TxnManager) -> None:
    """BusyError if a lower write id is open, or is committed but not seen, or if rows changed."""
    own = txn.write_id(name)
    if not txn.granted_on_open:
        if not txn.still_has(name, own):
            raise BusyError("the table was dropped and made again")
        winner = txns.latest_txn_in_conflict(txn.txn_id)
        if winner is not None:
            raise BusyError(f"transaction {winner.txn_id} has changed rows meanwhile")
    now = txns.valid_write_ids([name], txns.valid_txns())[name]
    if now.min_open < own:
        raise BusyError(f"write id {now.min_open} of {name} is open")
    # Where opening takes several steps, a transaction that began later may have a lower write id.
    # It has ended by now, but the snapshot counts it as open, and would leave out what is above.
    seen = txn.snapshot([name])[name]
    unseen = next((w for w in now.committed_since(seen) if w < own), None)
    if unseen is not None or seen.min_open < own:
        raise BusyError(f"write id {unseen or seen.min_open} of {name} ended meanwhile")
