"""ALTER TABLE … COMPACT → plan."""

from __future__ import annotations

from typing import Any, Literal

from acidsql.errors import AnalysisError
from acidsql.model.table import TableKind
from acidsql.planner.names import Names, find_target
from acidsql.planner.partition import partition_of
from acidsql.planner.predicates import Arguments
from acidsql.plans.compact import CompactPlan
from acidsql.statements.compact import Compact


def plan_compact(statement: Compact, names: Names, arguments: Arguments) -> CompactPlan:
    """The plan to compact a table, or one partition of it. The partition may not exist.

    Raises AnalysisError for a plain table, and for a partitioned table without a partition.
    """
    table = find_target(statement.target, names)
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    if table.kind is TableKind.PLAIN:
        raise AnalysisError(
            f"Compaction is not allowed on non-ACID table {table.name}", code=10286, **place
        )
    partition = partition_of(statement.partition, table, statement.target, arguments)
    if table.partition_columns and partition is None:
        raise AnalysisError(
            f"table {table.name} is partitioned: say which partition to compact",
            hint="Write ALTER TABLE … PARTITION (…) COMPACT …; SHOW PARTITIONS lists the"
            " partitions.",
            code=10283,
            **place,
        )
    kind: Literal["minor", "major"] = "major" if statement.type == "major" else "minor"
    return CompactPlan(table=table.name, partition=partition, type=kind)
