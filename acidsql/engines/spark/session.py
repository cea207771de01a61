"""The SparkSession: one that is given, or one of our own, started on first need."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import first_line
from acidsql.engines.spark.gateway import has_parents_spark, require_own_spark
from acidsql.errors import DependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")

OWN_CONF: Mapping[str, str] = {
    "spark.driver.extraJavaOptions": (
        f'-Duser.timezone=UTC -Dfile.encoding=UTF-8 "-Dlog4j2.configurationFile={_LOGGING}"'
    ),
    "spark.executor.extraJavaOptions": "-Duser.timezone=UTC -Dfile.encoding=UTF-8",
    "spark.driver.memory": "4g",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "4096",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""How a session of our own is started; ``config`` keys that begin with "spark." come on top.

The JVM runs in UTC because ORC's reader shifts timestamps by the JVM's zone, not the session's.
A shuffle whose lost part is computed anew, and comes out otherwise, is repeated as a whole.
"""

PUSHED_NESTED = "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources"
_V1_READERS = "spark.sql.sources.useV1SourceList"


class SparkHolder:
    """The SparkSession, once it is needed."""

    def __init__(self, given: SparkSession | None, conf: Mapping[str, str]) -> None:
        self._session = given
        self._owned = False
        self._conf = {k: v for k, v in conf.items() if k.startswith("spark.")}

    @property
    def started(self) -> bool:
        """Whether there is a session already, ours or one that `get` would take."""
        if has_parents_spark():
            return False
        if self._session is None and "pyspark" in sys.modules:
            from pyspark.sql import SparkSession  # noqa: PLC0415 - imported already

            return SparkSession.getActiveSession() is not None
        return self._session is not None

    def get(self) -> SparkSession:
        """The session. DependencyError, in one line, without Java; ForkError in a child."""
        require_own_spark()
        if self._session is None:
            self._start()
        assert self._session is not None
        _prepare(self._session)
        return self._session

    def close(self) -> None:
        """Stop the session if it is our own."""
        session, self._session = self._session, None
        if session is not None and self._owned and not has_parents_spark():
            session.stop()

    def _start(self) -> None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second that many uses never need

        active = SparkSession.getActiveSession()
        if active is not None:
            self._session = active
            return
        require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("acidsql")
        if "spark.master" not in self._conf and "MASTER" not in os.environ:
            builder = builder.master("local[*]")
        for key, value in {**OWN_CONF, **self._conf}.items():
            builder = builder.config(key, value)
        self._session = _started(builder)
        self._owned = True
        # Errors of a query arrive as exceptions; PySpark's own logger prints them a second time.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def _started(builder: SparkSession.Builder) -> SparkSession:
    """A new session. DependencyError if there is none to be had: an old Java, a wrong setting."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where Spark is used anyway
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise DependencyError(
            f"Spark cannot be started: {first_line(str(error))}",
            hint="It needs Java 17 or newer and settings that it knows; what Java had to say about"
            " it is on standard error.",
        ) from error


def require_java() -> None:
    """Raise DependencyError unless a java command can be found the way Spark finds it."""
    home = os.environ.get("JAVA_HOME")
    found = os.path.exists(os.path.join(home, "bin", "java")) if home else shutil.which("java")
    if not found:
        raise DependencyError(
            "Spark needs Java 17 or newer, and no java was found: install a JDK"
            " (for example openjdk-17-jre-headless) or set JAVA_HOME"
        )


def _prepare(session: SparkSession) -> None:
    """What reading rightly needs of any session, a given one too.

    Spark must not push filters on ``row.x`` into ORC. ORC resolves a search argument's columns
    inside ``row``, so a filter on a user column called like another one's field could prune by the
    wrong column; and it would overwrite ours. And string literals must be what they are to the
    grammar: Spark must not replace ``${…}`` in them, nor keep their escapes, nor take those in
    double quotes for names, nor make two of `'it''s'`. T and t are one name to the planner,
    so they must be to Spark. And only readers of its first kind know the path of a row's file.
    Asked each time, for whoever gave us the session may set what he likes in it.
    """
    sources = session.conf.get(PUSHED_NESTED, "parquet,orc") or ""
    kept = ",".join(s for s in sources.split(",") if s.strip().lower() != "orc")
    if kept != sources:
        session.conf.set(PUSHED_NESTED, kept)
    # None where nobody has set it: not what counts then.
    chosen = session.conf.get(_V1_READERS, None)
    if chosen is not None:
        readers = [s.strip() for s in chosen.split(",") if s.strip()]
        if missing := [s for s in ("orc", "parquet", "text") if s not in readers]:
            session.conf.set(_V1_READERS, ",".join([*readers, *missing]))
    for key in (
        "spark.sql.variable.substitute",
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.legacy.consecutiveStringLiterals.enabled",
        "spark.sql.caseSensitive",
    ):
        if session.conf.get(key, None) != "false":  # Spark logs a warning for some settings
            session.conf.set(key, "false")
