"""The SparkSession: one that is given, or one of our own, started on first need."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.causes import first_line
from acidsql.engines.spark.errors import clear_errors, is_gone
from acidsql.engines.spark.gateway import (
    has_parents_spark,
    is_stopped,
    java_classes,
    java_errors,
    require_own_spark,
)
from acidsql.engines.spark.options import SparkOptions
from acidsql.engines.spark.settings import ANALYSIS, PUSHED_NESTED
from acidsql.errors import ConfigError, DependencyError, ExecutionError
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_LOGGING = Path(__file__).with_name("log4j2.properties")

STACK = "8m"
"""The stack of Java's threads. Statements that are nested 500 deep need some 3 MB."""
OWN_CONF: Mapping[str, str] = {
    "spark.driver.extraJavaOptions": (
        f"-Xss{STACK} -Duser.timezone=UTC -Dfile.encoding=UTF-8"
        f' "-Dlog4j2.configurationFile={_LOGGING}"'
    ),
    "spark.executor.extraJavaOptions": f"-Xss{STACK} -Duser.timezone=UTC -Dfile.encoding=UTF-8",
    "spark.driver.memory": "4g",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "4096",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **ANALYSIS,
    PUSHED_NESTED: "parquet",
}
"""How a session of our own is started; ``config`` keys that begin with "spark." come on top.

The JVM runs in UTC because ORC's reader shifts timestamps by the JVM's zone, not the session's. If
a lost part of a shuffle is computed again and comes out otherwise, the shuffle is repeated as a
whole.
"""

_REMOTE = frozenset({"spark.remote", "SPARK_REMOTE"})
"""Where either is set, Spark is a server of Spark Connect, with settings of its own."""
_IN_PROCESS = re.compile(r"local(\[.*\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[.*\]")
_starting = threading.Lock()


def runs_in_process(master: str | None) -> bool:
    """Whether this master of Spark runs all tasks in the process of the driver.

    >>> runs_in_process("local[2]"), runs_in_process("local-cluster[1,1,1024]")
    (True, False)
    """
    return master is not None and _IN_PROCESS.fullmatch(master) is not None


def runs_on_machine(master: str | None) -> bool:
    """Whether this master of Spark runs all tasks on the machine of the driver.

    >>> runs_on_machine("local-cluster[1,1,1024]"), runs_on_machine("spark://localhost:7077")
    (True, False)
    """
    if master is None:
        return False
    return runs_in_process(master) or _LOCAL_CLUSTER.fullmatch(master) is not None


def master_of(spark: SparkSession) -> str | None:
    """The master of a session; None over Spark Connect, which does not tell."""
    return None if java_classes(spark) is None else spark.sparkContext.master


class SparkHolder:
    """The SparkSession, once it is needed: the given one, one that already runs, or our own.

    ``on_start`` lets go of what was made with an earlier session. ConfigError if ``given`` is no
    SparkSession.
    """

    def __init__(
        self,
        given: SparkSession | None,
        conf: Mapping[str, str],
        on_start: Callable[[], object] = lambda: None,
        progress: Progress = UNWATCHED,
    ) -> None:
        if given is not None and not (hasattr(given, "sql") and hasattr(given, "conf")):
            raise ConfigError(
                f"spark= takes a SparkSession, not a {type(given).__name__}",
                hint="For Spark Connect, SparkSession.builder.remote(url).getOrCreate() makes one.",
            )
        self._progress = progress
        self._session = given
        self._owned = False
        self._on_start = on_start
        self._conf = {k: v for k, v in conf.items() if k.startswith("spark.")}
        self._options = SparkOptions()

    @property
    def started(self) -> bool:
        """Whether there is a session already, ours or one that `get` would take."""
        if has_parents_spark():
            return False
        return self._session is not None or _running() is not None

    @property
    def is_cluster(self) -> bool:
        """Whether tasks run in other processes than this one: a cluster, or a server.

        Without a session that is so if the settings name the master of a cluster.
        """
        if not self.started:
            master = self._conf.get("spark.master", os.environ.get("MASTER", "local"))
            return not runs_in_process(master) or not _REMOTE.isdisjoint(self._conf)
        with clear_errors():
            return not runs_in_process(self.get().conf.get("spark.master", "local"))

    def get(self) -> SparkSession:
        """The session. DependencyError, in one line, without Java; ForkError in a child.

        Our own session is started again if its Java process has ended; ExecutionError if a given
        session's has.
        """
        require_own_spark()
        if self._session is not None and self._owned and _has_ended(self._session):
            self.close()
        if self._session is None:
            self._on_start()
            self._options.apply(self._start())
        assert self._session is not None
        if is_stopped(self._session):
            raise ExecutionError(
                "the SparkSession of this session has been stopped",
                hint="Connect again, with a SparkSession that runs.",
            )
        return self._session

    def configure(self, key: str, value: str | None) -> str | None:
        """`SparkOptions.give`, or with None `SparkOptions.take_back`. Does not start Spark."""
        spark = self.get() if self._session is not None else None
        if value is not None:
            return self._options.give(key, value, spark)
        self._options.take_back(key, spark)
        return None

    def close(self) -> None:
        """Stop the session if it is our own, and still runs; else take back what SET gave it."""
        session, self._session = self._session, None
        if session is None or has_parents_spark():
            return
        if not self._owned:
            if self._options.are_given and not _has_ended(session):
                self._options.take_all_back(session)
            return
        self._owned = False
        if _has_ended(session):
            _forget(session)
        else:
            session.stop()

    def _start(self) -> SparkSession:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - half a second that many uses never need

        with _starting:
            self._session = _running()
            if self._session is not None:
                return self._session
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            conf = {**OWN_CONF, **self._conf}
            builder = SparkSession.builder.appName("acidsql")
            if not _REMOTE.isdisjoint({*self._conf, *os.environ}):
                conf = self._conf
            else:
                require_java()
                if "spark.master" not in self._conf and "MASTER" not in os.environ:
                    builder = builder.master("local[*]")
            with self._progress.during("starting Spark"), _file_names_in_utf8():
                self._session = _started(builder, conf)
            self._owned = True
        # Errors of a query arrive as exceptions; PySpark's own logger prints them a second time.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        return self._session


@contextmanager
def _file_names_in_utf8() -> Iterator[None]:
    """A block in which a Java process that starts takes file names as Python does, in UTF-8.

    Python does so in the locale C, too (PEP 540). Java would find no name there that is not ASCII.
    Python sees to it itself unless LC_ALL is set, as some containers have it (PEP 538).
    """
    before = os.environ.get("LC_ALL")
    if before not in ("C", "POSIX"):
        yield
        return
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        os.environ["LC_ALL"] = before


def _running() -> SparkSession | None:
    """The session that runs in this process, whichever thread started it; None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - imported already
    from pyspark.sql import SparkSession  # noqa: PLC0415

    with clear_errors():
        try:
            session = SparkSession.active()
        except PySparkRuntimeError:
            return None
    return None if is_stopped(session) else session


def _has_ended(session: SparkSession) -> bool:
    """Whether the session is stopped, or its Java process cannot be reached."""
    if is_stopped(session):
        return True
    try:
        session.conf.get("spark.app.id", None)
    except Exception as error:
        return is_gone(error)
    return False


def _forget(session: SparkSession) -> None:
    """Make PySpark forget a session of ours whose Java process has ended, to start another one.

    PySpark has no call for that: it expects its Java process to live as long as Python does.
    """
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    context = getattr(session, "_sc", None)
    if context is None:
        return
    context._jsc = None
    context.stop()
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _started(builder: SparkSession.Builder, conf: Mapping[str, str]) -> SparkSession:
    """A new session. DependencyError if there is none to be had: an old Java, a wrong setting."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - only where Spark is used anyway

    try:
        for key, value in conf.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except java_errors(PySparkException, OSError) as error:
        raise DependencyError(
            f"Spark cannot be started: {first_line(str(error))}",
            hint="Spark needs Java 17 or newer, and settings that it knows. Java's own message is"
            " on standard error.",
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
