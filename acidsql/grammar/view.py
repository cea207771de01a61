"""CREATE VIEW, ALTER VIEW and DROP VIEW."""

from __future__ import annotations

import re
from typing import NoReturn

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import refuse_duplicates
from acidsql.grammar.lexer import Source
from acidsql.grammar.properties import properties, properties_change
from acidsql.grammar.query import parse_query
from acidsql.model.names import quote_identifier
from acidsql.model.view import View
from acidsql.statements.query import Query
from acidsql.statements.view import (
    AlterView,
    AlterViewAs,
    CreateView,
    DropView,
    RenameView,
    SetViewProperties,
    UnsetViewProperties,
    ViewColumn,
)

_REFUSED = (
    (("PARTITIONED", "ON"), "Leave it out."),
    (("DEFAULT", "COLLATION"), "Leave it out."),
    (("WITH", "SCHEMA"), "Leave it out. CREATE OR REPLACE VIEW gives a view other columns."),
)
"""The first words of clauses that a view cannot have, and hints."""
_UNNAMED = re.compile(r"_c\d+")


_CREATE = (("CREATE",), ("CREATE", "OR", "REPLACE"))
_VIEW = (("VIEW",), ("TEMPORARY", "VIEW"), ("TEMP", "VIEW"))


def creates_view(cursor: Cursor) -> bool:
    """Whether the next words are CREATE [OR REPLACE] [TEMPORARY | TEMP] VIEW."""
    return any(cursor.sees(*create, *view) for create in _CREATE for view in _VIEW)


def parse_create_view(cursor: Cursor) -> CreateView:
    """Parse a CREATE VIEW from the cursor."""
    cursor.expect("CREATE")
    replaces = cursor.accept("OR", "REPLACE")
    is_temporary = cursor.accept("TEMPORARY") or cursor.accept("TEMP")
    cursor.expect("VIEW")
    start = cursor.offset
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if if_not_exists and replaces:
        cursor.source.syntax_error("Can't combine IF NOT EXISTS and OR REPLACE.", start)
    target_start = cursor.offset
    target = cursor.table()
    if is_temporary and target.database is not None:
        cursor.source.refuse(
            "a temporary view belongs to no database",
            target_start,
            hint=f"Write {quote_identifier(target.table)} alone.",
        )
    columns = _columns(cursor)
    comment: str | None = None
    given: tuple[tuple[str, str], ...] | None = None
    while not cursor.done and not cursor.sees("AS"):
        start, word = cursor.offset, cursor.peek().word
        if comment is None and cursor.accept("COMMENT"):
            comment = cursor.string("a comment in quotes")
        elif given is None and cursor.accept("TBLPROPERTIES"):
            given = properties(cursor.parenthesised())
        elif word in ("COMMENT", "TBLPROPERTIES"):
            cursor.source.syntax_error(f"{word} is given twice", start)
        else:
            _refuse_clause(cursor, is_temporary=is_temporary)
    query = parse_view_query(cursor)
    return CreateView(
        target, query, columns, replaces, if_not_exists, comment, given or (), is_temporary
    )


def _refuse_clause(cursor: Cursor, *, is_temporary: bool) -> NoReturn:
    """Refuse a clause that a view cannot have."""
    start, word = cursor.offset, cursor.peek().word
    if word in ("USING", "OPTIONS") and is_temporary:
        cursor.source.refuse(
            f"a temporary view with {word} is not supported",
            start,
            hint="Read the files with Spark, and register the frame: session.register(…).",
        )
    for words, hint in _REFUSED:
        if cursor.sees(*words):
            what = " ".join(words)
            cursor.source.refuse(f"a view with {what} is not supported", start, hint=hint)
    cursor.unexpected("expected AS and a query")


def _columns(cursor: Cursor) -> tuple[ViewColumn, ...]:
    if not cursor.sees("("):
        return ()
    columns = tuple(cursor.parenthesised().listed(_column))
    refuse_duplicates([c.name for c in columns], "the column list")
    return columns


def _column(inside: Cursor) -> ViewColumn:
    name = inside.name("a column")
    comment = inside.string("a comment in quotes") if inside.accept("COMMENT") else None
    if not inside.done and not inside.sees(","):
        inside.unexpected('expected COMMENT, "," or ")"', hint="A view's columns have no types.")
    return ViewColumn(name, comment)


def parse_view_query(cursor: Cursor) -> Query:
    """Parse AS and the query of a view, which has no parameters."""
    cursor.expect("AS")
    start = cursor.offset
    query = parse_query(cursor)
    parameters = query.source.parameters
    if parameters:
        cursor.source.refuse(
            "the query of a view cannot have parameters",
            start + parameters[0].start,
            hint="Write the value itself.",
        )
    return query


def unwrapped(view: View) -> str | None:
    """The query inside of the one with which Hive renames the columns of a view; None without it.

    Hive keeps ``SELECT `id` AS `x`, `_c1` AS `y` FROM (query) `db.v``` where a view lists its
    columns. ``_c1`` is its name for the second column, an expression without a name, which Spark
    does not know. We read by position, so the query inside will do. Only a text with such names is
    unwrapped, and only if they are Hive's own: then the query that the user wrote has none of them.
    """
    cursor = Cursor(Source(view.expanded_text))
    if not cursor.accept("SELECT"):
        return None
    pairs: list[tuple[str, str]] = []
    while not pairs or cursor.accept(","):
        if not (cursor.sees_name() and cursor.peek(1).word == "AS"):
            return None
        inner = cursor.name().name
        cursor.expect("AS")
        if not cursor.sees_name():
            return None
        pairs.append((inner, cursor.name().name))
    if not cursor.accept("FROM") or not cursor.sees("("):
        return None
    inside = cursor.parenthesised()
    if not cursor.sees_name() or inside.done:
        return None
    alias = cursor.name().name.lower()
    is_hives = alias in (view.name.table, str(view.name)) and cursor.done
    unnamed = {n: inner for n, (inner, _) in enumerate(pairs) if _UNNAMED.fullmatch(inner)}
    named = [name.lower() for _, name in pairs] == [c.name for c in view.columns]
    if not is_hives or not named or not unnamed:
        return None
    if any(inner != f"_c{n}" or inner in view.original_text for n, inner in unnamed.items()):
        return None
    tokens = cursor.source.tokens
    return cursor.source.text[tokens[inside.at].start : tokens[inside.end - 1].end]


def parse_alter_view(cursor: Cursor) -> AlterView | AlterViewAs:
    """Parse an ALTER VIEW from the cursor."""
    cursor.expect("ALTER", "VIEW")
    target = cursor.table()
    if cursor.sees("AS"):
        return AlterViewAs(target, parse_view_query(cursor))
    if cursor.accept("RENAME", "TO"):
        return RenameView(target, cursor.table())
    if not cursor.sees("SET", "TBLPROPERTIES") and not cursor.sees("UNSET", "TBLPROPERTIES"):
        cursor.source.refuse(
            "Cannot use this form of ALTER on a view",
            cursor.offset,
            hint="AS query, RENAME TO, SET TBLPROPERTIES and UNSET TBLPROPERTIES are supported.",
            code=10133,
        )
    return properties_change(cursor, target, SetViewProperties, UnsetViewProperties)


def parse_drop_view(cursor: Cursor) -> DropView:
    """Parse a DROP VIEW from the cursor."""
    cursor.expect("DROP", "VIEW")
    if_exists = cursor.accept("IF", "EXISTS")
    return DropView(cursor.table(), if_exists)
