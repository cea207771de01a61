"""The plan of a LOAD DATA."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node


class LoadPlan(Node):
    """The files at ``path``, as they are, in a delta, or in a base with ``overwrite``.

    Where the ``target`` is plain they lie beside its own. ``static_partition`` gives the value
    text of each partition column. A ``local`` path is one of this machine, whose files stay.
    """

    kind: Literal["load"] = "load"
    table: TableName
    path: str
    local: bool = False
    overwrite: bool = False
    static_partition: tuple[tuple[str, str | None], ...] = ()
    target: TableKind = TableKind.FULL_ACID
