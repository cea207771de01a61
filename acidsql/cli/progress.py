"""The progress line of a statement, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TextIO

from acidsql.model.progress import ProgressLine

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

    from acidsql.session.session import Session


def watched(session: Session, err: TextIO, *, quiet: bool = False) -> AbstractContextManager[None]:
    """For a ``with`` block, show the session's progress if standard error is a terminal."""
    if quiet or not err.isatty():
        return nullcontext()
    return session.watched_by(ProgressLine(TerminalLine(err)))


class TerminalLine:
    """The Display port on a terminal: its last line, which is erased at the end."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._live: Live | None = None

    def start(self, line: Callable[[], str]) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("line")

        def render() -> Spinner:
            spinner.update(text=Text(line()))
            return spinner

        self._live = Live(
            console=Console(file=self._err),
            get_renderable=render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
