"""MERGE INTO t USING s ON … WHEN …."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import column_of, refuse_duplicates
from acidsql.grammar.lexer import Token
from acidsql.grammar.row_expression import row_expression, row_value
from acidsql.grammar.source import parse_source, refuse_nondeterministic
from acidsql.grammar.update import parse_assignments
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.merge import Merge, MergeClause, MergeDelete, MergeInsert, MergeUpdate


def parse_merge(cursor: Cursor) -> Merge:
    """Parse a MERGE from the cursor."""
    start = cursor.offset
    cursor.expect("MERGE")
    cursor.skip_hint()
    evolves = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    target = cursor.table(alias=True)
    cursor.expect("USING")
    source = parse_source(cursor, target, "MERGE", "ON")
    cursor.expect("ON")
    tables = (target, *source.tables)
    start_of_on = cursor.offset
    on = row_expression(cursor.until("WHEN"), tables)
    refuse_nondeterministic(cursor.source, on, start_of_on, "the ON condition of a MERGE")
    clauses: list[MergeClause] = []
    while cursor.sees("WHEN"):
        token = cursor.peek()
        clause = _clause(cursor, tables, source.alias)
        _refuse_unreached(cursor, token, clauses, clause)
        clauses.append(clause)
    if not clauses and cursor.done:
        cursor.source.refuse(
            "MERGE needs at least one WHEN clause",
            start,
            hint="Add WHEN MATCHED THEN … or WHEN NOT MATCHED THEN INSERT ….",
        )
    return Merge(
        target, source.fragment, source.alias, on, tuple(clauses), source.names, evolves=evolves
    )


def _clause(cursor: Cursor, tables: Sequence[TableRef], alias: str) -> MergeClause:
    when = cursor.offset
    line, column = cursor.source.place(when)
    cursor.expect("WHEN")
    matched = not cursor.accept("NOT")
    cursor.expect("MATCHED")
    by_source = not matched and cursor.accept("BY", "SOURCE")
    if not matched and not by_source and cursor.accept("BY"):
        cursor.expect("TARGET")
    condition = row_expression(cursor.until("THEN"), tables) if cursor.accept("AND") else None
    cursor.expect("THEN")
    if not matched and not by_source:
        return _insert(cursor, tables, condition, alias, (line, column))
    if cursor.accept("DELETE"):
        return MergeDelete(condition, line, column, by_source)
    if not cursor.accept("UPDATE"):
        cursor.unexpected("expected UPDATE or DELETE")
    cursor.expect("SET")
    star = cursor.offset
    if cursor.accept("*"):
        if by_source:
            cursor.source.refuse(
                "WHEN NOT MATCHED BY SOURCE cannot UPDATE SET *",
                star,
                hint="Such a row has no source row to take values from: name the columns to set.",
            )
        return MergeUpdate(condition, None, line, column)
    assignments = parse_assignments(cursor.until("WHEN"), tables, "MERGE", {alias.lower()})
    return MergeUpdate(condition, assignments, line, column, by_source)


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
        names = cursor.parenthesised().listed(
            lambda inside: column_of(inside, tables[0], {alias.lower()})
        )
        refuse_duplicates(names, "the column list")
        columns = tuple(names)
    cursor.expect("VALUES")
    start = cursor.offset
    values = tuple(row_value(item, tables) for item in cursor.parenthesised().items())
    if columns is not None and len(columns) != len(values):
        cursor.source.analysis_error(
            f"INSERT names {len(columns)} columns but has {len(values)} values", start
        )
    return MergeInsert(condition, columns, values, *place)


def _refuse_unreached(
    cursor: Cursor, token: Token, before: list[MergeClause], clause: MergeClause
) -> None:
    """Refuse a clause that could never act, because one before it takes all of its rows."""
    rows = _rows_of(clause)
    if any(other.condition is None and _rows_of(other) == rows for other in before):
        cursor.source.refuse(
            f'this {rows} clause never acts: a clause before it has no "AND <condition>"',
            token.start,
            hint="Of several clauses for the same rows, only the last one may have no condition.",
            code=10404,
        )


def _rows_of(clause: MergeClause) -> str:
    """The clause's WHEN, which says for which rows it is asked."""
    if isinstance(clause, MergeInsert):
        return "WHEN NOT MATCHED"
    return "WHEN NOT MATCHED BY SOURCE" if clause.by_source else "WHEN MATCHED"
