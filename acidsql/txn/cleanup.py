"""Clean-ups after an error: a failure of the clean-up is logged, and the first error is raised."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.errors import AcidSqlError, NoSuchTxnError, TxnAbortedError
from acidsql.model.ids import TxnId

_log = logging.getLogger(__name__)


def error_line(error: BaseException) -> str:
    """The first line of an error's text, or its class if it has no text.

    >>> error_line(KeyboardInterrupt())
    'KeyboardInterrupt'
    """
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@contextmanager
def failures_logged(action: str, txn_id: TxnId) -> Iterator[None]:
    """Log an exception of the block instead of raising it. ``action`` says what the block does.

    It is no failure that another client or the time-out has ended the transaction already.
    """
    try:
        yield
    except (NoSuchTxnError, TxnAbortedError) as error:
        _log.debug("%s: %s", action, error_line(error), extra={"txn_id": txn_id})
    except AcidSqlError as error:
        _log.warning("%s failed: %s", action, error_line(error), extra={"txn_id": txn_id})
    except Exception:
        _log.warning("%s failed", action, extra={"txn_id": txn_id}, exc_info=True)
