"""A read of which the store keeps no record, because the store cannot be written to."""

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
    """A snapshot without a transaction id, locks and heartbeat.

    The records of other reads keep definitions and the cleaner away from the files. For this read
    there is none. But definitions and the cleaner must write to the same store, so mostly they
    cannot run either. They can once there is room again, or on a machine that may write to the
    store. If they remove a file before it is read, the read ends with a SnapshotExpiredError.
    """

    def __init__(self, manager: TxnManager, policy: TxnPolicy, why: StoreNotWritableError) -> None:
        # The constructor of OpenTxn is not called: it would open a transaction in the store.
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
        """The valid txn list of the moment of its first use."""
        with self._guard:
            if self._valid_txns is None:
                self._valid_txns = self._manager.valid_txns()
            return self._valid_txns

    def lock(self, components: Sequence[LockComponent], *, until_woken: bool = False) -> bool:
        """True at once, without a lock: the store cannot record one."""
        return True

    def try_lock(self, components: Sequence[LockComponent]) -> bool:
        """False: the store cannot record a lock."""
        return False

    def require_open(self) -> None:
        """Does nothing: no other process knows of it, so none can have ended it."""

    def commit(self, step: Callable[[TxnId], None] | None = None) -> None:
        """Does nothing: no transaction is open in the store."""

    def abort(self, reason: str = "") -> None:
        """Does nothing: no transaction is open in the store."""
