"""Rows that are computed once, for several jobs that read them.

A cache (`persist`) does not promise that. Rows that are evicted from it, or lost with an executor,
are computed again; then rand(), a LIMIT without an order or a file that was replaced meanwhile give
other rows.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import clear_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def evaluated(frame: DataFrame) -> Iterator[DataFrame]:
    """The rows of one evaluation, for as many jobs as the block runs.

    The rows lie in the executors, in memory or on disk, and cannot be computed again. If some are
    lost with their executor, the jobs that need them fail with ExecutionError.
    """
    with clear_errors():
        fixed = frame.localCheckpoint(eager=True)
    try:
        yield fixed
    finally:
        _release(fixed)


def _release(fixed: DataFrame) -> None:
    """Free the rows now; otherwise Spark frees them once the frame is collected. Never raises."""
    plan = getattr(fixed, "_jdf", None)
    if plan is None:
        return
    try:
        plan.queryExecution().analyzed().rdd().unpersist(False)
    except Exception:
        _log.debug("rows of an evaluation stay until Spark collects them", exc_info=True)
