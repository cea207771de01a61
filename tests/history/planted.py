"""Stores with a mistake, which histories have to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acidsql.backends.sqlite.store import SqliteStore
from acidsql.model.ids import TxnId
from acidsql.model.snapshot import ValidTxnList
from acidsql.txn.entities import Opened


class BlindStore(SqliteStore):
    """Looks for no write conflicts."""

    @staticmethod
    def _rivals(since: Any) -> list[Any]:
        return []


class _LateStore(SqliteStore):
    """Takes every snapshot by `valid_txns`."""

    def open_block(self, *args: Any) -> tuple[TxnId, ValidTxnList]:
        txn_id, _ = super().open_block(*args)
        return txn_id, self.valid_txns(txn_id)

    def open_locked(self, *args: Any) -> Opened:
        return replace(super().open_locked(*args), valid_txns=None)


class StaleStore(_LateStore):
    """Gives each transaction the snapshot of the one before; own writes are seen all the same."""

    _latest: ValidTxnList | None = None

    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        now = super().valid_txns(txn_id, writes=writes)
        if txn_id is None:
            return now
        before, self._latest = self._latest or now, now
        later = range(before.high_watermark + 1, now.high_watermark + 1)
        unseen = before.open | {TxnId(t) for t in later} | now.open
        return replace(now, open=frozenset(unseen - now.aborted - {txn_id}))


class HastyStore(_LateStore):
    """Shows what is not committed yet."""

    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        return replace(super().valid_txns(txn_id, writes=writes), open=frozenset())
