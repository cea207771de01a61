"""ALTER TABLE … COMPACT."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.statements.compact import Compact
from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


def parse_compact(
    cursor: Cursor, target: TableRef, partition: tuple[PartitionValue, ...], partition_at: int
) -> Compact:
    """Parse the rest of ALTER TABLE t [PARTITION (…)]: ``COMPACT …``."""
    cursor.expect("COMPACT")
    if any(item.value is None for item in partition):
        cursor.source.syntax_error("every partition column needs a value in COMPACT", partition_at)
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
