"""MERGE INTO t USING s ON … WHEN …."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import expression, query, starts_query, table_fragment, value
from acidsql.grammar.insert import column_of, refuse_duplicates
from acidsql.grammar.lexer import Token
from acidsql.grammar.update import parse_assignments
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.merge import Merge, MergeClause, MergeDelete, MergeInsert, MergeUpdate


def parse_merge(cursor: Cursor) -> Merge:
    """Parse a MERGE from the cursor."""
    start = cursor.offset
    cursor.expect("MERGE")
    if cursor.sees("WITH"):
        cursor.source.refuse(
            "MERGE WITH SCHEMA EVOLUTION is not supported",
            cursor.offset,
            hint="The target keeps its columns.",
        )
    cursor.expect("INTO")
    target = cursor.table(alias=True)
    cursor.expect("USING")
    source_at = cursor.offset
    source, alias = _source(cursor)
    if alias.lower() == target.visible_name.lower():
        cursor.source.refuse(
            f'target and source of MERGE are both called "{alias}"',
            source_at,
            hint="Give each its own alias.",
        )
    cursor.expect("ON")
    tables = (target, *(source.tables if isinstance(source.tree, exp.Table) else ()))
    on = expression(cursor.until("WHEN"), tables)
    clauses: list[MergeClause] = []
    while cursor.sees("WHEN"):
        token = cursor.peek()
        clause = _clause(cursor, tables, alias)
        _refuse_combination(cursor, token, clauses, clause)
        clauses.append(clause)
    if not clauses and cursor.done:
        cursor.source.refuse(
            "MERGE needs at least one WHEN clause",
            start,
            hint="Add WHEN MATCHED THEN … or WHEN NOT MATCHED THEN INSERT ….",
        )
    return Merge(target, source, alias, on, tuple(clauses))


def _source(cursor: Cursor) -> tuple[Fragment, str]:
    if cursor.sees("("):
        start, offset = cursor.at, cursor.offset
        inside = cursor.parenthesised()
        if not starts_query(inside):
            cursor.source.refuse(
                "the source of MERGE is a table or a query in parentheses",
                offset,
                hint="Write USING (SELECT * FROM …) AS s.",
            )
        fragment = query(Cursor(cursor.source, start, cursor.at))
        if not cursor.accept("AS") and not cursor.sees_name():
            cursor.source.refuse(
                "a query as the source of MERGE needs an alias",
                cursor.offset,
                hint="Write USING (…) AS s.",
            )
        alias = cursor.name("an alias").name
    else:
        if cursor.sees_any("VALUES", "TABLE", "LATERAL"):
            _refuse_source(cursor)
        ref = cursor.table(alias=True)
        fragment, alias = table_fragment(cursor.source, ref), ref.visible_name
    if not cursor.sees("ON"):
        _refuse_source(cursor)
    return fragment, alias


def _refuse_source(cursor: Cursor) -> NoReturn:
    if cursor.done or cursor.sees_any("WHEN"):
        cursor.unexpected("expected ON")
    cursor.source.refuse(
        "the source of MERGE is a table or a query in parentheses, with a plain alias",
        cursor.offset,
        hint="Write USING (SELECT …) AS s.",
    )


def _clause(cursor: Cursor, tables: Sequence[TableRef], alias: str) -> MergeClause:
    when = cursor.offset
    line, column = cursor.source.place(when)
    cursor.expect("WHEN")
    matched = not cursor.accept("NOT")
    cursor.expect("MATCHED")
    if cursor.sees("BY", "SOURCE"):
        cursor.source.refuse(
            "WHEN NOT MATCHED BY SOURCE is not supported",
            when,
            hint="Write a DELETE or UPDATE with NOT EXISTS (SELECT … FROM source …).",
        )
    if not matched and cursor.accept("BY"):
        cursor.expect("TARGET")
    condition = expression(cursor.until("THEN"), tables) if cursor.accept("AND") else None
    cursor.expect("THEN")
    if not matched:
        return _insert(cursor, tables, condition, alias, (line, column))
    if cursor.accept("DELETE"):
        return MergeDelete(condition, line, column)
    cursor.expect("UPDATE", "SET")
    if cursor.accept("*"):
        return MergeUpdate(condition, None, line, column)
    assignments = parse_assignments(cursor.until("WHEN"), tables, "MERGE", alias)
    return MergeUpdate(condition, assignments, line, column)


def _insert(
    cursor: Cursor,
    tables: Sequence[TableRef],
    condition: Fragment | None,
    alias: str,
    place: tuple[int, int],
) -> MergeInsert:
    cursor.expect("INSERT")
    if cursor.accept("*"):
        return MergeInsert(condition, None, None, *place)
    columns: tuple[Identifier, ...] | None = None
    if cursor.sees("("):
        names = cursor.parenthesised().listed(lambda inside: column_of(inside, tables[0], alias))
        refuse_duplicates(names, "the column list")
        columns = tuple(names)
    cursor.expect("VALUES")
    start = cursor.offset
    values = tuple(value(item, tables) for item in cursor.parenthesised().items())
    if columns is not None and len(columns) != len(values):
        cursor.source.analysis_error(
            f"INSERT names {len(columns)} columns but has {len(values)} values", start
        )
    return MergeInsert(condition, columns, values, *place)


def _refuse_combination(
    cursor: Cursor, token: Token, before: list[MergeClause], clause: MergeClause
) -> None:
    """Refuse a clause that could never act, or that Hive refuses after the clauses before it."""
    kinds = {MergeUpdate: ("UPDATE", 10406), MergeDelete: ("DELETE", 10405)}
    if any(type(other) is type(clause) for other in before):
        name, code = kinds.get(type(clause), ("INSERT", None))
        negation = "NOT " if isinstance(clause, MergeInsert) else ""
        cursor.source.refuse(
            f"MERGE has at most one WHEN {negation}MATCHED … {name} clause",
            token.start,
            hint="Join the clauses: combine their conditions with OR, their values with CASE.",
            code=code,
        )
    if isinstance(clause, MergeInsert):
        return
    if any(not isinstance(other, MergeInsert) and other.condition is None for other in before):
        cursor.source.refuse(
            'MERGE with both UPDATE and DELETE needs "AND <condition>" on the first '
            "WHEN MATCHED clause",
            token.start,
            hint="The first clause takes every matched row; this one would never act.",
            code=10404,
        )
