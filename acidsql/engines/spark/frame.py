"""The rows of a query as a lazy Spark DataFrame."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.arrow import relaxed, to_arrow
from acidsql.engines.spark.columns import CHAR_METADATA
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.row_stream import RowStream, collected
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SparkFrame:
    """The Frame port over a DataFrame."""

    data_frame: DataFrame
    progress: Progress = UNWATCHED

    @property
    def columns(self) -> list[str]:
        with clear_errors():
            return list(self.data_frame.columns)

    @property
    def types(self) -> list[str]:
        with clear_errors():
            return [
                field.metadata.get(CHAR_METADATA, field.dataType.simpleString())
                for field in self.data_frame.schema.fields
            ]

    def rows(self) -> list[tuple[Any, ...]]:
        with self._jobs(), clear_errors():
            return collected(self.data_frame)

    def batches(self) -> RowStream:
        return RowStream(self.data_frame, self.progress)

    def arrow(self) -> pa.Table:
        with self._jobs():
            return to_arrow(self.data_frame)

    def pandas(self) -> pd.DataFrame:
        with self._jobs(), clear_errors():
            return relaxed(self.data_frame).toPandas()

    def _jobs(self) -> AbstractContextManager[None]:
        return own_jobs(self.data_frame.sparkSession, "reading", self.progress)
