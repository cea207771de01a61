"""A read of which the store keeps no record, because it cannot be written to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from acidsql.errors import StoreNotWritableError
from acidsql.model.ids import NO_TXN, TxnId
from acidsql.model.snapshot import ValidTxnList
from acidsql.process.forks import Home
from acidsql.txn.cleanup import error_line
from acidsql.txn.entities import LockComponent, TxnType
from acidsql.txn.manager import TxnManager
from acidsql.txn.open_txn import OpenTxn
from acidsql.txn.policy import TxnPolicy

_log = logging.getLogger(__name__)


class UnrecordedTxn(OpenTxn):
    """The snapshot of now, without id, locks and heartbeat.

    What a transaction records for a read keeps definitions and the cleaner from its files. They
    have to write to the same store, so mostly they cannot come either. If one does, once there is
    room again, or from where the store is not read-only, a file that is gone is a
    SnapshotExpiredError as ever.
    """

    def __init__(self, manager: TxnManager, policy: TxnPolicy, why: StoreNotWritableError) -> None:
        # Not the parent's: that opens one in the store.
        self._manager = manager
        self._guard = threading.RLock()
        self._home = Home("transaction")
        self._ended = False
        self._heartbeat_error = None
        self._valid_txns = None
        self.type = TxnType.READ_ONLY
        self.policy = policy
        self.txn_id = NO_TXN
        _log.warning("reading without a record in the store: %s", error_line(why))

    @property
    def valid_txns(self) -> ValidTxnList:
        """The view of the moment of its first use."""
        with self._guard:
            if self._valid_txns is None:
                self._valid_txns = self._manager.valid_txns()
            return self._valid_txns

    def lock(self, components: Sequence[LockComponent], *, until_woken: bool = False) -> bool:
        """True at once: there is no room for a lock."""
        return True

    def try_lock(self, components: Sequence[LockComponent]) -> bool:
        """False: there is no room for a lock."""
        return False

    def require_open(self) -> None:
        """Nothing can have ended it."""

    def commit(self, step: Callable[[TxnId], None] | None = None) -> None:
        """Nothing is open."""

    def abort(self, reason: str = "") -> None:
        """Nothing is open."""
