"""The line of a statement that an error is about, with a caret under the place."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from acidsql.errors import AcidSqlError
from acidsql.grammar.explain import EXPLAIN_WORDS
from acidsql.grammar.lexer import Kind, UnclosedError, lex

WIDTH = 100
"""Columns of a terminal that an excerpt takes at most, without its indentation."""
_INDENT = "  "
_CUT = "…"
_QUOTED_TEXT = "…"


def excerpt(text: str, line: int, column: int, first_line: int = 1, first_column: int = 1) -> str:
    r"""The line of a text at a place, and a caret below it, as two indented lines.

    The text begins at ``first_line:first_column`` of its script. Comments, the inside of strings
    and the value in SET are left out: each may hold a secret, and an excerpt may end in a log. A
    tab takes one column, a wide character two. A long line is cut around the place.

    >>> print(excerpt("UPDATE t\nSET\tv = 'x', w = WHERE id = 1", 2, 18))
      SET v = '…', w = WHERE id = 1
                       ^
    """
    row = line - first_line
    at = column - (first_column if row == 0 else 1)
    start = 0
    for _ in range(row):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    shown, place = _shown(text, start, end, min(start + max(at, 0), end))
    shown, place = _cut(shown, place)
    return f"{_INDENT}{shown.rstrip()}\n{_INDENT}{' ' * _width(shown[:place])}^"


def show_place(error: AcidSqlError, text: str, line: int = 1, column: int = 1) -> None:
    """Give an error the excerpt of the text at its place, if it has a place and no excerpt yet.

    ``line`` and ``column`` are the place of the text in its script.
    """
    if error.line is not None and error.excerpt is None:
        error.excerpt = excerpt(text, error.line, error.column or 1, line, column)


def _shown(text: str, start: int, end: int, offset: int) -> tuple[str, int]:
    """The text from ``start`` to ``end`` as it may be shown, and where ``offset`` is in it."""
    shown, place, at = "", None, start
    for first, last, hidden in _pieces(text, end):
        begin, stop = max(first, start), min(last, end)
        if stop <= at:
            continue
        gap = " " * (begin - at)
        if place is None and offset < stop:
            inside = offset - at if hidden is None or offset < begin else len(gap)
            place = len(shown) + inside
        shown += gap + (_plain(text[begin:stop]) if hidden is None else hidden)
        at = stop
    if place is None:
        place = len(shown) + offset - at
    return shown + " " * (end - at), place


def _pieces(text: str, end: int) -> Iterator[tuple[int, int, str | None]]:
    """Start and end of each piece that is not white space or a comment, up to an offset.

    With each comes what is shown in its place, or None if it may be shown as it is.
    """
    words: list[str] = []
    value_at: int | None = None
    try:
        for token in lex(text):
            if token.start >= end:
                break
            if token.text == ";":
                words, value_at = [], None
            hidden = token.kind in (Kind.STRING, Kind.HINT)
            shown = _hidden(token.text) if hidden else None
            yield token.start, token.end, _QUOTED_TEXT if value_at is not None else shown
            if words or token.word not in EXPLAIN_WORDS:
                words.append(token.word)
            if words[:1] == ["SET"] and token.text == "=":
                value_at = token.end
    except UnclosedError as error:
        yield error.offset, max(end, error.offset), text[error.offset] + _QUOTED_TEXT


def _hidden(token: str) -> str:
    """A string with nothing in it but a mark; a hint likewise.

    >>> _hidden("'secret'"), _hidden("r'secret'"), _hidden("''")
    ("'…'", "r'…'", "''")
    """
    if token.startswith("/*"):
        return f"/*+{_QUOTED_TEXT}*/"
    quote = token.index(token[-1])
    inside = _QUOTED_TEXT if len(token) > quote + 2 else ""
    return token[: quote + 1] + inside + token[-1]


def _plain(text: str) -> str:
    """A token's text without what would command a terminal; as many characters as before."""
    return "".join(
        " " if c in "\t\n\r" else "\ufffd" if unicodedata.category(c) in ("Cc", "Cf") else c
        for c in text
    )


def _cut(line: str, place: int) -> tuple[str, int]:
    """A piece of the line around the place, of `WIDTH` columns at most, and the place in it."""
    stripped = line.lstrip()
    place = max(0, place - (len(line) - len(stripped)))
    line = stripped
    if _width(line) <= WIDTH:
        return line, place
    begin, room = place, WIDTH // 2
    while begin > 0 and (room := room - _width(line[begin - 1])) > 0:
        begin -= 1
    end, room = begin, WIDTH - 2
    while end < len(line) and (room := room - _width(line[end])) >= 0:
        end += 1
    head, tail = _CUT if begin else "", _CUT if end < len(line) else ""
    return head + line[begin:end] + tail, place - begin + len(head)


def _width(text: str) -> int:
    r"""The columns that a terminal shows a text in.

    >>> _width("a表"), _width("e\N{COMBINING ACUTE ACCENT}")
    (3, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
