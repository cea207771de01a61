"""TRUNCATE TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.truncate import Truncate


def parse_truncate(cursor: Cursor) -> Truncate:
    """Parse a TRUNCATE from the cursor."""
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "TRUNCATE")
    for word in ("COLUMNS", "FORCE"):
        if cursor.sees(word):
            cursor.source.refuse(
                f"TRUNCATE … {word} is not supported",
                cursor.offset,
                hint="Write TRUNCATE TABLE t [PARTITION (…)].",
            )
    return Truncate(target, partition)
