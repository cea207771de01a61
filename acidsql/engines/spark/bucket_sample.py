"""``TABLESAMPLE (BUCKET x OUT OF y)``: rows of a table by the hash that places rows in buckets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.spark.arrow import ArrowWork, map_in_arrow, relaxed
from acidsql.engines.spark.columns import CHAR_METADATA
from acidsql.engines.spark.errors import clear_errors
from acidsql.errors import UnsupportedStatementError
from acidsql.layout.bucketing import bucket_numbers, is_bucketable
from acidsql.model.types import VOID, ColumnType, parse_type
from acidsql.plans.sql_text import Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_KEYS = "__acidsql_keys"

_INSTANT = re.compile(r"\btimestamp\b(?!:)")
"""What Spark calls the type that is Hive's timestamp with local time zone."""


def sampled(frame: DataFrame, sample: Sample) -> DataFrame:
    """The rows of a table's frame that are in the sample.

    UnsupportedStatementError if values of a key's type have no known hash.
    """
    with clear_errors():
        # Within a struct, a function that makes many rows of one is an error.
        keys = ", ".join(f"{key}\n" for key in sample.keys)
        keyed = frame.alias(sample.name).selectExpr("*", f"struct({keys}) AS {_KEYS}")
        types = _types(keyed.schema[-1].dataType, sample)  # type: ignore[arg-type]
        work = kept_rows(types, sample.number - 1, sample.count, sample.version)
        return map_in_arrow(keyed, work, relaxed(frame).schema)


def _types(keys: StructType, sample: Sample) -> list[ColumnType]:
    """The types of the keys, as Hive knows them."""
    types = []
    for field, key in zip(keys, sample.keys, strict=True):
        text = field.metadata.get(CHAR_METADATA, field.dataType.simpleString())
        kind = bucketable(text, sample.version)
        if kind is None:
            raise UnsupportedStatementError(
                f"TABLESAMPLE cannot hash {key}, which is {text}",
                hint="Name other columns behind ON.",
            )
        types.append(kind)
    return types


def bucketable(text: str, version: int) -> ColumnType | None:
    """The type that Spark calls so; None if there is no such type in a table, or no hash for it."""
    try:
        kind = parse_type(_INSTANT.sub("timestamp_ltz", text))
    except ValueError:
        return None
    return kind if kind != VOID and is_bucketable(kind, version) else None


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
