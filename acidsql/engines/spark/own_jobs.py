"""Our Spark jobs under a tag of their own, and Ctrl-C that cancels them.

What an exception from a signal handler leaves behind in the middle of a call to the JVM is a
connection on which the answer is still to come: the next call takes it for its own, and waits
until the job ends. PySpark's own handler calls the JVM by that same connection, and cancels
everybody's jobs. So while our jobs run, Ctrl-C first cancels them, from another thread and until
they have ended; the call comes back by itself then, and KeyboardInterrupt is raised after it.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from acidsql.engines.spark.errors import clear_errors
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

TAG_PREFIX = "acidsql-"

_REPEAT_S = 0.2
"""How often an interrupted block's jobs are cancelled: stages may follow one that was."""


@contextmanager
def own_jobs(
    spark: SparkSession, phase: str = "reading", progress: Progress = UNWATCHED
) -> Iterator[None]:
    """Spark's jobs of the block are ours, and end with it, by Ctrl-C too: KeyboardInterrupt then.

    Tags, group and other properties of the caller's jobs are theirs again after it. A second
    Ctrl-C does not wait for an answer. Blocks are not nested. Over Spark Connect the client itself
    ends what is interrupted.
    """
    if getattr(spark, "_jvm", None) is None:
        with progress.during(phase):
            yield
        return
    with clear_errors():
        jobs = _TaggedJobs(spark)
    try:
        with _interruptible(jobs), progress.during(phase, jobs.tasks):
            yield
    except BaseException:
        jobs.cancel()
        raise
    finally:
        jobs.restore_properties()


class _TaggedJobs:
    """The jobs that this thread starts until its properties are restored."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._context: SparkContext = spark.sparkContext
        self._jvm_context = self._context._jsc.sc()
        self._before = self._jvm_context.getLocalProperties().clone()
        self.tag = TAG_PREFIX + uuid4().hex
        self._context.addJobTag(self.tag)
        # Else a task that waits for its Python worker would go on waiting.
        self._context.setInterruptOnCancel(True)

    def tasks(self) -> tuple[int, int]:
        """How many of the tasks are done, and how many are known; (0, 0) if Spark is gone."""
        done = total = 0
        try:
            tracker = self._jvm_context.statusTracker()
            for job_id in tracker.getJobIdsForTag(self.tag):
                job = self._context.statusTracker().getJobInfo(job_id)
                for stage_id in job.stageIds if job else ():
                    stage = self._context.statusTracker().getStageInfo(stage_id)
                    if stage:
                        done += stage.numCompletedTasks
                        total += stage.numTasks
        except Exception:
            _log.debug("tasks could not be counted", exc_info=True)
        return done, total

    def cancel(self) -> None:
        """Cancel what runs. Never raises: it is called where another error is on its way."""
        try:
            self._context.cancelJobsWithTag(self.tag)
        except Exception:
            _log.debug("jobs could not be cancelled", exc_info=True)

    def cancel_until(self, ended: threading.Event) -> None:
        """Cancel what runs, and what the rest of the block starts."""
        self.cancel()
        while not ended.wait(_REPEAT_S):
            self.cancel()

    def restore_properties(self) -> None:
        """Give the thread's jobs the properties that they had. Never raises."""
        try:
            self._jvm_context.setLocalProperties(self._before)
        except Exception:
            _log.debug("properties were not restored", exc_info=True)

    def forget_connection(self) -> None:
        """Let this thread talk to the JVM by a new connection, for an answer is due on its old one.

        Behind the new one is another thread of the JVM, which knows no active session.
        """
        gateway = self._context._gateway
        assert gateway is not None
        client = gateway._gateway_client
        connection = client.get_thread_connection()
        if connection is not None:
            client.thread_connection.connection = None
            if connection in client.deque:
                client.deque.remove(connection)


@contextmanager
def _interruptible(jobs: _TaggedJobs) -> Iterator[None]:
    """Ctrl-C in the block cancels the jobs, and comes out as KeyboardInterrupt."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    ended = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        if len(came) == 1:
            threading.Thread(
                target=jobs.cancel_until, args=(ended,), name="acidsql cancels", daemon=True
            ).start()
            if _in_call(frame):
                return
        else:
            jobs.forget_connection()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, usual)
        ended.set()
    if came:
        _hand_on(usual, *came[0])


def _hand_on(usual: Any, number: int, frame: FrameType | None) -> None:
    """Ctrl-C that the block outran. PySpark's handler would cancel all jobs of the context."""
    if not getattr(usual, "__module__", "").startswith("pyspark."):
        usual(number, frame)
    raise KeyboardInterrupt


def _in_call(frame: FrameType | None) -> bool:
    """Whether a call to the JVM is under way in a frame or one of its callers."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.f_back
    return False
