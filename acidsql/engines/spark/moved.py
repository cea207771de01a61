"""Rows moved to their places by one shuffle, which several jobs read.

The rows of a shuffle lie in files of the executors. So a second job neither scans nor joins again.
And the size of the rows is known before it is decided whether the driver or tasks write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.gateway import by_gateway, java_classes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The rows, their size in bytes and their number as Spark counted them.

    None if Spark has not counted yet.
    """

    frame: DataFrame
    bytes: int | None
    rows: int | None = None


@contextmanager
def moved(
    frame: DataFrame, partitions: int | None, keys: Sequence[Column | str]
) -> Iterator[MovedRows]:
    """The rows of a frame, computed once. Rows with equal keys are in one partition of Spark.

    Spark chooses how many ``partitions`` there are if None is given.
    If an executor is lost, Spark computes its rows again. So a row must have the same keys in a
    second evaluation. Otherwise it could come to another partition, and be missing or there twice.
    Without a gateway, the rows are evaluated into a checkpoint, and their size is unknown.
    """
    placed = (
        frame.repartition(*keys) if partitions is None else frame.repartition(partitions, *keys)
    )
    if java_classes(frame.sparkSession) is None:
        with evaluated(placed) as once:
            yield MovedRows(once, None)
        return
    with clear_errors():
        rows = _shuffled(placed)
    yield rows


def _shuffled(placed: DataFrame) -> MovedRows:
    """The rows as those of an RDD. With adaptive execution, this runs the shuffle."""
    spark: Any = placed.sparkSession
    plan: Any = placed._jdf
    _hand_settings_on(spark)
    execution = plan.queryExecution()
    rows = execution.toRdd()
    found = spark._jsparkSession.internalCreateDataFrame(rows, plan.schema(), False)
    return MovedRows(type(placed)(found, spark), *_shuffled_size(spark, execution))


def _hand_settings_on(spark: SparkSession) -> None:
    """Let tasks know the session's settings. Spark itself does so for the jobs of a query only.

    They hold until `own_jobs` restores the thread's properties.
    """
    session: Any = spark
    properties = session.sparkContext._jsc.sc().getLocalProperties()
    properties.putAll(session._jsparkSession.conf().getAllAsJava())


def _shuffled_size(spark: SparkSession, execution: Any) -> tuple[int | None, int | None]:
    found = by_gateway(
        spark,
        lambda _: _stage_size(execution.executedPlan()),
        "rows of unknown size are counted while they are collected",
    )
    return (None, None) if found is None else found


def _stage_size(plan: Any) -> tuple[int, int | None] | None:
    """The bytes and the number of the rows that the topmost shuffle has moved.

    None if Spark has not run it yet, or if the plan has branches above it.
    """
    while True:
        match plan.getClass().getSimpleName():
            case "ShuffleQueryStageExec":
                statistics = plan.getRuntimeStatistics()
                rows = statistics.rowCount()
                number = int(rows.get()) if rows.isDefined() else None
                return int(statistics.sizeInBytes()), number
            case "AdaptiveSparkPlanExec":
                plan = plan.executedPlan()
            case "ResultQueryStageExec":
                plan = plan.plan()
            case _ if plan.children().size() != 1:
                return None
            case _:
                plan = plan.children().head()
