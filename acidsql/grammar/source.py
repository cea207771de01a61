"""The one source that MERGE, UPDATE … FROM and DELETE … USING join with their target."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import query, sampled_table, starts_query, table_fragment
from acidsql.grammar.insert import refuse_duplicates
from acidsql.grammar.lexer import Source as Text
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.nondeterministic import first_nondeterministic


@dataclass(frozen=True, slots=True)
class Source:
    """A table or a query in parentheses, its alias, and the names that the alias gives to columns.

    ``fragment`` does not have the alias of a query.
    """

    fragment: Fragment
    alias: str
    names: tuple[Identifier, ...]

    @property
    def tables(self) -> tuple[TableRef, ...]:
        """The table that expressions may name; none if the source is a query."""
        return self.fragment.tables if isinstance(self.fragment.tree, exp.Table) else ()

    @property
    def aliases(self) -> frozenset[str]:
        """The alias in lower case."""
        return frozenset({self.alias.lower()})


def parse_source(cursor: Cursor, target: TableRef, statement: str, follows: str) -> Source:
    """Parse the source of a statement up to the keyword that ``follows`` it.

    A source with the name of the target is refused.
    """
    start = cursor.offset
    fragment, alias = _named(cursor, statement)
    source = Source(fragment, alias, _names(cursor))
    if not cursor.sees(follows):
        if cursor.done or cursor.sees_any("WHEN"):
            cursor.unexpected(f"expected {follows}")
        _refuse(cursor, statement)
    refuse_name_of_target(cursor, start, alias, target, statement)
    return source


def refuse_name_of_target(
    cursor: Cursor, start: int, alias: str, target: TableRef, statement: str
) -> None:
    """Raise UnsupportedStatementError for a source that has the name of the target."""
    if alias.lower() == target.visible_name.lower():
        cursor.source.refuse(
            f'target and source of {statement} are both called "{alias}"',
            start,
            hint="Give each its own alias.",
        )


IN_SOURCE = "Make the value a column of the source: (SELECT *, rand() AS r FROM …) AS s."


def refuse_nondeterministic(
    text: Text, on: Fragment, start: int, what: str, hint: str = IN_SOURCE
) -> None:
    """AnalysisError for a nondeterministic function in what joins the rows.

    Spark may evaluate it several times. It begins at the offset ``start``.
    """
    found = first_nondeterministic(on, [on.tree])
    if found is not None:
        name, first = found
        text.analysis_error(
            f'{what} cannot use "{name}"',
            start + first,
            detail="It may be evaluated several times and must give one answer.",
            hint=hint,
        )


def _named(cursor: Cursor, statement: str) -> tuple[Fragment, str]:
    if not cursor.sees("("):
        if cursor.sees_any("VALUES", "TABLE", "LATERAL"):
            _refuse(cursor, statement)
        sampled = sampled_table(cursor)
        if sampled is not None:
            return sampled, sampled.tables[0].visible_name
        ref = cursor.table(alias=True)
        return table_fragment(cursor.source, ref), ref.visible_name
    start, offset = cursor.at, cursor.offset
    if not starts_query(cursor.parenthesised()):
        cursor.source.refuse(
            f"the source of {statement} is a table or a query in parentheses",
            offset,
            hint="Write (SELECT * FROM …) AS s.",
        )
    fragment = query(Cursor(cursor.source, start, cursor.at))
    if not cursor.accept("AS") and not cursor.sees_name():
        cursor.source.refuse(
            f"a query as the source of {statement} needs an alias",
            cursor.offset,
            hint="Write (…) AS s.",
        )
    return fragment, cursor.name("an alias").name


def _names(cursor: Cursor) -> tuple[Identifier, ...]:
    if not cursor.sees("("):
        return ()
    names = cursor.parenthesised().listed(lambda inside: inside.name("a column name"))
    refuse_duplicates(names, "the column list")
    return tuple(names)


def _refuse(cursor: Cursor, statement: str) -> None:
    cursor.source.refuse(
        f"the source of {statement} is one table or one query in parentheses, with an alias",
        cursor.offset,
        hint="Write (SELECT …) AS s, or (VALUES …) AS s (a, b).",
    )
