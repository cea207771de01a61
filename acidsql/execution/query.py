"""One query: its plan, locks and snapshot, and the frame that is computed when it is asked for."""

from __future__ import annotations

from functools import partial

from acidsql.errors import SnapshotExpiredError
from acidsql.execution.leases import Leases
from acidsql.execution.reading import Reading
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.statistics import known_answer
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.execution.write import SNAPSHOT_RETRIES, altered
from acidsql.planner.accesses import query_accesses
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.plan import tables_read
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import Engine, Frame
from acidsql.ports.store import Store
from acidsql.statements import Query
from acidsql.txn.transaction import OpenTxn, TxnOpener


def run_query(
    statement: Query,
    block: TransactionBlock | None,
    open_txn: TxnOpener,
    scope: Scope,
    engine: Engine,
    leases: Leases,
) -> Result:
    """The rows as a lazy frame, whose snapshot the ``leases`` keep as long as its Result lives.

    A query whose tables are altered while it waits for its locks is planned again.
    """
    frame, reading = read_frame(statement, block, open_txn, scope, engine, leases)
    result = Result(
        "select", frame, txn_id=reading.txn.txn_id, release=lambda: leases.release(reading.pin),
        require_own_files=partial(_require_own_files, reading.pin, leases, scope.store),
    )  # fmt: skip
    leases.release_with(result, reading.pin)
    return result


def _require_own_files(pin: OpenTxn, leases: Leases, store: Store) -> None:
    """SnapshotExpiredError if another table may lie where the session's own statement made room.

    Its files may have the very names of those that were to be read.
    """
    for name in leases.moved(pin):
        if store.find_table(name) is not None:
            raise SnapshotExpiredError(
                f"the rows that this result was to read of table {name} are gone",
                detail="A statement of this session that drops, renames or replaces the table came"
                " before, and its files may be those of another table now.",
                hint="Read the rows before, for example with fetchall().",
            )


def describe_query(
    statement: Query,
    block: TransactionBlock | None,
    open_txn: TxnOpener,
    scope: Scope,
    engine: Engine,
    leases: Leases,
) -> Result:
    """A row with name and type for each column of a query, which is not run."""
    frame, reading = read_frame(statement, block, open_txn, scope, engine, leases)
    leases.release(reading.pin)
    rows = [(name, kind, "") for name, kind in zip(frame.columns, frame.types, strict=True)]
    return text_rows("describe", ["col_name", "data_type", "comment"], rows)


def read_frame(
    statement: Query,
    block: TransactionBlock | None,
    open_txn: TxnOpener,
    scope: Scope,
    engine: Engine,
    leases: Leases,
) -> tuple[Frame, Reading]:
    """The rows as a lazy frame, and its read. The ``leases`` keep the snapshot until they close."""
    plan, reading = planned_query(statement, block, open_txn, scope)
    names = tables_read(plan)
    with reading.released_on_error():
        tables = [scope.store.table(n) for n in names]
        context = reading.context(tables, scope.arguments, plan, scope.names.database)
        answer = known_answer(plan, context, block, scope)
        frame = (
            engine.query(plan, context) if answer is None else engine.answer(plan, context, answer)
        )
    leases.keep(reading.pin, names)
    return frame, reading


def planned_query(
    statement: Query, block: TransactionBlock | None, open_txn: TxnOpener, scope: Scope
) -> tuple[QueryPlan, Reading]:
    """The plan of a query, and its read, which has the locks. The caller ends the read."""
    for _ in range(SNAPSHOT_RETRIES):
        seen = SeenNames(scope.names)
        plan = make_plan(statement, seen, scope.arguments, scope.rules)
        assert isinstance(plan, QueryPlan)
        reading = Reading.begin(query_accesses(plan), scope.store, block, open_txn)
        if seen.still_hold():
            return plan, reading
        reading.close()
    raise altered()
