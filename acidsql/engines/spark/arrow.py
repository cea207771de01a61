"""DataFrames → Arrow, also where Spark wrongly takes a field for one that is never null.

Where a struct is null its fields are null, too, even those that Spark calls not nullable. Of `if(c,
named_struct('x', 1), null)` it says that x is never null. PyArrow refuses such an array as
contradictory ("nulls in input cannot be viewed as non-nullable").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses
from acidsql.engines.spark.settings import configured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

ArrowWork = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The work of a task: it takes the batches of its rows, and yields others."""


def to_arrow(frame: DataFrame) -> pa.Table:
    """The rows as one Arrow table; every `toArrow` of ours goes this way.

    ExecutionError, or another AcidSqlError, if the job fails.
    """
    with clear_errors():
        return relaxed(frame).toArrow()


@contextmanager
def compressed(spark: SparkSession) -> Iterator[None]:
    """Have tasks compress the batches of `to_arrow` as long as a block runs.

    This is for row ids, of which a fifteenth is left: Spark's driver fetches the result of each
    task in one piece. Spark 4.0 takes no notice.
    """
    setting = "spark.sql.execution.arrow.compression"
    with (
        configured(spark, f"{setting}.codec", "zstd"),
        configured(spark, f"{setting}.zstd.level", "1"),
    ):
        yield


def survives_arrow(schema: StructType) -> bool:
    """Whether rows are the same after a round trip through Arrow: distinct names, known types."""
    names = [name.lower() for name in schema.names]
    return len(set(names)) == len(names) and _has_arrow_type(schema)


def _has_arrow_type(kind: DataType) -> bool:
    from pyspark.sql import types  # noqa: PLC0415

    match kind:
        case types.StructType():
            several = len(set(kind.names)) < len(kind.names)
            return not several and all(_has_arrow_type(f.dataType) for f in kind.fields)
        case types.ArrayType():
            return _has_arrow_type(kind.elementType)
        case types.MapType():
            return _has_arrow_type(kind.keyType) and _has_arrow_type(kind.valueType)
        case types.DayTimeIntervalType():
            return True
        case _:
            others = (types.NullType, types.AnsiIntervalType, types.CalendarIntervalType)
            return not isinstance(kind, (*others, types.VariantType, types.UserDefinedType))


def map_in_arrow(frame: DataFrame, work: ArrowWork, schema: str | StructType) -> DataFrame:
    """DataFrame.mapInArrow for any names: PySpark takes a dot in one for the access to a field."""
    frame, names = relaxed(frame), frame.columns
    if not any("." in name for name in names):
        return frame.mapInArrow(work, schema)

    def renamed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*(f"__c{index}" for index in range(len(names)))).mapInArrow(renamed, schema)


def relaxed(frame: DataFrame) -> DataFrame:
    """The frame with every field of a struct nullable; rows and names stay the same.

    The frame itself where no type changes, so a frame of plain columns costs nothing.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only where there is a frame

    with clear_errors():
        kinds = [field.dataType for field in frame.schema.fields]
        wanted = [relaxed_type(kind) for kind in kinds]
        if kinds == wanted:
            return frame
        # Columns go by their places: names may not be unique, and Spark takes a dot in one for the
        # access to a field.
        places = [f"__c{index}" for index in range(len(kinds))]
        columns = [
            F.col(place) if kind == new else F.col(place).cast(new)
            for place, kind, new in zip(places, kinds, wanted, strict=True)
        ]
        return frame.toDF(*places).select(*columns).toDF(*frame.columns)


def relaxed_type(kind: DataType) -> DataType:
    """The type with every field of a struct nullable, at any depth.

    Elements of an array and values of a map stay what they are: a null array or map has none. Those
    of an empty array or map without a type become nullable, since Arrow's type of NULL is. The keys
    of such a map, which are never null, become texts.
    """
    from pyspark.sql.types import (  # noqa: PLC0415
        ArrayType,
        MapType,
        NullType,
        StringType,
        StructField,
        StructType,
    )

    match kind:
        case StructType():
            return StructType(
                [StructField(f.name, relaxed_type(f.dataType), True, f.metadata) for f in kind]
            )
        case ArrayType():
            nullable = kind.containsNull or isinstance(kind.elementType, NullType)
            return ArrayType(relaxed_type(kind.elementType), nullable)
        case MapType():
            value = relaxed_type(kind.valueType)
            nullable = kind.valueContainsNull or isinstance(value, NullType)
            key = StringType() if isinstance(kind.keyType, NullType) else kind.keyType
            return MapType(relaxed_type(key), value, nullable)
        case _:
            return kind


def arrow_converters(java: JavaClasses) -> Any:
    """Spark's object that makes Arrow's batches of rows, and rows of batches."""
    return getattr(java("org.apache.spark.sql.execution.arrow.ArrowConverters$"), "MODULE$")
