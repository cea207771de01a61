"""Hive's limits of dynamic partitions: hive.exec.dynamic.partition and its neighbours.

A dynamic partition is one that the rows of an INSERT or LOAD DATA name. UPDATE, DELETE and MERGE
know no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acidsql.errors import AnalysisError, ExecutionError
from acidsql.model.names import TableName
from acidsql.model.table import Table
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import TableWrite, WritePlan, table_writes
from acidsql.ports.engine import JobResult
from acidsql.settings import Settings


def refuse_dynamic(plan: WritePlan, targets: Mapping[TableName, Table], settings: Settings) -> None:
    """AnalysisError if a statement leaves more to its rows than the settings allow."""
    for insert in _dynamic_inserts(plan, targets):
        if not settings.dynamic_partition:
            raise AnalysisError(
                "Dynamic partition is disabled. Either enable it by setting"
                " hive.exec.dynamic.partition=true or specify partition column values",
                code=10095,
            )
        if settings.dynamic_partition_mode == "strict" and not insert.static_partition:
            raise AnalysisError(
                "Dynamic partition strict mode requires at least one static partition column. To"
                " turn this off set hive.exec.dynamic.partition.mode=nonstrict",
                code=10096,
            )


def refuse_too_many(write: TableWrite, table: Table, job: JobResult, most: int | None) -> None:
    """ExecutionError if a statement has reached more dynamic partitions than that."""
    if most is None or not any(_dynamic_inserts(write, {table.name: table})):
        return
    reached = len({touched.partition for touched in job.touched})
    if reached > most:
        raise ExecutionError(
            f"Number of dynamic partitions created is {reached}, which is more than {most}",
            hint=f"Set hive.exec.max.dynamic.partitions to at least {reached}.",
            code=20004,
        )


def _dynamic_inserts(
    plan: WritePlan, targets: Mapping[TableName, Table]
) -> Iterator[InsertPlan | LoadPlan]:
    for write in table_writes(plan):
        if isinstance(write, InsertPlan | LoadPlan):
            columns = targets[write.table].partition_columns
            if len(write.static_partition) < len(columns):
                yield write
