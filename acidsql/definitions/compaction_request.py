"""The compactions that a statement asks for: their entries in the queue, and the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from acidsql.errors import AnalysisError, CompactionRefusedError
from acidsql.execution.compaction_need import needed_compaction
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory, partition_directory
from acidsql.model.ids import CompactionId
from acidsql.model.names import PartitionName
from acidsql.model.sort_order import sort_order_text
from acidsql.model.table import Table
from acidsql.planner.compact import CompactionRequest, plan_compact
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import PartitionLocation
from acidsql.ports.store import Store
from acidsql.statements import Compact
from acidsql.statements.fragment import TableRef
from acidsql.txn.compaction_need import Thresholds
from acidsql.txn.entities import (
    UNFINISHED,
    Compaction,
    CompactionOptions,
    CompactionType,
)
from acidsql.txn.manager import TxnManager

WAIT_S = 300.0
"""hive.compactor.wait.timeout."""
_TYPES = {
    "minor": CompactionType.MINOR,
    "major": CompactionType.MAJOR,
    "rebalance": CompactionType.REBALANCE,
}


def compact(
    statement: Compact,
    scope: Scope,
    host: str,
    run_worker: Callable[[str | None], object],
    thresholds: Thresholds,
) -> Result:
    """Put the compactions into the queue; with AND WAIT, run the queue and say what became of them.

    Of a table with partitions, without PARTITION, each partition is looked at as the initiator
    does (Hive 4).
    """
    request = plan_compact(statement, scope.names, scope.arguments)
    table = scope.store.table(request.plan.table)
    if statement.pool is None:
        of_database = scope.store.database(table.name.database).parameters
        request = replace(request, pool=table.compaction_pool(of_database))
    place = _place(request, table, statement.target, scope.store)
    if place is None:
        lines, numbers = _request_needed(request, table, scope, host, thresholds)
    else:
        lines, numbers = [], [request_compaction(request, place.name, scope.store, host)]
    if statement.wait and numbers:
        run_worker(request.pool)
        for number in numbers:
            wait_for_compaction(number, scope.store)
    entries = _entries(scope.store) if statement.wait else {}
    for number in numbers:
        done = entries.get(number) if statement.wait else None
        lines += outcome(number, done, finished=statement.wait)
    return Result("compact", message="\n".join(lines) or "OK")


def _place(
    request: CompactionRequest, table: Table, target: TableRef, store: Store
) -> PartitionLocation | None:
    """The one directory to compact; None for all partitions of a table.

    PartitionNotFoundError, with the place of ``target``, if the partition does not exist.
    AnalysisError 10214 if a PARTITION clause without all columns fits none, 10284 if it fits
    several.
    """
    name: PartitionName | None
    if request.matching:
        name = _only_match(request, target, store)
    elif table.partition_columns and request.plan.partition is None:
        return None
    else:
        name = request.plan.partition
    if name is not None:
        return named_directory(store, table, name, target.line, target.column)
    found = partition_directory(store, table, None)
    assert found is not None
    return found


def _only_match(request: CompactionRequest, target: TableRef, store: Store) -> PartitionName:
    """The one partition that fits a PARTITION clause that leaves out columns."""
    table = request.plan.table
    fitting = [p.name for p in store.partitions(table) if _fits(p.name, request.matching)]
    if len(fitting) == 1:
        return fitting[0]
    fact = f"no partition of {table} fits the PARTITION clause"
    if fitting:
        fact = "Compaction can only be requested on one partition at a time"
    raise AnalysisError(
        fact,
        detail=f"{len(fitting)} of {table} fit the PARTITION clause." if fitting else None,
        hint="SHOW PARTITIONS lists the partitions.",
        code=10284 if fitting else 10214,
        line=target.line,
        column=target.column,
    )


def _fits(name: PartitionName, values: Sequence[tuple[str, str | None]]) -> bool:
    items = dict(name.items)
    return all(items[column] == value for column, value in values)


def _request_needed(
    request: CompactionRequest, table: Table, scope: Scope, host: str, thresholds: Thresholds
) -> tuple[list[str], list[CompactionId]]:
    """Ask for what each partition needs; what is told of the others, and the new entries."""
    lines: list[str] = []
    numbers: list[CompactionId] = []
    for partition, kind in _needs(request.plan, table, scope, thresholds):
        if kind is None:
            lines.append(
                f"Not enough deltas to initiate compaction for table={table.name.table}"
                f" partition={partition}"
            )
            continue
        try:
            numbers.append(request_compaction(request, partition, scope.store, host, kind))
        except CompactionRefusedError as error:
            # The other partitions are looked at, too; Hive ends here.
            lines.append(error.message)
    return lines, numbers


def _needs(
    plan: CompactPlan, table: Table, scope: Scope, thresholds: Thresholds
) -> Iterator[tuple[PartitionName, CompactionType | None]]:
    """Each partition, and what it needs by the thresholds, as in Hive whatever type was asked for.

    A rebalance has no thresholds.
    """
    limits = thresholds.of_table({**table.parameters, **dict(plan.properties)})
    changed = {(p.table, p.partition): p for p in scope.store.changed_places()}
    for partition in scope.store.partitions(table.name):
        directory = PartitionLocation(partition.name, partition.location)
        if plan.type == "rebalance":
            yield partition.name, CompactionType.REBALANCE
            continue
        place = changed.get((table.name, str(partition.name)))
        need = needed_compaction(table, directory, place, limits, scope.store, scope.storage)
        yield partition.name, None if need is None else need.type


def request_compaction(
    request: CompactionRequest,
    partition: PartitionName | None,
    store: Store,
    host: str,
    kind: CompactionType | None = None,
) -> CompactionId:
    """Put a compaction of a directory into the queue; its number there.

    CompactionRefusedError, in Hive's words, if there is one for the same place already.
    """
    plan = request.plan
    text = str(partition) if partition is not None else None
    options = CompactionOptions(
        request.pool,
        plan.buckets,
        sort_order_text(plan.order) if plan.order else None,
        dict(plan.properties),
    )
    kind = kind or _TYPES[plan.type]
    try:
        return store.compact(plan.table, text, kind, host=host, options=options)
    except CompactionRefusedError as error:
        place = f"{plan.table} partition({text})" if text else str(plan.table)
        raise CompactionRefusedError(
            f"Compaction request for {place} is refused, details: {error.message}",
            hint="SHOW COMPACTIONS lists the queue.",
            code=10432,
        ) from error


def wait_for_compaction(
    number: CompactionId, txns: TxnManager, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Wait until a worker has carried the compaction out or failed, but no longer than `WAIT_S`.

    The worker may be another one than this session's: another acidsql may have taken the entry
    before, and a Hive Metastore may give its queue to Hive's workers only.
    """
    waited_s, pause_s = 0.0, 2.0
    while waited_s < WAIT_S:
        entry = _entries(txns).get(number)
        if entry is None or entry.state not in UNFINISHED:
            return
        sleep(pause_s)
        waited_s += pause_s
        pause_s = min(2 * pause_s, WAIT_S - waited_s)


def _entries(txns: TxnManager) -> dict[CompactionId, Compaction]:
    return {c.compaction_id: c for c in txns.show_compactions()}


def outcome(number: CompactionId, done: Compaction | None, *, finished: bool) -> list[str]:
    """What is told of an entry, in Hive's words; its state if ``finished`` was awaited."""
    lines = [f"Compaction enqueued with id {number}"]
    if not finished:
        return lines
    if done is None:
        return [*lines, "The compaction is gone with its table or partition"]
    if done.state in UNFINISHED:
        return [*lines, f"Compaction with id {number} is still {done.state.word}"]
    lines.append(f"Compaction with id {number} finished with status: {done.state.word}")
    return [*lines, done.error_message] if done.error_message else lines
