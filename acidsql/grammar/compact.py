"""ALTER TABLE … COMPACT; every other ALTER TABLE is refused."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.statements.compact import Compact


def parse_compact(cursor: Cursor) -> Compact:
    """The ALTER TABLE … COMPACT that starts here."""
    start = cursor.offset
    cursor.expect("ALTER", "TABLE")
    target = cursor.table()
    partition = parse_fixed_partition(cursor, "COMPACT")
    if not cursor.accept("COMPACT"):
        form = cursor.peek().word or "this form"
        cursor.source.refuse(
            f"ALTER TABLE … {form} is not supported yet",
            start,
            hint="Only ALTER TABLE … COMPACT is; create a new table and INSERT INTO it.",
        )
    kind_at = cursor.offset
    kind = cursor.string("'minor' or 'major'").lower()
    if kind == "rebalance":
        cursor.source.refuse(
            "rebalance compaction is not supported", kind_at, hint="Use 'minor' or 'major'."
        )
    if kind not in ("minor", "major"):
        cursor.source.refuse(
            f'invalid compaction type "{kind}"', kind_at, hint="Use 'minor' or 'major'.", code=10282
        )
    wait = cursor.accept("AND", "WAIT")
    if not cursor.done:
        cursor.source.refuse(
            f"COMPACT … {cursor.peek().text.upper()} is not supported",
            cursor.offset,
            hint="Write ALTER TABLE t [PARTITION (…)] COMPACT 'minor' | 'major' [AND WAIT].",
        )
    return Compact(target, partition, kind, wait)
