"""Refuses known statements that are not supported, by their first words, with a hint for each."""

from __future__ import annotations

from typing import NoReturn

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.near import near_hint, near_word
from acidsql.grammar.transaction import SAVEPOINT_HINT

_SPARK = "Run it on the Spark session itself."
_CREATE = "CREATE TABLE, CREATE VIEW and CREATE DATABASE are supported."
ACCESS_HINT = "The permissions of the files and of the catalog control access."
"""Why statements about rights and roles are refused."""

_COMPACTS = "ALTER TABLE t COMPACT 'major' joins the files, VACUUM t removes obsolete ones."
_NO_HISTORY = "Tables keep no earlier versions. Within a transaction, ROLLBACK undoes."

_REFUSED: dict[str, tuple[str, str]] = {
    "SAVEPOINT": ("savepoints are not supported", SAVEPOINT_HINT),
    "RELEASE": ("savepoints are not supported", SAVEPOINT_HINT),
    "GRANT": ("GRANT is not supported", ACCESS_HINT),
    "REVOKE": ("REVOKE is not supported", ACCESS_HINT),
    "LOCK": ("LOCK TABLE is not supported", "Each statement takes the locks it needs."),
    "UNLOCK": ("UNLOCK TABLE is not supported", "Locks end with their statement; see SHOW LOCKS."),
    "KILL": ("KILL is not supported", "Interrupt the session that runs the statement."),
    "ADD": ("ADD is not supported", _SPARK),
    "DECLARE": ("DECLARE is not supported", "Pass parameters: :name or ?."),
    "EXECUTE": ("EXECUTE is not supported", "Pass parameters: :name or ?."),
    "CALL": ("CALL is not supported", f"Procedures are Iceberg's. {_COMPACTS}"),
    "OPTIMIZE": ("OPTIMIZE is a statement of Delta Lake", f"{_COMPACTS}"),
    "ZORDER": ("ZORDER is a statement of Delta Lake", f"{_COMPACTS}"),
    "REORG": ("REORG is a statement of Delta Lake", f"{_COMPACTS}"),
    "RESTORE": ("RESTORE is a statement of Delta Lake", _NO_HISTORY),
    "CONVERT": (
        "CONVERT TO is a statement of Delta Lake",
        "ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true') converts a plain table.",
    ),
    "FSCK": ("FSCK is a statement of Databricks", "Write CHECK TABLE t."),
    "GENERATE": ("GENERATE is a statement of Delta Lake", "Hive tables need no manifest."),
    "CLONE": ("CLONE is a statement of Delta Lake", "Write CREATE TABLE t AS SELECT * FROM …."),
    "COPY": ("COPY INTO is not supported", "Write LOAD DATA, or INSERT INTO t SELECT …."),
    "UPSERT": ("UPSERT is not supported", "Write MERGE INTO t USING … ON …."),
    "UNDROP": ("UNDROP is not supported", "A dropped table is gone, with its files."),
    "PURGE": ("PURGE is not supported", "VACUUM t removes what no reader needs any more."),
    "REPLACE": ("REPLACE is not supported", "Write CREATE OR REPLACE TABLE."),
    "MAP": ("MAP … USING is not supported", "Use Spark SQL functions."),
    "REDUCE": ("REDUCE … USING is not supported", "Use Spark SQL functions."),
}
STATEMENT_WORDS = (
    "ABORT", "ALTER", "ANALYZE", "BEGIN", "CHECK", "COMMIT", "CREATE", "DELETE", "DESCRIBE", "DROP",
    "EXPLAIN", "EXPORT", "IMPORT", "INSERT", "LOAD", "MERGE", "MSCK", "RESET", "ROLLBACK", "SELECT",
    "SHOW", "START", "TABLE", "TRUNCATE", "UPDATE", "VACUUM", "VALUES", "WITH",
)  # fmt: skip
"""The first words of statements, for hints."""
_DEFINED = ("TABLE", "VIEW", "DATABASE")
_REFUSED_CREATE = {
    "VIEW": "CREATE VIEW and CREATE TEMPORARY VIEW are supported.",
    "OR REPLACE MATERIALIZED VIEW": "Write DROP MATERIALIZED VIEW, then CREATE.",
    "FUNCTION": "Register the function on the Spark session.",
    "MACRO": "Register a function on the Spark session.",
    "OR REPLACE": "CREATE OR REPLACE TABLE and CREATE OR REPLACE VIEW are supported.",
    "INDEX": "Leave it out.",
    "ROLE": ACCESS_HINT,
}

_REFUSED_DROP = {
    "ROLE": ACCESS_HINT,
    "FUNCTION": "Functions are those of the Spark session: drop them there.",
    "MACRO": "Functions are those of the Spark session: drop them there.",
}


def refuse(cursor: Cursor) -> NoReturn:
    """Raise UnsupportedStatementError for the statement at the cursor."""
    first, second = cursor.peek(), cursor.peek(1).word
    known = _REFUSED.get(first.word)
    if known is not None:
        cursor.source.refuse(known[0], first.start, hint=known[1])
    if first.word in ("CREATE", "DROP", "ALTER") and not second:
        cursor.step()
        cursor.unexpected("expected TABLE, VIEW or DATABASE")
    if first.word == "CREATE":
        words = [cursor.peek(n).word for n in (1, 2, 3, 4, 5)]
        replaces = words[:2] == ["OR", "REPLACE"]
        kind = next((w for w in words if w in ("VIEW", "FUNCTION", "MACRO")), second)
        kind = "OR REPLACE" if kind == "OR" and replaces else kind
        if kind == "VIEW":  # a plain view is no refused statement
            start = 2 if replaces and "MATERIALIZED" not in words else 0
            before = words[start : words.index(kind)]
            kind = " ".join([*before, kind])
        hint = _REFUSED_CREATE.get(kind, _REFUSED_CREATE.get(kind.split()[-1]))
        hint = hint or _near_hint(cursor, _DEFINED, _CREATE)
        cursor.source.refuse(f"CREATE {kind} is not supported", first.start, hint=hint)
    if first.word == "DROP":
        words = [w for w in (second, cursor.peek(2).word) if w]
        kind = " ".join(words) if second in ("TEMPORARY", "TEMP") else second
        hint = _REFUSED_DROP.get(kind.split()[-1]) if words else None
        hint = hint or _near_hint(
            cursor, _DEFINED, "DROP TABLE, DROP VIEW and DROP DATABASE are supported."
        )
        cursor.source.refuse(f"DROP {kind} is not supported", first.start, hint=hint)
    if first.word == "ALTER":
        hint = _near_hint(
            cursor, _DEFINED, "ALTER TABLE, ALTER VIEW and ALTER DATABASE are supported."
        )
        cursor.source.refuse(f"ALTER {second} is not supported", first.start, hint=hint)
    if not first.word:
        cursor.unexpected("expected a statement")
    cursor.source.refuse(
        f"{first.word} is not a supported statement",
        first.start,
        hint=near_hint(first.word, STATEMENT_WORDS) or "See docs/statements.md.",
    )


def _near_hint(cursor: Cursor, known: tuple[str, ...], otherwise: str) -> str:
    """A question for the statement that the second word may have been meant to make."""
    first, second = cursor.peek().word, cursor.peek(1).word
    near = near_word(second, known)
    return f"Did you mean {first} {near}?" if near else otherwise
