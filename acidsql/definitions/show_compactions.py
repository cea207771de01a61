"""SHOW COMPACTIONS: the queue and its history, with Hive's columns and some of our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from acidsql.errors import AnalysisError
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.model.ids import CompactionId
from acidsql.model.string_map import string_map_text
from acidsql.model.table import DEFAULT_POOL, pool_of
from acidsql.planner.names import find_target
from acidsql.planner.partition import whole_partition
from acidsql.statements import ShowCompactions
from acidsql.statements.show import ShownOrder
from acidsql.txn.entities import Compaction, CompactionState, Txn, TxnState
from acidsql.txn.manager import TxnManager

_MISSING = " --- "
_COLUMNS = (
    "compactionid", "dbname", "tabname", "partname", "type", "state", "workerhost", "workerid",
    "enqueuetime", "starttime", "duration", "hadoopjobid", "errormessage", "initiatorhost",
    "initiatorid", "poolname", "txnid", "nexttxnid", "committime", "hightestwriteid",
    "numberofbuckets", "orderby", "tblproperties", "waitsfor",
)  # fmt: skip
"""Hive's twenty columns, and four that Hive does not show."""
_ALIASES = {"database": "dbname", "table": "tabname", "partition": "partname"}
"""Hive's headings of columns, where they are not the names."""
_NUMBERS = frozenset(
    {"compactionid", "enqueuetime", "starttime", "duration", "txnid", "nexttxnid", "committime"}
    | {"hightestwriteid", "numberofbuckets"}
)


def show_compactions(
    statement: ShowCompactions, scope: Scope, clock: Callable[[], float] = time.time
) -> Result:
    """The entries that fit the filters, newest first unless the statement says another order."""
    entries = [e for e in scope.store.show_compactions() if _fits(e, statement)]
    place = _place(statement, scope)
    entries = [
        e
        for e in entries
        if all(
            w in (None, h) for w, h in zip(place, (e.database, e.table, e.partition), strict=True)
        )
    ]
    waits = _waits(entries, scope.store, round(clock() * 1000))
    rows = [_row(entry, waits.get(entry.compaction_id)) for entry in entries]
    for item in reversed(statement.order):
        rows = _sorted(rows, item)
    return text_rows("show", _COLUMNS, rows[: statement.limit])


def _fits(entry: Compaction, statement: ShowCompactions) -> bool:
    wanted = statement.compaction_id, statement.type, statement.status
    found = entry.compaction_id, entry.type.name.lower(), entry.state.word
    pool = statement.pool
    same_pool = pool is None or pool_of(pool) == entry.options.pool
    return same_pool and all(w in (None, f) for w, f in zip(wanted, found, strict=True))


def _place(statement: ShowCompactions, scope: Scope) -> tuple[str | None, str | None, str | None]:
    """Database, table and partition that are asked for; None for any."""
    if statement.database is not None:
        return scope.store.database(statement.database.name).name, None, None
    if statement.target is None:
        return None, None, None
    table = find_target(statement.target, scope.names)
    partition = None
    if statement.partition:
        values = statement.partition
        partition = str(whole_partition(values, table, statement.target, scope.arguments))
    return table.name.database, table.name.table, partition


def _waits(entries: Sequence[Compaction], txns: TxnManager, now_ms: int) -> dict[CompactionId, str]:
    """For which open transaction the cleaning of entries waits, as far as that can be known.

    It is one that was open at the commit of the compaction, or that began beside such a one. The
    oldest open transaction stands for all.
    """
    done = [e for e in entries if e.state is CompactionState.READY_FOR_CLEANING]
    if not done:
        return {}
    ready = {e.compaction_id for e in txns.ready_to_clean()}
    opened = [t for t in txns.show_txns() if t.state is TxnState.OPEN]
    if not opened:
        return {}
    oldest = min(opened, key=lambda t: t.txn_id)
    return {
        e.compaction_id: _blocker(oldest, e, now_ms) for e in done if e.compaction_id not in ready
    }


def _blocker(oldest: Txn, entry: Compaction, now_ms: int) -> str:
    age_s = max(0, now_ms - oldest.started_ms) // 1000
    who = f"transaction {oldest.txn_id} by {oldest.user}@{oldest.host}, open for {age_s} s"
    if entry.next_txn_id is not None and oldest.txn_id >= entry.next_txn_id:
        return f"{who}, which began beside an older one"
    return who


def _sorted(rows: list[tuple[str, ...]], item: ShownOrder) -> list[tuple[str, ...]]:
    name = _ALIASES.get(item.column.name.lower(), item.column.name.lower())
    if name not in _COLUMNS:
        raise AnalysisError(
            f'SHOW COMPACTIONS has no column "{item.column.name}"',
            hint=f"Its columns are {', '.join(_COLUMNS)}.",
            code=10004,
            line=item.column.line,
            column=item.column.column,
        )
    at = _COLUMNS.index(name)

    def key(row: tuple[str, ...]) -> tuple[bool, int | str]:
        missing = row[at] == _MISSING
        if name in _NUMBERS:
            return not missing, 0 if missing else int(row[at])
        return not missing, row[at]

    return sorted(rows, key=key, reverse=item.descending)


def _row(entry: Compaction, waits_for: str | None) -> tuple[str, ...]:
    def text(value: object) -> str:
        return _MISSING if value is None or value == "" else str(value)

    duration = None
    if entry.started_ms is not None and entry.ended_ms is not None:
        duration = entry.ended_ms - entry.started_ms
    host, _, worker = (entry.worker_id or "").rpartition("-")
    options = entry.options
    return (
        str(entry.compaction_id),
        entry.database,
        entry.table,
        text(entry.partition),
        entry.type.name,
        entry.state.word,
        text(host),
        text(worker),
        text(entry.enqueued_ms),
        text(entry.started_ms),
        text(duration),
        _MISSING,
        text(entry.error_message),
        text(entry.initiator_host),
        text(entry.initiator),
        options.pool or DEFAULT_POOL,
        str(entry.txn_id or 0),
        str(entry.next_txn_id or 0),
        str(entry.commit_ms or 0),
        text(entry.highest_write_id),
        text(options.buckets),
        text(options.order_by),
        text(string_map_text(options.properties) if options.properties else None),
        text(waits_for),
    )
