"""The writes of a plan, each with the place where its files go and the ids under which they lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.engines.publish import publish
from acidsql.engines.target import OutputFile, Target, partition_name
from acidsql.model.access import Operation
from acidsql.model.ids import StatementId
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.multi_insert import overlap
from acidsql.plans.plan import TableWrite, WritePlan, fixed_partition, replaces, statement_count
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan
from acidsql.ports.engine import JobResult, PartitionLocation, Touched, WriteContext
from acidsql.ports.storage import Storage


@dataclass(frozen=True, slots=True)
class PlacedWrite:
    """A write to one table. The statement id of ``context`` is the first one of the write."""

    plan: TableWrite
    context: WriteContext
    target: Target

    @property
    def table(self) -> Table:
        return self.context.read.tables[self.plan.table].table

    @property
    def is_due(self) -> bool:
        """Whether something is to be written: not by an IF NOT EXISTS whose partition is there."""
        if not isinstance(self.plan, InsertPlan) or not self.plan.unless_exists:
            return True
        known = self.context.read.tables[self.plan.table].partitions
        return fixed_partition(self.plan, self.table) not in [place.name for place in known]

    @property
    def moves(self) -> bool:
        """Whether new versions of rows may lie in other places than the old ones."""
        return isinstance(self.plan, UpdatePlan | MergePlan) and self.plan.moves

    @property
    def statement_ids(self) -> range:
        first = self.context.statement_id
        return range(first, first + statement_count(self.plan))

    def result(self, files: Sequence[OutputFile], published: Sequence[OwnPath]) -> JobResult:
        """What the write did with these files, which are published."""
        counts = {"inserted": 0, "updated": 0, "deleted": 0}
        by_statement: Counter[StatementId] = Counter()
        touched: dict[Touched, None] = {}
        for file in files:
            statement_id = StatementId(file.statement_id)
            operation = _operation(self.plan, statement_id)
            location = self.target.directory(file.partition)
            # Rows that came from elsewhere meet no change of the rows that are there.
            moved = self.moves and operation is Operation.UPDATE and not file.is_delete
            effect = Operation.INSERT if moved else operation
            touched[Touched(partition_name(file.partition), location, effect)] = None
            if operation in (Operation.INSERT, Operation.OVERWRITE):
                counts["inserted"] += file.rows
            elif operation is Operation.DELETE:
                counts["deleted"] += file.rows
            elif not file.is_delete:
                counts["updated"] += file.rows
            if operation is not Operation.UPDATE or not file.is_delete:
                by_statement[statement_id] += file.rows
        plan = self.plan
        takes_files = isinstance(plan, LoadPlan) and not (plan.local or plan.by_rows)
        return JobResult(
            rows_inserted=counts["inserted"],
            rows_updated=counts["updated"],
            rows_deleted=counts["deleted"],
            metrics=self.plan.metrics(by_statement) if isinstance(self.plan, MergePlan) else {},
            touched=tuple(touched),
            paths=tuple(published),
            moved=tuple(f.source for f in files) if takes_files else (),
            own_deletes=tuple(
                PartitionLocation(partition_name(text), self.target.directory(text))
                for text in sorted({f.partition for f in files if f.own_deletes})
            ),
        )


def placed_writes(plan: WritePlan, context: WriteContext, storage: Storage) -> list[PlacedWrite]:
    """The writes of a plan, in its order."""
    return [
        PlacedWrite(
            write.starting_at(own.statement_id) if isinstance(write, MergePlan) else write,
            own,
            Target.of(
                own.read.tables[write.table],
                own.write_ids[write.table],
                storage,
                overwrite=replaces(write),
            ),
        )
        for write, own in context.of_writes(plan)
    ]


def refuse_overlaps(writes: Sequence[PlacedWrite], files: Sequence[Sequence[OutputFile]]) -> None:
    """UnsupportedStatementError if one write would replace what another one has written.

    All of them have the same write id in a table, so a base of one hides the deltas of the others.
    """
    filled: dict[tuple[str, str], PlacedWrite] = {}
    for write, own in zip(writes, files, strict=True):
        for partition in sorted({file.partition for file in own}):
            other = filled.setdefault((str(write.plan.table), partition), write)
            if other is not write and (replaces(write.plan) or replaces(other.plan)):
                raise overlap(f"{write.plan.table}{f'/{partition}' if partition else ''}")


def publish_all(
    writes: Sequence[PlacedWrite], files: Sequence[Sequence[OutputFile]]
) -> list[JobResult]:
    """Publish the files of all writes. A result for each.

    Files of plain tables come last: readers see them at once, and an overwrite cannot be undone.
    """
    results: dict[int, JobResult] = {}
    for number, write in sorted(
        enumerate(writes), key=lambda pair: pair[1].target.kind is TableKind.PLAIN
    ):
        results[number] = write.result(files[number], publish(files[number], write.target))
    return [results[number] for number in range(len(writes))]


def _operation(plan: TableWrite, statement_id: StatementId) -> Operation:
    match plan:
        case InsertPlan() | LoadPlan():
            return Operation.OVERWRITE if plan.overwrite else Operation.INSERT
        case TruncatePlan():
            return Operation.OVERWRITE
        case UpdatePlan():
            return Operation.UPDATE
        case DeletePlan():
            return Operation.DELETE
        case MergePlan():
            for leg in plan.changing:
                if leg.statement_id == statement_id:
                    return Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE
            return Operation.INSERT
