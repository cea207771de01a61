"""The plan of a DELETE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText


class DeletePlan(Node):
    """Write one delete delta with the row ids of the rows that satisfy ``where``; None: all rows.

    ``whole_partitions`` says that ``where`` is what ``predicates`` say, and that these are about
    partition columns only: it is true of all rows of a partition, or of none. ``empties`` says that
    a base without rows is written into such partitions, and no delete delta.

    ``alias`` is the name under which ``where`` knows the target. ``hidden`` are the hidden
    columns of the target that the texts mention. ``relations`` are joined with the target; each may
    have joins itself. ``common`` are the expressions of a WITH, which all texts may read.
    """

    kind: Literal["delete"] = "delete"
    table: TableName
    alias: str
    where: SqlText | None
    predicates: tuple[Predicate, ...] = ()
    hidden: tuple[HiddenColumn, ...] = ()
    relations: tuple[SqlText, ...] = ()
    common: tuple[SharedSource, ...] = ()
    whole_partitions: bool = False
    empties: bool = False
