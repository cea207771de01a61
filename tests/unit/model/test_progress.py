"""acidsql/model/progress.py: what is shown of phases, and that it goes away"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from acidsql.model.progress import UNWATCHED, ProgressLine, Relay

PATIENCE_S = 60


class Display:
    """The Display port: it keeps what it showed."""

    def __init__(self) -> None:
        self.line: Callable[[], str] | None = None
        self.begun = threading.Event()
        self.stopped = 0

    def start(self, line: Callable[[], str]) -> None:
        assert threading.current_thread() is not threading.main_thread()
        self.line = line
        self.begun.set()

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def display() -> Display:
    return Display()


def watcher(display: Display, clock: Callable[[], float] = lambda: 0.0) -> ProgressLine:
    return ProgressLine(display, patience_s=0, clock=clock)


def test_a_phase_its_tasks_and_seconds(display):
    now_s = 10.0
    progress = watcher(display, lambda: now_s)
    with progress.during("writing", lambda: (3, 8)):
        assert display.begun.wait(PATIENCE_S)
        now_s = 45.4
        assert display.line() == "writing: 3 of 8 tasks, 35 s"
        with progress.during("waiting for a lock"):
            assert display.line() == "waiting for a lock: 35 s"
        with progress.during("reading", lambda: (0, 0)):
            assert display.line() == "reading: 35 s"
        assert display.stopped == 0
    assert display.stopped == 1
    assert display.line() == ""


def test_what_is_soon_over_is_not_shown(display):
    progress = ProgressLine(display, patience_s=PATIENCE_S)
    with progress.during("reading"), progress.during("reading"):
        pass
    assert (display.line, display.stopped) == (None, 0)
    assert not any(isinstance(t, threading.Timer) and not t.finished.is_set()
                   for t in threading.enumerate())  # fmt: skip


def test_it_goes_away_after_an_error_too(display):
    def fail() -> None:
        with watcher(display).during("reading"):
            assert display.begun.wait(PATIENCE_S)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert display.stopped == 1


@pytest.fixture
def watched_elsewhere() -> Iterator[Display]:
    """What is shown of those that nobody watches."""
    display = Display()
    Relay.else_watched_by(watcher(display))
    yield display
    Relay.else_watched_by(UNWATCHED)


def test_whoever_nobody_watches_can_be_watched(display, watched_elsewhere):
    relay = Relay()
    with relay.watched_by(watcher(display)), relay.during("reading"):
        assert display.begun.wait(PATIENCE_S)
    assert not watched_elsewhere.begun.is_set()
    with relay.during("writing"):
        assert watched_elsewhere.begun.wait(PATIENCE_S)
        assert watched_elsewhere.line() == "writing: 0 s"
    assert (display.stopped, watched_elsewhere.stopped) == (1, 1)


def test_threads_end_their_own_phases(display):
    progress = watcher(display)
    reading, writing = progress.during("reading"), progress.during("writing")
    with reading:
        writing.__enter__()
        assert display.begun.wait(PATIENCE_S)
    assert display.line() == "writing: 0 s"
    assert display.stopped == 0
    writing.__exit__(None, None, None)
    assert display.stopped == 1


def test_one_is_told_as_long_as_it_watches(display):
    relay = Relay()
    with relay.during("reading"):
        pass
    with relay.watched_by(watcher(display)), relay.during("reading"):
        assert display.begun.wait(PATIENCE_S)
    assert display.stopped == 1
    with relay.during("reading"):
        assert display.line() == ""
