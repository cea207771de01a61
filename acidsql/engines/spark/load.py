"""LOAD DATA that reads the rows: to find their partitions and buckets, or to check them."""

from __future__ import annotations

import os
from dataclasses import replace

from acidsql.engines.local.load import checked_files
from acidsql.engines.output import OutputFile, Target
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.insert import placed_rows, write_inserted_rows
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.plain import rows_of_files
from acidsql.engines.spark.settings import ansi
from acidsql.errors import UnsupportedStatementError
from acidsql.model.ids import StatementId
from acidsql.model.names import quote_identifier
from acidsql.model.table import Table
from acidsql.model.types import VOID
from acidsql.plans.load import LoadPlan
from acidsql.plans.sql_text import SqlText


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
    source = _source(plan, table)
    files = [
        SelectedFile(0, path, size, None, row_filter=False)
        for path, _, size in checked_files(plan, source, target.storage)
    ]
    rows = rows_of_files(job.spark, source, files, target.storage)
    # A void column is NULL.
    names = [column.name for column in source.columns if column.type != VOID]
    values = {name: SqlText.of(quote_identifier(name)) for name in names}
    with ansi(job.spark):
        placed = placed_rows(job, table, rows, values, dict(plan.static_partition))
    return write_inserted_rows(placed, table, target, statement_id)


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
