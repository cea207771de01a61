"""The plan of an INSERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText


class LiteralRows(Node):
    """Rows known from the text alone.

    A cell is the canonical text of a value of its column's type, or None for null; the cells of a
    row stand in the order of ``InsertPlan.columns``.
    """

    kind: Literal["literals"] = "literals"
    rows: tuple[tuple[str | None, ...], ...]


class InsertPlan(Node):
    """A delta under the statement's one statement id, or a base with ``overwrite``; files without
    a directory of their own where the ``target`` is plain.

    A base replaces what its partition held. Where ``static_partition`` is whole, that one is
    replaced even if there are no rows; otherwise those partitions that rows come to.
    ``columns`` are the target columns that the rows fill, in the order of the rows' columns, with
    dynamic partition columns among them. Columns not named are null. ``static_partition`` gives
    the value texts of the partition columns that the statement fixes.
    """

    kind: Literal["insert"] = "insert"
    table: TableName
    columns: tuple[str, ...]
    static_partition: tuple[tuple[str, str | None], ...] = ()
    rows: LiteralRows | SqlText
    overwrite: bool = False
    target: TableKind = TableKind.FULL_ACID


def literal_partitions(
    plan: InsertPlan, rows: LiteralRows, columns: Sequence[str]
) -> list[PartitionName]:
    """The partition of each row, in a table with these partition columns."""
    fixed = dict(plan.static_partition)
    filled = {name: index for index, name in enumerate(plan.columns)}
    return [
        PartitionName.of([(n, fixed[n] if n in fixed else row[filled[n]]) for n in columns])
        for row in rows.rows
    ]
