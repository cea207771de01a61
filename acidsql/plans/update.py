"""The plan of an UPDATE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText


class SetColumn(Node):
    """Set ``column``, or the field at the path ``fields`` inside it, to ``value``.

    The value is an expression over the old row.
    """

    column: str
    value: SqlText
    fields: tuple[str, ...] = ()


class UpdatePlan(Node):
    """Write one delete delta and one delta under the same statement id.

    ``alias`` is the name under which the expressions know the target. ``hidden`` are the
    hidden columns of the target that the texts mention. ``relations`` are joined with the target;
    each may have joins itself. ``common`` are the expressions of a WITH, which all texts may read.
    ``whole_partitions`` is that of a `DeletePlan`.
    With ``moves`` the assignments have partition or bucket columns: the new versions are placed as
    the rows of an INSERT are.
    """

    kind: Literal["update"] = "update"
    table: TableName
    alias: str
    assignments: tuple[SetColumn, ...]
    where: SqlText | None
    predicates: tuple[Predicate, ...] = ()
    hidden: tuple[HiddenColumn, ...] = ()
    relations: tuple[SqlText, ...] = ()
    common: tuple[SharedSource, ...] = ()
    moves: bool = False
    whole_partitions: bool = False

    @property
    def inserts(self) -> bool:
        """Whether rows may come to any partition."""
        return self.moves
