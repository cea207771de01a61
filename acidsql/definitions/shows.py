"""SHOW and DESCRIBE: the contents of catalog and store as rows with Hive's columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from typing_extensions import assert_never

from acidsql.definitions.materialized_view import show_materialized_views
from acidsql.definitions.name_pattern import matching
from acidsql.definitions.show_columns import (
    columns_of,
    describe_column,
    find_shown,
    show_properties,
)
from acidsql.definitions.show_compactions import show_compactions
from acidsql.definitions.show_constraints import constraint_rows
from acidsql.definitions.show_create import show_create
from acidsql.definitions.show_statistics import statistics_rows
from acidsql.definitions.show_table_extended import show_table_extended
from acidsql.definitions.show_view import (
    COLUMN_HEAD,
    DESCRIBE_COLUMNS,
    column_row,
    created_text,
    describe_view,
    parameter_rows,
)
from acidsql.errors import TableNotFoundError
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory
from acidsql.model.names import DEFAULT_PARTITION_VALUE, PartitionName, is_temporary_database
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.table import MATERIALIZED_QUERY, MATERIALIZED_TEXT, Table, TableKind
from acidsql.planner.names import find_named_view, find_target, temporary_tables_in
from acidsql.planner.partition import matching_partitions, require_partitioned, whole_partition
from acidsql.ports.catalog import Catalog, names_in
from acidsql.statements import (
    Describe,
    DescribeDatabase,
    Show,
    ShowColumns,
    ShowCompactions,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowCurrentDatabase,
    ShowDatabases,
    ShowLocks,
    ShowMaterializedViews,
    ShowPartitions,
    ShowProperties,
    ShowTableExtended,
    ShowTables,
    ShowTransactions,
    ShowViews,
)
from acidsql.statements.fragment import TableRef
from acidsql.statements.show import ShownDefinition
from acidsql.txn.entities import Lock, Txn
from acidsql.txn.manager import TxnManager

_DATABASE_COLUMNS = (
    "db_name", "comment", "location", "owner_name", "owner_type", "parameters",
)  # fmt: skip
_TRANSACTION_COLUMNS = ("txnid", "state", "startedtime", "lastheartbeattime", "user", "host")
_LOCK_COLUMNS = (
    "lockid", "database", "table", "partition", "lock_state", "blocked_by", "lock_type",
    "transaction_id", "last_heartbeat", "acquired_at", "user", "hostname", "agent_info",
)  # fmt: skip


def show(statement: Show, scope: Scope) -> Result:
    """The rows that the statement asks for."""
    match statement:
        case ShowCompactions():
            return show_compactions(statement, scope)
        case ShowTransactions():
            return show_transactions(scope.store)
        case ShowLocks():
            return _show_locks(statement, scope)
        case _:
            return _show_definitions(statement, scope)


def _show_definitions(statement: ShownDefinition, scope: Scope) -> Result:
    match statement:
        case Describe():
            return _describe(statement, scope)
        case DescribeDatabase():
            return describe_database(statement, scope.store)
        case ShowTables() | ShowViews() | ShowMaterializedViews():
            return _show_names(statement, scope)
        case ShowDatabases() | ShowCurrentDatabase():
            return _show_databases(statement, scope)
        case ShowPartitions():
            table = find_target(statement.target, scope.names)
            require_partitioned(table, statement.target)
            names = scope.store.partition_names(table.name)
            return show_partitions(
                matching_partitions(names, statement.conditions, table, scope.arguments)
            )
        case ShowCreateTable() | ShowCreateDatabase():
            return show_create(statement, scope)
        case ShowTableExtended():
            return show_table_extended(statement, scope)
        case ShowColumns():
            return _show_columns(statement, scope)
        case ShowProperties():
            return show_properties(statement, scope)
        case _:
            assert_never(statement)


def _show_databases(statement: ShowDatabases | ShowCurrentDatabase, scope: Scope) -> Result:
    if isinstance(statement, ShowDatabases):
        return show_databases(scope.store, statement.pattern)
    return text_rows("show", ["namespace"], [(scope.names.database,)])


def _show_names(statement: ShowTables | ShowViews | ShowMaterializedViews, scope: Scope) -> Result:
    named = statement.database
    database = named.name.lower() if named else scope.names.database
    if isinstance(statement, ShowMaterializedViews):
        return show_materialized_views(scope.store, database, statement.pattern)
    if isinstance(statement, ShowTables):
        own = temporary_tables_in(database, scope.names)
        return show_tables(scope.store, database, statement.pattern, own)
    temporary = () if named else scope.names.temporary_names
    return show_views(scope.store, database, statement.pattern, temporary)


def _show_columns(statement: ShowColumns, scope: Scope) -> Result:
    names = [c.name for c in columns_of(find_shown(statement.target, scope))]
    names = sorted(names) if statement.is_sorted else names
    return text_rows("show", ["field"], [(name,) for name in matching(names, statement.pattern)])


def _describe(statement: Describe, scope: Scope) -> Result:
    if statement.path:
        if statement.partition:  # its columns are the table's, but it has to be there
            _describe(replace(statement, path=()), scope)
        return describe_column(statement, scope)
    view = find_named_view(statement.target, scope.names)
    if view is not None and not statement.partition:
        return describe_view(view, formatted=statement.formatted)
    table = find_target(statement.target, scope.names)
    if statement.partition:
        return describe_partition(statement, table, scope)
    if not statement.formatted:
        return describe(table)
    return describe_formatted(table, statistics_rows(table, scope))


def describe_database(statement: DescribeDatabase, catalog: Catalog) -> Result:
    """What the catalog knows of a database, as Hive shows it: properties only with EXTENDED."""
    found = catalog.database(statement.name.name)
    pairs = ", ".join(f"{key}={value}" for key, value in sorted(found.parameters.items()))
    shown = f"{{{pairs}}}" if statement.extended and pairs else ""
    row = (found.name, found.comment or "", found.location, found.owner, "USER", shown)
    return text_rows("describe", _DATABASE_COLUMNS, [row])


def show_databases(catalog: Catalog, pattern: str | None) -> Result:
    """The names of the databases, but for those of temporary tables."""
    names = [name for name in catalog.databases() if not is_temporary_database(name)]
    return text_rows("show", ["database_name"], [(n,) for n in matching(names, pattern)])


def show_tables(
    catalog: Catalog, database: str, pattern: str | None, temporary: Iterable[str] = ()
) -> Result:
    """The names of the tables and, as in Hive, of the views of a database.

    Also those of the session's ``temporary`` tables.
    """
    names = sorted({*names_in(catalog, database), *temporary})
    return text_rows("show", ["tab_name"], [(n,) for n in matching(names, pattern)])


def show_views(
    catalog: Catalog, database: str, pattern: str | None, temporary: Iterable[str] = ()
) -> Result:
    """The names of the views of a database, and behind them those of temporary views."""
    names = [*catalog.views(database), *temporary]
    return text_rows("show", ["tab_name"], [(n,) for n in matching(names, pattern)])


def show_partitions(names: Iterable[PartitionName]) -> Result:
    """The names of partitions."""
    return text_rows("show", ["partition"], [(str(name),) for name in names])


def show_transactions(txns: TxnManager) -> Result:
    """Open and aborted transactions."""
    return text_rows("show", _TRANSACTION_COLUMNS, [_txn_row(t) for t in txns.show_txns()])


def _show_locks(statement: ShowLocks, scope: Scope) -> Result:
    """All locks, or those of a database, a table or a partition.

    For a database, locks on everything in it are shown, too; for a table, locks on its partitions.
    Hive also filters by equal columns.
    """
    database: str | None = None
    table: str | None = None
    partition: str | None = None
    if statement.database is not None:
        database = scope.store.database(statement.database.name).name
    elif statement.target is not None:
        found = _locked_table(statement.target, scope)
        database, table = found.name.database, found.name.table
        if statement.partition:
            values = statement.partition
            partition = str(whole_partition(values, found, statement.target, scope.arguments))
    locks = [
        lock
        for lock in scope.store.show_locks()
        if database in (None, lock.database)
        and table in (None, lock.table)
        and partition in (None, lock.partition)
    ]
    return text_rows("show", _LOCK_COLUMNS, [_lock_row(lock) for lock in locks])


def _locked_table(target: TableRef, scope: Scope) -> Table:
    """The table of SHOW LOCKS. TableNotFoundError; the hint is for whoever means a database."""
    try:
        return find_target(target, scope.names)
    except TableNotFoundError as error:
        if target.database is None and target.table.lower() in scope.store.databases():
            error.hint = f"SHOW LOCKS DATABASE {target.table} shows those of the database."
        raise


def describe(table: Table) -> Result:
    """All columns, then the partition columns once more under a head of their own."""
    rows = [*map(column_row, table.all_columns), *_partition_information(table)]
    return text_rows("describe", DESCRIBE_COLUMNS, rows)


def describe_partition(statement: Describe, table: Table, scope: Scope) -> Result:
    """The columns of a partition, which are the table's; with FORMATTED also its location.

    Raises PartitionNotFoundError, and the errors of `whole_partition`.
    """
    target = statement.target
    name = whole_partition(statement.partition, table, target, scope.arguments)
    found = named_directory(scope.store, table, name)
    if not statement.formatted:
        return describe(table)
    values = [DEFAULT_PARTITION_VALUE if v is None else v for v in name.values]
    rows = [
        *_column_rows(table),
        ("", "", ""),
        ("# Detailed Partition Information", "", ""),
        ("Partition Value:", f"[{', '.join(values)}]", ""),
        ("Database:", table.name.database, ""),
        ("Table:", table.name.table, ""),
        ("Location:", found.location, ""),
        ("", "", ""),
        *_storage_rows(table),
        *statistics_rows(table, scope, name),
    ]
    return text_rows("describe", DESCRIBE_COLUMNS, rows)


def describe_formatted(table: Table, statistics: Sequence[tuple[str, str, str]] = ()) -> Result:
    """Everything known about a table, in the sections of Hive's DESCRIBE FORMATTED.

    The rows about ``statistics`` come last.
    """
    rows = [
        *_column_rows(table),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Database:", table.name.database, ""),
        ("OwnerType:", "USER", ""),
        ("Owner:", table.owner, ""),
        ("CreateTime:", created_text(table.created_s), ""),
        ("Location:", table.location, ""),
        ("Table Type:", _table_type(table), ""),
        *([("Comment:", table.comment, "")] if table.comment else []),
        ("Table Parameters:", "", ""),
        *parameter_rows(table.shown),
        ("", "", ""),
        *_storage_rows(table),
        *constraint_rows(table),
        *_query_rows(table),
        *statistics,
    ]
    return text_rows("describe", DESCRIBE_COLUMNS, rows)


def _table_type(table: Table) -> str:
    if table.is_materialized_view:
        return "MATERIALIZED_VIEW"
    return "EXTERNAL_TABLE" if table.external else "MANAGED_TABLE"


def _query_rows(table: Table) -> list[tuple[str, str, str]]:
    """The query of a materialized view under its own head; nothing of another table."""
    if not table.is_materialized_view:
        return []
    return [
        ("", "", ""),
        ("# Materialized View Information", "", ""),
        ("Original Query:", table.parameters.get(MATERIALIZED_TEXT, ""), ""),
        ("Expanded Query:", table.parameters[MATERIALIZED_QUERY], ""),
    ]


def _column_rows(table: Table) -> list[tuple[str, str, str]]:
    return [COLUMN_HEAD, *map(column_row, table.columns), *_partition_information(table)]


def _partition_information(table: Table) -> list[tuple[str, str, str]]:
    """The partition columns under their own head; nothing of a table without any."""
    if not table.partition_columns:
        return []
    head = [("", "", ""), ("# Partition Information", "", ""), COLUMN_HEAD]
    return [*head, *map(column_row, table.partition_columns)]


def _storage_rows(table: Table) -> list[tuple[str, str, str]]:
    bucketing = table.bucketing
    columns = ", ".join(bucketing.columns) if bucketing else ""
    acid = table.kind is TableKind.FULL_ACID
    classes = STORAGE_CLASSES[table.format]
    return [
        ("# Storage Information", "", ""),
        ("SerDe Library:", classes.serde, ""),
        ("InputFormat:", classes.reader, ""),
        ("OutputFormat:", classes.writer, ""),
        ("Compressed:", "No", ""),
        ("Num Buckets:", str(bucketing.count if bucketing else (-1 if not acid else 0)), ""),
        ("Bucket Columns:", f"[{columns}]", ""),
        ("Sort Columns:", "[]", ""),
    ]


def _txn_row(txn: Txn) -> tuple[str, ...]:
    times = (str(txn.started_ms), str(txn.last_heartbeat_ms))
    return (str(txn.txn_id), txn.state.name, *times, txn.user, txn.host)


def _lock_row(lock: Lock) -> tuple[str, ...]:
    blocked = " " * 12
    if lock.blocked_by_lock_id is not None:
        blocked = f"{lock.blocked_by_lock_id}.{lock.blocked_by_internal_id}"
    return (
        f"{lock.lock_id}.{lock.internal_id}",
        lock.database,
        lock.table or "NULL",
        lock.partition or "NULL",
        lock.state.name,
        blocked,
        lock.type.name,
        str(lock.txn_id) if lock.txn_id else "NULL",
        str(lock.last_heartbeat_ms),
        str(lock.acquired_at_ms) if lock.acquired_at_ms else "NULL",
        lock.user,
        lock.host,
        lock.agent_info,
    )
