"""Multi-insert: sources whose rows all legs must see alike are computed once, then leg by leg."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.engines.placed_write import PlacedWrite
from acidsql.engines.spark.insert import rows_to_insert, write_inserted_rows
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.shared_source import shared_sources
from acidsql.engines.target import OutputFile
from acidsql.plans.insert import InsertPlan
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.sql_text import SqlText


def run_multi_insert(
    plan: MultiInsertPlan, job: Job, writes: Sequence[PlacedWrite]
) -> list[list[OutputFile]]:
    """Write the rows of some legs to their places. Their files, not yet published.

    The files to read are chosen for all legs before the first one writes: a base that a leg has
    begun would hide the files below it.
    """
    with shared_sources(job, plan.sources):
        frames = []
        for leg in (write.plan for write in writes):
            assert isinstance(leg, InsertPlan), "a leg is an INSERT"
            assert isinstance(leg.rows, SqlText), "of a query"
            frames.append(rows_to_insert(leg, leg.rows, job))
        return [
            write_inserted_rows(frame, write.table, write.target, write.context.statement_id)
            for frame, write in zip(frames, writes, strict=True)
        ]
