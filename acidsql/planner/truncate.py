"""TRUNCATE → plan."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.planner.names import Names, ViewRefusal, find_target
from acidsql.planner.partition import fixed_values
from acidsql.planner.predicates import Arguments
from acidsql.plans.truncate import TruncatePlan
from acidsql.statements.truncate import Truncate


def plan_truncate(statement: Truncate, names: Names, arguments: Arguments) -> TruncatePlan:
    """The plan of a TRUNCATE. PARTITION may leave partition columns out.

    Raises AnalysisError for an external table, and for PARTITION of an unpartitioned one.
    """
    table = find_target(statement.target, names, ViewRefusal.TRUNCATE)
    if not table.owns_files:
        raise AnalysisError(
            f"Cannot truncate non-managed table {table.name}.",
            hint="INSERT OVERWRITE the table with no rows, or remove its files.",
            code=10146,
            line=statement.target.line,
            column=statement.target.column,
        )
    if statement.partition and not table.partition_columns:
        raise AnalysisError(
            f'PARTITION: table "{table.name}" is not partitioned',
            code=10148,
            line=statement.target.line,
            column=statement.target.column,
        )
    return TruncatePlan(
        table=table.name,
        static_partition=fixed_values(statement.partition, table, arguments),
        target=table.kind,
    )
