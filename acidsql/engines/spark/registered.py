"""What a caller registers, as a DataFrame: Spark's own, or rows of this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.spark.local_frame import local_frame
from acidsql.errors import AcidSqlError, AnalysisError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def registered_frame(name: str, frame: Any, spark: Callable[[], SparkSession]) -> DataFrame:
    """The DataFrame of what is registered under a name.

    Rows of this process are copied into the session that ``spark`` gives. AnalysisError for an
    object without rows, or with types that Spark lacks.
    """
    if hasattr(frame, "toArrow") and hasattr(frame, "columns"):
        own: DataFrame = frame
        return own
    detail: str | None = None
    try:
        table = _arrow_table(frame)
        if table is not None:
            return local_frame(spark(), table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        detail = str(error)
    except AcidSqlError as error:
        detail = error.message
    raise AnalysisError(
        f'cannot register a {type(frame).__name__} as "{name}"',
        detail=detail,
        hint="Pass a DataFrame of Spark or pandas, or an Arrow table, batch or reader."
        if detail is None
        else "Convert the column first, or pass a Spark DataFrame.",
    )


def _arrow_table(frame: Any) -> pa.Table | None:
    """The rows as an Arrow table, or None. pandas' index is no column, its NaN and NaT are NULL."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _plain(pa.Table.from_pandas(frame, preserve_index=False))
    if isinstance(frame, pa.RecordBatch):
        return _plain(pa.Table.from_batches([frame]))
    if isinstance(frame, pa.Table):
        return _plain(frame)
    if hasattr(frame, "__arrow_c_stream__"):  # readers, and frames of other libraries
        return _plain(pa.RecordBatchReader.from_stream(frame).read_all())
    return None


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which are pandas' categories: Spark knows none."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
