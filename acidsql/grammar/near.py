"""Keywords that a word may have been meant to be: hints, which change no statement."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from acidsql.grammar.lexer import Kind, Token

CLAUSES = (
    "BETWEEN", "DISTINCT", "EXISTS", "FROM", "GROUP", "HAVING", "INNER", "INSERT", "INTO", "JOIN",
    "LIKE", "LIMIT", "MATCHED", "ORDER", "OVERWRITE", "PARTITION", "SELECT", "TABLE", "THEN",
    "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE",
)  # fmt: skip
"""Keywords inside of statements. Words of fewer letters are close to too many names."""
_OTHERS = frozenset({"FORMATTED", "GROUPING", "TABLES"})
"""Keywords that are like one of `CLAUSES`."""
_ALSO_NAMES = frozenset(
    {"ANY", "COLLATE", "CROSS", "CUBE", "FETCH", "FOR", "INNER", "INTERSECT", "INTO", "LATERAL"}
    | {"MINUS", "OFFSET", "OUTER", "QUALIFY", "ROLLUP", "TABLESAMPLE", "USING", "VALUES", "WINDOW"}
    | {"ELSE", "THEN", "WHEN", "WITH"}
)
"""Keywords that Spark takes for names where no keyword can stand."""
_SHORTEST = 4
_CLOSE = 0.74
"""The least ratio of difflib: that of FORM to FROM is 0.75."""
_REACH = 3
"""How many tokens before the place of an error are looked at."""


def near_word(word: str, known: Sequence[str]) -> str | None:
    """The known word that is most like a word, or None if none is close or the word is known.

    Only words of the same first letter are close: few people mistype it.

    >>> near_word("SELCT", ["DELETE", "SELECT"]), near_word("reflect", ["SELECT"])
    ('SELECT', None)
    """
    word = word.upper()
    alike = [k for k in known if k[0] == word[:1]]
    return (
        next(iter(get_close_matches(word, alike, 1, _CLOSE)), None) if word not in alike else None
    )


def near_hint(word: str, known: Sequence[str]) -> str | None:
    """A question for the known word that is most like a word, or None if none is close."""
    near = near_word(word, known)
    return f"Did you mean {near}?" if near else None


def near_clause(tokens: Sequence[Token], index: int, *, expected: bool) -> str | None:
    """A question for a misspelt keyword at a token or shortly before, or None.

    A misspelt keyword is taken for an alias, so that the parser often stumbles over the next word.
    If it ``expected`` a certain word, the token itself is looked at first.

    >>> from acidsql.grammar.lexer import lex
    >>> near_clause(list(lex("SELECT a FROM t WEHRE b = 1")), 5, expected=False)
    'Did you mean WHERE in the place of WEHRE?'
    """
    before = [at for at in range(index - 1, index - 1 - _REACH, -1) if at >= 0]
    for at in [index, *before] if expected else [*before, index]:
        word = _misspelt(tokens, at)
        near = near_word(word, CLAUSES) if word else None
        if near is not None:
            return f"Did you mean {near} in the place of {word}?"
    return None


def name_hint(tokens: Sequence[Token], index: int) -> str | None:
    """What to do if the token, or the one before it, is meant for a name and is a keyword here."""
    for at in (index, index - 1):
        if 0 <= at < len(tokens) and tokens[at].word in _ALSO_NAMES:
            return f"If {tokens[at].text} is a name, put it in back quotes."
    return None


def _misspelt(tokens: Sequence[Token], at: int) -> str | None:
    """The token as a word that may be a misspelt keyword: no keyword, and no part of a name."""
    if at >= len(tokens) or tokens[at].kind is not Kind.WORD:
        return None
    neighbours = [tokens[n].text for n in (at - 1, at + 1) if 0 <= n < len(tokens)]
    word = tokens[at].text
    known = word.upper() in CLAUSES or word.upper() in _OTHERS
    return None if known or "." in neighbours or len(word) < _SHORTEST else word
