"""WITH: the names of its common table expressions, and which of them a text mentions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acidsql.grammar.cursor import Cursor, unquote
from acidsql.grammar.lexer import Kind, Token


@dataclass(frozen=True, slots=True)
class WithClause:
    """A WITH that begins at the token ``at``, and the tokens of each body by its name."""

    at: int
    bodies: Mapping[str, tuple[Token, ...]]

    def mentioned(self, tokens: Iterable[Token]) -> set[str]:
        """The expressions that these tokens may mention, and those that they mention in turn."""
        found: set[str] = set()
        new = _names(tokens) & self.bodies.keys()
        while new:
            found |= new
            new = {name for n in new for name in _names(self.bodies[n])} & self.bodies.keys()
            new -= found
        return found


def parse_with(cursor: Cursor) -> WithClause:
    """Step over a WITH. Its bodies are not parsed."""
    at = cursor.at
    bodies: dict[str, tuple[Token, ...]] = {}
    cursor.expect("WITH")
    cursor.accept("RECURSIVE")
    while not bodies or cursor.accept(","):
        name = cursor.name("the name of a common table expression").name.lower()
        if cursor.sees("("):
            cursor.parenthesised()
        cursor.accept("AS")
        body = cursor.parenthesised()
        bodies[name] = tuple(cursor.source.tokens[body.at : body.end])
    return WithClause(at, bodies)


def _names(tokens: Iterable[Token]) -> set[str]:
    return {unquote(t).lower() for t in tokens if t.kind in (Kind.WORD, Kind.QUOTED)}
