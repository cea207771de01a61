"""CHECK TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.check import Check


def parse_check(cursor: Cursor) -> Check:
    """Parse a CHECK TABLE from the cursor."""
    cursor.expect("CHECK", "TABLE")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "CHECK")
    cursor.refuse_rest("CHECK TABLE", "CHECK TABLE t [PARTITION (…)]")
    return Check(target, partition)
