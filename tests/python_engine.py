"""An engine that does in Python what else needs Spark: for thousands of statements, and processes.

It runs the whole life of a statement. Only which rows are read and what becomes of them is not
asked of the SQL but of the test: tables have the columns ``k`` and ``v``, perhaps partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg, ChangeWriter, writing_order
from acidsql.engines.output import Output
from acidsql.engines.placed_write import PlacedWrite
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.spark.runner import SparkEngine
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target, partition_text
from acidsql.errors import MissingFileError
from acidsql.execution.result import RowsFrame
from acidsql.model.ids import BucketId
from acidsql.model.snapshot import ValidTxnList
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.plan import TableWrite, fixed_partition, tables_read
from acidsql.plans.query import QueryPlan
from acidsql.plans.update import UpdatePlan
from acidsql.ports.engine import ReadContext, TableSnapshot, WriteContext
from tests.checks import Contents, contents, visible_rows


class PythonEngine(SparkEngine):
    """An UPDATE gives the rows of ``key`` the value ``change`` makes of the old one, a DELETE
    removes them; a MERGE does the same with them and inserts ``merged``. A leg of a multi-insert
    inserts its two constants. A query yields all rows.
    """

    key: int = 0
    change: Callable[[Any], Any] = staticmethod(lambda value: value)
    merged: Sequence[Any] = ()

    def query(self, plan: QueryPlan, context: ReadContext) -> Any:
        [name] = tables_read(plan)
        snapshot = context.tables[name]
        rows = [
            row
            for held in self._contents(snapshot, context.txns)
            for row in visible_rows(snapshot.table, held)
        ]
        return RowsFrame([c.name for c in snapshot.table.all_columns], rows)

    def _multi_insert(
        self, plan: MultiInsertPlan, context: WriteContext, writes: Sequence[PlacedWrite]
    ) -> list[list[OutputFile]]:
        return [self._inserted(write) for write in writes]

    def _inserted(self, write: PlacedWrite) -> list[OutputFile]:
        """The row of a leg: its constants k, v and perhaps d, a dynamic partition."""
        assert isinstance(write.plan, InsertPlan)
        snapshot = write.context.read.tables[write.plan.table]
        k, v, *d = str(write.plan.rows).rpartition("SELECT ")[2].split(", ")
        [row] = _table(snapshot, [(0, 0, 0, 0, 0, int(k), int(v))]).to_batches()
        place = f"d={d[0]}" if d else partition_text(fixed_partition(write.plan, snapshot.table))
        with Output(write.target) as output:
            rows, statement_id = row.select(_columns(snapshot)), write.context.statement_id
            output.insert(rows, place, BucketId(0), statement_id)
        return output.files

    def _run(self, plan: TableWrite, context: WriteContext, target: Target) -> list[OutputFile]:
        snapshot = context.read.tables[plan.table]
        match plan:
            case UpdatePlan() | DeletePlan(empties=False):
                legs = [ChangeLeg(context.statement_id, is_update=isinstance(plan, UpdatePlan))]
            case MergePlan():
                legs = [
                    ChangeLeg(leg.statement_id, is_update=isinstance(leg, UpdateLeg))
                    for leg in plan.matched
                ]
            case _:
                return super()._run(plan, context, target)
        changes = _table(snapshot, list(self._changed(snapshot, context)))
        texts = [TABLE_ITSELF if p.name is None else str(p.name) for p in snapshot.partitions]
        with Output(target) as output:
            ChangeWriter(output, texts, legs).write_all(writing_order(changes))
            if isinstance(plan, MergePlan) and plan.not_matched:
                [row] = _table(snapshot, [(0, 0, 0, 0, 0, *self.merged)]).to_batches()
                fresh = row.select(_columns(snapshot))
                output.insert(fresh, texts[0], BucketId(0), plan.not_matched[0].statement_id)
        return output.files

    def _changed(self, snapshot: TableSnapshot, context: WriteContext) -> Iterator[tuple[Any, ...]]:
        for code, held in enumerate(self._contents(snapshot, context.read.txns)):
            for row_id, row in held.rows.items():
                if row["k"] == self.key:
                    yield (code, 0, *row_id, row["k"], self.change(row["v"]))

    def _contents(self, snapshot: TableSnapshot, txns: ValidTxnList) -> list[Contents]:
        try:
            return contents(snapshot, txns, self._storage)
        except FileNotFoundError as error:
            raise MissingFileError(str(error)) from error


def _table(snapshot: TableSnapshot, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    names = [PARTITION, LEG, *CHANGED_ROW_ID, *_columns(snapshot)]
    kinds = [pa.int64()] * (2 + len(CHANGED_ROW_ID))
    kinds += [
        pa.string() if str(c.type) == "string" else pa.int32() for c in snapshot.table.columns
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], names=names
    )


def _columns(snapshot: TableSnapshot) -> list[str]:
    return [c.name for c in snapshot.table.columns]
