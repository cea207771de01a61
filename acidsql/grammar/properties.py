"""Properties: ``key = value`` in parentheses, and SET and UNSET TBLPROPERTIES."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.lexer import Kind
from acidsql.statements.fragment import TableRef

S = TypeVar("S")
U = TypeVar("U")


def properties_change(
    cursor: Cursor,
    target: TableRef,
    set_them: Callable[[TableRef, tuple[tuple[str, str], ...]], S],
    unset_them: Callable[[TableRef, tuple[str, ...], bool], U],
) -> S | U:
    """Parse SET TBLPROPERTIES (…) or UNSET TBLPROPERTIES [IF EXISTS] (…) of a table or view.

    ``set_them`` and ``unset_them`` make the statement.
    """
    sets = cursor.step().word == "SET"
    cursor.expect("TBLPROPERTIES")
    if sets:
        return set_them(target, properties(cursor.parenthesised()))
    if_exists = cursor.accept("IF", "EXISTS")
    keys = tuple(cursor.parenthesised().listed(property_key))
    return unset_them(target, keys, if_exists)


def properties(inside: Cursor) -> tuple[tuple[str, str], ...]:
    """Parse ``key = value, …`` up to the end of the cursor.

    A key may stand there twice if it has the same value. Hive takes the last of several values.
    """
    found: list[tuple[str, str]] = []
    while not found or inside.accept(","):
        offset = inside.offset
        key = property_key(inside)
        inside.expect("=")
        token = inside.peek()
        if token.kind is Kind.NUMBER or token.word in ("TRUE", "FALSE"):
            value = inside.step().text.lower()
        else:
            value = inside.string("a value in quotes")
        if (key, value) in found:
            continue
        if any(key.lower() == other.lower() for other, _ in found):
            inside.source.analysis_error(f'property "{key}" appears twice', offset)
        found.append((key, value))
    if not inside.done:
        inside.unexpected('expected "," or ")"')
    return tuple(found)


def property_key(inside: Cursor) -> str:
    """Parse a key: a string, or words with dots between them."""
    if inside.peek().kind is Kind.STRING:
        return inside.string()
    parts = [inside.name("a property").name]
    while inside.accept("."):
        parts.append(inside.name("a property").name)
    return ".".join(parts)
