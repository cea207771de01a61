"""Text → tokens with exact places, by the rules of Spark's lexer. Comments are left out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import NamedTuple, NoReturn

from acidsql.errors import AnalysisError, SqlSyntaxError, UnsupportedStatementError
from acidsql.grammar.replaced import Replaced
from acidsql.grammar.runs import end_of_items, end_of_rows


class Kind(Enum):
    """The kinds of tokens."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    HINT = "hint"
    RUN = "run"
    """Many constants in one token (`runs`)."""
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


# The rules are those of Spark's SqlBaseLexer.g4. A backslash at the end of a line continues a `--`
# comment. A raw string has no escapes. Digits that a letter follows, as in 1st, begin a word.
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--(?:\\\r?\n|[^\r\n])*)
    | (?P<bracket>/\*(?!\+))
    | (?P<hint>/\*\+.*?\*/)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<number>(?:[0-9]+\.?[0-9]*|(?<![\w`)\]])\.[0-9]+)(?:[eE][+-]?[0-9]+)?
        (?:[bB][dD]|[lLsSyYdDfF])?(?!\w))
    | (?P<word>\w+)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*(?!\+)|\*/")
_PLAIN_HINT = re.compile(r"/\*\+(?:`[^`]*`|(?!--|/\*)[^'\"`])*?\*/")
"""A hint that ends at its first ``*/`` for Spark, too.

Spark reads strings and comments inside of a hint: a ``*/`` in one of them does not end the hint.
Other hints are refused, since Spark would take a part of the hint for the statement, or the other
way round.
"""
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


def lex(text: str, *, runs: bool = False) -> Iterator[Token]:
    """The tokens in order. With ``runs`` a run of constants is one token.

    Raises UnclosedError for a quote, hint or comment without an end.

    >>> [token.text for token in lex("a /* ; */ = 'b;' -- c")]
    ['a', '=', "'b;'"]
    """
    at, before = 0, ""
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
                raise UnclosedError("hint: a string or a comment begins inside", match.start())
            yield Token(_KINDS[group], token, match.start(), at)
            if runs and (token[0] == "(" or group == "word"):
                run = _run(text, at, before, token)
                if run is not None:
                    yield run
                    at = run.end
                before = token


def _run(text: str, at: int, before: str, word: str) -> Token | None:
    """The run of constants behind two words or symbols; None if there is none."""
    end = None
    if word[0] == "(" and before.upper() == "IN":
        end = end_of_items(text, at)
    elif word.upper() == "VALUES":
        end = end_of_rows(text, at)
    if end is None:
        return None
    while text[at].isspace():
        at += 1
    return Token(Kind.RUN, text[at:end], at, end)


def _bracket_end(text: str, start: int) -> int:
    """The end of the comment that starts at ``start``. Comments nest; hints inside do not."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    raise UnclosedError("comment", start)


_PREFIXED = re.compile(r"\$\{[^}$ :]+:[^}$ ]*\}")
"""A variable like ``${hivevar:a}``. Hive replaces it even in quotes."""
_VARIABLE = re.compile(r"\$\{[^}$ ]+\}")


class Source:
    """A statement's text, its tokens, and its place in a script.

    ``reflection`` allows the functions that call any method of Java. All places are those of what
    was written, also if variables were replaced in the text.

    Raises SqlSyntaxError for an unclosed quote or comment, and for a value of a variable that would
    end the statement or begin a comment. Raises UnsupportedStatementError for a variable that was
    not replaced, unless it stands in a comment. ``${a}`` without a prefix may also stand in quotes,
    as in Hive.
    """

    def __init__(
        self,
        text: str | Replaced,
        line: int = 1,
        column: int = 1,
        *,
        reflection: bool = False,
    ) -> None:
        self._replaced = text if isinstance(text, Replaced) else None
        self.text = text.text if isinstance(text, Replaced) else text
        self.line = line
        self.column = column
        self.reflection = reflection
        self.parameters: dict[int, str] = {}
        """Offset of each parameter that was parsed → its name; the n-th ``?`` is called ``_n``."""
        self.common_tables: set[str] = set()
        """The common table expressions that have been parsed in front of the statement, in lower
        case. What is parsed from then on may name them.
        """
        try:
            self.tokens = list(lex(self.text, runs=True))
        except UnclosedError as error:
            self.syntax_error(str(error), error.offset)
        if self._replaced is not None and self._replaced.has_values:
            self._refuse_breaking_values(self._replaced)
        # SET takes a text as it is, and few others have a variable that was not replaced.
        if "${" in self.text and self.tokens and self.tokens[0].word != "SET":
            self._refuse_variables()

    def _refuse_breaking_values(self, replaced: Replaced) -> None:
        """SqlSyntaxError for a value that ends the statement, or begins a comment."""
        at = 0
        for token in [*self.tokens, None]:
            end = len(self.text) if token is None else token.start
            for piece, piece_end in replaced.pieces_between(at, end):
                if piece.is_value and self.text[piece.start : piece_end].strip():
                    self._refuse_value(piece.start, "begins a comment")
            if token is None:
                return
            if token.text == ";" and replaced.piece_at(token.start).is_value:
                self._refuse_value(token.start, "has a semicolon outside of quotes")
            at = token.end

    def _refuse_value(self, offset: int, what: str) -> NoReturn:
        assert self._replaced is not None
        variable = _VARIABLE.match(self._replaced.written, self._replaced.source_of(offset))
        self.syntax_error(
            f"the value of {variable[0] if variable else 'a variable'} {what}",
            offset,
            hint="A value can be a part of one statement only.",
        )

    def _refuse_variables(self) -> None:
        """UnsupportedStatementError for a variable that was not replaced."""
        starts = [t.start for t in self.tokens if t.kind is Kind.SYMBOL and t.text == "$"]
        found = [m for start in starts if (m := _VARIABLE.match(self.code, start))]
        found += [m for m in [_PREFIXED.search(self.code)] if m]
        if not found:
            return
        variable = min(found, key=lambda match: match.start())
        if self._replaced is not None:
            name = variable[0][2:-1]
            self.refuse(
                f"the variable {variable[0]} has no value",
                variable.start(),
                hint="Scripts see the environment only where connect is given the property"
                " acidsql.allow.environment = true."
                if name.startswith(("env:", "system:"))
                else f"SET {name if ':' in name else 'hivevar:' + name} = value gives it one.",
            )
        self.refuse(
            f"variables are not replaced here: {variable[0]}",
            variable.start(),
            hint="Write :name and pass args, or the value itself. Scripts replace variables, unless"
            " hive.variable.substitute is false. For the text itself, write '$' || '{…}'.",
        )

    @cached_property
    def _line_starts(self) -> list[int]:
        text = self.text if self._replaced is None else self._replaced.written
        return [0, *(m.end() for m in re.finditer("\n", text))]

    @cached_property
    def code(self) -> str:
        """The text with spaces in the place of comments, so that all offsets stay the same."""
        parts, at = [], 0
        for token in self.tokens:
            parts += [_blank(self.text[at : token.start]), token.text]
            at = token.end
        return "".join([*parts, _blank(self.text[at:])])

    @cached_property
    def question_marks(self) -> dict[int, int]:
        """Offset of each ``?`` → its number, from 1."""
        places = (t.start for t in self.tokens if t.kind is Kind.SYMBOL and t.text == "?")
        return {place: number for number, place in enumerate(places, 1)}

    def index_at(self, offset: int) -> int:
        """The index of the first token that ends behind an offset."""
        return bisect_right(self.tokens, offset, key=lambda token: token.end)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, in the script, of what stands at an offset in the text."""
        if self._replaced is not None:
            offset = self._replaced.source_of(offset)
        row = bisect_right(self._line_starts, offset) - 1
        column = offset - self._line_starts[row]
        return self.line + row, column + (self.column if row == 0 else 1)

    def syntax_error(self, message: str, offset: int, *, hint: str | None = None) -> NoReturn:
        """Raise SqlSyntaxError with the line and column of an offset."""
        line, column = self.place(offset)
        raise SqlSyntaxError(message, hint=hint, line=line, column=column)

    def analysis_error(
        self,
        message: str,
        offset: int,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: int | None = None,
    ) -> NoReturn:
        """Raise AnalysisError with the line and column of an offset."""
        line, column = self.place(offset)
        raise AnalysisError(message, detail=detail, hint=hint, code=code, line=line, column=column)

    def refuse(
        self, message: str, offset: int, *, hint: str | None = None, code: int | None = None
    ) -> NoReturn:
        """Raise UnsupportedStatementError with the line and column of an offset."""
        line, column = self.place(offset)
        raise UnsupportedStatementError(message, hint=hint, code=code, line=line, column=column)


def _blank(gap: str) -> str:
    return "".join(c if c.isspace() else " " for c in gap)
