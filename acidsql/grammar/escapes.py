r"""Escapes inside of texts: their values, and texts that mean the same to Spark and to Hive.

Only Spark knows raw texts, as ``r'\d'``, and characters by eight hexadecimal digits, as
``'\U0001F600'``. To Hive that is U0001F600 (BaseSemanticAnalyzer.unescapeSQLString).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from acidsql.grammar.lexer import Kind, Source, lex

_ESCAPE = re.compile(
    r"""\\(?:u(?P<unit>[0-9a-fA-F]{4}) | U(?P<code>[0-9a-fA-F]{8}) | (?P<octal>[01][0-7]{2})
        | (?P<other>.))""",
    re.VERBOSE | re.DOTALL,
)
_OTHERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_RAW = ("r", "R")
_HALF = re.compile("[\ud800-\udfff]")


def string_value(literal: str) -> str:
    r"""The value of a string literal, by the rules of Spark's unescapeSQLString.

    ValueError for what is no character, as ``\U00110000``, or half of one, as ``\ud83d``: Spark
    makes other characters of it.

    >>> string_value(r"'it\'s\t\u0041 100\%'")
    "it's\tA 100\\%"
    """
    if literal.startswith(_RAW):
        return literal[2:-1]
    units = _ESCAPE.sub(_value, literal[1:-1])
    # '\ud83d\ude00' has two halves of one character.
    text = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if "\\u" in literal.lower() and _HALF.search(text):
        raise ValueError("a text with half of a character")
    return text


def refuse_no_characters(source: Source) -> None:
    """Raise SqlSyntaxError for a text that `string_value` refuses."""
    if "\\u" not in source.text.lower():
        return
    for token in source.tokens:
        if token.kind is Kind.STRING:
            try:
                string_value(token.text)
            except ValueError as error:
                source.syntax_error(str(error), token.start)


def hive_escapes(text: str) -> str:
    r"""The text of a query or an expression with escapes that Hive knows.

    >>> hive_escapes(r"c LIKE r'\d' || '\n\U0001F600'")
    "c LIKE '\\\\d' || '\\n\\ud83d\\ude00'"
    """
    return _with_texts(text, _of_hive)


def spark_escapes(text: str) -> str:
    r"""The text of a query or an expression of Hive's without escapes that only Spark knows.

    >>> spark_escapes(r"'\n\U0001F600'")
    "'\\nU0001F600'"
    """
    return _with_texts(text, _of_spark)


def _value(escape: re.Match[str]) -> str:
    digits = escape["unit"] or escape["code"]
    if digits:
        if int(digits, 16) > sys.maxunicode:
            raise ValueError(f"there is no character {escape[0]}")
        return chr(int(digits, 16))
    if escape["octal"]:
        return chr(int(escape["octal"], 8))
    # Spark keeps the backslash of \% and \_: LIKE needs it.
    other = escape["other"]
    return escape[0] if other in "%_" else _OTHERS.get(other, other)


def _with_texts(text: str, changed: Callable[[str], str]) -> str:
    """The text with each of its literals ``changed``."""
    pieces, at = [], 0
    if "\\" in text or any(letter + quote in text for letter in _RAW for quote in "'\""):
        for token in lex(text):
            if token.kind is Kind.STRING:
                pieces += [text[at : token.start], changed(token.text)]
                at = token.end
    return "".join([*pieces, text[at:]])


def _of_spark(literal: str) -> str:
    if literal.startswith(_RAW):
        return literal
    return _ESCAPE.sub(lambda escape: escape[0][1:] if escape["code"] else escape[0], literal)


def _of_hive(literal: str) -> str:
    if literal.startswith(_RAW):
        return literal[1:].replace("\\", r"\\")
    return _ESCAPE.sub(lambda escape: _units(escape) if escape["code"] else escape[0], literal)


def _units(escape: re.Match[str]) -> str:
    r"""The character of ``\U…`` by four digits at a time, as Hive reads them: in UTF-16."""
    if int(escape["code"], 16) > sys.maxunicode:
        return escape[0]  # an old catalog may hold it
    units = _value(escape).encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
