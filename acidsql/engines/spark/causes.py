"""The exceptions that Spark threw, as plain values: the Java chain behind a Python one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from acidsql.engines.spark.gateway import java_errors

_DEPTH = 30
"""How many causes are followed: in Java a chain of causes may be a circle."""
_WORD = re.compile(r"\w+|`[^`]*`|\S")
_JAVA_CALL = re.compile(r"An error occurred while calling [\w.]+\.\s*:?\s*(?:[\w.$]+: )?")
_BYPASS = re.compile(r" If necessary set \S+ to \S+ to bypass this error(?:, [^.]*)?\.")
"""Advice of Spark's that does not hold here: writes are always computed under ANSI rules."""
OWN_VALUE = re.compile(r"__acidsql_value\d+ ")
"""What `value_name` writes in front of a user's value."""
_LINE = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): (.*)$", re.M)


@dataclass(frozen=True, slots=True)
class Blamed:
    """The piece of SQL that Spark blames, or "", and the offset at which it stands in the ``text``.

    The text is that which Spark has parsed; "" if it is not known.
    """

    piece: str = ""
    text: str = ""
    at: int = 0


NOTHING_BLAMED = Blamed()


@dataclass(frozen=True, slots=True)
class Cause:
    """One exception: its class without package or outer class, Spark's error condition or "", its
    message, and what Spark blames.
    """

    name: str
    condition: str
    message: str
    blamed: Blamed = NOTHING_BLAMED

    def has(self, *conditions: str) -> bool:
        """Whether its condition is one of these, or a subcondition of one."""
        return any(self.condition == c or self.condition.startswith(f"{c}.") for c in conditions)


def causes(error: BaseException) -> tuple[Cause, ...]:
    """The exception and its causes, outermost first.

    They are read from the objects in the JVM. Without a gateway to it they are read from the Python
    exception, and from the lines of its text that begin as Java prints an exception.
    """
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    found = tuple(_from_jvm(thrown)) if thrown is not None else ()
    return found or tuple(_from_text(error))


def first_line(text: str) -> str:
    """The first line of a text of Spark's, without what only Java needs."""
    text = OWN_VALUE.sub("", _JAVA_CALL.sub("", text, count=1))
    line = next((part for part in text.splitlines() if part.strip()), text).strip()
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", _BYPASS.sub("", line))


def _from_jvm(thrown: Any) -> Iterator[Cause]:
    for _ in range(_DEPTH):
        if thrown is None:
            return
        try:
            name, message = thrown.getClass().getName(), thrown.getMessage() or ""
            condition = _condition(thrown)
            blamed = _blamed(thrown) if condition else NOTHING_BLAMED
            yield Cause(_simple_name(str(name)), condition, str(message), blamed)
            thrown = thrown.getCause()
        except java_errors(OSError):  # the JVM has ended meanwhile
            return


def _from_text(error: BaseException) -> Iterator[Cause]:
    text = str(error)
    yield Cause(type(error).__name__, _condition(error), text, _blamed(error))
    for match in _LINE.finditer(text):
        condition = re.match(r"\[([A-Z][A-Z0-9_.]*)\]", match[2])
        yield Cause(_simple_name(match[1]), condition[1] if condition else "", match[2])


def _simple_name(name: str) -> str:
    """Java's getSimpleName of a class.

    >>> _simple_name("a.InvalidProtocolBufferException$InvalidWireTypeException")
    'InvalidWireTypeException'
    """
    return re.split(r"[.$]", name)[-1]


def _condition(thrown: Any) -> str:
    """Spark's error condition; "" for an exception that is no SparkThrowable."""
    try:
        return str(thrown.getCondition() or "")
    except Exception:  # py4j's error for a method that is not there is no narrower one
        return ""


def _blamed(thrown: Any) -> Blamed:
    """What Spark blames, as far as it tells."""
    try:
        contexts = list(thrown.getQueryContext() or ())
        found = next((c for c in contexts if str(c.contextType()).endswith("SQL")), None)
        if found is None:
            return _unexpected(thrown)
        piece = str(found.fragment())
    except Exception:  # as above
        return NOTHING_BLAMED
    try:
        return Blamed(piece, str(found.sqlText().get()), int(found.startIndex()))
    except Exception:  # no object of the JVM
        return Blamed(piece)


def _unexpected(thrown: Any) -> Blamed:
    """The word at which Spark's parser has stopped; nothing for other errors than its own."""
    text, start = str(thrown.command().get()), thrown.start()
    lines = text.splitlines(keepends=True)
    at = sum(map(len, lines[: start.line().get() - 1])) + start.startPosition().get()
    word = _WORD.match(text, at)
    return Blamed(word[0], text, at) if word else NOTHING_BLAMED
