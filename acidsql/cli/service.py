"""``acidsql service``: housekeeper, worker and cleaner, round after round."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import click

from acidsql.cli.connection import (
    FAILED_STATUS,
    connected,
    connection_options,
    error_text,
    fail,
)
from acidsql.errors import AcidSqlError
from acidsql.result import count_text

if TYPE_CHECKING:
    from acidsql.session import Session


@click.command("service")
@click.option("--once", is_flag=True, help="Run one round and exit.")
@connection_options
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds between two rounds.",
)
def service_command(once: bool, warehouse: str, metastore: str | None, interval_s: float) -> None:
    """Carry out queued compactions, clean up after them, and end what has timed out.

    Runs until SIGINT or SIGTERM, and finishes the round it is in.
    """
    with connected(warehouse, metastore) as session:
        if not once:
            with stop_signals() as stop:
                serve(session, stop, interval_s)
            return
        try:
            run_round(session, click.echo)
        except AcidSqlError as error:
            fail(error, status=FAILED_STATUS)


def serve(session: Session, stop: Event, interval_s: float) -> None:
    """Rounds until ``stop`` is set. A failed round is told and the next one tries again."""
    while not stop.is_set():
        try:
            run_round(session, click.echo)
        except AcidSqlError as error:
            click.echo(error_text(error), err=True)
        stop.wait(interval_s)


def run_round(session: Session, report: Callable[[str], object]) -> None:
    """One round, one line for each thing done."""
    session.run_housekeeper()
    if compacted := session.run_worker():
        report(f"worker: {count_text(compacted, 'compaction')} carried out")
    if cleaned := session.run_cleaner():
        report(f"cleaner: {count_text(cleaned, 'compaction')} cleaned")


@contextmanager
def stop_signals() -> Iterator[Event]:
    """An event that the first SIGINT or SIGTERM sets; a second one acts as it would without us."""
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
