"""EXPLAIN and EXPLAIN LOCKS: what a statement would do, and which locks it would ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from acidsql.background.vacuum import vacuum_locks
from acidsql.definitions.analyze import analyze_locks
from acidsql.definitions.evolution import Evolution, evolution_of
from acidsql.definitions.import_table import import_locks
from acidsql.definitions.locks import definition_locks
from acidsql.definitions.partition import alter_locks
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import changed_partition
from acidsql.execution.statistics import known_answer, present_snapshot
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.model.access import Access, Operation
from acidsql.model.names import quote_identifier
from acidsql.planner.accesses import query_accesses, write_accesses
from acidsql.planner.analyze import plan_analyze
from acidsql.planner.check import plan_check
from acidsql.planner.compact import plan_compact
from acidsql.planner.names import SeenNames, find_target, new_name, table_name
from acidsql.planner.planner import make_plan
from acidsql.planner.query import plan_query
from acidsql.plans.explain import explain as plan_text
from acidsql.plans.explain import explain_answer, tree
from acidsql.plans.plan import WritePlan, tables_read, targets
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import Engine
from acidsql.ports.storage import without_login
from acidsql.statements import (
    Analyze,
    Check,
    Compact,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    CreateView,
    Definition,
    EngineDefinition,
    Explain,
    ExportTable,
    ImportTable,
    Insert,
    InsertDirectory,
    Merge,
    Query,
    Vacuum,
)
from acidsql.statements.explain import Explained, Planned
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy


def explain(
    statement: Explain,
    scope: Scope,
    engine: Engine,
    policy: TxnPolicy,
    block: TransactionBlock | None,
) -> Result:
    """The plan as a tree, or one row for each lock in Hive's form: ``db.t.p=1 -> SHARED_READ``.

    Words that were ignored are named in the message of the Result.

    Columns that the statement would add to its target come first; the plan is that of the target
    with these columns.
    """
    explained = statement.statement
    lines: list[str] = []
    if isinstance(explained, Insert | Merge) and explained.evolves:
        evolution = evolution_of(explained, scope, engine)
        lines = _added(evolution, locks=statement.locks)
        explained, scope = evolution.statement, replace(scope, names=evolution.names(scope))
    if statement.locks:
        lines += _locks(explained, scope, policy)
    else:
        lines += _text(explained, scope, block).splitlines()
    column = "lock" if statement.locks else "plan"
    result = text_rows("explain", [column], [(line,) for line in lines])
    if statement.ignored:
        words = " ".join(statement.ignored)
        result.message = f"{words} was ignored: plans have one form"
    return result


def _added(evolution: Evolution, *, locks: bool) -> list[str]:
    if not evolution.missing:
        return []
    if locks:
        return [_line(lock) for lock in alter_locks(evolution.table)]
    columns = ", ".join(f"{quote_identifier(c.name)} {c.type}" for c in evolution.new)
    return [f"alter table {evolution.table.name} add columns ({columns}), which commits by itself"]


def _text(statement: Explained, scope: Scope, block: TransactionBlock | None) -> str:
    if isinstance(statement, Planned):
        return _plan_text(
            make_plan(statement, scope.names, scope.arguments, scope.rules), scope, block
        )
    if isinstance(statement, Analyze):
        return plan_text(plan_analyze(statement, scope.names, scope.arguments))
    if isinstance(statement, Compact):
        return plan_text(plan_compact(statement, scope.names, scope.arguments).plan)
    if isinstance(statement, Check):
        return plan_text(plan_check(statement, scope.names, scope.arguments))
    if isinstance(statement, InsertDirectory):
        rows = plan_query(Query(statement.source), scope.names, scope.arguments)
        return tree(
            f"insert overwrite directory {without_login(statement.path)}",
            [plan_text(rows), f"files: {statement.stored_as.lower()}"],
        )
    branches = [f"lock: {_line(lock)}" for lock in _unplanned_locks(statement, scope)]
    if isinstance(statement, CreateTableAs):
        branches.append(plan_text(plan_query(statement.query, scope.names, scope.arguments)))
    return tree(_head(statement, scope), branches)


def _plan_text(plan: WritePlan | QueryPlan, scope: Scope, block: TransactionBlock | None) -> str:
    if isinstance(plan, QueryPlan) and plan.summaries:
        [name] = tables_read(plan)
        context = present_snapshot(scope.store.table(name), scope, block)
        if known_answer(plan, context, block, scope) is not None:
            return explain_answer(plan)
    return plan_text(plan)


def _head(statement: Explained, scope: Scope) -> str:
    """The statement in words: its kind, and the table or database that it is about."""
    words = re.sub(r"\B(?=[A-Z])", " ", type(statement).__name__).lower()
    about = statement.table if isinstance(statement, CreateTableAs) else statement
    if isinstance(statement, CreateView) and statement.is_temporary:
        return f"create temporary view {statement.target.table.lower()}"
    if isinstance(about, CreateTable | CreateTableLike):
        words = words.replace("create", "create temporary") if about.is_temporary else words
        return f"{words} {new_name(about.target, scope.names)}"
    match getattr(about, "target", None) or getattr(about, "name", None):
        case TableRef() as target:
            return f"{words} {table_name(target, scope.names)}"
        case Identifier() as name:
            return f"{words} {name.name.lower()}"
        case _:
            return words


def _locks(statement: Explained, scope: Scope, policy: TxnPolicy) -> list[str]:
    if not isinstance(statement, Planned):
        return [_line(lock) for lock in _unplanned_locks(statement, scope)]
    seen = SeenNames(scope.names)
    plan = make_plan(statement, seen, scope.arguments, scope.rules)
    return [_line(lock) for lock in lock_components(_accesses(plan, seen, scope), policy)]


def _unplanned_locks(statement: Explained, scope: Scope) -> Sequence[LockComponent]:
    if isinstance(statement, Compact):
        plan_compact(statement, scope.names, scope.arguments)
        return []  # the worker that carries the compaction out asks for the locks
    if isinstance(statement, Definition | EngineDefinition):
        return definition_locks(statement, scope)
    if isinstance(statement, InsertDirectory):
        rows = plan_query(Query(statement.source), scope.names, scope.arguments)
        return lock_components(query_accesses(rows))
    if isinstance(statement, Analyze):
        return analyze_locks(plan_analyze(statement, scope.names, scope.arguments).table)
    if isinstance(statement, Vacuum):
        return vacuum_locks(statement, scope)
    if isinstance(statement, ExportTable):
        table = find_target(statement.target, scope.names)
        return lock_components([Access.of(table.name, Operation.SELECT)])
    if isinstance(statement, ImportTable):
        return import_locks(statement, scope)
    if isinstance(statement, Check):
        plan = plan_check(statement, scope.names, scope.arguments)
        return lock_components([Access.of(plan.table, Operation.SELECT)])
    return []


def _accesses(plan: WritePlan | QueryPlan, seen: SeenNames, scope: Scope) -> Sequence[Access]:
    if isinstance(plan, QueryPlan):
        return query_accesses(plan)
    written = seen.require(targets(plan))
    return write_accesses(plan, written, changed_partition(scope.store, plan, written))


def _line(component: LockComponent) -> str:
    parts = (component.database, component.table, component.partition)
    return f"{'.'.join(p for p in parts if p is not None)} -> {component.type.name}"
