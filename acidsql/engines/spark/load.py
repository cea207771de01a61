"""LOAD DATA that reads the rows: to find their partitions and buckets, or to check them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.engines.local.load import checked_files
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.insert import placed_rows, write_inserted_rows
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.plain import rows_of_files, scan_rows
from acidsql.engines.spark.read import ScanRequest
from acidsql.engines.target import OutputFile, Target
from acidsql.errors import UnsupportedStatementError
from acidsql.model.ids import NO_WRITE_ID, StatementId
from acidsql.model.names import PartitionName, quote_identifier
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.model.types import VOID
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import imports
from acidsql.plans.sql_text import SqlText
from acidsql.ports.engine import PartitionLocation, TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def load_rows(
    plan: LoadPlan, job: Job, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """Write the rows of the files as an INSERT does. Their new files, not yet published.

    UnsupportedStatementError for LOCAL where the warehouse lies elsewhere: Spark's tasks could not
    read the files.
    """
    if plan.local and target.storage.local_path(plan.path) is None:
        raise UnsupportedStatementError(
            "LOAD DATA LOCAL that has to read the rows needs a warehouse on this machine",
            detail="The rows are read for their partitions or buckets, or to check them.",
            hint="Put the files where the warehouse is, and leave LOCAL out.",
        )
    if plan.local:
        # Spark would look from the directory of its own process.
        plan = plan.model_copy(update={"path": os.path.abspath(plan.path)})
    table = job.context.tables[plan.table].table
    rows = _exported_rows(plan, job, table) if imports(plan) else _rows(plan, job, table)
    # A void column is NULL.
    names = [column.name for column in table.all_columns if column.type != VOID]
    names = [name for name in names if name not in dict(plan.static_partition)]
    values = {name: SqlText.of(quote_identifier(name)) for name in names}
    placed = placed_rows(job, table, rows, values, dict(plan.static_partition))
    return write_inserted_rows(placed, table, target, statement_id)


def _rows(plan: LoadPlan, job: Job, table: Table) -> DataFrame:
    """The rows of the files, which are checked before."""
    source = _source(plan, table)
    files = [
        SelectedFile(0, path, size, None, row_filter=False)
        for path, _, size in checked_files(plan, source, job.storage)
    ]
    return rows_of_files(job.spark, source, files, job.storage)


def _exported_rows(plan: LoadPlan, job: Job, table: Table) -> DataFrame:
    """The rows of an export, read like those of an external table."""
    source = replace(table, location=plan.path, bucketing=None, parameters={}, constraints=())
    places = tuple(
        PartitionLocation(None if name is None else PartitionName.parse(name), location)
        for name, location in plan.places
    )
    snapshot = TableSnapshot(source, places, ValidWriteIdList(str(table.name), NO_WRITE_ID))
    context = job.context
    scan = scan_rows(job.spark, snapshot, context.txns, job.storage, job.kept, ScanRequest())
    return scan.frame


def _source(plan: LoadPlan, table: Table) -> Table:
    """The files as a plain table: the columns of the table, then the open partition columns."""
    fixed = dict(plan.static_partition)
    last = (column for column in table.partition_columns if column.name not in fixed)
    return replace(
        table,
        columns=(*table.columns, *last),
        partition_columns=(),
        location=plan.path,
        bucketing=None,
        parameters={},
        constraints=(),
    )
