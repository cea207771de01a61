"""INSERT OVERWRITE DIRECTORY."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import query, starts_query, stitched_query
from acidsql.grammar.storage_format import parse_delimited, parse_format, parse_source
from acidsql.model.table import FileFormat
from acidsql.statements.insert_directory import InsertDirectory


def sees_insert_directory(cursor: Cursor) -> bool:
    """Whether ``INSERT OVERWRITE [LOCAL] DIRECTORY`` is next."""
    ahead = Cursor(cursor.source, cursor.at, cursor.end)
    return ahead.accept("INSERT", "OVERWRITE") and sees_directory(ahead)


def sees_directory(cursor: Cursor) -> bool:
    """Whether ``[LOCAL] DIRECTORY 'path'`` is next, not the name of a table."""
    ahead = Cursor(cursor.source, cursor.at, cursor.end)
    is_local = ahead.accept("LOCAL")
    after = ahead.peek(1)
    return ahead.sees("DIRECTORY") and (is_local or after.text[:1] in ("'", '"', "?", ":"))


def parse_insert_directory(cursor: Cursor, with_at: int | None = None) -> InsertDirectory:
    """Parse the statement from the cursor. ``with_at`` is the index of a WITH before it, if any."""
    start = cursor.offset
    cursor.expect("INSERT", "OVERWRITE")
    local = cursor.accept("LOCAL")
    cursor.expect("DIRECTORY")
    at = cursor.offset
    path = cursor.string("a path in quotes")
    delimiter, stored_as = _clauses(cursor)
    if with_at is None:
        source = query(cursor)
    else:
        hole = (start, cursor.offset, "")
        if not starts_query(cursor) or cursor.sees("WITH"):
            cursor.unexpected("expected SELECT, FROM or TABLE")
        source = stitched_query(Cursor(cursor.source, with_at, cursor.end), [hole])
    cursor.at = cursor.end
    line, column = cursor.source.place(at)
    return InsertDirectory(path, local, delimiter, stored_as, source, line, column)


def _clauses(cursor: Cursor) -> tuple[str | None, str]:
    """Parse ``[ROW FORMAT DELIMITED …] [STORED AS …]``: a delimiter or None, and the format.

    USING is Spark's word for STORED AS.
    """
    at, delimiter, is_delimited = cursor.offset, None, cursor.accept("ROW", "FORMAT")
    if is_delimited:
        delimiter = parse_delimited(cursor)
    stored_as = FileFormat.TEXT.value
    if cursor.accept("STORED"):
        stored_as = parse_format(cursor)
    elif cursor.accept("USING"):
        stored_as = parse_source(cursor, "Write USING ORC, PARQUET or AVRO, or STORED AS TEXTFILE.")
    if is_delimited and stored_as != FileFormat.TEXT.value:
        cursor.source.analysis_error(
            f"ROW FORMAT DELIMITED cannot be used with STORED AS {stored_as}", at
        )
    cursor.refuse_words("INSERT OVERWRITE DIRECTORY", ("OPTIONS",), "Leave it out.")
    return delimiter, stored_as
