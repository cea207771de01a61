"""``TABLESAMPLE (BUCKET x OUT OF y)``: rows of a table by the hash that places rows in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.spark.arrow import ArrowWork, map_in_arrow, relaxed
from acidsql.engines.spark.columns import type_of
from acidsql.engines.spark.errors import clear_errors
from acidsql.errors import UnsupportedStatementError
from acidsql.layout.bucketing import bucket_numbers, is_bucketable
from acidsql.model.table import Table
from acidsql.model.types import VOID, ColumnType
from acidsql.plans.sql_text import Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_KEYS = "__acidsql_keys"


def sampled(frame: DataFrame, sample: Sample, table: Table) -> DataFrame:
    """The rows of the frame of a table that are in the sample.

    UnsupportedStatementError if values of a key's type have no known hash.
    """
    with clear_errors():
        # Within a struct, a function that makes many rows of one is an error.
        # Behind a key may be a comment, which a line break ends.
        keys = ", ".join(f"{key.text}\n AS k{number}" for number, key in enumerate(sample.keys))
        keyed = frame.alias(sample.name).selectExpr("*", f"struct({keys}) AS {_KEYS}")
        types = _types(keyed.schema[-1].dataType, sample, table)  # type: ignore[arg-type]
        work = kept_rows(types, sample.number - 1, sample.count, sample.version)
        return map_in_arrow(keyed, work, relaxed(frame).schema)


def _types(keys: StructType, sample: Sample, table: Table) -> list[ColumnType]:
    """The types of the keys, as Hive knows them: those of the table for its columns."""
    types = []
    for field, key in zip(keys, sample.keys, strict=True):
        column = table.column(key.column) if key.column else None
        text = field.dataType.simpleString()
        kind = column.type if column else type_of(text)
        if kind is None or kind == VOID or not is_bucketable(kind, sample.version):
            raise UnsupportedStatementError(
                f"TABLESAMPLE cannot hash {key.text}, which is {kind or text}",
                hint="Name other columns behind ON.",
            )
        types.append(kind)
    return types


def kept_rows(types: Sequence[ColumnType], bucket: int, count: int, version: int) -> ArrowWork:
    """The work of a task: it drops the rows of other buckets, and the keys, which come last."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            *columns, keyed = batch.columns
            assert isinstance(keyed, pa.StructArray)
            keys = keyed.flatten()
            rows = batch.select(range(len(columns)))
            yield rows.filter(pa.array(bucket_numbers(keys, types, count, version) == bucket))

    return work
