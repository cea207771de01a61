"""Refuses known statements that are not supported, by their first words, with a hint for each."""

from __future__ import annotations

from typing import NoReturn

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.transaction import SAVEPOINT_HINT

_SPARK = "Run it on the Spark session itself."
_CREATE = "CREATE TABLE, CREATE VIEW and CREATE DATABASE are supported."
_ACCESS = "The permissions of the files and of the catalog control access."

_REFUSED: dict[str, tuple[str, str]] = {
    "SAVEPOINT": ("savepoints are not supported", SAVEPOINT_HINT),
    "RELEASE": ("savepoints are not supported", SAVEPOINT_HINT),
    "CACHE": ("CACHE is not supported", "A cached table would not see later transactions."),
    "UNCACHE": ("UNCACHE is not supported", "Nothing is cached."),
    "REFRESH": ("REFRESH is not needed", "Every statement reads a snapshot of its own."),
    "ANALYZE": ("ANALYZE is not supported", "Leave it out; no statistics are kept."),
    "GRANT": ("GRANT is not supported", _ACCESS),
    "REVOKE": ("REVOKE is not supported", _ACCESS),
    "LOCK": ("LOCK TABLE is not supported", "Each statement takes the locks it needs."),
    "UNLOCK": ("UNLOCK TABLE is not supported", "Locks end with their statement; see SHOW LOCKS."),
    "KILL": ("KILL is not supported", "Interrupt the session that runs the statement."),
    "ADD": ("ADD is not supported", _SPARK),
    "DECLARE": ("DECLARE is not supported", "Pass parameters: :name or ?."),
    "EXECUTE": ("EXECUTE is not supported", "Pass parameters: :name or ?."),
    "CALL": ("CALL is not supported", "See docs/statements.md."),
    "OPTIMIZE": ("OPTIMIZE is not supported", "Write ALTER TABLE t COMPACT 'major'."),
    "REPLACE": ("REPLACE is not supported", "DROP the table, then CREATE it."),
    "MAP": ("MAP … USING is not supported", "Use Spark SQL functions."),
    "REDUCE": ("REDUCE … USING is not supported", "Use Spark SQL functions."),
    "EXPORT": ("EXPORT is not supported", "Query the table and write the result with Spark."),
    "IMPORT": ("IMPORT is not supported", "Read the files with Spark, then INSERT INTO."),
}
_REFUSED_CREATE = {
    "VIEW": "Create a temporary view in Spark, or use WITH in the query.",
    "MATERIALIZED VIEW": "CREATE TABLE … AS keeps the rows of a query.",
    "FUNCTION": "Register the function on the Spark session.",
    "OR REPLACE": "DROP the old one, then CREATE the new one.",
    "INDEX": "Leave it out.",
    "ROLE": _ACCESS,
}


def refuse(cursor: Cursor) -> NoReturn:
    """Raise UnsupportedStatementError for the statement at the cursor."""
    first, second = cursor.peek(), cursor.peek(1).word
    known = _REFUSED.get(first.word)
    if known is not None:
        cursor.source.refuse(known[0], first.start, hint=known[1])
    if first.word == "CREATE":
        words = [cursor.peek(n).word for n in (1, 2, 3, 4, 5)]
        replaces = words[:2] == ["OR", "REPLACE"]
        kind = next((w for w in words if w in ("VIEW", "FUNCTION")), second)
        kind = "OR REPLACE" if kind == "OR" and replaces else kind
        hint = _REFUSED_CREATE.get(kind, _CREATE)
        if kind == "VIEW":  # a plain view is no refused statement
            kind = f"{words[words.index(kind) - 1]} VIEW"
            hint = _REFUSED_CREATE.get(kind, hint)
        cursor.source.refuse(f"CREATE {kind} is not supported", first.start, hint=hint)
    if first.word == "DROP":
        hint = "DROP TABLE, DROP VIEW and DROP DATABASE are supported."
        cursor.source.refuse(f"DROP {second} is not supported", first.start, hint=hint)
    if first.word == "ALTER":
        hint = "ALTER TABLE, ALTER VIEW and ALTER DATABASE are supported."
        cursor.source.refuse(f"ALTER {second} is not supported", first.start, hint=hint)
    if not first.word:
        cursor.unexpected("expected a statement")
    cursor.source.refuse(
        f"{first.word} is not a supported statement", first.start, hint="See docs/statements.md."
    )
