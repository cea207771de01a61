"""The commit of a transaction in the store, whose answer may get lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    InternalError,
    NoSuchTxnError,
    StorageError,
    TxnError,
)
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
        raise _unknown(txn_id, error) from error


@contextmanager
def answer_asked_for(
    txn_id: TxnId, require_open: Callable[[TxnId], None], step: AbstractContextManager[None]
) -> Iterator[None]:
    """``step``, whose end commits a transaction. If its answer is lost, the store is asked.

    The step's error is raised unless the transaction is committed. ``require_open`` asks the
    store, and raises unless the transaction is open. CommitStateUnknownError if that is not
    answered either. What fails before the end of the step has committed nothing.
    """
    is_ending = False
    try:
        with step:
            yield
            is_ending = True
    except _ANSWER_LOST as error:
        if not is_ending:
            raise
        try:
            require_open(txn_id)
        except NoSuchTxnError as found:
            if not found.committed:
                raise error from None
            _log.warning("committed, though the answer was lost", extra={"txn_id": txn_id})
        except TxnError:
            raise error from None
        except _ANSWER_LOST as again:
            raise _unknown(txn_id, again) from error
        else:
            raise


@contextmanager
def unless_done(
    is_done: Callable[[], bool], lost: tuple[type[AcidSqlError], ...] = _ANSWER_LOST
) -> Iterator[None]:
    """A block that changes the store in a step of its own, which commits no transaction.

    If its answer is lost, the block's error is raised unless ``is_done`` finds the change. ``lost``
    are the errors that may be raised although the change is made.
    """
    try:
        yield
    except lost:
        with suppress(AcidSqlError):
            if is_done():
                _log.warning("carried out, though the answer was lost", exc_info=True)
                return
        raise


def _unknown(txn_id: TxnId, error: Exception) -> CommitStateUnknownError:
    return CommitStateUnknownError(
        f"it is not known whether txnid:{txn_id} was committed",
        detail=str(error),
        hint="SHOW TRANSACTIONS lists it as long as it is open or aborted.",
    )
