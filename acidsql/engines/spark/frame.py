"""The rows of a query as a lazy Spark DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.arrow import relaxed, to_arrow
from acidsql.engines.spark.columns import told_type
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.python_values import python_values
from acidsql.engines.spark.row_stream import RowStream, collected
from acidsql.engines.spark.settings import for_statement, keep_for_frames
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SparkFrame:
    """The Frame port over a DataFrame, which `data_frame` hands out."""

    frame: DataFrame
    progress: Progress = UNWATCHED

    @property
    def data_frame(self) -> DataFrame:
        """The DataFrame itself, which its owner may plan and read at any time."""
        with clear_errors():
            keep_for_frames(self.frame.sparkSession)
        return self.frame

    @property
    def columns(self) -> list[str]:
        with clear_errors():
            return list(self.frame.columns)

    @property
    def types(self) -> list[str]:
        with clear_errors():
            return list(map(told_type, self.frame.schema.fields))

    def rows(self) -> list[tuple[Any, ...]]:
        with self._jobs(), clear_errors():
            return collected(self.frame)

    def batches(self) -> RowStream:
        return RowStream(self.frame, self.progress)

    def arrow(self) -> pa.Table:
        with self._jobs():
            return to_arrow(self.frame)

    def pandas(self) -> pd.DataFrame:
        with self._jobs(), clear_errors(), python_values():
            return relaxed(self.frame).toPandas()

    @contextmanager
    def _jobs(self) -> Iterator[None]:
        spark = self.frame.sparkSession
        with own_jobs(spark, "reading", self.progress), clear_errors(), for_statement(spark):
            yield
