"""What Spark's plan of a query tells before the query runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NODE = re.compile(r"^[ :+|-]*(\w+)", re.MULTILINE)
"""The name of each node in the text of a plan."""

_NARROWING = frozenset(
    {
        *("Relation", "LocalRelation", "Range", "Project", "Filter", "Aggregate", "Sort", "Union"),
        "Repartition",
    }
)
"""Nodes that yield no more rows than they read. Of files and local rows, Spark knows the size."""

_USER_CODE = ("PYTHON_UDF", "SCALA_UDF")
_OF_SEVERAL_ROWS = ("WINDOW", "WINDOW_EXPRESSION", "AGGREGATE", "GENERATE", "GENERATOR")
_SUBQUERY = "PLAN_EXPRESSION"
"""Names of Spark's TreePattern."""

_ROW_BY_ROW = ("Project", "Filter", "Union")
_IN_MEMORY = ("InMemoryRelation", "LocalRelation")
"""The classes of nodes of a plan: those that make a row of one row, and those that hold rows."""

_FORMATS = ("OrcFileFormat", "ParquetFileFormat", "EventFormat")
"""The ends of the names of formats whose readers read some columns without the others."""


def expected_bytes(frame: DataFrame) -> int | None:
    """Spark's own estimate; None without a gateway to ask through."""
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return None
    with clear_errors():
        return int(plan.queryExecution().optimizedPlan().stats().sizeInBytes())


def has_shuffle(frame: DataFrame) -> bool:
    """Whether a shuffle stands between the query's first tasks and its rows."""
    plan: Any = frame
    with clear_errors():
        return "Exchange" in str(plan._jdf.queryExecution().executedPlan().toString())


def may_grow(frame: DataFrame) -> bool:
    """Whether the query may have many more rows than Spark expects, as a join or explode() may."""
    plan: Any = frame
    with clear_errors():
        text = str(plan._jdf.queryExecution().optimizedPlan().toString())
    return not set(_NODE.findall(text)) <= _NARROWING


def calls_user_code(frame: DataFrame) -> bool:
    """Whether the query calls functions that users wrote; also True if Spark cannot be asked."""
    asked = by_gateway(
        frame.sparkSession,
        lambda java: _has_any(java, _analyzed(frame), _USER_CODE),
        "rows are moved to the tasks that write them, however few they are",
    )
    return asked is not False


def is_row_by_row(frame: DataFrame) -> bool:
    """Whether the query makes each row of one row of its source, with functions of Spark's own.

    False if Spark cannot be asked.
    """
    asked = by_gateway(
        frame.sparkSession,
        lambda java: _has_any(java, _analyzed(frame), (*_USER_CODE, *_OF_SEVERAL_ROWS)),
        "rows are moved to the tasks that write them",
    )
    return asked is False


def is_deterministic(frame: DataFrame) -> bool:
    """Whether a second evaluation gives the same rows, as far as Spark can tell.

    False without a gateway to ask through.
    """
    if getattr(frame, "_jdf", None) is None:
        return False
    with clear_errors():
        return bool(_analyzed(frame).deterministic())


def has_limit(frame: DataFrame) -> bool:
    """Whether a LIMIT may choose other rows in a second evaluation; True if that is not known."""
    found = by_gateway(
        frame.sparkSession,
        lambda java: _has_any(java, _analyzed(frame), ("LIMIT",)),
        "the source is evaluated first",
    )
    return found is not False


def comes_from_files(frame: DataFrame) -> bool:
    """Whether some columns can be had a second time for little more than it takes to read them.

    That is so if each row is made of one row of ORC or Parquet files, of the driver's memory or of
    a user's cache, by functions of Spark's own. False if Spark cannot be asked.
    """
    found = is_row_by_row(frame) and by_gateway(
        frame.sparkSession,
        lambda java: _comes_from_files(java, frame),
        "the rows of a source are moved before they are joined",
    )
    return bool(found)


def _comes_from_files(java: JavaClasses, frame: DataFrame) -> bool:
    plan: Any = frame
    with clear_errors():
        root = plan._jdf.queryExecution().optimizedPlan()
    if _has_any(java, root, (_SUBQUERY,)):
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


def _analyzed(frame: DataFrame) -> Any:
    plan: Any = frame
    return plan._jdf.queryExecution().analyzed()


def _has_any(java: JavaClasses, plan: Any, names: Sequence[str]) -> bool:
    """Whether the plan has one of the patterns, the ``names`` of Spark's TreePattern."""
    patterns = java("org.apache.spark.sql.catalyst.trees.TreePattern")
    return any(plan.containsPattern(getattr(patterns, name)()) for name in names)
