"""Text → tokens with exact places, by the rules of Spark's lexer; comments are no tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import NamedTuple, NoReturn

from acidsql.errors import AnalysisError, SqlSyntaxError, UnsupportedStatementError


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    HINT = "hint"
    SYMBOL = "symbol"


class Token(NamedTuple):
    """A token at ``start:end`` of the text."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in upper case; "" for anything but an unquoted word."""
        return self.text.upper() if self.kind is Kind.WORD else ""


# Rules of SqlBaseLexer.g4. A line that ends in a backslash continues its `--` comment; a raw
# string knows no escapes; a number is longer than the word that starts with its digits.
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--(?:\\\r?\n|[^\r\n])*)
    | (?P<bracket>/\*(?!\+))
    | (?P<hint>/\*\+.*?\*/)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<number>(?:\d+\.?\d*|(?<![\w`)\]])\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYdDfF])?(?!\w))
    | (?P<word>\w+)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*(?!\+)|\*/")
_PLAIN_HINT = re.compile(r"/\*\+(?:`[^`]*`|(?!--|/\*)[^'\"`])*?\*/")
"""A hint that ends for Spark too at its first ``*/``: none in a string or comment inside of it is,
which Spark would read over, and take for statement what is a string or comment here."""
_KINDS = {
    "raw": Kind.STRING,
    "string": Kind.STRING,
    "quoted": Kind.QUOTED,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "hint": Kind.HINT,
    "symbol": Kind.SYMBOL,
}
_UNCLOSED = {"'": "string", '"': "string", "`": "back quote"}


class UnclosedError(Exception):
    """A quote or comment that starts at ``offset`` has no end."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(f"unclosed {what}")
        self.offset = offset


def lex(text: str) -> Iterator[Token]:
    """The tokens in order; raises UnclosedError where a quote or comment is not closed.

    >>> [token.text for token in lex("a /* ; */ = 'b;' -- c")]
    ['a', '=', "'b;'"]
    """
    at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        group = match.lastgroup or ""
        if group == "bracket":
            at = _bracket_end(text, match.start())
        elif group not in ("space", "comment"):
            token = match.group()
            if group == "symbol":
                if token in _UNCLOSED:
                    raise UnclosedError(_UNCLOSED[token], match.start())
                if text.startswith("/*+", match.start()):
                    raise UnclosedError("hint", match.start())
            elif group == "hint" and not _PLAIN_HINT.fullmatch(token):
                raise UnclosedError("hint, in which a string or a comment begins", match.start())
            yield Token(_KINDS[group], token, match.start(), at)


def _bracket_end(text: str, start: int) -> int:
    """Where the comment that starts here ends; comments nest, hints inside them do not."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    raise UnclosedError("comment", start)


_VARIABLE = re.compile(r"\$\{[^}$ :]+:[^}$ ]*\}")
"""What Hive replaces wherever it stands, in quotes too (VariableSubstitution); so does Spark.

Without a prefix it is left as it is by both where no such variable is set, and here none can be.
"""


class Source:
    """A statement's text, its tokens, and where it stands in a script.

    ``reflection`` allows the functions that call any method of Java. Raises SqlSyntaxError for an
    open quote or comment, UnsupportedStatementError for a variable of Hive's outside of comments.
    """

    def __init__(
        self, text: str, line: int = 1, column: int = 1, *, reflection: bool = False
    ) -> None:
        self.text = text
        self.line = line
        self.column = column
        self.reflection = reflection
        try:
            self.tokens = list(lex(text))
        except UnclosedError as error:
            self.syntax_error(str(error), error.offset)
        variable = _VARIABLE.search(self.code)
        if variable is not None:
            self.refuse(
                f"variables are not supported: {variable[0]}",
                variable.start(),
                hint="Write the value itself, or :name and pass args; '$' || '{…}' is this text.",
            )

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    @cached_property
    def code(self) -> str:
        """The text with comments blanked, so that places stay the same."""
        parts, at = [], 0
        for token in self.tokens:
            parts += [_blank(self.text[at : token.start]), token.text]
            at = token.end
        return "".join([*parts, _blank(self.text[at:])])

    @cached_property
    def question_marks(self) -> dict[int, int]:
        """Place of each ``?`` → its number, from 1."""
        places = (t.start for t in self.tokens if t.kind is Kind.SYMBOL and t.text == "?")
        return {place: number for number, place in enumerate(places, 1)}

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, in the script, of a place in the text."""
        row = bisect_right(self._line_starts, offset) - 1
        column = offset - self._line_starts[row]
        return self.line + row, column + (self.column if row == 0 else 1)

    def syntax_error(self, message: str, offset: int, *, hint: str | None = None) -> NoReturn:
        """Raise SqlSyntaxError at this place."""
        line, column = self.place(offset)
        raise SqlSyntaxError(message, hint=hint, line=line, column=column)

    def analysis_error(self, message: str, offset: int, *, hint: str | None = None) -> NoReturn:
        """Raise AnalysisError at this place."""
        line, column = self.place(offset)
        raise AnalysisError(message, hint=hint, line=line, column=column)

    def refuse(
        self, message: str, offset: int, *, hint: str | None = None, code: int | None = None
    ) -> NoReturn:
        """Raise UnsupportedStatementError at this place."""
        line, column = self.place(offset)
        raise UnsupportedStatementError(message, hint=hint, code=code, line=line, column=column)


def _blank(gap: str) -> str:
    return "".join(c if c.isspace() else " " for c in gap)
