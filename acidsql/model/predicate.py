"""Predicates for pruning: a scan may skip rows that cannot satisfy them, but need not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from acidsql.model.names import PartitionName

Operator = Literal["=", "<", "<=", ">", ">=", "in"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """``column`` ``operator`` ``values``: one value, or several for "in".

    The values are texts in the canonical form of the column's type: an integer's or decimal's
    digits, an ISO date, an ISO date and time with a space in between, a string itself. Null is
    never among them, so a predicate is true of no row in which the column is null.
    """

    column: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.operator == "in":
            return f"{self.column} in ({', '.join(self.values)})"
        return f"{self.column} {self.operator} {self.values[0]}"


def membership(partitions: Sequence[PartitionName]) -> tuple[Predicate, ...]:
    """Predicates that are true in each of the partitions; none for a column that is null in one.

    >>> some = [PartitionName.of({"d": d, "h": "9", "k": None}) for d in ("1", "2")]
    >>> [str(p) for p in membership(some)]
    ['d in (1, 2)', 'h = 9']
    """
    found = []
    for pairs in zip(*(p.items for p in partitions), strict=True):
        column, values = pairs[0][0], dict.fromkeys(value for _, value in pairs)
        texts = tuple(value for value in values if value is not None)
        if len(texts) == len(values):
            found.append(Predicate(column, "=" if len(texts) == 1 else "in", texts))
    return tuple(found)
