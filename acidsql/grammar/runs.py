"""Long runs of plain constants: the rows of a VALUES list, the items of ``IN (…)``.

The lexer makes one token of each run, since a statement may have many thousands of constants. A
constant is plain if its text says its value without more: a number of up to 20 digits before the
point, a string without a backslash, and, in rows, NULL, TRUE, FALSE, ``DATE '…'`` and
``TIMESTAMP '…'``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

RUN_MIN = 32
"""The fewest rows or items of a run. Errors can be placed better in what is no run."""

_NUMBER = r"(?:-\s*)?\d{1,20}(?:\.\d{1,18})?"
_STRING = r"""'[^'\\]*'|"[^"\\]*\""""
_DAY = (
    r"(?!0000)\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
"""A day that there is. 29 February is left to others, which know the leap years."""
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{0,5}[1-9])?"
"""A time as Spark writes it, which a column of texts gets."""
_CELL = (
    rf"(?:{_NUMBER}|{_STRING}|(?:NULL|TRUE|FALSE)(?!\w)|DATE\s*'{_DAY}'"
    rf"|TIMESTAMP\s*'{_DAY} {_TIME}')"
)
_ROW = re.compile(rf"\s*\(\s*{_CELL}\s*(?:,\s*{_CELL}\s*)*\)", re.IGNORECASE | re.ASCII)
_COMMA = re.compile(r"\s*,")
_ITEM = rf"\s*(?:{_NUMBER}|{_STRING})\s*"
_ITEMS = re.compile(rf"(?:{_ITEM},){{1,1000}}", re.ASCII)
_ITEMS_AHEAD = re.compile(rf"(?:{_ITEM},){{{RUN_MIN - 1}}}", re.ASCII)
_LAST_ITEM = re.compile(rf"{_ITEM}(?=\))", re.ASCII)
_VALUE = re.compile(
    rf"(?:(?:DATE|TIMESTAMP)\s*)?(?P<string>{_STRING})|(?P<number>{_NUMBER})|[a-z]+",
    re.IGNORECASE | re.ASCII,
)

PlainValue = None | bool | int | str | Decimal


def end_of_rows(text: str, at: int) -> int | None:
    """Where a run of rows that begins at an offset ends, behind its last ``)``; None for no run.

    >>> end_of_rows("(1)," * 40 + "(now())", 0), end_of_rows("(1), (2)", 0)
    (159, None)
    """
    rows, end = 0, at
    while row := _ROW.match(text, at):
        rows, end = rows + 1, row.end()
        comma = _COMMA.match(text, end)
        if comma is None:
            break
        at = comma.end()
    return end if rows >= RUN_MIN else None


def end_of_items(text: str, at: int) -> int | None:
    """Where a run of items that begins at an offset and fills its parentheses ends, or None.

    >>> end_of_items("1, " * 40 + "'x')", 0), end_of_items("1, 2)", 0)
    (123, None)
    """
    start = at
    if not _ITEMS_AHEAD.match(text, at):
        return None
    while items := _ITEMS.match(text, at):
        at = items.end()
    last = _LAST_ITEM.match(text, at)
    is_long = last is not None and text.count(",", start, at) >= RUN_MIN - 1
    return last.end() if last is not None and is_long else None


def values_of(run: str) -> Iterator[tuple[int, int, PlainValue]]:
    """The values of a run, each with its start and end in the run.

    >>> list(values_of("1, -2.50, 'x'"))
    [(0, 1, 1), (3, 8, Decimal('-2.50')), (10, 13, 'x')]
    """
    for match in _VALUE.finditer(run):
        kind = match.lastgroup
        text = match[0]
        if kind == "number":
            yield *match.span(), _number(text)
        elif kind == "string":
            yield *match.span(), match["string"][1:-1]
        elif kind is None:
            word = text.upper()
            yield *match.span(), None if word == "NULL" else word == "TRUE"


def rows_of(run: str) -> Iterator[tuple[int, list[tuple[int, int, PlainValue]]]]:
    """The rows of a run, each with its offset in the run, as `values_of` gives their values.

    >>> list(rows_of("(1), (NULL)"))
    [(0, [(1, 2, 1)]), (5, [(6, 10, None)])]
    """
    for row in _ROW.finditer(run):
        start = row.start()
        values = [(start + at, start + end, v) for at, end, v in values_of(row[0])]
        yield run.index("(", start), values


def _number(text: str) -> int | Decimal:
    digits = text[1:].lstrip() if text[0] == "-" else text
    number: int | Decimal = int(digits) if digits.isdigit() else Decimal(digits)
    if digits is text:
        return number
    # The operator "-" would round a decimal, and -0 is no decimal's negation.
    return -number if isinstance(number, int) else number.copy_negate()
