"""UPDATE t SET … WHERE …."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import expression
from acidsql.grammar.insert import column_of
from acidsql.grammar.source import Source, parse_source, refuse_nondeterministic
from acidsql.statements.fragment import Fragment, TableRef
from acidsql.statements.merge import Merge, MergeUpdate
from acidsql.statements.update import Assignment, Update

_CLAUSES = {
    "FROM": "FROM follows the SET list of an UPDATE; a DELETE joins by USING.",
    "JOIN": "Write UPDATE … SET … FROM …, DELETE FROM … USING …, or MERGE INTO … USING ….",
    "USING": "An UPDATE joins by FROM, behind its SET list.",
    "LIMIT": "Name the rows in WHERE.",
    "ORDER": "All rows are changed at once, in no order.",
    "RETURNING": "Query the table afterwards.",
}


def parse_update(cursor: Cursor) -> Update | Merge:
    """Parse an UPDATE from the cursor. UPDATE … FROM is a MERGE with one clause."""
    line, column = cursor.source.place(cursor.offset)
    cursor.expect("UPDATE")
    target = cursor.table(alias=True)
    refuse_clauses(cursor, "UPDATE")
    cursor.expect("SET")
    given = cursor.until("FROM", "WHERE")
    if not cursor.accept("FROM"):
        assignments = parse_assignments(given, (target,), "UPDATE")
        return Update(target, assignments, parse_where(cursor, target, "UPDATE"))
    source, on = parse_join(cursor, target, "UPDATE")
    assignments = parse_assignments(given, (target, *source.tables), "UPDATE", source.alias)
    clause = MergeUpdate(None, assignments, line, column)
    return Merge(target, source.fragment, source.alias, on, (clause,), source.names)


def parse_join(cursor: Cursor, target: TableRef, statement: str) -> tuple[Source, Fragment]:
    """Parse ``s WHERE e`` up to the end of the cursor: the source, and which rows are joined."""
    source = parse_source(cursor, target, statement, "WHERE")
    cursor.expect("WHERE")
    rest = Cursor(cursor.source, cursor.at, cursor.end)
    start = cursor.offset
    on = clause_expression(rest, (target, *source.tables), statement)
    refuse_nondeterministic(cursor.source, on, start, f"the WHERE that joins the {statement}")
    cursor.at = cursor.end
    return source, on


def parse_assignments(
    cursor: Cursor, tables: Sequence[TableRef], statement: str, hidden_by: str | None = None
) -> tuple[Assignment, ...]:
    """Parse ``a = e, t.b = e, …`` up to the end of the cursor. No column may be set twice.

    ``tables`` are the tables that an expression may name, the target first.
    """
    found: list[Assignment] = []
    while not found or cursor.accept(","):
        start = cursor.offset
        column = column_of(cursor, tables[0], hidden_by)
        cursor.expect("=")
        if any(column.name.lower() == other.column.name.lower() for other in found):
            cursor.source.refuse(
                f'column "{column.name}" is set twice', start, hint="Set each column once."
            )
        found.append(Assignment(column, clause_expression(cursor.until(","), tables, statement)))
    if not cursor.done:
        cursor.unexpected('expected ","')
    return tuple(found)


def parse_where(cursor: Cursor, target: TableRef, statement: str) -> Fragment | None:
    """Parse ``WHERE e`` up to the end of the cursor, if it is there."""
    refuse_clauses(cursor, statement)
    if not cursor.accept("WHERE"):
        return None
    where = clause_expression(Cursor(cursor.source, cursor.at, cursor.end), (target,), statement)
    cursor.at = cursor.end
    return where


def clause_expression(cursor: Cursor, tables: Sequence[TableRef], statement: str) -> Fragment:
    """Parse the rest of the cursor as an expression.

    If it does not parse because of a clause like LIMIT, that clause is refused by name.
    """
    try:
        return expression(Cursor(cursor.source, cursor.at, cursor.end), tables)
    except SqlSyntaxError:
        rest = Cursor(cursor.source, cursor.at, cursor.end)
        rest.until(*_CLAUSES)
        if rest.at > cursor.at:
            refuse_clauses(rest, statement)
        raise


def refuse_clauses(cursor: Cursor, statement: str) -> None:
    """Raise UnsupportedStatementError if a clause is next that only other SQL systems have."""
    word = cursor.peek().word
    if word in _CLAUSES:
        name = "ORDER BY" if word == "ORDER" else word
        cursor.source.refuse(
            f"{statement} … {name} is not supported", cursor.offset, hint=_CLAUSES[word]
        )
