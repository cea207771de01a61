"""ORC's search argument: lets the reader skip stripes and row groups of ACID files.

Spark would push filters on ``row.x`` down, but ORC resolves names inside ``row`` and never finds
that one. So the argument is built here over the plain column names, with Spark's own classes, and
passed in reader options. It only prunes: without a gateway to the JVM it is left out.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_errors, java_texts
from acidsql.engines.spark.timestamps import storage_type
from acidsql.model.names import quote_identifier as quote
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SOURCES = "org.apache.spark.sql.sources"
_ORC_FILTERS = "org.apache.spark.sql.execution.datasources.orc.OrcFilters$"

_DATE, _TIMESTAMP = PrimitiveType("date"), PrimitiveType("timestamp")
_DAYS = range(-2, 3)
"""How many days off a day may be."""
_FIRST_SURE = datetime.date(1583, 1, 3)
"""From here on, the days around a day are the same in all calendars."""

_FILTERS = {
    "=": "EqualTo",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
}


def search_argument(
    spark: SparkSession, table: Table, predicates: Sequence[Predicate]
) -> dict[str, str]:
    """The reader options for these predicates; {} if there are none or no gateway."""
    known = tuple(p for p in predicates if any(c.name == p.column for c in table.columns))
    if not known:
        return {}
    made = by_gateway(
        spark, lambda java: _options(java, table.columns, known), f"reading all of {table.name}"
    )
    return dict(made or ())


@lru_cache(maxsize=256)
def _options(
    java: JavaClasses, columns: tuple[Column, ...], predicates: tuple[Predicate, ...]
) -> tuple[tuple[str, str], ...]:
    """The reader options, cached: they take a hundred gateway calls, half of a fast planning."""
    filters = java("java.util.ArrayList")()
    kinds = {c.name: c.type for c in columns}
    for predicate in (wide for p in predicates for wide in _sure(p, kinds[p.column])):
        values = [_java_value(java, v, kinds[predicate.column]) for v in predicate.values]
        if any(v is None for v in values):
            continue
        name = f"`{predicate.column}`" if "." in predicate.column else predicate.column
        if predicate.operator == "in":
            array = java("java.lang.reflect.Array").newInstance(
                java("java.lang.Class").forName("java.lang.Object"), len(values)
            )
            for index, value in enumerate(values):
                array[index] = value
            filters.add(java(f"{_SOURCES}.In")(name, array))
        else:
            comparison = java(f"{_SOURCES}.{_FILTERS[predicate.operator]}")
            filters.add(comparison(name, values[0]))
    return () if filters.isEmpty() else _serialized(java, columns, filters)


def _sure(predicate: Predicate, kind: ColumnType) -> Sequence[Predicate]:
    """The predicates that are true of each row which anybody may take for one of the predicate's.

    A timestamp is compared by its day. ORC has no more than the bounds of timestamps to tell, since
    a Bloom filter finds none that is off by a moment.
    """
    if kind == _DATE:
        wide = widened(predicate)
        return () if wide is None else (wide,)
    if kind != _TIMESTAMP:
        return (predicate,)
    wide = widened(replace(predicate, values=tuple(text[:10] for text in predicate.values)))
    if wide is None:
        return ()
    low, high = f"{min(wide.values)} 00:00:00", f"{max(wide.values)} 23:59:59"
    least = replace(wide, operator=">=", values=(low,))
    most = replace(wide, operator="<=", values=(high,))
    match predicate.operator:
        case "=" | "in":
            return least, most
        case "<" | "<=":
            return (most,)
        case ">" | ">=":
            return (least,)


def widened(predicate: Predicate) -> Predicate | None:
    """A predicate of dates that is true of all days that others may take for the predicate's.

    None for old days, because the calendars of file and filter may differ, and for days at the end
    of Python's years. Java reads the day of a java.sql.Date in the zone of its JVM. That of a task
    may be 26 hours behind the driver's, and some zones have left out a day.
    """
    days = [datetime.date.fromisoformat(text) for text in predicate.values]
    if min(days) < _FIRST_SURE:
        return None
    try:
        around = {day: [day + datetime.timedelta(n) for n in _DAYS] for day in days}
    except OverflowError:
        return None
    match predicate.operator:
        case "=" | "in":
            listed = sorted({other for others in around.values() for other in others})
            return replace(predicate, operator="in", values=tuple(map(str, listed)))
        case "<" | "<=":
            return replace(predicate, values=(str(around[days[0]][-1]),))
        case ">" | ">=":
            return replace(predicate, values=(str(around[days[0]][0]),))


def _serialized(
    java: JavaClasses, columns: Sequence[Column], filters: Any
) -> tuple[tuple[str, str], ...]:
    sequence = java("org.apache.spark.api.python.PythonUtils").toSeq(filters)
    defaults = _other_arguments(java)
    found = getattr(java(_ORC_FILTERS), "MODULE$").createFilter(
        _schema(java, tuple(columns)), sequence, *defaults
    )
    if found.isEmpty():
        return ()
    conf = java("org.apache.hadoop.conf.Configuration")(False)
    formats = java("org.apache.orc.mapred.OrcInputFormat")
    formats.setSearchArgument(conf, found.get(), java_texts(java, [c.name for c in columns]))
    keys = ("orc.kryo.sarg", "orc.sarg.column.names")
    return tuple((key, conf.get(key)) for key in keys)


@lru_cache(maxsize=64)
def _schema(java: JavaClasses, columns: tuple[Column, ...]) -> Any:
    ddl = ", ".join(f"{quote(c.name)} {storage_type(c.type)}" for c in columns)
    return java("org.apache.spark.sql.types.StructType").fromDDL(ddl)


@lru_cache(maxsize=1)
def _other_arguments(java: JavaClasses) -> tuple[Any, ...]:
    """What OrcFilters.createFilter takes beside schema and filters, by default.

    Spark 4.3 has a third parameter.
    """
    try:
        return (getattr(getattr(java(_ORC_FILTERS), "MODULE$"), "createFilter$default$3")(),)
    except java_errors():
        return ()


def _java_value(java: JavaClasses, text: str, kind: ColumnType) -> Any:
    """The value for Java; None for one that Java may not find where it is.

    The bounds of texts are in the order of their bytes. Java compares them with a text in the order
    of UTF-16, and takes bytes that are not UTF-8 for U+FFFD. An ASCII text is in the same order to
    other texts by both (RecordReaderImpl.evaluatePredicateRange).
    """
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return java("java.lang.Long").valueOf(text)
        case DecimalType():
            return java("java.math.BigDecimal")(str(Decimal(text)))
        case PrimitiveType("date"):
            return java("java.sql.Date").valueOf(text)
        case PrimitiveType("timestamp"):
            return java("java.sql.Timestamp").valueOf(text)
        case PrimitiveType("string"):
            return text if text.isascii() else None
        case CharType():
            return None
    return None
