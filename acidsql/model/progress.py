"""What a statement is at, for a person who watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

Tasks = Callable[[], tuple[int, int]]
"""How many tasks are done, and how many there are; asked from another thread."""

PATIENCE_S = 1.0
"""How long a phase lasts before it is shown: what is faster would only flicker."""


class Progress(Protocol):
    """Is told of the phases of statements."""

    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        """Told for the time of a block, such as "reading". Blocks may be nested."""
        ...


class _Nobody:
    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        return nullcontext()


UNWATCHED: Progress = _Nobody()
"""Nobody is told."""


class Relay:
    """A Progress that hands on to another for as long as that watches."""

    _elsewhere: ClassVar[Progress] = UNWATCHED

    def __init__(self) -> None:
        self._watcher: Progress | None = None

    @classmethod
    def else_watched_by(cls, watcher: Progress) -> None:
        """From now on, hand on to a watcher what nobody else watches, of every relay."""
        cls._elsewhere = watcher

    def during(self, phase: str, tasks: Tasks | None = None) -> AbstractContextManager[None]:
        return (self._watcher or self._elsewhere).during(phase, tasks)

    @contextmanager
    def watched_by(self, watcher: Progress) -> Iterator[None]:
        """Hand on to a watcher for the time of a block."""
        before, self._watcher = self._watcher, watcher
        try:
            yield
        finally:
            self._watcher = before


class Display(Protocol):
    """Where the line about a phase is shown."""

    def start(self, line: Callable[[], str]) -> None:
        """Show the line, and now and then the line as it is by then; not from the main thread."""
        ...

    def stop(self) -> None:
        """Take the line away."""
        ...


@dataclass
class ProgressLine:
    """A Progress that shows the outermost phase that has lasted a while, and its inner ones."""

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
                # Not the last: that may be another thread's.
                self._phases.remove(entered)
                if not self._phases:
                    self._hide()

    def line(self) -> str:
        """The line as it is now: the innermost phase, its tasks, the seconds."""
        # Without the guard: who ends a phase holds it, and may wait for what asks for this line.
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
