"""WITH: its common table expressions, and which of them a text mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acidsql.errors import AnalysisError
from acidsql.grammar.cursor import Cursor, unquote
from acidsql.grammar.fragment import query
from acidsql.grammar.insert import refuse_duplicates
from acidsql.grammar.lexer import Kind, Token
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.with_clause import CommonTable


@dataclass(frozen=True, slots=True)
class Body:
    """``name [(columns)] AS (…)`` of a WITH: the tokens from ``at`` up to ``end`` are its query.

    ``level_at`` is the offset of a MAX RECURSION LEVEL, or None.
    """

    name: Identifier
    columns: tuple[Identifier, ...]
    at: int
    end: int
    level_at: int | None = None


@dataclass(frozen=True, slots=True)
class WithClause:
    """A WITH that begins at the token ``at``. Its queries are not parsed."""

    at: int
    bodies: tuple[Body, ...]
    is_recursive: bool

    @property
    def names(self) -> frozenset[str]:
        """The names of the expressions, in lower case."""
        return frozenset(body.name.name.lower() for body in self.bodies)

    def mentioned(self, cursor: Cursor) -> set[str]:
        """The expressions that these tokens may mention, and those that they mention in turn."""
        tokens = cursor.source.tokens
        of_body = {b.name.name.lower(): _words(tokens[b.at : b.end]) for b in self.bodies}
        found: set[str] = set()
        new = _words(tokens[cursor.at : cursor.end]) & of_body.keys()
        while new:
            found |= new
            new = {word for name in new for word in of_body[name]} & of_body.keys()
            new -= found
        return found


def parse_with(cursor: Cursor) -> WithClause:
    """Step over a WITH."""
    at = cursor.at
    cursor.expect("WITH")
    is_recursive = cursor.accept("RECURSIVE")
    bodies = [_body(cursor)]
    while cursor.accept(","):
        bodies.append(_body(cursor))
    return WithClause(at, tuple(bodies), is_recursive)


def _body(cursor: Cursor) -> Body:
    name = cursor.name("the name of a common table expression")
    columns: list[Identifier] = []
    if cursor.sees("("):
        columns = cursor.parenthesised().listed(lambda inside: inside.name("a column name"))
    level_at = cursor.offset if cursor.sees("MAX", "RECURSION", "LEVEL") else None
    if cursor.accept("MAX", "RECURSION", "LEVEL"):
        cursor.integer("a number of levels")
    cursor.accept("AS")
    inside = cursor.parenthesised()
    return Body(name, tuple(columns), inside.at, inside.end, level_at)


def parse_common_tables(cursor: Cursor) -> tuple[CommonTable, ...]:
    """Parse a WITH and its queries. What is parsed from then on may name the expressions."""
    with_, source = parse_with(cursor), cursor.source
    tables = []
    for body in with_.bodies:
        name = body.name.name.lower()
        if name in source.common_tables:
            raise AnalysisError(
                f'"{body.name.name}" is the name of two common table expressions',
                line=body.name.line,
                column=body.name.column,
            )
        refuse_duplicates(list(body.columns), f'the columns of "{body.name.name}"')
        if body.level_at is not None:
            source.refuse(
                "MAX RECURSION LEVEL in front of UPDATE, DELETE or MERGE is not supported",
                body.level_at,
                hint="Set spark.sql.cteRecursionLevelLimit on the Spark session.",
            )
        if with_.is_recursive:
            source.common_tables.add(name)
        rows = query(Cursor(source, body.at, body.end))
        source.common_tables.add(name)
        tables.append(CommonTable(body.name, body.columns, rows, with_.is_recursive))
    return tuple(tables)


def refuse_common_target(cursor: Cursor, target: TableRef) -> None:
    """Refuse to change a table that has the name of a common table expression."""
    if target.database is None and target.table.lower() in cursor.source.common_tables:
        cursor.source.refuse(
            f'"{target.table}" is a common table expression, which cannot be changed',
            target.start,
            hint="If the table is meant, write its database, too, or rename the expression.",
        )


def _words(tokens: Iterable[Token]) -> set[str]:
    return {unquote(t).lower() for t in tokens if t.kind in (Kind.WORD, Kind.QUOTED)}
