"""``acidsql service``: initiator, workers, cleaner and housekeeper, until a signal comes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING

import click

from acidsql.cli.connection import (
    FAILED_STATUS,
    config_of,
    connected,
    connection_options,
    fail,
    property_option,
)
from acidsql.cli.service_log import FORMATS, logging_to_stdout
from acidsql.errors import AcidSqlError, DependencyError
from acidsql.process.supervisor import Supervisor
from acidsql.txn.policy import LONGEST_S

if TYPE_CHECKING:
    from acidsql.service.service import Service
    from acidsql.session.session import Session


@click.command("service")
@click.option("--once", is_flag=True, help="Do what is due now and exit.")
@connection_options
@property_option
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many compactions run at the same time.",
)
@click.option(
    "--pool",
    metavar="NAME",
    help="Carry out the compactions of this pool only. [default: those of no pool]",
)
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0, max=LONGEST_S, min_open=True),
    metavar="S",
    help="Seconds between two looks of workers and cleaner."
    " [default: 5, and hive.compactor.cleaner.run.interval]",
)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help="Answer /healthz and /metrics there. A port alone is one of this machine only.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How each line of the log is written.",
)
def service_command(
    once: bool,
    warehouse: str,
    metastore: str | None,
    must_exist: bool,
    properties: tuple[str, ...],
    workers: int,
    pool: str | None,
    interval_s: float | None,
    address: str | None,
    log_format: str,
) -> None:
    """Ask for compactions, carry them out, clean up after them, and abort timed-out transactions.

    Several services may work on one store, on one machine or many. Standard output has a line for
    each thing done, refused or failed. What failed is tried again in its next round.

    Runs until SIGINT or SIGTERM. What is under way is finished first; a second signal ends it at
    once. The times are Hive's: hive.compactor.check.interval (300s),
    hive.compactor.cleaner.run.interval (5s), hive.timedout.txn.reaper.start (100s) and
    hive.timedout.txn.reaper.interval (180s). With --once a failure gives exit status 3.
    """
    if once and (address is not None or workers > 1):
        raise click.UsageError("--once takes neither --http nor --workers.")
    config = config_of(properties)
    with (
        logging_to_stdout(log_format),
        connected(warehouse, metastore, config, must_exist=must_exist) as session,
    ):
        if once:
            run_once(session, pool)
            return
        times = session.service_times
        if interval_s is not None:
            times = replace(times, work_s=interval_s, clean_s=interval_s)
        service = session.service(workers=workers, pool=pool, times=times)
        with stop_signals() as stop:
            try:
                with answering(service, address), service:
                    stop.get()
            except AcidSqlError as error:
                fail(error)


def run_once(session: Session, pool: str | None = None) -> None:
    """One round of everything. Exits with status 3 if anything failed."""
    supervisor = Supervisor()
    rounds = {
        "housekeeper": session.run_housekeeper,
        "initiator": session.run_initiator,
        "worker": lambda: session.run_worker(pool),
        "cleaner": session.run_cleaner,
    }
    for name, run in rounds.items():
        supervisor.attempt(name, run, None)
    if supervisor.failures or session.failures:
        click.get_current_context().exit(FAILED_STATUS)


def answering(service: Service, address: str | None) -> AbstractContextManager[object]:
    """Answers requests about the service for a ``with`` block, if there is an address."""
    if address is None:
        return nullcontext()
    try:
        from acidsql.service.http import served
    except ImportError as error:
        raise DependencyError(
            "--http needs prometheus-client, which cannot be imported",
            detail=f"{error}.",
            hint="pip install 'acidsql[service]'",
        ) from error
    return served(service, address)


@contextmanager
def stop_signals() -> Iterator[SimpleQueue[int]]:
    """A queue that gets the number of the first SIGINT or SIGTERM. A second one ends the process.

    A compaction that is cut is taken up later by another worker.
    """
    # A handler may interrupt the thread that waits. With an Event, whose lock that thread may hold
    # by then, it would wait for itself for ever. Python promises that this queue's put may.
    stop: SimpleQueue[int] = SimpleQueue()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(first: int, _frame: FrameType | None) -> None:
        for number in before:
            signal.signal(number, signal.SIG_DFL)
        stop.put(first)

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
