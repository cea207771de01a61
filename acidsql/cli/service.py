"""``acidsql service``: housekeeper, initiator, worker and cleaner, round after round."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import click

from acidsql.cli.connection import (
    FAILED_STATUS,
    config_of,
    connected,
    connection_options,
    error_text,
    property_option,
)
from acidsql.errors import AcidSqlError
from acidsql.execution.result import count_text
from acidsql.process.supervisor import Supervisor

if TYPE_CHECKING:
    from acidsql.session.session import Session


@click.command("service")
@click.option("--once", is_flag=True, help="Run one round and exit.")
@connection_options
@property_option
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds between two rounds.",
)
def service_command(
    once: bool,
    warehouse: str,
    metastore: str | None,
    must_exist: bool,
    properties: tuple[str, ...],
    interval_s: float,
) -> None:
    """Ask for compactions, carry them out, clean up after them, and abort timed-out transactions.

    Runs until SIGINT or SIGTERM; the current round is finished first. What has been written is
    looked at on a timetable of its own: at the start, then every hive.compactor.check.interval
    (300s). Timed-out transactions are aborted on another one: hive.timedout.txn.reaper.start (100s)
    after the start, then every hive.timedout.txn.reaper.interval (180s). A failure is printed on
    standard error, and the work is tried again in its next round. With --once a failure gives exit
    status 3.
    """
    config = config_of(properties)
    with connected(warehouse, metastore, config, must_exist=must_exist) as session:
        if not once:
            from acidsql.settings import Settings

            settings = Settings.of(warehouse, metastore=metastore, config=config)
            housekeeping = Timetable(settings.reaper_start_s, settings.reaper_interval_s)
            with stop_signals() as stop:
                checks = Timetable(0, settings.check_interval_s)
                serve(session, stop, Timetable(0, interval_s), housekeeping, checks)
            return
        supervisor = Supervisor(report_failure)
        supervisor.attempt("housekeeper", session.run_housekeeper, None)
        run_check(session, click.echo, supervisor)
        run_round(session, click.echo, supervisor)
        if supervisor.failures or session.failures:
            click.get_current_context().exit(FAILED_STATUS)


class Timetable:
    """When work is due: ``start_s`` after the first question, then ``interval_s`` after each time.

    >>> timetable = Timetable(start_s=2, interval_s=5)
    >>> [now_s for now_s in range(10, 24) if timetable.is_due(now_s)]
    [12, 17, 22]
    """

    def __init__(self, start_s: float, interval_s: float) -> None:
        self._start_s, self._interval_s = start_s, interval_s
        self._next_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether the work is due. If so, the next time is counted from ``now_s``."""
        if now_s < self.next_s(now_s):
            return False
        self._next_s = now_s + self._interval_s
        return True

    def next_s(self, now_s: float) -> float:
        """The time at which the work will be due."""
        if self._next_s is None:
            self._next_s = now_s + self._start_s
        return self._next_s


def serve(
    session: Session,
    stop: Event,
    rounds: Timetable,
    housekeeping: Timetable,
    checks: Timetable,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Do the work that is due, until ``stop`` is set.

    A failure of any kind is printed, and the work is tried again in its next round. The end prints
    how often each kind of work failed.
    """
    supervisor = Supervisor(report_failure)
    while not stop.is_set():
        now_s = clock()
        if housekeeping.is_due(now_s):
            supervisor.attempt("housekeeper", session.run_housekeeper, None)
        if checks.is_due(now_s):
            run_check(session, click.echo, supervisor)
        if rounds.is_due(now_s):
            run_round(session, click.echo, supervisor)
        due_s = min(timetable.next_s(now_s) for timetable in (rounds, housekeeping, checks))
        stop.wait(max(0.0, due_s - clock()))
    if failures := Counter(supervisor.failures) + Counter(session.failures):
        counts = ", ".join(f"{name} {count}" for name, count in sorted(failures.items()))
        click.echo(f"acidsql: failures since the start: {counts}", err=True)


def run_check(session: Session, report: Callable[[str], object], supervisor: Supervisor) -> None:
    """One round of the initiator, with a line if it asked for compactions."""
    if asked := supervisor.attempt("initiator", session.run_initiator, otherwise=0):
        report(f"initiator: {count_text(asked, 'compaction')} asked for")


def run_round(session: Session, report: Callable[[str], object], supervisor: Supervisor) -> None:
    """One round of worker and cleaner, with a line for each that did something.

    The cleaner works even if the worker fails.
    """
    if compacted := supervisor.attempt("worker", session.run_worker, otherwise=0):
        report(f"worker: {count_text(compacted, 'compaction')} carried out")
    if cleaned := supervisor.attempt("cleaner", session.run_cleaner, otherwise=0):
        report(f"cleaner: {count_text(cleaned, 'compaction')} cleaned")


def report_failure(name: str, error: BaseException) -> None:
    """Print an error: an AcidSqlError as commands print it, any other error with its trace."""
    if isinstance(error, AcidSqlError):
        click.echo(error_text(error), err=True)
        return
    click.echo(f"acidsql: error: the {name} failed", err=True)
    click.echo("".join(traceback.format_exception(error)).rstrip(), err=True)


@contextmanager
def stop_signals() -> Iterator[Event]:
    """An event that the first SIGINT or SIGTERM sets. A second one acts as it did before."""
    stop = Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        restore()
        stop.set()

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        restore()
