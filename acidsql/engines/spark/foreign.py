"""DataFrames of another SparkSession of the same Spark.

Spark Structured Streaming clones the session of a query, so the frame that foreachBatch hands out
belongs to the clone. PySpark binds a frame to a query by a temporary view, which only the frame's
own session knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.errors import ExecutionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def of_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """The same rows as a frame of the session: the frame itself if it belongs to it.

    ExecutionError for a frame of another Spark, whose Java process may even be gone.
    """
    theirs: Any = getattr(frame, "_jdf", None)
    ours: Any = getattr(spark, "_jsparkSession", None)
    java = java_classes(spark)
    if theirs is None or ours is None or java is None:
        return frame  # Spark Connect sends names and plans to one server
    with clear_errors():
        if ours.equals(theirs.sparkSession()):
            return frame
        if not ours.sparkContext().equals(theirs.sparkSession().sparkContext()):
            raise ExecutionError(
                "a registered frame belongs to another Spark",
                hint="Register it again, made with the SparkSession of this session.",
            )
        from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - imported already

        datasets = java("org.apache.spark.sql.classic.Dataset")
        return DataFrame(datasets.ofRows(ours, theirs.queryExecution().analyzed()), spark)
