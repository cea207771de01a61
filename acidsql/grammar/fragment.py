"""A piece of a statement's text → Fragment: its tree, its tables, and the places to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.cursor import Cursor, unquote
from acidsql.grammar.dialect import PlacedParseError, parse_expression_tree, parse_query_tree
from acidsql.grammar.lexer import Kind, Source
from acidsql.grammar.walk import TreeWalk
from acidsql.statements.fragment import Fragment, TableRef

ROW_ID = "row__id"
_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")


def starts_query(cursor: Cursor) -> bool:
    """Whether the next words start a query, perhaps in parentheses."""
    ahead = 0
    while cursor.peek(ahead).text == "(":
        ahead += 1
    after = cursor.peek(ahead + 1).text
    return cursor.peek(ahead).word in _QUERY_WORDS and after not in (",", ")", ".", "")


def query(cursor: Cursor) -> Fragment:
    """The rest of the cursor as a query."""
    if cursor.done:
        cursor.unexpected("expected a query")
    if not starts_query(cursor):
        if cursor.sees_any(*_QUERY_WORDS):
            cursor.step()
            cursor.unexpected("expected the rest of a query")
        cursor.unexpected("expected SELECT, WITH, VALUES, FROM or TABLE")
    for ahead in range(cursor.end - cursor.at):
        token = cursor.peek(ahead)
        if token.word in ("INSERT", "OVERWRITE") and cursor.peek(ahead + 1).word in (
            "INTO",
            "OVERWRITE",
            "TABLE",
            "DIRECTORY",
        ):
            cursor.source.refuse(
                "an INSERT inside a query (multi-insert) is not supported",
                token.start,
                hint="Write one INSERT INTO … SELECT per target.",
            )
    fragment = _fragment(cursor, is_query=True)
    if not isinstance(fragment.tree, (exp.Query, exp.Values)):
        cursor.source.syntax_error("expected a query", cursor.offset)
    return fragment


def expression(cursor: Cursor, outer: Sequence[TableRef] = ()) -> Fragment:
    """The rest of the cursor as one expression. ``outer`` are the tables it may name."""
    if cursor.done:
        cursor.unexpected("expected an expression")
    if cursor.end - cursor.at == 1 and cursor.sees("DEFAULT"):
        refuse_default(cursor)
    fragment = _fragment(cursor, is_query=False, outer=outer)
    tree = fragment.tree
    if isinstance(tree, (exp.Star, exp.Tuple)) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    ):
        cursor.source.syntax_error("expected one value", cursor.offset)
    return fragment


def refuse_default(cursor: Cursor) -> NoReturn:
    """Raise UnsupportedStatementError for the word DEFAULT as a value."""
    cursor.source.refuse(
        "DEFAULT as a value is not supported yet",
        cursor.offset,
        hint="Write the value itself, or NULL.",
    )


def stitched_query(cursor: Cursor, hole: tuple[int, int]) -> Fragment:
    """The query of the cursor without the ``hole``: its offsets ``start:end`` become spaces."""
    return _fragment(cursor, is_query=True, hole=hole)


def table_fragment(source: Source, ref: TableRef) -> Fragment:
    """A table name as a fragment: its one TableRef covers the whole text."""
    text = source.text[ref.start : ref.end]
    database = exp.to_identifier(ref.database) if ref.database else None
    return Fragment(
        text=text,
        tree=exp.Table(this=exp.to_identifier(ref.table), db=database),
        line=ref.line,
        column=ref.column,
        tables=(replace(ref, start=0, end=len(text)),),
    )


def _fragment(
    cursor: Cursor,
    *,
    is_query: bool,
    hole: tuple[int, int] | None = None,
    outer: Sequence[TableRef] = (),
) -> Fragment:
    source = cursor.source
    tokens = source.tokens[cursor.at : cursor.end]
    start, end = tokens[0].start, tokens[-1].end
    text, code = source.text[start:end], source.code[start:end]
    if hole is not None:
        low, high = hole[0] - start, hole[1] - start
        blank = "".join(c if c == "\n" else " " for c in text[low:high])
        text, code = text[:low] + blank + text[high:], code[:low] + blank + code[high:]
        tokens = [t for t in tokens if not hole[0] <= t.start < hole[1]]
    _check_symbols(source, Cursor(source, cursor.at, cursor.end))
    try:
        tree = parse_query_tree(code) if is_query else parse_expression_tree(code)
    except PlacedParseError as error:
        at = start + error.offset
        word = next((t.text for t in tokens if t.start <= at < t.end), "")
        near = f' near "{word[:20]}"' if word else ""
        source.syntax_error(f"syntax error{near}", at)
    except RecursionError:
        source.syntax_error("the expression is nested too deeply", start)
    walk = TreeWalk(source, start, code, outer)
    walk.run(tree)
    mentions = any(
        t.kind in (Kind.WORD, Kind.QUOTED) and unquote(t).lower() == ROW_ID for t in tokens
    )
    if mentions:
        walk.refuse_row_id_leaks()
    walk.check_parameters([(t.kind, t.text, t.start - start) for t in tokens])
    line, column = source.place(start)
    return Fragment(
        text=text,
        tree=tree,
        line=line,
        column=column,
        tables=tuple(walk.sorted_tables()),
        parameters=tuple(sorted(walk.parameters, key=lambda p: p.start)),
        stars=tuple(walk.sorted_stars()),
        mentions_row_id=mentions,
        shows_columns=bool(walk.row_id_leaks),
        qualifiers=tuple(walk.qualifiers),
    )


def _check_symbols(source: Source, cursor: Cursor) -> None:
    for ahead in range(cursor.end - cursor.at):
        token = cursor.peek(ahead)
        if token.kind is not Kind.SYMBOL:
            continue
        pair = token.text + cursor.peek(ahead + 1).text
        if pair == "|>" and cursor.peek(ahead + 1).start == token.end:
            source.refuse(
                "pipe syntax is not supported",
                token.start,
                hint="Write the steps as subqueries or common table expressions.",
            )
        if token.text in "{}$@#;":
            source.syntax_error(f'unexpected "{token.text}"', token.start)
