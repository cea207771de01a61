"""CHECK TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_partition
from acidsql.statements.check import Check


def parse_check(cursor: Cursor) -> Check:
    """Parse a CHECK TABLE from the cursor."""
    cursor.expect("CHECK", "TABLE")
    target = cursor.table()
    partition_at = cursor.offset
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if any(item.value is None for item in partition):
        cursor.source.syntax_error("every partition column needs a value in CHECK", partition_at)
    if not cursor.done:
        cursor.source.refuse(
            f"CHECK TABLE … {cursor.peek().text.upper()} is not supported",
            cursor.offset,
            hint="Write CHECK TABLE t [PARTITION (…)].",
        )
    return Check(target, partition)
