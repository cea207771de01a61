"""ALTER TABLE … COMPACT, and ABORT COMPACTIONS."""

from __future__ import annotations

from typing import NoReturn

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.properties import properties
from acidsql.model.ids import CompactionId
from acidsql.statements.compact import AbortCompactions, Compact, SortItem
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue

TYPES = ("minor", "major", "rebalance")
_TYPES = "'minor', 'major' or 'rebalance'"
_FORM = (
    "ALTER TABLE t [PARTITION (…)] COMPACT 'minor' | 'major' | 'rebalance' [CLUSTERED INTO n"
    " BUCKETS] [AND WAIT] [POOL 'p'] [WITH OVERWRITE TBLPROPERTIES (…)] [ORDER BY …]"
)
_CLAUSES = ("CLUSTERED", "AND", "POOL", "WITH", "ORDER")


def parse_compact(
    cursor: Cursor, target: TableRef, partition: tuple[PartitionValue, ...], partition_at: int
) -> Compact:
    """Parse the rest of ALTER TABLE t [PARTITION (…)]: ``COMPACT …``, or CONCATENATE.

    The latter is a major compaction that is waited for, as of an ACID table in Hive.
    """
    word = cursor.step().word
    if any(item.value is None for item in partition):
        cursor.source.syntax_error(f"every partition column needs a value in {word}", partition_at)
    if word == "CONCATENATE":
        cursor.expect_end()
        return Compact(target, partition, "major", wait=True)
    kind = _type(cursor)
    buckets = _buckets(cursor, kind)
    wait = cursor.accept("AND", "WAIT")
    pool = _pool(cursor)
    overrides = _overrides(cursor)
    order = _order(cursor, kind)
    if not cursor.done:
        _refuse_rest(cursor)
    return Compact(target, partition, kind, wait, buckets, pool, overrides, order)


def parse_abort_compactions(cursor: Cursor) -> AbortCompactions:
    """Parse the rest of ``ABORT COMPACTIONS id id …``. Commas between the ids are allowed."""
    cursor.expect("COMPACTIONS")
    what = "the id of a compaction"
    ids = [CompactionId(cursor.integer(what))]
    while not cursor.done:
        cursor.accept(",")
        ids.append(CompactionId(cursor.integer(what)))
    return AbortCompactions(tuple(dict.fromkeys(ids)))


def _type(cursor: Cursor) -> str:
    kind_at = cursor.offset
    kind = cursor.string(_TYPES).lower()
    if kind not in TYPES:
        cursor.source.refuse(
            f'invalid compaction type "{kind}"', kind_at, hint=f"Use {_TYPES}.", code=10282
        )
    return kind


def _buckets(cursor: Cursor, kind: str) -> int | None:
    """Parse ``CLUSTERED INTO n BUCKETS``. Hive ignores it in other types; here it is refused."""
    start = cursor.offset
    if not cursor.accept("CLUSTERED", "INTO"):
        return None
    count_at = cursor.offset
    count = cursor.integer("the number of buckets")
    cursor.expect("BUCKETS")
    if not 1 <= count <= 4096:
        cursor.source.syntax_error("a table has 1 to 4096 buckets", count_at)
    if kind != "rebalance":
        _only_rebalance(cursor, "CLUSTERED INTO n BUCKETS", start)
    return count


def _pool(cursor: Cursor) -> str | None:
    if not cursor.accept("POOL"):
        return None
    at = cursor.offset
    pool = cursor.string("the name of a pool in quotes")
    if not pool.strip():
        cursor.source.syntax_error("the name of a pool is empty", at)
    return pool


def _overrides(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    if not cursor.accept("WITH"):
        return ()
    cursor.expect("OVERWRITE", "TBLPROPERTIES")
    return properties(cursor.parenthesised())


def _order(cursor: Cursor, kind: str) -> tuple[SortItem, ...]:
    start = cursor.offset
    if not cursor.accept("ORDER", "BY"):
        return ()
    items = [_sort_item(cursor)]
    while cursor.accept(","):
        items.append(_sort_item(cursor))
    if kind != "rebalance":
        _only_rebalance(cursor, "ORDER BY", start)
    return tuple(items)


def _sort_item(cursor: Cursor) -> SortItem:
    column = cursor.name("a column")
    follows = ("ASC", "DESC", "NULLS", *_CLAUSES)
    if not (cursor.done or cursor.sees(",") or cursor.sees_any(*follows)):
        _refuse_expression(cursor, column)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first: bool | None = None
    if cursor.accept("NULLS"):
        nulls_first = cursor.accept("FIRST")
        if not nulls_first:
            cursor.expect("LAST")
    return SortItem(column, descending, nulls_first)


def _refuse_expression(cursor: Cursor, column: Identifier) -> NoReturn:
    cursor.source.refuse(
        f'COMPACT … ORDER BY takes columns only, not "{column.name}{cursor.peek().text}…"',
        cursor.offset,
        hint="Write ORDER BY column [ASC | DESC] [NULLS FIRST | LAST], ….",
    )


def _only_rebalance(cursor: Cursor, clause: str, start: int) -> NoReturn:
    cursor.source.refuse(
        f"only a rebalance takes {clause}",
        start,
        hint="Minor and major compactions keep every row in its bucket, in the order of row ids.",
    )


def _refuse_rest(cursor: Cursor) -> NoReturn:
    word = cursor.peek().text.upper()
    reason = f"COMPACT … {word} is not supported"
    if word in _CLAUSES:
        reason = f"COMPACT … {word} stands in the wrong place, or is given twice"
    cursor.source.refuse(reason, cursor.offset, hint=f"Write {_FORM}.")
