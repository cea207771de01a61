"""Plans of statements over declared tables, for goldens.

A ``table`` block declares one name per line: a table as CREATE TABLE would have it, from its name
on, perhaps with a last word ``plain`` or ``insert-only``; ``frame NAME``; ``temporary NAME``, a
temporary view; ``view NAME (COLUMN, …) AS QUERY``; ``database NAME``, the current one; ``argument
NAME = VALUE``, a Python literal, ``date TEXT`` or ``decimal TEXT``; or ``rows may move``. The plan
of CREATE VIEW and ALTER VIEW is that of the query which the view would keep.
"""

from __future__ import annotations

import ast
import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from sqlglot import exp

from acidsql.definitions.create_table import table_of
from acidsql.errors import TableNotFoundError
from acidsql.grammar.parse import parse
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import ColumnType, PrimitiveType
from acidsql.model.view import View
from acidsql.planner.analyze import plan_analyze
from acidsql.planner.check import plan_check
from acidsql.planner.compact import plan_compact
from acidsql.planner.names import find_relation, table_name
from acidsql.planner.planner import make_plan
from acidsql.planner.rules import Rules
from acidsql.planner.view import expanded_text, plan_view
from acidsql.plans.analyze import AnalyzePlan
from acidsql.plans.check import CheckPlan
from acidsql.plans.compact import CompactPlan
from acidsql.plans.plan import WritePlan
from acidsql.plans.query import QueryPlan
from acidsql.session.view_text import view_query
from acidsql.statements import (
    AlterViewAs,
    Analyze,
    Check,
    Compact,
    CreateTable,
    CreateView,
    Delete,
    Insert,
    Load,
    Merge,
    MultiInsert,
    Query,
    Truncate,
    Update,
)

STRING = PrimitiveType("string")
_ACID = "stored as orc tblproperties ('transactional' = 'true')"
_KINDS = {
    "plain": {},
    "insert-only": {"transactional": "true", "transactional_properties": "insert_only"},
}


@dataclass
class DeclaredNames:
    """The Names port over declarations."""

    database: str = DEFAULT_DATABASE
    tables: dict[TableName, Table] = field(default_factory=dict)
    frames: set[str] = field(default_factory=set)
    temporary: set[str] = field(default_factory=set)
    views: dict[TableName, View] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def of(cls, lines: Sequence[str]) -> DeclaredNames:
        """From the lines of ``table`` blocks."""
        names = cls()
        for line in lines:
            names._declare(line)
        return names

    def find_table(self, name: TableName) -> Table | None:
        return self.tables.get(name)

    def find_view(self, name: TableName) -> View | None:
        return self.views.get(name)

    def query_of(self, view: View) -> Query:
        return view_query(view)

    @property
    def temporary_names(self) -> list[str]:
        return [name.table for name in self.views if name.is_temporary]

    def is_frame(self, name: str) -> bool:
        return name.lower() in self.frames

    @property
    def temporary_tables(self) -> dict[TableName, TableName]:
        return {}

    @property
    def keeps_spelling(self) -> bool:
        return False

    def is_temporary_view(self, name: str) -> bool:
        return name.lower() in self.temporary

    def table_names(self, database: str) -> list[str]:
        return [n.table for n in [*self.tables, *self.views] if n.database == database]

    def _declare(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "frame":
                self.frames.add(rest.lower())
            case "temporary":
                self.temporary.add(rest.lower())
            case "view":
                view = _view(rest, self)
                self.views[view.name] = view
            case "rows":
                self.rules = Rules(row_movement=True)
            case "database":
                self.database = rest
            case "argument":
                name, _, text = rest.partition(" = ")
                self.arguments[name] = _value(text)
            case _:
                table = _table(line, self.database)
                self.tables[table.name] = table


def _value(text: str) -> Any:
    word, _, rest = text.partition(" ")
    if word == "date":
        return datetime.date.fromisoformat(rest)
    return Decimal(rest) if word == "decimal" else ast.literal_eval(text)


@cache
def _table(line: str, database: str) -> Table:
    """Cached: most goldens of a file declare the same tables."""
    kind = line.rpartition(" ")[2]
    text = line.removesuffix(kind) if kind in _KINDS else line
    statement = parse(f"create table {text} {_ACID}")
    assert isinstance(statement, CreateTable)
    table = table_of(statement, table_name(statement.target, DeclaredNames(database)), "/t", "u")
    return replace(table, parameters=_KINDS[kind]) if kind in _KINDS else table


def _view(line: str, names: DeclaredNames) -> View:
    statement = parse(f"create view {line}")
    assert isinstance(statement, CreateView)
    try:
        text = expanded_text(statement.query, names)
    except TableNotFoundError:  # the table is gone since the view was made
        text = statement.query.source.text
    return _kept(statement, names, text)


def _kind(item: Any, query: Query, names: DeclaredNames) -> ColumnType:
    """The type of an item in a select list: that of the column that it is, else a string."""
    name = item.name if isinstance(item, exp.Column) else ""
    relations = [find_relation(ref, names) for ref in query.source.tables]
    own = [r.column(name) for r in relations if r is not None]
    return next((column.type for column in own if column is not None), STRING)


def _kept(statement: CreateView | AlterViewAs, names: DeclaredNames, text: str) -> View:
    columns = statement.columns if isinstance(statement, CreateView) else ()
    items = statement.query.source.tree.expressions or [None] * len(columns)
    kinds = [_kind(item, statement.query, names) for item in items]
    listed = tuple(Column(c.name.name, k) for c, k in zip(columns, kinds, strict=False))
    name = table_name(statement.target, names)
    return View(name, listed, statement.query.source.text, text)


def plan(
    sql: str, declarations: Sequence[str]
) -> WritePlan | QueryPlan | CompactPlan | CheckPlan | AnalyzePlan:
    """The plan of a statement."""
    names = DeclaredNames.of(declarations)
    statement = parse(sql)
    match statement:
        case Check():
            return plan_check(statement, names, names.arguments)
        case Analyze():
            return plan_analyze(statement, names, names.arguments)
        case Compact():
            return plan_compact(statement, names, names.arguments).plan
        case (
            Insert() | MultiInsert() | Update() | Delete() | Merge() | Truncate() | Load() | Query()
        ):
            return make_plan(statement, names, names.arguments, names.rules)
        case CreateView() | AlterViewAs():
            text = expanded_text(statement.query, names)
            return plan_view(_kept(statement, names, text), names)
    raise AssertionError(f"{type(statement).__name__} has no plan")
