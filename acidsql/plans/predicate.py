"""Predicates that only prune: a scan may skip what cannot satisfy them, and need not."""

from __future__ import annotations

from typing import Literal

from acidsql.plans.node import Node

Operator = Literal["=", "<", "<=", ">", ">=", "in"]


class Predicate(Node):
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
