"""The phase that a statement is in, for a person who watches it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

Tasks = Callable[[], tuple[int, int]]
"""Gives how many tasks are done and how many there are. Called from another thread."""

PATIENCE_S = 1.0
"""How long a phase lasts before it is shown: a shorter one would only flicker."""


class Progress(Protocol):
    """A listener that is told of the phases of statements."""

    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        """Say that a phase, such as "reading", lasts as long as the block. Blocks may be nested."""
        ...


class _Nobody:
    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        return nullcontext()


UNWATCHED: Progress = _Nobody()
"""The Progress that shows nothing to anybody."""


class Relay:
    """A Progress that passes each phase on to the watcher of the moment."""

    _elsewhere: ClassVar[Progress] = UNWATCHED

    def __init__(self) -> None:
        self._watcher: Progress | None = None

    @classmethod
    def else_watched_by(cls, watcher: Progress) -> None:
        """From now on, every relay that has no watcher of its own passes its phases to this one."""
        cls._elsewhere = watcher

    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        return (self._watcher or self._elsewhere).during(phase, tasks)

    @contextmanager
    def watched_by(self, watcher: Progress) -> Iterator[None]:
        """Pass phases on to this watcher as long as the block lasts."""
        before, self._watcher = self._watcher, watcher
        try:
            yield
        finally:
            self._watcher = before


class Display(Protocol):
    """Where the line about a phase is shown."""

    def start(self, line: Callable[[], str]) -> None:
        """Show the line and refresh it now and then. Not called from the main thread."""
        ...

    def stop(self) -> None:
        """Remove the line."""
        ...


@dataclass
class ProgressLine:
    """A Progress that shows a line once the outermost phase has lasted ``patience_s`` seconds."""

    display: Display
    patience_s: float = PATIENCE_S
    clock: Callable[[], float] = time.monotonic
    _phases: list[tuple[str, Tasks | None, float]] = field(default_factory=list)
    _guard: threading.RLock = field(default_factory=threading.RLock)
    _timer: threading.Timer | None = None
    _shown: bool = False

    @contextmanager
    def during(self, phase: str, tasks: Tasks | None = None) -> Iterator[None]:
        entered = phase, tasks, self.clock()
        with self._guard:
            self._phases.append(entered)
            if len(self._phases) == 1:
                self._timer = threading.Timer(self.patience_s, self._show)
                self._timer.daemon = True
                self._timer.start()
        try:
            yield
        finally:
            with self._guard:
                # Not simply the last phase, which may be another thread's.
                self._phases.remove(entered)
                if not self._phases:
                    self._hide()

    def line(self) -> str:
        """The innermost phase, its tasks, and the seconds since the outermost phase began."""
        # Without the guard: a thread that ends a phase holds the guard while it waits for the
        # display to stop, and the display asks for this line.
        phases = list(self._phases)
        if not phases:
            return ""
        phase, tasks, _ = phases[-1]
        done, total = (0, 0) if tasks is None else tasks()
        counted = f"{done} of {total} tasks, " if total else ""
        return f"{phase}: {counted}{self.clock() - phases[0][2]:.0f} s"

    def _show(self) -> None:
        with self._guard:
            if self._phases and threading.current_thread() is self._timer:
                self._shown = True
                self.display.start(self.line)

    def _hide(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._shown:
            self._shown = False
            self.display.stop()
