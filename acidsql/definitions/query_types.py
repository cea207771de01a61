"""The types that the columns of a query have where its rows are stored."""

from __future__ import annotations

import re

from acidsql.planner.query import is_union
from acidsql.ports.engine import Frame
from acidsql.statements.query import Query

_CHAR = re.compile(r"(var)?char\(")


def stored_types(query: Query, frame: Frame) -> list[str]:
    """The types of the query's columns in Spark's words.

    For a union, Spark reports the first side's char(n) or varchar(n), though rows of the other
    sides may be longer. There the type is string.
    """
    united = is_union(query)
    return ["string" if united and _CHAR.match(kind) else kind for kind in frame.types]
