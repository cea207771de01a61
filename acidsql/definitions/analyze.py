"""ANALYZE TABLE: one aggregate over a snapshot, kept with what makes it true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.errors import ConfigError, PartitionNotFoundError, UnsupportedStatementError
from acidsql.execution.result import Result, count_text
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import read_context
from acidsql.execution.statistics import are_true, basis_of
from acidsql.execution.write import SNAPSHOT_RETRIES, altered
from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName, TableName
from acidsql.model.statistics import ColumnStatistics, Statistics, exact_text
from acidsql.planner.analyze import plan_analyze
from acidsql.planner.names import SeenNames
from acidsql.plans.analyze import AnalyzePlan
from acidsql.ports.engine import Engine, PartitionLocation, ReadContext, TableSnapshot
from acidsql.statements.analyze import Analyze
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn


def analyze(statement: Analyze, scope: Scope, engine: Engine) -> Result:
    """Count the rows of a table or of partitions, and keep what was found with the table.

    If the table is altered while the statement waits for its lock, it starts anew.
    """
    for _ in range(SNAPSHOT_RETRIES):
        seen = SeenNames(scope.names)
        plan = plan_analyze(statement, seen, scope.arguments)
        _refuse(statement, scope)
        if plan.query is None:
            return Result("analyze", message="OK\nNOSCAN reads no rows: nothing was noted.")
        with scope.transaction() as txn:
            txn.lock(analyze_locks(plan.table))
            if seen.still_hold():
                return _analyze(plan, txn, scope, engine)
    raise altered()


def analyze_locks(table: TableName) -> list[LockComponent]:
    """The locks of ANALYZE TABLE: those of a query."""
    return lock_components([Access.of(table, Operation.SELECT)])


def _refuse(statement: Analyze, scope: Scope) -> None:
    if not scope.store.keeps_statistics:
        raise UnsupportedStatementError(
            "ANALYZE TABLE is not supported over a Hive Metastore",
            detail="Hive may change rows without a sign from which acidsql would notice that its"
            " statistics are not true any more.",
            hint="Run ANALYZE TABLE in Hive: its statistics are for Hive's own queries.",
            line=statement.target.line,
            column=statement.target.column,
        )
    if scope.settings.missing_is_empty:
        raise ConfigError(
            "ANALYZE TABLE counts no rows while acidsql.missing.directory.is.empty is true",
            hint="Run it in a session without this property.",
        )


def _analyze(plan: AnalyzePlan, txn: OpenTxn, scope: Scope, engine: Engine) -> Result:
    context = read_context(scope.store, txn, [scope.store.table(plan.table)], {})
    snapshot = context.tables[plan.table]
    found = {
        name: _with_kept(_counted(plan, part, context, scope, engine), name, part, scope)
        for name, part in _parts(plan, snapshot).items()
    }
    with scope.committing(txn):
        scope.store.keep_statistics(plan.table, found)
    return Result("analyze", message="\n".join(["OK", *_lines(plan, found)]))


def _parts(
    plan: AnalyzePlan, snapshot: TableSnapshot
) -> Mapping[PartitionName | None, TableSnapshot]:
    """The whole table under None, or each partition that PARTITION names.

    PartitionNotFoundError if it names none.
    """
    if plan.partition is None:
        return {None: snapshot}
    wanted = set(plan.partition)
    places = [p for p in snapshot.partitions if p.name and wanted <= set(p.name.items)]
    if wanted and not places:
        spec = ", ".join(f"{name} = {value}" for name, value in plan.partition)
        raise PartitionNotFoundError(f"table {plan.table} has no partition {spec}", code=10006)
    return {place.name: _part(snapshot, place) for place in places}


def _part(snapshot: TableSnapshot, place: PartitionLocation) -> TableSnapshot:
    return replace(snapshot, partitions=(place,))


def _counted(
    plan: AnalyzePlan, part: TableSnapshot, context: ReadContext, scope: Scope, engine: Engine
) -> Statistics:
    assert plan.query is not None
    frame = engine.query(plan.query, replace(context, tables={plan.table: part}))
    [row] = frame.rows()
    return Statistics(
        rows=row[0], columns=_columns(plan, part, row), basis=basis_of(part, scope.settings)
    )


def _with_kept(
    found: Statistics, name: PartitionName | None, part: TableSnapshot, scope: Scope
) -> Statistics:
    """With the columns of an earlier ANALYZE TABLE of the same rows."""
    earlier = scope.store.statistics(part.table.name, name)
    if earlier is None or not are_true(earlier, part, scope.settings):
        return found
    return found.model_copy(update={"columns": {**earlier.columns, **found.columns}})


def _columns(
    plan: AnalyzePlan, part: TableSnapshot, row: Sequence[Any]
) -> dict[str, ColumnStatistics]:
    """The statistics of each column, from the row that the plan's query has yielded."""
    rows, at = row[0], 1 + 2 * len(plan.columns)
    ranges = dict(zip(plan.ranges, zip(row[at::2], row[at + 1 :: 2], strict=True), strict=True))
    found = {}
    for number, name in enumerate(plan.columns):
        count, distinct = row[1 + 2 * number : 3 + 2 * number]
        column = part.table.column(name)
        assert column is not None, "the planner has found it"
        texts = [exact_text(text, column.type) for text in ranges.get(name, (None, None))]
        low, high = texts if None not in texts else (None, None)
        found[name] = ColumnStatistics(nulls=rows - count, distinct=distinct, low=low, high=high)
    return found


def _lines(plan: AnalyzePlan, found: Mapping[PartitionName | None, Statistics]) -> list[str]:
    return [f"{name or plan.table}: {count_text(kept.rows, 'row')}" for name, kept in found.items()]
