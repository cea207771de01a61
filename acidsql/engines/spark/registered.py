"""What a caller registers, as a DataFrame: Spark's own, or rows of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.conversion import plain_form
from acidsql.engines.spark.local_frame import local_frame
from acidsql.errors import AcidSqlError, AnalysisError
from acidsql.layout.arrow import Array, DataType
from acidsql.process.loaded import is_loaded_type

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
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        detail = str(error)
    except AcidSqlError as error:
        detail = error.message
    raise AnalysisError(
        f'cannot register a {type(frame).__name__} as "{name}"',
        detail=detail,
        hint="Pass a DataFrame of Spark, pandas or polars, or an Arrow table, batch or reader."
        if detail is None
        else "Convert the column first, or pass a Spark DataFrame.",
    )


def _arrow_table(frame: Any) -> pa.Table | None:
    """The rows as an Arrow table, or None. pandas' index is no column, its NaN and NaT are NULL."""
    if is_loaded_type(frame, "pandas", "DataFrame"):
        return _plain(pa.Table.from_pandas(frame, preserve_index=False))
    if isinstance(frame, pa.RecordBatch):
        return _plain(pa.Table.from_batches([frame]))
    if isinstance(frame, pa.Table):
        return _plain(frame)
    if hasattr(frame, "__arrow_c_stream__"):  # readers, and frames of other libraries
        return _plain(pa.RecordBatchReader.from_stream(frame).read_all())
    return None


def _plain(table: pa.Table) -> pa.Table:
    """The table in types that Spark knows. ArrowInvalid for a value that would lose something.

    Dictionaries are pandas' categories, views the texts of polars. Spark itself would cut
    nanoseconds off.
    """
    plain = [
        pa.chunked_array([_plain_chunk(chunk) for chunk in column.chunks], _chunk_type(column))
        for column in table.columns
    ]
    return pa.table(plain, names=table.schema.names)


def _chunk_type(column: Any) -> DataType:
    return _plain_chunk(pa.nulls(0, column.type)).type


def _plain_chunk(array: Array) -> Array:
    array = plain_form(array)
    return array.cast(_plain_type(array.type))


_PLAIN: Mapping[DataType, DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}
"""Types that Spark lacks, and what holds their values. `plain_form` has no views, but inside."""


def _plain_type(kind: DataType) -> DataType:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    return kind


def _plain_field(field: Any) -> Any:
    return field.with_type(_plain_type(field.type))
