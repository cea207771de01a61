"""SET and RESET. Hive does not parse what follows these words, so the text is taken as it is."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.transaction import parse_set_autocommit, parse_set_transaction
from acidsql.statements.configuration import (
    ResetConfiguration,
    SetConfiguration,
    ShowConfiguration,
)
from acidsql.statements.transaction import SetAutocommit, SetTransaction

_TIME_ZONE = "spark.sql.session.timeZone"
_FORM = "Write SET key = value, SET key or SET."
_REFUSED = {
    "ROLE": "The permissions of the files and of the catalog control access.",
    "VAR": "Write SET hivevar:name = value, and ${name} in a script.",
    "VARIABLE": "Write SET hivevar:name = value, and ${name} in a script.",
    "CATALOG": "A table name has two parts: database.table.",
}
"""Statements of Hive and Spark that begin with SET and a further word."""


def parse_set(
    cursor: Cursor,
) -> SetTransaction | SetAutocommit | SetConfiguration | ShowConfiguration:
    """Parse SET: of a transaction, of autocommit, or ``SET [key [= value]]``."""
    cursor.expect("SET")
    if cursor.sees("TRANSACTION"):
        return parse_set_transaction(cursor)
    if cursor.sees("AUTOCOMMIT"):
        return parse_set_autocommit(cursor)
    if cursor.sees("TIME", "ZONE"):
        return _time_zone(cursor)
    first = cursor.peek()
    text = _rest(cursor)
    key, equals, value = (part.strip() for part in text.partition("="))
    words = key.split()
    if len(words) > 1 and first.word in _REFUSED:
        cursor.source.refuse(
            f"SET {first.word} is not supported", first.start, hint=_REFUSED[first.word]
        )
    if len(words) > 1 or (equals and not key):
        cursor.source.syntax_error(
            "expected the name of a property after SET", first.start, hint=_FORM
        )
    if equals:
        return SetConfiguration(key, value, *cursor.source.place(first.start))
    return ShowConfiguration(None if key in ("", "-v") else key)


def _time_zone(cursor: Cursor) -> SetConfiguration:
    """Parse ``TIME ZONE 'zone'``, Spark's SET of one property."""
    start = cursor.offset
    cursor.expect("TIME", "ZONE")
    if cursor.sees_any("LOCAL", "INTERVAL"):
        cursor.source.refuse(
            f"SET TIME ZONE {cursor.peek().word} is not supported",
            cursor.offset,
            hint="Name the zone: SET TIME ZONE 'Europe/Berlin', or '+02:00'.",
        )
    return SetConfiguration(
        _TIME_ZONE, cursor.string("a zone in quotes"), *cursor.source.place(start)
    )


def parse_reset(cursor: Cursor) -> ResetConfiguration:
    """Parse ``RESET [key …]``."""
    cursor.expect("RESET")
    start = cursor.offset
    keys = _rest(cursor).split()
    for key in keys:
        if key.startswith("-"):
            cursor.source.refuse(
                f"RESET {key} is not supported", start, hint="Write RESET, or RESET key."
            )
    return ResetConfiguration(tuple(keys))


def _rest(cursor: Cursor) -> str:
    """Step over everything that is left. Returns its text, with spaces in place of comments."""
    start = cursor.offset
    end = max(start, cursor.source.tokens[cursor.end - 1].end)
    cursor.at = cursor.end
    return cursor.source.code[start:end].strip()
