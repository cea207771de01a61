"""Multi-insert → plan: which rows of the FROM are computed once, and where each leg writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from sqlglot import exp

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.grammar.walk import direct_sources
from acidsql.model.names import quote_identifier
from acidsql.model.table import Table
from acidsql.planner.insert import plan_insert
from acidsql.planner.names import (
    Names,
    find_named_view,
    find_relation,
    find_target,
    unknown_table,
)
from acidsql.planner.predicates import Arguments, is_node_of
from acidsql.planner.shared_source import is_row_by_row
from acidsql.planner.text import Lowering
from acidsql.plans.insert import InsertPlan
from acidsql.plans.multi_insert import MultiInsertPlan, overlap
from acidsql.plans.plan import fixed_partition
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import FrameSource, InputSource, SqlText
from acidsql.statements.fragment import Fragment, TableRef
from acidsql.statements.insert import Insert
from acidsql.statements.multi_insert import MultiInsert
from acidsql.statements.nondeterministic import first_nondeterministic

_WHOLE = "Put the whole FROM into one subquery: FROM (SELECT … FROM …) s."


def plan_multi_insert(
    statement: MultiInsert, names: Names, arguments: Arguments
) -> MultiInsertPlan:
    """The plan of a multi-insert. All legs see the same rows of the FROM.

    Raises AnalysisError and UnsupportedStatementError.
    """
    _require_repeatable(statement.source)
    rows: dict[int, tuple[SqlText, bool]] = {}
    for relation in statement.relations:
        text = Lowering(names, arguments).text(relation.rows)
        rows[relation.start] = text, not is_row_by_row(relation.rows, text)
    for ref in _direct_tables(statement.source):
        if ref.start not in rows and _is_no_table(ref, names):
            rows[ref.start] = _all_rows(ref, names, arguments), True
    sources, stand_ins = [], {}
    for number, (start, (text, once)) in enumerate(sorted(rows.items()), 1):
        sources.append(SharedSource(name=f"source {number}", rows=text, once=once))
        stand_ins[start] = InputSource(name=f"source {number}")
    legs = [plan_insert(leg, names, arguments, stand_ins) for leg in statement.legs]
    _refuse_same_place(statement.legs, legs, names)
    return MultiInsertPlan(sources=tuple(sources), legs=tuple(legs))


def _direct_tables(query: Fragment) -> Iterator[TableRef]:
    """The tables that the FROM clause names."""
    nodes = [source for source, _ in direct_sources(query.tree)]
    return (ref for ref in query.tables if any(is_node_of(node, ref) for node in nodes))


def _is_no_table(ref: TableRef, names: Names) -> bool:
    """Whether the name means a frame or a view, whose rows may be others each time."""
    is_frame = ref.database is None and names.is_frame(ref.table)
    return is_frame or not isinstance(find_relation(ref, names), Table)


def _all_rows(ref: TableRef, names: Names, arguments: Arguments) -> SqlText:
    if ref.database is None and names.is_frame(ref.table):
        return SqlText.of("SELECT * FROM ", FrameSource(name=ref.table.lower()))
    view = find_named_view(ref, names)
    if view is not None:
        source = Lowering(names, arguments).view_source(ref, view, ())
        return SqlText.of("SELECT * FROM ", source)
    if ref.database is not None or not names.is_temporary_view(ref.table):
        raise unknown_table(ref, names)
    return SqlText.of("SELECT * FROM ", quote_identifier(ref.table))


def _require_repeatable(query: Fragment) -> None:
    """Refuse what could give each leg other rows: it stands in the FROM, but in no relation."""
    select = query.tree
    parts: list[exp.Expr] = [
        select.args["from_"],  # with the joins: it stands before SELECT
        *(select.args.get("laterals") or ()),
    ]
    for node in (node for part in parts for node in part.walk()):
        if isinstance(node, exp.Query):
            raise _refused(query, "a subquery in a condition or in parentheses with others")
        by_chance = isinstance(node, exp.TableSample) and not node.args.get("bucket_numerator")
        if by_chance or isinstance(node, exp.Pivot):
            raise _refused(query, node.key.upper())
    found = first_nondeterministic(query, parts)
    if found is not None:
        before = query.text[: found[1]].split("\n")
        raise AnalysisError(
            f'the FROM of several INSERTs cannot use "{found[0]}"',
            detail="The condition may be evaluated several times and must give one answer.",
            hint=_WHOLE,
            line=query.line + len(before) - 1,
            column=len(before[-1]) + (query.column if len(before) == 1 else 1),
        )


def _refused(query: Fragment, what: str) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"{what} is not supported in the FROM of several INSERTs",
        hint=_WHOLE,
        line=query.line,
        column=query.column,
    )


def _refuse_same_place(
    statements: Sequence[Insert], legs: Sequence[InsertPlan], names: Names
) -> None:
    """Refuse legs that surely fill the same place if one of them overwrites it.

    Where partitions are dynamic, that is known once the rows are.
    """
    for (_, first), (statement, second) in combinations(zip(statements, legs, strict=True), 2):
        if first.table != second.table or not (first.overwrite or second.overwrite):
            continue
        table = find_target(statement.target, names)
        places = fixed_partition(first, table), fixed_partition(second, table)
        if places[0] != places[1] or (table.partition_columns and places[0] is None):
            continue
        place = f"{table.name}/{places[0]}" if places[0] is not None else str(table.name)
        error = overlap(place)
        error.line, error.column = statement.target.line, statement.target.column
        raise error
