"""ANALYZE TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_partition, refuse_duplicates
from acidsql.statements.analyze import Analyze
from acidsql.statements.fragment import Identifier

_FORM = (
    "ANALYZE TABLE t [PARTITION (…)] COMPUTE STATISTICS"
    " [FOR COLUMNS [a, b] | FOR ALL COLUMNS | NOSCAN]"
)


def parse_analyze(cursor: Cursor) -> Analyze:
    """Parse an ANALYZE TABLE from the cursor."""
    start = cursor.offset
    cursor.expect("ANALYZE")
    if cursor.sees("TABLES"):
        cursor.source.refuse(
            "ANALYZE TABLES is not supported", start, hint="Write ANALYZE TABLE for each table."
        )
    cursor.expect("TABLE")
    target = cursor.table()
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if cursor.sees("CACHE", "METADATA"):
        cursor.source.refuse(
            "ANALYZE TABLE … CACHE METADATA is not supported",
            cursor.offset,
            hint="Leave it out: no metadata is cached.",
        )
    cursor.expect("COMPUTE", "STATISTICS")
    noscan = cursor.accept("NOSCAN")
    has_columns = not noscan and cursor.accept("FOR")
    columns = _columns(cursor) if has_columns else ()
    cursor.refuse_rest("ANALYZE TABLE", _FORM)
    return Analyze(target, partition, columns, has_columns and not columns, noscan)


def _columns(cursor: Cursor) -> tuple[Identifier, ...]:
    """Parse what follows FOR; () for all columns."""
    if cursor.accept("ALL"):
        cursor.expect("COLUMNS")
        return ()
    cursor.expect("COLUMNS")
    if cursor.done or cursor.sees("NOSCAN"):
        return ()
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    refuse_duplicates(names, "FOR COLUMNS")
    return tuple(names)
