"""DROP VIEW, and what ALTER VIEW changes beside the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from typing_extensions import assert_never

from acidsql.definitions.create_table import drop_locks, new_table_name
from acidsql.definitions.rename_table import renaming_locks
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.access import Access, Operation
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.naming import Named, refuse_name
from acidsql.model.view import View
from acidsql.planner.names import find_view_target, new_name, table_name, unknown_table
from acidsql.statements.fragment import TableRef
from acidsql.statements.view import (
    AlterView,
    DropView,
    RenameView,
    SetViewProperties,
    UnsetViewProperties,
)
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components

_OF_TABLES = frozenset({"transactional", "transactional_properties", "external", "storage_handler"})


def drop_view(statement: DropView, scope: Scope) -> Result:
    """Drop the view. It is no error if there is none, as for DROP TABLE."""
    ref = statement.target
    name = table_name(ref, scope.names)
    if scope.store.find_view(name) is None:
        return _nothing_dropped(statement, scope)
    with scope.transaction() as txn:
        txn.lock(drop_locks(name))
        # The view may have been dropped while the statement waited.
        if scope.store.find_view(name) is None:
            return _nothing_dropped(statement, scope)
        with scope.committing(txn):
            scope.store.drop_view(name)
    return Result("drop", message="OK")


def _nothing_dropped(statement: DropView, scope: Scope) -> Result:
    ref = statement.target
    name = table_name(ref, scope.names)
    table = scope.store.find_table(name)
    if table is not None:
        if statement.if_exists:  # as in Hive
            return Result("drop", message=f"{name} is a {table.noun}: nothing was dropped")
        raise UnsupportedStatementError(
            "Cannot drop a base table with DROP VIEW",
            detail=f"{name} is a {table.noun}.",
            hint=f"Write DROP {table.noun.upper()}.",
            **_place(ref),
        )
    if statement.if_exists:
        return Result("drop", message=f"view {name} does not exist")
    error = unknown_table(ref, scope.names)
    if not scope.settings.drop_ignores_missing:
        raise error
    refuse_name(name.table, Named.TABLE, **_place(ref))
    note = f"{error.message}: nothing was dropped. {error.hint or ''}"
    return Result("drop", message=f"OK\n{note.rstrip()}")


def finds_no_view(statement: DropView, scope: Scope) -> bool:
    """Whether the statement would drop nothing, without an error."""
    name = table_name(statement.target, scope.names)
    if scope.store.find_view(name) is not None:
        return False
    is_table = scope.store.find_table(name) is not None
    return statement.if_exists or (scope.settings.drop_ignores_missing and not is_table)


def alter_view(statement: AlterView, scope: Scope) -> Result:
    """Rename a view, or change its properties."""
    view = find_view_target(statement.target, scope.names)
    if isinstance(statement, SetViewProperties):
        refuse_table_properties(statement.properties, statement.target)
    with scope.transaction() as txn:
        txn.lock(alter_view_locks(statement, view, scope))
        now = find_view_target(statement.target, scope.names)
        match statement:
            case RenameView():
                new = new_table_name(statement.renamed, scope)
                with scope.committing(txn):
                    scope.store.rename_view(now.name, new)
            case SetViewProperties():
                known = with_comment(now.parameters, now.comment)
                changed = _with_properties(now, {**known, **dict(statement.properties)})
                with scope.committing(txn):
                    scope.store.alter_view(changed)
            case UnsetViewProperties():
                changed = _without_properties(now, statement)
                with scope.committing(txn):
                    scope.store.alter_view(changed)
            case _:
                assert_never(statement)
    return Result("alter", message="OK")


def alter_view_locks(statement: AlterView, view: View, scope: Scope) -> list[LockComponent]:
    """The locks of ALTER VIEW, but with AS."""
    if isinstance(statement, RenameView):
        return renaming_locks(view.name, new_name(statement.renamed, scope.names))
    return lock_components([Access.of(view.name, Operation.DESCRIBE)])


def _with_properties(view: View, properties: Mapping[str, str]) -> View:
    parameters, comment = split_comment(properties)
    return replace(view, parameters=parameters, comment=comment)


def _without_properties(view: View, statement: UnsetViewProperties) -> View:
    known = with_comment(view.parameters, view.comment)
    missing = [key for key in statement.keys if key not in known]
    if missing and not statement.if_exists:
        raise AnalysisError(
            f"The following property {missing[0]} does not exist in {view.name.table}",
            hint="UNSET TBLPROPERTIES IF EXISTS skips properties that are not there.",
            code=10215,
            **_place(statement.target),
        )
    return _with_properties(view, {k: v for k, v in known.items() if k not in statement.keys})


def refuse_table_properties(properties: Iterable[tuple[str, str]], target: TableRef) -> None:
    """AnalysisError for a property that says how the files of a table are kept."""
    for key, _ in properties:
        if key.lower() in _OF_TABLES:
            raise AnalysisError(f"a view cannot have the property '{key}'", **_place(target))


def _place(ref: TableRef) -> dict[str, Any]:
    return {"line": ref.line, "column": ref.column}
