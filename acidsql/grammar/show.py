"""SHOW … and DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.database import DATABASE_WORDS, database_name, parse_describe_database
from acidsql.grammar.fragment import starts_query
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.grammar.lexer import Kind
from acidsql.grammar.near import near_word
from acidsql.grammar.partition import parse_conditions
from acidsql.grammar.properties import property_key
from acidsql.grammar.query import parse_query
from acidsql.grammar.refusal import ACCESS_HINT
from acidsql.grammar.show_compactions import parse_show_compactions
from acidsql.statements.configuration import DescribeConfiguration
from acidsql.statements.fragment import Identifier
from acidsql.statements.show import (
    Describe,
    DescribeDatabase,
    DescribeFunction,
    DescribeQuery,
    EngineAnswer,
    Show,
    ShowColumns,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowCurrentDatabase,
    ShowDatabases,
    ShowFunctions,
    ShowLocks,
    ShowMaterializedViews,
    ShowPartitions,
    ShowProperties,
    ShowTableExtended,
    ShowTables,
    ShowTransactions,
    ShowViews,
)

_AFTER_TABLE = ("PARTITION", "EXTENDED")
_KNOWN = (
    "SHOW TABLES, VIEWS, MATERIALIZED VIEWS, DATABASES, CURRENT DATABASE, PARTITIONS, COLUMNS,"
    " TBLPROPERTIES, FUNCTIONS, CREATE TABLE, CREATE DATABASE, TABLE EXTENDED, CONF, COMPACTIONS,"
    " TRANSACTIONS and LOCKS are supported."
)
_REFUSED = dict.fromkeys(("GRANT", "ROLE", "ROLES", "PRINCIPALS"), ACCESS_HINT)


def parse_show(cursor: Cursor) -> Show | EngineAnswer | DescribeConfiguration:
    """Parse a SHOW from the cursor."""
    start = cursor.offset
    cursor.expect("SHOW")
    if cursor.sees("CREATE") and cursor.peek(1).word in ("TABLE", *DATABASE_WORDS):
        return _show_create(cursor)
    if cursor.sees("TABLE", "EXTENDED"):
        return _show_table_extended(cursor)
    if cursor.accept("CONF"):
        place = cursor.source.place(cursor.offset)
        return DescribeConfiguration(Identifier(cursor.string("a property in quotes"), *place))
    word = cursor.peek().word
    parse_rest = _SHOWN.get(word)
    if parse_rest is None:
        what = f"SHOW {word}".rstrip()
        near = near_word(word, tuple(_SHOWN))
        hint = f"Did you mean SHOW {near}?" if near else _REFUSED.get(word, _KNOWN)
        cursor.source.refuse(f"{what} is not supported", start, hint=hint)
    cursor.step()
    return parse_rest(cursor)


def _show_create(cursor: Cursor) -> ShowCreateTable | ShowCreateDatabase:
    cursor.expect("CREATE")
    if not cursor.accept("TABLE"):
        cursor.step()
        return ShowCreateDatabase(database_name(cursor))
    created = cursor.table()
    cursor.refuse_rest("SHOW CREATE TABLE", "SHOW CREATE TABLE t")
    return ShowCreateTable(created)


def _show_current(cursor: Cursor) -> ShowCurrentDatabase:
    if cursor.sees("ROLES"):
        cursor.source.refuse("SHOW CURRENT ROLES is not supported", cursor.offset, hint=ACCESS_HINT)
    if not cursor.sees_any(*DATABASE_WORDS):
        cursor.unexpected("expected DATABASE, SCHEMA or NAMESPACE")
    word = cursor.step().word
    cursor.refuse_rest(f"SHOW CURRENT {word}", f"SHOW CURRENT {word}")
    return ShowCurrentDatabase()


def _show_table_extended(cursor: Cursor) -> ShowTableExtended:
    cursor.expect("TABLE", "EXTENDED")
    database = _database(cursor)
    cursor.expect("LIKE")
    pattern = _quoted_name(cursor, "a pattern in quotes")
    return ShowTableExtended(database, pattern, parse_fixed_partition(cursor, "SHOW"))


def _quoted_name(cursor: Cursor, what: str) -> Identifier:
    """Parse a name, or a string that stands for one."""
    if cursor.peek().kind is not Kind.STRING:
        return cursor.name(what)
    line, column = cursor.source.place(cursor.offset)
    return Identifier(cursor.string(what), line, column)


def _show_tables(cursor: Cursor) -> ShowTables:
    return ShowTables(_database(cursor), _pattern(cursor))


def _show_views(cursor: Cursor) -> ShowViews:
    return ShowViews(_database(cursor), _pattern(cursor))


def _show_materialized_views(cursor: Cursor) -> ShowMaterializedViews:
    cursor.expect("VIEWS")
    return ShowMaterializedViews(_database(cursor), _pattern(cursor))


def _database(cursor: Cursor) -> Identifier | None:
    return database_name(cursor) if cursor.accept("IN") or cursor.accept("FROM") else None


def _show_partitions(cursor: Cursor) -> ShowPartitions:
    target = cursor.table()
    conditions = parse_conditions(cursor) if cursor.sees("PARTITION") else ()
    cursor.refuse_rest("SHOW PARTITIONS", "SHOW PARTITIONS t [PARTITION (column = constant, …)]")
    return ShowPartitions(target, conditions)


def _show_transactions(cursor: Cursor) -> ShowTransactions:
    cursor.refuse_rest("SHOW TRANSACTIONS", "SHOW TRANSACTIONS")
    return ShowTransactions()


def _show_sorted(cursor: Cursor) -> ShowColumns:
    cursor.expect("COLUMNS")
    return replace(_show_columns(cursor), is_sorted=True)


def _show_columns(cursor: Cursor) -> ShowColumns:
    """Parse the rest of SHOW COLUMNS IN t [IN database] [LIKE s]."""
    if not cursor.accept("IN"):
        cursor.expect("FROM")
    target = cursor.table()
    if cursor.accept("IN") or cursor.accept("FROM"):
        if target.database is not None:
            cursor.unexpected("the table is named with its database already")
        target = replace(target, database=database_name(cursor).name)
    return ShowColumns(target, _pattern(cursor))


def _show_properties(cursor: Cursor) -> ShowProperties:
    target, key = cursor.table(), None
    if cursor.sees("("):
        inside = cursor.parenthesised()
        key = property_key(inside)
        inside.expect_end()
    return ShowProperties(target, key)


def _describe_function(cursor: Cursor) -> DescribeFunction:
    """Parse the rest of a DESCRIBE FUNCTION. The name may be a string, or that of an operator."""
    extended = bool(cursor.peek(1).text) and cursor.accept("EXTENDED")
    token = cursor.peek()
    if token.kind is Kind.SYMBOL and token.text not in ("", "(", ")"):
        signs = cursor.step().text
        while cursor.peek().kind is Kind.SYMBOL and cursor.peek().text:
            signs += cursor.step().text
        return DescribeFunction(Identifier(signs, *cursor.source.place(token.start)), extended)
    if token.kind is Kind.WORD:  # also a reserved one: OR, CASE
        cursor.step()
        name = Identifier(token.text, *cursor.source.place(token.start))
    else:
        name = _quoted_name(cursor, "the name of a function")
    cursor.refuse_rest("DESCRIBE FUNCTION", "DESCRIBE FUNCTION [EXTENDED] and a name of one part")
    return DescribeFunction(name, extended)


def parse_describe(
    cursor: Cursor,
) -> Describe | DescribeDatabase | DescribeFunction | DescribeQuery:
    """Parse a DESCRIBE or DESC from the cursor."""
    start = cursor.offset
    cursor.step()
    kinds = ("CATALOG", "PROCEDURE")
    names_another = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.sees("FUNCTION") and cursor.peek(1).text:
        cursor.step()
        return _describe_function(cursor)
    if cursor.sees_any(*DATABASE_WORDS) and names_another:
        return parse_describe_database(cursor)
    if cursor.sees_any(*kinds) and names_another:
        cursor.source.refuse(
            f"DESCRIBE {cursor.peek().word} is not supported",
            start,
            hint="Write DESCRIBE [FORMATTED] and a table, DESCRIBE DATABASE or DESCRIBE FUNCTION.",
        )
    says_query = cursor.sees("QUERY") and bool(cursor.peek(1).text)
    if says_query:
        cursor.step()
    if says_query or (starts_query(cursor) and not cursor.sees("TABLE")):
        return DescribeQuery(parse_query(cursor))
    if cursor.sees("TABLE") and cursor.peek(1).text:
        cursor.step()
    named = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.sees_any("HISTORY", "DETAIL") and named:
        cursor.source.refuse(
            f"DESCRIBE {cursor.peek().word} is a statement of Delta Lake",
            start,
            hint="Write DESCRIBE FORMATTED t, SHOW COMPACTIONS or SHOW TRANSACTIONS.",
        )
    formatted = named and (cursor.accept("FORMATTED") or cursor.accept("EXTENDED"))
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "DESCRIBE")
    return Describe(target, formatted, partition, _described_path(cursor))


def _described_path(cursor: Cursor) -> tuple[Identifier, ...]:
    """Parse the column, and fields in it, of which a DESCRIBE asks."""
    if cursor.sees("AS", "JSON"):
        cursor.source.refuse(
            "DESCRIBE … AS JSON is not supported", cursor.offset, hint="Leave AS JSON out."
        )
    if cursor.done:
        return ()
    path = [cursor.name("a column")]
    while cursor.accept("."):
        path.append(cursor.name("a field"))
    return tuple(path)


def _show_locks(cursor: Cursor) -> ShowLocks:
    """Parse the rest of SHOW LOCKS. A table may be called ``database`` or ``extended``."""
    named = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.sees_any(*DATABASE_WORDS) and named and cursor.peek(1).word not in _AFTER_TABLE:
        cursor.step()
        shown = ShowLocks(database=database_name(cursor))
    elif cursor.sees_name() and not (cursor.sees("EXTENDED") and not cursor.peek(1).text):
        target = cursor.table()
        shown = ShowLocks(target, parse_fixed_partition(cursor, "SHOW LOCKS"))
    else:
        shown = ShowLocks()
    cursor.accept("EXTENDED")
    cursor.refuse_rest("SHOW LOCKS", "SHOW LOCKS [[DATABASE] name] [PARTITION (…)] [EXTENDED]")
    return shown


def _pattern(cursor: Cursor) -> str | None:
    liked = cursor.accept("LIKE")
    if liked or cursor.peek().kind is Kind.STRING:
        return cursor.string("a pattern in quotes")
    return None


_SHOWN: dict[str, Callable[[Cursor], Show | EngineAnswer]] = {
    "TABLES": _show_tables,
    "VIEWS": _show_views,
    "MATERIALIZED": _show_materialized_views,
    "DATABASES": lambda cursor: ShowDatabases(_pattern(cursor)),
    "SCHEMAS": lambda cursor: ShowDatabases(_pattern(cursor)),
    "NAMESPACES": lambda cursor: ShowDatabases(_pattern(cursor)),
    "CURRENT": _show_current,
    "PARTITIONS": _show_partitions,
    "COLUMNS": _show_columns,
    "SORTED": _show_sorted,
    "TBLPROPERTIES": _show_properties,
    "FUNCTIONS": lambda cursor: ShowFunctions(_pattern(cursor)),
    "COMPACTIONS": parse_show_compactions,
    "TRANSACTIONS": _show_transactions,
    "LOCKS": _show_locks,
}
