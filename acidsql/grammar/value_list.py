"""VALUES (…), …: read row by row, and plain constants without sqlglot, because lists are long."""

from __future__ import annotations

import re
from functools import cache

from sqlglot import exp

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.dialect import parse_expression_tree
from acidsql.grammar.escapes import string_value
from acidsql.grammar.fragment import starts_query
from acidsql.grammar.lexer import Kind, Source
from acidsql.grammar.row_expression import row_value
from acidsql.grammar.runs import rows_of
from acidsql.statements.fragment import Constant, Fragment, Value
from acidsql.statements.insert import ValueList

_PLAIN_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")

_LITERAL_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")

_Row = tuple[Value, ...]


def parse_value_list(cursor: Cursor) -> ValueList | None:
    """Parse a bare VALUES list, each row in parentheses; None for any other query."""
    if not cursor.accept("VALUES"):
        return None
    rows = _run(cursor) if cursor.peek().kind is Kind.RUN else []
    while not rows or cursor.accept(","):
        start = cursor.offset
        row = _row(cursor) if cursor.sees("(") else None
        if row is None:
            return None
        _require_width(cursor.source, row, rows, start)
        rows.append(row)
    return ValueList(tuple(rows)) if cursor.done else None


def _run(cursor: Cursor) -> list[_Row]:
    """Step over a run of rows of constants."""
    source, token = cursor.source, cursor.step()
    rows: list[_Row] = []
    for at, values in rows_of(token.text):
        row = tuple(
            Constant(value, token.start + start, token.start + end, source)
            for start, end, value in values
        )
        _require_width(source, row, rows, token.start + at)
        rows.append(row)
    return rows


def _require_width(source: Source, row: _Row, before: list[_Row], start: int) -> None:
    """AnalysisError for a row that has not as many values as the first one."""
    if before and len(row) != len(before[0]):
        source.analysis_error(
            f"row {len(before) + 1} of VALUES has {len(row)} values, row 1 has {len(before[0])}",
            start,
        )


def _row(cursor: Cursor) -> _Row | None:
    """Parse ``(value, …)``. None if a value is itself a row: Spark may take such a row apart."""
    inside = cursor.parenthesised()
    values: list[Value] = []
    while not values or inside.accept(","):
        constant = _constant(inside)
        if constant is None:
            part = inside.until(",")
            if part.sees("(") and _is_row(part):
                return None
            values.append(row_value(part, ()))
        else:
            values.append(constant)
    if not inside.done:
        inside.unexpected('expected "," or ")"')
    return tuple(values)


def _is_row(part: Cursor) -> bool:
    """Whether ``(…)`` is a row and no query, whose commas part columns or tables."""
    inside = Cursor(part.source, part.at, part.end).parenthesised()
    return not starts_query(inside) and len(inside.items()) > 1


def _constant(cursor: Cursor) -> Fragment | None:
    """A plain constant as a fragment, made without sqlglot because VALUES lists are long.

    None for anything else.
    """
    first = cursor.peek()
    prefix = first.word in _LITERAL_TYPES or (first.kind is Kind.SYMBOL and first.text == "-")
    token = cursor.peek(1) if prefix else first
    if cursor.peek(2 if prefix else 1).text not in (",", ""):
        return None
    tree: exp.Expr
    if token.kind is Kind.NUMBER and _PLAIN_NUMBER.fullmatch(token.text):
        tree = exp.Literal(this=token.text, is_string=False)
    elif token.kind is Kind.STRING:
        tree = exp.Literal(this=string_value(token.text), is_string=True)
    elif token.word == "NULL":
        tree = exp.Null()
    elif token.word in ("TRUE", "FALSE"):
        tree = exp.Boolean(this=token.word == "TRUE")
    else:
        return None
    if first.text == "-" and token.kind is Kind.NUMBER:
        tree = exp.Neg(this=tree)
    elif prefix and first.word and token.kind is Kind.STRING:
        tree = exp.Cast(this=tree, to=_literal_type(first.word))
    elif prefix:
        return None
    cursor.at += 1 + prefix
    line, column = cursor.source.place(first.start)
    return Fragment(cursor.source.text[first.start : token.end], tree, line, column)


def _literal_type(word: str) -> exp.Expr:
    """The node of sqlglot for the type of a literal like ``DATE '…'``."""
    return _literal_cast(word).to.copy()


@cache
def _literal_cast(word: str) -> exp.Cast:
    tree = parse_expression_tree(f"{word} ''")
    assert isinstance(tree, exp.Cast)
    return tree
