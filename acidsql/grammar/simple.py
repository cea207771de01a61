"""The trees of the simplest expressions, made without sqlglot: most values in MERGE are columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from acidsql.grammar.dialect import SPECIAL_WORDS
from acidsql.grammar.lexer import Kind, Token

_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "==": exp.EQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<>": exp.NEQ,
}
_OPERANDS = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Func)
_Call = tuple[int, int, Callable[[list[exp.Expr]], exp.Expr]]
_MANY = 1000


def _of_one(kind: type[exp.Expr]) -> _Call:
    return 1, 1, lambda arguments: kind(this=arguments[0])


def _coalesce(arguments: list[exp.Expr]) -> exp.Expr:
    return exp.Coalesce(this=arguments[0], expressions=arguments[1:])


_CALLS: dict[str, _Call] = {
    "COALESCE": (1, _MANY, _coalesce),
    "NVL": (2, 2, _coalesce),
    "UPPER": _of_one(exp.Upper),
    "LOWER": _of_one(exp.Lower),
    "TRIM": _of_one(exp.Trim),
    "LENGTH": _of_one(exp.Length),
    "ABS": _of_one(exp.Abs),
    "CONCAT": (1, _MANY, lambda found: exp.Concat(expressions=found, safe=True, coalesce=False)),
    "CURRENT_TIMESTAMP": (0, 0, lambda _: exp.CurrentTimestamp()),
    "CURRENT_DATE": (0, 0, lambda _: exp.CurrentDate()),
}
"""Functions, each with its fewest and most arguments, and what makes sqlglot's tree of them."""
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}


def simple_tree(tokens: Sequence[Token], start: int) -> exp.Expr | None:
    """The tree of a column ``a`` or ``t.a``, of a constant, of a call of a common function with
    such arguments, or of comparisons joined by AND.

    None for any other expression. The tokens begin at ``start`` of the statement. The tree is the
    one that sqlglot would make.
    """
    tree, at = None, 0
    while at < len(tokens):
        end = next((n for n in range(at, len(tokens)) if tokens[n].word == "AND"), len(tokens))
        part = _comparison(tokens[at:end], start)
        is_lone = tree is None and end == len(tokens)
        if part is None or (isinstance(part, _OPERANDS) and not is_lone):
            return None
        tree = part if tree is None else exp.And(this=tree, expression=part)
        at = end + 1
    return tree if tokens[-1].word != "AND" else None


def _comparison(tokens: Sequence[Token], start: int) -> exp.Expr | None:
    """The tree of ``operand``, or of ``operand = operand`` and the like."""
    symbols = [n for n, t in enumerate(tokens) if t.kind is Kind.SYMBOL and t.text in "=<>"]
    if not symbols:
        return _operand(tokens, start)
    first, end = symbols[0], symbols[-1] + 1
    is_joined = end - first == len(symbols) == tokens[end - 1].end - tokens[first].start
    kind = _COMPARISONS.get("".join(t.text for t in tokens[first:end])) if is_joined else None
    left, right = _operand(tokens[:first], start), _operand(tokens[end:], start)
    return kind(this=left, expression=right) if kind and left and right else None


def _operand(tokens: Sequence[Token], start: int) -> exp.Expr | None:
    if len(tokens) == 1:
        return _constant(tokens[0]) or _column(tokens, start)
    if len(tokens) == 3 and tokens[1].text == ".":
        return _column(tokens, start)
    is_call = len(tokens) > 2 and tokens[1].text == "(" and tokens[-1].text == ")"
    return _call(tokens, start) if is_call else None


def _call(tokens: Sequence[Token], start: int) -> exp.Expr | None:
    """The tree of ``function(operand, …)``."""
    name = tokens[0]
    known = _CALLS.get(name.word) if name.kind is Kind.WORD else None
    if known is None:
        return None
    arguments = [_operand(part, start) for part in _arguments(tokens[2:-1])]
    fewest, most, make = known
    if not fewest <= len(arguments) <= most:
        return None
    found = [argument for argument in arguments if argument is not None]
    if len(found) < len(arguments):
        return None
    tree = make(found)
    if not isinstance(tree, exp.Trim):  # for which sqlglot keeps no place
        tree.meta.update(start=name.start - start, end=name.end - start - 1)
    return tree


def _arguments(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The tokens between commas, but for commas in parentheses."""
    if not tokens:
        return []
    parts, depth, begin = [], 0, 0
    for at, token in enumerate(tokens):
        if token.text == "," and depth == 0:
            parts.append(tokens[begin:at])
            begin = at + 1
        depth += {"(": 1, ")": -1}.get(token.text, 0)
    return [*parts, tokens[begin:]]


def _constant(token: Token) -> exp.Expr | None:
    text = token.text
    if token.kind is Kind.NUMBER and _NUMBER.fullmatch(text):
        return exp.Literal(this=text, is_string=False)
    if token.kind is Kind.STRING and "\\" not in text and text[0] in "'\"":
        return exp.Literal(this=text[1:-1], is_string=True)
    if token.word in _CONSTANTS:
        value = _CONSTANTS[token.word]
        return exp.Null() if value is None else exp.Boolean(this=value)
    return None


def _column(tokens: Sequence[Token], start: int) -> exp.Expr | None:
    names = [_identifier(token, start) for token in tokens[::2]]
    if None in names:
        return None
    return exp.Column(this=names[-1], table=names[0] if len(names) == 2 else None)


def _identifier(token: Token, start: int) -> exp.Identifier | None:
    if token.kind is not Kind.WORD or token.word in SPECIAL_WORDS:
        return None
    if not _NAME.fullmatch(token.text):
        return None
    name = exp.Identifier(this=token.text, quoted=False)
    name.meta.update(start=token.start - start, end=token.end - start - 1)
    return name
