"""CREATE TABLE … AS SELECT: the table and its rows appear together, or not at all."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from acidsql.definitions.create_table import (
    adopt_location,
    creation_locks,
    exists_already,
    new_table_name,
    notes_of,
    parameters_of,
    table_of,
)
from acidsql.definitions.materialized_view import in_order_of, query_parameters
from acidsql.definitions.query_types import column_names, definition_of, stored_types
from acidsql.definitions.replaced_table import ReplacedTable, find_replaced, placed_beside
from acidsql.definitions.table_defaults import with_defaults
from acidsql.definitions.table_places import database_location
from acidsql.errors import AcidSqlError, AnalysisError, TxnError
from acidsql.execution.commit import Uncommitted
from acidsql.execution.places import chosen_path
from acidsql.execution.result import Result, summary
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import read_context
from acidsql.layout.dir_names import UNFINISHED_FILE
from acidsql.model.ids import FIRST_WRITE_ID, NO_WRITE_ID, WriteId
from acidsql.model.names import TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table, TableKind, kind_of
from acidsql.planner.accesses import query_accesses
from acidsql.planner.names import SeenNames, new_name
from acidsql.planner.query import plan_query
from acidsql.plans.insert import InsertPlan
from acidsql.plans.plan import tables_read
from acidsql.plans.query import QueryPlan
from acidsql.ports.catalog import is_taken, table_exists
from acidsql.ports.engine import (
    Engine,
    Frame,
    JobResult,
    PartitionLocation,
    ReadContext,
    TableSnapshot,
    WriteContext,
)
from acidsql.statements.create_table import CreateTable, CreateTableAs
from acidsql.statements.fragment import Identifier
from acidsql.txn.entities import LockComponent, Reached, WriteOperation
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn

_log = logging.getLogger(__name__)
_ORDER_BY, _ORDER_ON = "SORTED BY has", "CLUSTERED ON, DISTRIBUTED ON and SORTED ON have"


def create_table_as(statement: CreateTableAs, scope: Scope, engine: Engine) -> Result:
    """Write the query's rows into a new directory. The commit makes the directory a table."""
    name = new_table_name(statement.table.target, scope, is_temporary=statement.is_temporary)
    if statement.table.if_not_exists and is_taken(scope.store, name):
        return exists_already(name)
    statement = _completed(statement, scope)
    seen = SeenNames(scope.names)
    plan = plan_query(statement.query, seen, scope.arguments)
    is_plain = makes_plain(statement, scope)
    query = query_parameters(statement.query, seen, scope) if statement.is_materialized else {}
    with scope.transaction() as txn:
        if statement.table.replaces:
            scope.release(lambda held: held == name, moves=True)
        if not is_plain:
            txn.write_id(name)  # before the lock, whose request records an INSERT
        txn.lock(creation_locks_as(name, plan, is_plain=is_plain))
        txn.see_latest()
        if not statement.table.replaces and is_taken(scope.store, name):
            if statement.table.if_not_exists:
                return exists_already(name)
            raise table_exists(name)
        old = _replaced(statement, name, scope)
        write_id = _write_id(name, old, txn, is_plain=is_plain)
        if not seen.still_hold():
            raise AnalysisError(
                "a table of the query was altered meanwhile", hint="Run the statement again."
            )
        sources = [scope.store.table(n) for n in tables_read(plan)]
        context = read_context(
            scope.store, txn, sources, scope.arguments, plan=plan, database=scope.names.database
        )
        frame = engine.query(plan, context)
        columns = column_names(statement.query.source, frame.columns, seen)
        table = _table(statement, name, frame, columns, scope)
        if statement.is_materialized:
            query = in_order_of(table, columns, query)
            table = replace(table, parameters={**table.parameters, **query})
        if old is not None:
            table = placed_beside(table, old.table, scope, chosen=_has_location(statement))
            table = table.remade(txn.txn_id)
        _require_empty(table, statement, scope, txn)
        job = _write(table, old, plan, columns, context, write_id, scope, engine, txn)
    words = _ORDER_ON if statement.is_materialized else _ORDER_BY
    removed = [] if old is None else old.remove_files()
    notes = [*notes_of(statement.table, words), *removed]
    return _result(job, txn, {} if is_plain else {str(name): write_id}, notes)


def _result(
    job: JobResult, txn: OpenTxn, write_ids: Mapping[str, WriteId], notes: Sequence[str]
) -> Result:
    """The counts of the statement, with the notes behind them."""
    result = Result(
        "create",
        rows_inserted=job.rows_inserted,
        rows_updated=0,
        rows_deleted=0,
        txn_id=txn.txn_id,
        write_ids=dict(write_ids),
    )
    if notes:
        result.message = "\n".join([summary(result), *notes])
    return result


def _write_id(
    name: TableName, old: ReplacedTable | None, txn: OpenTxn, *, is_plain: bool
) -> WriteId:
    """The write id of the rows, asked for under the lock: the name may have been another table's.

    A plain table has none. If it becomes an ACID table, the write ids of its rows are others.
    """
    if is_plain:
        return NO_WRITE_ID
    return FIRST_WRITE_ID if old is not None else txn.renew_write_id(name)


def _replaced(statement: CreateTableAs, name: TableName, scope: Scope) -> ReplacedTable | None:
    replaces, target = statement.table.replaces, statement.table.target
    return find_replaced(name, scope, target) if replaces else None


def _require_empty(table: Table, statement: CreateTableAs, scope: Scope, txn: OpenTxn) -> None:
    """AnalysisError for a directory with files: its rows would be in two tables."""
    adoption = adopt_location(table, scope, txn, chosen=_has_location(statement), shared=False)
    if not adoption.is_empty:
        raise AnalysisError(
            "CREATE-TABLE-AS-SELECT cannot create table with location to a non-empty directory",
            detail=f"{table.location} is not empty.",
            code=10304,
        )


def makes_plain(statement: CreateTableAs, scope: Scope) -> bool:
    """Whether the table will be a plain one, by its clauses and the session's defaults."""
    parameters = parameters_of(_with_defaults(statement, scope))
    return kind_of(parameters) is TableKind.PLAIN


def creation_locks_as(name: TableName, plan: QueryPlan, *, is_plain: bool) -> list[LockComponent]:
    """The locks of CREATE TABLE AS.

    The lock on the new table's name records an INSERT, as in Hive (AcidUtils.makeLockComponents),
    unless the table ``is_plain``.
    """
    made = [
        c if is_plain or c.table is None else replace(c, operation=WriteOperation.INSERT)
        for c in creation_locks(name)
    ]
    locks = [*made, *lock_components(query_accesses(plan))]
    return sorted(locks, key=lambda c: (c.database, c.table or ""))


def _completed(statement: CreateTableAs, scope: Scope) -> CreateTableAs:
    """The statement with its format and kind, and the whole path of its location."""
    table = _with_defaults(statement, scope)
    if table.location is not None:
        table = replace(table, location=chosen_path(table.location, scope))
    return replace(statement, table=table)


def _with_defaults(statement: CreateTableAs, scope: Scope) -> CreateTable:
    database = new_name(statement.table.target, scope.names).database
    settings = scope.settings
    if statement.is_materialized:
        # As in Hive (hive.materializedview.fileformat), the default of tables does not count.
        unsaid = {"default_format": None, "default_managed_format": None}
        settings = settings.model_copy(update=unsaid)
    return with_defaults(statement.table, settings, scope.store.database(database).parameters)


def _has_location(statement: CreateTableAs) -> bool:
    return statement.table.location is not None


def _table(
    statement: CreateTableAs, name: TableName, frame: Frame, names: Sequence[str], scope: Scope
) -> Table:
    """The table with the names and types of the query's columns."""
    place = statement.query.source
    kinds = stored_types(frame, statement.query)
    columns = [
        definition_of(number, text, kind, Identifier(text, place.line, place.column), is_named=True)
        for number, (text, kind) in enumerate(zip(names, kinds, strict=True), 1)
    ]
    by_name = {c.name.name: c for c in columns}
    partition_columns = []
    for identifier in statement.partition_by:
        if identifier.name.lower() not in by_name:
            raise AnalysisError(
                f'PARTITIONED BY: the query has no column "{identifier.name}"',
                line=identifier.line,
                column=identifier.column,
            )
        partition_columns.append(by_name[identifier.name.lower()])
    whole = replace(
        statement.table,
        columns=tuple(c for c in columns if c not in partition_columns),
        partition_columns=tuple(partition_columns),
    )
    database = scope.store.database(name.database)
    parent = database_location(database, scope.warehouse, parameters_of(whole))
    return table_of(whole, name, parent, scope.user)


def _write(
    table: Table,
    old: ReplacedTable | None,
    plan: QueryPlan,
    columns: Sequence[str],
    context: ReadContext,
    write_id: WriteId,
    scope: Scope,
    engine: Engine,
    txn: OpenTxn,
) -> JobResult:
    """Write the rows into their delta, then commit them with the table."""
    # The query may read the old table, so the new one has another name while it is written.
    called = TableName(table.name.database, f"{table.name.table} (new)") if old else table.name
    insert = InsertPlan(table=called, columns=tuple(columns), rows=plan.rows)
    places = () if table.partition_columns else (PartitionLocation(None, table.location),)
    empty = TableSnapshot(
        replace(table, name=called),
        places,
        ValidWriteIdList(str(called), NO_WRITE_ID),
        txn.require_open,
    )
    target = replace(context, tables={**context.tables, called: empty})
    made = not scope.storage.exists(table.location)
    scope.storage.make_directory(table.location)
    unfinished = OwnPath(table.location, UNFINISHED_FILE)
    job = JobResult()
    try:
        # The store cannot record an aborted write, because there is no table yet. The file keeps
        # other sessions from adopting the rows.
        scope.storage.write_file(str(unfinished), b"")
        [job] = engine.write(insert, WriteContext(target, {called: write_id}))
        txn.check()
        _commit(table, old, job, write_id, scope, txn)
    except BaseException as error:
        if txn.owns_files():
            engine.discard([*job.paths, unfinished])
            if made:
                _remove_made(table.location, scope)
        txn.abort_after(error)
        raise
    engine.discard([unfinished])
    return job


def _commit(
    table: Table,
    old: ReplacedTable | None,
    job: JobResult,
    write_id: WriteId,
    scope: Scope,
    txn: OpenTxn,
) -> None:
    """Put the table with its partitions into the catalog, and commit, in one step of the store."""
    wrote = Uncommitted()
    wrote.add(table.name, write_id, job, known=())
    partitions = wrote.partitions.get(table.name, {})
    reached = []
    if table.partition_columns and write_id != NO_WRITE_ID:
        names = sorted(map(str, partitions))
        reached = [Reached(write_id, table.name, names, WriteOperation.INSERT)]
    with scope.committing(txn, reached, list(wrote.written)):
        if old is not None:
            old.forget()
        scope.store.create_table(table.created_empty())
        if old is not None and write_id != NO_WRITE_ID:
            _require_first(scope.store.allocate_write_id(txn.txn_id, table.name), table)
        scope.store.add_partitions(table.name, list(partitions.values()))


def _require_first(write_id: WriteId, table: Table) -> None:
    """TxnError unless a new table begins where its files do."""
    if write_id != FIRST_WRITE_ID:
        raise TxnError(f"table {table.name} begins at write id {write_id}, not {FIRST_WRITE_ID}")


def _remove_made(location: str, scope: Scope) -> None:
    """Remove the directory that was made for the table. Never raises: the first error wins."""
    try:
        scope.storage.remove_location(location)
    except AcidSqlError:
        _log.warning("could not remove %s of a table that was not made", location, exc_info=True)
