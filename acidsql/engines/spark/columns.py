"""Columns as Spark's ORC reader returns them → as a query sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.parquet_times import OURS, ParquetTimes
from acidsql.engines.spark.gateway import JavaClasses
from acidsql.engines.spark.select import over
from acidsql.engines.spark.timestamps import (
    proleptic_date,
    session_is_utc,
    shown_clock,
    wall_clock,
)
from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.table import Column
from acidsql.model.types import (
    INSTANT,
    ArrayType,
    CharType,
    ColumnType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
    spark_type,
    walk_types,
)

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

_TIMESTAMP = PrimitiveType("timestamp")
CHAR_METADATA = "__CHAR_VARCHAR_TYPE_STRING"
"""The metadata by which Spark knows that a string column is a char(n) or varchar(n).

With a char(n) Spark pads the values that it compares the column with.
"""

_TYPE_METADATA = "acidsql.type"
"""The metadata of a column with instants: its type in the words of `spark_type`.

Spark calls two types "timestamp": an instant, and what ``CAST(… AS timestamp)`` yields, which in
Hive is wall-clock time.
"""

_SPARKS_INSTANT = re.compile(r"\btimestamp\b(?!:)")
"""The word for an instant in a type of Spark's, where it is no field's name."""


Leaf = Callable[[str, ColumnType], str | None]


def seen_columns(
    spark: SparkSession,
    kinds: Sequence[ColumnType],
    *,
    cut: bool = False,
    pushed: bool = True,
    times: ParquetTimes = OURS,
) -> Callable[[str, ColumnType], str]:
    """A function that turns the expression of a column as read into the one that a query sees.

    ``kinds`` are the types of all columns to be turned. Timestamps become wall-clock time; char(n)
    gets its padding, which ORC's reader may take off. With ``cut``, texts longer than their type
    are cut. Without ``pushed``, Spark pushes no condition on times to the reader: see `unpushed`.
    ``times`` says how the files tell days and timestamps.
    """
    has_timestamps = any(_TIMESTAMP in walk_types(kind) for kind in kinds)
    is_utc = not has_timestamps or session_is_utc(spark)

    def leaf(expression: str, kind: ColumnType) -> str | None:
        if not pushed and kind in (_TIMESTAMP, INSTANT):
            expression = f"timestamp_micros(unix_micros({expression}))"
        match kind:
            case PrimitiveType("timestamp"):
                clock = f"cast({expression} as timestamp_ntz)" if is_utc else wall_clock(expression)
                return shown_clock(clock, times)
            case PrimitiveType("timestamp with local time zone") if not pushed:
                return expression
            case PrimitiveType("date") if times.julian_days:
                return proleptic_date(expression)
            case CharType("varchar") if cut:
                return _cut(expression, kind)
            case _:
                return _padded(expression, kind)

    return lambda expression, kind: rebuilt(expression, kind, leaf)


def unpushed(expression: str, kind: ColumnType, *, texts: bool = True) -> str:
    """The expression, through which Spark pushes no condition on floats, texts or dates to readers.

    They would miss rows. By the bounds and dictionaries of files, -0.0 is not 0.0. Spark hands out
    days as instants of the hybrid calendar, to tasks that may be in another time zone. ORC's reader
    has another order of texts than the bounds in files; where ``texts`` is False, conditions on
    them are pushed. `sarg` pushes what is safe.
    """
    match kind:
        case PrimitiveType("float" | "double"):
            return f"({expression} * cast(1 as {kind}))"
        case PrimitiveType("string") | CharType() if texts:
            return f"cast(cast({expression} as binary) as string)"
        case PrimitiveType("date"):
            return f"date_add({expression}, 0)"
        case StructType(fields):
            names = [f"{expression}.{quote(name)}" for name, _ in fields]
            pairs = zip(names, fields, strict=True)
            shown = [unpushed(n, k, texts=texts) for n, (_, k) in pairs]
            return expression if shown == names else _struct(expression, fields, shown)
    return expression


def has_back_quote(columns: Iterable[Column]) -> bool:
    """Whether a name has a back quote, at any depth. Spark's ORC reader finds no such name.

    It reads null instead.
    """
    return any(
        "`" in name for column in columns for name in (column.name, *_field_names(column.type))
    )


def has_no_names(columns: Iterable[Column]) -> bool:
    """Whether ORC's reader takes the names for none, and matches columns of events by position.

    With columns left out it would take the wrong ones.
    """
    return all(column.name.startswith("_col") for column in columns)


def _field_names(kind: ColumnType) -> Iterator[str]:
    for inner in walk_types(kind):
        if isinstance(inner, StructType):
            yield from (name for name, _ in inner.fields)


def padded(expression: str, kind: ColumnType) -> str:
    """The expression with the padding of each char(n) in it."""
    return rebuilt(expression, kind, _padded)


def _padded(expression: str, kind: ColumnType) -> str | None:
    if isinstance(kind, CharType) and kind.name == "char":
        return f"rpad({expression}, {kind.length}, ' ')"
    return None


def cut_texts(expression: str, kind: ColumnType) -> str:
    """The expression with each char(n) and varchar(n) in it cut to its length.

    >>> cut_texts("a", ArrayType(CharType("varchar", 3)))
    'transform(a, x -> left(x, 3))'
    """
    return rebuilt(expression, kind, _cut)


def _cut(expression: str, kind: ColumnType) -> str | None:
    return f"left({expression}, {kind.length})" if isinstance(kind, CharType) else None


def remembering_types(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with notes in those columns whose types Spark has no name for.

    `told_type` reads the notes. By that of a char(n), Spark compares it as it must: trailing spaces
    do not count.
    """
    notes = tuple((c.name, *note) for c in columns if (note := _note(c.type)) is not None)
    if not notes:
        return frame
    names = tuple(frame.columns)
    found = over(frame, lambda java: frame._jdf.select(_java_columns(java, names, notes)))
    return frame.select(*_columns(names, notes)) if found is None else found


@lru_cache(maxsize=256)
def _java_columns(
    java: JavaClasses, names: tuple[str, ...], notes: tuple[tuple[str, str, str], ...]
) -> Any:
    """The columns for Java, cached: to make one takes several calls into the JVM."""
    columns = java("java.util.ArrayList")()
    for column in _columns(names, notes):
        columns.add(column._jc)
    return java("org.apache.spark.api.python.PythonUtils").toSeq(columns)


def _columns(names: Sequence[str], notes: Sequence[tuple[str, str, str]]) -> Iterator[SparkColumn]:
    """The columns of these names, with their notes."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only where there is a frame

    noted = {name: {"metadata": {key: text}} for name, key, text in notes}
    for name in names:
        # Not by withMetadata, which takes a dot in a name for the access to a field.
        yield F.col(quote(name)).alias(name, **noted.get(name, {}))


def _note(kind: ColumnType) -> tuple[str, str] | None:
    """The key and the text of the note in a column of this type; None if it needs none."""
    if isinstance(kind, CharType):
        return CHAR_METADATA, str(kind)
    return (_TYPE_METADATA, spark_type(kind)) if INSTANT in walk_types(kind) else None


def told_type(field: StructField) -> str:
    """The type of a query's column, in Spark's words or in Hive's.

    Where the query hands a table's column on unchanged, it is the type that the table's column has.
    """
    text = field.dataType.simpleString()
    noted: str | None = field.metadata.get(_TYPE_METADATA)
    if noted is not None and type_of(text) == parse_type(noted):
        return noted
    return str(field.metadata.get(CHAR_METADATA, text))


def type_of(text: str) -> ColumnType | None:
    """The type of a table's column that Spark calls so; None if there is no such type."""
    try:
        return parse_type(_SPARKS_INSTANT.sub("timestamp_ltz", text))
    except ValueError:
        return None


def rebuilt(expression: str, kind: ColumnType, leaf: Leaf) -> str:
    """The expression with each leaf as ``leaf`` rewrites it; None from ``leaf`` changes nothing.

    >>> double = lambda e, k: f"2 * {e}" if str(k) == "int" else None
    >>> rebuilt("a", ArrayType(PrimitiveType("int")), double)
    'transform(a, x -> 2 * x)'
    """
    changed = leaf(expression, kind)
    if changed is not None:
        return changed
    match kind:
        case ArrayType(element):
            value = rebuilt("x", element, leaf)
            return expression if value == "x" else f"transform({expression}, x -> {value})"
        case MapType(key, value_kind):
            keys, values = f"map_keys({expression})", f"map_values({expression})"
            new_keys = rebuilt(keys, ArrayType(key), leaf)
            new_values = rebuilt(values, ArrayType(value_kind), leaf)
            if (new_keys, new_values) == (keys, values):
                return expression
            return f"map_from_arrays({new_keys}, {new_values})"
        case StructType(fields):
            names = [f"{expression}.{quote(name)}" for name, _ in fields]
            shown = [rebuilt(n, k, leaf) for n, (_, k) in zip(names, fields, strict=True)]
            return expression if shown == names else _struct(expression, fields, shown)
        case _:
            return expression


def _struct(
    expression: str, fields: Sequence[tuple[str, ColumnType]], values: Sequence[str]
) -> str:
    """The struct with other values of its fields."""
    pairs = zip((name for name, _ in fields), values, strict=True)
    parts = ", ".join(f"{literal(name)}, {value}" for name, value in pairs)
    return f"if({expression} is null, null, named_struct({parts}))"
