"""INSERT OVERWRITE DIRECTORY: the rows of a query become files in a directory of their own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from acidsql.definitions.query_types import stored_types
from acidsql.definitions.result_directory import ResultDirectory
from acidsql.definitions.table_kind import refuse_bad_kind
from acidsql.errors import UnsupportedStatementError
from acidsql.execution.places import chosen_path, errors_at, refuse_result_place
from acidsql.execution.query import planned_query
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import FIELD_DELIMITER, Column, FileFormat, Table
from acidsql.model.types import VOID, PrimitiveType, parse_type
from acidsql.plans.insert import InsertPlan
from acidsql.plans.plan import tables_read
from acidsql.ports.engine import (
    Engine,
    Frame,
    PartitionLocation,
    ReadContext,
    TableSnapshot,
    WriteContext,
)
from acidsql.statements.insert_directory import InsertDirectory
from acidsql.statements.query import Query
from acidsql.txn.transaction import TxnOpener

_NAME = re.compile(r"[^\W\d]\w*")
"""A name that a user gave. The names that Spark makes of expressions do not match."""
_FILES = TableName("", "directory")
"""The files as a table, which no catalog has."""


def insert_directory(
    statement: InsertDirectory, open_txn: TxnOpener, scope: Scope, engine: Engine
) -> Result:
    """Replace the files of the directory by the rows of the query, and count them.

    AnalysisError for a directory that belongs to a table, or has files of others.
    """
    with errors_at(statement.line, statement.column):
        directory = ResultDirectory(_location(statement, scope), scope.storage)
    plan, reading = planned_query(Query(statement.source), None, open_txn, scope)
    with reading.released_on_error():
        tables = [scope.store.table(n) for n in tables_read(plan)]
        context = reading.context(tables, scope.arguments, plan, scope.names.database)
        frame = engine.query(plan, context)
        table = _table(statement, frame, directory.attempt)
        files = TableSnapshot(
            table,
            (PartitionLocation(None, table.location),),
            ValidWriteIdList(str(_FILES), NO_WRITE_ID),
            reading.txn.require_open,
        )
        names = tuple(c.name for c in table.columns)
        write = InsertPlan(
            table=_FILES, columns=names, rows=plan.rows, overwrite=True, target=table.kind
        )
        whole = ReadContext(
            context.txns, {**context.tables, _FILES: files}, context.parameters, context.database
        )
        try:
            scope.storage.make_directory(directory.attempt)
            [job] = engine.write(write, WriteContext(whole, {_FILES: NO_WRITE_ID}))
            with errors_at(statement.line, statement.column):
                _location(statement, scope)  # a table may have come
                directory.publish()
        finally:
            directory.close()
    reading.close()
    return Result(
        "insert", rows_inserted=job.rows_inserted, rows_updated=0, rows_deleted=0,
        txn_id=reading.txn.txn_id,
    )  # fmt: skip


def _location(statement: InsertDirectory, scope: Scope) -> str:
    """The directory, which belongs to nobody."""
    if statement.local and scope.storage.local_path(scope.warehouse) is None:
        raise UnsupportedStatementError(
            "INSERT OVERWRITE LOCAL DIRECTORY needs a warehouse on this machine",
            detail="The files are written where the warehouse is.",
            hint="Leave LOCAL out, and name a directory there.",
        )
    location = chosen_path(statement.path, scope)
    refuse_result_place(location, scope)
    return location


def _table(statement: InsertDirectory, frame: Frame, location: str) -> Table:
    """The files as a plain table: its columns are those of the query."""
    kinds = stored_types(frame, Query(statement.source))
    table = Table(
        name=_FILES,
        columns=(),
        location=location,
        format=FileFormat(statement.stored_as),
        field_delimiter=statement.field_delimiter or FIELD_DELIMITER,
    )
    place: dict[str, Any] = {"line": statement.source.line, "column": statement.source.column}
    columns = []
    for name, kind in zip(_names(frame.columns), kinds, strict=True):
        try:
            found = parse_type(kind)
        except ValueError as error:
            raise UnsupportedStatementError(
                f'column "{name}" of the query is {kind}: {error}',
                hint="Write CAST(… AS type).",
                **place,
            ) from None
        columns.append(Column(name, PrimitiveType("string") if found == VOID else found))
    table = replace(table, columns=tuple(columns))
    refuse_bad_kind(table, place)
    return table


def _names(given: list[str]) -> list[str]:
    """The names of the columns: Hive's ``_col0`` where the query has none, or one name twice.

    >>> _names(["ID", "count(1)", "x", "X"])
    ['id', '_col1', '_col2', '_col3']
    """
    lower = [name.lower() for name in given]
    count = Counter(lower)
    plain = [bool(_NAME.fullmatch(name)) and count[name] == 1 for name in lower]
    made = {f"_col{number}" for number, is_plain in enumerate(plain) if not is_plain}
    return [
        name if is_plain and name not in made else f"_col{number}"
        for number, (name, is_plain) in enumerate(zip(lower, plain, strict=True))
    ]
