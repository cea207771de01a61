"""REFRESH, CACHE, UNCACHE and CLEAR CACHE, Spark's statements about its cache."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.lexer import Kind
from acidsql.statements.cache import Cache
from acidsql.statements.view import RebuildMaterializedView

_FRESH = "OK: each statement reads a snapshot of its own, so there is nothing to refresh"
_NOT_CACHED = "OK, but nothing is cached: a cached table would not show later transactions"
_NOTHING = "OK: nothing is cached"


def parse_refresh(cursor: Cursor) -> Cache | RebuildMaterializedView:
    """Parse ``REFRESH [TABLE] t`` or ``REFRESH MATERIALIZED VIEW t`` from the cursor."""
    start = cursor.offset
    cursor.expect("REFRESH")
    if cursor.accept("MATERIALIZED", "VIEW"):
        return RebuildMaterializedView(cursor.table())
    named = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.peek().kind is Kind.STRING or (cursor.sees("FUNCTION") and named):
        cursor.source.refuse(
            "REFRESH of a path or function is not supported",
            start,
            hint="Leave it out: each statement lists the files anew.",
        )
    if cursor.sees("TABLE") and named:
        cursor.step()
    return Cache(cursor.table(), _FRESH)


def parse_cache(cursor: Cursor) -> Cache:
    """Parse ``CACHE [LAZY] TABLE t [OPTIONS (…)]`` from the cursor."""
    cursor.expect("CACHE")
    cursor.accept("LAZY")
    cursor.expect("TABLE")
    target = cursor.table()
    if cursor.accept("OPTIONS"):
        cursor.parenthesised()
    if not cursor.done:
        cursor.source.refuse(
            "CACHE TABLE with a query is not supported",
            cursor.offset,
            hint="CREATE TABLE … AS keeps the rows of a query, CREATE TEMPORARY VIEW names it.",
        )
    return Cache(target, _NOT_CACHED)


def parse_uncache(cursor: Cursor) -> Cache:
    """Parse ``UNCACHE TABLE [IF EXISTS] t`` from the cursor."""
    cursor.expect("UNCACHE", "TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    return Cache(cursor.table(), _NOTHING, if_exists)


def parse_clear_cache(cursor: Cursor) -> Cache:
    """Parse ``CLEAR CACHE`` from the cursor."""
    cursor.expect("CLEAR", "CACHE")
    return Cache(None, _NOTHING)
