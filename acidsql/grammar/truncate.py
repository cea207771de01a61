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
    hint = "Write TRUNCATE TABLE t [PARTITION (…)]."
    cursor.refuse_words("TRUNCATE", ("COLUMNS", "FORCE"), hint)
    return Truncate(target, partition)
