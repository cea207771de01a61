"""VACUUM."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.vacuum import Vacuum


def parse_vacuum(cursor: Cursor) -> Vacuum:
    """Parse a VACUUM from the cursor."""
    cursor.expect("VACUUM")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "VACUUM")
    dry_run = cursor.accept("DRY", "RUN")
    cursor.refuse_rest("VACUUM", "VACUUM t [PARTITION (…)] [DRY RUN]")
    return Vacuum(target, partition, dry_run)
