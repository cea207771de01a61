"""VACUUM."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.partition import fixed_partition
from acidsql.statements.vacuum import Vacuum


def parse_vacuum(cursor: Cursor) -> Vacuum:
    """Parse a VACUUM from the cursor."""
    cursor.expect("VACUUM")
    target = cursor.table()
    partition = fixed_partition(cursor, "VACUUM") if cursor.sees("PARTITION") else ()
    dry_run = cursor.accept("DRY", "RUN")
    if not cursor.done:
        cursor.source.refuse(
            f"VACUUM … {cursor.peek().text.upper()} is not supported",
            cursor.offset,
            hint="Write VACUUM t [PARTITION (…)] [DRY RUN].",
        )
    return Vacuum(target, partition, dry_run)
