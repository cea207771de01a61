"""Rows that several parts of a plan read."""

from __future__ import annotations

from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText


class SharedSource(Node):
    """Rows that the parts of a plan, and the sources behind it, read as the InputSource ``name``.

    With ``once`` they are computed once: a second computation may give other rows, or costs much.
    Without it, they are computed again wherever they are read.
    """

    name: str
    rows: SqlText
    once: bool
