"""Rows that are computed once, for several jobs that read them.

A cache (`persist`) does not promise that. Rows that are evicted from it, or lost with an executor,
are computed again; then rand(), a LIMIT without an order or a file that was replaced meanwhile give
other rows.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger(__name__)

_COSTLY = ("PYTHON_UDF", "SCALA_UDF", "PLAN_EXPRESSION", "GENERATOR")
"""Names of Spark's TreePattern: functions of users, subqueries, and functions of several rows."""

_ROW_BY_ROW = ("Project", "Filter", "Union")
_IN_MEMORY = ("InMemoryRelation", "LocalRelation")
_FORMATS = ("OrcFileFormat", "ParquetFileFormat")
"""The ends of the names of formats whose readers read some columns without the others."""


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


def is_deterministic(frame: DataFrame) -> bool:
    """Whether a second evaluation gives the same rows, as far as Spark can tell.

    False without a gateway to ask through.
    """
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return False
    with clear_errors():
        return bool(plan.queryExecution().analyzed().deterministic())


def has_limit(frame: DataFrame) -> bool:
    """Whether a LIMIT may choose other rows in a second evaluation; True if that is not known."""
    found = by_gateway(
        frame.sparkSession,
        lambda java: (
            frame._jdf.queryExecution()
            .analyzed()
            .containsPattern(java("org.apache.spark.sql.catalyst.trees.TreePattern").LIMIT())
        ),
        "the source is evaluated first",
    )
    return found is None or bool(found)


def comes_from_files(frame: DataFrame) -> bool:
    """Whether a second evaluation of some columns costs no more than to read those from files.

    So it is where each row is made of one row of ORC or Parquet files, of the driver's memory, or
    of a cache of the user's, by functions of Spark's own. False if Spark cannot be asked.
    """
    found = by_gateway(
        frame.sparkSession,
        lambda java: _comes_from_files(java, frame),
        "the rows of a source are moved before they are joined",
    )
    return bool(found)


def _comes_from_files(java: JavaClasses, frame: DataFrame) -> bool:
    patterns = java("org.apache.spark.sql.catalyst.trees.TreePattern")
    plan: Any = frame
    with clear_errors():
        root = plan._jdf.queryExecution().optimizedPlan()
    if any(root.containsPattern(getattr(patterns, name)()) for name in _COSTLY):
        return False
    nodes = [root]
    while nodes:
        node = nodes.pop()
        name = node.getClass().getSimpleName()
        if name in _ROW_BY_ROW or (name == "Repartition" and not node.shuffle()):
            children = node.children()
            nodes += [children.apply(number) for number in range(children.size())]
        elif not (name in _IN_MEMORY or (name == "LogicalRelation" and _is_of_files(node))):
            return False
    return True


def _is_of_files(relation: Any) -> bool:
    of = relation.relation()
    if of.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    return str(of.fileFormat().getClass().getSimpleName()).endswith(_FORMATS)


def _release(fixed: DataFrame) -> None:
    """Free the rows now; otherwise Spark frees them once the frame is collected. Never raises."""
    plan = getattr(fixed, "_jdf", None)
    if plan is None:
        return
    try:
        plan.queryExecution().analyzed().rdd().unpersist(False)
    except Exception:
        _log.debug("rows of an evaluation stay until Spark collects them", exc_info=True)
