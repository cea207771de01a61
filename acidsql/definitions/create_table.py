"""CREATE TABLE and DROP TABLE."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from acidsql.definitions.adoption import Adoption, adopt
from acidsql.definitions.constraints import constrained, constraints_of_columns
from acidsql.definitions.leftovers import remove_leftovers
from acidsql.definitions.removal import divide, remove_place
from acidsql.definitions.replaced_table import find_replaced, placed_beside
from acidsql.definitions.table_defaults import (
    says_neither_kind_nor_format,
    with_defaults,
)
from acidsql.definitions.table_kind import normal_properties, refuse_bad_kind
from acidsql.definitions.table_places import database_location, places_of
from acidsql.errors import AnalysisError, TableNotFoundError, UnsupportedStatementError
from acidsql.execution.places import Neighbours, chosen_path, refuse_place
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.layout.bucketing import is_bucketable
from acidsql.model.access import Access, Operation
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.hidden_column import INTERNAL_PREFIX, HiddenColumn
from acidsql.model.names import TableName, is_temporary_database
from acidsql.model.naming import Named, refuse_name, table_path
from acidsql.model.table import (
    FIELD_DELIMITER,
    RESERVED,
    Bucketing,
    Column,
    FileFormat,
    Table,
    TableKind,
)
from acidsql.model.types import VOID, CharType, DecimalType, PrimitiveType, parse_type
from acidsql.planner.materialized_view import find_materialized
from acidsql.planner.names import ViewRefusal, find_target, new_name, table_name
from acidsql.ports.catalog import is_taken, table_exists
from acidsql.ports.storage import without_login
from acidsql.statements.create_table import (
    ColumnDefinition,
    CreateTable,
    CreateTableLike,
    DropTable,
)
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.view import DropMaterializedView
from acidsql.txn.commit import unless_done
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn

_RESERVED = frozenset({HiddenColumn.ROW_ID.value})


def create_table(statement: CreateTable, scope: Scope, *, needs_empty: bool = False) -> Result:
    """Create the table and its directory. With ``needs_empty`` it may not take in files."""
    if statement.location is not None:
        statement = replace(statement, location=chosen_path(statement.location, scope))
    says_nothing = says_neither_kind_nor_format(statement)
    name = new_table_name(statement.target, scope, is_temporary=statement.is_temporary)
    database = scope.store.database(name.database)
    statement = with_defaults(statement, scope.settings, database.parameters)
    parent = database_location(database, scope.warehouse, parameters_of(statement))
    spelled = scope.store.keeps_spelling
    table = table_of(statement, name, parent, scope.user, spelled=spelled)
    defined = (
        *constraints_of_columns(statement.columns),
        *constraints_of_columns(statement.partition_columns),
        *statement.constraints,
    )
    table = replace(table, constraints=constrained(table, defined, scope))
    return make_table(
        table,
        scope,
        statement=statement,
        unsaid=statement.target if says_nothing else None,
        needs_empty=needs_empty,
        notes=notes_of(statement),
    )


def make_table(
    table: Table,
    scope: Scope,
    *,
    statement: CreateTable | CreateTableLike,
    unsaid: TableRef | None = None,
    needs_empty: bool = False,
    notes: Sequence[str] = (),
) -> Result:
    """Make the table that a statement describes, and its directory, under locks.

    ``unsaid`` is the name in a statement that says neither kind nor format of the table. With
    ``needs_empty``, a directory with files is an AnalysisError. ``notes`` are lines for the
    message.
    """
    chosen = statement.location is not None
    with scope.transaction() as txn:
        if statement.replaces:
            scope.release(lambda held: held == table.name, moves=True)
        txn.lock(creation_locks(table.name))
        old = find_replaced(table.name, scope, statement.target) if statement.replaces else None
        if old is not None:
            table = placed_beside(table, old.table, scope, chosen=chosen).remade(txn.txn_id)
        elif is_taken(scope.store, table.name):
            if statement.if_not_exists:
                return exists_already(table.name)
            raise table_exists(table.name)
        adoption = adopt_location(table, scope, txn, chosen=chosen)
        if needs_empty and not adoption.is_empty:
            raise AnalysisError(
                "Table exists and contains data files",
                detail=f"{without_login(table.location)} is not empty.",
                hint="Name a directory that is empty or new.",
                code=10119,
                **_place(statement.target),
            )
        if unsaid is not None and not adoption.is_empty and table.kind is not TableKind.PLAIN:
            # They may be of any format, and DROP TABLE would remove them.
            raise UnsupportedStatementError(
                f"the directory {table.location} is not empty, and CREATE TABLE does not say"
                " whether the table is transactional or how it is stored",
                hint="Add TBLPROPERTIES ('transactional' = 'true'), or EXTERNAL and STORED AS.",
                **_place(unsaid),
            )
        scope.storage.make_directory(table.location)
        with scope.committing(txn):
            if old is not None:
                old.forget()
            adoption.seed(scope, txn)
            scope.store.create_table(table.created_empty() if adoption.is_empty else table)
    removed = [] if old is None else old.remove_files()
    return Result("create", message="\n".join([_created(table, adoption), *notes, *removed]))


def notes_of(statement: CreateTable, sorted_by: str = "SORTED BY has") -> list[str]:
    """Lines for the message about clauses that are taken and have no effect."""
    notes = []
    if statement.sort_columns:
        notes.append(f"{sorted_by} no effect: the rows of a file are not sorted.")
    if statement.skew_columns:
        notes.append("SKEWED BY has no effect: frequent values have no directories of their own.")
    return notes


def exists_already(name: TableName) -> Result:
    """The result of CREATE TABLE IF NOT EXISTS for a name that is taken."""
    return Result("create", message=f"table {name} exists already")


def creation_locks(name: TableName) -> list[LockComponent]:
    """The locks of a statement that makes a table: one on the database, one on the table's name."""
    return lock_components(
        [Access(name.database, None, Operation.CREATE), Access.of(name, Operation.ALTER)]
    )


def drop_table(statement: DropTable | DropMaterializedView, scope: Scope) -> Result:
    """Drop the table, and its files unless it is external. The message names what stays on disk.

    It also says so if there is no such table, which is no error with IF EXISTS, or unless
    hive.exec.drop.ignorenonexistent is false.
    """
    name = table_name(statement.target, scope.names)
    try:
        takes_view = isinstance(statement, DropTable) and statement.if_exists
        if takes_view and scope.store.find_view(name) is not None:
            return Result("drop", message=f"{name} is a view: nothing was dropped")  # as in Hive
        find_dropped(statement, scope)
        with scope.transaction() as txn:
            scope.release(lambda held: held == name, moves=True)
            txn.lock(drop_locks(name))
            # The table may have been dropped, or made anew, while the statement waited.
            table = find_dropped(statement, scope)
            notes = forget_table(table, scope, txn, Neighbours(scope), [table.name])
    except TableNotFoundError as error:
        if statement.if_exists:
            return Result("drop", message=f"{_kind_of(statement)} {name} does not exist")
        if not scope.settings.drop_ignores_missing:
            raise
        refuse_name(
            name.table, Named.TABLE, line=statement.target.line, column=statement.target.column
        )
        note = f"{error.message}: nothing was dropped. {error.hint or ''}"
        return Result("drop", message=f"OK\n{note.rstrip()}")
    return Result("drop", message="\n".join(["OK", *notes]))


def find_dropped(statement: DropTable | DropMaterializedView, scope: Scope) -> Table:
    """The table that the statement drops. Raises for another kind of relation, or for none."""
    if isinstance(statement, DropTable):
        return find_target(statement.target, scope.names, ViewRefusal.DROP)
    return find_materialized(statement.target, scope.names)


def _kind_of(statement: DropTable | DropMaterializedView) -> str:
    return "table" if isinstance(statement, DropTable) else "materialized view"


def finds_nothing_to_drop(statement: DropTable | DropMaterializedView, scope: Scope) -> bool:
    """Whether there is no such table, and that is no error."""
    name = table_name(statement.target, scope.names)
    if scope.store.find_table(name) is not None:
        return False
    ignored = scope.settings.drop_ignores_missing and scope.store.find_view(name) is None
    return statement.if_exists or ignored


def drop_locks(name: TableName) -> list[LockComponent]:
    """The locks of DROP TABLE."""
    return lock_components([Access.of(name, Operation.DROP)])


def forget_table(
    table: Table,
    scope: Scope,
    txn: OpenTxn,
    neighbours: Neighbours,
    doomed: Collection[TableName],
) -> list[str]:
    """Forget the table, then remove its files; a line for everything that stays on disk.

    The order matters: a table that is forgotten cannot be found with only some of its files. Files
    that may belong to others stay. ``doomed`` are all tables that the statement drops.

    Raises TxnAbortedError if the transaction is not open any more: without its locks, the table of
    this name, and the directory, may be another session's.
    """
    own, notes = divide(places_of(table, scope), neighbours, doomed)
    # If we die before the end, a later table may be made over the files that stay.
    remove_leftovers(table, [place.location for place in own], scope)
    name = table.name
    is_gone = unless_done(lambda: scope.store.find_table(name) is None)
    with is_gone, scope.store.while_open(txn.txn_id):
        scope.store.drop_table(name)
    if not table.owns_files:
        return []
    for place in own:
        txn.require_open()
        notes += remove_place(place, table, scope)
    return notes


def new_table_name(ref: TableRef, scope: Scope, *, is_temporary: bool = False) -> TableName:
    """The full name of a table to be made. AnalysisError for a name that no table may have.

    A database of temporary tables is for those that their session makes, ``is_temporary``.
    """
    name = new_name(ref, scope.names)
    if not is_temporary:
        refuse_temporary_database(name, ref)
    refuse_name(name.table, Named.TABLE, line=ref.line, column=ref.column)
    return name


def refuse_temporary_database(name: TableName, ref: TableRef) -> None:
    """AnalysisError for the name of a table that would be dropped with a session."""
    if is_temporary_database(name.database):
        raise AnalysisError(
            f"the database {name.database} is for the temporary tables of a session",
            hint="Choose another database, or write CREATE TEMPORARY TABLE.",
            line=ref.line,
            column=ref.column,
        )


def table_of(
    statement: CreateTable, name: TableName, parent: str, owner: str, *, spelled: bool = False
) -> Table:
    """The table that a CREATE TABLE describes, below ``parent`` unless it has a LOCATION.

    The statement has its format and kind (`table_defaults.with_defaults`). ``spelled`` is that of
    `parse_type`.
    Raises AnalysisError or UnsupportedStatementError for clauses that do not fit together.
    """
    columns = [column_of(c, spelled=spelled) for c in statement.columns]
    partition_columns = [_partition_column(c) for c in statement.partition_columns]
    refuse_bad_columns(
        (*statement.columns, *statement.partition_columns), (*columns, *partition_columns), ()
    )
    if not columns:
        raise AnalysisError(
            "a table needs at least one column",
            line=statement.target.line,
            column=statement.target.column,
        )
    _refuse_unknown("SORTED BY", statement.sort_columns, columns)
    _refuse_unknown("SKEWED BY", statement.skew_columns, columns)
    form = FileFormat(statement.stored_as)
    is_text = form is FileFormat.TEXT
    parameters, comment = split_comment(with_comment(parameters_of(statement), statement.comment))
    table = Table(
        name=name,
        columns=tuple(columns),
        partition_columns=tuple(partition_columns),
        location=statement.location or table_path(parent, name.table),
        bucketing=_bucketing(statement, columns),
        parameters=parameters,
        comment=comment,
        owner=owner,
        created_s=int(time.time()),
        format=form,
        # Hive takes ROW FORMAT DELIMITED for other formats, too, where it means nothing.
        field_delimiter=(is_text and statement.field_delimiter) or FIELD_DELIMITER,
    )
    refuse_bad_kind(table, _place(statement.target))
    return table


def _refuse_unknown(clause: str, named: Sequence[Identifier], columns: Sequence[Column]) -> None:
    known = {column.name for column in columns}
    for identifier in named:
        if identifier.name.lower() not in known:
            raise AnalysisError(
                f'{clause}: the table has no column "{identifier.name}"',
                line=identifier.line,
                column=identifier.column,
                code=10002,
            )


def column_of(definition: ColumnDefinition, *, spelled: bool = False) -> Column:
    """The column of a definition. UnsupportedStatementError for a type that cannot be stored.

    ``spelled`` is that of `parse_type`.
    """
    try:
        kind = parse_type(definition.type, spelled=spelled)
    except ValueError as error:
        raise _refusal_at(definition, str(error)) from None
    if kind == VOID:
        raise _refusal_at(
            definition,
            "void columns cannot be declared",
            hint="Hive refuses void columns too. A column of any type can be NULL in every row.",
        )
    return Column(definition.name.name.lower(), kind, definition.comment)


def _partition_column(definition: ColumnDefinition) -> Column:
    column = column_of(definition)
    place: dict[str, Any] = {"line": definition.name.line, "column": definition.name.column}
    refuse_name(column.name, Named.PARTITION_COLUMN, **place)
    kinds = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date")
    plain = isinstance(column.type, PrimitiveType) and column.type.name in kinds
    is_varchar = isinstance(column.type, CharType) and column.type.name == "varchar"
    if not plain and not is_varchar and not isinstance(column.type, DecimalType):
        hint = "Use string or varchar." if isinstance(column.type, CharType) else None
        raise _refusal_at(definition, f"a partition column cannot be of type {column.type}", hint)
    return column


def _refusal_at(
    definition: ColumnDefinition, message: str, hint: str | None = None
) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f'column "{definition.name.name}": {message}',
        hint=hint,
        line=definition.name.line,
        column=definition.name.column,
    )


def refuse_bad_columns(
    definitions: Sequence[ColumnDefinition], columns: Sequence[Column], others: Sequence[Column]
) -> None:
    """Raise for a name that no column may have, or that is taken; ``others`` exist already."""
    seen = {c.name for c in others}
    for definition, column in zip(definitions, columns, strict=True):
        place: dict[str, Any] = {"line": definition.name.line, "column": definition.name.column}
        refuse_name(column.name, Named.COLUMN, **place)
        reserved = column.name in _RESERVED or column.name.startswith(INTERNAL_PREFIX)
        if column.name in seen or reserved:
            what = "is reserved" if reserved else "is defined twice"
            raise AnalysisError(
                f'column "{column.name}" {what}',
                code=None if reserved else 10036,
                **place,
            )
        if "`" in column.name:
            raise _refusal_at(
                definition, "Spark's ORC reader cannot find a name with a back quote in it"
            )
        seen.add(column.name)


def _bucketing(statement: CreateTable, columns: Sequence[Column]) -> Bucketing | None:
    if not statement.bucket_columns or statement.bucket_count is None:
        return None
    by_name = {c.name: c for c in columns}
    version = 1 if dict(statement.properties).get("bucketing_version") == "1" else 2
    for identifier in statement.bucket_columns:
        found = by_name.get(identifier.name.lower())
        if found is None:
            why = "is not a column to bucket by"
        elif not is_bucketable(found.type, version):
            why = f"of type {found.type} cannot be bucketed by as Hive does"
        else:
            continue
        raise AnalysisError(
            f'CLUSTERED BY: "{identifier.name}" {why}',
            line=identifier.line,
            column=identifier.column,
        )
    if not 1 <= statement.bucket_count <= 4096:
        raise AnalysisError(
            f"a table has between 1 and 4096 buckets, not {statement.bucket_count}",
            line=statement.target.line,
            column=statement.target.column,
        )
    names = tuple(i.name.lower() for i in statement.bucket_columns)
    return Bucketing(names, statement.bucket_count, version)


def parameters_of(statement: CreateTable) -> dict[str, str]:
    """The parameters of the described table, as Hive stores them.

    ``transactional_properties`` and ``bucketing_version`` are filled in.
    """
    parameters = normal_properties(statement.properties)
    for reserved in RESERVED:
        parameters.pop(reserved, None)
    if parameters.get("transactional", "").lower() == "true":
        parameters["transactional"] = "true"
        parameters.setdefault("transactional_properties", "default")
    elif parameters.get("transactional", "").lower() == "false":
        del parameters["transactional"]  # as Hive does
    if statement.external:
        parameters["EXTERNAL"] = "TRUE"
    parameters.setdefault("bucketing_version", "2")
    return parameters


def _place(target: TableRef) -> dict[str, Any]:
    return {"line": target.line, "column": target.column}


def adopt_location(
    table: Table, scope: Scope, txn: OpenTxn, *, chosen: bool, shared: bool = True
) -> Adoption:
    """Adopt the files in the table's directory, which a user must have named (``chosen``).

    ``shared`` says that the directory of an external table may be that of another plain table.
    UnsupportedStatementError for a directory that no user named and that is not empty.
    """
    plain = table.kind is TableKind.PLAIN
    refuse_place(table.location, scope, table.name.database, with_plain=shared and table.external)
    adoption = adopt(table, [table.location], scope, txn)
    if not (adoption.is_empty or chosen or plain):
        raise UnsupportedStatementError(
            f"the directory {table.location} is not empty",
            detail="Files of an earlier table do not become part of a new one by accident.",
            hint=f"Add LOCATION '{table.location}' to make a table of the files that are there.",
        )
    return adoption


def _created(table: Table, adoption: Adoption) -> str:
    if table.partition_columns and not adoption.is_empty:
        return f"OK\nMSCK REPAIR TABLE {table.name} adds the partitions that are there."
    return "OK"
