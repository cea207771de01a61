"""TRUNCATE TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_partition
from acidsql.statements.truncate import Truncate


def parse_truncate(cursor: Cursor) -> Truncate:
    """Parse a TRUNCATE from the cursor."""
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    target = cursor.table()
    at = cursor.offset
    partition = parse_partition(cursor) if cursor.sees("PARTITION") else ()
    if partition and all(item.value is None for item in partition):
        hint = "Write TRUNCATE TABLE t to empty all partitions."
        cursor.source.syntax_error("a partition column needs a value in TRUNCATE", at, hint=hint)
    hint = "Write TRUNCATE TABLE t [PARTITION (…)]."
    cursor.refuse_words("TRUNCATE", ("COLUMNS", "FORCE"), hint)
    return Truncate(target, partition)
