"""How many rows a task may hand to the driver: by their measured bytes, counted while it runs.

Spark SQL has no running sum without a shuffle, but `monotonically_increasing_id` counts the rows
that pass its place in the query. So rows are sorted into classes by their size, each class counts
its own rows, and a share of the driver's memory is a number of rows of each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acidsql.model.names import quote_identifier as quote

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

GUESSED_BYTES = 16
"""Bytes of each column in a guess at a row's width; a text up to this length costs no more."""

_GROWTH = 8
"""How many times as large the rows of a class may be as those of the class before.

Each class makes the code longer that Spark compiles for a statement of one row.
"""

_TEXTS_MAX = 8
"""`is_costly` of more texts."""

_COUNT = "(monotonically_increasing_id() & 8589934591)"  # the low 33 bits count within a task


def beyond_guess(schema: StructType) -> str | None:
    """SQL: how many bytes more than the guess a row has, or less; None if it never has more.

    >>> from pyspark.sql.types import IntegerType, StringType, StructType
    >>> beyond_guess(StructType().add("a", IntegerType()).add("b", StringType()))
    '(-16L + coalesce(octet_length(`b`), 0))'
    """
    parts = [_measured(quote(f.name), f.dataType, 0) for f in schema.fields]
    found = [part for part in parts if part is not None]
    return f"({' + '.join([f'-{GUESSED_BYTES * len(found)}L', *found])})" if found else None


def is_costly(beyond: str) -> bool:
    """Whether a `beyond_guess` should be a column of its own.

    `rows_left` repeats it for each class. For a few texts, that takes less time than one more step
    of Spark's. For 300 texts, an UPDATE of one row takes two thirds longer. An array would be run
    through once for each class.

    >>> is_costly("(-16L + coalesce(octet_length(`b`), 0))")
    False
    """
    return "aggregate(" in beyond or beyond.count("octet_length(") > _TEXTS_MAX


def rows_left(beyond: str | None, width: int, share: int, rows_min: int) -> str:
    """SQL: minus how many rows of its class may follow a row in its task.

    The last row that may be handed out has 0, which tells that there are others. ``beyond`` has the
    bytes beyond ``width``, the guess at a row's size; None says that no row has any. A task may
    hand out ``share`` bytes of each class, and ``rows_min`` rows that are about as large as the
    guess.
    """
    usual = f"{_COUNT} - {max(rows_min, share // width)}"
    if beyond is None:
        return usual
    classes = "".join(
        f" WHEN {beyond} <= {above - width} THEN {_COUNT} - {share // above}"
        for above in _classes(width, share)
    )
    return f"CASE WHEN {beyond} <= {width} THEN {usual}{classes} ELSE {_COUNT} END"


def rows_max(width: int, share: int, rows_min: int) -> int:
    """How many rows a task needs so that one of them surely is the last of its class.

    >>> rows_max(50, 1000, 0)  # 20 rows of up to 100 bytes, 2 of up to 400
    23
    """
    classes = (share // above for above in _classes(width, share))
    return 1 + max(rows_min, share // width) + sum(classes)


def _classes(width: int, share: int) -> Iterator[int]:
    """The greatest size of a row of each class but the first, whose rows may be twice the guess."""
    size = width * _GROWTH
    while size < share:
        yield size
        size *= _GROWTH


def _measured(expression: str, kind: DataType, depth: int) -> str | None:
    """SQL: the bytes of a value, 0 for null; None for a type whose values all have few bytes."""
    from pyspark.sql import types  # noqa: PLC0415 - only where there is a frame

    match kind:
        case types.StringType() | types.BinaryType() | types.CharType() | types.VarcharType():
            return f"coalesce(octet_length({expression}), 0)"
        case types.ArrayType():
            name = f"x{depth}"
            inner = _measured(name, kind.elementType, depth + 1)
            if inner is None:
                return f"coalesce(greatest(size({expression}), 0) * {GUESSED_BYTES}L, 0)"
            total = f"(s{depth}, {name}) -> s{depth} + {GUESSED_BYTES} + {inner}"
            return f"coalesce(aggregate({expression}, 0L, {total}), 0)"
        case types.MapType():
            sides = (("map_keys", kind.keyType), ("map_values", kind.valueType))
            arrays = [
                _measured(f"{side}({expression})", types.ArrayType(part), depth)
                for side, part in sides
            ]
            return f"({' + '.join(a for a in arrays if a is not None)})"
        case types.StructType():
            fields = [_measured(f"{expression}.{quote(f.name)}", f.dataType, depth) for f in kind]
            sizes = [f for f in fields if f is not None]
            return f"({' + '.join(sizes)})" if sizes else None
        case _:
            return None
