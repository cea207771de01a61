"""EXPORT TABLE: the rows of a table as plain files in a directory, with a description (Hive).

The description is written last: a directory without it is no export. `layout.export_metadata` tells
of its form. The rows of an unpartitioned table lie in ``data``, those of a partition in a directory
of its name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from acidsql.definitions.partition import no_partition_meets
from acidsql.errors import AnalysisError, WriteConflictError
from acidsql.execution.places import chosen_path, errors_at, refuse_result_place
from acidsql.execution.query import planned_query
from acidsql.execution.result import Result, count_text
from acidsql.execution.scope import Scope
from acidsql.grammar.parse import parse
from acidsql.layout.export_metadata import METADATA_FILE, Exported, metadata_text
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.names import PartitionName, TableName, quote_identifier, quoted_table
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.planner.names import find_target
from acidsql.planner.partition import fixed_values
from acidsql.plans.insert import InsertPlan
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import (
    Engine,
    JobResult,
    PartitionLocation,
    ReadContext,
    TableSnapshot,
    WriteContext,
)
from acidsql.ports.storage import without_login
from acidsql.statements.export_table import ExportTable
from acidsql.statements.query import Query
from acidsql.txn.transaction import OpenTxn, TxnOpener

DATA_DIRECTORY = "data"
"""The directory of the rows of an unpartitioned table."""
_FILES = TableName("", "export")
"""The files as a table, which no catalog has."""


def export_table(
    statement: ExportTable, open_txn: TxnOpener, scope: Scope, engine: Engine
) -> Result:
    """Write the rows that the statement sees into a new or empty directory.

    AnalysisError for a directory that belongs to a table, or is not empty.
    """
    table = find_target(statement.target, scope.names)
    with errors_at(statement.line, statement.column):
        location = _location(statement, scope)
    plan, reading = planned_query(_rows_of(table), None, open_txn, scope)
    with reading.released_on_error():
        table = scope.store.table(table.name)
        context = reading.context([table], {}, plan, scope.names.database)
        context = _chosen(statement, table, context, scope)
        with _claimed(location, scope, engine):
            job = _write(table, location, plan, context, reading.txn, scope, engine)
    reading.close()
    told = f"{count_text(job.rows_inserted, 'row')} exported"
    return Result("export", message=told, txn_id=reading.txn.txn_id)


def _location(statement: ExportTable, scope: Scope) -> str:
    """The directory, in which there is nothing, and which belongs to nobody."""
    location = chosen_path(statement.path, scope)
    refuse_result_place(location, scope)
    if scope.storage.list_files(location) or scope.storage.list_directories(location):
        raise AnalysisError(
            f"Invalid path: Target is not an empty directory : {without_login(location)}",
            hint="Name a directory that is empty or new.",
            code=10028,
        )
    return location


@contextmanager
def _claimed(location: str, scope: Scope, engine: Engine) -> Iterator[None]:
    """Keep other EXPORTs out of a directory while the block writes into it.

    Each of them puts a hidden file there, and goes on if nothing else is there. So no two go on.
    """
    claim = OwnPath(location, f".export_{uuid.uuid4().hex}")
    try:
        scope.storage.write_file(str(claim), b"")
        if {file.path for file in scope.storage.list_files(location)} != {claim.path}:
            raise WriteConflictError(
                f"another statement writes into the directory {without_login(location)}",
                hint="Name a directory that is empty or new.",
            )
        yield
    finally:
        engine.discard([claim])


def _rows_of(table: Table) -> Query:
    columns = ", ".join(quote_identifier(c.name) for c in table.all_columns)
    query = parse(f"SELECT {columns} FROM {quoted_table(table.name)}")  # noqa: S608 - quoted
    assert isinstance(query, Query)
    return query


def _chosen(
    statement: ExportTable, table: Table, context: ReadContext, scope: Scope
) -> ReadContext:
    """The context with only the partitions that PARTITION names."""
    wanted = set(fixed_values(statement.partition, table, scope.arguments))
    if not wanted:
        return context
    snapshot = context.tables[table.name]
    places = tuple(
        p for p in snapshot.partitions if p.name is not None and wanted <= set(p.name.items)
    )
    if not places:
        raise no_partition_meets(table, statement.target)
    chosen = replace(snapshot, partitions=places)
    return replace(context, tables={**context.tables, table.name: chosen})


def _write(
    table: Table,
    location: str,
    plan: QueryPlan,
    context: ReadContext,
    txn: OpenTxn,
    scope: Scope,
    engine: Engine,
) -> JobResult:
    """Write the files, then their description. On an error, remove what was written."""
    rows_at = location if table.partition_columns else f"{location}/{DATA_DIRECTORY}"
    files = replace(table, name=_FILES, location=rows_at, parameters={}, constraints=())
    places = () if table.partition_columns else (PartitionLocation(None, rows_at),)
    snapshot = TableSnapshot(
        files, places, ValidWriteIdList(str(_FILES), NO_WRITE_ID), txn.require_open
    )
    names = tuple(c.name for c in table.all_columns)
    insert = InsertPlan(table=_FILES, columns=names, rows=plan.rows, target=files.kind)
    whole = replace(context, tables={**context.tables, _FILES: snapshot})
    job = JobResult()
    try:
        scope.storage.make_directory(rows_at)
        [job] = engine.write(insert, WriteContext(whole, {_FILES: NO_WRITE_ID}))
        exported = Exported(replace(table, location=rows_at), _partitions(job))
        text = metadata_text(exported)
        scope.storage.write_file(f"{location}/{METADATA_FILE}", text.encode())
    except BaseException:
        engine.discard(job.paths)
        raise
    return job


def _partitions(job: JobResult) -> tuple[PartitionName, ...]:
    names = {touched.partition for touched in job.touched if touched.partition is not None}
    return tuple(sorted(names, key=str))
