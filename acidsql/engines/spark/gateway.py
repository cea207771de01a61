"""Spark's own classes, reached through PySpark's gateway to the JVM."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from acidsql.errors import ForkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
T = TypeVar("T")

_inherited: list[object] = []
"""The parent's gateways at the time of the fork, whose sockets are used by threads there."""


def _note_gateway() -> None:
    module = sys.modules.get("pyspark.core.context")
    if module is not None and module.SparkContext._gateway is not None:
        _inherited.append(module.SparkContext._gateway)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_gateway)


def has_parents_spark() -> bool:
    """Whether the Spark that PySpark knows is that of the process this one was forked from."""
    if not _inherited:
        return False
    known = sys.modules["pyspark.core.context"].SparkContext._gateway
    return any(known is gateway for gateway in _inherited)


def require_own_spark() -> None:
    """ForkError where `has_parents_spark`."""
    if has_parents_spark():
        raise ForkError(
            "Spark belongs to the process from which this one was forked",
            hint="Start processes before Spark, or by multiprocessing's method spawn.",
        )


def is_stopped(session: SparkSession) -> bool:
    """Whether stop() was called on the session or on its context."""
    context = getattr(session, "_sc", None)
    if context is not None:
        return getattr(context, "_jsc", None) is None
    return bool(getattr(session, "is_stopped", False))


def java_errors(*others: type[Exception], name: str = "Py4JError") -> tuple[type[Exception], ...]:
    """The exceptions to catch: py4j's error of this name, and ``others``.

    Only ``others`` where py4j is not loaded. It is PySpark's way to the JVM, so it is loaded where
    there is one; Spark Connect has none.
    """
    module = sys.modules.get("py4j.protocol")
    return others if module is None else (*others, getattr(module, name))


class JavaClass:
    """A class of a JVM: called, it makes an object. Its static members are asked for once.

    py4j would ask for a static method before each call of it.
    """

    def __init__(self, found: Any) -> None:
        self._found = found

    def __call__(self, *arguments: Any) -> Any:
        return self._found(*arguments)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._found, name)
        setattr(self, name, member)
        return member


class JavaClasses:
    """The classes of a JVM by their full names: ``java("java.util.ArrayList")()``.

    Each name is asked for once. py4j would ask for each part of ``jvm.java.util.ArrayList`` with
    every use. ``java`` and ``java.util`` are no classes, which the JVM finds out by a search
    through all of Spark's 300 jars: half a millisecond and more.
    """

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._found: dict[str, JavaClass] = {}

    def __call__(self, name: str) -> JavaClass:
        """The class. TypeError at the first call of what it has, if the JVM has no such class."""
        if name not in self._found:
            self._found[name] = JavaClass(getattr(self._jvm, name))
        return self._found[name]


_SHORT_NAMES = ("PythonUtils", "PythonSQLUtils")
"""Names without a package, by which PySpark asks for a class with each list of columns, and with
each frame of rows. The JVM tries them in every package that PySpark has imported.
"""


@lru_cache(maxsize=1)
def _classes_of(jvm: Any) -> JavaClasses:
    """The classes of the JVM that is asked now: a process has one at a time.

    PySpark, too, finds those of ``_SHORT_NAMES`` from now on without asking, unless this JVM is
    lost, which the next call tells.
    """
    with suppress(*java_errors(AttributeError)):
        for name in _SHORT_NAMES:
            setattr(jvm, name, getattr(jvm, name))
    return JavaClasses(jvm)


def java_classes(spark: SparkSession) -> JavaClasses | None:
    """The classes of the driver's JVM; None if there is no gateway to it."""
    jvm = getattr(spark, "_jvm", None)
    return None if jvm is None else _classes_of(jvm)


def by_gateway(spark: SparkSession, make: Callable[[JavaClasses], T], otherwise: str) -> T | None:
    """The result of ``make``, called with the JVM's classes; None if there is no gateway.

    None, too, if this Spark's classes are not those that are known here. Then ``otherwise`` is
    logged, which says what happens instead.
    """
    java = java_classes(spark)
    if java is None:
        return None
    try:
        return make(java)
    except java_errors(TypeError, AttributeError):
        _log.warning("this Spark's classes are unknown: %s", otherwise, exc_info=True)
        return None


def java_texts(java: JavaClasses, texts: Sequence[str]) -> Any:
    """A Java array of texts without NUL, by one call however many there are; at least one."""
    return _separator(java).split("\0".join(texts), -1)


def python_texts(java: JavaClasses, array: Any) -> list[str]:
    """The texts without NUL of a Java array, by a few calls however many there are."""
    if not len(array):
        return []
    joined: str = java("org.apache.hadoop.util.StringUtils").join("\0", array)
    return joined.split("\0")


@lru_cache(maxsize=1)
def _separator(java: JavaClasses) -> Any:
    return java("java.util.regex.Pattern").compile("\0")


@lru_cache(maxsize=1)
def empty_map(java: JavaClasses) -> Any:
    """Scala's immutable map without items; ``updated`` makes one with an item more."""
    return java("org.apache.spark.api.python.PythonUtils").toScalaMap(java("java.util.HashMap")())


@lru_cache(16)
def parser(java: JavaClasses, spark: SparkSession) -> Any:
    """Spark's parser of a session."""
    return spark._jsparkSession.sessionState().sqlParser()
