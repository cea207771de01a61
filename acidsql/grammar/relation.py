"""The tables, queries and joins that UPDATE … FROM and DELETE … USING join with their target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import relation
from acidsql.grammar.source import refuse_name_of_target, refuse_nondeterministic
from acidsql.grammar.walk import direct_sources
from acidsql.statements.fragment import Fragment, TableRef

_CLAUSES = (
    *("LATERAL", "SELECT", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT"),
    *("OFFSET", "QUALIFY", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "MINUS"),
)


@dataclass(frozen=True, slots=True)
class Relations:
    """The items of a FROM clause, each with its aliases and joins.

    ``aliases`` are the names by which expressions know them, in lower case. ``tables`` are the
    tables among them.
    """

    items: tuple[Fragment, ...]
    aliases: frozenset[str]
    tables: tuple[TableRef, ...]


def sees_relations(cursor: Cursor) -> bool:
    """Whether there is more than one table or query before WHERE: a comma or a join."""
    ahead = Cursor(cursor.source, cursor.at, cursor.end).until("WHERE")
    ahead.until(",", "JOIN")
    return not ahead.done


def parse_relations(cursor: Cursor, target: TableRef, statement: str) -> Relations:
    """Parse the items up to WHERE. Each of them has a name of its own."""
    rest = cursor.until("WHERE")
    items: list[Fragment] = []
    aliases: set[str] = set()
    tables: list[TableRef] = []
    while not items or rest.accept(","):
        start = rest.offset
        item = _item(rest.until(","), statement)
        for source in _shown(item):
            name = source.alias_or_name
            refuse_name_of_target(rest, start, name, target, statement)
            if name and name.lower() in aliases:
                rest.source.refuse(
                    f'two sources of {statement} are called "{name}"',
                    start,
                    hint="Give each its own alias.",
                )
            aliases.add(name.lower())
        items.append(item)
        tables += _tables(item)
    return Relations(tuple(items), frozenset(aliases), tuple(tables))


def _item(cursor: Cursor, statement: str) -> Fragment:
    if cursor.done:
        cursor.missing("a table")
    start = cursor.offset
    if cursor.sees("LATERAL"):
        cursor.source.refuse(
            f"LATERAL behind a comma is not supported in {statement}",
            start,
            hint="Write a CROSS JOIN LATERAL (…) AS s.",
        )
    try:
        item = relation(Cursor(cursor.source, cursor.at, cursor.end))
    except SqlSyntaxError:
        _refuse_clause(cursor, statement)
        raise
    refuse_nondeterministic(
        cursor.source,
        item,
        start,
        f"the sources of {statement}",
        hint="Join them in one query in parentheses, which may use it: (SELECT … FROM …) AS s.",
    )
    return item


def _refuse_clause(cursor: Cursor, statement: str) -> None:
    """Raise UnsupportedStatementError for a clause that only a whole query has."""
    cursor.until(*_CLAUSES)
    if not cursor.done:
        cursor.source.refuse(
            f"{cursor.peek().word} is not supported between the sources of {statement}",
            cursor.offset,
            hint="Write (SELECT … FROM …) AS s.",
        )


def _shown(item: Fragment) -> Iterator[exp.Expr]:
    """The tables and queries that expressions may name: not those of a SEMI or ANTI JOIN."""
    return (source for source, is_shown in direct_sources(item.tree) if is_shown)


def _tables(item: Fragment) -> Iterator[TableRef]:
    """The tables of an item that expressions may name."""
    places = {
        part.meta.get("start")
        for source in _shown(item)
        if isinstance(source, exp.Table)
        for part in source.parts[:1]
    }
    return (ref for ref in item.tables if ref.start in places)
