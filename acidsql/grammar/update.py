"""UPDATE t SET … WHERE …."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import dotted, qualifier_length
from acidsql.grammar.relation import Relations, parse_relations, sees_relations
from acidsql.grammar.row_expression import row_expression, row_value
from acidsql.grammar.source import Source, parse_source, refuse_nondeterministic
from acidsql.grammar.walk import has_correlated_subquery
from acidsql.statements.fragment import Fragment, Identifier, TableRef, Value
from acidsql.statements.merge import Merge, MergeDelete, MergeUpdate
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
    """Parse an UPDATE from the cursor. With one source in FROM it mostly is a MERGE."""
    line, column = cursor.source.place(cursor.offset)
    cursor.expect("UPDATE")
    cursor.skip_hint()
    target = cursor.table(alias=True)
    refuse_clauses(cursor, "UPDATE")
    cursor.expect("SET")
    given = cursor.until("FROM", "WHERE")
    if not cursor.accept("FROM"):
        assignments = parse_assignments(given, (target,), "UPDATE")
        return Update(target, assignments, parse_where(cursor, target, "UPDATE"))
    source, on = parse_join(cursor, target, "UPDATE")
    assignments = parse_assignments(given, (target, *source.tables), "UPDATE", source.aliases)
    if isinstance(source, Relations):
        return Update(target, assignments, on, source.items)
    return merge_with(source, target, on, MergeUpdate(None, assignments, line, column), "UPDATE")


def parse_join(
    cursor: Cursor, target: TableRef, statement: str
) -> tuple[Source | Relations, Fragment]:
    """Parse ``s WHERE e`` up to the end of the cursor: the source, and which rows are joined."""
    source: Source | Relations
    begin = cursor.at
    if sees_relations(cursor):
        source = parse_relations(cursor, target, statement)
    else:
        source = parse_source(cursor, target, statement, "WHERE")
    cursor.expect("WHERE")
    rest = Cursor(cursor.source, cursor.at, cursor.end)
    start = cursor.offset
    on = clause_expression(rest, (target, *source.tables), statement)
    refuse_nondeterministic(cursor.source, on, start, f"the WHERE that joins the {statement}")
    if isinstance(source, Source) and has_correlated_subquery(on.tree):
        # Spark takes such a subquery in a WHERE, and not in the condition of a MERGE's join.
        cursor.at = begin
        source = parse_relations(cursor, target, statement)
    cursor.at = cursor.end
    return source, on


def merge_with(
    source: Source,
    target: TableRef,
    on: Fragment,
    clause: MergeUpdate | MergeDelete,
    statement: str,
) -> Merge:
    """An UPDATE or DELETE that joins one source, as a MERGE."""
    return Merge(
        target,
        source.fragment,
        source.alias,
        on,
        (clause,),
        source.names,
        written_as=statement,
    )


def parse_assignments(
    cursor: Cursor, tables: Sequence[TableRef], statement: str, sources: Collection[str] = ()
) -> tuple[Assignment, ...]:
    """Parse ``a = e, t.b = e, c.f = e, …`` up to the end of the cursor. Nothing may be set twice.

    ``tables`` are the tables that an expression may name, the target first. ``sources`` are the
    aliases of what is joined with it, in lower case.
    """
    found: list[Assignment] = []
    while not found or cursor.accept(","):
        start = cursor.offset
        parts = dotted(cursor)
        length = qualifier_length(parts, tables[0], sources)
        if not length:
            _refuse_source(cursor, start, parts, sources)
        column, *fields = parts[length:]
        for other in found:
            _refuse_twice(cursor, start, parts[length:], (other.column, *other.fields))
        cursor.expect("=")
        value = _value(cursor.until(","), tables, statement)
        is_seen = parts[0].name.lower() == tables[0].visible_name.lower()
        hidden = parts[0] if length and not is_seen else None
        found.append(Assignment(column, value, tuple(fields), hidden))
    if not cursor.done:
        cursor.unexpected('expected ","')
    return tuple(found)


def _refuse_source(
    cursor: Cursor, start: int, parts: Sequence[Identifier], sources: Collection[str]
) -> None:
    """Raise UnsupportedStatementError for a column of one of the sources."""
    if len(parts) > 1 and parts[0].name.lower() in sources:
        cursor.source.refuse(
            f'"{".".join(part.name for part in parts)}" is not a column of the target',
            start,
            hint=f'"{parts[0].name}" is a source here. Name the target in front of its column.',
        )


def _refuse_twice(
    cursor: Cursor, start: int, path: Sequence[Identifier], earlier: Sequence[Identifier]
) -> None:
    """Raise UnsupportedStatementError if one of two paths to be set leads through the other."""
    pairs = list(zip(path, earlier, strict=False))
    if any(new.name.lower() != old.name.lower() for new, old in pairs):
        return
    what = "column" if len(pairs) == 1 else "field"
    name = ".".join(new.name for new, _ in pairs)
    cursor.source.refuse(f'{what} "{name}" is set twice', start, hint=f"Set each {what} once.")


def _value(cursor: Cursor, tables: Sequence[TableRef], statement: str) -> Value:
    with _clauses_refused(cursor, statement):
        return row_value(Cursor(cursor.source, cursor.at, cursor.end), tables)


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
    with _clauses_refused(cursor, statement):
        return row_expression(Cursor(cursor.source, cursor.at, cursor.end), tables)


@contextmanager
def _clauses_refused(cursor: Cursor, statement: str) -> Iterator[None]:
    """A block that parses the rest of the cursor, and fails if a clause like LIMIT is in it."""
    try:
        yield
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
