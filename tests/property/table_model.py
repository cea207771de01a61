"""A table in plain Python: columns, rows, what a condition says of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st

from tests.property.typed_values import STYLES, Kind, Value, optional, seen

Row = list[Value]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass
class Column:
    """A column of the model, of a partition or of the rows themselves."""

    name: str
    kind: Kind
    partition: bool = False

    @property
    def quoted(self) -> str:
        return f"`{self.name}`"

    def values(self) -> st.SearchStrategy[Value]:
        return optional(self.kind)


@dataclass(frozen=True)
class Condition:
    """SQL with its arguments, and what it comes to for a row: true, false or, None, unknown."""

    sql: str
    arguments: tuple[Value, ...]
    of: Callable[[Row], bool | None]


def comparisons(columns: Sequence[Column], prefix: str) -> st.SearchStrategy[Condition]:
    """Conditions over one column."""
    places = range(len(columns))
    ordered = [at for at in places if columns[at].kind.key is not None]

    def compared(at: int) -> st.SearchStrategy[Condition]:
        column = columns[at]
        key = column.kind.key
        assert key is not None

        def build(operator: str, value: Value, style: str) -> Condition:
            arguments: list[Value] = []
            written = column.kind.written(value, style, arguments)

            def of(row: Row) -> bool | None:
                if row[at] is None:
                    return None
                return OPERATORS[operator](key(row[at]), key(value))

            sql = f"{prefix}{column.quoted} {operator} {written}"
            return Condition(sql, tuple(arguments), of)

        return st.builds(
            build, st.sampled_from(list(OPERATORS)), column.kind.values, st.sampled_from(STYLES)
        )

    def is_null(at: int, negated: bool) -> Condition:
        said = "IS NOT NULL" if negated else "IS NULL"
        sql = f"{prefix}{columns[at].quoted} {said}"
        return Condition(sql, (), lambda row: (row[at] is None) != negated)

    return st.one_of(
        st.sampled_from(ordered).flatmap(compared),
        st.sampled_from(ordered).flatmap(compared),
        st.builds(is_null, st.sampled_from(places), st.booleans()),
    )


def conditions(columns: Sequence[Column], prefix: str = "") -> st.SearchStrategy[Condition]:
    """One comparison, or two joined, or the opposite of one."""
    one = comparisons(columns, prefix)
    return st.one_of(
        one,
        st.builds(_joined, one, one, st.booleans()),
        st.builds(_negated, one),
        st.just(Condition("true", (), lambda row: True)),
    )


def _joined(a: Condition, b: Condition, both: bool) -> Condition:
    def of(row: Row) -> bool | None:
        found = (a.of(row), b.of(row))
        if (not both) in found:
            return not both
        return None if None in found else both

    word = "AND" if both else "OR"
    return Condition(f"({a.sql} {word} {b.sql})", a.arguments + b.arguments, of)


def _negated(a: Condition) -> Condition:
    def of(row: Row) -> bool | None:
        found = a.of(row)
        return None if found is None else not found

    return Condition(f"NOT ({a.sql})", a.arguments, of)


def compared_rows(columns: Sequence[Column], rows: Sequence[Sequence[Value]]) -> Counter[str]:
    """The rows, the model's or a result's, as they are compared."""
    return Counter(
        repr([seen(c.kind, v) for c, v in zip(columns, row, strict=True)]) for row in rows
    )
