"""All plans, and questions that each of them answers: texts, tables read, partitions touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, TypeAdapter

from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate, membership
from acidsql.model.table import Table
from acidsql.plans.analyze import AnalyzePlan
from acidsql.plans.check import CheckPlan
from acidsql.plans.compact import CompactPlan
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan, LiteralRows, ValueRows, literal_partitions
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.query import QueryPlan
from acidsql.plans.sql_text import SqlText, TableSource
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan

ChangePlan = UpdatePlan | DeletePlan | MergePlan
TableWrite = InsertPlan | ChangePlan | TruncatePlan | LoadPlan
WritePlan = TableWrite | MultiInsertPlan
Plan = Annotated[
    WritePlan | QueryPlan | CompactPlan | CheckPlan | AnalyzePlan, Field(discriminator="kind")
]

PLAN: TypeAdapter[WritePlan | QueryPlan | CompactPlan | CheckPlan | AnalyzePlan] = TypeAdapter(Plan)
"""Turns plans into JSON and back."""


def table_writes(plan: WritePlan) -> tuple[TableWrite, ...]:
    """The writes of which a plan consists: each writes to one table."""
    return plan.legs if isinstance(plan, MultiInsertPlan) else (plan,)


def targets(plan: WritePlan) -> tuple[TableName, ...]:
    """The tables that the plan writes to, each once, in the order of the text."""
    return tuple(dict.fromkeys(write.table for write in table_writes(plan)))


def texts(plan: WritePlan | QueryPlan) -> Iterator[SqlText]:
    """All SQL texts inside a plan."""
    match plan:
        case QueryPlan():
            yield from (source.rows for source in plan.common)
            yield plan.rows
        case InsertPlan():
            if isinstance(plan.rows, SqlText):
                yield plan.rows
            elif isinstance(plan.rows, ValueRows):
                yield from (value for row in plan.rows.rows for value in row)
        case UpdatePlan():
            yield from (source.rows for source in plan.common)
            yield from plan.relations
            yield from (a.value for a in plan.assignments)
            yield from _some(plan.where)
        case DeletePlan():
            yield from (source.rows for source in plan.common)
            yield from plan.relations
            yield from _some(plan.where)
        case TruncatePlan() | LoadPlan():
            return
        case MergePlan():
            yield from _merge_texts(plan)
        case MultiInsertPlan():
            yield from (source.rows for source in plan.sources)
            yield from (text for leg in plan.legs for text in texts(leg))


def _merge_texts(plan: MergePlan) -> Iterator[SqlText]:
    yield from (source.rows for source in plan.common)
    yield from (plan.source, plan.on)
    for leg in plan.legs:
        yield from _some(leg.condition)
        if isinstance(leg, UpdateLeg):
            yield from (a.value for a in leg.assignments)
        elif isinstance(leg, InsertLeg):
            yield from (a.value for a in leg.values)


def tables_read(plan: WritePlan | QueryPlan) -> tuple[TableName, ...]:
    """The tables whose rows the plan reads as sources, each once, in text order."""
    sources = (source for text in texts(plan) for source in text.sources)
    return tuple(dict.fromkeys(s.table for s in sources if isinstance(s, TableSource)))


def partition_predicates(plan: WritePlan | QueryPlan, table: Table) -> tuple[Predicate, ...]:
    """Predicates that hold for every row of a table that the plan reads or writes.

    If the plan uses the table more than once, they are the predicates that all uses share.
    """
    sources = (source for text in texts(plan) for source in text.sources)
    uses = [s.predicates for s in sources if isinstance(s, TableSource) and s.table == table.name]
    if not isinstance(plan, QueryPlan):
        written = [w for w in table_writes(plan) if w.table == table.name]
        uses += [_target_predicates(write, table) for write in written]
    first, *others = uses or [()]
    return tuple(p for p in first if all(p in predicates for predicates in others))


def _target_predicates(plan: TableWrite, table: Table) -> tuple[Predicate, ...]:
    match plan:
        case DeletePlan():
            return plan.predicates
        case UpdatePlan() | MergePlan():
            return () if plan.inserts else plan.predicates
        case InsertPlan(rows=LiteralRows() as rows) if rows.rows and table.partition_columns:
            columns = [c.name for c in table.partition_columns]
            return membership(literal_partitions(plan, rows, columns))
        case InsertPlan() | LoadPlan() | TruncatePlan():
            return membership([PartitionName.of(plan.static_partition)])


def fixed_partition(
    plan: InsertPlan | LoadPlan | TruncatePlan, table: Table
) -> PartitionName | None:
    """The one partition whose columns the plan fixes all; None if it leaves one open.

    None, too, for a table without partition columns.
    """
    static = plan.static_partition
    whole = bool(static) and len(static) == len(table.partition_columns)
    return PartitionName.of(static) if whole else None


def replaces(plan: TableWrite) -> bool:
    """Whether the plan's rows replace the rows that were there."""
    match plan:
        case InsertPlan() | LoadPlan():
            return plan.overwrite
        case TruncatePlan():
            return True
        case DeletePlan():
            return plan.empties
        case UpdatePlan() | MergePlan():
            return False


def imports(plan: WritePlan) -> bool:
    """Whether the plan is that of an IMPORT, which writes into a table without rows alone."""
    return isinstance(plan, LoadPlan) and bool(plan.places)


def statement_count(plan: WritePlan) -> int:
    """How many statement ids the plan writes under. A leg of a MERGE or multi-insert needs one."""
    return len(plan.legs) if isinstance(plan, MergePlan) else len(table_writes(plan))


def _some(text: SqlText | None) -> Iterator[SqlText]:
    if text is not None:
        yield text
