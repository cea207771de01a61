"""CREATE [TEMPORARY] VIEW and ALTER VIEW … AS: a view gets its query, which the engine checks."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from acidsql.definitions.create_table import creation_locks, exists_already, new_table_name
from acidsql.definitions.query_types import column_names, stored_types
from acidsql.definitions.view import refuse_table_properties
from acidsql.errors import AnalysisError, SqlError, TableNotFoundError, UnsupportedStatementError
from acidsql.execution.reading import Reading
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import read_context
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.grammar.hive_words import hive_words
from acidsql.model.access import Access, Operation
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import TableName, quote_identifier
from acidsql.model.naming import Named, refuse_name
from acidsql.model.table import Column
from acidsql.model.types import ColumnType, PrimitiveType, parse_type
from acidsql.model.view import View
from acidsql.planner.accesses import query_accesses
from acidsql.planner.names import SeenNames, find_view_target
from acidsql.planner.view import expanded_text, plan_view
from acidsql.plans.plan import tables_read
from acidsql.plans.query import QueryPlan
from acidsql.ports.catalog import table_exists
from acidsql.ports.engine import Engine, Frame, ReadContext
from acidsql.statements.fragment import TableRef
from acidsql.statements.query import Query
from acidsql.statements.view import AlterViewAs, CreateView, ViewColumn, ViewDefinition
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn, TxnOpener

_UNNAMED = re.compile(r"_c\d+")


@dataclass(frozen=True, slots=True)
class _Draft:
    """A view whose columns are not known yet, and the plan that reads its query."""

    view: View
    query: Query
    plan: QueryPlan
    seen: SeenNames
    listed: tuple[ViewColumn, ...]

    def names_of_query(self, columns: Sequence[str]) -> list[str]:
        """`column_names` of the query of the view."""
        return column_names(self.seen.query_of(self.view).source, columns, self.seen)

    def require_unchanged(self) -> None:
        """AnalysisError if what the query names is not what it was when the plan was made."""
        if not self.seen.still_hold():
            raise AnalysisError(
                "a table or view of the query was altered meanwhile",
                hint="Run the statement again.",
            )

    @property
    def locks(self) -> list[LockComponent]:
        """As for a new table, and shared reads of what the query reads.

        Also of the views in it: otherwise two sessions could make a cycle of two views at once. A
        temporary view is of no catalog: what it reads is locked only while its columns are found.
        """
        if self.view.name.is_temporary:
            return lock_components(query_accesses(self.plan))
        views = [Access.of(n, Operation.SELECT) for n, view in self.seen.views.items() if view]
        own = self.view.name
        below = lock_components([*query_accesses(self.plan), *views])
        made = creation_locks(own)
        locked = {(c.database, c.table) for c in made}
        reads = [c for c in below if (c.database, c.table) not in locked]
        return sorted([*made, *reads], key=lambda c: (c.database, c.table or ""))


def view_locks(statement: ViewDefinition, scope: Scope) -> list[LockComponent]:
    """The locks that the statement would ask for; [] if it would change nothing."""
    if isinstance(statement, AlterViewAs):
        return _draft(statement, _old(statement, scope).name, scope).locks
    name = _new_name(statement, scope)
    return [] if _is_taken(name, statement, scope) else _draft(statement, name, scope).locks


def define_view(statement: ViewDefinition, scope: Scope, engine: Engine) -> Result:
    """Give a new view, or one that is there, its query."""
    if isinstance(statement, AlterViewAs):
        return _alter(statement, scope, engine)
    name = new_table_name(statement.target, scope)
    refuse_table_properties(statement.properties, statement.target)
    if _is_taken(name, statement, scope):
        return exists_already(name)
    draft = _draft(statement, name, scope)
    with scope.transaction() as txn:
        txn.lock(draft.locks)
        if _is_taken(name, statement, scope):
            return exists_already(name)
        view = _finished(draft, scope, engine, txn)
        old = scope.store.find_view(name)
        with scope.committing(txn):
            if old is None:
                scope.store.create_view(view)
            else:
                scope.store.alter_view(_replacing(old, view))
    return Result("create", message="OK")


def create_temporary_view(
    statement: CreateView,
    views: dict[str, View],
    block: TransactionBlock | None,
    open_txn: TxnOpener,
    scope: Scope,
    engine: Engine,
) -> Result:
    """Put a view among those of the session, which are kept by their names.

    It is there at once, and stays if the block is rolled back.
    """
    name = _new_name(statement, scope)
    refuse_table_properties(statement.properties, statement.target)
    if scope.names.is_frame(name.table):
        raise AnalysisError(
            f'"{name}" is a registered frame',
            hint="Give the view another name.",
            **_place(statement.target),
        )
    if _is_taken(name, statement, scope):
        return exists_already(name)
    draft = _draft(statement, name, scope)
    reading = Reading.begin(query_accesses(draft.plan), scope.store, block, open_txn)
    with reading.released_on_error():
        draft.require_unchanged()
        sources = [scope.store.table(name) for name in tables_read(draft.plan)]
        context = reading.context(sources, {}, draft.plan, scope.names.database)
        views[name.table] = _with_columns(draft, context, scope, engine)
    reading.close()
    return Result("create", message="OK")


def _new_name(statement: CreateView, scope: Scope) -> TableName:
    """The full name of the view. InvalidNameError if a view cannot have it."""
    if not statement.is_temporary:
        return new_table_name(statement.target, scope)
    name = TableName.temporary(statement.target.table)
    refuse_name(name.table, Named.TABLE, **_place(statement.target))
    return name


def _alter(statement: AlterViewAs, scope: Scope, engine: Engine) -> Result:
    draft = _draft(statement, _old(statement, scope).name, scope)
    with scope.transaction() as txn:
        txn.lock(draft.locks)
        view = _finished(draft, scope, engine, txn)
        with scope.committing(txn):
            scope.store.alter_view(_replacing(_old(statement, scope), view))
    return Result("alter", message="OK")


def _old(statement: AlterViewAs, scope: Scope) -> View:
    try:
        return find_view_target(statement.target, scope.names)
    except TableNotFoundError as error:
        error.detail = f"{error.message[0].upper()}{error.message[1:]}."
        error.message = "Cannot ALTER VIEW AS SELECT if view currently does not exist"
        error.code = 10216
        raise


def _replacing(old: View, view: View) -> View:
    """The view with the other's query. As in Hive, what the statement does not say stays."""
    return replace(
        view,
        parameters={**old.parameters, **view.parameters},
        comment=old.comment if view.comment is None else view.comment,
        owner=old.owner,
        created_s=old.created_s,
    )


def _is_taken(name: TableName, statement: CreateView, scope: Scope) -> bool:
    """Whether the name is taken and the statement says IF NOT EXISTS.

    Raises if it is taken by what the statement may not replace.
    """
    table = scope.store.find_table(name)
    if table is not None and statement.replaces:
        raise AnalysisError(
            "Existing table is not a view",
            detail=f"{name} is a {table.noun}.",
            code=10218,
            **_place(statement.target),
        )
    if statement.replaces or not (table is not None or scope.names.find_view(name) is not None):
        return False
    if not statement.if_not_exists:
        raise table_exists(name)
    return True


def _draft(statement: ViewDefinition, name: TableName, scope: Scope) -> _Draft:
    seen = SeenNames(scope.names)
    view = View(
        name,
        (),
        original_text=hive_words(statement.query.source.text),
        expanded_text=expanded_text(statement.query, seen, is_temporary=name.is_temporary),
        owner=scope.user,
        created_s=int(time.time()),
    )
    listed: tuple[ViewColumn, ...] = ()
    if isinstance(statement, CreateView):
        given = with_comment(dict(statement.properties), statement.comment)
        parameters, comment = split_comment(given)
        view = replace(view, parameters=parameters, comment=comment)
        listed = statement.columns
    with _without_place():
        plan = plan_view(view, seen)
    return _Draft(view, statement.query, plan, seen, listed)


def _finished(draft: _Draft, scope: Scope, engine: Engine, txn: OpenTxn) -> View:
    """The view with its columns, whose types the engine tells. The locks are granted."""
    draft.require_unchanged()
    sources = [scope.store.table(name) for name in tables_read(draft.plan)]
    database = scope.names.database
    context = read_context(scope.store, txn, sources, {}, plan=draft.plan, database=database)
    return _with_columns(draft, context, scope, engine)


def _with_columns(draft: _Draft, context: ReadContext, scope: Scope, engine: Engine) -> View:
    """The view with the columns of its query."""
    with _without_place():
        frame = engine.query(draft.plan, context)
    inner = draft.names_of_query(frame.columns)
    names = _names(draft, inner)
    kinds = _kinds(draft, frame, names)
    comments = [c.comment for c in draft.listed] or [None] * len(names)
    columns = tuple(map(Column, names, kinds, comments))
    view = replace(draft.view, columns=columns)
    if names == [column.lower() for column in frame.columns]:
        return view
    return replace(view, expanded_text=_renamed(view, inner, scope))


def _names(draft: _Draft, inner: Sequence[str]) -> list[str]:
    """The names of the view's columns: those of its list, or of its query (``inner``)."""
    given = [c.name.name.lower() for c in draft.listed] or inner
    place = _place_of(draft)
    if len(given) != len(inner):
        raise AnalysisError(
            "The number of columns produced by the SELECT clause does not match the number of"
            " column names specified by CREATE VIEW",
            detail=f"The query has {len(inner)} columns, the list {len(given)}.",
            code=10089,
            **place,
        )
    names: list[str] = []
    for name in given:
        refuse_name(name, Named.COLUMN, **place)
        is_reserved = name == HiddenColumn.ROW_ID.value
        if is_reserved or name in names:
            what = "is reserved" if is_reserved else "is defined twice"
            code = None if is_reserved else 10036
            raise AnalysisError(f'column "{name}" {what}', code=code, **place)
        names.append(name)
    return names


def _kinds(draft: _Draft, frame: Frame, names: Sequence[str]) -> list[ColumnType]:
    """The types of the columns. Those of a temporary view may be such as no table has."""
    kinds: list[ColumnType] = []
    for name, kind in zip(names, stored_types(frame, draft.query), strict=True):
        try:
            kinds.append(parse_type(kind))
        except ValueError as error:
            if draft.view.name.is_temporary:
                kinds.append(PrimitiveType(kind))
                continue
            raise UnsupportedStatementError(
                f'column "{name}" of the view is {kind}: {error}',
                hint=f"Write CAST(… AS type) AS {name}.",
                **_place_of(draft),
            ) from None
    return kinds


def _renamed(view: View, inner: Sequence[str], scope: Scope) -> str:
    """The view's text within a query that renames its columns.

    If possible in the form of Hive, which calls a column without a name ``_c1`` and knows no names
    behind an alias. We read such a text by position (`grammar.view.unwrapped`).
    """
    text, alias = view.expanded_text, quote_identifier(str(view.name))
    names = [quote_identifier(column.name) for column in view.columns]
    pairs = zip(map(quote_identifier, inner), names, strict=True)
    listed = ", ".join(f"{old} AS {new}" for old, new in pairs)
    hives = " ".join(["SELECT", listed, "FROM", f"({text})", alias])
    is_read_by_position = any(map(_UNNAMED.fullmatch, inner))
    if is_read_by_position:
        read = scope.names.query_of(replace(view, expanded_text=hives)).source.text
        if hive_words(read) == text:
            return hives
    elif len(set(inner)) == len(inner):
        return hives
    return " ".join(["SELECT * FROM", f"({text})", "AS", f"{alias}({', '.join(names)})"])


@contextmanager
def _without_place() -> Iterator[None]:
    """Errors of the block have no place: it would be one in the expanded text."""
    try:
        yield
    except SqlError as error:
        error.line = error.column = None
        raise


def _place_of(draft: _Draft) -> dict[str, Any]:
    return {"line": draft.query.source.line, "column": draft.query.source.column}


def _place(ref: TableRef) -> dict[str, Any]:
    return {"line": ref.line, "column": ref.column}
