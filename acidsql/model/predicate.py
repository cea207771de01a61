"""Predicates that only prune: a scan may skip what cannot satisfy them, and need not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "<", "<=", ">", ">=", "in"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """``column`` ``operator`` ``values``: one value, or several for "in".

    The values are texts in the canonical form of the column's type: an integer's or decimal's
    digits, an ISO date, a string itself. Null is never among them, so a predicate is true of no
    row in which the column is null.
    """

    column: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.operator == "in":
            return f"{self.column} in ({', '.join(self.values)})"
        return f"{self.column} {self.operator} {self.values[0]}"


def equalities(values: Sequence[tuple[str, str | None]]) -> tuple[Predicate, ...]:
    """What holds in the partitions that have these values; nothing is said of nulls.

    >>> [str(p) for p in equalities([("d", "2026-01-01"), ("k", None)])]
    ['d = 2026-01-01']
    """
    return tuple(
        Predicate(column.lower(), "=", (value,)) for column, value in values if value is not None
    )
