"""The housekeeper: times out transactions, trims the transaction tables."""

from __future__ import annotations

from acidsql.background.events import Action, Event
from acidsql.background.scope import BackgroundScope
from acidsql.model.ids import TxnId


def run_housekeeper(scope: BackgroundScope) -> list[TxnId]:
    """One round. Returns the transactions that were aborted because their heartbeat is missing."""
    timed_out = scope.txns.time_out_txns()
    for txn_id in timed_out:
        scope.told(Event(Action.TIMED_OUT, txn_id=txn_id))
    scope.txns.trim()
    return timed_out
