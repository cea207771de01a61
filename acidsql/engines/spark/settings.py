"""Settings that a Spark session needs for right answers, and for how long they hold.

A session that is handed in stays as it was: our settings hold while one of our statements is
analysed and run (docs/adr/0008-settings-of-a-callers-spark.md). A session of our own starts with
these settings.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from acidsql.engines.spark.gateway import JavaClasses, by_gateway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)
_Key = TypeVar("_Key")

_CASE_SENSITIVE = "spark.sql.caseSensitive"

ANALYSIS: Mapping[str, str] = {
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    _CASE_SENSITIVE: "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""Settings under which a text means to Spark what it means to the grammar.

Spark replaces no ``${…}``, undoes escapes, takes double quotes for those of strings and ``'it''s'``
for one string; T and t are one name; the spaces at the end of a char do not count; a name in back
quotes is no pattern.
"""

PUSHED_NESTED = "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources"
V1_READERS = "spark.sql.sources.useV1SourceList"

_ANSI = "spark.sql.ansi.enabled"

_FEW = 2
"""Settings that are asked for one by one. More of them are looked up by two calls to the JVM."""

_guard = threading.Lock()
_held: dict[tuple[int, str], tuple[str | None, int]] = {}
"""By session and key: the value from before, and how many blocks need ours."""

_defaults: dict[str, str | None] = {}
"""By key: what the setting counts as while it is unset."""

Wanted = str | Callable[[str | None], str | None]
"""A value, or a function from the present value to the wanted one."""


def _without_orc(sources: str | None) -> str:
    """The sources to which Spark may push conditions on ``row.x``: all but ORC.

    ORC resolves a search argument's columns inside ``row``. So a condition on a user's column could
    prune by a field of that name in another column, and it would overwrite our search argument.
    """
    known = "parquet,orc" if sources is None else sources
    return ",".join(s for s in known.split(",") if s.strip().lower() != "orc")


def _with_our_formats(readers: str | None) -> str | None:
    """The formats of Spark's version 1 readers, the only ones that know a row's file, with ours."""
    if readers is None:
        return None  # unset: Spark's default has our formats
    known = [r.strip() for r in readers.split(",") if r.strip()]
    return ",".join([*known, *(f for f in ("orc", "parquet", "text") if f not in known)])


PLANNING: Mapping[str, Wanted] = {PUSHED_NESTED: _without_orc, V1_READERS: _with_our_formats}
"""Settings that must hold while Spark makes a physical plan of one of our scans."""

_CONVERTED_TIMES = "spark.sql.parquet.int96TimestampConversion"

READING: Mapping[str, str] = {_CONVERTED_TIMES: "false"}
"""Settings that must hold while rows are read.

Spark takes no timestamp of a Parquet file for one of the session's time zone, as Impala writes it.
"""


_SESSIONS = "org.apache.spark.sql.classic.SparkSession"
_OTHER_SETTINGS = "the settings of another session may count, if that one is active"


@contextmanager
def for_statement(spark: SparkSession) -> Iterator[None]:
    """Hold `ANALYSIS`, `PLANNING`, `READING` while a statement is analysed and run, or rows read.

    The session is the active one of this thread as long.
    """
    with ExitStack() as held:
        undo = by_gateway(spark, lambda java: _make_active(java, spark), _OTHER_SETTINGS)
        if undo is not None:
            held.callback(undo)
        held.enter_context(_all_configured(spark, {**ANALYSIS, **PLANNING, **READING}))
        yield


def _make_active(java: JavaClasses, spark: SparkSession) -> Callable[[], None] | None:
    """Make a session the active one of this thread. Returns what undoes it, None if it was that.

    Spark's parsers ask the active session for settings, whichever session they belong to. A thread
    may have another one, since PySpark's createDataFrame makes its session active, or none.
    """
    sessions, ours = java(_SESSIONS), spark._jsparkSession
    before = sessions.getActiveSession()
    if before.contains(ours):
        return None
    sessions.setActiveSession(ours)
    if before.isDefined():
        return partial(sessions.setActiveSession, before.get())
    return partial(sessions.clearActiveSession)


def keep_for_frames(spark: SparkSession) -> None:
    """Set `PLANNING` for good, for a lazy frame that is handed out.

    No block can hold these settings, since the frame is planned when its owner asks for rows. To
    plan it ahead would not do: frames that are made of it are planned again. `READING` is left to
    the owner, since other files of theirs may need their setting.
    """
    if _is(spark, _CONVERTED_TIMES, spark.conf.get(_CONVERTED_TIMES, None), "true"):
        _log.warning("frames of Parquet tables have shifted timestamps: %s", _CONVERTED_TIMES)
    for key, value in PLANNING.items():
        with _guard:
            place = (id(spark), key)
            before, depth = _held.get(place, (spark.conf.get(key, None), 0))
            wanted = _value(value, before)
            if depth:
                _held[place] = (wanted, depth)
            elif not _is(spark, key, before, wanted):
                _set(spark, key, wanted)


def configured(spark: SparkSession, key: str, value: Wanted) -> AbstractContextManager[None]:
    """Hold a setting of the session as long as a block runs.

    Blocks of several threads may overlap: the first of them sets the value, the last restores it.
    """
    return _all_configured(spark, {key: value})


@contextmanager
def _all_configured(spark: SparkSession, wanted: Mapping[str, Wanted]) -> Iterator[None]:
    """Hold several settings, see `configured`."""
    with ExitStack() as held:
        with _guard:
            present = _present(spark, tuple(wanted))
            for key, value in wanted.items():
                _hold(spark, key, value, present[key])
                held.callback(_release, spark, key, value)
        yield


def _hold(spark: SparkSession, key: str, value: Wanted, present: str | None) -> None:
    """Begin to hold a setting. The caller holds `_guard` since it read the ``present`` value."""
    place = (id(spark), key)
    before, depth = _held.get(place, (present, 0))
    wanted = _value(value, before)
    if depth == 0 and not _is(spark, key, before, wanted):
        _set(spark, key, wanted)
    _held[place] = (before, depth + 1)


def _release(spark: SparkSession, key: str, value: Wanted) -> None:
    """End to hold a setting. The last of several blocks restores it."""
    place = (id(spark), key)
    with _guard:
        before, depth = _held[place]
        _held[place] = (before, depth - 1)
        if depth == 1:
            del _held[place]
            if not _is(spark, key, before, _value(value, before)):
                _set(spark, key, before)


def _present(spark: SparkSession, keys: tuple[str, ...]) -> Mapping[str, str | None]:
    """The values that settings have now; None for one that is not set."""
    found = None
    if len(keys) > _FEW:
        found = by_gateway(
            spark, lambda java: _look(java, spark, keys).values, "each setting is asked for"
        )
    return {key: spark.conf.get(key, None) for key in keys} if found is None else found


@dataclass
class _Look:
    """The settings at the last look: all of them as Scala's map, and some by their keys."""

    settings: Any
    values: Mapping[str, str | None]


def _look(java: JavaClasses, spark: SparkSession, keys: tuple[str, ...]) -> _Look:
    """What the settings are now. Two calls if none has changed since the last look."""
    now, last = _conf(java, spark).getAllConfs(), _last_look(java, spark, keys)
    if last.settings is None or not now.equals(last.settings):
        last.values = {key: now.apply(key) if now.contains(key) else None for key in keys}
        last.settings = now
    return last


@lru_cache(16)
def _last_look(java: JavaClasses, spark: SparkSession, keys: tuple[str, ...]) -> _Look:
    return _Look(None, {})


@lru_cache(16)
def _conf(java: JavaClasses, spark: SparkSession) -> Any:
    """The settings of the session in the JVM."""
    return spark._jsparkSession.sessionState().conf()


def change(spark: SparkSession, key: str, value: str | None) -> str | None:
    """Give a setting a value for good, or none. Returns the value from before.

    Where a block holds the setting, the value counts from the end of the block on.
    """
    place = (id(spark), key)
    with _guard:
        if place in _held:
            before, depth = _held[place]
            _held[place] = (value, depth)
            return before
        before = spark.conf.get(key, None)
        _set(spark, key, value)
        return before


@contextmanager
def ansi(spark: SparkSession) -> Iterator[None]:
    """Analyse with ANSI rules: a value that does not fit its column is an error, and never changed.

    The rules bind when a query is analysed, so they need not hold while it runs. What a statement
    asks for is analysed `by_own_rules`, as in a SELECT.
    """
    if is_ansi(spark):
        yield
        return
    with _turns.ansi(id(spark)), configured(spark, _ANSI, "true"):
        yield


def by_own_rules(spark: SparkSession) -> AbstractContextManager[None]:
    """Analyse with the session's own rules, or with those of an `ansi` block of the same thread.

    Such a block of another thread comes before or after. There are no blocks of this kind in it.
    """
    return _turns.own(id(spark))


class _Turns:
    """Which threads analyse by which rules of a session: those of ANSI, or its own.

    A setting belongs to a session, so all threads have the same rules at a time.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ansi: Counter[tuple[int, int]] = Counter()
        """By session and thread: blocks that hold ANSI rules, or wait for it."""
        self._own: Counter[int] = Counter()
        """By session: threads that analyse by its own rules."""

    @contextmanager
    def ansi(self, session: int) -> Iterator[None]:
        """A block for ANSI rules: it waits for threads that analyse by others."""
        with self._counted(self._ansi, (session, threading.get_ident())):
            with self._changed:
                self._changed.wait_for(lambda: not self._own[session])
            yield

    @contextmanager
    def own(self, session: int) -> Iterator[None]:
        """A block for a session's own rules: it waits for ANSI blocks of other threads."""
        if self._ansi[session, threading.get_ident()]:
            yield
            return
        with self._counted(
            self._own, session, lambda: all(place[0] != session for place in self._ansi)
        ):
            yield

    @contextmanager
    def _counted(
        self, counts: Counter[_Key], key: _Key, may_begin: Callable[[], bool] = lambda: True
    ) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(may_begin)
            counts[key] += 1
        try:
            yield
        finally:
            with self._changed:
                counts[key] -= 1
                if not counts[key]:
                    del counts[key]
                self._changed.notify_all()


_turns = _Turns()


def is_ansi(spark: SparkSession) -> bool:
    """Whether the session's own rules are those of ANSI, whatever blocks hold now."""
    return _is_on(spark, _ANSI)


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether T and t are two names by the session's own rules, whatever blocks hold now.

    Frames that are handed out are planned by these rules.
    """
    return _is_on(spark, _CASE_SENSITIVE)


def _is_on(spark: SparkSession, key: str) -> bool:
    with _guard:
        own, _ = _held.get((id(spark), key), (spark.conf.get(key, None), 0))
    # Spark takes TRUE and True, too, and hands them out as they are.
    return _is(spark, key, own and own.strip().lower(), "true")


def _value(wanted: Wanted, before: str | None) -> str | None:
    return wanted if isinstance(wanted, str) else wanted(before)


def _is(spark: SparkSession, key: str, value: str | None, wanted: str | None) -> bool:
    """Whether a setting has the wanted value already. It is unset if ``value`` is None.

    To set one takes two calls, and for some settings Spark logs a warning.
    """
    return value == wanted or (value is None and wanted == _default(spark, key))


def _default(spark: SparkSession, key: str) -> str | None:
    """What an unset setting counts as; None for a setting that Spark does not know."""
    if key not in _defaults:
        try:
            found = spark.conf.get(key)
        except Exception:
            found = None  # what Spark raises depends on its version
        if spark.conf.get(key, None) is not None:
            return None  # somebody has set it meanwhile
        _defaults[key] = found
    return _defaults[key]


def _set(spark: SparkSession, key: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, value)
