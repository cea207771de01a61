"""Statements that lost a write conflict, run again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from acidsql.errors import WriteConflictError
from acidsql.txn.policy import conflict_waits

T = TypeVar("T")

_log = logging.getLogger(__name__)


def with_retries(run: Callable[[], T], retries: int, sleep: Callable[[float], None]) -> T:
    """What ``run`` gives, called again after each WriteConflictError, up to ``retries`` times.

    ``sleep`` waits between two calls, for a number of seconds.
    """
    waits = conflict_waits()
    for _ in range(retries):
        try:
            return run()
        except WriteConflictError as conflict:
            _log.info("retrying after %s", conflict.message)
            sleep(next(waits))
    return run()
