"""The cursor: walks over the tokens of a statement and reads names, strings and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from acidsql.grammar.escapes import string_value
from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.grammar.near import near_clause
from acidsql.statements.fragment import Identifier, TableRef

T = TypeVar("T")

_OPEN = {"(": ")", "[": "]"}
_BRACKETS = frozenset("()[]")
_RESERVED = frozenset(
    {"AND", "AS", "BY", "CROSS", "FROM", "FULL", "GROUP", "HAVING", "INNER", "INTO", "JOIN"}
    | {"LEFT", "LIMIT", "NATURAL", "ON", "OR", "ORDER", "OUTER", "PARTITION", "RETURNING", "RIGHT"}
    | {"SELECT", "SET", "TABLESAMPLE", "THEN", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITH"}
)
"""Words that are names only in quotes, so that a misspelt clause is not taken for an alias."""

_LARGEST = 2**63 - 1
_END = Token(Kind.SYMBOL, "", 0, 0)


class Cursor:
    """The tokens of a statement from ``at`` up to ``end``."""

    def __init__(self, source: Source, at: int = 0, end: int | None = None) -> None:
        self.source = source
        self.at = at
        self.end = len(source.tokens) if end is None else end

    def peek(self, ahead: int = 0) -> Token:
        """The token ``ahead`` of the next one; an empty symbol beyond the end."""
        index = self.at + ahead
        if index < self.end:
            return self.source.tokens[index]
        return _END._replace(start=self.offset_at_end, end=self.offset_at_end)

    @property
    def offset_at_end(self) -> int:
        """The offset at which a token that is missing at the end would stand."""
        if self.end < len(self.source.tokens):
            return self.source.tokens[self.end].start
        return self.source.tokens[self.end - 1].end if self.end else 0

    @property
    def offset(self) -> int:
        """The offset of the next token."""
        return self.peek().start

    @property
    def done(self) -> bool:
        """Whether no token is left."""
        return self.at >= self.end

    def sees(self, *words: str) -> bool:
        """Whether these words or symbols are next."""
        for ahead, word in enumerate(words):
            token = self.peek(ahead)
            if token.word != word and not _is_symbol(token, word):
                return False
        return True

    def sees_any(self, *words: str) -> bool:
        """Whether one of these words is next."""
        return self.peek().word in words

    def accept(self, *words: str) -> bool:
        """Step over these words or symbols if they are next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def skip_hint(self) -> None:
        """Step over a hint behind the first word of a write. It says how, which Spark decides."""
        if not self.done and self.peek().kind is Kind.HINT:
            self.at += 1

    def expect(self, *words: str) -> None:
        """Step over these words or symbols, or raise SqlSyntaxError."""
        for word in words:
            if not self.accept(word):
                self.unexpected(f"expected {word}")

    def expect_end(self) -> None:
        """Raise SqlSyntaxError if a token is left."""
        if not self.done:
            self.unexpected("expected the end of the statement")

    def unexpected(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Raise SqlSyntaxError at the next token."""
        index, tokens = min(self.at, self.end), self.source.tokens
        text = tokens[index].text if index < len(tokens) else ";"
        found = "the end of the text" if text == ";" else f'"{_short(text)}"'
        hint = hint or near_clause(tokens, index, expected=True)
        self.source.syntax_error(f"{message}, found {found}", self.offset, hint=hint)

    def missing(self, what: str) -> NoReturn:
        """Raise SqlSyntaxError: something is missing behind the token before the next one."""
        before = self.source.tokens[self.at - 1].text if self.at else ""
        self.unexpected(f'expected {what} after "{before}"' if before else f"expected {what}")

    def refuse_words(self, statement: str, words: Sequence[str], hint: str) -> None:
        """Raise UnsupportedStatementError if one of these words of a statement is next."""
        for word in words:
            if self.sees(word):
                self.source.refuse(f"{statement} … {word} is not supported", self.offset, hint=hint)

    def refuse_rest(self, statement: str, form: str) -> None:
        """Raise UnsupportedStatementError if a token is left. ``form`` is what may be written."""
        if not self.done:
            word = self.peek().text.upper()
            fact = f"{statement} … {word} is not supported here"
            self.source.refuse(fact, self.offset, hint=f"Write {form}.")

    def step(self) -> Token:
        """Step over the next token, and return it."""
        token = self.peek()
        self.at += 1
        return token

    def sees_name(self) -> bool:
        """Whether a name is next: a quoted name or a word that is not reserved."""
        token = self.peek()
        if token.kind is Kind.WORD:
            return token.word not in _RESERVED
        return token.kind is Kind.QUOTED

    def name(self, what: str = "a name") -> Identifier:
        """Step over the next token, a name."""
        if not self.sees_name():
            hint = "Put the name in back quotes." if self.peek().word else None
            self.unexpected(f"expected {what}", hint=hint)
        self.refuse_identifier_clause()
        token = self.step()
        line, column = self.source.place(token.start)
        return Identifier(unquote(token), line, column)

    def refuse_identifier_clause(self) -> None:
        """Refuse Spark's ``IDENTIFIER('…')`` in the place of a name."""
        inside = self.peek(2)
        is_value = inside.kind is Kind.STRING or _is_symbol(inside, ":", "?")
        if self.sees("IDENTIFIER", "(") and is_value:
            self.source.refuse(
                "IDENTIFIER(…) is not supported", self.offset, hint="Write the name itself."
            )

    def string(self, what: str = "a string") -> str:
        """Step over a string literal. Returns its value."""
        token = self.peek()
        if token.kind is not Kind.STRING:
            self.unexpected(f"expected {what}")
        self.step()
        if self.peek().kind is Kind.STRING:
            self.source.refuse(
                "two strings in a row are not joined here",
                self.offset,
                hint="Write one string; a quote inside it is \\'.",
            )
        return string_value(token.text)

    def integer(self, what: str) -> int:
        """Step over a whole number, of 64 bits at most. Returns its value."""
        token = self.peek()
        if token.kind is not Kind.NUMBER or not token.text.isdigit():
            self.unexpected(f"expected {what}")
        # No store takes a larger number, and Python takes no text of thousands of digits for one.
        digits = token.text.lstrip("0")
        if len(digits) > len(str(_LARGEST)) or int(digits or "0") > _LARGEST:
            self.unexpected(f"expected {what} up to {_LARGEST}")
        self.step()
        return int(digits or "0")

    def names_in_parentheses(self) -> tuple[Identifier, ...]:
        """Step over ``(a, b, …)``. Returns the names."""
        self.expect("(")
        names = [self.name("a column")]
        while self.accept(","):
            names.append(self.name("a column"))
        self.expect(")")
        return tuple(names)

    def table(self, *, alias: bool = False) -> TableRef:
        """Step over a table name; with ``alias`` also over an optional alias."""
        start, parts = self.offset, self._parts("a table name")
        end = self.source.tokens[self.at - 1].end
        given = None
        if alias and (self.accept("AS") or self.sees_name()):
            given = self.name("an alias").name
        return self._table_of(parts, start, end, given)

    def table_and_column(self) -> tuple[TableRef, Identifier]:
        """Step over ``t.c`` or ``db.t.c``: a table and its column."""
        start, parts = self.offset, self._parts("a table and its column")
        if len(parts) == 1:
            self.missing("a dot and the name of a column")
        end = self.source.tokens[self.at - 3].end
        return self._table_of(parts[:-1], start, end), parts[-1]

    def _parts(self, what: str) -> list[Identifier]:
        parts = [self.name(what)]
        while self.accept("."):
            parts.append(self.name("a name"))
        return parts

    def _table_of(
        self, parts: Sequence[Identifier], start: int, end: int, alias: str | None = None
    ) -> TableRef:
        if len(parts) > 2:
            refuse_catalog(self.source, start)
        return TableRef(
            database=parts[0].name if len(parts) == 2 else None,
            table=parts[-1].name,
            alias=alias,
            start=start,
            end=end,
            line=parts[0].line,
            column=parts[0].column,
        )

    def until(self, *words: str) -> Cursor:
        """Step over the tokens before the first of these words. Returns a cursor over them.

        Words inside parentheses or CASE … END do not count, nor does the FROM of DISTINCT FROM, nor
        the name of a field or a parameter.
        """
        tokens, start, cases, before = self.source.tokens, self.at, 0, ""
        while self.at < self.end:
            token = tokens[self.at]
            is_word = token.kind is Kind.WORD
            text = token.text.upper() if is_word else token.text
            if is_word or token.kind is Kind.SYMBOL:
                if before not in (".", ":"):
                    is_joined = text == "FROM" and before == "DISTINCT"
                    if cases == 0 and text in words and not is_joined:
                        break
                    cases = max(0, cases + (text == "CASE") - (text == "END"))
                if text in _BRACKETS:
                    self.skip()
                    before = ")"
                    continue
            before = text
            self.at += 1
        return Cursor(self.source, start, self.at)

    def skip(self) -> None:
        """Step over one token, or over a pair of parentheses with everything in it."""
        opener = self.step()
        if opener.kind is not Kind.SYMBOL:
            return
        if opener.text in (")", "]"):
            self.source.syntax_error(f'unmatched "{opener.text}"', opener.start)
        if opener.text not in _OPEN:
            return
        closers = [_OPEN[opener.text]]
        while closers:
            if self.done:
                self.source.syntax_error(f'unclosed "{opener.text}"', opener.start)
            token = self.step()
            if token.kind is not Kind.SYMBOL:
                continue
            if token.text in _OPEN:
                closers.append(_OPEN[token.text])
            elif token.text in (")", "]") and token.text != closers.pop():
                self.source.syntax_error(f'unmatched "{token.text}"', token.start)

    def parenthesised(self) -> Cursor:
        """Step over a pair of parentheses. Returns a cursor over the tokens inside."""
        if not self.sees("("):
            self.unexpected("expected (")
        start = self.at
        self.skip()
        return Cursor(self.source, start + 1, self.at - 1)

    def listed(self, read: Callable[[Cursor], T]) -> list[T]:
        """What ``read`` makes of each item of the rest, between commas; one at the least."""
        found = [read(self)]
        while self.accept(","):
            found.append(read(self))
        if not self.done:
            self.unexpected('expected "," or ")"')
        return found

    def items(self) -> list[Cursor]:
        """Step over the rest. Returns a cursor for each item between commas."""
        parts = [self.until(",")]
        while self.accept(","):
            parts.append(self.until(","))
        for part in parts:
            if part.done:
                part.missing("a value")
        return parts


def unquote(token: Token) -> str:
    """The name that a token stands for, without back quotes."""
    return token.text[1:-1].replace("``", "`") if token.kind is Kind.QUOTED else token.text


def refuse_catalog(source: Source, offset: int) -> NoReturn:
    """Raise UnsupportedStatementError for a name of three or more parts."""
    source.refuse(
        "a table name has at most two parts",
        offset,
        hint="Name the table as database.table; catalogs are not supported.",
    )


def _is_symbol(token: Token, *symbols: str) -> bool:
    return token.kind is Kind.SYMBOL and bool(token.text) and token.text in symbols


def _short(text: str) -> str:
    return text if len(text) <= 20 else text[:19] + "…"
