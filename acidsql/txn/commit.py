"""The commit of a transaction in the store, whose answer may get lost."""

from __future__ import annotations

import logging
from collections.abc import Callable

from acidsql.errors import CommitStateUnknownError, InternalError, NoSuchTxnError, StorageError
from acidsql.model.ids import TxnId

_log = logging.getLogger(__name__)

_ANSWER_LOST = (StorageError, InternalError)
"""What a commit may raise although the store has carried it out."""


def commit(txn_id: TxnId, step: Callable[[TxnId], None]) -> None:
    """Commit by ``step``. If the answer is lost, ask a second time.

    CommitStateUnknownError if the second answer is lost, too.
    """
    try:
        step(txn_id)
    except _ANSWER_LOST:
        _log.warning("asking for a lost commit", extra={"txn_id": txn_id}, exc_info=True)
        _commit_again(txn_id, step)


def _commit_again(txn_id: TxnId, step: Callable[[TxnId], None]) -> None:
    try:
        step(txn_id)
    except NoSuchTxnError as error:
        if not error.committed:
            raise
    except _ANSWER_LOST as error:
        raise CommitStateUnknownError(
            f"it is not known whether txnid:{txn_id} was committed",
            detail=str(error),
            hint="SHOW TRANSACTIONS lists it as long as it is open or aborted.",
        ) from error
