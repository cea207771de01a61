"""Settings of a Spark session that reading rightly needs, and for how long they hold.

A session that is handed in stays as it was: what statements need of it holds while one of ours is
analysed and run (docs/adr/0008-settings-of-a-callers-spark.md). A session of our own starts with
these settings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANALYSIS: Mapping[str, str] = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.caseSensitive": "false",
}
"""What a text means to Spark as it does to the grammar: Spark replaces no ``${…}``, undoes escapes,
takes double quotes for those of strings and ``'it''s'`` for one string; T and t are one name.
"""

PUSHED_NESTED = "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources"
V1_READERS = "spark.sql.sources.useV1SourceList"

_guard = threading.Lock()
_held: dict[tuple[int, str], tuple[str | None, int]] = {}
"""By session and key: the value from before, and how many blocks need ours."""

Wanted = str | Callable[[str | None], str | None]
"""A value, or what is made of the one that is there."""


def _without_orc(sources: str | None) -> str:
    """Where Spark may push conditions on ``row.x`` down.

    ORC resolves a search argument's columns inside ``row``, so a condition on a user column called
    like another one's field could prune by the wrong column; and it would overwrite ours.
    """
    known = "parquet,orc" if sources is None else sources
    return ",".join(s for s in known.split(",") if s.strip().lower() != "orc")


def _with_our_formats(readers: str | None) -> str | None:
    """Which formats have Spark's first kind of reader, the only one that knows a row's file."""
    if readers is None:
        return None  # not what counts where nobody has set it
    known = [r.strip() for r in readers.split(",") if r.strip()]
    return ",".join([*known, *(f for f in ("orc", "parquet", "text") if f not in known)])


PLANNING: Mapping[str, Wanted] = {PUSHED_NESTED: _without_orc, V1_READERS: _with_our_formats}
"""What Spark must do while it makes a physical plan of one of our scans."""


@contextmanager
def for_statement(spark: SparkSession) -> Iterator[None]:
    """All of them, while a statement is analysed and run, or its rows are read."""
    with ExitStack() as held:
        for key, value in {**ANALYSIS, **PLANNING}.items():
            held.enter_context(configured(spark, key, value))
        yield


def keep_for_frames(spark: SparkSession) -> None:
    """What no block can hold: `PLANNING`, for a lazy frame is planned when its owner asks for rows.

    Frames that are made of it are planned anew, so planning it ahead would not do.
    """
    for key, value in PLANNING.items():
        with _guard:
            place = (id(spark), key)
            before, depth = _held.get(place, (spark.conf.get(key, None), 0))
            wanted = _value(value, before)
            if depth:
                _held[place] = (wanted, depth)
            elif wanted != before:
                _set(spark, key, wanted)


@contextmanager
def configured(spark: SparkSession, key: str, value: Wanted) -> Iterator[None]:
    """A setting of the session for as long as a block runs.

    Blocks of several threads may overlap: the first of them sets it, the last sets it back.
    """
    place = (id(spark), key)
    with _guard:
        before, depth = _held.get(place, (spark.conf.get(key, None), 0))
        if depth == 0 and before != _value(value, before):  # Spark logs a warning for some settings
            _set(spark, key, _value(value, before))
        _held[place] = (before, depth + 1)
    try:
        yield
    finally:
        with _guard:
            before, depth = _held[place]
            _held[place] = (before, depth - 1)
            if depth == 1:
                del _held[place]
                if before != _value(value, before):
                    _set(spark, key, before)


def ansi(spark: SparkSession) -> AbstractContextManager[None]:
    """Analyse with ANSI rules: a value that does not fit its column is an error, never bent.

    They bind when a query is analysed, so they need not hold while it runs.
    """
    return configured(spark, "spark.sql.ansi.enabled", "true")


def _value(wanted: Wanted, before: str | None) -> str | None:
    return wanted if isinstance(wanted, str) else wanted(before)


def _set(spark: SparkSession, key: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, value)
