"""SHOW COMPACTIONS and its filters."""

from __future__ import annotations

from collections.abc import Collection

from acidsql.grammar.compact import TYPES
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.database import DATABASE_WORDS, database_name
from acidsql.grammar.insert import parse_fixed_partition
from acidsql.grammar.lexer import Kind
from acidsql.model.ids import CompactionId
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue
from acidsql.statements.show import ShowCompactions, ShownOrder

STATES = (
    "initiated", "working", "ready for cleaning", "failed", "succeeded", "refused",
    "did not initiate", "aborted",
)  # fmt: skip
_FORM = (
    "SHOW COMPACTIONS [COMPACTIONID = n | [DATABASE name | t [PARTITION (…)]] [POOL 'p']"
    " [TYPE 't'] [STATUS 's'] [ORDER BY column [ASC | DESC], …] [LIMIT n]]"
)


def parse_show_compactions(cursor: Cursor) -> ShowCompactions:
    """Parse the rest of ``SHOW COMPACTIONS …``. A table may be called ``pool`` or ``database``."""
    if cursor.accept("COMPACTIONID", "="):
        number = CompactionId(cursor.integer("the id of a compaction"))
        cursor.refuse_rest("SHOW COMPACTIONS", _FORM)
        return ShowCompactions(number)
    database: Identifier | None = None
    target: TableRef | None = None
    partition: tuple[PartitionValue, ...] = ()
    named = cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED)
    if cursor.sees_any(*DATABASE_WORDS) and named and not _sees_clause(cursor, 1):
        cursor.step()
        database = database_name(cursor)
    elif cursor.sees_name() and not _sees_clause(cursor, 0):
        target = cursor.table()
        partition = parse_fixed_partition(cursor, "SHOW COMPACTIONS")
    shown = ShowCompactions(
        database=database,
        target=target,
        partition=partition,
        pool=cursor.string("the name of a pool in quotes") if cursor.accept("POOL") else None,
        type=_word(cursor, "TYPE", TYPES, code=10282),
        status=_word(cursor, "STATUS", STATES),
        order=_order(cursor),
        limit=cursor.integer("a number of rows") if cursor.accept("LIMIT") else None,
    )
    cursor.refuse_rest("SHOW COMPACTIONS", _FORM)
    return shown


def _sees_clause(cursor: Cursor, ahead: int) -> bool:
    """Whether a clause begins there, and not a name that is called like one."""
    word, following = cursor.peek(ahead).word, cursor.peek(ahead + 1)
    if word in ("POOL", "TYPE", "STATUS"):
        return following.kind is Kind.STRING
    return word in ("ORDER", "LIMIT", "PARTITION")


def _word(
    cursor: Cursor, clause: str, known: Collection[str], code: int | None = None
) -> str | None:
    if not cursor.accept(clause):
        return None
    at = cursor.offset
    listed = ", ".join(f"'{word}'" for word in known)
    word = cursor.string(f"one of {listed}").lower()
    if word not in known:
        what = "compaction type" if clause == "TYPE" else "status of a compaction"
        cursor.source.refuse(f'invalid {what} "{word}"', at, hint=f"Use {listed}.", code=code)
    return word


def _shown_column(cursor: Cursor) -> Identifier:
    """Parse a name. Hive's own tests write it in quotes, too."""
    if cursor.peek().kind is not Kind.STRING:
        return cursor.name("a column of SHOW COMPACTIONS")
    line, column = cursor.source.place(cursor.offset)
    return Identifier(cursor.string(), line, column)


def _order(cursor: Cursor) -> tuple[ShownOrder, ...]:
    if not cursor.accept("ORDER", "BY"):
        return ()
    items: list[ShownOrder] = []
    while not items or cursor.accept(","):
        column = _shown_column(cursor)
        descending = cursor.accept("DESC")
        if not descending:
            cursor.accept("ASC")
        items.append(ShownOrder(column, descending))
    return tuple(items)
