"""Our Spark jobs under a tag of their own, and Ctrl-C that cancels them.

If a signal handler raises in the middle of a call to the JVM, the call's answer is still to come on
that connection. The next call would wait until the job ends, and take the answer for its own.
PySpark's own handler calls the JVM by that same connection, and cancels everybody's jobs. So while
our jobs run, Ctrl-C cancels them from another thread, again and again until they have ended. The
call then returns by itself, and KeyboardInterrupt is raised after it.
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
from acidsql.engines.spark.gateway import is_stopped
from acidsql.errors import ExecutionError
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

TAG_PREFIX = "acidsql-"

_REPEAT_S = 0.2
"""Seconds between two cancellations of an interrupted block's jobs: new stages may start."""


@contextmanager
def own_jobs(
    spark: SparkSession, phase: str = "reading", progress: Progress = UNWATCHED
) -> Iterator[None]:
    """Tag a block's Spark jobs as ours, and cancel them if an error or Ctrl-C ends the block.

    After Ctrl-C KeyboardInterrupt is raised; a second Ctrl-C does not wait for the JVM's answer.
    After the block the caller's jobs have their tags, group and other properties again. Blocks are
    not nested. Over Spark Connect the client itself ends interrupted jobs.
    """
    if is_stopped(spark):
        raise ExecutionError(
            "the SparkSession of these rows has been stopped",
            hint="Read rows before their session is closed.",
        )
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
        # Otherwise a task that waits for its Python worker would go on waiting.
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
        """Cancel the running jobs. Never raises: it is called while another error is handled."""
        try:
            self._context.cancelJobsWithTag(self.tag)
        except Exception:
            _log.debug("jobs could not be cancelled", exc_info=True)

    def cancel_until(self, ended: threading.Event) -> None:
        """Cancel the running jobs, and those that start before ``ended`` is set."""
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
        """Give this thread a new connection to the JVM, because an answer is due on the old one.

        Another thread of the JVM serves the new connection; it knows no active session.
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
    """Pass a Ctrl-C on to the usual handler, since the block ended before it was raised there.

    Not to PySpark's handler, which would cancel all jobs of the context.
    """
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
