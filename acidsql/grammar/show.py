"""SHOW … and DESCRIBE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.database import DATABASE_WORDS, database_name, parse_describe_database
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.grammar.lexer import Kind
from acidsql.grammar.near import near_word
from acidsql.grammar.show_compactions import parse_show_compactions
from acidsql.statements.show import (
    Describe,
    DescribeDatabase,
    Show,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTables,
    ShowTransactions,
    ShowViews,
)

_SHOWN = (
    "TABLES",
    "VIEWS",
    "DATABASES",
    "SCHEMAS",
    "PARTITIONS",
    "COMPACTIONS",
    "TRANSACTIONS",
    "LOCKS",
)
_AFTER_TABLE = ("PARTITION", "EXTENDED")
_KNOWN = (
    "SHOW TABLES, VIEWS, DATABASES, PARTITIONS, CREATE TABLE, COMPACTIONS, TRANSACTIONS and LOCKS"
    " are supported."
)


def parse_show(cursor: Cursor) -> Show:
    """Parse a SHOW from the cursor."""
    start = cursor.offset
    cursor.expect("SHOW")
    if cursor.accept("CREATE", "TABLE"):
        created = cursor.table()
        cursor.refuse_rest("SHOW CREATE TABLE", "SHOW CREATE TABLE t")
        return ShowCreateTable(created)
    word = cursor.peek().word
    if word not in _SHOWN:
        what = f"SHOW {word}".rstrip()
        near = near_word(word, _SHOWN)
        hint = f"Did you mean SHOW {near}?" if near else _KNOWN
        cursor.source.refuse(f"{what} is not supported", start, hint=hint)
    cursor.step()
    match word:
        case "TABLES" | "VIEWS":
            database = None
            if cursor.accept("IN") or cursor.accept("FROM"):
                database = database_name(cursor)
            shown = ShowTables if word == "TABLES" else ShowViews
            return shown(database, _pattern(cursor))
        case "DATABASES" | "SCHEMAS":
            return ShowDatabases(_pattern(cursor))
        case "PARTITIONS":
            target = cursor.table()
            cursor.refuse_rest("SHOW PARTITIONS", "SHOW PARTITIONS t")
            return ShowPartitions(target)
        case "COMPACTIONS":
            return parse_show_compactions(cursor)
        case "TRANSACTIONS":
            cursor.refuse_rest("SHOW TRANSACTIONS", "SHOW TRANSACTIONS")
            return ShowTransactions()
        case _:
            return _show_locks(cursor)


def parse_describe(cursor: Cursor) -> Describe | DescribeDatabase:
    """Parse a DESCRIBE or DESC from the cursor."""
    start = cursor.offset
    cursor.step()
    kinds = ("FUNCTION", "QUERY", "CATALOG", "NAMESPACE", "PROCEDURE")
    names_another = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.sees_any(*DATABASE_WORDS) and names_another:
        return parse_describe_database(cursor)
    if cursor.sees_any(*kinds) and names_another:
        cursor.source.refuse(
            f"DESCRIBE {cursor.peek().word} is not supported",
            start,
            hint="Write DESCRIBE [FORMATTED] and a table, or DESCRIBE DATABASE.",
        )
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
    if not cursor.done and cursor.sees("SELECT"):
        cursor.source.refuse("DESCRIBE of a query is not supported", start, hint="Use EXPLAIN.")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "DESCRIBE")
    if not cursor.done:
        cursor.source.refuse(
            "DESCRIBE of a column is not supported",
            cursor.offset,
            hint="Write DESCRIBE [FORMATTED] t [PARTITION (…)].",
        )
    return Describe(target, formatted, partition)


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
