"""Texts that are nested deeply: how deep they may be, and a stack on which they can be parsed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from acidsql.grammar.lexer import Kind, Source

T = TypeVar("T")

NESTING_MAX = 500
"""The most parentheses, brackets and CASEs that may be open at once.

Spark's parser needs about 2 kB of its thread's stack for a parenthesis and 4 kB for a call: with
Java's usual 1 MB it takes some 300 or 200.
"""
_FRAMES = 30_000
"""Calls of Python for that. sqlglot makes 20 to 25 of them for a level."""
_STACK = 64 << 20
"""Bytes. Before Python 3.11 each call of Python takes about half a kilobyte of it."""
_raising = threading.Lock()
_raised = 0
_usual_limit = 0


def refuse_deep(source: Source) -> None:
    """Raise SqlSyntaxError at the first place that is nested deeper than `NESTING_MAX`."""
    text = source.text
    if text.count("(") + text.count("[") + text.lower().count("case") <= NESTING_MAX:
        return
    depth = 0
    for token in source.tokens:
        if token.kind is Kind.SYMBOL:
            depth += (token.text in "([") - (token.text in ")]")
        elif token.kind is Kind.WORD and len(token.text) <= len("CASE"):
            depth += (token.word == "CASE") - (token.word == "END" and depth > 0)
        if depth > NESTING_MAX:
            source.syntax_error(
                f"the statement is nested more than {NESTING_MAX} deep",
                token.start,
                hint="Parentheses, brackets, CASEs and calls count. Use common table expressions.",
            )


def on_deep_stack(function: Callable[[], T]) -> T:
    """What a function returns or raises, called in a thread with a larger stack.

    Python's limit of recursion, which holds for all threads, is higher meanwhile.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _raise_limit()
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        finally:
            _lower_limit()

    thread = threading.Thread(target=run, name="acidsql parser", daemon=True)
    with _raising:
        usual = threading.stack_size(_STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _raise_limit() -> None:
    global _raised, _usual_limit  # noqa: PLW0603 - as the limit is
    with _raising:
        if _raised == 0:
            _usual_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_FRAMES, _usual_limit))
        _raised += 1


def _lower_limit() -> None:
    global _raised  # noqa: PLW0603
    with _raising:
        _raised -= 1
        if _raised == 0:
            sys.setrecursionlimit(_usual_limit)
