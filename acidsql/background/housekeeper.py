"""The housekeeper: times out transactions, trims the transaction tables."""

from __future__ import annotations

from acidsql.model.ids import TxnId
from acidsql.txn.manager import TxnManager


def run_housekeeper(txns: TxnManager) -> list[TxnId]:
    """One round. Returns the transactions that were aborted because their heartbeat is missing."""
    timed_out = txns.time_out_txns()
    txns.trim()
    return timed_out
